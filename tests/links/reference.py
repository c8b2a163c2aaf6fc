"""The rig's end in C (docs/link/rig.c and its parts) as a process, for tests."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from links.by_hand import BOUND

STEP, LAG, STIFFNESS = 0.001, 0.010, 2250.0  # the lag is TIME_CONSTANT of simulated.c
LONG = 600.0  # a lease that no test outlives
UNLIMITED = "--rate 1e6 --largest-step 1"  # unless a test gives others: the last one counts
BAD = ("truncated", "foreign", "corrupted", "replayed", "duplicated", "reordered", "lost")
NONE = dict.fromkeys(BAD, 0)


class Process:
    """The rig as a process: its port, its lines, its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.text = b""
        self.port = int(self.line().removeprefix("listening on 127.0.0.1:"))

    def line(self) -> str:
        assert self.process.stdout is not None
        while b"\n" not in self.text:
            assert select.select([self.process.stdout], [], [], BOUND)[0], "the rig printed nothing"
            got = os.read(self.process.stdout.fileno(), 65536)
            assert got, "the rig has ended"
            self.text += got
        line, self.text = self.text.split(b"\n", 1)
        return line.decode()

    def change(self, to: str) -> dict[str, int]:
        """The counters at the next change of state, which must be this one."""
        text, brace, counters = self.line().partition("{")
        assert text.strip() == to
        return json.loads(brace + counters)

    def end(self) -> dict[str, int]:
        """The counters at the end."""
        self.process.send_signal(signal.SIGTERM)
        while not (line := self.line()).startswith("{"):
            pass
        assert self.process.wait(BOUND) == 0
        return json.loads(line)


Start = Callable[..., Process]


@contextmanager
def running(program: Path, limits: str = UNLIMITED) -> Iterator[Start]:
    processes: list[subprocess.Popen[bytes]] = []

    def started(*options: str) -> Process:
        arguments = f"0 --step {STEP} --stiffness {STIFFNESS} --lease {LONG} {limits}".split()
        processes.append(subprocess.Popen([program, *arguments, *options], stdout=subprocess.PIPE))
        return Process(processes[-1])

    try:
        yield started
    finally:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def only(**counted: int) -> dict[str, int]:
    return NONE | counted


def bad(counters: dict[str, int]) -> dict[str, int]:
    return {name: counters[name] for name in BAD}
