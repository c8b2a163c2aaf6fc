"""Drivers that raise, give no number, block, hold the interpreter or die: safe() is called, and the record says why."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import halfreal
from contracts.native import COMPILER
from halfreal.contracts.driver import DriverError, Opening
from halfreal.definition.definition import Definition
from halfreal.definition.load import to_toml
from halfreal.definition.paths import with_values
from halfreal.drivers import host, warden
from halfreal.drivers.calls import callable_driver
from halfreal.drivers.host import Host, header_folder
from halfreal.drivers.warden import make_safe
from halfreal.drivers.words import BY_WATCHDOG, CALLING, MADE_SAFE, READING, RESULT, SILENT
from halfreal.errors import HalfrealError
from halfreal.links.wires import LinkError
from halfreal.live.driver_trial import is_safe

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "first_rig"
TELLING = f"{HERE / 'drivers.py'}:Telling"
LEASE = 2.0
FIRST = 40
"""The read at which it fails: some before the rig is armed, most of them after."""


def bench(folder: Path, how: str, after: int = FIRST, **changes: object) -> Definition:
    settings = {"file": str(folder / "told"), "how": how, "after": after}
    return with_values(
        halfreal.load(EXAMPLE / "bench.toml"),
        {
            "timing.duration": "0.2 s",
            "timing.soft_start": "0.05 s",
            "timing.soft_stop": "0.05 s",
            "limits.after_trip": "0.02 s",
            "limits.lateness.trip": "20 s",
            "link.lease": LEASE,
            "driver": {"use": TELLING, "settings": settings},
            "acceptance": dict.fromkeys(("overruns", "synchronisation", "fidelity", "stale"), "none"),
            **changes,
        },
    )


def told(folder: Path) -> list[list[str]]:
    return [line.split() for line in (folder / "told").read_text().splitlines()]


def words(folder: Path) -> list[str]:
    return [line[0] for line in told(folder) if not line[0].startswith("bits")]


def run(test: Definition, folder: Path) -> halfreal.Run:
    session = halfreal.Session(test, folder / "run.h5", without_go="the driver moves nothing")
    try:
        session.check()
        session.arm()
        session.wait()
        return session.finish()
    finally:
        session.close()


def test_a_run_in_the_loop_ends_with_a_safe_driver_and_its_outputs_follow_the_states(tmp_path: Path) -> None:
    done = run(bench(tmp_path, "", 0, **{"limits.gap": {}}), tmp_path)
    assert (done.outcome, done.reason) == ("completed", "")
    assert words(tmp_path) == ["open", "safe", "close"]
    bits = [line[0] for line in told(tmp_path) if line[0].startswith("bits")]
    assert bits == ["bits:1,1", "bits:0,0"]  # enabled with high pressure from the way there on, off once it is at rest
    assert done.rig["name"] == "telling driver" and done.rig["nature"] == "simulated"
    raw, force = (done.signals[name].values for name in ("raw.lvdt", "measured.displacement"))
    np.testing.assert_allclose(force, 0.01 * raw, atol=1e-15)
    assert {"raw.valve", "raw.enable", "measured.e_stop", "driver.read_time"} <= set(done.signals)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("raise", "read() raised ValueError: a cable is loose"),
        ("nan", "channel lvdt (position) did not read a finite number"),
    ],
)
def test_a_driver_that_fails_is_made_safe_in_that_tick(tmp_path: Path, how: str, why: str) -> None:
    done = run(bench(tmp_path, how), tmp_path)
    assert done.outcome == "tripped" and why in done.reason
    assert words(tmp_path) == ["open", how.split()[0], "safe", "close"]
    command = done.signals["command"].values
    tripped = int(np.flatnonzero(done.signals["guard.mode"].values != done.signals["guard.mode"].values[0])[-1])
    assert np.ptp(command[tripped:]) == 0.0


def test_a_driver_that_blocks_is_made_safe_by_its_watchdog_and_the_record_says_so(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(host, "NEVER", 0.1)
    test = bench(tmp_path, "block", **{"link.lease": "0.5 s"})
    with pytest.raises(HalfrealError, match="has not returned since"):
        run(test, tmp_path)
    assert words(tmp_path) == ["open", "block", "safe"]
    kept = halfreal.load_run(tmp_path / "run.h5")
    assert (
        kept.outcome == "tripped"
        and "the driver was silent for 40 % of the lease: the driver's read() had not returned for 2" in kept.reason
        and "ms, and its watchdog made it safe" in kept.reason
    )


def test_the_second_process_makes_safe_what_the_first_cannot(tmp_path: Path) -> None:
    started = {}
    for how in ("die", "hold the interpreter"):
        folder = tmp_path / how.split()[0]
        folder.mkdir()
        (folder / "test.toml").write_text(to_toml(bench(folder, how, after=200)))
        command = [sys.executable, "-m", "halfreal.live.driver_trial", str(folder / "test.toml"), "", repr(LEASE)]
        started[folder] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for folder, process in started.items():
        out, complained = process.communicate()
        assert process.returncode == -9 and out == "armed\n"
        why = "died by signal 9 (SIGKILL)" if folder.name == "die" else "the driver's read() had not returned for 1"
        assert why in complained and "the driver was opened again and made safe" in complained
        assert words(folder) == ["open", folder.name, "open", "safe", "close"]
        first, second = {line[1] for line in told(folder)[:1]}, {line[1] for line in told(folder)[-3:]}
        assert first.isdisjoint(second) and len(second) == 1


RUNS = """
import sys, halfreal
session = halfreal.Session(halfreal.load(sys.argv[1]), sys.argv[2], without_go="the driver moves nothing")
session.check()
session.arm()
session.wait()
"""


def test_the_record_of_a_process_that_died_says_why(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(to_toml(bench(tmp_path, "die", after=200)))
    command = [sys.executable, "-c", RUNS, str(tmp_path / "test.toml"), str(tmp_path / "run.h5")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.communicate()  # until the recorder and the process that stands by have ended, too
    kept = halfreal.load_run(tmp_path / "run.h5")
    assert kept.outcome == "tripped"
    assert kept.reason.startswith("the process with the driver died by signal 9 (SIGKILL); the driver was opened again")
    assert "made safe" in kept.reason and "the record contains every row it wrote" in kept.reason
    assert kept.time.size > 100


def test_nothing_is_armed_with_an_open_interlock(tmp_path: Path) -> None:
    test = bench(tmp_path, "", 0, **{"channels.inputs.e_stop.terminal": "zero2"})
    with pytest.raises(LinkError, match=r"channel e_stop .* the emergency stop is pressed; release it first"):
        run(test, tmp_path)
    assert words(tmp_path) == ["open", "safe", "close"]


class Stubborn:
    """A driver that cannot be made safe in one way or another."""

    def __init__(self, opens: bool, is_safe: bool) -> None:
        self.opens, self.is_safe = opens, is_safe

    def open(self, opening: Opening) -> None:
        if not self.opens:
            raise DriverError("the device is in use")

    def call(self, name: str) -> int:
        return 0 if self.is_safe else 5

    def said(self) -> str:
        return "the relay is stuck"


@pytest.mark.parametrize(("opens", "safe"), [(True, True), (True, False), (False, True)])
def test_a_trial_is_good_only_where_the_second_process_has_made_the_driver_safe(opens, safe, monkeypatch) -> None:
    monkeypatch.setattr(warden, "GONE", 0.01)
    _, text = make_safe(Stubborn(opens, safe), Opening(("a",), ("x",), 1e-3))  # type: ignore[arg-type]
    for why in ("the process with the driver died", "and its watchdog did not act either: its process was ended"):
        assert is_safe(f"{why}; the driver was {text}") == (opens and safe)
    assert ("CHECK THE RIG" in text) != (opens and safe)


def test_what_is_no_driver_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match="has no read, write, safe, close; it must have"):
        callable_driver(f"{HERE / 'drivers.py'}:Incomplete")
    with pytest.raises(DriverError, match="has no class 'Nobody'"):
        callable_driver(f"{HERE / 'drivers.py'}:Nobody")
    settings = {"file": str(tmp_path / "told"), "how": "too few", "after": 1}
    few = "it returned 1 values; 2 inputs are read; it was made safe"
    opening = Opening(("a", "b"), ("x",), 1e-3, settings)
    with closing(Host(TELLING, opening, 1.0, warden=False)) as one, pytest.raises(DriverError, match=few):
        one.read()
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(DriverError, match="cannot be opened"):
        callable_driver(str(tmp_path / "text.so"))


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler here")
def test_a_driver_in_c_and_the_null_driver_give_the_same(tmp_path: Path) -> None:
    library = tmp_path / "null_driver.so"
    source = EXAMPLE / "null_driver.c"
    compile_ = [str(COMPILER), "-Wall", "-Werror", "-O2", "-shared", "-fPIC", "-I", str(header_folder())]
    subprocess.run([*compile_, "-o", str(library), str(source)], check=True)
    opening, written = Opening(("a", "b", "c"), ("x", "y"), 1e-3, {"device": "Dev1"}), np.array([1.5, -2.5])
    found = []
    for use in (str(library), "null"):
        settings = opening.settings if use != "null" else {}
        with closing(Host(use, Opening(opening.inputs, opening.outputs, 1e-3, settings), 1.0, warden=False)) as one:
            before = one.read()
            one.write(written)
            after = one.read()
            one.safe()
            one.write(-written)
            found.append(np.array([before, after, one.read()]))
            assert one.nature == "simulated" and not one.failed and one.why() == ""
            one.words[MADE_SAFE], one.words[CALLING], one.words[SILENT] = BY_WATCHDOG, READING, 41_000_000
            assert "read() had not returned for 41 ms, and its watchdog made it safe" in one.why()
            one.words[RESULT] = 7
            assert one.failed and one.why() == "read() returned 7, and it gave no reason"
    np.testing.assert_array_equal(found[0], [[0.0, 0.0, 0.0], [1.5, -2.5, 0.0], [1.5, -2.5, 0.0]])
    np.testing.assert_array_equal(*found)
    shutil.copy(library, tmp_path / "other.so")
    with pytest.raises(DriverError, match="600 inputs and 0 outputs, and this driver has room for 512"):
        Host(str(tmp_path / "other.so"), Opening(("a",) * 600, (), 1e-3), 1.0, warden=False)
