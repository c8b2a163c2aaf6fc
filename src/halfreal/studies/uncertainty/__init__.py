"""Numbers that are not known exactly: what the loop makes of them."""
