"""Virtual substructures that ask for a force and are told a displacement."""
