"""The loop of a test with a rig behind a link stays at its tick while measurements are missing."""

from __future__ import annotations

import numpy as np
import pytest

import halfreal
from halfreal.kernels.block import Block, Channel, channels
from halfreal.kernels.control import EMERGENCY_STOP, NONE, REQUEST, ROWS, TICKS, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import TRIPPED

VIRTUAL: dict[str, object] = {
    "mass": "2.2 kg",
    "damping": "15 N s/m",
    "stiffness": "2250 N/m",
    "support": {"stiffness": "2250 N/m", "damping": "15 N s/m"},
}
TEST: dict[str, object] = {
    "title": "a spring behind a link",
    "timing": {"step": "1 ms", "duration": "0.3 s"},
    "virtual": VIRTUAL,
    "excitation": {"virtual": {"kind": "sine", "displacement": "5 mm", "frequency": "3 Hz"}},
    "rig": {"specimen": {"stiffness": "2250 N/m"}},
}
SLOW: dict[str, object] = {
    "virtual": VIRTUAL | {"scheme": "explicit newmark"},
    "slow": {"period": "1 ms", "ramp": "5 ms", "average": "1 ms"},
}
FIRST, LASTS = 50, 30


def spring_step(p, s, t, u, y):
    """A rig whose measurements are missing for some periods; what came to it in each."""
    k = int(s.calls)
    s.commands[min(k, s.commands.size - 1)] = u[0]
    s.calls += 1.0
    y[2] = 1.0 if p.first <= s.calls < p.first + p.lasts else 0.0
    if y[2] == 0.0:
        y[0], y[1] = u[0], 2250.0 * u[0]
    return 0


def behind_a_link(change: dict[str, object], lasts: int) -> Loop:
    measured = (*channels("measured.displacement", "m", 1, of="axis"), *channels("measured.force", "N", 1, of="axis"))
    state = {"calls": 0.0, "commands": np.zeros(2000)}
    outputs = (*measured, Channel("link.stale", "1"))
    rig = Block(
        "link.receive", spring_step, ("command",), outputs, {"first": float(FIRST), "lasts": float(lasts)}, state
    )
    return halfreal.build(halfreal.Definition.model_validate(TEST | change), link=[rig])


def moved(change: dict[str, object], lasts: int, periods: int) -> tuple[np.ndarray, int]:
    """Commands of so many periods of the rig, and the ticks done in them."""
    loop = behind_a_link(change, lasts)
    words = np.zeros(WORDS, dtype=np.int64)
    words[REQUEST] = NONE
    while loop.state("link.receive")["calls"] < periods:
        words[ROWS] = 0
        loop.drive(1, np.zeros((1, 2)), ["command"], words)
    return np.array(loop.state("link.receive")["commands"][:periods]), int(words[TICKS])


@pytest.mark.parametrize("change", [{}, SLOW], ids=["real time", "slow"])
def test_commands_stay_while_measurements_are_missing_and_are_the_same_after(change: dict[str, object]) -> None:
    smooth, ticks = moved(change, 0, 150)
    stalled, others = moved(change, LASTS, 150 + LASTS)
    assert np.ptp(stalled[FIRST : FIRST + LASTS]) == 0.0
    assert np.ptp(smooth[FIRST : FIRST + LASTS]) > 0.0, "it would have moved"
    np.testing.assert_array_equal(np.delete(stalled, np.s_[FIRST : FIRST + LASTS]), smooth)
    assert others == ticks


def test_the_guard_is_at_work_while_the_loop_is_held() -> None:
    loop, words = behind_a_link({}, LASTS), np.zeros(WORDS, dtype=np.int64)
    while loop.state("link.receive")["calls"] < FIRST:
        words[ROWS] = 0
        loop.drive(1, np.zeros((1, 2)), ["command"], words)
    words[ROWS], words[REQUEST] = 0, EMERGENCY_STOP
    loop.drive(1, np.zeros((1, 2)), ["command"], words)
    assert loop.state("guard")["mode"] == TRIPPED
    assert loop.state("link.receive")["calls"] == FIRST + 1, "the stop waited for measurements"
