"""Adaptive feed-forward by least mean squares on paper: a linear resonator in the loop.

The LMS adaption law (``halfreal.couplings.harmonic.lms``) is linear in the gap and, with its amplitudes turned to the
present, does not depend on time: from gap to drive it is a linear controller with a pair of poles on each harmonic
(M. Bodson, A. Sacks, P. Khosla, "Harmonic generation in adaptive feedforward cancellation schemes", IEEE Trans. Autom.
Control 39 (1994) 1939–1944).  With x = ψ e^{jωt}, for one axis and one harmonic,

    continuous   x˙ = jω x − μ_c Hᴴ g,          u = Re x,    C(s) = −μ_c (Re H s + Im H ω)/(s² + ω²)
    sampled      x⁺ = e^{jωΔt} (x − μ Hᴴ g),    u = Re x,    C(z) = −μ (Re(H̄ e^{jωΔt}) z − Re H)/(z² − 2z cos ωΔt + 1)

μ_c = μ/Δt.  The closed loop g = H_gext f/(1 − H_gu C) has zeros at the harmonics: there, in steady state, the hybrid
test is the coupled structure, and elsewhere nearly the virtual substructure alone.

The sampled controller uses a plant whose gap of a sample comes from the drive of the same sample.  In the
running loop the drive of a sample is commanded in the tick before: H of the coupling is that of the plant and a delay
of one sample, H e^{−jωΔt}, and its poles are those found here.

======== ===========================================================================
H        transfer function from drive to gap that the controller uses
μ, μ_c   gain for each sample, gain [1/s]; one for all harmonics or one for each
g, u, f  gap, drive, excitation (``halfreal.stability.regulated_plant``)
======== ===========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag

from ...contracts.state_space import StateSpace
from ...errors import HalfrealError
from ...kernels.loop import Loop
from ...stability.open_loop import PROBE
from ...stability.periodic import TickMap, mean_model, tick_maps
from ...stability.regulated_plant import closed_loop, growth

SMALL = 1e-3
"""Rate of the resonators relative to the plant's slowest rate at which the search for the largest gain begins."""
LARGEST = 1e30
"""Times the first gain, at which that search gives up."""


def resonator(
    transfer: np.ndarray, hz: np.ndarray | float, gain: np.ndarray | float, dt: float | None = None
) -> StateSpace:
    """The controller u = C g of H, (n_ω, n, n), at the harmonics ``hz``: sampled with μ, or continuous with μ_c.

    Its states are Re x_1, Im x_1, Re x_2, …  For one axis H may be given as numbers.
    """
    transfer, hz, gain = _arrays(transfer, hz, gain)
    n = transfer.shape[1]
    eye = np.eye(n)
    a, b = [], []
    for h, frequency, factor in zip(transfer, hz, gain, strict=True):
        omega = 2 * np.pi * frequency
        answer = -factor * h.conj().T
        if dt is None:
            turn = np.array([[0.0, -omega], [omega, 0.0]])
        else:
            cosine, sine = np.cos(omega * dt), np.sin(omega * dt)
            turn = np.array([[cosine, -sine], [sine, cosine]])
            answer = answer * np.exp(1j * omega * dt)
        a.append(np.kron(turn, eye))
        b.append(np.vstack([answer.real, answer.imag]))
    return StateSpace(block_diag(*a), np.vstack(b), np.tile(np.hstack([eye, 0 * eye]), len(hz)), np.zeros((n, n)), dt)


def gap_response(plant: StateSpace, hz: np.ndarray | float, axes: int = 1) -> np.ndarray:
    """H_gu of the plant at frequencies, (n_ω, n, n)."""
    return plant.response(2 * np.pi * np.atleast_1d(hz))[:, :axes, -axes:]


def loop_plant(loop: Loop, target: Sequence[str], measured: Sequence[str]) -> StateSpace:
    """The plant of the loop that runs, from the command of a tick to the gap of that tick.

    The loop is one whose rig follows a probe instead of its command (``halfreal.stability.open_loop``), past its first
    ticks; ``target`` and ``measured`` name the channels of displacements whose difference is the gap.
    """
    # the coupling drives nothing here, and its resonators would stand exactly on the frequencies asked for
    aside = [
        loop.state_indices(block.name, name)
        for block in loop.blocks
        if block.name == "coupling"
        for name in block.state
    ]
    states = np.setdiff1d(loop.dynamic_indices(), np.concatenate([np.zeros(0, dtype=int), *aside]))
    outputs = np.array([loop.index[name] for name in target])
    # a measurement of this tick is part of the state with which the tick begins, a target comes out of the tick
    now = np.array([states == loop.index[name] for name in measured], dtype=float)
    ticks = tick_maps(loop, states, loop.state_indices(PROBE, "value"), outputs, loop.period)
    return mean_model([TickMap(one.a, one.b, now - one.c, -one.d) for one in ticks], loop.dt)


def loop_response(loop: Loop, hz: np.ndarray | float, target: Sequence[str], measured: Sequence[str]) -> np.ndarray:
    """H of the loop that runs, from the command of a tick to the gap of that tick, (n_ω, n, n); see ``loop_plant``."""
    return loop_plant(loop, target, measured).response(2 * np.pi * np.atleast_1d(hz))


def largest_stable_gain(
    plant: StateSpace, transfer: np.ndarray, hz: np.ndarray | float, relative: float = 1e-9
) -> float:
    """The gain, μ_c or μ, up to which the closed loop is stable from small gains on; 0 if small gains are unstable.

    Gains that differ between harmonics are given as a factor in ``transfer``.
    """
    from scipy.optimize import brentq  # takes long to import, and few tests come here

    transfer, hz, _ = _arrays(transfer, hz, 1.0)
    step = 1.0 if plant.dt is None else plant.dt
    slowest = -float(growth(plant.a, plant.dt))
    if not slowest > 0.0:
        raise HalfrealError(
            f"the plant without its coupling is not stable: its slowest pole grows as exp({-slowest:.3g} t/s); only a "
            "stable plant can be driven feed-forward"
        )
    true = gap_response(plant, hz, transfer.shape[1])
    fastest = max(float(np.linalg.norm(h.conj().T @ g, 2)) for h, g in zip(transfer, true, strict=True))

    def rate(gain: float) -> float:
        return float(growth(closed_loop(plant, resonator(transfer, hz, gain, plant.dt)).a, plant.dt))

    low = high = first = SMALL * slowest * step / fastest
    if rate(first) >= 0.0:
        return 0.0
    while rate(high) < 0.0:
        low, high = high, 1.25 * high
        if high > LARGEST * first:
            return float("inf")
    return float(np.exp(brentq(lambda log: rate(float(np.exp(log))), np.log(low), np.log(high), rtol=relative)))


def stability_map(plant: StateSpace, hz: float, gain: float, real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """Growth rate [1/s] of the closed loop over the estimated transfer function, (len(imaginary), len(real)).

    For one axis and one harmonic; negative is stable.
    """
    # the closed loop's matrix is linear in H
    zero, one, other = (
        closed_loop(plant, resonator(np.array([[[h]]]), hz, gain, plant.dt)).a for h in (0j, 1 + 0j, 1j)
    )
    x, y = np.meshgrid(np.asarray(real, dtype=float), np.asarray(imaginary, dtype=float))
    stack = zero + x[..., None, None] * (one - zero) + y[..., None, None] * (other - zero)
    return growth(stack, plant.dt)


def tolerated_phase(plant: StateSpace, transfer: np.ndarray, hz: float, gain: float) -> tuple[float, float]:
    """Phase errors [°] of the estimate, lowest and highest, between which the closed loop is stable around zero."""
    from scipy.optimize import brentq

    transfer, _, _ = _arrays(transfer, hz, gain)

    def rate(degrees: float) -> float:
        turned = transfer * np.exp(1j * np.radians(degrees))
        return float(growth(closed_loop(plant, resonator(turned, hz, gain, plant.dt)).a, plant.dt))

    if rate(0.0) >= 0.0:
        raise HalfrealError(f"the closed loop is not stable at the gain {gain:g} even without a phase error; lower it")
    ends = []
    for sign in (-1.0, 1.0):
        outside = next((d for d in np.arange(1.0, 181.0) if rate(sign * d) >= 0.0), 180.0)
        ends.append(brentq(rate, sign * (outside - 1.0), sign * outside) if outside < 180.0 else sign * 180.0)
    return float(ends[0]), float(ends[1])


def _arrays(
    transfer: np.ndarray, hz: np.ndarray | float, gain: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H (n_ω, n, n), frequencies and gains (n_ω,), from shorter forms."""
    hz = np.atleast_1d(np.asarray(hz, dtype=float))
    transfer = np.asarray(transfer, dtype=complex)
    if transfer.ndim < 2:
        transfer = np.atleast_1d(transfer)[:, None, None]
    if transfer.ndim != 3 or len(transfer) != len(hz) or transfer.shape[1] != transfer.shape[2]:
        raise HalfrealError(
            f"transfer functions of the shape {transfer.shape} for {len(hz)} harmonic(s); give one square matrix for "
            "each harmonic"
        )
    return transfer, hz, np.broadcast_to(np.asarray(gain, dtype=float), hz.shape)
