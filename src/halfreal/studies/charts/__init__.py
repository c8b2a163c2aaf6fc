"""Stability charts and the continuous limit of a loop."""
