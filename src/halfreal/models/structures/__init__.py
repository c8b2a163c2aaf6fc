"""Virtual substructures: by matrices, modes, beams, state space, or a user's function."""
