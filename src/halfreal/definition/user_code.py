"""What of a definition is not in its text: the code of the user that it names, and all that this code reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..kernels.user import split
from ..models.structures.user import UserCode
from .definition import Definition

P = ParamSpec("P")
T = TypeVar("T")


def parts(definition: Definition) -> list[UserCode]:
    """What of a definition is the user's code."""
    rig = definition.rig
    places = (definition.virtual, definition.coupling, rig, getattr(rig, "specimen", None))
    return [part for part in places if isinstance(part, UserCode)]


def user_files(definition: Definition) -> tuple[str, ...]:
    """The files that a definition names for it."""
    return tuple(split(part.function)[0] for part in parts(definition))


def user_code(definition: Definition) -> dict[str, str]:
    """Hashes of the user's files, of those that they import and read, and of what goes into compiled code."""
    found: dict[str, str] = {}
    for part in parts(definition):
        found |= part.hashes()
    return found


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Which of the user's files have changed, for a message; empty if none has."""
    different = sorted(name for name in before.keys() & now.keys() if before[name] != now[name])
    files = [Path(name).name for name in different if ":" not in Path(name).name]
    if files:
        return f"{' and '.join(files)} {'have' if len(files) > 1 else 'has'} changed"
    functions = [" of ".join(reversed(Path(name).name.split(":"))) for name in different]
    return f"constants of {' and '.join(functions)} have changed (from the environment?)" if functions else ""


def remembered(
    maxsize: int,
) -> Callable[[Callable[Concatenate[Definition, P], T]], Callable[Concatenate[Definition, P], T]]:
    """Decorator that keeps the answers for definitions, as ``lru_cache`` does, while the user's code is the same."""

    def decorate(function: Callable[Concatenate[Definition, P], T]) -> Callable[Concatenate[Definition, P], T]:
        @lru_cache(maxsize=maxsize)
        def known(code: Any, definition: Definition, *args: Any) -> T:
            return function(definition, *args)  # type: ignore[call-arg]

        @wraps(function)
        def ask(definition: Definition, *args: P.args, **kwargs: P.kwargs) -> T:
            return known(frozenset(user_code(definition).items()), definition, *args)

        return ask

    return decorate
