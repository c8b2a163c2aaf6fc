"""MKR-α: KR-α with parameters that overshoot less; explicit, and stable at any step.

C. Kolay, J. M. Ricles, "Improved explicit integration algorithms for structural dynamic analysis with unconditional
stability and controllable numerical dissipation", J. Earthquake Eng. 23 (2019) 771–792.  The equations are those of
``kr_alpha.py``, with

    α_m = (2ρ_∞³ + ρ_∞² − 1)/(ρ_∞³ + ρ_∞² + ρ_∞ + 1),    α_f = ρ_∞/(ρ_∞ + 1),    γ = ½ − α_m + α_f,    β = ½ (½ + γ)

At infinite frequency the poles are ±iρ_∞ and −ρ_∞, all of the size that is required, in place of three equal ones:
no double pole lets a displacement grow before it decays.
"""

from __future__ import annotations

from typing import Literal

from .kr_alpha import KRAlpha


class MKRAlpha(KRAlpha):
    """MKR-α by its spectral radius at infinite frequency; 1 dissipates nothing."""

    kind: Literal["mkr-alpha"] = "mkr-alpha"  # type: ignore[assignment]
    references = ("kolay2019",)

    def _parameters(self) -> tuple[float, float, float, float]:
        rho = self.rho_inf
        alpha_m = (2.0 * rho**3 + rho**2 - 1.0) / (rho**3 + rho**2 + rho + 1.0)
        alpha_f = rho / (rho + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return alpha_m, alpha_f, 0.5 * (0.5 + gamma), gamma
