"""Settings that are one value for all axes, or one for each: ``PerAxis``, ``RowPerAxis``, ``WholePerAxis`` of
``halfreal.settings``, and lists that are marked ``EachAxis`` here.

A coupling whose settings differ is split: on every axis stands a block of its own, with the settings of that axis, as
it would stand in a test of that axis alone.  So every setting of every method may differ, and no state is shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

import numpy as np

from ..arrays import OneOrEach as NumberOrEach
from ..arrays import WholeOrEach
from ..contracts.context import numbered
from ..contracts.known import Known
from ..kernels.block import Block, Channel
from ..settings import Settings, fault

OneOrEach = float | np.ndarray
WholeOrEachAxis = int | tuple[int, ...]
SEEN = ("target", "measured.displacement", "measured.force", "command")
"""Signals of the interface that blocks of a coupling read."""

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class EachAxis:
    """Marks a list of lists that are one for each axis, where a single list is one for all."""


def on_axes(value: OneOrEach, axes: int) -> np.ndarray:
    """A number for each axis, (axes,)."""
    return np.broadcast_to(np.asarray(value, dtype=float), axes)


def whole_on_axes(value: WholeOrEachAxis, axes: int) -> list[int]:
    """A whole number for each axis."""
    return [int(one) for one in np.broadcast_to(value, axes)]


def single(value: OneOrEach) -> float:
    """The number of a coupling on one axis, or of all axes together."""
    found = common(value)
    assert found is not None, "settings that differ between axes: take those of one axis first (of_axis)"
    return found


def whole(value: WholeOrEachAxis) -> int:
    """The whole number of a coupling on one axis, or of all axes together."""
    return int(single(np.asarray(value, dtype=float)))


def on_both(first: Any, second: Any) -> list[tuple[float, float]]:
    """Two settings side by side, one pair for each axis where there are several; a fault if they do not go together."""
    if np.size(first) > 1 and np.size(second) > 1 and np.size(first) != np.size(second):
        raise fault(f"{np.size(first)} values, but {np.size(second)} of another setting; give one for each axis")
    both = np.broadcast_arrays(np.atleast_1d(first), np.atleast_1d(second))
    return list(zip(*(one.tolist() for one in both), strict=True))


def common(value: OneOrEach | WholeOrEachAxis) -> float | None:
    """The number that all axes have; None if they differ."""
    first = float(np.ravel(value)[0])
    return first if np.all(np.asarray(value) == first) else None


def in_ms(value: OneOrEach) -> str:
    """Times for people, such as "9.4 ms"."""
    return ", ".join(f"{1e3 * one:g} ms" for one in np.ravel(value))


def check_axes(known: Known, count: int, *at: str, passive: bool = False) -> None:
    """Raise a fault unless so many are one for all that the coupling works on, or one for each.

    That are the axes of the interface, with ``passive`` ones or without, or the actuators that move it.
    """
    axes = known.coupled if known.virtual is None or not passive else known.virtual.axes
    if axes is not None and count not in (1, axes):
        raise fault(f"{count} of them for {axes} axis(es); give one for all, or one for each", *at)


# --- settings of one axis ---------------------------------------------------------------------------------------------


def given_each(part: Settings, but: Sequence[str] = ()) -> dict[tuple[str, ...], int]:
    """How many values the settings have that are given for each axis, by the keys that lead to them."""
    found: dict[tuple[str, ...], int] = {}
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if name in but:
            continue
        if isinstance(value, Settings):
            found |= {(name, *at): count for at, count in given_each(value).items()}
        elif _is_each(value, (field.annotation, *field.metadata)):
            found[(name,)] = len(value)
    return found


def of_axis(part: S, axis: int, but: Sequence[str] = ()) -> S:
    """The settings of one axis (from 0)."""
    changes: dict[str, Any] = {}
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if name in but:
            continue
        if isinstance(value, Settings):
            changes[name] = of_axis(value, axis)
        elif _is_each(value, (field.annotation, *field.metadata)):
            one = value[axis]
            changes[name] = float(one) if isinstance(one, np.floating) else one
    return part.unchecked_copy(changes) if changes else part


def _is_each(value: Any, annotations: Sequence[Any]) -> bool:
    """Whether a value of such a type is one for each axis."""
    for one in annotations:
        if isinstance(one, NumberOrEach):
            return isinstance(value, np.ndarray) and value.ndim > one.dimensions
        if isinstance(one, WholeOrEach):
            return isinstance(value, tuple)
        if isinstance(one, EachAxis):
            return bool(value) and isinstance(value[0], tuple)
        if _is_each(value, get_args(one)):
            return True
    return False


# --- blocks of one axis -----------------------------------------------------------------------------------------------


def as_axis(blocks: Sequence[Block], axis: int, axes: int, name: str) -> list[Block]:
    """Blocks of a coupling on a single axis as those of the ``axis``-th (from 0) of several, called ``name``."""
    own = {one.name for block in blocks for one in block.outputs}

    def place(signal: str) -> str:
        return numbered(signal, axes)[axis] if signal in own or signal in SEEN else signal

    def channel(one: Channel) -> Channel:
        return replace(one, name=place(one.name), of=one.of or "axis", number=axis + 1, signal=one.signal or one.name)

    return [
        replace(
            block,
            name=f"{block.name} {name}",
            inputs=tuple(place(one) for one in block.inputs),
            outputs=tuple(channel(one) for one in block.outputs),
            watched=tuple(place(one) for one in block.watched),
            texts={place(key): words for key, words in block.texts.items()},
            held=f"axis {name}: {block.held}" if block.held else "",
        )
        for block in blocks
    ]
