"""An electrodynamic shaker with its servo drive, as a continuous model.

V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech. (2020), doi
10.1007/s40799-020-00394-5, Eqs. 1–7::

    m_a d¨ + c_a d˙ + k_a d = k_I i + f_m        k_I d˙ + L i˙ + R i = v
    A_m = m_a s² + c_a s + k_a,    A_I = L s + R
    C_d = ω₁/(s + ω₁) (k_p + k_d s + k_i/s)      position loop,  F_c = C_d (D_c − D_a)
    C_F = ω₂/(s + ω₂) (k_Fp + k_Fi/s)            force loop,     V = C_F (F_c − k_I I)

so that, with C_d = D/δ and C_F = F/φ as ratios of polynomials,

    Δ D_a = n_c D_c + n_f F_m
    Δ = k_I (A_m δ + D) F + k_I² s δ φ + A_m A_I δ φ,      n_c = k_I F D,      n_f = δ (k_I F + A_I φ)

(the paper's Eq. 10 lost C_F and A_mI = k_I s of Δ in print).

======================= ==========================================================================
d, i, v                 displacement, current, voltage
f_m                    force of the specimen on the armature, positive along d
m_a, c_a, k_a           ``mass``, ``damping``, ``stiffness`` of the armature
L, R, k_I               ``inductance``, ``resistance``, ``motor_constant``
k_p, k_i, k_d, ω₁       ``proportional``, ``integral``, ``derivative``, ``position_filter``
k_Fp, k_Fi, ω₂          ``force_proportional``, ``force_integral``, ``force_filter``
======================= ==========================================================================
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import model_validator

from ..settings import Number, Settings, fault


class Shaker(Settings):
    """An armature on its suspension, moved by a coil in a magnetic field."""

    mass: Annotated[float, Number("kg", above=0)]
    damping: Annotated[float, Number("N s/m", least=0)] = 0.0
    stiffness: Annotated[float, Number("N/m", least=0)] = 0.0
    inductance: Annotated[float, Number("H", above=0)]
    resistance: Annotated[float, Number("ohm", least=0)]
    motor_constant: Annotated[float, Number("N/A", above=0)]


class Drive(Settings):
    """A servo drive: PID position loop around a PI force loop, each behind a low-pass filter.

    It is continuous, or sampled: its position loop at ``position_rate``, its force loop at ``force_rate``.
    ``current_limit`` bounds the current that the position loop may ask for.
    """

    proportional: Annotated[float, Number("N/m", above=0)]
    integral: Annotated[float, Number("N/(m s)", least=0)] = 0.0
    derivative: Annotated[float, Number("N s/m", least=0)] = 0.0
    position_filter: Annotated[float, Number("rad/s", above=0)]
    force_proportional: Annotated[float, Number("V/N", above=0)]
    force_integral: Annotated[float, Number("V/(N s)", least=0)] = 0.0
    force_filter: Annotated[float, Number("rad/s", above=0)]
    current_limit: Annotated[float, Number("A", above=0)] | None = None
    position_rate: Annotated[float, Number("Hz", above=0)] | None = None
    force_rate: Annotated[float, Number("Hz", above=0)] | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> Drive:
        rate, position = self.force_rate, self.position_rate
        if (rate is None) != (position is None):
            raise fault("a drive is sampled in both loops or in none; give position_rate and force_rate, or neither")
        if rate is not None and position is not None and rate < position:
            raise fault(
                f"{rate:g} Hz is slower than the position loop around it, {position:g} Hz; raise it", "force_rate"
            )
        return self


def polynomials(shaker: Any, drive: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Δ, n_c, n_f, coefficients of the highest power of s first; those of the settings may be any kind of number."""
    a, d = shaker, drive
    k = a.motor_constant
    a_m, a_i = np.array([a.mass, a.damping, a.stiffness]), np.array([a.inductance, a.resistance])
    big_d = d.position_filter * np.array([d.derivative, d.proportional, d.integral])
    small_d = np.array([1, d.position_filter, 0])
    big_f = d.force_filter * np.array([d.force_proportional, d.force_integral])
    small_f = np.array([1, d.force_filter, 0])
    both = np.polymul(small_d, small_f)
    denominator = np.polyadd(
        k * np.polymul(np.polyadd(np.polymul(a_m, small_d), big_d), big_f),
        np.polyadd(k**2 * np.polymul([1, 0], both), np.polymul(np.polymul(a_m, a_i), both)),
    )
    by_force = np.polymul(small_d, np.polyadd(k * big_f, np.polymul(a_i, small_f)))
    return denominator, k * np.polymul(big_f, big_d), by_force


def responses(shaker: Any, drive: Drive, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """n_c/Δ and n_f/Δ at ω [rad/s] of a continuous drive; the shaker's numbers may be columns of samples, (samples, 1).

    A sampled drive has its own, ``sampled_drive.py``; here its rates are left out.
    """
    s = 1j * np.asarray(omega)
    k = shaker.motor_constant
    a_m = shaker.mass * s**2 + shaker.damping * s + shaker.stiffness
    a_i = shaker.inductance * s + shaker.resistance
    d = drive
    position = d.position_filter / (s + d.position_filter) * (d.proportional + d.derivative * s + d.integral / s)
    force = d.force_filter / (s + d.force_filter) * (d.force_proportional + d.force_integral / s)
    through = k * force
    inner = through + a_i
    denominator = a_m * inner + through * position + k**2 * s
    return through * position / denominator, inner / denominator
