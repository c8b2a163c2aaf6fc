"""Which further delay and gain a stable loop tolerates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .... import units
from ....contracts.axes import Axes
from ....contracts.finding import Finding
from ....runs.loop_stability import LoopStability, finite
from ....stability.margins import DelayMargin
from ..examined import Examined
from .gain import specimen_with
from .stability import where

WORTH_TELLING = 40.0
"""Gain margin [dB] of a loop that tolerates any delay, up to which it is reported."""
ALIKE = 0.02
"""Part by which the lag at the critical crossover may differ from that in slow motion to be reported once."""


def margins(examined: Examined) -> Iterable[Finding]:
    stability = examined.stability
    margin, axes = stability.margin, examined.definition.interface
    if not examined.sound or not examined.stable_at_rest:
        return
    if margin is None:
        yield from at_feedback(examined)
        return
    further = finite(margin.critical_delay)
    name, room = least_room(stability, margin)
    if further is None:
        text, gain = "the loop tolerates any additional delay: its gain never reaches 1", margin.gain_margin_db
        told = f"; gain margin {gain:.3g} dB" if gain < WORTH_TELLING else ""
        yield Finding("note", text + told + where(stability), name=name, room=room)
        return
    share = stability.delay_share
    beside = "" if share is None else f", {100 * share:.0f} % of {lag_text(stability)}"
    at = f"{margin.critical_frequency_hz:.4g} Hz{critical_axis(margin, axes)}"
    text = f"the loop tolerates {units.text(further, 's')} of additional delay{beside}, at {at}"
    yield Finding("note", f"{text}; {margin.as_text()}{where(stability)}", further, 0.0, "s", name=name, room=room)


def at_feedback(examined: Examined) -> Iterable[Finding]:
    """Margins of gain of a loop that has no others, by how much stiffer or softer a specimen it tolerates."""
    found, definition = examined.stability.at_feedback, examined.definition
    if found is None:
        return
    up, down = found.gain_margin_db, found.gain_reduction_db
    limits = [specimen_with(definition, 10.0 ** (one / 20.0)) for one in (up, down) if np.isfinite(one)]
    up_to = f": the loop is stable up to {' and '.join(limits)}" if limits else ""
    least = min(up, -down)
    value, room = (least, 1.0 - 10.0 ** (-least / 20.0)) if np.isfinite(least) else (None, None)
    text = f"{found.as_text()}{up_to}{where(examined.stability)}"
    yield Finding("note", text, value, 0.0, "dB", name="gain of the loop", room=room)


def lag_text(stability: LoopStability) -> str:
    """How late the rig follows: at the critical crossover, and in slow motion if that is something else."""
    assert stability.lag is not None
    (here, axis), (slow, _) = stability.lag.latest(stability.critical_hz), stability.lag.latest()
    on = f" on axis {axis}" if axis else ""
    alike = abs(here - slow) <= ALIKE * abs(slow)
    return f"the rig's lag of {units.text(here, 's')}{on}" + (
        "" if alike else f" ({units.text(slow, 's')} at low frequency)"
    )


def critical_axis(margin: DelayMargin, axes: Axes) -> str:
    """On which axis the motion is that a further delay makes unstable; nothing where there is only one."""
    names = axes.actuators.names
    hit = np.flatnonzero((margin.delays == margin.critical_delay) & (margin.direction >= 0))
    if len(names) == 1 or not hit.size:
        return ""
    values, vectors = np.linalg.eig(margin.response(margin.omega[hit[:1]])[0])
    place = int(np.argmin(np.abs(values + np.exp(1j * margin.lag[hit[0]]))))
    shares = np.abs(vectors[:, place] * np.linalg.pinv(vectors)[place])  # free of units
    return f", mostly on axis {names[int(np.argmax(shares))]}" if len(shares) == len(names) else ""


def least_room(stability: LoopStability, margin: DelayMargin) -> tuple[str, float | None]:
    """Which of the margins binds the test, and the share of it that is left; None if neither has a limit."""
    rooms = {}
    if stability.delay_room is not None:
        rooms["lag of the rig"] = stability.delay_room
    if np.isfinite(margin.gain_margin_db):
        rooms["gain of the loop"] = 1.0 - 10.0 ** (-margin.gain_margin_db / 20.0)
    if not rooms:
        return "", None
    name = min(rooms, key=lambda key: rooms[key])
    return name, rooms[name]
