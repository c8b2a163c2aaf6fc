"""Limit cycles of a compiled loop, by Newton's method on a shooting problem, and families of them over a number.

Unknown are the state x at the beginning, the period T and, along a family, the number p.  What must vanish:

    x(T; x, p) − x = 0                      periodic (``shooting.py``)
    g · (x − x₀) = 0                        the phase: along the motion g at the guess, nothing is moved
    c_p (p − p*)/P + c_a (a − a*)/A = 0     where on the family, in terms of the number and the amplitude a

a = √2 times the root mean square of one signal about its mean, so the last equation means the same regardless of the
states of a loop.  States count in parts of how far they move.  The linear systems are solved from the whole Jacobian,
or by GMRES on directional differences where there are very many states (Newton–Krylov; D. A. Knoll, D. E. Keyes, J.
Comput.  Phys. 193 (2004) 357–397), which takes few of them as most deviations die out within a period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import HalfrealError
from ..kernels.loop import Loop
from . import floquet
from .carry_over import carried_over
from .shooting import FEWEST_TICKS, PART, DivergedError, End, Shooting, Work, shooting_of, unresolved_text, weights

CONVERGED, ACCEPTED = 1e-9, 1e-6
"""Residual, as a part of the motion, at which Newton's method ends, and that is accepted where it gets no better."""
KEEPS = 0.1
"""Factor by which an iteration must shrink the residual for its Jacobian to be used again."""
MOST = 20
"""Iterations."""
LARGEST_STEP, LARGEST_STRETCH, LARGEST_CHANGE = 0.3, 0.1, 0.1
"""Of one iteration: part of the motion, of the period, and of the number's scale."""
COARSE = 5e-3
"""Error of interpolation between ticks, as a part of a signal's motion, beyond which a cycle is not resolved."""
VANISHED = 1e-2
"""Part of the guessed amplitude below which Newton's method has converged to rest."""
NUDGE = 1e-6
"""Part of a number's range by which it is changed for a slope."""


class NoCycleError(HalfrealError):
    """Newton's method has found no cycle near its guess.

    ``persists`` is the amplitude of motion that neither grows nor decays, where there is such motion.
    """

    persists: float | None = None


@dataclass(frozen=True)
class Pin:
    """Where on a family a cycle is looked for: c_p (p − p*)/P + c_a (a − a*)/A = 0."""

    number: float
    amplitude: float
    number_scale: float
    amplitude_scale: float
    along_number: float
    along_amplitude: float


@dataclass(frozen=True)
class Cycle:
    """A periodic motion of a loop."""

    shooting: Shooting
    start: np.ndarray
    """The states that count, at its beginning."""
    ticks: float
    """Its period in steps."""
    end: End
    number: float | None = None
    """Of the family, at which it was found."""
    free: bool = True
    """Whether it is a motion by itself, whose phase is free; else it is forced."""

    @property
    def vector(self) -> np.ndarray:
        """The loop's whole vector at the beginning."""
        vector = self.shooting.base.copy()
        vector[self.shooting.entries] = self.start
        return vector

    @property
    def amplitudes(self) -> np.ndarray:
        """Half the way between the extremes of each channel."""
        high, low = (extreme(sign * self.end.signals) for sign in (1.0, -1.0))
        return np.asarray(0.5 * (high + low))

    @property
    def peaks(self) -> np.ndarray:
        """Largest absolute values of each channel."""
        high, low = (extreme(sign * self.end.signals) for sign in (1.0, -1.0))
        return np.asarray(np.maximum(high, low))

    @cached_property
    def _multipliers(self) -> tuple[np.ndarray, float]:
        asked = self.shooting, self.start, self.ticks
        return floquet.of_free_motion(*asked) if self.free else (floquet.multipliers(*asked), 0.0)

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, largest first; without the one at 1 of a free motion."""
        return self._multipliers[0]

    @property
    def trivial_error(self) -> float:
        """How far the multiplier at 1 of a free motion is from there."""
        return self._multipliers[1]

    @property
    def largest_multiplier(self) -> float:
        """Largest |μ| of those that decide on stability: hysteretic memory that rests, such as a permanent set, has
        multipliers at 1 that mean nothing."""
        values = self.multipliers
        memories = int(np.isin(self.shooting.entries, self.shooting.loop.memory_indices()).sum())
        nearest = np.argsort(np.abs(values - 1.0))[:memories]
        resting = nearest[np.abs(values[nearest] - 1.0) < floquet.WELL_MET]
        return float(np.abs(np.delete(values, resting)).max(initial=0.0))

    @property
    def stable(self) -> bool:
        return self.largest_multiplier < 1.0


def extreme(values: np.ndarray) -> np.ndarray:
    """The largest value of each column of one period, on the parabola through the three samples around it."""
    at = np.argmax(values, axis=0)
    columns = np.arange(values.shape[1])
    n = len(values)
    before, here, after = (values[(at + shift) % n, columns] for shift in (-1, 0, 1))
    bend = before - 2.0 * here + after
    inside = (at > 0) & (at < n - 1) & (bend < 0.0)
    with np.errstate(all="ignore"):
        return np.asarray(here - np.where(inside, (after - before) ** 2 / (8.0 * bend), 0.0))


def between_ticks(values: np.ndarray) -> float:
    """How well signals are known in the middle between samples, as a part of how far each moves: by what polynomials of
    the fifth and of the third degree differ there, at the worst place."""
    fifth = weights(np.arange(6), 2.5)[0] - np.pad(weights(np.arange(4), 1.5)[0], 1)
    apart = np.abs(np.lib.stride_tricks.sliding_window_view(values, 6, axis=0) @ fifth)
    moved = 0.5 * np.ptp(values, axis=0)
    return float((apart.max(axis=0) / np.maximum(moved, 1e-300)).max(where=moved > 0.0, initial=0.0))


def amplitude_of(end: End, channel: int = 0) -> float:
    """√2 times the root mean square of a signal about its mean, over the period."""
    values = end.signals[:, channel]
    w = sample_weights(values.size, end.part)
    return float(np.sqrt(2.0 * max(w @ values**2 - (w @ values) ** 2, 0.0)))


def sample_weights(samples: int, part: float) -> np.ndarray:
    """Of the trapezoidal rule over samples 0 … N of a period of N + part."""
    w = np.ones(samples)
    w[0] = w[-1] = 0.5 * (1.0 + part)
    return w / (samples - 1 + part)


def refine(
    shooting: Shooting,
    ticks: float,
    *,
    free: bool = True,
    channel: int = 0,
    number: float | None = None,
    pin: Pin | None = None,
    loop_at: Callable[[float], Loop] | None = None,
) -> Cycle:
    """The periodic motion near a guess: the shooting problem's start, and so many steps of period.

    A motion that is not ``free`` has the period that is given.  With a ``pin``, the number is looked for too, from
    ``number`` on, and ``loop_at`` gives loops at other numbers.
    """
    x, n = shooting.start, shooting.start.size
    end = shooting.run(x, ticks)
    scale, first = shooting.scale, amplitude_of(end, channel)
    reference, best, last, phase = x, np.inf, np.inf, _phase(end, scale)
    slopes: _Slopes | None = None
    part = PART
    for _ in range(MOST):
        residual = [(end.state - x) / scale]
        if free:
            residual.append(np.array([phase @ ((x - reference) / scale)]))
        if pin is not None:
            assert number is not None
            residual.append(np.array([_off(pin, number, amplitude_of(end, channel))]))
        wrong = np.concatenate(residual)
        size = float(np.linalg.norm(wrong) / np.sqrt(n))
        if size < CONVERGED or (size < ACCEPTED and size > 0.5 * best):
            break
        if shooting.work.ticks < 0.0:
            raise NoCycleError("the search has taken as many ticks as it may")
        if slopes is None or size > KEEPS * last:
            # a law with a corner is met at ticks only: where small slopes lead nowhere, those over a tick's motion may
            part = PART if size < 0.5 * last or part > PART else 3.0 / ticks
            slopes = _Slopes(shooting, x, ticks, end, phase, free, channel, number, pin, loop_at, part)
        best, last = min(best, size), size
        step = slopes.solved(wrong)
        by_state, rest = step[:n], step[n:]
        stretch = float(rest[0]) if free else 0.0
        factor = min(
            1.0,
            LARGEST_STEP * np.sqrt(n) / max(float(np.linalg.norm(by_state)), 1e-300),
            LARGEST_STRETCH / max(abs(stretch), 1e-300),
            LARGEST_CHANGE / max(abs(float(rest[-1])), 1e-300) if pin is not None else 1.0,
        )
        x = x + factor * by_state * scale
        ticks *= 1.0 + factor * stretch
        if pin is not None:
            assert number is not None and loop_at is not None
            number += factor * float(rest[-1]) * pin.number_scale
            before = shooting
            shooting = carried_over(shooting, x, ticks, loop_at(number))
            if shooting.entries.size != before.entries.size:  # other states: the phase is counted from here
                x = reference = shooting.start
                scale, n = shooting.scale, x.size
                phase, slopes = _phase(shooting.run(x, ticks), scale), None
        if ticks < FEWEST_TICKS:
            raise NoCycleError(unresolved_text(ticks))
        end = shooting.run(x, ticks)
        if free and amplitude_of(end, channel) < VANISHED * first:
            raise NoCycleError("Newton's method converges to rest: there is no cycle near this amplitude")
    else:
        raise NoCycleError(_failed(shooting, end, x))
    unsure = between_ticks(end.signals)
    if unsure > COARSE:
        raise NoCycleError(
            f"the step cannot resolve this cycle: with {ticks:.3g} ticks per period the motion is accurate to "
            f"{100 * unsure:.2g} % only; give a shorter timing.step"
        )
    shooting.base[shooting.entries] = x
    return Cycle(shooting, x, ticks, end, number, free)


def _phase(end: End, scale: np.ndarray) -> np.ndarray:
    """The direction of the motion."""
    return np.asarray(end.rate / scale / np.linalg.norm(end.rate / scale))


def _failed(shooting: Shooting, end: End, x: np.ndarray) -> str:
    """What is said where Newton's method does not converge."""
    apart = np.abs(end.state - x) / shooting.scale
    worst = shooting.loop.name_of(int(shooting.entries[int(np.argmax(apart))]))
    return (
        f"no cycle: after {MOST} iterations '{worst}' still differs by {100 * apart.max():.2g} % of its motion after a "
        "period; a discontinuous law such as sign(v), a counting or adapting state, or a non-periodic motion "
        "has no cycle: smooth the law, e.g. by tanh(v/v0), or freeze the adaptation"
    )


def _off(pin: Pin, number: float, amplitude: float) -> float:
    return (
        pin.along_number * (number - pin.number) / pin.number_scale
        + pin.along_amplitude * (amplitude - pin.amplitude) / pin.amplitude_scale
    )


class _Slopes:
    """The Jacobian of the equations as a linear map of (state in its scales, relative period, number in its scale)."""

    def __init__(
        self,
        shooting: Shooting,
        x: np.ndarray,
        ticks: float,
        end: End,
        phase: np.ndarray,
        free: bool,
        channel: int,
        number: float | None,
        pin: Pin | None,
        loop_at: Callable[[float], Loop] | None,
        part: float,
    ) -> None:
        self.part = part
        self.shooting, self.x, self.ticks, self.end, self.phase = shooting, x, ticks, end, phase
        self.free, self.channel, self.pin = free, channel, pin
        self.n = x.size
        self.size = self.n + free + (pin is not None)
        values = end.signals[:, channel]
        w = sample_weights(values.size, end.part)
        self.amplitude = amplitude_of(end, channel)
        self.by_signal = 2.0 * w * (values - w @ values) / max(self.amplitude, 1e-300)
        longer, shorter = (amplitude_of(replace(end, part=end.part + by), channel) for by in (PART, -PART))
        self.by_tick = (longer - shorter) / (2.0 * PART)
        self.by_number: tuple[np.ndarray, float] | None = None
        if pin is not None:
            assert number is not None and loop_at is not None
            self.by_number = self._of_number(number, pin.number_scale, loop_at)

    def _of_number(self, number: float, scale: float, loop_at: Callable[[float], Loop]) -> tuple[np.ndarray, float]:
        """How the end and the amplitude change with the number, per ``scale`` of it; one-sided, where layouts fit."""
        for by in (NUDGE, -NUDGE):
            loop = loop_at(number + by * scale)
            if loop.vector.size == self.shooting.loop.vector.size:
                other = self.shooting.on(loop).run(self.x, self.ticks)
                state = (other.state - self.end.state) / by / self.shooting.scale
                return state, (amplitude_of(other, self.channel) - self.amplitude) / by
        raise NoCycleError("the number of states of the loop changes at this value")

    @cached_property
    def _whole(self) -> np.ndarray:
        return np.array([self(unit) for unit in np.eye(self.size)]).T

    def solved(self, wrong: np.ndarray) -> np.ndarray:
        """Newton's step."""
        if self.n <= floquet.DENSE:
            return np.asarray(np.linalg.lstsq(self._whole, -wrong, rcond=1e-13)[0])
        from scipy.sparse.linalg import LinearOperator, gmres  # takes long to import, and few tests come here

        operator = LinearOperator((self.size, self.size), matvec=lambda v: self(np.ravel(v)), dtype=float)
        step, _ = gmres(operator, -wrong, rtol=1e-4, restart=80, maxiter=2)
        return np.asarray(step)

    def __call__(self, v: np.ndarray) -> np.ndarray:
        n, scale = self.n, self.shooting.scale
        state, amplitude = np.zeros(n), 0.0
        if np.any(v[:n]):
            size = float(np.abs(v[:n]).max())
            moved = self.shooting.along(self.x, self.ticks, v[:n] / size * scale, self.part)
            state = size * moved.state / scale - v[:n]
            amplitude = size * float(self.by_signal @ moved.signals[:, self.channel])
        answer = [state]
        if self.free:
            state = state + v[n] * self.ticks * self.end.rate / scale
            amplitude += v[n] * self.ticks * self.by_tick
            answer = [state, np.array([self.phase @ v[:n]])]
        if self.pin is not None and self.by_number is not None:
            answer[0] = state + v[-1] * self.by_number[0]
            amplitude += v[-1] * self.by_number[1]
            along = self.pin.along_number * v[-1] + self.pin.along_amplitude * amplitude / self.pin.amplitude_scale
            answer.append(np.array([along]))
        return np.concatenate(answer)


def cycle_near(
    loop: Loop, ticks: float, channels: tuple[str, ...], step: int = 1, channel: int = 0, work: Work | None = None
) -> Cycle:
    """The limit cycle near the loop's present motion, which has a period of about so many steps."""
    try:
        return refine(shooting_of(loop, ticks, channels, step, work), ticks, channel=channel)
    except DivergedError as error:
        raise NoCycleError(f"no cycle near this motion: {error}") from error
