"""Bouc–Wen hysteresis, smooth from elastic to plastic, also with the degradation of Baber and Wen.

Y.-K. Wen, "Method for random vibration of hysteretic systems", J. Eng. Mech. Div. ASCE 102 (1976) 249–263; T. T. Baber,
Y.-K. Wen, "Random vibration of hysteretic, degrading systems", J. Eng. Mech. Div. ASCE 107 (1981) 1069–1087:

    σ = α k ε + (1 − α) k z
    dz/dε = (A − ν |z|ⁿ (γ + β sgn(dε z))) / η
    A = A₀ − δ_A e,    ν = 1 + δ_ν e,    η = 1 + δ_η e,    de/dε = (1 − α) k z

e is the energy that the hysteretic part has taken up, here as a part of k Y² with Y the strain at yield, so that the
δ are numbers without unit: A lowers strength and stiffness, ν the strength, η the stiffness.  Without degradation it
is Wen's law.

It is integrated along ε by the classical Runge–Kutta method in ``SUBDIVISIONS`` parts; with increments of a tenth of
the yield strain the stress is accurate to 10⁻⁶ of that at yield, or 2·10⁻⁵ where n = 1 (|z|ⁿ then has a kink at
zero).  The tangent is the law's own at the end.  States: ε, z, e.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ...kernels.compile import kernel
from ...settings import Number, fault
from .law import Law

BOUC_WEN = 4.0
SUBDIVISIONS = 8
LEEWAY = 1.001
"""Times the bound of |z|, beyond which only increments are that are too large for the subdivisions."""


@kernel
def _slope(p, z, direction):  # type: ignore[no-untyped-def]
    exponent = p[5]
    if exponent == 1.0:
        power = abs(z)
    elif exponent == 2.0:
        power = z * z
    else:
        power = abs(z) ** exponent
    return p[2] - power * (p[4] + p[3] * np.sign(direction * z))


@kernel
def _degraded(p, z, energy, direction):  # type: ignore[no-untyped-def]
    """The same with A, ν and η of the energy."""
    amplitude = max(p[2] - p[6] * energy, 0.0)
    return (amplitude + (1.0 + p[7] * energy) * (_slope(p, z, direction) - p[2])) / (1.0 + p[8] * energy)


@kernel
def bouc_wen(p, s, strain, trial):  # type: ignore[no-untyped-def]
    h = (strain - s[0]) / SUBDIVISIONS
    z, energy, rise = s[1], s[2], p[9] * h
    if p[6] + p[7] + p[8] == 0.0:
        for _ in range(SUBDIVISIONS):
            k1 = _slope(p, z, h)
            k2 = _slope(p, z + 0.5 * h * k1, h)
            k3 = _slope(p, z + 0.5 * h * k2, h)
            k4 = _slope(p, z + h * k3, h)
            z += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            z = min(max(z, -p[10]), p[10])
        slope = _slope(p, z, h)
    else:
        for _ in range(SUBDIVISIONS):
            k1 = _degraded(p, z, energy, h)
            z2 = z + 0.5 * h * k1
            k2 = _degraded(p, z2, energy + 0.5 * rise * z, h)
            z3 = z + 0.5 * h * k2
            k3 = _degraded(p, z3, energy + 0.5 * rise * z2, h)
            z4 = z + h * k3
            k4 = _degraded(p, z4, energy + rise * z3, h)
            energy += rise / 6.0 * (z + 2.0 * z2 + 2.0 * z3 + z4)
            z += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            z = min(max(z, -p[10]), p[10])
        slope = _degraded(p, z, energy, h)
    trial[0], trial[1], trial[2] = strain, z, energy
    return p[0] * (p[1] * strain + (1.0 - p[1]) * z), p[0] * (p[1] + (1.0 - p[1]) * slope)


class BoucWen(Law):
    """Bouc–Wen hysteresis: α k δ + (1 − α) k z,  dz/dδ = (A − ν |z/Y|ⁿ (γ + β sgn(dδ z)))/η.

    Y is the deformation at yield and β, γ are without unit: |z| stays below Y (A/(β + γ))^(1/n), which is Y by default.
    With Y = 1 m or 1 rad, β and γ are the numbers in 1/mⁿ or 1/radⁿ of the law's original form.
    """

    code = BOUC_WEN
    states = 3
    references = ("wen1976", "baber1981")
    alpha: Annotated[float, Number("1", least=0, most=1)] = 0.0
    """α, the elastic part of the stiffness."""
    amplitude: Annotated[float, Number("1", above=0)] = 1.0
    """A, before any degradation."""
    n: Annotated[float, Number("1", least=1, most=20)] = 1.0
    """n, sharpness of the yielding."""
    beta: Annotated[float, Number("1", above=0)] = 0.5
    """β, shape of the loop, together with γ."""
    gamma: Annotated[float, Number("1")] = 0.5
    """γ, shape of the loop, together with β."""
    degrading_amplitude: Annotated[float, Number("1", least=0)] = 0.0
    """δ_A, decrease of A per k Y² of dissipated energy: strength and stiffness."""
    degrading_strength: Annotated[float, Number("1", least=0)] = 0.0
    """δ_ν, increase of ν."""
    degrading_stiffness: Annotated[float, Number("1", least=0)] = 0.0
    """δ_η, increase of η."""

    @field_validator("gamma")
    @classmethod
    def _passive(cls, gamma: float, info: ValidationInfo) -> float:
        beta = info.data.get("beta")
        if beta is not None and not -beta < gamma <= beta:
            raise fault(
                f"gamma = {gamma:g} with beta = {beta:g} leaves z unbounded or makes the element generate energy; "
                f"choose gamma greater than {-beta:g} and at most {beta:g}"
            )
        return gamma

    def numbers(self, stiffness: float, yielding: float) -> tuple[float, ...]:
        """Parameters, for k and Y."""
        scale = yielding**self.n
        shape = stiffness, self.alpha, self.amplitude, self.beta / scale, self.gamma / scale, self.n
        degrading = self.degrading_amplitude, self.degrading_strength, self.degrading_stiffness
        bound = yielding * (self.amplitude / (self.beta + self.gamma)) ** (1.0 / self.n)
        return *shape, *degrading, (1.0 - self.alpha) / yielding**2, LEEWAY * bound

    @property
    def initial_stiffness(self) -> float:
        return float(self.values()[0] * (self.alpha + (1.0 - self.alpha) * self.amplitude))


class BoucWenLaw(BoucWen):
    """Bouc–Wen hysteresis, smooth from elastic to plastic, with or without degradation."""

    other = "bouc-wen hinge"
    kind: Literal["bouc-wen"] = "bouc-wen"
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_displacement: Annotated[float, Number("m", above=0)]

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_displacement)


class BoucWenHinge(BoucWen):
    """Hinge with Bouc–Wen hysteresis, smooth from elastic to plastic, with or without degradation."""

    of = "rotation"
    other = "bouc-wen"
    kind: Literal["bouc-wen hinge"] = "bouc-wen hinge"
    stiffness: Annotated[float, Number("N m/rad", above=0)]
    yield_rotation: Annotated[float, Number("rad", above=0)]
    """Y, rotation at yield."""

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_rotation)
