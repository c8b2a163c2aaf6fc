"""Coulomb friction, sticking elastically: a force up to F_f, reached after a small elastic slip.

    F = k (x − x_p),    |F| ≤ F_f(v),    F_f(v) = F_fast − (F_fast − F_slow) exp(−|v|/v_f)

by return mapping (J. C. Simo, T. J. R. Hughes, Computational Inelasticity, Springer 1998, chapter 1).  A force that
jumps with the sign of the velocity has no slope at rest and chatters in any sampled loop; real contacts stick
elastically, with the stiffness k.  How friction of PTFE depends on the velocity is that of M. C. Constantinou, A.
Mokha, A. Reinhorn, J. Struct. Eng. 116 (1990) 455–474; Coulomb's does not.

The kernel has a spring in parallel, that of a pendulum (``friction_pendulum.py``).  State: x_p, how far it has slid.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

FRICTION = 12.0


@kernel
def friction(p, s, strain, rate, trial):  # type: ignore[no-untyped-def]
    """Force, tangent, damping; p = (k, F_slow, F_fast, 1/v_f, stiffness of the parallel spring)."""
    slid = s[0]
    force = p[0] * (strain - slid)
    tangent, damping = p[0], 0.0
    faded = np.exp(-p[3] * abs(rate))
    limit = p[2] - (p[2] - p[1]) * faded
    if abs(force) > limit:
        d = 1.0 if force > 0.0 else -1.0
        slid += (force - d * limit) / p[0]
        force, tangent = d * limit, 0.0
        damping = d * (p[2] - p[1]) * p[3] * faded * np.sign(rate)
    trial[0] = slid
    return force + p[4] * strain, tangent + p[4], damping


class Friction(Law):
    """Coulomb friction with elastic sticking."""

    code = FRICTION
    states = 1
    references = ("simo1998",)
    kind: Literal["coulomb friction"] = "coulomb friction"
    force: Annotated[float, Number("N", above=0)]
    """F_f, friction force while sliding."""
    stick_stiffness: Annotated[float, Number("N/m", above=0)]
    """k, stiffness before sliding."""

    def values(self) -> tuple[float, ...]:
        return self.stick_stiffness, self.force, self.force, 0.0, 0.0

    @property
    def initial_stiffness(self) -> float:
        return self.stick_stiffness
