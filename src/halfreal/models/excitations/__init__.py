"""Excitations of the virtual substructure and of the specimen."""
