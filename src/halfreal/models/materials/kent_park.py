"""Concrete in compression, cracked from the outset: Kent and Park's envelope with straight unloading.

D. C. Kent, R. Park, "Flexural members with confined concrete", J. Struct. Div. ASCE 97 (1971) 1969–1990, as extended
to confined concrete by B. D. Scott, R. Park, M. J. N. Priestley, ACI J. 79 (1982) 13–27; unloading after I. D.
Karsan, J. O. Jirsa, J. Struct. Div. ASCE 95 (1969) 2543–2564.  In compression, ε < 0 and σ < 0, with η = ε/ε_0:

    σ = f_c (2η − η²)                                      down to the strain ε_0 at the strength f_c
    σ falls linearly to f_u at ε_u, and stays f_u beyond

From the envelope at ε_m it unloads along the straight line to σ = 0 at

    ε_e = ε_0 (0.145 η_m² + 0.13 η_m) for η_m < 2, else ε_0 (0.707 (η_m − 2) + 0.834),    ε_m no further than ε_u

but never steeper than the initial modulus 2 f_c/ε_0, and it reloads along the same line.  Tension is zero.  It is the
law of Concrete01 in OpenSees.  At rest the law has two slopes, that of compression and zero; the first is given as its
initial one.

States: ε, σ, ε_m, ε_e, slope of unloading.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ...kernels.compile import kernel
from ...settings import Number, fault
from .law import Law

KENT_PARK = 7.0


@kernel
def envelope(p, strain):  # type: ignore[no-untyped-def]
    """Stress and tangent of the envelope in compression, for strain ≤ 0; p = (f_c, ε_0, f_u, ε_u), all negative."""
    if strain > p[1]:
        eta = strain / p[1]
        return p[0] * (2.0 * eta - eta * eta), 2.0 * p[0] / p[1] * (1.0 - eta)
    if strain > p[3]:
        slope = (p[0] - p[2]) / (p[1] - p[3])
        return p[0] + slope * (strain - p[1]), slope
    return p[2], 0.0


@kernel
def kent_park(p, s, strain, trial):  # type: ignore[no-untyped-def]
    before, stress_before, lowest, closing, unloading = s[0], s[1], s[2], s[3], s[4]
    straight = stress_before + unloading * (strain - before)
    stress, tangent = 0.0, 0.0
    if strain <= 0.0:
        if strain < before:
            if strain <= lowest:
                lowest = strain
                stress, tangent = envelope(p, strain)
                eta = max(lowest, p[3]) / p[1]
                ratio = 0.145 * eta * eta + 0.13 * eta if eta < 2.0 else 0.707 * (eta - 2.0) + 0.834
                modulus = 2.0 * p[0] / p[1]
                way, steepest = lowest - ratio * p[1], stress / modulus
                if way < steepest:
                    closing, unloading = ratio * p[1], stress / way
                else:
                    closing, unloading = lowest - steepest, modulus
            elif strain <= closing:
                stress, tangent = unloading * (strain - closing), unloading
            if straight > stress:
                stress, tangent = straight, s[4]
        elif straight < 0.0 or strain <= closing:
            stress, tangent = straight, unloading
    trial[0], trial[1], trial[2], trial[3], trial[4] = strain, stress, lowest, closing, unloading
    return stress, tangent


class Concrete(Law):
    """What concretes have in common: strengths are given as positive numbers, and strains in compression too."""

    of = "strain"
    curved = True
    strength: Annotated[float, Number("Pa", above=0)]
    """f_c, cylinder or confined strength."""
    strain_at_strength: Annotated[float, Number("1", above=0, most=0.1)] = 0.002
    """ε_0; the initial modulus is 2 f_c/ε_0."""
    crushed_stress: Annotated[float, Number("Pa", least=0)] = 0.0
    """f_u, residual strength after crushing."""
    crushing_strain: Annotated[float, Number("1", above=0, most=1)] = 0.006
    """ε_u, strain at which the residual strength is reached."""

    @field_validator("crushed_stress")
    @classmethod
    def _weaker(cls, value: float, info: ValidationInfo) -> float:
        strength = info.data.get("strength")
        if strength is not None and value > strength:
            raise fault(f"crushed_stress is {value:g} Pa, above the strength of {strength:g} Pa; give at most that")
        return value

    @field_validator("crushing_strain")
    @classmethod
    def _later(cls, value: float, info: ValidationInfo) -> float:
        first = info.data.get("strain_at_strength")
        if first is not None and value <= first:
            raise fault(f"crushing_strain is {value:g}, not above strain_at_strength = {first:g}; give a larger one")
        return value

    @property
    def initial_stiffness(self) -> float:
        return 2.0 * self.strength / self.strain_at_strength

    def envelope(self) -> tuple[float, ...]:
        return -self.strength, -self.strain_at_strength, -self.crushed_stress, -self.crushing_strain


class KentPark(Concrete):
    """Concrete without tension, after Kent and Park."""

    code = KENT_PARK
    states = 5
    references = ("kent1971", "scott1982")
    kind: Literal["kent-park concrete"] = "kent-park concrete"

    def values(self) -> tuple[float, ...]:
        return self.envelope()

    @property
    def start(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, 0.0, self.initial_stiffness])
