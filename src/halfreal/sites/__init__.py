"""A laboratory for clients elsewhere: OpenSees drives the rig through its element genericClient."""
