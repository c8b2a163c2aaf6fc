"""Running a test for real: the session with a rig, the simulated rig as a process, and the operator's view."""
