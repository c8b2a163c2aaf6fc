"""A linear model x˙ = A x + B u, y = C x + D u, or x⁺ = A x + B u if it is sampled, with or without delays.

The loops of this package are negative feedback, u = −y: a virtual substructure answers a force with a displacement, the
specimen resists a displacement with a force, and L = specimen · actuator · coupling · virtual substructure.

A pure delay τ has no finite state.  Where one is needed (to find roots that are then polished on the exact function),
the transport equation ∂w/∂t = ∂w/∂θ, w(0) = u, y = w(−τ), is collocated at the N + 1 Chebyshev points of [−τ, 0]
(Breda, Maset, Vermiglio, SIAM J. Sci. Comput. 27 (2005) 482–495, doi 10.1137/030601600).  Its matrix grows as N²/τ
only, where the coefficients of a Padé approximant of that order overflow every digit, and its error falls faster than
any power of N once N exceeds ωτ (test_state_space.py measures this).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import HalfrealError

SINGULAR = 1e-12
"""Smallest singular value of I + D, or of A + I, as a part of the largest, below which it counts as singular."""
VANISHED = 1e-100
"""Entries that have decayed below it, over a long tick of a slow test, are zero: scaling would raise them."""
FEW_STATES = 30
"""Up to which a response solves its equations again at each frequency; above, A is brought to triangular form once."""


@dataclass(frozen=True)
class StateSpace:
    """A, B, C, D and the sampling step ``dt`` [s], None if the model is continuous."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    dt: float | None = None

    def __post_init__(self) -> None:
        states, inputs, outputs = len(self.a), np.shape(self.b)[-1], len(self.c)
        shapes = {"a": (states, states), "b": (states, inputs), "c": (outputs, states), "d": (outputs, inputs)}
        for name, shape in shapes.items():
            matrix = np.asarray(getattr(self, name), dtype=np.float64)
            if matrix.shape != shape:
                raise HalfrealError(
                    f"matrix {name.upper()} of a state-space model has the shape {matrix.shape} but needs {shape}: "
                    f"A is states × states, B states × inputs, C outputs × states, D outputs × inputs"
                )
            wrong = np.argwhere(~np.isfinite(matrix))
            if wrong.size:
                row, column = wrong[0]
                raise HalfrealError(
                    f"matrix {name.upper()} of a state-space model has {matrix[row, column]} in row {row + 1}, column "
                    f"{column + 1}; every entry must be finite"
                )
            object.__setattr__(self, name, np.where(np.abs(matrix) < VANISHED, 0.0, matrix))
        if self.dt is not None and not (np.isfinite(self.dt) and self.dt > 0):
            raise HalfrealError(
                f"the sampling step is {self.dt} s; it must be positive, or None for a continuous model"
            )

    @property
    def states(self) -> int:
        return len(self.a)

    @property
    def channels(self) -> int:
        """Number of inputs, which is that of outputs in a loop."""
        return int(np.shape(self.b)[1])

    def response(self, omega: np.ndarray) -> np.ndarray:
        """Frequency response at ω [rad/s], (len(ω), outputs, inputs)."""
        omega = np.atleast_1d(omega)
        point = 1j * omega if self.dt is None else np.exp(1j * omega * self.dt)
        if self.states > FEW_STATES:
            return self._response_of_many_states(point)
        resolvent = point[:, None, None] * np.eye(self.states) - self.a
        return np.asarray(self.c @ np.linalg.solve(resolvent, self.b.astype(complex)) + self.d)

    @cached_property
    def _triangular(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Schur form T of the balanced A, with B and C in its coordinates; and −T in C order."""
        from scipy.linalg import matrix_balance, schur

        with np.errstate(invalid="ignore"):  # SciPy casts scales to integers, though none is needed
            balanced, scale = matrix_balance(self.a, permute=False)
        form, basis = schur(balanced, output="complex")
        scales = np.diag(scale)
        negative = np.ascontiguousarray(0.0 - form)
        return form, basis.conj().T @ (self.b / scales[:, None]), (self.c * scales) @ basis, negative

    def _response_of_many_states(self, point: np.ndarray) -> np.ndarray:
        """C (sI − T)⁻¹B + D by back substitution, all points at once if they are many."""
        form, b, c, _ = self._triangular
        if point.size < 10:
            return np.array([c @ self._solved(s, b) + self.d for s in point])
        x = np.empty((self.states, point.size, b.shape[1]), dtype=complex)
        for i in range(self.states - 1, -1, -1):
            pivot = point - form[i, i]
            if np.any(pivot == 0):
                raise np.linalg.LinAlgError("the response was requested at a pole")
            x[i] = (b[i] + np.tensordot(form[i, i + 1 :], x[i + 1 :], axes=1)) / pivot[:, None]
        return np.asarray(np.tensordot(c, x, axes=1).transpose(1, 0, 2) + self.d)

    def _solved(self, s: complex, b: np.ndarray) -> np.ndarray:
        """(sI − T)⁻¹ b, as SciPy solves it, without its overhead: searches for margins solve thousands."""
        from scipy.linalg.lapack import ztrtrs

        upper = self._triangular[3].copy()
        upper.reshape(-1)[:: len(upper) + 1] += s
        x, info = ztrtrs(upper.T, b, lower=1, trans=1)  # LAPACK's order is that of columns
        if info:
            raise np.linalg.LinAlgError("the response was requested at a pole")
        return np.asarray(x)

    def closed(self) -> np.ndarray:
        """State matrix of the loop closed by u = −y (no delay in addition to the model's own)."""
        check_square(self)
        return np.asarray(self.a - self.b @ _inverse_with_one(self.d, "the loop") @ self.c)

    def poles(self) -> np.ndarray:
        return np.asarray(np.linalg.eigvals(self.a))

    def closed_poles(self, gain: float = 1.0) -> np.ndarray:
        """Poles of the loop closed by u = −gain · y."""
        scaled = StateSpace(self.a, self.b, gain * self.c, gain * self.d, self.dt)
        return np.asarray(np.linalg.eigvals(scaled.closed()))

    def integrates(self) -> bool:
        """Whether a pole lies at rest, so that there is no static response."""
        return nearly_singular(self.a if self.dt is None else self.a - np.eye(self.states))

    def after(self, first: StateSpace) -> StateSpace:
        """The product self · first: ``first`` acts first."""
        if self.dt != first.dt:
            raise HalfrealError(f"models with the sampling steps {self.dt} and {first.dt} s cannot be multiplied")
        return StateSpace(
            a=np.block([[self.a, self.b @ first.c], [np.zeros((first.states, self.states)), first.a]]),
            b=np.vstack([self.b @ first.d, first.b]),
            c=np.hstack([self.c, self.d @ first.c]),
            d=self.d @ first.d,
            dt=self.dt,
        )

    def seen_from(self, channel: int) -> StateSpace:
        """The single-channel loop that is left when all channels but ``channel`` are closed."""
        check_channel(self, channel)
        others = [i for i in range(self.channels) if i != channel]
        inverse = _inverse_with_one(self.d[np.ix_(others, others)], "the other channels")
        # u_o = −(I + D_oo)⁻¹ (C_o x + D_oi u)
        by_state, by_input = -inverse @ self.c[others], -inverse @ self.d[np.ix_(others, [channel])]
        row = self.d[[channel]][:, others]
        return StateSpace(
            a=self.a + self.b[:, others] @ by_state,
            b=self.b[:, [channel]] + self.b[:, others] @ by_input,
            c=self.c[[channel]] + row @ by_state,
            d=self.d[[channel]][:, [channel]] + row @ by_input,
            dt=self.dt,
        )

    def continuous(self) -> StateSpace:
        """The continuous model with the same response at warped frequencies, ω_c = tan(ω dt/2) · 2/dt.

        The bilinear map takes the unit circle to the imaginary axis exactly, so that what is requested there
        (crossings, encirclements) may be asked of a continuous model.  A model that has a pole at z = −1 has no such
        map.
        """
        if self.dt is None:
            return self
        eye = np.eye(self.states)
        if nearly_singular(self.a + eye):
            raise HalfrealError(
                "the sampled model has a pole at z = −1 (half the sampling rate), which the bilinear map takes to "
                "infinity; crossings and margins are found without the map, other uses need a model without that pole"
            )
        inverse = np.linalg.inv(self.a + eye)
        scale = 2.0 / self.dt
        return StateSpace(
            a=scale * inverse @ (self.a - eye),
            b=np.sqrt(2.0 * scale) * inverse @ self.b,
            c=np.sqrt(2.0 * scale) * self.c @ inverse,
            d=self.d - self.c @ inverse @ self.b,
        )

    def warped(self, omega: np.ndarray) -> np.ndarray:
        """From frequencies of ``continuous()`` back to the model's own [rad/s]."""
        return np.asarray(omega) if self.dt is None else 2.0 / self.dt * np.arctan(np.asarray(omega) * self.dt / 2.0)


@dataclass(frozen=True)
class Delayed:
    """A loop with a fixed delay τ_i [s] in each channel, L(s) diag(e^{−sτ_i})."""

    model: StateSpace
    delays: np.ndarray

    def __post_init__(self) -> None:
        delays = np.asarray(self.delays, dtype=np.float64)
        if delays.shape != (self.model.channels,) or not np.all(np.isfinite(delays)) or np.any(delays < 0):
            raise HalfrealError(
                f"the delays {delays.tolist()} s must be {self.model.channels} finite numbers ≥ 0, one per channel"
            )
        if self.model.dt is not None:
            samples = delays / self.model.dt
            if np.any(np.abs(samples - np.round(samples)) > 1e-6):
                raise HalfrealError(
                    f"the delays {delays.tolist()} s of a sampled loop must be whole multiples of its step "
                    f"{self.model.dt} s"
                )
        object.__setattr__(self, "delays", delays)

    @property
    def channels(self) -> int:
        return self.model.channels

    def response(self, omega: np.ndarray) -> np.ndarray:
        """Exact frequency response at ω [rad/s], (len(ω), outputs, inputs)."""
        omega = np.atleast_1d(omega)
        return np.asarray(self.model.response(omega) * np.exp(-1j * omega[:, None, None] * self.delays))

    def realised(self, order: int) -> StateSpace:
        """A state-space model: exact (shift registers) if sampled, else each delay by ``order`` Chebyshev states."""
        dt = self.model.dt
        if dt is not None:
            parts = [shift_register(round(delay / dt), dt) for delay in self.delays]
        else:
            parts = [transport(delay, order) for delay in self.delays]
        from scipy.linalg import block_diag

        a, b, c, d = (block_diag(*(getattr(part, name) for part in parts)) for name in "abcd")
        return self.model.after(StateSpace(a, b, c, d, dt))


def transport(delay: float, order: int) -> StateSpace:
    """Pseudospectral model of a pure delay [s] with ``order`` states; a delay of zero is a plain one."""
    if delay == 0.0:
        return _plain(None)
    # Chebyshev points from θ = 0 (where w = u) to θ = −τ and their differentiation matrix (Trefethen's formula).
    index = np.arange(order + 1)
    points = np.cos(np.pi * index / order)
    weight = np.where((index == 0) | (index == order), 2.0, 1.0) * (-1.0) ** index
    matrix = np.outer(weight, 1.0 / weight) / (points[:, None] - points + np.eye(order + 1))
    matrix -= np.diag(matrix.sum(axis=1))
    matrix *= 2.0 / delay
    last = np.zeros((1, order))
    last[0, -1] = 1.0
    return StateSpace(matrix[1:, 1:], matrix[1:, :1], last, np.zeros((1, 1)))


def shift_register(samples: int, dt: float) -> StateSpace:
    """A delay of whole samples."""
    if samples == 0:
        return _plain(dt)
    return StateSpace(np.eye(samples, k=-1), np.eye(samples)[:, :1], np.eye(samples)[-1:], np.zeros((1, 1)), dt)


def check_square(loop: StateSpace | Delayed) -> None:
    model = loop.model if isinstance(loop, Delayed) else loop
    outputs, inputs = model.d.shape
    if outputs != inputs:
        raise HalfrealError(f"a loop has as many outputs as inputs; this model has {outputs} outputs, {inputs} inputs")


def check_channel(loop: StateSpace | Delayed, channel: int) -> None:
    check_square(loop)
    if not 0 <= channel < loop.channels:
        raise HalfrealError(f"channel {channel} does not exist: the loop has the channels 0 to {loop.channels - 1}")


def _plain(dt: float | None) -> StateSpace:
    return StateSpace(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1)), dt)


def nearly_singular(matrix: np.ndarray) -> bool:
    singular = np.linalg.svd(matrix, compute_uv=False)
    return bool(singular.size and singular[-1] <= SINGULAR * max(singular[0], 1.0))


def _inverse_with_one(direct: np.ndarray, what: str) -> np.ndarray:
    """(I + D)⁻¹ of an instantaneous feedback path."""
    matrix = np.eye(len(direct)) + direct
    if nearly_singular(matrix):
        raise HalfrealError(
            f"{what} cannot be closed: I + D is singular (smallest singular value "
            f"{np.linalg.svd(matrix, compute_uv=False)[-1]:.3g}), the direct path feeds the output back to itself with "
            f"gain −1; such an algebraic loop has no solution, change D or delay one path by a sample"
        )
    return np.asarray(np.linalg.inv(matrix))
