"""Processes that were started for a test end with it, however it ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import halfreal
from live.processes import (
    OWN_STOP,
    PATIENCE,
    SAFE,
    Process,
    armed,
    begun,
    column,
    definition,
    recorder_of,
    ticks,
    wait_for,
    written,
)

LONG = {"timing.duration": "300 s"}


@contextmanager
def watched(*pids: int) -> Iterator[list[int]]:
    """Descriptors that tell when processes have ended, whoever is their parent by then; none is left behind."""
    found = [os.pidfd_open(pid) for pid in pids]
    try:
        yield found
    finally:
        for descriptor in found:
            if not ended(descriptor, 0.0):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)


def ended(descriptor: int, seconds: float = PATIENCE) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def rig_of(pid: int) -> int:
    """The rig that ``halfreal run --with-rig`` has started."""

    def found() -> int | None:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"\0rig\0" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        return None

    return int(wait_for(found, "a rig"))


@contextmanager
def with_rig(folder: Path) -> Iterator[Process]:
    """``halfreal run --with-rig``, over shared memory."""
    link = {"link.kind": "shared memory", "link.rig": None, "link.name": f"orphan-{os.getpid()}"}
    file = written(folder / "test.toml", link, LONG)
    options = ("run", str(file), "--with-rig", "--start", "--output", str(folder / "run.h5"))
    with Process(folder, "run", *options) as process:
        yield process


def test_a_killed_run_takes_its_rig_and_its_recorder_with_it(tmp_path: Path) -> None:
    with with_rig(tmp_path) as process:
        wait_for(lambda: begun(tmp_path / "run.h5"), "the test to begin")
        with watched(rig_of(process.pid), recorder_of(process.pid)) as others:
            process.signal(signal.SIGKILL)
            assert all(ended(one) for one in others)
    assert halfreal.load_run(tmp_path / "run.h5").reason.startswith("the controller was lost at")
    assert not list(tmp_path.glob(".*"))


def test_a_run_that_is_ended_before_its_test_begins_takes_its_rig_with_it(tmp_path: Path) -> None:
    with with_rig(tmp_path) as process, watched(rig_of(process.pid)) as others:
        process.signal(signal.SIGTERM)
        assert process.ends() == 128 + signal.SIGTERM
        assert ended(others[0])
    assert {path.name for path in tmp_path.iterdir()} == {"test.toml", "run.out", "run.err"}


PARENT = """if True:
    import subprocess, sys, time
    from halfreal.live.console import rig_command
    subprocess.Popen([*rig_command(sys.argv[1]), "--output", sys.argv[2]])
    time.sleep(600)
"""


def test_the_rig_of_a_killed_process_makes_itself_safe_and_writes_its_record(tmp_path: Path) -> None:
    class Parent(Process):
        code = PARENT

    path = tmp_path / "rig.h5"
    file = written(tmp_path / "rig.toml", {"limits.on_trip": "hold"})
    with Parent(tmp_path, "rig", str(file), str(path)) as parent:
        port = int(parent.until(r"listening on \S+?:(\d+)")[1])
        with (
            watched(rig_of(parent.pid)) as others,
            armed(halfreal.Session(definition(tmp_path, port, LONG), tmp_path / "run.h5")) as session,
        ):
            wait_for(lambda: ticks(session) > 100, "the test to begin")
            parent.signal(signal.SIGKILL)
            session.wait()
            run = session.finish()
            assert ended(others[0])
    assert run.reason == "block 'link.receive': the rig went to its safe state: its emergency stop"
    record = halfreal.load_run(path)
    state, command = column(record, "rig.state"), column(record, "command")
    safe = np.flatnonzero(state == SAFE)
    assert safe.size and np.all(column(record, "rig.code")[safe] == OWN_STOP)
    assert np.all(command[safe] == command[safe[0] - 1]), "it did not hold"
    assert not list(tmp_path.glob(".*"))


def test_a_rig_whose_parent_has_gone_before_it_could_ask_ends_at_once(tmp_path: Path) -> None:
    code = "from halfreal.orphans import end_with_parent; end_with_parent(1, 15); print('went on')"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (-signal.SIGTERM, "")


CAMPAIGN = """if True:
    import time
    from halfreal.campaigns.workers import _start
    worker = _start()
    print(worker.pid, worker.stdin.fileno(), flush=True)
    time.sleep(600)
"""


def test_a_worker_of_a_killed_campaign_ends_also_in_the_middle_of_a_point(tmp_path: Path) -> None:
    class Campaign(Process):
        code = CAMPAIGN

    with Campaign(tmp_path, "campaign") as campaign:
        worker, fd = map(int, campaign.until(r"(\d+) (\d+)").groups())
        # with its input held open it does not see the end of that, like one that computes
        with watched(worker) as others, open(f"/proc/{campaign.pid}/fd/{fd}", "wb"):  # noqa: PTH123
            campaign.signal(signal.SIGKILL)
            assert ended(others[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=["TERM", "HUP", "INT"])
def test_a_command_that_is_ended_while_it_writes_leaves_nothing(tmp_path: Path, number: int) -> None:
    cut = "import os, pathlib; write = pathlib.Path.write_text; pathlib.Path.write_text = "
    cut += f"lambda self, *text, **how: (write(self, *text, **how), os.kill(os.getpid(), {int(number)})); "

    class Cut(Process):
        code = cut + Process.code

    with Cut(tmp_path, "cut", "new", str(tmp_path / "test.toml")) as process:
        assert process.ends() == 128 + number
    assert {path.name for path in tmp_path.iterdir()} == {"cut.out", "cut.err"}
