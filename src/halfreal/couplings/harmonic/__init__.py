"""Adaptive feed-forward coupling with harmonic basis functions, and all that belongs to it."""
