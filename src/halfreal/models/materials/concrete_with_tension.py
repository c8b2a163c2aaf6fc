"""Concrete with tension that softens linearly: Kent and Park's envelope with the cyclic rules of Yassin.

M. H. M. Yassin, "Nonlinear analysis of prestressed concrete structures under monotonic and cyclic loads",
dissertation, University of California, Berkeley 1994.  The envelope in compression is that of ``kent_park.py``, E_0 =
2 f_c/ε_0.  All lines of reloading meet in one point R on the initial tangent, where a line of the slope λ E_0 through
(ε_u, f_u) meets it:

    ε_R = (f_u − λ E_0 ε_u)/(E_0 (1 − λ)),    σ_R = E_0 ε_R
    E_r = (σ_m − σ_R)/(ε_m − ε_R),            ε_t = ε_m − σ_m/E_r

From the extreme (ε_m, σ_m) on the envelope, unloading follows E_0 between the line of the slope E_r, on which it
reloads, and the line of half that slope through (ε_t, 0).  Beyond ε_t it is in tension:

    σ = E_0 (ε − ε_t) up to f_t, falling with E_ts to zero; within the largest opening so far along the secant

It is the law of Concrete02 in OpenSees.  States: ε, σ, ε_m, largest opening ε − ε_t.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ...kernels.compile import kernel
from ...settings import Number
from .kent_park import Concrete, envelope

CONCRETE_WITH_TENSION = 8.0


@kernel
def _opening(p, modulus, strain):  # type: ignore[no-untyped-def]
    """Stress and tangent of the envelope in tension; p[5] is f_t, p[6] is E_ts."""
    cracking = p[5] / modulus
    if strain <= cracking:
        return modulus * strain, modulus
    if strain <= cracking + p[5] / p[6]:
        return p[5] - p[6] * (strain - cracking), -p[6]
    return 0.0, 0.0


@kernel
def concrete_with_tension(p, s, strain, trial):  # type: ignore[no-untyped-def]
    modulus = 2.0 * p[0] / p[1]
    before, stress_before, lowest, opened = s[0], s[1], s[2], s[3]
    if strain < lowest:
        stress, tangent = envelope(p, strain)
        lowest = strain
    else:
        at_r = (p[2] - p[4] * modulus * p[3]) / (modulus * (1.0 - p[4]))
        extreme, _ = envelope(p, lowest)
        reloading = (extreme - modulus * at_r) / (lowest - at_r)
        closing = lowest - extreme / reloading
        opening = strain - closing
        if opening <= 0.0:
            stress, tangent = stress_before + modulus * (strain - before), modulus
            low, high = extreme + reloading * (strain - lowest), 0.5 * reloading * opening
            if stress < low:
                stress, tangent = low, reloading
            if stress > high:
                stress, tangent = high, 0.5 * reloading
        elif opening <= opened:
            left, _ = _opening(p, modulus, opened)
            tangent = left / opened
            stress = tangent * opening
        else:
            stress, tangent = _opening(p, modulus, opening)
            opened = opening
    trial[0], trial[1], trial[2], trial[3] = strain, stress, lowest, opened
    return stress, tangent


class ConcreteWithTension(Concrete):
    """Concrete with tension that softens linearly."""

    code = CONCRETE_WITH_TENSION
    states = 4
    references = ("kent1971", "yassin1994")
    kind: Literal["concrete with tension"] = "concrete with tension"
    tensile_strength: Annotated[float, Number("Pa", above=0)]
    """f_t, tensile strength."""
    softening_modulus: Annotated[float, Number("Pa", above=0)]
    """E_ts, slope of the tension softening after cracking."""
    unloading: Annotated[float, Number("1", least=0.01, most=0.9)] = 0.1
    """λ, unloading slope at the crushing strain relative to the initial modulus."""

    def values(self) -> tuple[float, ...]:
        return *self.envelope(), self.unloading, self.tensile_strength, self.softening_modulus
