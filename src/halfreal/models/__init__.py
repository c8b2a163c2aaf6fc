"""Virtual substructures, integration schemes, excitations and the emulated reference."""
