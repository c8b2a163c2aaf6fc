"""A virtual substructure that OpenSees computes, in a process of its own."""
