"""Newmark's method: generalised-α with α_m = α_f = 0.

N. M. Newmark, "A method of computation for structural dynamics", J. Eng. Mech. Div. ASCE 85 (1959) 67–94:

    M a_{n+1} + C v_{n+1} + K q_{n+1} + f(q_{n+1}) = F_{n+1}
    q_{n+1} = q_n + Δt v_n + Δt² ((½ − β) a_n + β a_{n+1}),    v_{n+1} = v_n + Δt ((1 − γ) a_n + γ a_{n+1})

β = ¼, γ = ½ is the constant average acceleration (trapezoidal) method: stable at any step, and free of dissipation.
With 2β < γ the step is limited.  Symbols as in ``halfreal.models.schemes.generalized_alpha``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ...contracts.system import System
from ...settings import Number
from .generalized_alpha import ImplicitScheme, Parameters, newmark_limit


class Newmark(ImplicitScheme):
    """Newmark's method; the defaults are the constant average acceleration method."""

    kind: Literal["newmark"] = "newmark"
    beta: Annotated[float, Number("1", least=0, most=1)] = 0.25
    gamma: Annotated[float, Number("1", least=0.5, most=1)] = 0.5
    references = ("newmark1959",)

    def parameters(self) -> Parameters:
        return Parameters(0.0, 0.0, self.beta, self.gamma)

    def critical_step(self, system: System) -> float | None:
        return newmark_limit(system, self.beta, self.gamma)
