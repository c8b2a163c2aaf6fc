"""Integration schemes of virtual substructures."""
