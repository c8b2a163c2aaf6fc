"""Between the virtual substructure's target and the rig's command: one method a file."""
