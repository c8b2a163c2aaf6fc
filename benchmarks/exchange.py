"""The time of a whole tick in step with a rig process: over UDP and shared memory, beside a bare exchange in C."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import c_loop
import numpy as np
from latency import EXAMPLE
from report import Row, duration
from unpaced import unpaced_controller

import halfreal
from halfreal.contracts.link import Link
from halfreal.definition.definition import Definition
from halfreal.definition.load import to_toml
from halfreal.links.shared_memory import SharedMemory
from halfreal.links.udp import Udp
from halfreal.live.rig import PRIORITY
from halfreal.live.whole_test import run
from halfreal.safety.limits import TimeLimit

HERE = Path(__file__).parent
RIG_IN_C = [HERE.parent / "docs" / "link" / name for name in ("rig.c", "halfreal_rig.c", "simulated.c")]
BARE = [HERE / "exchange.c"]
TURNS = 5
PATIENCE = 1.0
"""Seconds after which either end gives up: a busy machine may hold up the other for long, and the test goes on."""
DURATION = 5.0
"""Of the test [s]: it is over before the recorder has taken many rows, so the ring must hold them all."""
OVER_UDP, IN_MEMORY = 1.2, 1e-6
"""A tick over UDP, as a multiple of the bare exchange, and what one through shared memory adds to it [s], at most."""
TAGGED = "the tags of both datagrams (row below) are in it"
SETTLING = 100
"""Ticks at the beginning of a turn that are not counted."""


def in_step(link: Link) -> Definition:
    """The example behind a link, a tick for each measurement of the rig."""
    definition = halfreal.load(EXAMPLE)
    parts = {
        "timing": definition.timing.model_copy(update={"duration": DURATION}),
        "link": link,
        # each end has a processor of its own, as those of the bare exchange
        "real_time": definition.real_time.model_copy(update={"pacing": "rig", "cpu": min(os.sched_getaffinity(0))}),
        "limits": definition.limits.model_copy(
            update={"stale": TimeLimit(trip=PATIENCE), "lateness": TimeLimit(trip=PATIENCE)}
        ),
    }
    return definition.model_copy(update=parts)


@contextlib.contextmanager
def process(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A rig's process, and the line with which it says that it is there."""
    rig = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert rig.stdout is not None
    try:
        line = rig.stdout.readline()
        if not line:
            raise RuntimeError(f"the rig '{command[0]}' ended with code {rig.wait()}")
        yield rig, line
    finally:
        rig.terminate()
        rig.communicate()


def ticks(definition: Definition, folder: Path) -> np.ndarray:
    """Times of the ticks of a run [s]: waiting for the rig, and all the rest."""
    found = run(definition, folder / "exchange.h5", overwrite=True)
    if found.outcome != "completed":
        raise RuntimeError(f"the run in step with its rig has {found.outcome}: {found.reason}")
    whole = found.signals["link.idle"].values + found.signals["pace.execution"].values
    return whole[SETTLING:]


def with_our_rig(link: Link, folder: Path) -> np.ndarray:
    definition = in_step(link)
    file = folder / "exchange.toml"
    file.write_text(to_toml(definition), encoding="utf-8")
    # as the bare exchange, which sends at once; else the turn of a command would be most of a tick
    with unpaced_controller(), process([sys.executable, str(HERE / "unpaced.py"), str(file)]):
        return ticks(definition, folder)


def with_rig_in_c(program: Path, folder: Path) -> np.ndarray:
    definition = halfreal.load(EXAMPLE)
    stiffness = float(np.ravel(definition.rig.specimen.stiffness)[0])
    options = ["--step", f"{definition.timing.step}", "--stiffness", f"{stiffness}", "--in-step"]
    with process([str(program), "0", *options]) as (rig, line):
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(rig.pid, os.SCHED_FIFO, os.sched_param(PRIORITY))
            os.sched_setaffinity(rig.pid, {max(os.sched_getaffinity(0))})
        address = re.search(r"\S+:\d+", line)
        assert address is not None
        return ticks(in_step(Udp(kind="udp", rig=address[0], lease=PATIENCE)), folder)


def bare(program: Path, medium: str, count: int) -> np.ndarray:
    done = subprocess.run([str(program), medium, f"{count}"], check=True, capture_output=True).stdout
    return np.frombuffer(done)[SETTLING:]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def rows(folder: Path) -> list[Row]:
    """Distribution of the time of a tick, each way in turns."""
    memory = SharedMemory(kind="shared memory", name=f"bench-{os.getpid()}", lease=PATIENCE)
    count = in_step(memory).timing.ticks
    udp, boxes, in_c = (
        f"tick with {rig}"
        for rig in (
            "our rig process over UDP",
            "our rig process through shared memory",
            "the rig in C of docs/link over UDP",
        )
    )
    ways: dict[str, Callable[[], np.ndarray]] = {
        udp: lambda: with_our_rig(Udp(kind="udp", rig=f"127.0.0.1:{free_port()}", lease=PATIENCE), folder),
        boxes: lambda: with_our_rig(memory, folder),
    }
    floors: dict[str, str] = {}
    if c_loop.compiler_present():
        rig, exchange = folder / "rig", folder / "exchange"
        for sources, program in ((RIG_IN_C, rig), (BARE, exchange)):
            subprocess.run(["gcc", "-O2", "-std=gnu11", "-o", program, *sources, "-lm"], check=True)
        bare_udp, bare_boxes = "bare exchange in C over UDP", "bare exchange in C through shared memory"
        ways |= {
            in_c: lambda: with_rig_in_c(rig, folder),
            bare_udp: lambda: bare(exchange, "udp", count),
            bare_boxes: lambda: bare(exchange, "memory", count),
        }
        floors = {udp: bare_udp, in_c: bare_udp, boxes: bare_boxes}
    turns: dict[str, list[np.ndarray]] = {name: [] for name in ways}
    for k in range(TURNS):
        print(f"round trips, turn {k + 1} of {TURNS}", flush=True)
        for name, measure in ways.items():
            turns[name].append(measure())
    whole = {name: np.concatenate(parts) for name, parts in turns.items()}
    return [
        Row(name, distribution(whole[name]), judged(name, whole[name], whole.get(floors.get(name, ""))))
        for name in ways
    ]


def distribution(times: np.ndarray) -> str:
    p50, p99, p999 = (duration(x) for x in np.quantile(times, (0.5, 0.99, 0.999)))
    return f"p50 {p50}, p99 {p99}, p99.9 {p999}; {len(times):,} ticks"


def more(times: np.ndarray, floor: np.ndarray | None) -> str:
    """What a tick takes beyond the bare exchange."""
    if floor is None:
        return ""
    ours, least = float(np.median(times)), float(np.median(floor))
    return f"p50 is {duration(ours - least)} more than the bare exchange in C, {ours / least:.2f} × it"


def judged(name: str, times: np.ndarray, floor: np.ndarray | None) -> str:
    """The same with what it is to be."""
    found, ours = more(times, floor), float(np.median(times))
    if "our rig" not in name or floor is None:
        return found
    if "UDP" in name:
        return f"{found}; {TAGGED}; target at most {OVER_UDP:g} × it: {met(ours <= OVER_UDP * np.median(floor))}"
    added = ours - float(np.median(floor))
    return f"{found}; {TAGGED}; target below {duration(IN_MEMORY)} more: {met(added < IN_MEMORY)}"


def met(kept: bool) -> str:
    return "met" if kept else "missed"
