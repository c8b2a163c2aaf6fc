"""What the operator may say to a slow test: between its ticks there is all the time in the world."""

from __future__ import annotations

import numpy as np

from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.control import AGAIN, PAUSE, SPEED
from ..kernels.loop import Loop
from ..kernels.tick import TICK
from ..safety.slow_motion import MOVING, NOT_MEASURED, NOT_SETTLED, PAUSED

SLOWEST, FASTEST = 0.01, 100.0
SLOW_STATES = {
    MOVING: "running",
    PAUSED: "paused",
    NOT_SETTLED: "waiting: the rig has not settled",
    NOT_MEASURED: "waiting: no measurement",
}
"""Of a slow test that is running, for people."""
WAITING = (SLOW_STATES[NOT_SETTLED], SLOW_STATES[NOT_MEASURED])
"""States in which the operator is prompted."""


class RefusedError(HalfrealError):
    """The session does not do what is requested of it, and says why."""


class SlowOperator:
    """The part of a session that only slow tests have: words which the motion reads at every period."""

    loop: Loop | None

    @property
    def definition(self) -> Definition:
        raise NotImplementedError

    def _words(self) -> np.ndarray:
        raise NotImplementedError

    def pause(self) -> None:
        """Hold the command where it is, at once."""
        self._slow_words()[PAUSE] = 1

    def step(self) -> None:
        """Complete the present tick, and pause."""
        words, loop = self._slow_words(), self.loop
        assert loop is not None
        words[PAUSE] = int(loop.vector[TICK]) + 2
        words[AGAIN] += 1

    def resume(self) -> None:
        """Continue after a pause; of a rig that has not settled in time, wait once more."""
        words = self._slow_words()
        words[PAUSE] = 0
        words[AGAIN] += 1

    def set_speed(self, factor: float) -> None:
        """Move the rig faster or slower than the definition says."""
        if not SLOWEST <= factor <= FASTEST:
            raise RefusedError(
                f"speed factor {factor:g} is out of range; use {SLOWEST:g} to {FASTEST:g} times the definition's speed"
            )
        self._slow_words()[SPEED] = round(1000 * factor)

    @property
    def speed(self) -> float:
        """Of a slow test, as a factor of what the definition says."""
        return float(self._slow_words()[SPEED] or 1000) / 1000

    def _slow_words(self) -> np.ndarray:
        if self.definition.slow is None:
            raise RefusedError("a real-time test cannot be paused; only one with a [slow] section can")
        return self._words()
