"""HHT-α: generalised-α with α_m = 0 and α_f = −α.

H. M. Hilber, T. J. R. Hughes, R. L. Taylor, "Improved numerical dissipation for time integration algorithms in
structural dynamics", Earthquake Engng Struct. Dyn. 5 (1977) 283–292:

    M a_{n+1} + (1 + α) (C v_{n+1} + K q_{n+1} + f_{n+1}) − α (C v_n + K q_n + f_n) = (1 + α) F_{n+1} − α F_n
    γ = ½ − α,    β = ¼ (1 − α)²,    −⅓ ≤ α ≤ 0

α = 0 is the constant average acceleration method; a smaller α dissipates more at high frequencies.  Other symbols as in
``halfreal.models.schemes.generalized_alpha``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ...settings import Number
from .generalized_alpha import ImplicitScheme, Parameters


class HHT(ImplicitScheme):
    """HHT-α; stable at any step."""

    kind: Literal["hht"] = "hht"
    alpha: Annotated[float, Number("1", least=-1 / 3, most=0)] = -0.05
    references = ("hilber1977",)

    def parameters(self) -> Parameters:
        return Parameters(0.0, -self.alpha, 0.25 * (1.0 - self.alpha) ** 2, 0.5 - self.alpha)
