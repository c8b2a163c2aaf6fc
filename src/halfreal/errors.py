"""The base of every error that a user can mend: it tells the value, the limit and the remedy."""

from __future__ import annotations


class HalfrealError(ValueError):
    """Something is wrong with what halfreal was given, not with halfreal."""
