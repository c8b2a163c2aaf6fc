"""Limit cycles of a test: motion that its loop keeps up by itself, without excitation.

A loop that is unstable at rest may settle on one and stay bounded; one that is stable at rest may diverge from beyond
one that is unstable.  They are looked for by free motion at one amplitude after another (``stability/amplitude_sweep``)
and found by Newton's method on the loop that runs (``stability/limit_cycle``), with the law, the coupling and the rig
as they are; noise, resolution and range of sensors are left out, and limits lifted.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...kernels.loop import GUARD_MODE, Loop
from ...kernels.tick import TICK
from ...runs.build import build, ticks_alike
from ...runs.equivalent import UNDISTURBED
from ...runs.reference import EmulationError, emulate
from ...runs.rehearse import Progress, check_log
from ...runs.validity import is_nonlinear
from ...stability.amplitude_sweep import PERIODS, Free, Mode, decays_after_all, guesses
from ...stability.limit_cycle import NoCycleError, cycle_near
from ...stability.shooting import Work
from .free_loop import check_rest, free_loop, modes, targets_of
from .periodic_motion import PeriodicMotion, kept

LOWEST, HIGHEST, A_DECADE = 1e-3, 1e3, 6
"""Amplitudes of the search, in parts of the motion expected, and how many there are in a decade."""
EXPECTED = 1e-3
"""Motion expected [m or rad] of a test that says nothing of it."""
SLOWEST = 50_000
"""Ticks of a period up to which free motion is followed: some six hundred periods of it at least."""
MOST_WORK = 3e9
"""Entries of the loop's vector times ticks that all free motions may take, and all iterations that close cycles: some
ten seconds each."""
COARSEST = 2
"""Amplitudes in a decade at least, where a loop is so large that fewer are searched."""
SAME = 1e-3
"""Difference in amplitude and period within which two cycles are the same one."""


def limit_cycles(
    definition: Definition,
    *,
    expected: float | None = None,
    lowest: float = LOWEST,
    highest: float = HIGHEST,
    on_progress: Progress | None = None,
) -> tuple[PeriodicMotion, ...]:
    """Search for the limit cycles of a nonlinear loop without excitation.

    Parameters
    ----------
    definition
        The test.
    expected
        Reference amplitude [m or rad]; default: the peak of the target in the rehearsal.
    lowest
        Smallest amplitude, relative to ``expected``.
    highest
        Largest amplitude, relative to ``expected``.
    on_progress
        Callback with (done, total), called while it searches.

    Returns
    -------
    tuple of PeriodicMotion
        Smallest first; empty for a linear loop.

    Raises
    ------
    NoCycleError
        If motion persists but no cycle is found.
    """
    if not is_nonlinear(definition):
        return ()
    loop = free_loop(definition)
    size = expected_motion(definition) if expected is None else expected
    check_rest(definition, loop, size)
    found, of = list[PeriodicMotion](), definition.interface.units("m")
    failed: NoCycleError | None = None
    not_started = list[Free]()
    moving = modes(definition, loop)
    for mode, _ in moving:
        check_period(mode.ticks, definition.timing.step)
    count = amplitudes_for(loop, [mode.ticks for mode, _ in moving], float(np.log10(highest / lowest)))
    amplitudes = size * np.geomspace(lowest, highest, count)
    report, total = on_progress or (lambda done, total: None), 2 * count * len(moving)
    work = Work(MOST_WORK / loop.vector.size)
    for number, (mode, axis) in enumerate(moving):
        check_clock(definition, loop, mode, float(amplitudes[0]))
        begun = 2 * count * number
        channel = definition.interface.channels("target")[axis]
        near = guesses(
            loop,
            mode,
            amplitudes,
            channel,
            on_amplitude=partial(_report_amplitude, report, begun, total),
            on_fault=not_started.append,
        )
        for i, guess in enumerate(near):
            report(begun + count + round(count * i / len(near)), total)
            assert guess.vector is not None
            loop.vector[:] = guess.vector
            try:
                check_size(loop, guess.ticks)
                one = found_near(definition, loop, guess.ticks, axis, work)
            except NoCycleError as error:
                if decays_after_all(loop, mode, guess, channel):
                    continue
                if failed is None or guess.persists_at < (failed.persists or 0.0):
                    about = units.text(guess.persists_at, of[axis], 2)
                    hz = f"{1.0 / (guess.ticks * definition.timing.step):.3g} Hz"
                    what = (
                        f"free motion grows from about {about} on, at {hz}"
                        if guess.is_border
                        else f"free motion neither grows nor decays at about {about} and {hz}"
                    )
                    failed = NoCycleError(f"{what}, but no cycle was found there: {error}")
                    failed.persists = guess.persists_at
                continue
            if not any(same(one, other) for other in found):
                found.append(one)
    if failed is not None and not found:
        raise failed
    if not_started and not found:
        least = min(not_started, key=lambda one: one.started)
        raise HalfrealError(
            f"free motion decays at all smaller amplitudes tested, and cannot be started at "
            f"{units.text(least.started, of[0], 2)}: {loop.describe(least.fault)}"
        )
    return tuple(sorted(found, key=lambda one: one.amplitude))


def _report_amplitude(report: Progress, begun: int, total: int, done: int) -> None:
    report(begun + done, total)


def expected_motion(definition: Definition) -> float:
    """Peak of the target in a rehearsal, from where it rests [m or rad].

    Where that does not come to its end, the peak of the emulated structure; a millimetre if neither shows anything.
    """
    loop, targets = build(definition, UNDISTURBED), definition.interface.channels("target")
    check_log(definition.timing.ticks, len(targets) + 1)
    log = loop.run(definition.timing.ticks, record=(*targets, GUARD_MODE), event_room=0).log[:, 1:]
    motion: np.ndarray | None = log[:, :-1]
    if len(log) < definition.timing.ticks or np.any(log[:, -1] != 0.0) or not np.all(np.isfinite(log)):
        try:
            motion = emulate(definition, definition.timing.ticks, 1)
        except EmulationError:
            motion = None
    largest = 0.0 if motion is None or not motion.size else float(np.abs(motion - motion[:1]).max())
    return largest if np.isfinite(largest) and largest > 0.0 else EXPECTED


def found_near(definition: Definition, loop: Loop, ticks: float, axis: int, work: Work | None = None) -> PeriodicMotion:
    """The cycle near the present motion of a loop, of about so many ticks in a period."""
    every = ticks_alike(definition, loop)
    channels, of = kept(definition)
    return PeriodicMotion(
        cycle_near(loop, ticks / every, channels, every, axis, work), axis, channels, of, every * definition.timing.step
    )


def amplitudes_for(loop: Loop, periods: list[float], decades: float) -> int:
    """How many amplitudes are searched: fewer in a decade if the loop is large and slow; an error if it is too slow."""
    each = loop.vector.size * PERIODS * sum(periods)
    most = MOST_WORK / max(each, 1.0)
    a_decade = min(float(A_DECADE), (most - 1.0) / decades)
    if a_decade < COARSEST:
        raise HalfrealError(
            f"free motion at {round(COARSEST * decades) + 1} amplitudes takes "
            f"{(COARSEST * decades + 1.0) * PERIODS * sum(periods):,.3g} ticks of a loop with "
            f"{loop.vector.size:,} numbers, more than is searched; lengthen timing.step, or condense the virtual part"
        )
    return round(a_decade * decades) + 1


def check_size(loop: Loop, ticks: float) -> None:
    """Raise an error if a cycle of so many ticks has too many states to be closed by Newton's method."""
    states = loop.dynamic_indices().size + loop.memory_indices().size
    if 2.0 * states * ticks * loop.vector.size > MOST_WORK:
        raise NoCycleError(
            f"closing it takes {2.0 * states * ticks:,.3g} ticks for each iteration, as the loop has {states:,} states "
            "with memory"
        )


def check_period(ticks: float, step: float) -> None:
    """Raise an error if free motion is too slow to be followed."""
    if ticks > SLOWEST:
        raise HalfrealError(
            f"free motion of the loop takes {ticks:,.3g} ticks ({ticks * step:,.3g} s) for one period, but cycles are "
            f"computed up to {SLOWEST:,} ticks; lengthen timing.step, or add stiffness to what drifts so slowly"
        )


def check_clock(definition: Definition, loop: Loop, mode: Mode, amplitude: float) -> None:
    """Raise an error if the motion of a loop left to itself depends on the time that it begins at."""
    ends = []
    for later in (0.0, 1000.0 * ticks_alike(definition, loop)):
        loop.vector[:] = mode.rest + amplitude * mode.direction.real
        loop.vector[TICK] += later
        ends.append(targets_of(definition, loop, int(mode.ticks)))
    loop.vector[:] = mode.rest
    if not np.allclose(ends[0], ends[1], rtol=1e-9, atol=1e-12 * amplitude):
        raise HalfrealError(
            "the loop depends on time even without excitation, e.g. through a coupling with harmonics of given "
            "frequencies: it has no limit cycles; compute its forced response, or use another coupling"
        )


def same(one: PeriodicMotion, other: PeriodicMotion) -> bool:
    return (
        abs(one.amplitude - other.amplitude) < SAME * other.amplitude
        and abs(one.period - other.period) < SAME * other.period
    )
