"""Rehearsal: the closed loop against its simulated rig, faster than real time and to the same bits every time."""

from __future__ import annotations

import datetime
import difflib
import math
import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..definition.definition import EXCITATION, Definition
from ..definition.faults import DefinitionError, Fault
from ..definition.load import to_toml
from ..definition.sections import MOST_TICKS
from ..definition.user_code import files_run
from ..errors import HalfrealError
from ..kernels.disk_cache import numba_version
from ..kernels.loop import Loop
from .adapted import as_adapted
from .build import build, needed_to_resume
from .events import describe, how_it_ended, limits_used
from .loop_stability import LoopStability, finite, loop_stability
from .reference import EmulationError, as_heard, as_released, emulate
from .run import Event, Run, Signal, Stability
from .run_away import RunAway, with_bounded_commands
from .scored import with_scores
from .user_faults import raised_by_user

if TYPE_CHECKING:
    from ..contracts.state_space import StateSpace
    from ..stability.condensed import Condensed
    from ..stability.loci import Loci
    from ..stability.margins import DelayMargin

LARGEST_RECORD = 4e9
"""Bytes of a record in memory."""
COPIES = 1.3
"""So often its size is in memory: the record itself, and the stretch that is added to it."""
LONGEST = 6 * 3600.0
"""Seconds of work for the rest of a rehearsal beyond which it is not continued."""
CHUNK = 50_000
"""Ticks between two reports of progress."""
Progress = Callable[[int, int], None]


def recorded_channels(definition: Definition, loop: Loop) -> list[str]:
    """The channels to keep, in the loop's order; unknown ones are a fault of the definition."""
    known = [channel.name for channel in loop.channels]
    wanted = wanted_channels(definition)
    if wanted is None:
        return known
    faults = []
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"available: {', '.join(known)}"
            faults.append(Fault("", "record.channels", f"'{name}' is not a channel of this loop; {hint}"))
    if faults:
        raise DefinitionError(faults)
    return [name for name in known if name in wanted]


def wanted_channels(definition: Definition) -> tuple[str, ...] | None:
    """The channels that the definition wants kept, None if it is all; of a slow test also those needed to resume it."""
    wanted = definition.record.channels
    if wanted is None or definition.slow is None:
        return wanted
    return (*wanted, *needed_to_resume(definition.interface))


def record_rows(definition: Definition) -> int:
    """Rows of the record of a whole test."""
    timing = definition.timing
    ticks = timing.ticks_before + timing.ticks + math.ceil(timing.soft_stop / timing.step)
    return ticks // definition.record.every + 1


def available_memory() -> float:
    """Bytes that a process can still have without others being pushed out; infinite where the system does not say."""
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return math.inf


def check_size(definition: Definition, channels: int) -> None:
    """Refuse a record that would not fit into memory before it is begun."""
    rows = record_rows(definition)
    size, memory = 8.0 * rows * (channels + 1), available_memory()
    if size > LARGEST_RECORD:
        than = f"more than {LARGEST_RECORD / 1e9:g} GB"
    elif COPIES * size > memory:
        than = f"and {COPIES:g} times that while it is computed; this machine has {memory / 1e9:,.2g} GB available"
    else:
        return
    raise DefinitionError(
        [
            Fault(
                "",
                "record",
                f"{rows:,} rows of {channels} channels need {size / 1e9:,.1f} GB, {than}; record every n-th tick "
                "(record.every), fewer channels (record.channels), or a shorter test",
            )
        ]
    )


class _Rows:
    """Rows of a record, in room that is there from the beginning: to join stretches would take it twice."""

    def __init__(self, rows: int, columns: int) -> None:
        self._room, self._count = np.empty((rows, columns)), 0

    def add(self, rows: np.ndarray) -> None:
        end = self._count + len(rows)
        if end > len(self._room):  # a soft stop may take longer than it was given
            room = np.empty((max(end, len(self._room) * 5 // 4), self._room.shape[1]))
            room[: self._count] = self.all
            self._room = room
        self._room[self._count : end] = rows
        self._count = end

    @property
    def all(self) -> np.ndarray:
        return self._room[: self._count]


def check_log(ticks: int, channels: int) -> None:
    """Refuse to look at more ticks at once than fit into memory, as is done with the whole test of a nonlinear loop."""
    size = 8.0 * ticks * (channels + 1)
    most = min(LARGEST_RECORD, available_memory() / COPIES)
    if size > most:
        raise HalfrealError(
            f"{ticks:,} ticks of {channels} channels, which are analysed together in a nonlinear loop, need "
            f"{size / 1e9:,.2g} GB, more than {most / 1e9:,.2g} GB; shorten the test (timing.duration) or lengthen its "
            "step (timing.step)"
        )


def check_time(left: int, worked: float, ticks: int) -> None:
    """Refuse to continue where the ``left`` ticks take too long, as the last ``ticks`` have, which ``worked``
    seconds."""
    takes = left * worked / max(ticks, 1)
    if takes > LONGEST:
        raise DefinitionError(
            [
                Fault(
                    "",
                    "timing.duration",
                    f"a rehearsal of another {left:,} ticks takes about {takes / 3600.0:,.3g} h of processor time, at "
                    f"{1e6 * worked / ticks:.3g} µs per tick, more than {LONGEST / 3600.0:g} h; shorten the test, or "
                    "lengthen its step (timing.step)",
                )
            ]
        )


def rehearse(
    definition: Definition,
    *,
    text: str | None = None,
    stability: LoopStability | None = None,
    on_progress: Progress | None = None,
) -> Run:
    """Simulate the complete loop of a test with its simulated rig.

    The record has no verdict; ``check`` gives the verdict, and its ``rehearsal`` is this record with it.

    Parameters
    ----------
    definition
        The test.
    text
        The definition as its file has it, for the record; default: generated from the definition.
    stability
        Stability of the loop, if already computed.
    on_progress
        Callback with (ticks done, total).

    Returns
    -------
    Run
        Channels, events and outcome.
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    loop = with_bounded_commands(build(definition))
    record = recorded_channels(definition, loop)
    timing, every = definition.timing, definition.record.every
    # a soft stop may take longer than it was given, as it keeps to the command's rate limit: the guard ends it
    total = timing.ticks_before + timing.ticks if timing.soft_stop == 0.0 else int(MOST_TICKS)
    expected = timing.ticks_before + timing.ticks + math.ceil(timing.soft_stop / timing.step)
    check_size(definition, len(record))
    kept = _Rows(record_rows(definition), 1 + len(record))
    happened: list[tuple[int, str, float]] = []
    done, ended, lost, ran_away = 0, 0, 0, ""
    units_of = {channel.name: channel.unit for channel in loop.channels}
    watching = RunAway(record, [units_of[name] for name in record])
    while done < total and ended == 0 and not ran_away:
        began = time.process_time()
        stretch = loop.run(min(CHUNK, total - done), record=record, every=every)
        done, ended, lost = done + stretch.ticks, stretch.ended, lost + stretch.events_lost
        found = watching.find(stretch.log[:, 1:])
        ran_away = "" if found is None else found[1]
        kept.add(stretch.log if found is None else stretch.log[: found[0] + 1])
        happened += stretch.events
        if on_progress is not None:
            on_progress(expected if ran_away else done, expected)
        if done > CHUNK:  # the first stretch may have been compiled
            check_time(expected - done, time.process_time() - began, stretch.ticks)
    log = kept.all
    signals = {name: Signal(units_of[name], log[:, 1 + i]) for i, name in enumerate(record)}
    events = [event for event in (describe(definition, loop, *one) for one in happened) if event]
    if ran_away:
        last = float(log[-1, 0])
        events = [*(event for event in events if event.time <= last), Event(last, "loop", f"trip: {ran_away}")]
    try:
        # the times of a definition need be no ticks; those at which a channel has released it are
        released = definition if definition.excitation.release_by is None else as_released(definition, events)
        signals.update(reference_signals(released, log[:, 0], signals if EXCITATION in signals else None))
    except EmulationError as error:  # the test stands by itself
        events.append(Event(0.0, "reference", f"no reference: {error}"))
    if lost:
        events.append(Event(done * definition.timing.step, "loop", f"{lost} further events were not recorded"))
    outcome, reason = how_it_ended(definition, loop, ended)
    if ran_away:
        outcome, reason = "tripped", ran_away
    reason = (raised_by_user(definition, loop) if outcome == "tripped" else "") or reason
    known = stability_of(definition, loop, stability or loop_stability(definition))
    run = Run(
        title=definition.title,
        kind="rehearsal",
        definition=definition.model_dump(mode="json"),
        definition_text=to_toml(definition) if text is None else text,
        step=definition.timing.step,
        time=log[:, 0],
        signals=signals,
        events=tuple(events),
        outcome=outcome,
        reason=reason,
        seed=definition.timing.seed,
        started=started,
        interface=definition.interface,
        stability=known,
        limits_used=limits_used(definition, loop),
        references=tuple(dict.fromkeys(key for block in loop.blocks for key in block.references)),
        versions=versions(),
        code=files_run(definition),
        host=host(),
        rig={"nature": "simulated", "name": f"halfreal {__version__}, in the loop itself: {definition.rig.kind}"},
        about=definition.record.about(),
    )
    return with_scores(definition, run)


def reference_signals(
    definition: Definition, time: np.ndarray, signals: Mapping[str, Signal] | None = None
) -> dict[str, Signal]:
    """The emulated system's interface displacements at the times of a record; none before and after the test.

    An excitation that comes from the rig is taken from the ``signals`` of the record; simulated if these are left out.
    """
    step = definition.timing.step
    during = np.flatnonzero((time > -0.5 * step) & (time < (definition.timing.ticks - 0.5) * step))
    if not during.size:
        return {}
    if signals is not None and definition.reference is not None:
        driven = signals.get(EXCITATION)
        definition = as_heard(definition, None if driven is None else driven.values[during])
    emulated = emulate(definition, round(time[during[-1]] / step) + 1, definition.record.every)
    if emulated is None:
        return {}
    found = {}
    axes = definition.interface
    for i, (name, unit) in enumerate(zip(axes.channels("reference"), axes.units("m"), strict=True)):
        values = np.full(time.size, np.nan)
        values[during] = emulated[: during.size, i]
        found[name] = Signal(unit, values)
    return found


def stability_of(definition: Definition, ran: Loop, before: LoopStability) -> Stability:
    """Stability of the loop at rest as it starts, and as text what an adaptive loop had become by the end."""
    linearisation = before.linearisation
    text = "; ".join((linearisation.summary(), *before.caveats))
    after = as_adapted(definition, ran)
    if after is not None:
        text += f"; with the parameters adapted by the end of the test it is {after.summary()}"
    margin, gains = (before.margin, before.gains) if before.linearisation.stable else (None, None)
    loci = None
    if before.open_loop is not None and before.margin is not None:
        loci = partial(_loci, before.open_loop, before.margin)
    return Stability(
        spectral_radius=linearisation.spectral_radius,
        stable=linearisation.stable,
        text=text,
        frequency_hz=linearisation.frequency_hz,
        damping=linearisation.damping,
        magnitude=np.exp(linearisation.continuous.real * linearisation.dt),
        delay_margin=None if margin is None else finite(margin.critical_delay),
        critical_delay=before.critical_delay,
        phase_margin_deg=None if margin is None else finite(margin.phase_margin_deg),
        gain_margin_db=None if gains is None else finite(gains.gain_margin_db),
        find_open_loop=loci,
        holds=before.holds,
    )


def _loci(loop: StateSpace | Condensed, margin: DelayMargin) -> Loci:
    from ..stability.loop_loci import loci_of

    return loci_of(loop, margin)


def versions() -> dict[str, Any]:
    import scipy

    return {
        "halfreal": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba_version(),
        "scipy": scipy.__version__,
    }


def host() -> dict[str, str]:
    return {"system": platform.system(), "release": platform.release(), "machine": platform.machine()}
