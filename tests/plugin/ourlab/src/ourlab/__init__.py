"""Kinds of a laboratory: one file each, and a line in pyproject.toml."""
