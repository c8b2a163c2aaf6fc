"""What no coupling can reach in the multi-axial benchmark problem, with the numbers of a scorecard."""

from __future__ import annotations

from collections.abc import Sequence

from ..benchmark.problem import Score
from .criteria import NAMES

FORCE_LIMIT = 2100 * 4.44822
"""Of the problem's actuators [N]."""
PERFECT, LATE, NOISY = "perfect rig", "perfect rig, a step late", "perfect rig, noisy sensors"
"""Bounds of a scorecard."""
REQUIRED = {"J2 a1": 2.0, "J2 a2": 1.5, "J5 x": 1.2, "J5 rz": 3.5}
"""Criteria [%] that the coupling chosen was to reach under El Centro."""


def out_of_reach(scores: Sequence[Score]) -> list[str]:
    """Force and noise of a perfect rig under each motion, next to what is available and required."""
    perfect, noisy = ([one for one in scores if one.bound and one.coupling == name] for name in (PERFECT, NOISY))
    forces = [f"{1e-3 * one.largest_force:.1f} kN ({one.motion})" for one in perfect]
    beyond = any(one.largest_force > FORCE_LIMIT for one in perfect)
    lines = []
    if forces:
        lines.append(
            f"Largest force of an actuator of a perfect rig without noise: {', '.join(forces)}; the limit is "
            f"{1e-3 * FORCE_LIMIT:.1f} kN"
            + (": no coupling stays below it under the motions that need more." if beyond else ".")
        )
    if noisy:
        floors = [f"{' / '.join(f'{one.criteria[i]:.2f}' for i in TRACKING)} % ({one.motion})" for one in noisy]
        lines.append(f"J2 of a perfect rig with the noise of its sensors: {', '.join(floors)}; no coupling is below.")
    for one in (one for one in noisy if one.motion == "El Centro"):
        least = one.criteria[TRACKING[0]]
        if least > REQUIRED["J2 a1"]:
            lines.append(
                f"A J2 of {REQUIRED['J2 a1']:g} % on a1 under El Centro cannot be reached: the noise alone makes "
                f"{least:.2f} %."
            )
    return lines


TRACKING = [NAMES.index(name) for name in ("J2 a1", "J2 a2")]
