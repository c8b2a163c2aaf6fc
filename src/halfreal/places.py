"""Things by their place, ``"module:name"``: so that a list of them takes one line for each."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any


def found(package: str, places: Iterable[str]) -> tuple[Any, ...]:
    """What is at places in modules of a package."""
    pairs = (place.split(":") for place in places)
    return tuple(getattr(import_module(f"{package}.{module}"), name) for module, name in pairs)
