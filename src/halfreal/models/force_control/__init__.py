"""Virtual substructures that command a force and receive a displacement."""
