"""Drivers: what reads and writes the raw channels of a rig.  The contract is ``halfreal.contracts.driver``."""
