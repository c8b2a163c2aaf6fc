"""The page of a run file, for looking only: one that is finished, or one that another process is still recording."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..kernels.loop import GUARD_MODE
from ..records import live_layout
from ..records.apart import load_apart
from ..records.run_file import load_run
from ..runs.events import STATES
from ..runs.run import Run
from . import told
from .address import Address
from .guests import Guests
from .history import LATENESS, History
from .process import Reports, configured
from .server import FRAMES, Server
from .shown import Shown

LOOK = 0.1
"""Seconds between two looks at a file that is being recorded."""
ENDED = 1.0
"""Seconds between two questions whether it still is."""
LARGEST_ROUND = 65_536
"""Rows read at once."""


class ReadRows:
    """Rows that are there already."""

    def __init__(self, run: Run) -> None:
        self._columns = np.stack([run.time, *(signal.values for signal in run.signals.values())])

    def take(self) -> np.ndarray:
        taken, self._columns = self._columns, self._columns[:, :0]
        return taken


class FileRows:
    """Rows of a file as its recorder appends them."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._file = h5py.File(path, "r", swmr=True)
        self._datasets = [self._file["time"], *self._file["channels"].values()]
        self.header: dict[str, Any] = json.loads(self._file["live/header"].asstr()[()])
        self.channels = [[one.attrs["name"], one.attrs["unit"]] for one in self._datasets[1:]]
        self._written = self._file["live/written"].id.get_offset()
        self._next, self._looked = 0, 0.0

    def take(self) -> np.ndarray:
        now = time.monotonic()
        empty = np.zeros((len(self._datasets), 0))
        if now - self._looked < LOOK:
            return empty
        self._looked = now
        # the count is written past the HDF5 library, after all that it counts
        rows = int(np.frombuffer(os.pread(self._fd, 16, self._written), dtype="<i8")[1])
        last = min(rows, self._next + LARGEST_ROUND)
        if last <= self._next:
            return empty
        for dataset in self._datasets:
            dataset.id.refresh()
        columns = np.stack([dataset[self._next : last] for dataset in self._datasets])
        self._next = last
        return columns

    @property
    def recording(self) -> bool:
        return live_layout.is_locked(self._fd)

    def close(self) -> None:
        self._file.close()
        os.close(self._fd)


def about_rows(channels: list[list[str]], step: float, header: dict[str, Any]) -> dict[str, Any]:
    """What the rows are, and which of their channels make events."""
    names = [name for name, _ in channels]
    watched = [name for name in header.get("watched", ()) if name in names]
    columns = [1 + names.index(name) for name in watched]
    about = {"kind": "rows", "channels": channels, "watched": watched, "watched_columns": columns}
    return about | {"step": step * header.get("every", 1), "texts": header.get("texts", {})}


def show_run(shown: Shown, run: Run, path: Path) -> None:
    """A run as its file has it; of one that is finished also its rows, its end and its report."""
    shown.tell(told.definition_told(run.title, dict(run.definition), run.definition_text, ""))
    if run.verdict:
        shown.tell(told.judgement_told(run))
    if run.outcome == "recording":
        return
    channels = [[name, signal.unit] for name, signal in run.signals.items()]
    every = float(np.median(np.diff(run.time))) / run.step if run.time.size > 1 else 1.0
    shown.follow(about_rows(channels, run.step, {"every": every}), ReadRows(run), rows=run.time.size)
    shown.pump()
    if shown.history is not None:
        shown.history.flush()
    shown.events = [[event.time, event.text] for event in run.events]
    bars = [
        {"name": name, "now": None, "peak": share, "warn": None, "trip": "its limit"}
        for name, share in run.limits_used.items()
    ]
    shown.status = told.finite(
        status_of(shown.history)
        | {"state": run.outcome, "cause": run.reason, "left": None}
        | {"limits": sorted(bars, key=lambda bar: -float(str(bar["peak"])))}
    )
    shown.tell(
        {
            "kind": "over",
            "text": f"{run.kind}, {run.outcome}{f': {run.reason}' if run.reason else ''}",
            "run": str(path),
        }
        | told.accepted_told(run.accepted)
    )


def status_of(history: History | None) -> dict[str, Any]:
    """The status as far as recorded channels give it."""
    status: dict[str, Any] = {"kind": "status", "state": "recording"}
    if history is None or history.rows == 0:
        return status
    newest = history.newest
    mode, overruns = newest(GUARD_MODE), newest("pace.overruns")
    status |= {"state": STATES.get(-1.0 if mode is None else mode, "recording"), "time": float(history.recent[0, -1])}
    status |= {
        "rate": 1.0 / history.step,
        "overruns": overruns,
        "late": newest("link.late"),
        "lost": newest("link.lost"),
    }
    status |= {"age": newest("link.age")}
    if "pace.execution" in history.index:
        recent = history.recent[1 + history.index["pace.execution"]]
        status |= {"mean_execution": float(recent.mean()), "max_execution": history.highest("pace.execution")}
    if LATENESS in history.index:
        status |= {"max_lateness": history.highest(LATENESS)}
    return told.finite(status)  # type: ignore[no-any-return]


def watch(path: Path, address: Address, say: Callable[[str], None]) -> None:
    """Serve the page of a run file until the user ends it."""
    run = load_apart(path)
    shown = Shown()
    guests = Guests({}, lambda state: None, time.monotonic)
    listening = address.listen()
    url = address.url(listening)
    server = Server(shown, guests, url, say=None, report=Reports(shown))
    show_run(shown, run, path)
    rows = FileRows(path) if run.outcome == "recording" else None
    if rows is not None:
        shown.follow(about_rows(rows.channels, run.step, rows.header), rows)
    say(f"page, to watch: {url}/?token={guests.invite()}")
    for _ in range(2):
        say(f"   once more:    {url}/?token={guests.invite()}")
    say("Ctrl-C ends it")
    certificate = None if address.certificate is None else str(address.certificate)
    web = configured(server, certificate, None if address.key is None else str(address.key))

    async def serve() -> None:
        following, asked = rows, 0.0
        serving = asyncio.create_task(web.serve(sockets=[listening]))
        while not serving.done():
            if following is not None:
                shown.pump()
                shown.status = status_of(shown.history)
                if time.monotonic() - asked > ENDED:
                    asked = time.monotonic()
                    if (
                        not following.recording
                        and (done := await asyncio.to_thread(load_run, path)).outcome != "recording"
                    ):
                        following.close()
                        following = None
                        show_run(shown, done, path)
            await asyncio.wait([serving], timeout=1.0 / FRAMES)
        await serving

    asyncio.run(serve())
