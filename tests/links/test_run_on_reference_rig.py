"""A whole test with the rig's end in C, against its rehearsal and the actuator's closed form: on Linux over UDP
(docs/link/rig.c), and on an emulated microcontroller over its serial line (docs/link/microbit)."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.links.secret import make_secret, read_secret
from halfreal.runs.run import Run
from links.board import build, emulated, is_installed
from links.reference import BAD

STEP, LAG, STIFFNESS = 0.001, 0.010, 1000.0  # the lag is TIME_CONSTANT of docs/link/simulated.c
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
lateness.trip = "60 s"
"""


Ran = tuple[Run, list[str], Path]
"""A run, the lines that its rig printed, and the run file."""


@pytest.fixture(scope="module")
def on_linux(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """In step with a loop that goes as fast as it can; the first line that the rig prints has its port."""
    folder = tmp_path_factory.mktemp("linux")
    options = f"0 --step {STEP} --stiffness {STIFFNESS} --lease 600 --in-step --rate 1e6 --auxiliary 2".split()
    with subprocess.Popen([program, *options], stdout=subprocess.PIPE, text=True) as rig:
        try:
            assert rig.stdout is not None
            port = rig.stdout.readline().rpartition(":")[2].strip()
            run = run_on(folder, DEFINITION.replace("PORT", port))
            assert port in run.rig["address"]
            rig.send_signal(signal.SIGTERM)
            return run, rig.communicate()[0].splitlines(), folder / "run.h5"
        finally:
            rig.kill()


def run_on(folder: Path, definition: str) -> Run:
    (folder / "test.toml").write_text(definition)
    return halfreal.run(halfreal.load(folder / "test.toml"), folder / "run.h5", without_go="the rig is simulated")


def test_a_test_in_step_with_the_rig_in_c_is_its_rehearsal(on_linux: Ran) -> None:
    run, lines, file = on_linux
    assert (run.outcome, run.reason) == ("completed", "")
    assert run.rig["nature"] == "simulated" and run.rig["name"].startswith("rig.c 1")
    assert halfreal.load_run(file).rig == run.rig
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
    rehearsed = halfreal.rehearse(halfreal.load(file.with_name("test.toml")))
    rows = len(rehearsed.time)
    np.testing.assert_array_equal(run.time[:rows], rehearsed.time)
    for name in ("target", "command", "measured.displacement", "measured.force", "measured.second_sensor"):
        values = rehearsed.signals[name].values
        assert np.abs(values).max() > 1e-3
        np.testing.assert_allclose(signals[name][:rows], values, rtol=0, atol=1e-9 * np.abs(values).max())

    # Nothing was lost, refused or done twice on the way, and each end says so.
    assert [signals[f"link.{name}"][-1] for name in BAD] == [0.0] * 7
    assert signals["link.lag"].max() == 0.0
    states = [line.partition("{")[0].strip() for line in lines]
    assert states == ["armed", "idle", ""]
    counters = json.loads(lines[-1])
    assert [counters[name] for name in BAD if name != "duplicated"] == [0] * 6  # ARM is said again to a slow rig
    assert counters["accepted"] == 2 + len(run.time)  # ARM, a command each tick, STOP


@pytest.fixture
def board(tmp_path: Path) -> Iterator[str]:
    """The serial port of an emulated microcontroller with the same rig's end, and a secret."""
    if not is_installed():
        pytest.skip("no microcontroller: install gcc-arm-none-eabi and qemu-system-arm")
    make_secret(tmp_path / "rig.key")
    secret = ",".join(f"{byte}" for byte in read_secret(tmp_path / "rig.key"))
    with emulated(build(tmp_path, f"-DSECRET={secret}", "-DRATE=1e6", "-DHR_AUXILIARY=2")) as (port, _):
        yield port


def test_on_an_emulated_microcontroller_the_test_is_the_same_to_the_bit(
    on_linux: Ran, board: str, tmp_path: Path
) -> None:
    """Cortex-M0 without an operating system and without a floating-point unit, over a serial line, with a secret."""
    link = f'kind = "serial", port = "{board}", key = "rig.key", lease = "10 s"'
    run = run_on(tmp_path, re.sub('kind = "udp".*?lease = "10 s"', link, DEFINITION))
    assert (run.outcome, run.reason) == ("completed", "")
    assert run.rig["name"] == on_linux[0].rig["name"] and run.rig["link"] == "authenticated by a shared secret"
    for name in ("command", "measured.displacement", "measured.force", "measured.second_sensor", "measured.twice"):
        same = on_linux[0].signals[name].values
        assert np.abs(same).max() > 1e-3
        assert run.signals[name].values.tobytes() == same.tobytes(), name
    assert [run.signals[f"link.{name}"].values[-1] for name in BAD] == [0.0] * len(BAD)
