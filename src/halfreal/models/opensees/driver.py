"""Our end of OpenSees' process: what is requested of it, and the memory through which it steps with the loop."""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...errors import HalfrealError
from .process import GONE, HEAD, STATUS, WORDS

LINES = 20
"""That are kept of its output."""
PATIENCE = 120.0
"""Seconds that a model may take to be built."""


class OpenSeesError(HalfrealError):
    """OpenSees cannot do what is requested of it, and why."""


def environment() -> dict[str, str]:
    """With OpenSees' own libraries where the system has none: some of its wheels do not find them themselves."""
    package = str(Path(__file__).resolve().parents[3])
    search = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    found = importlib.util.find_spec("openseespylinux")
    where = list(found.submodule_search_locations or []) if found is not None else []
    libraries = [*(str(Path(one) / "lib") for one in where), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**os.environ, "PYTHONPATH": search, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


class Asked:
    """A process of OpenSees and what it has answered."""

    def __init__(self, task: str, told: dict[str, Any], memory: int | None = None) -> None:
        read, write = os.pipe()
        given = {**told, "task": task, "answer": write, "memory": memory}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", f"{__package__}.process", json.dumps(given)],
                pass_fds=[write, *([] if memory is None else [memory])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment(),
            )
        finally:
            os.close(write)
        assert self.process.stderr is not None
        self._said: list[bytes] = []
        self._reader = threading.Thread(target=_read, args=(self.process.stderr, self._said), daemon=True)
        self._reader.start()
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        with os.fdopen(read) as pipe:
            line = pipe.readline()
        timer.cancel()
        self.answer = json.loads(line) if line else {"error": f"OpenSees ended without a response{self._last_words()}"}
        if "error" in self.answer:
            self.end()
            raise OpenSeesError(str(self.answer["error"]))

    def _last_words(self) -> str:
        self.process.wait()
        self._reader.join(1.0)
        text = b"".join(self._said[-3:]).decode(errors="replace").strip()
        return f" (exit code {self.process.returncode}){': ' + text if text else ''}"

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(1.0)


def _read(errors: IO[bytes], said: list[bytes]) -> None:
    """Keep what OpenSees says last, which is much."""
    with errors:
        for line in errors:
            said[:-LINES] = []
            said.append(line)


def ask(task: str, told: dict[str, Any]) -> dict[str, Any]:
    """One answer of a process of its own."""
    asked = Asked(task, told)
    asked.end()
    return dict(asked.answer)


class Stepper:
    """A process of OpenSees that steps with a loop, at rest; it ends with this object."""

    def __init__(self, told: dict[str, Any]) -> None:
        count = len(told["interface"]) + len(told["outputs"])
        fd = os.memfd_create("halfreal opensees")
        try:
            os.posix_fallocate(fd, 0, HEAD + 8 * count)
            self._map = mmap.mmap(fd, 0)
            self.words = np.frombuffer(self._map, dtype=np.int64, count=WORDS)
            asked = Asked("steps", told, fd)
        finally:
            os.close(fd)
        self.rest = np.array(asked.answer["rest"])
        self.process, words = asked.process, self.words
        threading.Thread(target=_watch, args=(asked.process, words), daemon=True).start()
        weakref.finalize(self, asked.process.kill)

    @property
    def address(self) -> float:
        return float(self.words.ctypes.data)


def _watch(process: subprocess.Popen[bytes], words: np.ndarray) -> None:
    process.wait()
    if words[STATUS] == 0:
        words[STATUS] = GONE
