"""What a motion asks of a rig, against what the rig can do."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from .axes import Axes


class Bound(NamedTuple):
    """One quantity of each axis, or of each actuator."""

    names: list[str]
    needed: np.ndarray
    """What the motion needs."""
    most: np.ndarray
    """What there is."""
    units: list[str]

    @classmethod
    def on_axes(cls, axes: Axes, name: str, needed: np.ndarray, most: float | np.ndarray, unit: str) -> Self:
        """A bound on each axis; ``unit`` and the key of a limit are those of displacements."""
        of = [""] if len(axes) == 1 else [f" of axis {one}" for one in axes.names]
        keys = [name.replace("limits.", "limits.rotation.") if turns else name for turns in axes.rotations]
        names = [f"{key}{one}" for key, one in zip(keys, of, strict=True)]
        return cls(names, needed, np.broadcast_to(most, needed.shape), list(axes.units(unit)))


def peaks(motion: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Largest displacement and speed of each column of a motion, (ticks, …)."""
    return np.abs(motion).max(axis=0), np.abs(np.diff(motion, axis=0)).max(axis=0) / step
