"""Names that are not defined, reported with the nearest name that is."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """What is wrong with a name that is not among the known ones."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.0 if len(names) < 3 else 0.4)
    meant = f"; did you mean '{near[0]}'?" if near else ";"
    listed = ", ".join(f"'{one}'" for one in names[:8]) + (", …" if len(names) > 8 else "")
    if not names:
        return f"no {what} is called '{name}'"
    return f"no {what} is called '{name}'{meant} {'There' if near else 'there'} are {listed}"
