"""The guard: the last block before the rig.  Every command passes it, in the loop, at every tick.

Watched are, for every interface axis, the asked command, its rate, the target, the measured displacement and force, and
the gap (target − measured displacement).  A value beyond its ``warn`` limit is an event; beyond its ``trip`` limit, or
not a number, or a fault reported by any block, is a trip: within the same tick the command stays at the last one
applied, and then holds there or returns smoothly to where the test began, no faster than the command's rate limit.
Never does an offending command reach the rig.
A trip ends the test after ``after_trip``, so that the record shows what came of it.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..kernels.block import Block, Channel, channels
from ..kernels.loop import FAULT_CHANNEL
from ..kernels.tick import FINISHED, RUNNING, TRIPPED
from ..settings import Number, Settings, fault

BLOCK_FAULT = 999.0
"""Cause of a trip that a block's own fault brought about."""


UNLIMITED = float(np.finfo(np.float64).max)
"""Limit of a signal without one: infinite and undefined values are beyond it all the same."""


class _Limit(Settings):
    @field_validator("trip", check_fields=False)
    @classmethod
    def _above_warning(cls, trip: float, info: ValidationInfo) -> float:
        warn = info.data.get("warn")
        if trip is not None and warn is not None and warn >= trip:
            raise fault(f"warn ({warn:g}) is not below trip ({trip:g}), both in SI units; a warning must come first")
        return trip


class DisplacementLimit(_Limit):
    warn: Annotated[float, Number("m", above=0)] | None = None
    trip: Annotated[float, Number("m", above=0)] | None = None


class RateLimit(_Limit):
    warn: Annotated[float, Number("m/s", above=0)] | None = None
    trip: Annotated[float, Number("m/s", above=0)] | None = None


class ForceLimit(_Limit):
    warn: Annotated[float, Number("N", above=0)] | None = None
    trip: Annotated[float, Number("N", above=0)] | None = None


class Limits(Settings):
    """Warn and trip limits of the watched signals, and what to do on a trip.  A signal left out has no limit."""

    command: DisplacementLimit = DisplacementLimit()
    command_rate: RateLimit = RateLimit()
    target: DisplacementLimit = DisplacementLimit()
    displacement: DisplacementLimit = DisplacementLimit()
    force: ForceLimit = ForceLimit()
    gap: DisplacementLimit = DisplacementLimit()
    on_trip: Literal["hold", "return"] = "hold"
    return_time: Annotated[float, Number("s", above=0)] = 1.0
    after_trip: Annotated[float, Number("s", least=0)] = 0.5

    def ordered(self) -> tuple[tuple[str, DisplacementLimit | RateLimit | ForceLimit], ...]:
        """The limits in the guard's order, with the signals' names."""
        return (
            ("command.asked", self.command),
            ("command rate", self.command_rate),
            ("target", self.target),
            ("measured.displacement", self.displacement),
            ("measured.force", self.force),
            ("gap", self.gap),
        )

    def block(
        self,
        dt: float,
        unit: str,
        asked: tuple[str, ...],
        target: tuple[str, ...],
        displacement: tuple[str, ...],
        force: tuple[str, ...],
        initial: np.ndarray,
    ) -> Block:
        n = len(asked)
        trip = [UNLIMITED if limit.trip is None else limit.trip for _, limit in self.ordered() for _ in range(n)]
        warn = [UNLIMITED if limit.warn is None else limit.warn for _, limit in self.ordered() for _ in range(n)]
        return Block(
            name="guard",
            step=guard_step,
            inputs=(FAULT_CHANNEL.name, *asked, *target, *displacement, *force),
            outputs=(
                *channels("command", unit, n),
                *channels("gap", unit, n),
                Channel("guard.mode", "1"),
                Channel("guard.cause", "1"),
                Channel("guard.warning", "1"),
            ),
            parameters={
                "dt": dt,
                "trip": np.array(trip),
                "warn": np.array(warn),
                "returns": float(self.on_trip == "return"),
                "return_time": self.return_time,
                "after": self.after_trip,
                "rate": UNLIMITED if self.command_rate.trip is None else self.command_rate.trip,
                "safe": np.array(initial, dtype=float),
            },
            state={
                "mode": RUNNING,
                "cause": 0.0,
                "value": 0.0,
                "elapsed": 0.0,
                "return_time": 0.0,
                "applied": np.array(initial, dtype=float),
                "held": np.zeros(n),
                "watched": np.zeros(6 * n),
                "peaks": np.zeros(6 * n),
            },
            frozen=("mode", "cause", "value", "elapsed", "return_time", "applied", "held", "watched", "peaks"),
            watched=("guard.mode", "guard.cause", "guard.warning"),
            initial=tuple(initial),
        )

    def used(self, peaks: np.ndarray) -> dict[str, float]:
        """Largest value of each limited signal, of any axis, as a share of its trip limit."""
        largest = peaks.reshape(6, -1).max(axis=1)
        named = zip(self.ordered(), largest, strict=True)
        return {name: float(peak / limit.trip) for (name, limit), peak in named if limit.trip is not None}

    def name_cause(self, cause: float, n: int) -> str:
        """The cause of a trip or a warning in words, with its limit."""
        which, axis = divmod(int(cause) - 1, n)
        name = self.ordered()[which][0]
        return name if n == 1 else f"{name}.{axis + 1}"


def guard_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.applied.size
    for i in range(n):
        asked, target, measured, force = u[1 + i], u[1 + n + i], u[1 + 2 * n + i], u[1 + 3 * n + i]
        s.watched[i] = asked
        s.watched[n + i] = (asked - s.applied[i]) / p.dt
        s.watched[2 * n + i] = target
        s.watched[3 * n + i] = measured
        s.watched[4 * n + i] = force
        s.watched[5 * n + i] = target - measured
        y[n + i] = target - measured

    warning = 0.0
    if s.mode == RUNNING:
        for i in range(6 * n - 1, -1, -1):
            s.peaks[i] = max(s.peaks[i], abs(s.watched[i]))
            # written so that a value that is not a number is beyond every limit
            if not (abs(s.watched[i]) <= p.warn[i]):
                warning = i + 1.0
            if not (abs(s.watched[i]) <= p.trip[i]):
                s.cause, s.value = i + 1.0, s.watched[i]
        if u[0] != 0.0:
            s.cause = BLOCK_FAULT
        if s.cause == 0.0:
            for i in range(n):
                s.applied[i] = u[1 + i]
        else:
            s.mode, s.elapsed = TRIPPED, 0.0
            s.return_time = p.return_time if p.returns != 0.0 else 0.0
            for i in range(n):
                s.held[i] = s.applied[i]
                if p.returns != 0.0:  # the way back is no faster than a command may be
                    s.return_time = max(s.return_time, 0.5 * math.pi * abs(s.held[i] - p.safe[i]) / p.rate)
    else:
        s.elapsed += p.dt
        if p.returns != 0.0:
            share = 0.5 * (1.0 + math.cos(math.pi * min(s.elapsed / s.return_time, 1.0)))
            for i in range(n):
                s.applied[i] = p.safe[i] + share * (s.held[i] - p.safe[i])
        if s.elapsed >= s.return_time + p.after:
            s.mode = FINISHED
    for i in range(n):
        y[i] = s.applied[i]
    y[2 * n], y[2 * n + 1], y[2 * n + 2] = s.mode, s.cause, warning
    return 0
