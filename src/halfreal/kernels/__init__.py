"""Compiled blocks and the loop that drives them: floats and arrays only."""
