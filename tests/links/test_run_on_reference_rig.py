"""A whole test with the rig's end in C (docs/link/rig.c), against its rehearsal and the actuator's closed form."""

from __future__ import annotations

import json
import math
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.live import session

STEP, LAG, STIFFNESS = 0.001, 0.010, 1000.0  # the lag is TIME_CONSTANT of rig.c

DEFINITION = f"""
title = "a spring behind the rig in C"
timing = {{ step = "1 ms", duration = "0.6 s" }}
real_time.pacing = "rig"
link = {{ kind = "udp", rig = "127.0.0.1:PORT", lease = "10 s" }}

[virtual]
mass = "2.2 kg"
damping = "15 N s/m"
stiffness = "2250 N/m"
support = {{ stiffness = "2250 N/m", damping = "15 N s/m" }}

[excitation.virtual]
kind = "sine"
displacement = "10 mm"
frequency = "3 Hz"
ramp = "0.1 s"

[rig]
actuator = {{ kind = "first order", time_constant = "{LAG} s", reconstruction = "hold" }}
specimen.stiffness = "{STIFFNESS} N/m"

[auxiliary]
second_sensor = {{ unit = "m", reads = "rig.displacement" }}
twice = {{ unit = "m" }}

[limits]
command.trip = "100 mm"
stale.trip = "60 s"
"""


@pytest.fixture
def rig(program: Path) -> Iterator[subprocess.Popen[str]]:
    """The rig in C, in step with a loop that goes as fast as it can; the first line it prints has its port."""
    options = f"0 --step {STEP} --stiffness {STIFFNESS} --lease 600 --in-step --rate 1e6 --auxiliary 2".split()
    with subprocess.Popen([program, *options], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_a_test_in_step_with_the_rig_in_c_is_its_rehearsal(rig: subprocess.Popen[str], tmp_path: Path) -> None:
    assert rig.stdout is not None
    port = rig.stdout.readline().rpartition(":")[2].strip()
    path = tmp_path / "test.toml"
    path.write_text(DEFINITION.replace("PORT", port))
    definition = halfreal.load(path)
    run = session.run(definition, tmp_path / "run.h5", without_go="the rig is simulated")
    rig.send_signal(signal.SIGTERM)
    lines = rig.communicate()[0].splitlines()

    assert (run.outcome, run.reason) == ("completed", "")
    assert run.rig["nature"] == "simulated" and run.rig["name"].startswith("rig.c 1") and port in run.rig["address"]
    assert halfreal.load_run(tmp_path / "run.h5").rig == run.rig
    signals = {name: signal.values for name, signal in run.signals.items()}

    # The measurements are the closed form of a lag under the very commands that were recorded.
    position, expected = 0.0, []
    for command in signals["command"]:
        expected.append(position)
        position = command + (position - command) * math.exp(-STEP / LAG)
    np.testing.assert_allclose(signals["measured.displacement"], expected, rtol=1e-10, atol=1e-16)
    np.testing.assert_allclose(signals["measured.force"], STIFFNESS * signals["measured.displacement"], rtol=1e-14)

    np.testing.assert_array_equal(signals["measured.second_sensor"], signals["measured.displacement"])
    np.testing.assert_array_equal(signals["measured.twice"], 2.0 * signals["measured.displacement"])

    # And the whole loop is the rehearsal's, but for the last places of numbers.
    rehearsed = halfreal.rehearse(definition)
    rows = len(rehearsed.time)
    np.testing.assert_array_equal(run.time[:rows], rehearsed.time)
    for name in ("target", "command", "measured.displacement", "measured.force", "measured.second_sensor"):
        values = rehearsed.signals[name].values
        assert np.abs(values).max() > 1e-3
        np.testing.assert_allclose(signals[name][:rows], values, rtol=0, atol=1e-9 * np.abs(values).max())

    # Nothing was lost, refused or done twice on the way, and each end says so.
    bad = ("truncated", "foreign", "corrupted", "replayed", "duplicated", "reordered", "lost")
    assert [signals[f"link.{name}"][-1] for name in bad] == [0.0] * 7
    assert signals["link.lag"].max() == 0.0
    states = [line.partition("{")[0].strip() for line in lines]
    assert states == ["armed", "idle", ""]
    counters = json.loads(lines[-1])
    assert [counters[name] for name in bad if name != "duplicated"] == [0] * 6  # ARM is said again to a slow rig
    assert counters["accepted"] == 2 + len(run.time)  # ARM, a command each tick, STOP
