"""What of a definition is not in its text: the code of the user that it names, and all that this code reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..models.remembered import parts, remembered, user_code
from .definition import Definition

__all__ = ["changed", "files_run", "parts", "remembered", "user_code", "user_files"]


def user_files(definition: Definition) -> tuple[str, ...]:
    """The files that a definition names for it."""
    return tuple(str(part.file) for part in parts(definition))


def files_run(definition: Definition) -> dict[str, str]:
    """SHA-256 of each of the user's files that a test runs, by its name: for the record."""
    return {Path(name).name: digest for name, digest in user_code(definition).items() if ":" not in Path(name).name}


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Which of the user's files have changed, for a message; empty if none has."""
    different = sorted(name for name in before.keys() & now.keys() if before[name] != now[name])
    files = [Path(name).name for name in different if ":" not in Path(name).name]
    if files:
        return f"{' and '.join(files)} {'have' if len(files) > 1 else 'has'} changed"
    functions = [" of ".join(reversed(Path(name).name.split(":"))) for name in different]
    return f"constants of {' and '.join(functions)} have changed (from the environment?)" if functions else ""
