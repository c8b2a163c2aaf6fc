"""A rehearsal for its numbers alone, where many are made: of campaigns and benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..definition.definition import Definition
from ..definition.sections import MOST_TICKS
from ..rigs.noise_table import share_noise
from .build import build
from .events import describe, how_it_ended, limits_used
from .rehearse import check_size, reference_signals
from .run import Run, Signal
from .run_away import RunAway, with_bounded_commands
from .scored import with_scores


def lean_rehearsal(definition: Definition, channels: Sequence[str]) -> Run:
    """The rehearsal's numbers without what only a record needs: stability, the definition's text, where it ran."""
    loop = with_bounded_commands(build(definition))
    check_size(definition, len(channels))
    timing = definition.timing
    expected = timing.ticks_before + timing.ticks + math.ceil(timing.soft_stop / timing.step)
    most = expected if timing.soft_stop == 0.0 else int(MOST_TICKS)  # the guard ends a soft stop, as in ``rehearse``
    share_noise(loop, expected)
    record = channels or ("guard.mode",)  # at least the time
    logs, happened, ended, done = [], list[tuple[int, str, float]](), 0, 0
    while done < most and ended == 0:
        stretch = loop.run(min(expected, most - done), record=record, every=definition.record.every)
        done, ended = done + stretch.ticks, stretch.ended
        logs.append(stretch.log)
        happened += stretch.events
    log = logs[0] if len(logs) == 1 else np.concatenate(logs)
    outcome, reason = how_it_ended(definition, loop, ended)
    units = {channel.name: channel.unit for channel in loop.channels}
    away = RunAway(channels, [units[name] for name in channels]).find(log[:, 1:])
    if away is not None:
        log, outcome, reason = log[: away[0] + 1], "tripped", away[1]
    events = [] if outcome == "completed" else [describe(definition, loop, *one) for one in happened]
    signals = {name: Signal(units[name], log[:, 1 + i]) for i, name in enumerate(channels)}
    if definition.reference is not None:
        signals |= reference_signals(definition, log[:, 0])
    run = Run(
        title=definition.title,
        kind="rehearsal",
        definition={"timing": {"duration": timing.duration}},
        definition_text="",
        step=timing.step,
        time=log[:, 0],
        signals=signals,
        events=tuple(event for event in events if event),
        outcome=outcome,
        reason=reason,
        seed=timing.seed,
        started="",
        interface=definition.interface,
        limits_used=limits_used(definition, loop),
    )
    return with_scores(definition, run)
