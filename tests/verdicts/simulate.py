"""A hybrid test as plain numbers, tick after tick: structure, coupling, delayed actuator, specimen, sensors.

It shares no code with the package.  A test is a ``Test``: what it does at the tick t_k = k Δt is

    f_k  the specimen's force at t_k, times a gain, within the range of its sensor
    q_k  M q¨ + C q˙ + K q + Σ b r(bᵀq) = b_e e − f    linear: exact for inputs that are linear between ticks;
                                                       with elements: constant average acceleration, Newton's method
    z_k  the displacement of the interface
    c_k  Σ_j w_j z_{k−j}, the polynomial of least squares through the last targets, evaluated ahead
    x(t) the actuator: T x˙ + x = c(t − τ), and the like; c(t) the cubic through the four nearest commands
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import expm

from .laws import MEMORY
from .ticks import DELAY
from .ticks import run as run_ticks


@dataclass(frozen=True)
class Element:
    """A law along a direction b."""

    code: int
    values: tuple[float, ...]
    along: tuple[float, ...] = (1.0,)


@dataclass(frozen=True)
class ForceControl:
    """What a test in force control has in addition (``force.py``)."""

    assumed: float
    """Stiffness that is calculated with [N/m]; 0 if none is."""
    gain: float
    """Of the rig's force controller [m/(N s)]."""
    transfer: float
    """Stiffness of the transfer system [N/m]."""
    substeps: int = 1
    alpha: float = 0.0
    """Of Baumgarte's stabilisation [1/s]; 0 for index 1."""
    beta: float = 0.0
    weight: float = 0.0
    """Of velocities in the regression [s]."""
    at_stage: bool = True
    """Whether displacements are taken to hold at the time of their stage, and not at the end of the step."""


@dataclass(frozen=True)
class Drive:
    """What a test with harmonic feed-forward has in addition (``harmonic.py``)."""

    hz: tuple[float, ...]
    transfer: tuple[complex, ...]
    """From drive to gap at these frequencies, as the coupling begins [m/N]."""
    memory: float
    learning: float = 0.0
    """Memory of the identification [s]; 0: least mean squares."""
    moving: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Mass, damping and stiffness that move with the specimen."""


@dataclass(frozen=True)
class Test:
    """Numbers of a hybrid test, in SI units."""

    __test__ = False
    step: float
    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    interface: tuple[int, ...] = (0,)
    pushed: int = 0
    """Degree of freedom that is excited."""
    virtual: tuple[Element, ...] = ()
    excitation: tuple[float, ...] = (1.0, 1.0, 0.0, 0.0)
    """Force, frequency, ramp, and the duration of a pulse, which is there instead of a sine if it is not 0."""
    predicts: tuple[float, int, int] = (0.0, 0, 1)
    """How far ahead [s], order, points."""
    adapts: tuple[float, ...] = ()
    """Of a prediction that follows the synchronisation error: its window, adaption time and longest prediction [s],
    gain and range of its amplitude, least velocity [m/s] and lead [s]."""
    amplitude: float = 1.0
    """Factor on what is predicted."""
    actuator: int = DELAY
    delay: float = 1e-3
    dynamics: tuple[float, float] = (0.0, 0.0)
    """Time constant; or frequency [Hz] and damping."""
    stroke: float = np.inf
    speed: float = np.inf
    friction: float = 0.0
    backlash: float = 0.0
    specimen_mass: np.ndarray | None = None
    specimen_damping: np.ndarray | None = None
    specimen_stiffness: np.ndarray | None = None
    specimen: tuple[Element, ...] = ()
    force_range: float = np.inf
    slow: tuple[float, ...] = ()
    """Of a slow test (``slow.py``): its period and ramp [s], tolerance [m] and the time within it [s]."""
    force: ForceControl | None = None
    drive: Drive | None = None
    rig_as_fmu: bool = False
    """Whether the definition has its rig as an FMU."""
    gain: float = 1.0
    """Factor on the specimen's force; in force control on its displacement."""

    @property
    def linear(self) -> bool:
        limits = (self.stroke, self.speed, self.force_range)
        nonlinear = self.virtual or self.specimen or self.friction or self.backlash or self.adapts or self.slow
        learns = self.drive is not None and self.drive.learning > 0.0
        return not (nonlinear or learns or np.isfinite(limits).any())

    def but(self, **changes: object) -> Test:
        return replace(self, **changes)  # type: ignore[arg-type]


def ahead(prediction: float, order: int, points: int, step: float) -> np.ndarray:
    """Weights of the last targets, newest first: each is what the fit of a one in its place is, evaluated ahead."""
    past = -np.arange(points) * step
    scale = max(step * (points - 1), step)
    return np.array([np.polyval(np.polyfit(past / scale, one, order), prediction / scale) for one in np.eye(points)])


def fits(order: int, points: int) -> np.ndarray:
    """Coefficients of that polynomial, (order + 1, points), in powers of steps."""
    return np.array([np.polyfit(-np.arange(points), one, order)[::-1] for one in np.eye(points)]).T.copy()


def cubic(late: float) -> tuple[int, np.ndarray]:
    """First of four commands, newest first, and weights of the value, rate and curvature that their cubic has ``late``
    steps before the newest one (per step)."""
    first = max(int(np.floor(late + 1e-9)) - 1, 0)
    at = -np.arange(first, first + 4, dtype=float)
    weights = np.zeros((3, 4))
    for i in range(4):
        others = np.delete(at, i)
        one = np.poly1d(np.poly(others)) / np.prod(at[i] - others)
        weights[:, i] = one(-late), one.deriv(1)(-late), one.deriv(2)(-late)
    return first, weights


class Simulation:
    """A test that is simulated on and on, from rest."""

    def __init__(self, test: Test, late: float = 0.0, substeps: int = 1) -> None:
        self.test, n, dofs = test, len(test.interface), len(test.mass)
        delay = max(test.delay, test.step) + late
        h = test.step / substeps
        rows = [cubic((delay - (i + 1) * h) / test.step) for i in range(substeps)]
        first = np.array([one for one, _ in rows])
        weights = test.amplitude * ahead(*test.predicts, test.step)
        self.linear, self.time = not test.virtual, 0
        length = int(first.max()) + 4
        self.sizes = (n, dofs, len(weights), length)
        nv = (2 if self.linear else 3) * dofs
        self.state = np.zeros(nv + n + 1 + (len(weights) + length + 16) * n)
        none = np.zeros((n, n))
        given = [
            none if one is None else one for one in (test.specimen_mass, test.specimen_damping, test.specimen_stiffness)
        ]
        push = np.zeros(dofs)
        push[test.pushed] = 1.0
        if test.adapts:
            self.state[-10 * n : -2 * n].reshape(n, 8)[:, :2] = test.predicts[0], 1.0
        self._arguments = (
            test.step,
            self.linear,
            *_exactly(test),
            *(np.ascontiguousarray(one, dtype=float) for one in (test.mass, test.damping, test.stiffness)),
            push,
            np.array(test.interface),
            *_rows(test.virtual, dofs),
            weights,
            fits(*test.predicts[1:]),
            np.array(test.adapts),
            first,
            np.array([one for _, one in rows]),
            test.actuator,
            np.array(test.dynamics),
            np.array([test.stroke, test.speed, test.friction, test.backlash]),
            *(np.ascontiguousarray(one, dtype=float) for one in given),
            *_rows(test.specimen, n),
            test.gain,
            test.force_range,
        )

    def run(self, ticks: int) -> np.ndarray:
        """Targets and measured forces at the next ticks; fewer rows if the motion has run away."""
        e = excitation(self.test, self.time, ticks)
        log = np.zeros((ticks, 2 * self.sizes[0]))
        done = run_ticks(e, self.state, self.sizes, *self._arguments, log)
        self.time += ticks
        return log[:done]

    def learnt(self) -> Test:
        """The test with the prediction that it has reached, on its first axis, and that it keeps."""
        n = self.sizes[0]
        ahead_now, amplitude = self.state[-10 * n : -10 * n + 2]
        _, order, points = self.test.predicts
        return self.test.but(adapts=(), predicts=(float(ahead_now), order, points), amplitude=float(amplitude))

    def poles(self) -> np.ndarray:
        """Eigenvalues of one tick of a linear test, from unit states."""
        size = self.state.size
        matrix = np.zeros((size, size))
        for i in range(size):
            state = np.zeros(size)
            state[i] = 1.0
            run_ticks(np.zeros(1), state, self.sizes, *self._arguments, np.zeros((1, 2 * self.sizes[0])))
            matrix[:, i] = state
        n = self.sizes[0]
        kept = np.delete(
            np.arange(size), np.s_[size - 12 * n : size - 2 * n]
        )  # no play and no adaption, no memory of them
        return np.linalg.eigvals(matrix[np.ix_(kept, kept)])


def excitation(test: Test, first: int, ticks: int) -> np.ndarray:
    """Its force at so many ticks."""
    most, hz, ramp, duration = test.excitation
    t = (first + np.arange(ticks)) * test.step
    if duration > 0.0:
        return np.where((t > 0.0) & (t < duration), most * np.sin(np.pi * t / duration) ** 2, 0.0)
    rise = np.where(t < ramp, 0.5 * (1.0 - np.cos(np.pi * t / max(ramp, 1e-12))), 1.0)
    return most * rise * np.sin(2.0 * np.pi * hz * t)


def _exactly(test: Test) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q˙ after a step, of those before, and of (e, f) at its beginning and end, which are linear between."""
    n, dofs, step = len(test.interface), len(test.mass), test.step
    b = np.zeros((dofs, n + 1))
    b[test.pushed, 0] = 1.0
    for i, dof in enumerate(test.interface):
        b[dof, 1 + i] = -1.0
    a = np.block(
        [
            [np.zeros((dofs, dofs)), np.eye(dofs)],
            [-np.linalg.solve(test.mass, test.stiffness), -np.linalg.solve(test.mass, test.damping)],
        ]
    )
    b = np.vstack([np.zeros((dofs, n + 1)), np.linalg.solve(test.mass, b)])
    # u(t) = u0 + t (u1 − u0)/Δt as states of their own
    whole = np.zeros((2 * dofs + 2 * (n + 1),) * 2)
    whole[: 2 * dofs, : 2 * dofs], whole[: 2 * dofs, 2 * dofs : 2 * dofs + n + 1] = a, b
    whole[2 * dofs : 2 * dofs + n + 1, 2 * dofs + n + 1 :] = np.eye(n + 1)
    over = expm(whole * step)
    by_value, by_slope = over[: 2 * dofs, 2 * dofs : 2 * dofs + n + 1], over[: 2 * dofs, 2 * dofs + n + 1 :]
    parts = over[: 2 * dofs, : 2 * dofs], by_value - by_slope / step, by_slope / step
    return tuple(np.ascontiguousarray(one) for one in parts)  # type: ignore[return-value]


def _rows(elements: tuple[Element, ...], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Codes, values, directions and memory."""
    values = np.zeros((len(elements), 8))
    along = np.zeros((len(elements), n))
    for row, one in enumerate(elements):
        values[row, : len(one.values)] = one.values
        along[row, : len(one.along)] = one.along
    return np.array([one.code for one in elements], dtype=np.int64), values, along, np.zeros((len(elements), MEMORY))
