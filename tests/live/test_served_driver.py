"""``halfreal serve`` as a process: a run through it, its own record, and what becomes of both when its driver fails."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.definition.definition import Definition
from halfreal.definition.load import to_toml
from halfreal.definition.paths import with_values
from live.processes import IDLE, SAFE, Process, column, wait_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "first_rig" / "bench.toml"
UNJUDGED = dict.fromkeys(("overruns", "synchronisation", "fidelity", "stale"), "none")
RESPONDS = 400
"""Reads in which a driver fails, counted from when it was opened; some ten come before the rig is armed."""


def bench(port: int, lease: str = "2 s", **settings: object) -> Definition:
    known = tomllib.loads(EXAMPLE.read_text())["driver"]["settings"]
    return with_values(
        halfreal.load(EXAMPLE),
        {
            "timing.duration": "0.4 s",
            "limits.stale.trip": "5 s",
            "limits.lateness.trip": "5 s",
            "limits.after_trip": "0.02 s",
            "link": {"kind": "udp", "rig": f"127.0.0.1:{port}", "lease": lease},
            "driver.settings": {**known, **settings},
            "acceptance": UNJUDGED,
        },
    )


def served(folder: Path, lease: str = "2 s", **settings: object) -> tuple[Process, int]:
    path = folder / "rig.toml"
    path.write_text(to_toml(bench(0, lease, **settings)))
    rig = Process(folder, "serve", "serve", str(path), "--once", "-o", str(folder / "rig.h5"))
    return rig, int(rig.until(r"listening on 127\.0\.0\.1:(\d+)")[1])


def test_a_run_through_the_rig_end_of_a_driver(tmp_path: Path) -> None:
    rig, port = served(tmp_path)
    done = halfreal.run(bench(port), tmp_path / "run.h5")
    assert (done.outcome, done.reason) == ("completed", "")
    assert rig.process.wait() == 0 and "idle after" in rig.said
    own = halfreal.load_run(tmp_path / "rig.h5")
    assert column(own, "rig.state")[-1] == IDLE and done.rig["nature"] == "simulated"
    # 10 mm/V; a row is written before its command is
    np.testing.assert_allclose(column(own, "raw.valve")[1:], 100.0 * column(own, "command")[:-1], atol=1e-12)
    np.testing.assert_allclose(column(own, "measured.displacement"), 0.01 * column(own, "raw.lvdt"), atol=1e-15)
    modes = set(column(own, "raw.enable")) | set(column(own, "raw.high_pressure"))
    assert modes == {0.0, 1.0}  # high pressure comes with the motion
    assert np.abs(column(own, "command")).max() > 1e-3


@pytest.mark.parametrize(("how", "why"), [("raise", "the driver failed"), ("nan", "did not read a finite number")])
def test_a_driver_that_fails_makes_the_rig_safe_and_both_records_say_why(tmp_path: Path, how: str, why: str) -> None:
    rig, port = served(tmp_path, fails_after=RESPONDS, fails_by=how)
    done = halfreal.run(bench(port), tmp_path / "run.h5")
    assert done.outcome == "tripped"
    assert "a rig fault (sensor, interlock or driver)" in done.reason or "not a finite number" in done.reason
    rig.process.wait()
    own = halfreal.load_run(tmp_path / "rig.h5")
    assert own.outcome == "tripped" and why in own.reason and column(own, "rig.state")[-1] == SAFE
    state, command = column(own, "rig.state"), column(own, "command")
    assert np.ptp(command[np.flatnonzero(state == SAFE)[0] :]) == 0.0, "it moved after it was safe"


@pytest.mark.parametrize("on_trip", ["hold", "return"])
@pytest.mark.parametrize(
    ("emergency", "why"), [(True, "emergency stop: channel e_stop"), (False, "interlock: channel")]
)
def test_an_interlock_that_opens_at_the_rig_trips_over_the_link_and_nothing_returns(
    tmp_path: Path, emergency: bool, why: str, on_trip: str
) -> None:
    """The rig end holds, and so does the controller, although the test returns on a trip."""
    changes = {"channels.inputs.e_stop.emergency": emergency, "limits.on_trip": on_trip}
    path = tmp_path / "rig.toml"
    failing = bench(0, fails_after=RESPONDS, fails_by="interlock")
    path.write_text(to_toml(with_values(failing, changes)))
    rig = Process(tmp_path, "serve", "serve", str(path), "--once", "-o", str(tmp_path / "rig.h5"))
    port = int(rig.until(r"listening on 127\.0\.0\.1:(\d+)")[1])
    done = halfreal.run(with_values(bench(port), changes), tmp_path / "run.h5")
    assert done.outcome == "tripped"
    assert "a rig fault (sensor, interlock or driver)" in done.reason
    rig.process.wait()
    own = halfreal.load_run(tmp_path / "rig.h5")
    assert own.outcome == "tripped" and why in own.reason, own.reason
    command, state = column(own, "command"), column(own, "rig.state")
    safe = np.flatnonzero(state == SAFE)[0]
    assert np.ptp(command[safe - 1 :]) == 0.0, "it moved after it was safe"
    assert np.abs(column(own, "command")).max() > 1e-4


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("die", ("the process with the driver died by signal 9 (SIGKILL); the driver was opened again and made safe",)),
        ("block", ("the driver's read() had not returned for ", "and its watchdog made it safe")),
    ],
)
def test_the_rig_ends_record_says_why_it_was_made_safe_although_its_process_was_lost(
    tmp_path: Path, how: str, why: tuple[str, ...]
) -> None:
    rig, port = served(tmp_path, "1 s", fails_after=RESPONDS, fails_by=how)
    done = halfreal.run(with_values(bench(port, "1 s"), {"limits.stale.trip": "0.9 s"}), tmp_path / "run.h5")
    assert done.outcome == "tripped"  # of its own: no measurement came
    assert rig.ends() != 0
    if how == "die":  # the second process lives on, and writes the reason
        wait_for(lambda: "that is in the record" in rig.complained, "the reason in the record")
    own = halfreal.load_run(tmp_path / "rig.h5")
    assert own.outcome == "tripped" and all(part in own.reason for part in why), own.reason
    assert own.time.size > 100
