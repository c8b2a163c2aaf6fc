"""Slow tests: the test's time is at rest while the rig is moved to a command, settles and is measured.

The pseudo-dynamic test (M. Nakashima, H. Kato, E. Takaoka, "Development of real-time pseudo dynamic testing",
Earthquake Engng Struct. Dyn. 21 (1992) 79–92, begin with how it is done): where the specimen's force does not depend on
how fast it is moved, time may be stretched at will.  At every tick of the test this block goes through

    RAMP      from the command before to the one asked, along a half cosine, within ``ramp`` (longer if the limit of the
              command's rate requires it; divided by the speed that the operator chooses)
    SETTLE    until what the rig follows, displacement or force, has stayed within the tolerance for ``time``
    AVERAGE   over ``average``: means of displacement and force are the measurement of this tick

on the clock of the rig, period by period, and the guard watches all of it.  Then the test advances by one tick.

The operator pauses the test (the command is held at once), lets it take single ticks, resumes it and changes its speed,
through words that are read every period.  What does not settle within ``timeout``, or gives no measurement in that
time, is held and the operator is prompted; where there is none, in a rehearsal, it is a fault.  While measurements are
missing, nothing moves.

A displacement that is not a number is a frame that a camera lost: it does not count, and another is waited for.  A rig
commanded in displacement has not settled before a frame says so.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.axes import Axes
from ..kernels.atomic import load_word
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.compile import kernel
from ..kernels.control import AGAIN, PAUSE, SPEED
from ..settings import Number, Settings, Vector, fault
from .limits import UNLIMITED, Commands

ADVANCE, RAMP, SETTLE, AVERAGE = 0.0, 1.0, 2.0, 3.0
"""Phases of a tick."""
MOVING, PAUSED, NOT_SETTLED, NOT_MEASURED = 0.0, 1.0, 2.0, 3.0
"""States of a slow test; in the last two the operator is prompted."""
STATES = {
    MOVING: "resumed",
    PAUSED: "paused: the command is held",
    NOT_SETTLED: "the rig has not settled in time: the command is held, and the operator is prompted",
    NOT_MEASURED: "no measurement in time: the command is held, and the operator is prompted",
}
HOLDING = "motion.holding"
SHARE_OF_RATE = 0.9
"""Of the command's rate limit that a ramp uses."""


TOLERANCES: dict[Commands, tuple[str, str]] = {
    "displacement": ("displacement", "rotation"),
    "force": ("force", "moment"),
}
"""Keys of the tolerances on displacements and on rotations, by what a rig is commanded in."""


def kinds(quantity: Commands, axes: Axes) -> tuple[tuple[str, np.ndarray], ...]:
    """The keys of a quantity's tolerances, and the axes that each is for."""
    return tuple(zip(TOLERANCES[quantity], (~axes.rotations, axes.rotations), strict=True))


def on_axes(section: Settings, quantity: Commands, axes: Axes, default: np.ndarray) -> np.ndarray:
    """The tolerances that a section gives for a quantity, on each axis; the default where it gives none."""
    found = default.copy()
    for key, on in kinds(quantity, axes):
        given = getattr(section, key)
        if given is not None:
            found[on] = given
    return found


class Settle(Settings):
    """When a rig has settled: within the tolerance of its command for ``time``."""

    displacement: Annotated[np.ndarray, Vector("m", above=0)] | None = None
    """Tolerance of a rig in displacement control; default: settled after ``time``."""
    rotation: Annotated[np.ndarray, Vector("rad", above=0)] | None = None
    """Tolerance of rotational axes."""
    force: Annotated[np.ndarray, Vector("N", above=0)] | None = None
    """Tolerance of a rig in force control."""
    moment: Annotated[np.ndarray, Vector("N m", above=0)] | None = None
    """Tolerance of rotational axes."""
    time: Annotated[float, Number("s", least=0)] = 0.0
    timeout: Annotated[float, Number("s", above=0)] = 10.0

    @field_validator("timeout")
    @classmethod
    def _longer_than_time(cls, timeout: float, info: ValidationInfo) -> float:
        time = info.data.get("time")
        if time is not None and timeout <= time:
            raise fault(
                f"{timeout:g} s is not longer than the {time:g} s for which the rig must have settled (time); "
                "lengthen it"
            )
        return timeout


class Resume(Settings):
    """How far from where the record ends a rig may stand for its test to be resumed; see ``live/comparison.py``."""

    displacement: Annotated[np.ndarray, Vector("m", above=0)] | None = None
    """Tolerance in displacement; default: derived from the settling tolerance."""
    rotation: Annotated[np.ndarray, Vector("rad", above=0)] | None = None
    force: Annotated[np.ndarray, Vector("N", above=0)] | None = None
    moment: Annotated[np.ndarray, Vector("N m", above=0)] | None = None


class Slow(Settings):
    """A slow test: how the rig is moved from tick to tick, on a clock of its own with this ``period``."""

    period: Annotated[float, Number("s", above=0)]
    ramp: Annotated[float, Number("s", above=0)]
    settle: Settle = Field(default=Settle())
    average: Annotated[float, Number("s", least=0)] = 0.0
    resume: Resume = Field(default=Resume())

    def tolerance(self, commands: Commands, axes: Axes) -> np.ndarray:
        return on_axes(self.settle, commands, axes, np.full(len(axes), UNLIMITED))

    def waits(self, commands: Commands) -> bool:
        """Whether a tick waits until the rig is within a tolerance; else it takes as long wherever the rig is."""
        return any(getattr(self.settle, key) is not None for key in TOLERANCES[commands])

    def check(self, commands: Commands, axes: Axes) -> None:
        """Refuse tolerances of another kind, or for another number of axes, than the rig has."""
        others = TOLERANCES["displacement" if commands == "force" else "force"]
        for given, other in zip(TOLERANCES[commands], others, strict=True):
            if getattr(self.settle, other) is not None:
                raise fault(f"the rig is commanded in {commands}; give slow.settle.{given} instead", "settle", other)
        for section, quantity in (("settle", commands), ("resume", "displacement"), ("resume", "force")):
            for key, on in kinds(quantity, axes):
                tolerance, n = getattr(getattr(self, section), key), on.sum()
                if tolerance is not None and (n == 0 or tolerance.size not in (1, n)):
                    raise fault(f"{tolerance.size} values for {n} axis(es); give one, or one for each", section, key)
        missing = [key for key in TOLERANCES[commands] if getattr(self.settle, key) is None]
        if axes.rotations.any() and not axes.rotations.all() and len(missing) == 1:
            raise fault(f"some axes have a tolerance, others have none; also give slow.settle.{missing[0]}", "settle")

    def shortest_tick(self) -> float:
        """Seconds that a tick takes at least."""
        return self.ramp + self.settle.time + self.average

    def block(
        self,
        step: float,
        unit: str,
        asked: tuple[str, ...],
        displacement: tuple[str, ...],
        force: tuple[str, ...],
        rate: np.ndarray,
        initial: np.ndarray,
        commands: Commands,
        *,
        begin: np.ndarray | None = None,
        fixed: bool = False,
        axes: Axes | None = None,
        waiting: tuple[str, ...] = (),
        stale: tuple[str, ...] = (),
    ) -> Block:
        """Block "motion".

        It reads what is requested and what the sensors say, and writes the command on its way (``motion.command``), the
        tick's measurement (``measured.displacement``, ``measured.force``) and the last displacement that was a number
        (``motion.displacement``), and how long it took the rig to settle (``motion.settled``).  ``rate`` is the limit
        of the command's rate.  A rig commanded in force is under that of ``begin``, none if left out.  ``fixed``
        leaves out what depends on the measurement, for linearising: with a tolerance the rig then settles for as long
        as it may.
        While the channel ``waiting``, if there is one, is not zero, there is nowhere to go: the tick does not begin.
        While ``stale`` is not zero, measurements are missing: nothing moves, and no time passes.
        """
        n = len(asked)
        initial, zeros = np.asarray(initial, dtype=float), np.zeros(n)
        begin = initial if commands == "displacement" else zeros if begin is None else np.asarray(begin, dtype=float)
        state: dict[str, Value] = {
            "start": begin,
            "goal": begin,
            "now": begin,
            "displacement": initial,
            "sums": np.zeros(2 * n),
            "measured": np.concatenate([initial, zeros]),
            "counts": np.zeros(2 * n),
            "phase": ADVANCE,
            "state": MOVING,
            "share": 0.0,
            "shortest": 0.0,
            "elapsed": 0.0,
            "quiet": 0.0,
            "settled": 0.0,
            "clock": 0.0,
            "again": 0.0,
        }
        carried = ("start", "goal", "now", "displacement", "measured")
        return Block(
            name="motion",
            step=motion_step,
            inputs=(*asked, *displacement, *force, *waiting, *stale),
            outputs=(
                *channels("motion.command", unit, n, of="actuator"),
                *channels("measured.displacement", "m", n, of="axis"),
                *channels("measured.force", "N", n, of="axis"),
                *channels("motion.displacement", "m", n, of="axis"),
                Channel(HOLDING, "1"),
                Channel("motion.state", "1"),
                Channel("motion.phase", "1"),
                Channel("motion.clock", "s"),
                Channel("motion.settled", "s"),
            ),
            parameters={
                "step": step,
                "period": self.period,
                "ramp": self.ramp,
                "settle": self.settle.timeout if fixed and self.waits(commands) else self.settle.time,
                "timeout": UNLIMITED if fixed else self.settle.timeout,
                "average": self.average,
                "tolerance": np.full(n, UNLIMITED) if fixed else self.tolerance(commands, axes or Axes.numbered(n)),
                "rate": SHARE_OF_RATE * np.asarray(rate, dtype=float),
                "by_force": float(commands == "force"),
                "waits": float(bool(waiting)),
                "stale": float(bool(stale)),
                "words": 0.0,  # address of the control words, where there is an operator
            },
            state=state,
            frozen=tuple(name for name in state if name not in carried),
            faults={
                int(NOT_SETTLED): f"the rig has not settled within {self.settle.timeout:g} s (slow.settle); widen the "
                "tolerance, increase the timeout, or tune the rig's controller",
                int(NOT_MEASURED): f"no displacement was measured within {self.settle.timeout:g} s "
                "(slow.settle.timeout); check camera or sensor, or increase the timeout",
            },
            watched=("motion.state",),
            initial=(*begin, *initial, *zeros, *initial),
        )


@kernel
def set_out_for(p, s, u):  # type: ignore[no-untyped-def]
    """Begin the way to a new command."""
    s.phase, s.share, s.shortest = RAMP, 0.0, 0.0
    for i in range(s.goal.size):
        s.start[i], s.goal[i] = s.now[i], u[i]
        s.shortest = max(s.shortest, 0.5 * math.pi * abs(s.goal[i] - s.start[i]) / p.rate[i])


@kernel
def follow_ramp(p, s, speed):  # type: ignore[no-untyped-def]
    s.share += p.period / max(p.ramp / speed, s.shortest)
    arrived = s.share >= 1.0 - 1e-9
    for i in range(s.goal.size):
        if arrived:
            s.now[i] = s.goal[i]
        else:
            s.now[i] = s.start[i] + 0.5 * (1.0 - math.cos(math.pi * s.share)) * (s.goal[i] - s.start[i])
    if arrived:
        begin_to_settle(s)


@kernel
def begin_to_settle(s):  # type: ignore[no-untyped-def]
    s.phase, s.elapsed, s.quiet = SETTLE, 0.0, 0.0
    for i in range(s.counts.size):
        s.counts[i] = 0.0


@kernel
def settle(p, s, u):  # type: ignore[no-untyped-def]
    """See whether the rig has been within the tolerance for long enough; a lost frame neither says so nor denies it."""
    n = s.goal.size
    within = fresh = seen = True
    for i in range(n):
        if p.by_force != 0.0:
            followed = u[2 * n + i]
        else:
            followed = s.displacement[i]
            if math.isfinite(u[n + i]):
                s.counts[i] += 1.0
            else:
                fresh = False
            seen = seen and s.counts[i] > 0.0
        within = within and abs(followed - s.goal[i]) <= p.tolerance[i]
    s.elapsed += p.period
    s.quiet = s.quiet + p.period if within else 0.0
    if within and fresh and s.quiet >= p.settle - 1e-6 * p.period:
        s.settled = s.elapsed
        s.phase, s.elapsed = AVERAGE, 0.0
        for i in range(2 * n):
            s.sums[i] = s.counts[i] = 0.0
    elif s.elapsed > p.timeout:
        s.state = NOT_SETTLED if seen else NOT_MEASURED


@kernel
def average(p, s, u):  # type: ignore[no-untyped-def]
    """Add what is measured; at the end of the time, the means are this tick's measurement."""
    n = s.goal.size
    s.elapsed += p.period
    enough = s.elapsed >= p.average - 1e-6 * p.period
    for i in range(2 * n):
        if math.isfinite(u[n + i]):
            s.sums[i] += u[n + i]
            s.counts[i] += 1.0
        enough = enough and s.counts[i] > 0.0
    if enough:
        for i in range(2 * n):
            s.measured[i] = s.sums[i] / s.counts[i]
        s.phase = ADVANCE
    elif s.elapsed > p.average + p.timeout:
        s.state = NOT_MEASURED


def motion_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.goal.size
    words = int(p.words)
    speed, paused = 1.0, False
    if words != 0:
        pause, again, thousandths = (
            load_word(words + 8 * PAUSE),
            load_word(words + 8 * AGAIN),
            load_word(words + 8 * SPEED),
        )
        paused = pause > 0 and round(t / p.step) >= pause - 1
        if thousandths > 0:
            speed = 1e-3 * thousandths
        if again != s.again:
            s.again = float(again)
            if s.state != MOVING:  # the operator says to try once more
                s.state = MOVING
                if s.phase != RAMP:
                    begin_to_settle(s)
    s.clock += p.period
    for i in range(n):
        if math.isfinite(u[n + i]):
            s.displacement[i] = u[n + i]

    stale = p.stale != 0.0 and u[u.size - 1] != 0.0
    waiting = s.phase == ADVANCE and (stale or (p.waits != 0.0 and u[3 * n] != 0.0))
    if s.phase == ADVANCE and not waiting:
        set_out_for(p, s, u)
    if s.state == MOVING or s.state == PAUSED:
        s.state = PAUSED if paused else MOVING
    if s.state == MOVING and not stale:
        if s.phase == RAMP:
            follow_ramp(p, s, speed)
        else:
            if s.phase == SETTLE:
                settle(p, s, u)
            if s.phase == AVERAGE:
                average(p, s, u)
    for i in range(n):
        y[i], y[3 * n + i] = s.now[i], s.displacement[i]
        y[n + i], y[2 * n + i] = s.measured[i], s.measured[n + i]
    y[4 * n] = 0.0 if s.phase == ADVANCE and not waiting else 1.0
    y[4 * n + 1], y[4 * n + 2], y[4 * n + 3], y[4 * n + 4] = s.state, s.phase, s.clock, s.settled
    return int(s.state) if words == 0 and s.state >= NOT_SETTLED else 0
