"""What a record shows of its rig: commands, measured displacements and forces, and which samples count.

Any run or rehearsal will do, if every tick of these channels is in it.  What makes a record useless for identification
is refused here, with the value, the limit and the remedy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import units
from ..definition.definition import Definition
from ..definition.load import from_json
from ..definition.sections import Excitations
from ..errors import HalfrealError
from ..runs.judged_samples import cut_short, judged
from ..runs.run import Run

SIGNALS = ("command", "measured.displacement", "measured.force")
FEWEST = 256
"""Samples of a test that are worth a look."""
STUCK = 4
"""Samples in a row at its largest or least value that make a signal one that has been cut off."""
MOST_STUCK = 0.01
"""Share of the samples that may be cut off."""


class NotIdentifiableError(HalfrealError):
    """A record that is in order, and cannot determine what is requested of it."""


@dataclass(frozen=True)
class RigRecord:
    """A record of a rig, one row for each tick."""

    name: str
    run: Run
    time: np.ndarray
    commands: np.ndarray
    """(samples, actuators) [m or N]."""
    displacement: np.ndarray
    """(samples, axes), as measured."""
    force: np.ndarray
    kept: np.ndarray
    """Which samples are those of the test."""
    excitation: Excitations
    """Of the run: that of the specimen moves it too."""
    notes: tuple[str, ...] = ()

    @property
    def step(self) -> float:
        return self.run.step


def rig_record(run: Run, definition: Definition, name: str = "the record") -> RigRecord:
    """The record of a run for a definition with the same step and axes."""
    _check_same_rig(run, definition, name)
    vectors = {signal: run.vector(signal) for signal in SIGNALS}
    missing = [signal for signal, values in vectors.items() if values is None]
    if missing:
        raise HalfrealError(
            f"{name}: {', '.join(missing)} not in the record, which has {', '.join(run.signals)}; record it "
            "(record.channels)"
        )
    command, displacement, force = (vectors[signal] for signal in SIGNALS)
    assert command is not None and displacement is not None and force is not None
    _check_every_tick(run, name)
    kept = judged(run)
    finite = np.all(np.isfinite(np.hstack([command, displacement, force])), axis=1)
    kept &= np.cumprod(finite).astype(bool)
    if kept.sum() < FEWEST:
        raise NotIdentifiableError(
            f"{name}: {int(kept.sum())} samples of the test are recorded; at least {FEWEST} are needed; record longer"
        )
    end = int(np.flatnonzero(kept)[-1]) + 1
    found = RigRecord(
        name=name,
        run=run,
        time=run.time[:end],
        commands=command[:end],
        displacement=displacement[:end],
        force=force[:end],
        kept=kept[:end],
        excitation=from_json(Definition, run.definition, stored=True).excitation,
        notes=_notes(run, name),
    )
    _check_moves(found)
    return found


def _check_same_rig(run: Run, definition: Definition, name: str) -> None:
    if definition.slow is not None or run.definition.get("slow") is not None:
        raise HalfrealError(
            f"{name}: a slow test is at rest between its ticks and contains no information on "
            "delay, damping and mass; use a "
            "real-time test (without [slow])"
        )
    if definition.kinematics is not None:
        raise HalfrealError(
            "the commands of this rig are strokes of actuators ([kinematics]), not displacements of its axes; "
            "identify reads rigs that are commanded along their axes"
        )
    if run.interface.names != definition.interface.names:
        raise HalfrealError(
            f"{name} has the axes {', '.join(run.interface.names)}, and the definition has "
            f"{', '.join(definition.interface.names)}; give a record of this rig"
        )
    if abs(run.step / definition.timing.step - 1.0) > 1e-9:
        raise HalfrealError(
            f"{name} has a step of {units.text(run.step, 's')}, and the definition one of "
            f"{units.text(definition.timing.step, 's')}; a rig behaves differently at another step: give a record with "
            "this one"
        )


def _check_every_tick(run: Run, name: str) -> None:
    if run.time.size < 2:
        raise NotIdentifiableError(f"{name}: {run.time.size} samples are recorded; at least {FEWEST} are needed")
    apart = float(np.median(np.diff(run.time))) / run.step
    if apart > 1.5:
        raise HalfrealError(
            f"{name} contains every {apart:.0f}th tick only, so the commands in between are not "
            "known; record every tick "
            "(record.every = 1)"
        )
    gap = float(np.diff(run.time).max()) / run.step
    if gap > 1.5:
        raise HalfrealError(f"{name}: {gap - 1.0:.0f} ticks in a row are missing; give a record without gaps")


def _check_moves(record: RigRecord) -> None:
    command, moved = record.commands[record.kept], record.displacement[record.kept]
    if not np.ptp(command, axis=0).any():
        raise NotIdentifiableError(
            f"{record.name}: the command does not move, so nothing can be identified; excite the test, or "
            "use --experiment"
        )
    if not np.ptp(moved, axis=0).any():
        raise NotIdentifiableError(
            f"{record.name}: the measured displacement does not move while the command does; check for a dead channel"
        )
    for signal, values, of in (("command", command, "command"), ("measured displacement", moved, "displacement")):
        for i in range(values.shape[1]):
            share, at = cut_off(values[:, i])
            if share > MOST_STUCK:
                unit = record.run.units("measured.displacement" if of == "displacement" else "command")[i]
                raise NotIdentifiableError(
                    f"{record.name}: the {signal} is cut off at {units.text(at, unit)} for {100 * share:.0f} % of the "
                    f"time, where {100 * MOST_STUCK:g} % are allowed: something saturates; move less, or slower"
                )


def cut_off(values: np.ndarray) -> tuple[float, float]:
    """Share of the samples that stay at the largest or the least value, and the larger of these."""
    shares = []
    for end in (float(values.max()), float(values.min())):
        at_end = np.concatenate([[False], values == end, [False]]).astype(int)
        starts, ends = np.flatnonzero(np.diff(at_end) > 0), np.flatnonzero(np.diff(at_end) < 0)
        long = ends - starts
        # a motion that has not begun, or is over, rests: that is no end of a range
        inside = (starts > 0) & (ends < values.size)
        shares.append((float(long[(long >= STUCK) & inside].sum()) / values.size, end))
    return (shares[0][0] + shares[1][0], max((one[1] for one in shares), key=abs))


def _notes(run: Run, name: str) -> tuple[str, ...]:
    end, found = cut_short(run), []
    if run.outcome != "completed" and end is not None:
        found.append(f"{name}: the run {run.outcome} ({run.reason}); it is used up to {units.text(end, 's')}")
    if run.accepted is not None and run.accepted.word != "ACCEPTED":
        found += [f"{name} was not accepted: {reason}" for reason in run.accepted.because]
    return tuple(found)
