"""How late a rig follows its command in the test itself, where no model of it is known.

The lag is that of the largest correlation of what is measured with the command, of the slowest axis that is commanded:
of shifts by whole ticks the first that comes to nearly the largest, refined by the parabola through its neighbours.
"""

from __future__ import annotations

import numpy as np

from ..definition.definition import Definition
from ..kernels.loop import Loop
from .opaque_models import read_channels
from .rig_lag import followed

NEARLY = 0.995
"""Share of the largest correlation: a motion that repeats correlates after each of its periods."""


def lag_in_motion(definition: Definition, loop: Loop) -> float | None:
    """Lag [s] of the rig in the motion of a loop from where it is; None if nothing moves."""
    measured = followed(definition)
    axes = definition.interface
    if len(axes.actuators) != len(measured):
        return None
    commands = [f"command{'' if len(measured) == 1 else f'.{i + 1}'}" for i in range(len(measured))]
    motion = read_channels(loop, [*commands, *measured], definition.timing.ticks)
    found = [lag(motion[:, i], motion[:, len(measured) + i]) for i in range(len(measured))]
    known = [one for one in found if one is not None]
    return max(known) * loop.dt if known else None


def lag(command: np.ndarray, measured: np.ndarray) -> float | None:
    """Ticks by which one history follows another; None if one of them does not move."""
    n = len(command)
    one, other = (np.fft.rfft(values - values.mean(), 2 * n) for values in (command, measured)) if n else (None, None)
    if one is None or other is None or not one.any() or not other.any():
        return None
    correlation = np.fft.irfft(other * one.conj(), 2 * n)[: max(n // 4, 2)]
    high = correlation >= NEARLY * correlation.max()
    first = int(np.argmax(high))
    end = first + int(np.argmin(high[first:])) if not high[first:].all() else len(high)
    top = first + int(np.argmax(correlation[first:end]))
    if not 0 < top < len(correlation) - 1:
        return float(top)
    left, middle, right = correlation[top - 1 : top + 2]
    bend = left - 2.0 * middle + right
    return float(top + (0.5 * (left - right) / bend if bend < 0.0 else 0.0))
