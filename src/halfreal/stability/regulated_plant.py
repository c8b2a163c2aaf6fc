"""A hybrid test on paper: virtual substructure, specimen and actuators as one linear plant, and its closed loops.

    virtual    M_v q¨ + C_v q˙ + K_v q = b f − Gᵀλ,    y_v = G q
    rig        (M_e + M_a) y¨_e + (C_e + C_a) y˙_e + (K_e + K_a) y_e = u,    λ = M_e y¨_e + C_e y˙_e + K_e y_e
    gap        g = y_e − y_v = H_gu u + H_gext f

With impedances Z = K + sC + s²M at the interface, H_gu = (I + Z_v⁻¹Z_e)(Z_e + Z_a)⁻¹ and H_gext = −G Z_v⁻¹ b.  Its
inputs are (f, u…), its outputs (g…, y_v…).  A controller answers the gap with the drive, u = C g.

Next to adaptive feed-forward (``halfreal.couplings.harmonic.lti``) stand the controllers that the paper on it compares
with: a linear quadratic regulator of all states or, with an observer, of the gap (LQG), and an integrator, to which its
tuning of a PID controller reduced.

======== ==========================================================================
q, y_v   displacements of the virtual substructure, those at the interface
y_e, λ   displacement of the rig, force of the specimen
f, u     excitation, drive of the actuators (n axes)
v, e, a  virtual, specimen (experimental), actuators
======== ==========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_continuous_are

from ..contracts.state_space import StateSpace
from ..contracts.system import System
from ..errors import HalfrealError


@dataclass(frozen=True)
class Part:
    """Mass, damping and stiffness between the interface axes, (n, n) each; single numbers for one axis."""

    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray

    def __post_init__(self) -> None:
        for name in ("mass", "damping", "stiffness"):
            object.__setattr__(self, name, np.atleast_2d(np.asarray(getattr(self, name), dtype=float)))


def hybrid_plant(virtual: System, specimen: Part, actuator: Part) -> StateSpace:
    """The continuous plant; the virtual system's first input is the excitation, its first outputs the interface."""
    n = len(specimen.mass)
    a_v, b_v, c_v, d_v = virtual.first_order()
    if np.any(d_v[:n]):
        raise HalfrealError(
            "the interface is at a degree of freedom without mass, which responds instantly to a "
            "measured force, and a plant "
            "with it has no state-space form; give the interface mass"
        )
    mass = specimen.mass + actuator.mass
    stiffness, damping = specimen.stiffness + actuator.stiffness, specimen.damping + actuator.damping
    free = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
    driven = np.linalg.inv(mass)
    a_e = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), free])
    b_e = np.vstack([np.zeros((n, n)), driven])
    # λ = force_x x_e + force_u u
    force_x = np.hstack([specimen.stiffness, specimen.damping]) + specimen.mass @ free
    force_u = specimen.mass @ driven
    excited, resisted = b_v[:, :1], b_v[:, 2 : 2 + n]
    target = np.hstack([c_v[:n], np.zeros((n, 2 * n))])
    measured = np.hstack([np.zeros((n, len(a_v))), np.eye(n), np.zeros((n, n))])
    return StateSpace(
        a=np.block([[a_v, resisted @ force_x], [np.zeros((2 * n, len(a_v))), a_e]]),
        b=np.block([[excited, resisted @ force_u], [np.zeros((2 * n, 1)), b_e]]),
        c=np.vstack([measured - target, target]),
        d=np.zeros((2 * n, 1 + n)),
    )


def bilinear(model: StateSpace, dt: float) -> StateSpace:
    """The model sampled by the bilinear map s = (2/Δt)(z − 1)/(z + 1), as Newmark's method (¼, ½) integrates it."""
    half = 0.5 * dt
    inverse = np.linalg.inv(np.eye(model.states) - half * model.a)
    across = inverse @ model.b
    return StateSpace(
        a=inverse @ (np.eye(model.states) + half * model.a),
        b=dt * across,
        c=model.c @ inverse,
        d=model.d + half * model.c @ across,
        dt=dt,
    )


def closed_loop(plant: StateSpace, controller: StateSpace) -> StateSpace:
    """From the excitation to (g…, y_v…) with the drive u = C g."""
    if plant.dt != controller.dt:
        raise HalfrealError(
            f"the plant is sampled at {plant.dt} s and the controller at {controller.dt} s; bring both to one step"
        )
    n = controller.channels
    b_f, b_u = plant.b[:, :-n], plant.b[:, -n:]
    d_f, d_u = plant.d[:, :-n], plant.d[:, -n:]
    loop = np.eye(n) - controller.d @ d_u[:n]
    inverse = np.linalg.inv(loop)
    # u = by_x x + by_c x_c + by_f f
    by_x = inverse @ controller.d @ plant.c[:n]
    by_c = inverse @ controller.c
    by_f = inverse @ controller.d @ d_f[:n]
    return StateSpace(
        a=np.block(
            [
                [plant.a + b_u @ by_x, b_u @ by_c],
                [controller.b @ (plant.c[:n] + d_u[:n] @ by_x), controller.a + controller.b @ d_u[:n] @ by_c],
            ]
        ),
        b=np.vstack([b_f + b_u @ by_f, controller.b @ (d_f[:n] + d_u[:n] @ by_f)]),
        c=np.hstack([plant.c + d_u @ by_x, d_u @ by_c]),
        d=d_f + d_u @ by_f,
        dt=plant.dt,
    )


def growth(matrix: np.ndarray, dt: float | None) -> np.ndarray:
    """Rate [1/s] at which the slowest pole of a closed loop decays (negative) or grows; of a stack of them, (…)."""
    poles = np.linalg.eigvals(matrix)
    if dt is None:
        return np.asarray(poles.real.max(axis=-1))
    return np.asarray(np.log(np.abs(poles).max(axis=-1)) / dt)


# --- controllers to compare with --------------------------------------------------------------------------------------


def regulator(plant: StateSpace, effort: float, axes: int = 1) -> np.ndarray:
    """K of the linear quadratic regulator u = −K x that minimises ∫ |g|² + ρ |u|² dt, ρ being ``effort``."""
    b = plant.b[:, -axes:]
    gap = plant.c[:axes]
    riccati = solve_continuous_are(plant.a, b, gap.T @ gap, effort * np.eye(axes))
    return np.asarray(b.T @ riccati / effort)


def regulated(plant: StateSpace, gains: np.ndarray) -> np.ndarray:
    """State matrix of a plant all of whose states are fed back, u = −K x."""
    return np.asarray(plant.a - plant.b[:, -len(gains) :] @ gains)


def lqg(plant: StateSpace, effort: float, noise: float, axes: int = 1) -> StateSpace:
    """The same regulator on the states that an observer estimates from the gap.

    The Kalman filter assumes unit noise on the drive and with noise of intensity r_n (``noise``) on the gap.
    """
    b, gap = plant.b[:, -axes:], plant.c[:axes]
    gains = regulator(plant, effort, axes)
    covariance = solve_continuous_are(plant.a.T, gap.T, b @ b.T, noise * np.eye(axes))
    observer = covariance @ gap.T / noise
    return StateSpace(a=plant.a - b @ gains - observer @ gap, b=observer, c=-gains, d=np.zeros((axes, axes)))


def integrator(gain: float, axes: int = 1) -> StateSpace:
    """u = −k ∫ g dt on every axis."""
    eye = np.eye(axes)
    return StateSpace(np.zeros((axes, axes)), eye, -gain * eye, np.zeros((axes, axes)))
