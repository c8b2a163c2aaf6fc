"""What networks and sensors do to a test: real processes, and between them a proxy that loses, delays and falsifies."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import halfreal
from live.processes import (
    IN_STEP,
    LEASE_OVER,
    SAFE,
    STEP,
    Rig,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    assert_same,
    column,
    counted,
    definition,
    tripped_at,
)
from live.proxy import (
    ARM,
    HELLO,
    MEASUREMENT,
    OFFER,
    STOP,
    Burst,
    FirstLost,
    Loss,
    Proxy,
    Replay,
    Rewritten,
    Rubbish,
    Swap,
)

TICKS = 400


@pytest.mark.parametrize("percent", [1, 5, 20])
def test_lost_datagrams_are_counted_at_both_ends_and_the_rig_keeps_the_last_command(
    tmp_path: Path, rig: Rig, percent: int
) -> None:
    commands, measurements = Loss(percent), Loss(percent)
    with Proxy(rig.port, commands, measurements) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port), tmp_path / "run.h5")
        record = rig.record()
    assert (run.outcome, run.reason) == ("completed", "")
    assert_every_tick(run)
    assert_obeyed(run, record)
    for lost, seen in ((commands.lost, record), (measurements.lost, run)):
        newest = column(seen, "link.newest")[-1]
        assert counted(seen, "lost") == sum(sequence < newest for sequence in lost) > 0
    assert [counted(record, name) for name in ("corrupted", "foreign", "duplicated", "reordered")] == [0, 0, 0, 0]


def test_swapped_datagrams_are_counted_and_the_older_one_is_never_obeyed(tmp_path: Path, rig: Rig) -> None:
    commands, measurements = Swap(9), Swap(7)
    with Proxy(rig.port, commands, measurements) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port), tmp_path / "run.h5")
        record = rig.record()
    assert run.outcome == "completed"
    assert_obeyed(run, record)
    for swapped, seen in ((commands.swapped, record), (measurements.swapped, run)):
        newest = column(seen, "link.newest")[-1]
        assert counted(seen, "reordered") in (sum(sequence + 1 <= newest for sequence in swapped), len(swapped))
        assert counted(seen, "lost") == 0
    assert not set(commands.swapped) & set(column(record, "link.newest").astype(int).tolist())


def test_after_a_burst_of_delay_the_newest_counts_and_nothing_was_lost(tmp_path: Path, rig: Rig) -> None:
    with Proxy(rig.port, Burst(100, 120), Burst(200, 220)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port), tmp_path / "run.h5")
        record = rig.record()
    assert run.outcome == "completed"
    assert_obeyed(run, record)
    for first, seen in ((100, record), (200, run)):
        newest = column(seen, "link.newest")
        assert np.count_nonzero(newest == first - 1) > 1, "the last one before the burst was not kept"
        assert np.all(np.diff(newest) >= 0.0) and newest[-1] > first + 20
        assert counted(seen, "lost") == counted(seen, "reordered") == 0
        assert counted(seen, "late") > 0


def test_measurements_that_stay_away_trip_the_test_when_they_are_stale(tmp_path: Path, rig: Rig) -> None:
    with Proxy(rig.port, measurements=Burst(150, 10**6)) as proxy:
        given = definition(tmp_path, proxy.port, {"limits.stale.trip": "0.15 s"})
        run = halfreal.run(given, tmp_path / "run.h5")
        record = rig.record()
    assert run.outcome == "tripped"
    assert run.reason == "block 'link.receive': no new measurement for 150 ms (limits.stale.trip)"
    age = column(run, "link.age")
    trip = np.flatnonzero(column(run, "guard.cause"))[0]
    assert age[trip] >= 0.15 and np.all(age[:trip] < 0.15)
    assert_held_after_trip(run)
    assert_obeyed(run, record)


def test_beyond_the_lease_the_rig_returns_and_commands_that_come_after_all_do_not_move_it(tmp_path: Path) -> None:
    lease, back = 0.2, 0.4
    on_rig = {"limits.on_trip": "return", "limits.return_time": f"{back} s"}
    in_test = {"link.lease": f"{lease} s", "limits.after_trip": "0.3 s", "timing.duration": "2 s"}
    with Rig(tmp_path, "--once", changes=on_rig) as rig, Proxy(rig.port, commands=Burst(150, 450)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, in_test), tmp_path / "run.h5")
        record = rig.record()
    assert run.outcome == "tripped"
    assert run.reason.endswith("the rig went to its safe state: no valid command within its lease")
    assert (record.outcome, record.reason) == ("tripped", "no valid command within the lease")
    assert_obeyed(run, record)
    command, newest, age = (column(record, name) for name in ("command", "link.newest", "link.age"))
    safe = np.flatnonzero(column(record, "rig.state") == SAFE)
    last = np.flatnonzero(np.diff(newest[: safe[0]]))[-1] + 1
    assert np.all(column(record, "rig.code")[safe] == LEASE_OVER)
    assert age[safe[0]] >= lease and safe[0] - last <= lease / STEP + 2
    assert newest[safe[-1]] >= 450, "they did come"
    clock = column(record, "rig.clock")
    elapsed = np.cumsum(np.minimum(np.diff(clock), STEP)[safe - 1])
    x = np.minimum(elapsed / back, 1.0)
    way = command[last] * (1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x**2))
    np.testing.assert_allclose(command[safe], way, rtol=0, atol=1e-5)  # it had long been at rest, but for its last step
    assert abs(command[last]) > 1e-4 and abs(command[-1]) < 1e-15


def test_rubbish_on_the_line_is_counted_by_its_kind_and_changes_no_bit_of_the_test(
    tmp_path: Path, rig_in_step: Rig
) -> None:
    commands, measurements = Rubbish(), Rubbish()
    with Proxy(rig_in_step.port, commands, measurements) as proxy:
        given = definition(tmp_path, proxy.port, IN_STEP)
        run = halfreal.run(given, tmp_path / "run.h5")
        record = rig_in_step.record()
    assert run.outcome == "completed"
    assert_same(run, halfreal.rehearse(given))
    assert_obeyed(run, record)
    for rubbish, seen in ((commands, record), (measurements, run)):
        assert min(rubbish.sent.values()) > 10
        assert {name: counted(seen, name) for name in rubbish.sent} == rubbish.sent
        assert counted(seen, "lost") == counted(seen, "reordered") == counted(seen, "late") == 0


def test_a_recorded_session_cannot_be_replayed(tmp_path: Path, rig_in_step: Rig) -> None:
    home = {**IN_STEP, "timing.soft_stop": "0.05 s"}
    with Proxy(rig_in_step.port) as proxy:
        first = halfreal.run(definition(tmp_path, proxy.port, home), tmp_path / "first.h5")
        rig_in_step.until("record: ")
    old = [datagram.data for datagram in proxy.heard]
    with Proxy(rig_in_step.port) as stranger:
        stranger.say(old)
    rig_in_step.path.unlink()
    with Proxy(rig_in_step.port, commands=Replay(list(old))) as proxy:
        second = halfreal.run(definition(tmp_path, proxy.port, home), tmp_path / "second.h5")
        rig_in_step.until("(?s)record: .*record: ")
    assert rig_in_step.said.count("armed") == 2, "the old ARM has opened a session"
    record = halfreal.load_run(rig_in_step.path)
    assert first.outcome == second.outcome == "completed"
    assert_obeyed(second, record)
    assert counted(record, "foreign") == len(second.time)
    for name in ("target", "command", "measured.force"):
        np.testing.assert_array_equal(column(first, name), column(second, name))


def test_a_handshake_that_is_lost_is_repeated_and_a_stop_that_is_lost_leaves_the_rig_to_its_lease(
    tmp_path: Path,
    rig_in_step: Rig,
) -> None:
    lossy = FirstLost({HELLO, ARM, OFFER, MEASUREMENT})
    with Proxy(rig_in_step.port, lossy, lossy) as proxy:
        given = definition(tmp_path, proxy.port, IN_STEP, {"link.lease": "1 s"})
        proxy.commands = lambda datagram: [] if datagram.kind == STOP else lossy(datagram)
        run = halfreal.run(given, tmp_path / "run.h5")
        record = rig_in_step.record()
    assert not lossy.kinds and run.outcome == "completed"
    assert_same(run, halfreal.rehearse(given))
    assert_obeyed(run, record)
    assert (record.outcome, record.reason) == ("tripped", "no valid command within the lease")
    assert column(record, "command")[-1] == column(run, "command")[-1]


def displacement(change: Callable[[float, float], float]) -> Callable[..., Sequence[float]]:
    return lambda first, now: (change(first[0], now[0]), now[1])


def force(change: Callable[[float, float], float]) -> Callable[..., Sequence[float]]:
    return lambda first, now: (now[0], change(first[1], now[1]))


FALSE = 150
"""Sequence of the first false measurement, which is seen one tick before: the first of all answers ARM."""


@pytest.mark.parametrize(
    ("change", "limits", "words"),
    [
        (displacement(lambda first, now: math.nan), {}, r"measured\.displacement was nan, not a finite number"),
        (
            force(lambda first, now: math.inf),
            {},
            r"(measured\.force was inf|command\.asked was nan), not a finite number",
        ),
        (
            displacement(lambda first, now: now + 0.1),
            {"limits.gap.trip": "5 mm"},
            r"gap was .*, beyond its limit of 5 mm",
        ),
        (
            displacement(lambda first, now: now + 0.004),
            {"limits.velocity.trip": "1 m/s"},
            r"measured velocity was .*, beyond its limit of 1 m/s",
        ),
        (
            force(lambda first, now: now + 100.0),
            {"limits.force.trip": "45 N"},
            r"measured\.force was 1\d\d\.?\d* N, beyond its limit of 45 N",
        ),
    ],
    ids=["displacement NaN", "force infinite", "displacement jumps", "velocity jumps", "force jumps"],
)
def test_a_false_measurement_trips_in_the_tick_in_which_it_is_seen(
    tmp_path: Path, rig_in_step: Rig, change: Callable[..., Sequence[float]], limits: dict[str, object], words: str
) -> None:
    with Proxy(rig_in_step.port, measurements=Rewritten(FALSE, change)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, IN_STEP, limits), tmp_path / "run.h5")
        record = rig_in_step.record()
    assert run.outcome == "tripped"
    assert re.fullmatch(words, run.reason), run.reason
    assert tripped_at(run) == FALSE - 1
    assert_held_after_trip(run)
    assert_obeyed(run, record)
    assert_every_tick(run)


@pytest.mark.parametrize(
    ("change", "which"),
    [
        (displacement(lambda first, now: first), "displacement"),
        (force(lambda first, now: first), "force"),
    ],
    ids=["displacement", "force"],
)
def test_a_sensor_with_noise_that_is_frozen_warns_and_trips(
    tmp_path: Path, rig_in_step: Rig, change: Callable[..., Sequence[float]], which: str
) -> None:
    """With no other limit: before the loop has made anything of it that another limit would see."""
    noise = {"rig.sensors.displacement.noise": "1 um", "rig.sensors.force.noise": "0.1 N"}
    limits = {"limits.frozen.warn": "20 ms", "limits.frozen.trip": "50 ms"}
    with Proxy(rig_in_step.port, measurements=Rewritten(FALSE, change)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, IN_STEP, noise, limits), tmp_path / "run.h5")
        record = rig_in_step.record()
    name = f"time without change of measured.{which}"
    assert run.outcome == "tripped"
    assert run.reason == f"{name} was 51 ms, beyond its limit of 50 ms"
    assert tripped_at(run) == FALSE - 1 + 51
    assert f"warning: {name} beyond its warning limit" in [event.text for event in run.events]
    assert_held_after_trip(run)
    assert_obeyed(run, record)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (displacement(lambda first, now: first), r"gap was .*, beyond its limit of 2 mm"),
        (force(lambda first, now: first), r"target was .*, beyond its limit of 8 mm"),
    ],
    ids=["displacement", "force"],
)
def test_a_sensor_that_is_stuck_trips_when_the_test_has_moved_away_from_it(
    tmp_path: Path, rig_in_step: Rig, change: Callable[..., Sequence[float]], words: str
) -> None:
    limits = {"limits.gap.trip": "2 mm", "limits.target.trip": "8 mm"}
    with Proxy(rig_in_step.port, measurements=Rewritten(FALSE, change)) as proxy:
        given = definition(tmp_path, proxy.port, IN_STEP, limits)
        run = halfreal.run(given, tmp_path / "run.h5")
        record = rig_in_step.record()
    assert halfreal.rehearse(given).outcome == "completed"
    assert run.outcome == "tripped"
    assert re.fullmatch(words, run.reason), run.reason
    assert tripped_at(run) >= FALSE
    assert_held_after_trip(run)
    assert_obeyed(run, record)


def test_an_actuator_at_the_end_of_its_stroke_trips_on_the_gap_as_in_its_rehearsal(tmp_path: Path) -> None:
    short = {"rig.actuator.stroke": "3 mm", "limits.gap.trip": "0.5 mm"}
    with Rig(tmp_path, "--once", "--in-step", changes=short) as rig:
        given = definition(tmp_path, rig.port, IN_STEP, {"limits.gap.trip": "0.5 mm"})
        run = halfreal.run(given, tmp_path / "run.h5")
        record = rig.record()
    rehearsal = halfreal.rehearse(definition(tmp_path, 0, IN_STEP, short))
    assert (run.outcome, run.reason) == (rehearsal.outcome, rehearsal.reason)
    assert re.fullmatch(r"gap was .*, beyond its limit of 500 µm", run.reason)
    assert tripped_at(run) == tripped_at(rehearsal)
    assert_held_after_trip(run)
    assert_obeyed(run, record)
    assert np.abs(column(record, "rig.displacement")).max() == 3e-3
