"""Tuning of couplings and of shaking tables."""
