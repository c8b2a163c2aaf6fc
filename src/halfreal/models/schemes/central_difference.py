"""The central difference method: Newmark's with β = 0, γ = ½.

    M (q_{n+1} − 2 q_n + q_{n−1})/Δt² + C (q_{n+1} − q_{n−1})/(2Δt) + K q_n + f(q_n) = F_n

is the same recursion as q_{n+1} = q_n + Δt v_n + ½Δt² a_n, v_{n+1} = v_n + ½Δt (a_n + a_{n+1}) with equilibrium at
t_{n+1} (T. J. R. Hughes, The Finite Element Method, Dover 2000, chapter 9): started from q_0, q˙_0 it needs no
value before t = 0, and velocities and accelerations are at hand.  It is explicit: the displacement at t_{n+1} does
not depend on the inputs at t_{n+1}, and nothing is iterated.  Stable for Δt ≤ 2/ω_max.  Symbols as in
``halfreal.models.schemes.generalized_alpha``.
"""

from __future__ import annotations

from typing import Literal

from ...contracts.system import System
from .generalized_alpha import Family, Parameters, newmark_limit


class CentralDifference(Family):
    """The central difference method; its step is limited."""

    kind: Literal["central difference"] = "central difference"
    references = ("newmark1959",)

    def parameters(self) -> Parameters:
        return Parameters(0.0, 0.0, 0.0, 0.5)

    def critical_step(self, system: System) -> float | None:
        return newmark_limit(system, 0.0, 0.5)
