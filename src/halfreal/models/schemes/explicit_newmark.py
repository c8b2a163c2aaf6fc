"""Newmark's explicit method for pseudo-dynamic tests: the specimen is moved, and its force completes the step.

    q_{n+1} = q_n + Δt v_n + ½ Δt² a_n
    M a_{n+1} + C v_{n+1} + K q_{n+1} + f(q_{n+1}) + B r_{n+1} = F_{n+1},    v_{n+1} = v_n + ½ Δt (a_n + a_{n+1})

(N. M. Newmark, J. Eng. Mech. Div. ASCE 85 (1959) 67–94, β = 0, γ = ½; in tests: M. Nakashima, H. Kato, E. Takaoka,
Earthquake Engng Struct. Dyn. 21 (1992) 79–92.)  It is the central difference method in which r, the specimen's force at
q_{n+1}, is that measured for the target of this tick and known at the next; see "when what holds" in
``operator_splitting.py``, of which it is the choice α = β = 0.  Stable for Δt ≤ 2/ω_max, ω_max being that
of the structure *with* its specimen.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ...contracts.system import Method, System
from .generalized_alpha import newmark_limit
from .operator_splitting import EXCITATIONS, splitting
from .scheme import Coefficients, Scheme


class ExplicitNewmark(Scheme):
    """Newmark's explicit method, for pseudo-dynamic tests; its step is limited."""

    kind: Literal["explicit newmark"] = "explicit newmark"
    answered_next_tick: ClassVar[bool] = True

    def coefficients(self) -> Coefficients:
        return Coefficients("splitting", 0.0, 0.0, 0.0, 0.5, ("newmark1959", "nakashima1992"))

    def plain(self, system: System, dt: float) -> Method:
        axes = system.inputs.shape[1] - EXCITATIONS
        return splitting(self.kind, system, dt, np.zeros((axes, axes)), 0.0, 0.0, 0.5, ("newmark1959", "nakashima1992"))

    def critical_step(self, system: System) -> float | None:
        return newmark_limit(system, 0.0, 0.5)
