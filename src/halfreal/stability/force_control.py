"""Stability and accuracy of force-controlled tests, taken from the code that runs.

The block of a constrained substructure (``constrained.py``) and a linear specimen are wired to a loop, and
the loop is linearised over one step Δt (one tick, or as many as the method has exchanges).  With the eigenvalues λ of
that transition matrix, as in F. Nordtorp, G. Abbiati, "A DAE solver for coordination of force-controlled hybrid
testing", engrXiv preprint, Eqs. 18–23:

    ρ = max |λ|,    λ = exp(ω Δt (−ξ ± i)):  ξ = −Re ln λ / Im ln λ,  ΔT/T_0 = ω_0 Δt / Im ln λ − 1,    Ω = ω_0 Δt

ξ and ΔT are those of the principal pole, the one that becomes exp(iΩ) as Δt → 0.

============= ========================================================================
ω_0           lowest natural frequency of the coupled system, without damping [rad/s]
Ω             step, without dimension
ρ             spectral radius a step; stable if ρ < 1
ξ, ΔT/T_0     algorithmic damping ratio and relative period distortion
============= ========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from ..errors import HalfrealError
from ..kernels.block import Block, channels, names
from ..kernels.linear import multiply_add, set_to, stored
from ..kernels.loop import Loop
from ..models.excitations import silence
from ..models.force_control.constrained import Constrained
from .linearise import Linearisation, linearise

MARGINAL = 1e-9
"""ρ − 1 up to which a loop passes for stable: a hundred times what rounding makes of a pole on the unit circle."""
GRID = 1e-3
"""Steps of Ω in which limits are looked for: unstable windows may be narrow."""
PRINCIPAL_AT = 1e-3
"""Ω at which the principal pole is recognised."""


class ForceControlError(HalfrealError):
    """A question that the loop at hand has no answer to."""


# --- the specimen -----------------------------------------------------------------------------------------------------


def specimen_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    set_to(0.0, s.next)
    multiply_add(p.transition, s.x, s.next)
    multiply_add(p.input, u, s.next)
    for i in range(s.x.shape[0]):
        s.x[i] = s.next[i]
    for i in range(y.shape[0]):
        y[i] = s.x[i]
    return 0


@dataclass(frozen=True)
class LinearSpecimen:
    """M d¨ + C d˙ + K d = f under a force that is held between two ticks; without mass and damping d = K⁻¹f at once."""

    stiffness: np.ndarray
    damping: np.ndarray | None = None
    mass: np.ndarray | None = None

    @classmethod
    def along_one_axis(cls, stiffness: float, damping: float = 0.0, mass: float = 0.0) -> LinearSpecimen:
        one = np.eye(1)
        return cls(stiffness * one, damping * one if damping else None, mass * one if mass else None)

    @property
    def axes(self) -> int:
        return len(self.stiffness)

    def held_force(self, tick: float) -> tuple[np.ndarray, np.ndarray]:
        """x⁺ = A x + B f with x = (d, d˙) over one tick."""
        n, k = self.axes, self.stiffness
        a, b = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
        damping = np.zeros_like(k) if self.damping is None else self.damping
        if self.mass is not None:
            inverse = np.linalg.inv(self.mass)
            rates = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ k, -inverse @ damping]])
            a = scipy.linalg.expm(rates * tick)
            b = np.linalg.solve(rates, (a - np.eye(2 * n)) @ np.vstack([np.zeros((n, n)), inverse]))
        elif self.damping is not None:
            a[:n, :n] = scipy.linalg.expm(-np.linalg.solve(damping, k) * tick)
            b[:n] = (np.eye(n) - a[:n, :n]) @ np.linalg.inv(k)
        else:
            b[:n] = np.linalg.inv(k)
        return a, b

    def block(self, tick: float) -> Block:
        a, b = self.held_force(tick)
        n = self.axes
        return Block(
            name="specimen",
            step=specimen_step,
            inputs=names(channels("target", "N", n)),
            outputs=channels("measured.displacement", "m", n),
            parameters={"transition": stored(a), "input": stored(b)},
            state={"x": np.zeros(2 * n), "next": np.zeros(2 * n)},
            frozen=("next",),
        )


# --- the loop ---------------------------------------------------------------------------------------------------------


class ForceControl:
    """A constrained substructure and a linear specimen, at any step."""

    def __init__(self, virtual: Constrained, specimen: LinearSpecimen) -> None:
        if specimen.axes != virtual.axes:
            raise ForceControlError(
                f"a specimen of {specimen.axes} axis(es) at an interface of {virtual.axes}; give one row for each axis"
            )
        if virtual.method.probing is not None:
            virtual = virtual.with_stiffness(virtual.method.probing.factor * specimen.stiffness)
        self.virtual, self.specimen = virtual.at_rest(), specimen
        self.system = virtual.driven("none")
        self._loop: Loop | None = None

    @cached_property
    def omega_0(self) -> float:
        """Lowest natural frequency of the coupled system that is not zero [rad/s]."""
        h, mass = self.virtual.constraint, self.system.mass
        if self.specimen.mass is not None:
            mass = mass + h.T @ self.specimen.mass @ h
        stiffness = self.system.tangent_stiffness + h.T @ self.specimen.stiffness @ h
        squares = scipy.linalg.eigh(stiffness, mass, eigvals_only=True)
        above = squares[squares > 1e-9 * np.abs(squares).max()]
        if above.size == 0:
            raise ForceControlError("the coupled system does not oscillate, so Ω is not defined")
        return float(np.sqrt(above[0]))

    def loop(self, dt: float) -> Loop:
        """The loop for a step Δt, at rest; the same one at every call, with other parameters."""
        tick = dt / self.virtual.ticks_per_step
        if self._loop is None:
            self._loop = self._wired(dt, tick)
            return self._loop
        loop, specimen = self._loop, self.specimen.block(tick)
        loop.reset()
        loop.dt = tick
        # what the block's own builder makes of another step, into the same memory
        method = self.virtual.method.method(self.system, self.virtual.constraint, dt)
        for name, part in (("virtual", method), ("specimen", specimen)):
            parameters, state = loop.parameter(name), loop.state(name)
            for key, value in part.parameters.items():
                parameters[key] = value
            for key, value in part.state.items():
                state[key] = value
        return loop

    def _wired(self, dt: float, tick: float) -> Loop:
        silent = [silence(f"excitation.{stage + 1}") for stage in range(len(self.virtual.method.nodes))]
        pairs = tuple(channel.name for block in silent for channel in block.outputs)
        measured = names(channels("measured.displacement", "m", self.virtual.axes))
        virtual = self.virtual.block(dt, "none", measured, pairs)
        return Loop([*silent, virtual], outer=[self.specimen.block(tick)], dt=tick)

    def linearise(self, dt: float) -> Linearisation:
        """The loop over one step, once every block is past its first call."""
        loop, ticks = self.loop(dt), self.virtual.ticks_per_step
        loop.run(ticks)
        return linearise(loop, ticks)

    def poles(self, omega: float) -> np.ndarray:
        """λ over a step Ω, largest first."""
        return self.linearise(omega / self.omega_0).eigenvalues

    def spectral_radius(self, omega: float) -> float:
        return float(np.abs(self.poles(omega)[0]))

    # --- Figs. 5 to 7 -----------------------------------------------------------------------------------------------

    def curves(self, omegas: Sequence[float] | np.ndarray) -> Curves:
        """Spectral radius, damping and period distortion against Ω, in rising order."""
        wanted = np.asarray(omegas, dtype=float)
        if wanted.size == 0 or wanted[0] <= 0.0 or np.any(np.diff(wanted) <= 0.0):
            raise ForceControlError("give steps Ω above zero in increasing order")
        # the pole is followed from where it is known, in strides that it cannot be lost in
        leading = np.geomspace(min(PRINCIPAL_AT, wanted[0]), wanted[0], 8)[:-1]
        grid = np.concatenate([leading, wanted]) if wanted[0] > PRINCIPAL_AT else wanted
        exponent, found = 1j, []
        for omega in grid:
            poles = self.poles(omega)
            exponents = np.log(poles[np.abs(poles) > 1e-6].astype(complex)) / omega
            above = exponents[exponents.imag > 1e-9]
            if above.size:
                exponent = complex(above[np.argmin(np.abs(above - exponent))])
                principal = exponent
            else:
                principal = complex(np.nan, np.nan)
            found.append((np.abs(poles[0]), -principal.real / principal.imag, 1.0 / principal.imag - 1.0))
        radius, damping, distortion = np.array(found[-wanted.size :]).T
        return Curves(wanted, radius, damping, distortion)

    def stability_limit(self, top: float, grid: float = GRID) -> float:
        """Ω up to which every step is stable: 0 if none is, ``top`` if all on the grid are."""
        windows = self.unstable_windows(top, grid, first_only=True)
        return windows[0][0] if windows else top

    def unstable_windows(
        self, top: float, grid: float = GRID, *, first_only: bool = False
    ) -> list[tuple[float, float]]:
        """Intervals of Ω in (0, top] in which ρ > 1, their ends to 1e-6; found if wider than ``grid``."""
        windows: list[tuple[float, float]] = []
        begin: float | None = None
        last = 0.0
        for omega in np.arange(1, round(top / grid) + 1) * grid:
            unstable = self.spectral_radius(float(omega)) > 1.0 + MARGINAL
            if unstable and begin is None:
                begin = self._crossing(last, float(omega)) if last > 0.0 else 0.0
                if first_only:
                    return [(begin, top)]
            elif not unstable and begin is not None:
                windows.append((begin, self._crossing(last, float(omega))))
                begin = None
            last = float(omega)
        return [*windows, (begin, top)] if begin is not None else windows

    def _crossing(self, low: float, high: float) -> float:
        above = self.spectral_radius(high) > 1.0 + MARGINAL
        while high - low > 1e-6:
            middle = 0.5 * (low + high)
            if (self.spectral_radius(middle) > 1.0 + MARGINAL) == above:
                high = middle
            else:
                low = middle
        return 0.5 * (low + high)


@dataclass(frozen=True)
class Curves:
    """What Figs. 5 to 7 of the paper show, one entry for each Ω; NaN where the principal pole has become real."""

    omega: np.ndarray
    spectral_radius: np.ndarray
    damping: np.ndarray
    period_distortion: np.ndarray


def alpha_beta_map(
    virtual: Constrained, specimen: LinearSpecimen, dt: float, alphas: np.ndarray, betas: np.ndarray
) -> np.ndarray:
    """Spectral radius a step for every pair of Baumgarte's parameters, (alphas, betas)."""
    method = virtual.method
    if method.with_stabilisation(1.0, 1.0) is None:
        raise ForceControlError(f"'{method.kind}' has no parameters α and β; the map is for 'baumgarte'")
    control = ForceControl(virtual, specimen)
    method, still = control.virtual.method, control.virtual
    radii = np.empty((len(alphas), len(betas)))
    for row, alpha in enumerate(alphas):
        for column, beta in enumerate(betas):
            changed = method.with_stabilisation(float(alpha), float(beta))
            control.virtual = still.unchecked_copy({"method": changed})
            radii[row, column] = np.abs(control.linearise(dt).eigenvalues[0])
    return radii


# --- Fig. 4 -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convergence:
    """Global error of the displacements after a given time, for several steps."""

    step: np.ndarray
    error: np.ndarray
    """Norm [m]."""

    @property
    def order(self) -> float:
        """Slope of log error over log step, by least squares."""
        return float(np.polyfit(np.log(self.step), np.log(self.error), 1)[0])


def convergence(
    virtual: Constrained, specimen: LinearSpecimen, duration: float, step_counts: Sequence[int]
) -> Convergence:
    """Errors in free vibration from the initial state, with exact histories before it, against the exact solution."""
    system = virtual.system("none")
    if not system.linear:
        raise ForceControlError(
            "the exact solution is known for linear substructures only; remove the nonlinear elements"
        )
    if not np.any(system.displacement) and not np.any(system.velocity):
        raise ForceControlError("nothing moves; give virtual.initial_displacement or initial_velocity")
    control, errors = ForceControl(virtual, specimen), []
    for count in step_counts:
        found, exact = free_vibration(control, duration / count, count, system.velocity, system.displacement)
        errors.append(np.linalg.norm(found[-1] - exact[-1]))
    return Convergence(duration / np.asarray(step_counts, dtype=float), np.array(errors))


def free_vibration(
    control: ForceControl, dt: float, steps: int, velocity: np.ndarray, displacement: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """q of the loop and the exact q at steps 0, 1, … ``steps``, both (steps + 1, n), with an exact history before.

    For specimens that are springs; nonlinear elements count with their initial stiffness, and must move little.
    """
    if control.specimen.mass is not None or control.specimen.damping is not None:
        raise ForceControlError("the exact history is known for elastic specimens only; remove mass and damping")
    n, h, system = control.virtual.dofs, control.virtual.constraint, control.system
    coupled = system.tangent_stiffness + h.T @ control.specimen.stiffness @ h
    right = np.linalg.solve(system.mass, np.hstack([-coupled, -system.tangent_damping]))
    rates = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), right])
    start = np.concatenate([np.zeros(n) if displacement is None else displacement, velocity])

    def exact(t: float) -> np.ndarray:
        return np.asarray(scipy.linalg.expm(rates * t) @ start)

    loop, ticks = control.loop(dt), control.virtual.ticks_per_step
    _begin(control, loop, dt, exact)
    record = names(channels("virtual.displacement", "m", n))
    found = loop.run(steps * ticks + 1, record=record, every=ticks).log[:, 1:]
    over, x, expected = scipy.linalg.expm(rates * dt), start, [start[:n]]
    for _ in range(steps):
        x = over @ x
        expected.append(x[:n])
    return found, np.array(expected)


def _begin(control: ForceControl, loop: Loop, dt: float, exact: Callable[[float], np.ndarray]) -> None:
    """Put the loop where the exact solution is at time 0, as if it had followed it before."""
    state, h, n = loop.state("virtual"), control.virtual.constraint, control.virtual.dofs
    now, block = exact(0.0), loop.blocks[loop.row("virtual")]
    state["q"], state["v"] = now[:n], now[n:]
    if "history" in block.state:
        for point in range(state["history"].shape[0]):
            then = exact(-(point + 1.0) * dt)
            state["history"][point] = np.concatenate([h @ then[:n], h @ then[n:]])
    if "a" not in block.frozen:  # the first tick adds what the specimen's force makes of it
        system = control.system
        state["a"] = -np.linalg.solve(
            system.mass, system.tangent_stiffness @ now[:n] + system.tangent_damping @ now[n:]
        )
    # the last exchange before was that of the last stage
    nodes, per_stage = control.virtual.method.nodes, control.virtual.ticks_per_step > 1
    d = h @ exact((nodes[-1] - 1.0 if per_stage else -1.0) * dt)[:n]
    state["target"] = control.specimen.stiffness @ d
    for value, name in zip(d, names(channels("measured.displacement", "m", len(d))), strict=True):
        loop.vector[loop.index[name]] = value
