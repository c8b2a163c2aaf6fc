"""Answers about a test that are kept while it is the same, and with it the user's code that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ..contracts.foreign_code import ForeignCode
from ..settings import Settings

if TYPE_CHECKING:
    from ..definition.definition import Definition

P = ParamSpec("P")
T = TypeVar("T")


def parts(definition: Definition) -> list[ForeignCode]:
    """What of a definition is the user's code, wherever it stands."""
    return list(_within(definition))


def _within(part: Settings) -> Iterator[ForeignCode]:
    if isinstance(part, ForeignCode):
        yield part
    for name in part.__class__.model_fields:
        value = getattr(part, name)
        if isinstance(value, Settings):
            yield from _within(value)


def user_code(definition: Definition) -> dict[str, str]:
    """Hashes of the user's files, of those that they import and read, and of what goes into compiled code."""
    found: dict[str, str] = {}
    for part in parts(definition):
        found |= part.hashes()
    return found


def remembered(
    maxsize: int,
) -> Callable[[Callable[Concatenate[Definition, P], T]], Callable[Concatenate[Definition, P], T]]:
    """Decorator that keeps the answers for definitions, as ``lru_cache`` does, while the user's code is the same."""

    def decorate(function: Callable[Concatenate[Definition, P], T]) -> Callable[Concatenate[Definition, P], T]:
        @lru_cache(maxsize=maxsize)
        def known(code: Any, definition: Definition, *args: Any) -> T:
            return function(definition, *args)  # type: ignore[call-arg]

        @wraps(function)
        def ask(definition: Definition, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return known(frozenset(user_code(definition).items()), definition, *args)

        return ask

    return decorate
