"""The criteria of the multi-axial benchmark problem for real-time hybrid simulation (maRTHS).

J. W. Condori Uribe, M. Salmeron, E. Patino, H. Montoya, S. J. Dyke, C. E. Silva, A. Maghareh, M. Najarian, A. Montoya,
"Experimental benchmark control problem for multi-axial real-time hybrid simulation", Front. Built Environ. 9 (2023)
1270996, as its code computes them.  With ‖a, b‖ = 100 std(a − b)/std(b) and |a, b| = 100 max|a − b|/max|b| in percent,
each of one signal, so that no metre is added to a radian:

============= ================================================ =================================
J₁            lag of s behind d in ms                          each actuator
J₂, J₃        ‖s, d‖, |s, d|                                   tracking, each actuator
J₄            lag of s behind d in ms                          as J₁ in the problem's code
J₅, J₆        ‖p, y₁‖, |p, y₁|                                 estimation: x and rz
J₇, J₉        ‖p, r₁‖, |p, r₁|                                 floor 1: x and rz
J₈, J₁₀       ‖y_i, r_i‖, |y_i, r_i|                           floors 2 and 3: x and rz of each
============= ================================================ =================================

s are the strokes as their sensors read them, with noise, d those that the target needs; p is the measured pose, which
may be an estimate; y are displacements and rotations of the numerical part (y₁ is the target), r of the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import numpy as np

from ..contracts.criteria import Criteria
from ..errors import HalfrealError
from ..runs.run import Run, Signal
from ..vrths.criteria import lag, peak, spread

ACTUATORS = ("a1", "a2")
AXES = ("x", "rz")
UPPER = ("x 2", "rz 2", "x 3", "rz 3")
NAMES = (
    *(f"J{i} {name}" for i in (1, 2, 3, 4) for name in ACTUATORS),
    *(f"J{i} {name}" for i in (5, 6, 7) for name in AXES),
    *(f"J8 {name}" for name in UPPER),
    *(f"J9 {name}" for name in AXES),
    *(f"J10 {name}" for name in UPPER),
)
UNITS = {name: "ms" if name[:2] in ("J1", "J4") and name[:3] != "J10" else "%" for name in NAMES}
WANTED, SENSED = (tuple(f"{signal}.{name}" for name in ACTUATORS) for signal in ("target.stroke", "sensor.stroke"))
TARGET, POSE = (tuple(f"{signal}.{name}" for name in AXES) for signal in ("target", "measured.displacement"))
FLOORS = tuple(f"virtual.{name}" for name in UPPER)
RECORDED = (*WANTED, *SENSED, *TARGET, *POSE, *FLOORS)
"""Channels of a run that the criteria need; of a reference ``TARGET`` and ``FLOORS``."""


class Recorded(Protocol):
    """What is needed of a run."""

    @property
    def time(self) -> np.ndarray: ...

    @property
    def signals(self) -> Mapping[str, Signal]: ...


class MarthsCriteria(Criteria):
    """The criteria of the maRTHS benchmark: J1 and J4 in ms, the others in %, for each actuator or axis."""

    kind: Literal["marths"] = "marths"

    @property
    def units(self) -> Mapping[str, str]:
        return UNITS

    def score(self, run: Run, reference: Run | None) -> Mapping[str, float]:
        return score(run, reference)


def score(run: Recorded, reference: Recorded | None) -> dict[str, float]:
    """J₁ … J₁₀ of a run and the whole frame."""
    if reference is None:
        raise HalfrealError("criteria 'marths' compare with the whole frame; give a section [reference]")
    for record, names in ((run, RECORDED), (reference, (*TARGET, *FLOORS))):
        missing = [name for name in names if name not in record.signals]
        if missing:
            raise HalfrealError(
                f"criteria 'marths' need the signal '{missing[0]}'; they are for a rig of kind 'coupled actuators' "
                "with the actuators a1 and a2, axes x and rz, kinematics.coupling_in = 'actuators' and the responses "
                f"{', '.join(UPPER)}, all on record (record.channels)"
            )
    dt = float(run.time[1] - run.time[0])

    def pairs(one: tuple[str, ...], of: Recorded, other: tuple[str, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(run.signals[a].values, of.signals[b].values) for a, b in zip(one, other, strict=True)]

    tracking, estimation = pairs(SENSED, run, WANTED), pairs(POSE, run, TARGET)
    floor_1, upper = pairs(POSE, reference, TARGET), pairs(FLOORS, reference, FLOORS)
    lags = [1e3 * dt * lag(*pair) for pair in tracking]
    values = [
        *lags,
        *(spread(*pair) for pair in tracking),
        *(peak(*pair) for pair in tracking),
        *lags,
        *(spread(*pair) for pair in estimation),
        *(peak(*pair) for pair in estimation),
        *(spread(*pair) for pair in floor_1),
        *(spread(*pair) for pair in upper),
        *(peak(*pair) for pair in floor_1),
        *(peak(*pair) for pair in upper),
    ]
    return dict(zip(NAMES, values, strict=True))
