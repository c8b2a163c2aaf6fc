"""What stands between every command and the rig."""
