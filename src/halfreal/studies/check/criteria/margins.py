"""Which further delay and gain a stable loop bears."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .... import units
from ....contracts.finding import Finding
from ....runs.loop_stability import LoopStability, finite
from ....stability.margins import DelayMargin
from ..examined import Examined


def margins(examined: Examined) -> Iterable[Finding]:
    margin = examined.stability.margin
    if not examined.sound or margin is None:
        return
    further = finite(margin.critical_delay)
    name, room = least_room(examined.stability, margin)
    if further is None:
        yield Finding("note", "bears any further delay: the loop gain never reaches 1", name=name, room=room)
        return
    beside, has = "", examined.stability.rig_delay
    if has is not None:
        share = f"{100 * further / has:.0f} % of" if has > 0.0 else "beside"
        lag = "lag" if examined.definition.rig.is_dynamic else "delay"
        beside = f", {share} the rig's {lag} of {units.text(has, 's')}"
    text = f"bears a further delay of {units.text(further, 's')}{beside}, at {margin.critical_frequency_hz:.4g} Hz"
    yield Finding("note", f"{text}; {margin.as_text()}", further, 0.0, "s", name=name, room=room)


def least_room(stability: LoopStability, margin: DelayMargin) -> tuple[str, float | None]:
    """Which of the margins binds the test, and the share of it that is left; None if neither has a limit."""
    rooms = {}
    if stability.delay_room is not None:
        rooms["delay of the rig"] = stability.delay_room
    if np.isfinite(margin.gain_margin_db):
        rooms["gain of the loop"] = 1.0 - 10.0 ** (-margin.gain_margin_db / 20.0)
    if not rooms:
        return "", None
    name = min(rooms, key=lambda key: rooms[key])
    return name, rooms[name]
