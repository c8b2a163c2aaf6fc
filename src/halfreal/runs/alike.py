"""Loops of tests that are alike, of which no part is built twice.

A study builds the loops of hundreds of variants of one test, which differ in a few numbers.  The blocks of a part
depend on its settings, and on what it reads of the rest of the test.  While loops are built ``alike``, all that a part
reads is noted, and its blocks serve again for the next test in which that is the same: the same objects, as the
sections of a variant are that were not changed.  Where all blocks have the layout of those before, the loop is not laid
out again either (``Loop.refilled``).

Blocks of users are made again each time, and so are those that open a library, an FMU or another program: they keep a
state to themselves.  Files that a part reads are read once in a study.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import is_
from typing import Any, TypeVar

import numpy as np

from ..contracts.context import Context
from ..definition.definition import Definition
from ..kernels.block import Block, Channel
from ..kernels.loop import Loop
from ..kernels.native import is_own
from .freed_memory import keep_freed_memory

T = TypeVar("T")
LATEST = 24
"""Of each part so many are kept."""
MOST_LOOPS = 16
FIELDS = frozenset(Definition.model_fields)
DERIVED = frozenset(("interface", "commands", "targets", "period"))
"""What many parts ask for, and is the same in most variants though the sections differ that it is made of."""


class Noting:
    """A test that notes what is read of it."""

    def __init__(self, test: Definition) -> None:
        notes: dict[str, Any] = {}
        object.__setattr__(self, "noted", (test, notes))

    def __getattribute__(self, name: str) -> Any:
        test, notes = object.__getattribute__(self, "noted")
        if name == "noted":
            return test, notes
        if name == "__class__":
            return type(test)
        if name in FIELDS or name in DERIVED:
            notes[name] = getattr(test, name)
            return notes[name]
        own = getattr(type(test), name, None)
        if isinstance(own, property) and own.fget is not None:
            return own.fget(self)
        return getattr(_whole(self), name)

    def __eq__(self, other: object) -> bool:
        return bool(_whole(self) == other)

    def __hash__(self) -> int:
        return hash(_whole(self))


class NotingContext(Context):
    """A context that notes what is read of it in the notes of its test."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name in ("virtual", "start"):
            test: Any = super().__getattribute__("test")
            test.noted[1][f"context.{name}"] = value
        return value


def _whole(noting: Noting) -> Definition:
    """The test itself, all of which counts as read."""
    test, notes = object.__getattribute__(noting, "noted")
    notes.update({name: getattr(test, name) for name in FIELDS})
    return test  # type: ignore[no-any-return]


class _Parts:
    """What was built last: blocks with all that they depend on, and loops."""

    def __init__(self) -> None:
        self.blocks: dict[Any, list[tuple[object, dict[str, Any], tuple[Any, ...], Any]]] = defaultdict(list)
        self.loops: dict[Any, tuple[list[Block], list[Block], Loop]] = {}
        self.starts: dict[Any, Context] = {}
        self.derived: tuple[Definition | None, dict[str, Any]] = (None, {})

    def derived_of(self, test: Definition, name: str) -> Any:
        """One of ``DERIVED``; for the last test requested, each is found only once."""
        if self.derived[0] is not test:
            self.derived = (test, {})
        known = self.derived[1]
        if name not in known:
            known[name] = getattr(test, name)
        return known[name]


_here = threading.local()


def alike_from_now() -> None:
    """The same in this thread from now on, for the threads of a pool and for processes that end with their study."""
    if getattr(_here, "parts", None) is None:
        keep_freed_memory()
        _here.parts = _Parts()


@contextmanager
def alike() -> Iterator[None]:
    """Within it, in this thread, loops that are built share what their tests have in common."""
    if getattr(_here, "parts", None) is not None:
        yield
        return
    keep_freed_memory()
    _here.parts = _Parts()
    try:
        yield
    finally:
        _here.parts = None


def once(label: str, context: Context, make: Callable[..., T], *given: Any, of: object = None) -> T:
    """``make(context, *given)``, or what it gave before, while all is the same that it has read of the context.

    ``of`` is the part whose code it runs, if it is one's: that must be the same object, as it reads its own settings.
    """
    parts: _Parts | None = getattr(_here, "parts", None)
    if parts is None or not type(of if of is not None else context).__module__.startswith("halfreal."):
        return make(context, *given)
    known = parts.blocks[label, context.purpose]
    differs = ""  # what was another thing in the last one: in the next ones too, as a rule
    for place, (part, notes, before, found) in enumerate(known):
        if part is not of or (differs in notes and not _as_before(parts, context, differs, notes[differs])):
            continue
        if _same(before, given):
            differs = next((name for name in notes if not _as_before(parts, context, name, notes[name])), "")
            if not differs:
                known.insert(0, known.pop(place))
                return found  # type: ignore[no-any-return]
    noting: Any = Noting(context.test)

    def plant() -> Any:
        _whole(noting)
        return context.plant()

    told = NotingContext(noting, context.virtual, context.start, context.purpose, plant, context.along)
    found = make(told, *given)
    if all(is_own(b.step) and b.keeps is None and b.stand_in is None and b.said is None for b in _blocks_in(found)):
        known.insert(0, (of, noting.noted[1], given, found))
        del known[LATEST:]
    return found


def settled(context: Context) -> Context:
    """The context with the objects of the one before it, where they are the same."""
    parts: _Parts | None = getattr(_here, "parts", None)
    if parts is None:
        return context
    last = parts.starts.get(context.purpose)
    if last is not None and _alike_settings(last.virtual, context.virtual):
        context = replace(context, virtual=last.virtual)
    parts.starts[context.purpose] = context
    return context


def laid_out(
    key: Any, blocks: list[Block], name: Callable[[], list[Block]], lay: Callable[[list[Block]], Loop]
) -> Loop:
    """The loop of blocks, named by ``name`` and laid out by ``lay`` unless those of the last one were alike."""
    parts: _Parts | None = getattr(_here, "parts", None)
    if parts is None:
        return lay(name())
    key = (key, *(block.step for block in blocks))
    named, found = _refilled(blocks, *parts.loops[key]) if key in parts.loops else ([], None)
    if found is None:
        named = name()
        found = lay(named)
    parts.loops.pop(key, None)
    parts.loops[key] = blocks, named, found
    if len(parts.loops) > MOST_LOOPS:
        del parts.loops[next(iter(parts.loops))]
    return found


def _refilled(blocks: list[Block], raw: list[Block], named: list[Block], loop: Loop) -> tuple[list[Block], Loop | None]:
    """The blocks with the names of those of another loop, and that loop with their numbers; None if it is another."""
    if len(raw) != len(blocks):
        return [], None
    again = [one for one in map(_named_as, blocks, raw, named) if one is not None]
    return again, loop.refilled(again)


def _named_as(block: Block, raw: Block, named: Block) -> Block | None:
    """A block with the names that another one was given; None where they need not be the same."""
    if block is raw:
        return named
    if (block.inputs, block.outputs, block.watched) != (raw.inputs, raw.outputs, raw.watched):
        return None
    if raw is named:
        return block
    return replace(block, inputs=named.inputs, outputs=named.outputs, watched=named.watched, texts=named.texts)


def _as_before(parts: _Parts, context: Context, name: str, value: Any) -> bool:
    """Whether what was noted is the same in another context."""
    if name in DERIVED:
        now = parts.derived_of(context.test, name)
        return now is value or bool(now == value)
    if name == "context.start":
        return _same(context.start, value)
    return (context.virtual if name == "context.virtual" else getattr(context.test, name)) is value


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        if len(one) != len(other):
            return False
        return all(map(is_, one, other)) or all(map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)
    return isinstance(one, str | int | float | Channel) and type(one) is type(other) and bool(one == other)


def _alike_settings(one: Any, other: Any) -> bool:
    """Whether settings have the same objects, or short values that are equal, in all their fields."""
    return type(one) is type(other) and all(
        _same(getattr(one, name), getattr(other, name)) for name in type(one).model_fields
    )


def _blocks_in(found: Any) -> Iterator[Block]:
    if isinstance(found, Block):
        yield found
    elif isinstance(found, Sequence) and not isinstance(found, str):
        for one in found:
            yield from _blocks_in(one)
