"""Kinds that cannot be used."""
