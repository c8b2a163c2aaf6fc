"""Limit cycles of a test: motion that its loop keeps up by itself, without excitation.

A loop that is unstable at rest may settle on one and stay bounded; one that is stable at rest may diverge from beyond
one that is unstable.  They are looked for by free motion at one amplitude after another (``stability/amplitude_sweep``)
and found by Newton's method on the loop that runs (``stability/limit_cycle``), with the law, the coupling and the rig
as they are; noise, resolution and range of sensors are left out, and limits lifted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...figures import new_figure, styled
from ...kernels.loop import Loop
from ...kernels.tick import TICK
from ...runs.build import build
from ...runs.equivalent import UNDISTURBED
from ...stability.amplitude_sweep import Mode, guesses
from ...stability.limit_cycle import Cycle, NoCycleError, cycle_near
from .free_loop import check_rest, free_loop, modes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOWEST, HIGHEST, A_DECADE = 1e-3, 1e3, 6
"""Amplitudes of the search, in parts of the motion expected, and how many there are in a decade."""
EXPECTED = 1e-3
"""Motion expected [m or rad] of a test that says nothing of it."""
SAME = 1e-3
"""Difference in amplitude and period within which two cycles are the same one."""
SIGNALS = ("target", "measured.displacement", "measured.force")


@dataclass(frozen=True)
class LimitCycle:
    """A motion that a loop keeps up by itself."""

    cycle: Cycle
    axis: int
    """The axis of the interface that moves most in it, by its mode at rest."""
    channels: tuple[str, ...]
    units: tuple[str, ...]
    step: float
    """Of the cycle's ticks [s]."""

    @property
    def period(self) -> float:
        """[s]"""
        return self.cycle.ticks * self.step

    @property
    def frequency_hz(self) -> float:
        return 1.0 / self.period

    @property
    def amplitude(self) -> float:
        """Half the way of the target between its extremes, on the axis that moves most [m or rad]."""
        return float(self.cycle.amplitudes[self.axis])

    @property
    def amplitudes(self) -> dict[str, float]:
        """The same of every channel that is kept, by its name."""
        return dict(zip(self.channels, self.cycle.amplitudes.tolist(), strict=True))

    @property
    def peaks(self) -> dict[str, float]:
        """Largest absolute value of every channel that is kept, by its name."""
        return dict(zip(self.channels, self.cycle.peaks.tolist(), strict=True))

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, largest first, without the one at 1."""
        return self.cycle.multipliers

    @property
    def stable(self) -> bool:
        return self.cycle.stable

    @property
    def time(self) -> np.ndarray:
        """Of the samples of one period [s]."""
        return np.arange(len(self.cycle.end.signals)) * self.step

    def signal(self, channel: str) -> np.ndarray:
        """A channel over one period."""
        return np.asarray(self.cycle.end.signals[:, self.channels.index(channel)])

    def amplitude_text(self) -> str:
        return units.text(self.amplitude, self.units[self.axis], 3)

    def summary(self) -> str:
        """One sentence for people."""
        kind = "stable" if self.stable else "unstable"
        largest = abs(self.multipliers[0]) if self.multipliers.size else 0.0
        return (
            f"{kind} limit cycle of {self.amplitude_text()} at {self.frequency_hz:.4g} Hz on {self.channels[self.axis]}"
            f"; deviations {'decay' if self.stable else 'grow'} by a factor of {largest:.3g} in a period"
        )

    @styled
    def plot(self) -> Figure:
        """The motion over one period, and force against displacement."""
        from .plot import draw_cycle

        figure = new_figure(7.2, 3.2)
        draw_cycle(figure, self)
        return figure


def limit_cycles(
    definition: Definition, *, expected: float | None = None, lowest: float = LOWEST, highest: float = HIGHEST
) -> tuple[LimitCycle, ...]:
    """The limit cycles of a definition's loop between two amplitudes, smallest first; none of a linear one.

    ``expected`` is the motion [m or rad] to which ``lowest`` and ``highest`` are relative: the peak of the target in
    the test's own rehearsal, if it is left out.
    """
    loop = free_loop(definition)
    size = expected_motion(definition) if expected is None else expected
    check_rest(definition, loop, size)
    found: list[LimitCycle] = []
    count = round(A_DECADE * np.log10(highest / lowest)) + 1
    amplitudes = size * np.geomspace(lowest, highest, count)
    for mode, axis in modes(definition, loop):
        check_clock(definition, loop, mode, size)
        for guess in guesses(loop, mode, amplitudes, definition.interface.channels("target")[axis]):
            assert guess.vector is not None
            loop.vector[:] = guess.vector
            try:
                one = found_near(definition, loop, guess.ticks, axis)
            except NoCycleError:
                continue
            if not any(same(one, other) for other in found):
                found.append(one)
    return tuple(sorted(found, key=lambda one: one.amplitude))


def expected_motion(definition: Definition) -> float:
    """Peak of the target in a rehearsal, from where it rests [m or rad]; a millimetre if nothing moves."""
    loop = build(definition, UNDISTURBED)
    log = loop.run(definition.timing.ticks, record=definition.interface.channels("target"), event_room=0).log[:, 1:]
    largest = float(np.abs(log - log[:1]).max()) if log.size else 0.0
    return largest if np.isfinite(largest) and largest > 0.0 else EXPECTED


def found_near(definition: Definition, loop: Loop, ticks: float, axis: int) -> LimitCycle:
    """The cycle near the present motion of a loop, of about so many ticks in a period."""
    every = definition.virtual.ticks_per_step
    channels, of = kept(definition)
    return LimitCycle(
        cycle_near(loop, ticks / every, channels, every, axis), axis, channels, of, every * definition.timing.step
    )


def kept(definition: Definition) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Channels of a cycle that are kept, the targets first, and their units."""
    axes = definition.interface
    names = [name for signal in SIGNALS for name in axes.channels(signal)]
    of: list[str] = [*axes.units("m"), *axes.units("m"), *axes.units("N")]
    return tuple(names), tuple(of)


def check_clock(definition: Definition, loop: Loop, mode: Mode, amplitude: float) -> None:
    """Raise an error if the motion of a loop left to itself depends on the time that it begins at."""
    ends = []
    for later in (0.0, 1000.0 * definition.virtual.ticks_per_step):
        loop.vector[:] = mode.rest + amplitude * mode.direction.real
        loop.vector[TICK] += later
        ends.append(loop.run(int(mode.ticks), record=definition.interface.channels("target"), event_room=0).log[:, 1:])
    loop.vector[:] = mode.rest
    if not np.allclose(ends[0], ends[1], rtol=1e-9, atol=1e-12 * amplitude, equal_nan=True):
        raise HalfrealError(
            "the loop is driven by its own clock also without excitation, as by a coupling with harmonics of given "
            "frequencies: it has no limit cycles; look at its forced response, or take another coupling"
        )


def same(one: LimitCycle, other: LimitCycle) -> bool:
    return (
        abs(one.amplitude - other.amplitude) < SAME * other.amplitude
        and abs(one.period - other.period) < SAME * other.period
    )


def as_json(cycle: LimitCycle) -> dict[str, object]:
    """What programs are told of a cycle."""
    pairs: Sequence[complex] = cycle.multipliers[:6].tolist()
    return {
        "amplitude": cycle.amplitude,
        "unit": cycle.units[cycle.axis],
        "channel": cycle.channels[cycle.axis],
        "frequency_hz": cycle.frequency_hz,
        "stable": cycle.stable,
        "multipliers": [{"real": one.real, "imaginary": one.imag} for one in pairs],
        "peaks": cycle.peaks,
    }
