"""The recorder: a process of its own that takes rows from the ring and puts them into the run file.

It does not end before its loop does.  Signals meant for the controller pass it by, and if the controller is killed it
empties the ring and says so in the file.  If it is killed itself, ``start`` another on the same ring and file: the file
says which row is the next.  Rows stay in the ring until they are in the file, so none is lost or doubled.

When a write fails (a full disk), the file states it, RECORDER_ERROR signals the loop, and what was there before stays
readable.  RECORDER_ERROR also says that the file has lost its name (removed, moved, replaced); rows still go where they
went, as the file is held by its descriptor.  To one that another program has truncated or overwritten nothing more is
written.  Against a loss of power nothing is promised: what the system had not yet put on the disk, some seconds, is
lost, and the file may be damaged.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..errors import HalfrealError
from ..kernels.control import ENDED, RECORDER_BEAT, RECORDER_ERROR, ROWS_DROPPED, ROWS_READ
from . import live_layout as layout
from .kept_file import CHANGED, HAPPENED, KeptFile
from .live_writer import LiveWriter
from .ring import Ring

PAUSE = 0.05
"""Seconds between two rounds: what may be lost when controller and recorder are both killed."""
LARGEST_ROUND = 16384
"""Rows put into the file at once."""
DONE, FAILED = 0, 3
"""Exit codes."""
SPARE = 64e6
"""Bytes to be left on a disk next to the record."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RecorderError(HalfrealError):
    """The recorder did not start."""


# --- in the controller ----------------------------------------------------------------------------------------------


def room_for(path: str | Path, size: float) -> str | None:
    """What stands against writing ``size`` bytes to a file: None, or the message that says so."""
    folder = Path(path).absolute().parent
    free = shutil.disk_usage(folder).free
    if size + SPARE > free:
        return (
            f"the record needs {size / 1e9:.3g} GB, but '{folder}' has {free / 1e9:.3g} GB free, of which "
            f"{SPARE / 1e9:g} GB must remain; free disk space, record to another disk, record every n-th tick "
            "(record.every) or fewer channels (record.channels)"
        )
    largest, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if largest != resource.RLIM_INFINITY and size > largest:
        return (
            f"the record needs {size / 1e9:.3g} GB, but this system limits files to {largest / 1e9:.3g} GB; raise that "
            "limit (ulimit -f), record every n-th tick (record.every) or fewer channels (record.channels)"
        )
    return None


def start(ring: Ring, kept: KeptFile) -> subprocess.Popen[bytes]:
    """Start a recorder of ``ring`` into a file made by ``live_file.create``; it watches over the calling process."""
    command = [sys.executable, "-P", "-m", __name__, "--file", str(kept.path), "--descriptor", str(kept.fd)]
    command += ["--ring", str(ring.fd), "--parent", str(os.getpid())]
    ring.words[RECORDER_ERROR] = 0
    package = str(Path(__file__).resolve().parents[2])
    search = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        command,
        pass_fds=[ring.fd, kept.fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in the controller's terminal is not for the recorder
        env={**os.environ, "PYTHONPATH": search, "OPENBLAS_NUM_THREADS": "1"},
    )


def wait_until_ready(process: subprocess.Popen[bytes], ring: Ring, seconds: float = 20.0) -> None:
    """Return once the recorder is at work: before that, no row is safe."""
    before, deadline = int(ring.words[RECORDER_BEAT]), time.monotonic() + seconds
    while int(ring.words[RECORDER_BEAT]) == before:
        if process.poll() is not None:
            error = int(ring.words[RECORDER_ERROR])
            cause = as_text(error) if error else "its message is above"
            raise RecorderError(f"the recorder ended with code {process.returncode} ({cause}) before its first row")
        if time.monotonic() > deadline:
            raise RecorderError(f"the recorder did not start within {seconds:g} s; is the machine or its disk blocked?")
        time.sleep(0.005)


def as_text(error: int) -> str:
    """What a value of RECORDER_ERROR other than 0 says."""
    return f"its file {HAPPENED[error]}" if error in HAPPENED else os.strerror(error)


# --- in the recorder's process --------------------------------------------------------------------------------------


def complain(text: str) -> None:
    print(text, file=sys.stderr)


def record(kept: KeptFile, ring: Ring, orphaned: Callable[[], bool], say: Callable[[str], None] = complain) -> int:
    """Put rows into the file until the loop has ended or its process has exited; return the exit code."""
    words = ring.words
    writer = None
    try:
        writer = LiveWriter(kept.by_descriptor)
        there, offered = writer.ring_rows, ring.written()
        if not 0 <= offered - there <= ring.capacity:
            writer.close()
            writer = None
            raise OSError(
                errno.EINVAL, f"the file has {there} rows, but the ring {offered}: they are not of the same test"
            )
        writer.put_ending({"ended": layout.RECORDING})
        words[ROWS_READ] = there
        while True:
            words[RECORDER_BEAT] += 1
            lost, ended = orphaned(), bool(words[ENDED])  # asked first: no row can come after a yes
            words[RECORDER_ERROR] = kept.lost()
            if not writer.intact():
                raise OSError(errno.EIO, HAPPENED[CHANGED])
            waiting = ring.written() - writer.ring_rows
            if waiting:
                take(ring, writer, min(waiting, LARGEST_ROUND))
                words[ROWS_READ] = writer.ring_rows
            elif ended or lost:
                break
            if waiting < LARGEST_ROUND and not (ended or lost):
                time.sleep(PAUSE)
        writer.close(_ending(ring, layout.LOOP_ENDED if ended else layout.CONTROLLER_LOST))
        return DONE
    except Exception as error:
        number, also = error_number(error), ""
        kind = layout.DISK_FULL if number in NO_ROOM else layout.WRITE_ERROR if number else layout.RECORDER_FAILED
        try:
            if writer is not None and not writer.intact():
                number = CHANGED
                writer.drop()
            elif writer is not None:
                writer.abandon({**_ending(ring, kind), "message": os.strerror(number) if number else str(error)})
        except OSError as second:  # then the file says "recording", and no one is at it
            also = f"; nor could it be written into the file: {second}"
        words[RECORDER_ERROR] = number or errno.EIO  # first: the terminal may be blocked
        say(f"the recorder of '{kept.path}' failed: {error}{also}")
        return FAILED


def take(ring: Ring, writer: LiveWriter, count: int) -> None:
    """Move the next ``count`` rows from the ring into the file."""
    header = writer.header
    block = ring.copy(writer.ring_rows, writer.ring_rows + count)
    events = changes(block[0], block[header["watched_columns"]], writer.watched)
    time, columns = block[0], [block[column] for column in header["columns"]]
    if header["every"] > 1:
        chosen = np.rint(time / header["step"]) % header["every"] == 0.0
        time, columns = time[chosen], [column[chosen] for column in columns]
    writer.append(writer.ring_rows + count, time, columns, events)


def changes(time: np.ndarray, values: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Where a watched value differs from the one before: rows of (time, which, value), in the order of time.

    ``values`` is (watched, rows); ``last`` holds the values before the first row, and afterwards those of the last.
    """
    if not (last.size and time.size):
        return np.zeros((0, 3))
    before = np.column_stack([last, values[:, :-1]])
    changed = (values != before) & ~(np.isnan(values) & np.isnan(before))
    rows, which = np.nonzero(changed.T)
    last[:] = values[:, -1]
    return np.column_stack([time[rows], which.astype(float), values[which, rows]])


def error_number(error: Exception) -> int:
    """The errno of what went wrong; 0 if it was not the system that failed.  HDF5 has it in its message only."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    found = re.search(r"errno = (\d+)", str(error))
    return int(found[1]) if found else errno.EIO if isinstance(error, OSError) else 0


def _ending(ring: Ring, kind: str) -> dict[str, str | int]:
    dropped = int(ring.words[ROWS_DROPPED])
    return {"ended": kind, **({"dropped": dropped} if dropped else {})}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="halfreal.records.recorder")
    parser.add_argument("--file", required=True, help="a run file made for recording")
    parser.add_argument("--descriptor", required=True, type=int, help="file descriptor of that file")
    parser.add_argument("--ring", required=True, type=int, help="file descriptor of the ring")
    parser.add_argument("--parent", required=True, type=int, help="process whose end is the end of the rows")
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.sched_getscheduler(0) != os.SCHED_OTHER:  # inherited from a real-time thread, which it must not compete with
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return record(KeptFile(given.file, given.descriptor), Ring.attach(given.ring), lambda: os.getppid() != given.parent)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # past HDF5's own end, which would try to write again to a file that could not be written
