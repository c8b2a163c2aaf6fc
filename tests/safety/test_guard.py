import inspect
import re

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import STOPPED
from halfreal.safety.guard import BLOCK_FAULT, GuardPlan, Seen, guard, guard_step
from halfreal.safety.limits import Limits
from halfreal.safety.watched import TABLE

SIGNALS = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")


def signals_step(p, s, t, u, y):
    """All signals are harmless until tick 5, when the one chosen takes the value given."""
    for i in range(5):
        y[i] = 1e-3
    if t >= 4.5 * p.dt:
        y[int(p.which)] = p.value
    return int(p.status) if t >= 4.5 * p.dt else 0


def guarded(limits: Limits, which: str = "command.asked", value: float = 1e-3, status: int = 0) -> Loop:
    source = Block(
        "source",
        signals_step,
        (),
        tuple(Channel(name, "m") for name in SIGNALS),
        {"dt": 1e-3, "which": float(SIGNALS.index(which)), "value": value, "status": float(status)},
    )
    return Loop([source, guard(limits, GuardPlan(1e-3, Seen(*((name,) for name in SIGNALS)), np.zeros(1)))], dt=1e-3)


def tripped_at(loop: Loop, ticks: int = 20) -> tuple[int | None, float, np.ndarray]:
    """Tick of the trip, its cause, and the applied commands."""
    log = loop.run(ticks, record=["command", "guard.mode", "guard.cause"]).log
    when = np.flatnonzero(log[:, 2] > 0)
    return (int(when[0]) if when.size else None), float(log[-1, 3]), log[:, 1]


LIMITED = Limits(
    command={"trip": 0.02},
    command_rate={"trip": 1e6},
    target={"trip": 0.03},
    displacement={"trip": 0.04},
    force={"trip": 50.0},
    gap={"trip": 0.035},
)


@pytest.mark.parametrize(
    ("which", "limit", "cause"),
    [
        ("command.asked", 0.02, 1),
        ("target", 0.03, 3),
        ("measured.force", 50.0, 5),
    ],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_limit_crossed_by_one_ulp_trips_in_the_same_tick_and_the_limit_itself_does_not(which, limit, cause, sign):
    assert tripped_at(guarded(LIMITED, which, sign * limit))[0] is None
    tick, found, commands = tripped_at(guarded(LIMITED, which, sign * np.nextafter(limit, np.inf)))
    assert (tick, found) == (5, cause)
    assert np.all(commands == 1e-3)  # held at the last one applied; the offending one never reached the rig


def test_gap_and_measured_displacement_trip():
    limits = Limits(displacement={"trip": 0.04})
    assert tripped_at(guarded(limits, "measured.displacement", 0.041))[:2] == (5, 4.0)
    limits = Limits(gap={"trip": 0.035})
    assert tripped_at(guarded(limits, "measured.displacement", -0.035))[:2] == (5, 6.0)


def test_command_rate_trips():
    limits = Limits(command_rate={"trip": 1.2})
    assert tripped_at(guarded(limits, "command.asked", 1e-3 + 1.1e-3))[0] is None
    # the very first command counts too: from the rest position to 1 mm within a tick
    assert tripped_at(guarded(Limits(command_rate={"trip": 0.9}), "command.asked", 1e-3))[:2] == (0, 2.0)
    assert tripped_at(guarded(Limits(command_rate={"trip": 1.5}), "command.asked", 3e-3))[:2] == (5, 2.0)


@pytest.mark.parametrize("which", SIGNALS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_trip_without_any_limit(which, value):
    tick, _, commands = tripped_at(guarded(Limits(), which, value))
    assert tick == 5
    assert np.all(np.isfinite(commands))


def test_fault_of_another_block_trips():
    tick, cause, _ = tripped_at(guarded(Limits(), status=3))
    assert (tick, cause) == (5, BLOCK_FAULT)


def test_return_goes_smoothly_to_the_safe_position_and_then_ends_the_test():
    limits = Limits(command={"trip": 0.02}, on_trip="return", return_time=0.1, after_trip=0.05)
    loop = guarded(limits, "command.asked", 0.03)
    stretch = loop.run(1000, record=["command"])
    commands = stretch.log[:, 1]
    assert stretch.ended == STOPPED
    assert stretch.ticks == 5 + 1 + 150
    assert commands[-1] == pytest.approx(0.0, abs=1e-15)
    steps = np.diff(commands[5:])
    assert np.all(steps <= 1e-18)
    assert np.abs(steps).max() < 1.1 * np.pi / 2 * 1e-3 / 100  # the steepest of a half cosine


def test_warning_is_an_event_and_no_trip():
    loop = guarded(Limits(command={"warn": 0.01, "trip": 0.02}), "command.asked", 0.015)
    stretch = loop.run(20)
    assert stretch.events == [(5, "guard.warning", 1.0)]


def test_warning_beyond_its_trip_limit_is_refused():
    with pytest.raises(ValueError, match="a warning must come first"):
        Limits(force={"warn": 60.0, "trip": 50.0})


def test_return_is_no_faster_than_the_commands_rate_limit():
    limits = Limits(force={"trip": 0.5}, command_rate={"trip": 1.5}, on_trip="return", return_time=1e-4, after_trip=0.0)
    loop = guarded(limits, "measured.force", 1.0)
    commands = loop.run(1000, record=["command"]).log[:, 1]
    assert commands[-1] == pytest.approx(0.0, abs=1e-15)
    assert np.abs(np.diff(commands[1:])).max() <= 1.5 * 1e-3 * (1 + 1e-9)


def test_the_guard_writes_its_quantities_in_the_order_of_the_table():
    written = re.findall(r"^    (\w+)_at = ", inspect.getsource(guard_step), re.MULTILINE)
    assert written == [quantity.field for quantity in TABLE]
