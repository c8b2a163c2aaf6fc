"""Whether strokes and pose belong together, and the actuators can move every axis, wherever the rehearsal goes.

Tried at poses of the rehearsal, and at the corners of the range that it covers, with the code that runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from ....contracts.finding import Finding
from ..examined import Examined

POSES = 40
"""Of the rehearsal."""
WIDER = 1.1
"""The corners, over the range of the rehearsal."""
APART = 1e-3
"""Part of the range of an axis that the pose found from strokes may be off."""
MOST_CORNERS = 6
"""Axes up to which corners are tried."""


def kinematics(examined: Examined) -> Iterable[Finding]:
    definition, axes = examined.definition, examined.definition.interface
    described = definition.kinematics
    if described is None or definition.targets != "displacement":
        return
    moved = [axes.channels("target")[i] for i in axes.commanded_at]
    signals = examined.rehearsal.signals
    path = np.column_stack([signals[name].values for name in moved])
    path = path[np.all(np.isfinite(path), axis=1)]
    least, most = path.min(axis=0), path.max(axis=0)
    middle, half = 0.5 * (least + most), np.maximum(0.5 * (most - least), 1e-9)
    poses = path[np.linspace(0, len(path) - 1, POSES).astype(int)]
    if len(moved) <= MOST_CORNERS:
        corners = np.array(list(itertools.product((-WIDER, WIDER), repeat=len(moved))))
        poses = np.vstack([poses, middle + half * corners])

    def at(pose: np.ndarray) -> str:
        return f"({', '.join(axes.commanded.names)}) = ({axes.commanded.text(pose, 'm')})"

    back = described.there_and_back(poses)[1]
    off = np.abs(back - poses) / half
    worst = int(np.argmax(np.where(np.isnan(off), np.inf, off).max(axis=1)))
    if not off[worst].max() <= APART:
        yield Finding(
            "no-go",
            f"strokes and pose in [kinematics] do not belong together: at {at(poses[worst])} the strokes lead back to "
            f"{at(back[worst])}",
            remedies=("correct the functions strokes and pose, so that each undoes the other",),
        )
        return
    place = described.singular_at(poses)
    if place is not None:
        yield Finding(
            "no-go",
            f"the actuators cannot move all axes near {at(place)}, a pose that the test comes to: the kinematic map is "
            "singular there",
            remedies=("other places for the joints of the actuators, or a smaller motion",),
        )
