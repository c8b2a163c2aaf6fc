"""Links to a rig elsewhere: another process, another machine, hardware."""
