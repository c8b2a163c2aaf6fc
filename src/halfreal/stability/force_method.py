"""Which method suits a force-controlled test: every candidate on the code that runs, ranked.

Given are the substructure, the step, the specimen's stiffness K with its relative uncertainty, the noise of the
measured displacement, and how long and how far the specimen is to move.  Every candidate is computed for K and for both
ends of its uncertainty, the worst counts:

    stable      ρ < 1 over one step, for a specimen that is linear and answers at once
    bias        free vibration after an impulse where the excitation acts, run on the loop, against the exact one:
                rms error over the duration and over all q, as a part of the rms of q
    noise       rms, over the duration and over all q, of what white noise of the measured displacement makes of them,
                as a part of the rms of q in a motion of the given amplitude

Stable candidates come first, the smallest error √(bias² + noise²) before others; among errors that differ by less than
a tenth, the one with fewer exchanges a step.  It is a linear forecast at the elements' initial stiffness: no claim
about yielding specimens or a force control that lags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import units
from ..kernels.block import channels, names
from ..models.force_control.baumgarte import Baumgarte
from ..models.force_control.constrained import Constrained, ForceMethod
from ..models.force_control.exchange import interface_mass
from ..models.force_control.index_one import IndexOne
from ..models.force_control.index_one_generalized_alpha import IndexOneGeneralizedAlpha
from .force_control import MARGINAL, ForceControl, LinearSpecimen, free_vibration
from .linearise import derivative

GAIN = 0.6
"""β² m/k of the Baumgarte candidates, about that of the published test: more tracks closer, less is calmer in noise."""
FASTEST = 0.3
"""βΔt that they do not exceed: an explicit method must follow the constraint's own dynamics."""
ABOVE = 1.1
"""K̂ of a solved loop over the specimen's stiffness: with both equal it may be weakly unstable."""
CLOSE = 0.1
"""Errors that differ by less than this part are called equal."""
TINY = 1e-9
"""Of the impulse's velocity [m/s]."""
MOST_STEPS = 20_000
"""Of a forecast; a longer test is judged by so many."""


@dataclass(frozen=True)
class Forecast:
    """A method, and what is to be expected of it in the worst case of the specimen's stiffness."""

    name: str
    method: ForceMethod
    exchanges: int
    spectral_radius: float
    bias: float
    noise: float
    uncertainty: float
    """Of the specimen's stiffness, relative."""

    @property
    def stable(self) -> bool:
        return self.spectral_radius <= 1.0 + MARGINAL

    @property
    def error(self) -> float:
        return float(np.hypot(self.bias, self.noise)) if self.stable else float("inf")

    def summary(self) -> str:
        """One sentence for people."""
        each = f"{self.exchanges} exchange{'s' if self.exchanges > 1 else ''} a step"
        worst = f"with a specimen up to {100 * self.uncertainty:.3g} % stiffer or softer than defined"
        if self.uncertainty == 0.0:
            worst = "with the specimen as defined"
        if not self.stable:
            weakly = "weakly " if self.spectral_radius < 1.001 else ""
            return f"{self.name} ({each}): {weakly}unstable {worst}, spectral radius {self.spectral_radius:.7f} a step"
        return (
            f"{self.name} ({each}): expected error {100 * self.error:.2g} % "
            f"(method {100 * self.bias:.2g} %, noise {100 * self.noise:.2g} %) of a free vibration {worst}"
        )


def candidates(virtual: Constrained, dt: float, stiffness: np.ndarray, uncertainty: float) -> dict[str, ForceMethod]:
    """Methods worth considering, with K̂ at the upper end of the specimen's stiffness, or above where that must be."""
    safe = (1.0 + uncertainty) * stiffness
    m = interface_mass(virtual.mass, virtual.constraint)
    softest = float(np.min(np.linalg.eigvals(np.linalg.solve(m, stiffness)).real))
    beta = min(np.sqrt(GAIN * softest), FASTEST / dt)
    stabilised = {"alpha": beta, "beta": beta, "velocity_weight": 1.0}
    return {
        "index 1, rk4, exchange a stage": IndexOne(stiffness=safe),
        "index 1, rk4, exchange a step": IndexOne(stiffness=safe, exchange="step"),
        "index 1 generalized-alpha": IndexOneGeneralizedAlpha(stiffness=safe),
        "baumgarte, rk4, stage time, loop solved": Baumgarte(**stabilised, stiffness=ABOVE * safe),
        "baumgarte, rk4, stage time, loop lagged": Baumgarte(**stabilised, loop="lagged"),
    }


def recommend(
    virtual: Constrained,
    dt: float,
    stiffness: np.ndarray | float,
    *,
    uncertainty: float = 0.1,
    noise: float = 0.0,
    amplitude: float = 1e-3,
    duration: float = 1.0,
) -> list[Forecast]:
    """Forecasts of the candidates and of the method at hand, best first.

    ``stiffness`` is the specimen's [N/m] and ``uncertainty`` its relative one; ``noise`` the standard deviation of the
    measured displacement [m], ``amplitude`` that of the motion hq [m], ``duration`` that of the test [s], whose step
    is ``dt`` [s].
    """
    k = np.atleast_2d(np.asarray(stiffness, dtype=float))
    if not 0.0 <= uncertainty < 1.0:
        raise ValueError(f"uncertainty {uncertainty:g}; it must be at least 0 and below 1")
    if min(dt, amplitude, duration) <= 0.0 or noise < 0.0:
        given = f"{units.text(dt, 's')}, {units.text(amplitude, 'm')}, {units.text(duration, 's')}"
        raise ValueError(
            f"step, amplitude and duration are {given}; they must be above zero, and the noise at least zero"
        )
    methods = {f"as defined: {virtual.method.kind}": virtual.method, **candidates(virtual, dt, k, uncertainty)}
    found = [
        _forecast(name, virtual.unchecked_copy({"method": method}), dt, k, uncertainty, noise, amplitude, duration)
        for name, method in methods.items()
    ]
    return ranked(found)


def ranked(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """Smallest error first, and of nearly equal ones the one with fewest exchanges."""
    left, order = sorted(forecasts, key=lambda forecast: (forecast.error, forecast.spectral_radius)), []
    while left:
        close = [forecast for forecast in left if forecast.error <= (1.0 + CLOSE) * left[0].error and forecast.stable]
        best = min(close, key=lambda forecast: forecast.exchanges) if close else left[0]
        order.append(best)
        left = [forecast for forecast in left if forecast is not best]
    return order


def _forecast(
    name: str,
    virtual: Constrained,
    dt: float,
    stiffness: np.ndarray,
    uncertainty: float,
    noise: float,
    amplitude: float,
    duration: float,
) -> Forecast:
    steps = min(max(round(duration / dt), 2), MOST_STEPS)
    if virtual.method.probing is not None:  # what the probing would find
        virtual = virtual.with_stiffness(virtual.method.probing.factor * stiffness)
    radius = bias = scatter = 0.0
    for factor in sorted({1.0 - uncertainty, 1.0, 1.0 + uncertainty}):
        control = ForceControl(virtual, LinearSpecimen(factor * stiffness))
        transition = control.linearise(dt)
        radius = max(radius, float(np.abs(transition.eigenvalues[0])))
        if radius > 1.0 + MARGINAL:
            bias = scatter = float("inf")
            break
        found, exact = free_vibration(control, dt, steps, _impulse(virtual))
        size = np.linalg.norm(exact)
        bias = max(bias, float(np.linalg.norm(found - exact) / size))
        if noise > 0.0:
            reached = np.linalg.norm(exact @ virtual.constraint.T)  # 0 if the impulse does not move the interface
            rms = amplitude * np.sqrt(virtual.axes / 2.0)
            gain = noise * _noise_gain(control, transition.matrix, dt, steps)
            scatter = max(scatter, float(gain * reached / (size * rms)))
    return Forecast(name, virtual.method, virtual.ticks_per_step, radius, bias, scatter, uncertainty)


def _impulse(virtual: Constrained) -> np.ndarray:
    """Velocity after an impulse on the forced degree of freedom, or of the ground; tiny: elements are then linear."""
    if virtual.force_dof is None:
        velocity = np.ones(virtual.dofs) if virtual.ground is None else np.asarray(virtual.ground)
    else:
        velocity = np.linalg.solve(virtual.mass, np.eye(virtual.dofs)[virtual.force_dof - 1])
    return np.asarray(TINY * velocity / np.abs(velocity).max())


def _noise_gain(control: ForceControl, transition: np.ndarray, dt: float, steps: int) -> float:
    """Rms of q, over the duration and summed over all, for white noise of unit variance in every measurement."""
    loop, ticks = control.loop(dt), control.virtual.ticks_per_step
    loop.run(ticks)
    states, axes = loop.dynamic_indices(), control.virtual.axes
    measured = np.array([loop.index[name] for name in names(channels("measured.displacement", "m", axes))])
    if len(transition) != states.size:  # without its memory, in which noise may gather
        transition = derivative(loop, states, states, ticks)
    entering = []
    for tick in range(ticks):  # at rest, so that only the stage changes
        entering.append(derivative(loop, measured, states, ticks - tick))
        loop.run(1)
    # a variance that rises steadily is at its mean in the middle of the test
    variance = _accumulated(transition, sum(b @ b.T for b in entering), steps // 2)
    q = np.searchsorted(states, loop.state_indices("virtual", "q"))
    return float(np.sqrt(np.trace(variance[np.ix_(q, q)])))


def _accumulated(a: np.ndarray, q: np.ndarray, steps: int) -> np.ndarray:
    """Σ_{i<steps} Aⁱ Q Aⁱᵀ, by doubling."""
    total, power = np.zeros_like(q), np.eye(len(a))
    block, block_power = q, a
    while steps:
        if steps % 2:
            total = total + power @ block @ power.T
            power = power @ block_power
        block = block + block_power @ block @ block_power.T
        block_power = block_power @ block_power
        steps //= 2
    return total
