"""The recorder as a process: nothing is lost or doubled, whoever is killed and whatever the disk does."""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from halfreal.kernels.control import ENDED, RECORDER_BEAT, RECORDER_ERROR, ROWS, ROWS_DROPPED, ROWS_READ
from halfreal.records import live_file, load_run, recorder
from halfreal.records.kept_file import KeptFile
from halfreal.records.ring import Ring
from halfreal.runs.run import Event
from recording import PATIENCE, create, header, holds, names, plain_lengths, put, rows, wait_for

STEP = 1e-4
CHANNELS = 50
DATA = rows(20_000, CHANNELS, STEP)
FIFTH = 2000
"""Rows of 0.2 s at 10 kHz."""


@contextmanager
def recording(path: Path, capacity: int = 8192) -> Iterator[tuple[Ring, subprocess.Popen[bytes]]]:
    """A ring of 50 channels with a recorder at work."""
    create(path, CHANNELS)
    ring = Ring.create(capacity, CHANNELS)
    process = recorder.start(ring, KeptFile.open(path))
    try:
        recorder.wait_until_ready(process, ring)
        yield ring, process
    finally:
        process.kill()
        process.wait()
        ring.close()


def restarted(ring: Ring, path: Path) -> subprocess.Popen[bytes]:
    process = recorder.start(ring, KeptFile.open(path))
    recorder.wait_until_ready(process, ring)
    return process


def test_nothing_is_lost_in_bursts_of_ten_kilohertz_and_fifty_channels(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as (ring, process):
        for upto in range(0, 20_001, 1250):
            put(ring, DATA, upto)
        ring.words[ENDED] = 1
        assert process.wait(PATIENCE) == recorder.DONE
        assert ring.words[ROWS_READ] == 20_000 and ring.words[RECORDER_ERROR] == 0
    assert holds(load_run(path), DATA) and plain_lengths(path) == {20_000}
    live_file.finish(path, outcome="completed")
    run = load_run(path)
    assert (run.outcome, run.reason) == ("completed", "")


def test_a_file_can_be_read_while_it_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as (ring, _):
        put(ring, DATA, 5000)
        wait_for(lambda: ring.words[ROWS_READ] == 5000)
        run = load_run(path)
        assert holds(run, DATA[:5000]) and run.reason == "still recording; state at 0.4999 s"
        assert plain_lengths(path, swmr=True) == {5000}


def test_a_killed_recorder_is_followed_by_another_without_loss(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as (ring, process):
        for upto in (3000, 9000, 14_000):
            put(ring, DATA, upto, ahead=FIFTH)
            process.kill()  # somewhere in a round
            assert process.wait(PATIENCE) == -signal.SIGKILL
            put(ring, DATA, upto + FIFTH)  # the loop goes on meanwhile
            process = restarted(ring, path)
        put(ring, DATA, 20_000)
        ring.words[ENDED] = 1
        assert process.wait(PATIENCE) == recorder.DONE
    assert holds(load_run(path), DATA) and plain_lengths(path) == {20_000}


PARENT = """if True:
    import sys, time
    from halfreal.records import recorder
    from halfreal.records.kept_file import KeptFile
    from halfreal.records.ring import Ring
    ring = Ring.attach(int(sys.argv[1]))
    process = recorder.start(ring, KeptFile.open(sys.argv[2]))
    recorder.wait_until_ready(process, ring)
    print(process.pid, flush=True)
    time.sleep(600)
"""


@contextmanager
def recording_for_a_parent(path: Path) -> Iterator[tuple[Ring, subprocess.Popen[str], int, int]]:
    """The same with a controller in between: ring, controller, process number and descriptor of the recorder."""
    create(path, CHANNELS)
    ring = Ring.create(8192, CHANNELS)
    command = [sys.executable, "-c", PARENT, str(ring.fd), str(path)]
    with subprocess.Popen(command, pass_fds=[ring.fd], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        number = int(parent.stdout.readline())
        descriptor = os.pidfd_open(number)
        try:
            yield ring, parent, number, descriptor
        finally:
            parent.kill()
            if not ended(descriptor, 0.0):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
            ring.close()


def ended(descriptor: int, seconds: float = PATIENCE) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def test_rows_of_a_killed_controller_are_all_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with recording_for_a_parent(path) as (ring, parent, number, descriptor):
        put(ring, DATA, 5000)
        wait_for(lambda: ring.words[ROWS_READ] == 5000)
        os.kill(number, signal.SIGSTOP)
        put(ring, DATA, 12_000)  # in the ring alone
        parent.kill()
        parent.wait()
        os.kill(number, signal.SIGCONT)
        assert ended(descriptor)
    run = load_run(path)
    assert holds(run, DATA[:12_000]) and plain_lengths(path) == {12_000}
    assert run.outcome == "failed" and run.reason.startswith("the controller was lost at 1.1999 s")


def test_what_was_flushed_survives_when_both_are_killed(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with recording_for_a_parent(path) as (ring, parent, number, descriptor):
        put(ring, DATA, 15_000, ahead=FIFTH)
        os.kill(number, signal.SIGKILL)  # somewhere in a round
        parent.kill()
        assert ended(descriptor)
        safe = int(ring.words[ROWS_READ])
    run = load_run(path)
    assert len(run.time) >= safe >= 15_000 - FIFTH
    assert holds(run, DATA[: len(run.time)])
    assert run.outcome == "failed" and f"interrupted at {run.time[-1]:.10g} s: controller and recorder" in run.reason
    assert min(plain_lengths(path, swmr=True)) >= safe
    assert live_file.pack(path)
    assert holds(load_run(path), DATA[: len(run.time)]) and plain_lengths(path) == {len(run.time)}


def test_signals_for_the_controller_pass_the_recorder_by(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as (ring, process):
        assert os.getpgid(process.pid) != os.getpgid(0), "a terminal's Ctrl-C does not reach it"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process.send_signal(number)
        put(ring, DATA, 3000)
        ring.words[ENDED] = 1
        assert process.wait(PATIENCE) == recorder.DONE
    assert holds(load_run(path), DATA[:3000])


def check_what_a_full_disk_left(path: Path, ring: Ring, process: subprocess.Popen[bytes], number: int) -> None:
    assert process.wait(PATIENCE) == recorder.FAILED
    assert ring.words[RECORDER_ERROR] == number
    run = load_run(path)
    assert len(run.time) == ring.words[ROWS_READ] > 0
    assert holds(run, DATA[: len(run.time)])
    assert run.outcome == "failed"
    assert f"the disk was full and the recording ended at {run.time[-1]:.10g} s ({os.strerror(number)})" in run.reason


def put_until_it_ends(ring: Ring, process: subprocess.Popen[bytes]) -> None:
    for upto in range(int(ring.words[ROWS]), 20_001, 500):
        wait_for(lambda upto=upto: process.poll() is not None or ring.words[ROWS_READ] == upto)
        if process.poll() is not None:
            return
        put(ring, DATA, min(upto + 500, 20_000))


def test_at_the_largest_size_of_a_file_the_record_stays_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as (ring, process):
        put(ring, DATA, 3000)
        wait_for(lambda: ring.words[ROWS_READ] == 3000)
        limit = path.stat().st_size + 2_000_000
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        put_until_it_ends(ring, process)
        check_what_a_full_disk_left(path, ring, process, errno.EFBIG)
        # once there is room, the record goes on
        process = restarted(ring, path)
        put(ring, DATA, 20_000)
        ring.words[ENDED] = 1
        assert process.wait(PATIENCE) == recorder.DONE
    assert holds(load_run(path), DATA) and plain_lengths(path) == {20_000}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a small disk cannot be mounted here: that takes an administrator")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_on_a_full_disk_the_record_stays_and_says_so(small_disk: Path) -> None:
    path = small_disk / "run.h5"
    with recording(path) as (ring, process):
        put_until_it_ends(ring, process)
        check_what_a_full_disk_left(path, ring, process, errno.ENOSPC)
        assert min(plain_lengths(path)) >= ring.words[ROWS_READ], "any program opens it"
        live_file.finish(path, outcome="tripped", reason="the record fails")
        assert "the record fails; the disk was full" in load_run(path).reason
        assert not live_file.pack(path) and load_run(path).outcome == "tripped"


# --- within one process ---------------------------------------------------------------------------------------------


def drained(path: Path, data: np.ndarray) -> int:
    ring = Ring.create(len(data), data.shape[1] - 1)
    ring.rows[:] = data
    ring.words[ROWS], ring.words[ENDED] = len(data), 1
    code = recorder.record(KeptFile.open(path), ring, lambda: False)
    ring.close()
    return code


@pytest.mark.parametrize("first", [0, -7])
def test_every_so_many_ticks_and_chosen_channels_are_kept_and_events_of_all(tmp_path: Path, first: int) -> None:
    data = rows(101, 3, STEP, first)
    data[:, 2] = np.arange(101) // 13
    path = tmp_path / "run.h5"
    run = header(["channel 2", "channel 0"], STEP)
    live_file.create(run, path, columns=names(3), every=10, watched=["channel 1"])
    assert drained(path, data) == recorder.DONE
    kept = [i for i in range(101) if (first + i) % 10 == 0]
    run = load_run(path)
    assert holds(run, data[kept][:, [0, 3, 1]]) and list(run.signals) == ["channel 2", "channel 0"]
    assert run.events == tuple(Event(data[13 * i, 0], "channel 1", f"channel 1 is now {i}") for i in range(1, 8)), (
        "ticks 13, 26, … though only every tenth is kept"
    )


def test_changes_are_those_of_each_watched_value() -> None:
    time = np.arange(4.0)
    values = np.array([[0.0, 1.0, 1.0, 2.0], [np.nan, np.nan, 0.0, -0.0], [5.0, 5.0, 5.0, 5.0]])
    last = np.array([0.0, 0.0, 5.0])
    found = recorder.changes(time, values, last)
    expected = [[0, 1, np.nan], [1, 0, 1.0], [2, 1, 0.0], [3, 0, 2.0]]
    assert np.array_equal(found, np.array(expected), equal_nan=True)
    assert np.array_equal(last, [2.0, 0.0, 5.0])
    assert recorder.changes(time[:0], values[:, :0], last).shape == (0, 3)
    assert recorder.changes(time, values[:0], last[:0]).shape == (0, 3)


def test_dropped_rows_are_told(tmp_path: Path) -> None:
    create(tmp_path / "run.h5", 3)
    ring = Ring.create(10, 3)
    ring.words[ROWS_DROPPED], ring.words[ENDED] = 4, 1
    assert recorder.record(KeptFile.open(tmp_path / "run.h5"), ring, lambda: False) == recorder.DONE
    assert load_run(tmp_path / "run.h5").events[0].text.startswith("4 rows were lost")
    ring.close()


def test_a_ring_of_another_test_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(tmp_path / "run.h5", 3)
    assert drained(tmp_path / "run.h5", rows(20, 3)) == recorder.DONE
    assert drained(tmp_path / "run.h5", rows(10, 3)) == recorder.FAILED
    assert "20 rows, but the ring 10: they are not of the same test" in capsys.readouterr().err
    assert holds(load_run(tmp_path / "run.h5"), rows(20, 3))


def test_a_recorder_that_cannot_start_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "none.h5").write_text("no run file")
    ring = Ring.create(10, 3)
    process = recorder.start(ring, KeptFile.open(tmp_path / "none.h5"))
    with pytest.raises(recorder.RecorderError, match="Input/output error"):
        recorder.wait_until_ready(process, ring, PATIENCE)
    assert process.returncode == recorder.FAILED and ring.words[RECORDER_ERROR] == errno.EIO
    assert ring.words[RECORDER_BEAT] == 0
    ring.close()


def test_an_error_of_hdf5_has_its_number() -> None:
    assert recorder.error_number(OSError(errno.EIO, "x")) == errno.EIO
    assert recorder.error_number(RuntimeError("Can't write (file write failed: errno = 28, error")) == errno.ENOSPC
    assert recorder.error_number(OSError("no number")) == errno.EIO
    assert recorder.error_number(KeyError("a mistake of ours")) == 0


def test_a_recorder_starts_without_the_compiler() -> None:
    code = (
        "import sys, halfreal.records.recorder; print([m for m in ('numba', 'scipy', 'pydantic') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
