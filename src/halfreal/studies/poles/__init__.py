"""Poles of the loop that runs, over any number of a definition."""
