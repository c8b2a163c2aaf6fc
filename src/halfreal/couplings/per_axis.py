"""Settings that are one value for all axes, or one for each: ``PerAxis``, ``RowPerAxis`` of ``halfreal.settings``."""

from __future__ import annotations

import numpy as np

from ..contracts.known import Known
from ..settings import fault

OneOrEach = float | np.ndarray


def on_axes(value: OneOrEach, axes: int) -> np.ndarray:
    """A number for each axis, (axes,)."""
    return np.broadcast_to(np.asarray(value, dtype=float), axes)


def common(value: OneOrEach) -> float | None:
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
