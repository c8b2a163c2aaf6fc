"""The rig of a test identified: an experiment that its limits allow, and what records show of it."""
