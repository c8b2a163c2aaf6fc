"""Runs on disk: one HDF5 file each."""

from .run_file import RunFileError, definition_hash, load, save

__all__ = ["RunFileError", "definition_hash", "load", "save"]
