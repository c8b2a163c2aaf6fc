"""The loop of a virtual substructure, an actuator and a specimen in continuous time, without delay and coupling.

    L₀(s) = −V(s) S(s) G(s)          S(s) = S_d + s S_v + s² S_a, from displacement, velocity, acceleration to force

cut at the command and in the sense of negative feedback.  G is the same on every axis, so that V G may act last.  S has
no state-space form where the specimen has mass or damping; in the product the powers of s are taken into the inputs of
V G (S_d, S_v, S_a) = C (sI − A)⁻¹ (B_d, B_v, B_a) + (D_d, D_v, D_a), as (sI − A)⁻¹ s = (sI − A)⁻¹ A + I:

    −L₀ = C (sI − A)⁻¹ (B_d + A B_v + A² B_a) + D_d + C B_v + C A B_a

provided that nothing is left that grows with s: D_v + C B_a = 0 and D_a = 0.  A specimen with mass on an ideal actuator
gives L₀ a direct term: it tends to a constant at high frequencies, and with a delay the loop is a neutral delay
equation.

======== ====================================================================================
V        virtual substructure, from the measured force (its minus sign included) to the target
G        actuator without its delay
S        specimen, also one with degrees of freedom of its own
======== ====================================================================================
"""

from __future__ import annotations

import numpy as np

from ..contracts.state_space import StateSpace
from ..errors import HalfrealError

GROWING = 1e-9
"""Part of its factors' size up to which a term that grows with s passes for zero."""


class ContinuousLimitError(HalfrealError):
    """A loop whose continuous limit is not known or does not exist."""


def bare_loop(virtual: StateSpace, actuator: StateSpace, specimen: StateSpace) -> StateSpace:
    """L₀; the inputs of ``specimen`` are displacements, velocities and accelerations of the interface."""
    whole = virtual.after(actuator).after(specimen)
    a, c = whole.a, whole.c
    (b, by_velocity, by_acceleration), (d, d_velocity, d_acceleration) = (
        np.split(matrix, 3, axis=1) for matrix in (whole.b, whole.d)
    )
    size = _norm(d_velocity) + _norm(c) * _norm(by_acceleration)
    felt = _norm(virtual.d) * _norm(actuator.d) * _norm(specimen.d)
    if _norm(d_velocity + c @ by_acceleration) > GROWING * size or _norm(d_acceleration) > GROWING * felt:
        raise ContinuousLimitError(
            "the specimen's damping or mass meets a direct term from force to displacement of the virtual "
            "substructure: its continuous limit would grow without bound with frequency; the sampled loop "
            "(halfreal check) still covers it"
        )
    return StateSpace(
        a=a,
        b=b + a @ by_velocity + a @ (a @ by_acceleration),
        c=-c,
        d=-(d + c @ by_velocity + c @ a @ by_acceleration),
    )


def _norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix))
