"""The time of a whole tick in step with a rig process: over UDP and shared memory, beside a bare exchange in C."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import c_loop
import numpy as np
from latency import EXAMPLE
from report import Row, duration
from unpaced import FAST, ticks, unpaced_controller

import halfreal
from halfreal.contracts.link import Link
from halfreal.definition.definition import Definition
from halfreal.definition.load import to_toml
from halfreal.links.shared_memory import SharedMemory
from halfreal.links.udp import Udp
from halfreal.live.rig import PRIORITY
from halfreal.safety.limits import TimeLimit

HERE = Path(__file__).parent
RIG_IN_C = [HERE.parent / "docs" / "link" / name for name in ("rig.c", "halfreal_rig.c", "simulated.c")]
BARE = [HERE / "exchange.c"]
TURNS = 8
PATIENCE = 1.0
"""Seconds after which either end gives up: a busy machine may hold up the other for long, and the test goes on."""
DURATION = {"udp": 100.0, "memory": 20.0}
"""Of the test [s] through each medium: the recorder must keep up with it, or the ring hold all of it."""
SLICE, SUPERVISOR = 0.01, 90
"""Seconds that ours and the bare exchange run in turn, and the priority of the process that lets them."""
MOST_TURNS = 10_000_000
"""Of the bare exchange: it is ended before."""
OVER_UDP, IN_MEMORY = 1.2, 1e-6
"""A tick over UDP, as a multiple of the bare exchange, and what one through shared memory adds to it [s], at most."""
TAGGED = "the tags of both datagrams (row below) are in it"
AT_ANY_RATE = ["--rate", f"{FAST:g}", "--largest-step", "1"]
"""Of the rig in C: a step of the test takes microseconds here, in which its own rate limit would let it go nowhere."""
SETTLING = 100
"""Ticks at the beginning of a turn that are not counted."""


def in_step(link: Link, medium: str) -> Definition:
    """The example behind a link, a tick for each measurement of the rig."""
    definition = halfreal.load(EXAMPLE)
    parts = {
        "timing": definition.timing.model_copy(update={"duration": DURATION[medium]}),
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
    """A process, and the line with which it says that it is there."""
    rig = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert rig.stdout is not None
    try:
        line = rig.stdout.readline()
        if not line:
            raise RuntimeError(f"'{' '.join(command)}' ended with code {rig.wait()}")
        yield rig, line
    finally:
        rig.terminate()
        rig.communicate()


def signalled(number: int, *groups: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    for one in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, number)


def taking_turns(controller: subprocess.Popen[str], rig: subprocess.Popen[str], other: subprocess.Popen[bytes]) -> None:
    """Let ours and the other program run for a SLICE each, the other one stopped, until our loop has ended."""
    assert controller.stdout is not None
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(SUPERVISOR))  # else neither would make room for us
    try:
        while not select.select([controller.stdout], [], [], 0.0)[0]:
            for goes, rests in (((controller, rig), (other,)), ((other,), (controller, rig))):
                signalled(signal.SIGSTOP, *rests)
                signalled(signal.SIGCONT, *goes)
                time.sleep(SLICE)
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        signalled(signal.SIGCONT, controller, rig, other)


def with_our_rig(link: Link, medium: str, folder: Path, program: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Times of our ticks and of the bare exchange, which takes turns with ours; nothing of it without a program."""
    definition = in_step(link, medium)
    file, times = folder / "exchange.toml", folder / "times.npy"
    file.write_text(to_toml(definition), encoding="utf-8")
    ours = [sys.executable, str(HERE / "unpaced.py")]
    with (
        process([*ours, "rig", str(file)]) as (rig, _),
        process([*ours, "controller", str(file), str(times)]) as (controller, _),
    ):
        other = b""
        if program is not None:
            command = [str(program), medium, f"{MOST_TURNS}"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as bare:
                taking_turns(controller, rig, bare)
                time.sleep(10 * SLICE)  # ours through shared memory may end before it has begun
                bare.terminate()
                other = bare.communicate()[0]
        if controller.wait() != 0:
            raise RuntimeError(f"the run in step with its rig ended with code {controller.returncode}")
    return np.load(times)[SETTLING:], np.frombuffer(other)[SETTLING:]


def slices(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When each of a program's slices ended, from its beginning [s], and the median of its ticks [s]."""
    ends = np.cumsum(times)
    parts = np.split(np.arange(len(times)), np.flatnonzero(times > 0.5 * SLICE))  # while it was stopped
    parts = [part[1:] for part in parts if len(part) > SETTLING]
    return np.array([ends[part[-1]] for part in parts]), np.array([np.median(times[part]) for part in parts])


def next_to(ours: np.ndarray, bare: np.ndarray) -> np.ndarray:
    """Medians of our slices and of those of the bare exchange that came next to them, in rows."""
    (ended, mine), (others, theirs) = slices(ours), slices(bare)
    nearest = np.argmin(np.abs(ended[:, None] - others[None, :]), axis=1)
    return np.stack([mine, theirs[nearest]])


def whole_turns(ours: np.ndarray, bare: np.ndarray) -> np.ndarray:
    """The same of a run that is too short for slices; none if the bare exchange has not had its turn."""
    if not ours.size or not bare.size:
        return np.zeros((2, 0))
    return np.array([[np.median(ours)], [np.median(bare)]])


def with_rig_in_c(program: Path, folder: Path) -> np.ndarray:
    definition = halfreal.load(EXAMPLE)
    stiffness = float(np.ravel(definition.rig.specimen.stiffness)[0])
    options = ["--step", f"{definition.timing.step}", "--stiffness", f"{stiffness}", "--in-step", *AT_ANY_RATE]
    with process([str(program), "0", *options]) as (rig, line):
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(rig.pid, os.SCHED_FIFO, os.sched_param(PRIORITY))
            os.sched_setaffinity(rig.pid, {max(os.sched_getaffinity(0))})
        address = re.search(r"\S+:\d+", line)
        assert address is not None
        definition = in_step(Udp(kind="udp", rig=address[0], lease=PATIENCE), "memory")
        with unpaced_controller():
            return ticks(definition, folder / "exchange.h5")[SETTLING:]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def rows(folder: Path) -> list[Row]:
    """Distribution of the time of a tick, each way in turns."""
    memory = SharedMemory(kind="shared memory", name=f"bench-{os.getpid()}", lease=PATIENCE)
    udp, boxes, in_c = (
        f"tick with {rig}"
        for rig in (
            "our rig process over UDP",
            "our rig process through shared memory",
            "the rig in C of docs/link over UDP",
        )
    )
    bare_udp, bare_boxes = "bare exchange in C over UDP", "bare exchange in C through shared memory"
    floors = {udp: bare_udp, in_c: bare_udp, boxes: bare_boxes}
    compiles = c_loop.compiler_present()
    rig, exchange = folder / "rig", folder / "exchange"
    if compiles:
        for sources, program in ((RIG_IN_C, rig), (BARE, exchange)):
            subprocess.run(["gcc", "-O2", "-std=gnu11", "-o", program, *sources, "-lm"], check=True)
    turns: dict[str, list[np.ndarray]] = {name: [] for name in (udp, boxes, in_c, bare_udp, bare_boxes)}
    pairs: dict[str, list[np.ndarray]] = {udp: [], boxes: []}
    for k in range(TURNS):
        print(f"round trips, turn {k + 1} of {TURNS}", flush=True)
        by_udp = Udp(kind="udp", rig=f"127.0.0.1:{free_port()}", lease=PATIENCE)
        for name, link, medium in ((udp, by_udp, "udp"), (boxes, memory, "memory")):
            ours, bare = with_our_rig(link, medium, folder, exchange if compiles else None)
            turns[name].append(ours)
            turns[floors[name]].append(bare)
            if compiles:
                pairs[name].append(next_to(ours, bare) if medium == "udp" else whole_turns(ours, bare))
        if compiles:
            turns[in_c].append(with_rig_in_c(rig, folder))
    whole = {name: np.concatenate(parts) for name, parts in turns.items() if parts and parts[0].size}
    against = {name: judged(name, np.concatenate(parts, axis=1)) for name, parts in pairs.items() if parts}
    if in_c in whole:
        against[in_c] = more(np.median(whole[in_c]), np.median(whole[bare_udp]))
    return [Row(name, distribution(times), against.get(name, "")) for name, times in whole.items()]


def distribution(times: np.ndarray) -> str:
    p50, p99, p999 = (duration(x) for x in np.quantile(times, (0.5, 0.99, 0.999)))
    return f"p50 {p50}, p99 {p99}, p99.9 {p999}; {len(times):,} ticks"


def more(ours: np.ndarray | np.floating, bare: np.ndarray | np.floating) -> str:
    """What a tick takes beyond the bare exchange: of slices next to each other, their median."""
    added, ratio = np.median(ours - bare), np.median(ours / bare)
    return f"p50 is {duration(float(added))} more than the bare exchange in C, {ratio:.2f} × it"


def judged(name: str, pairs: np.ndarray) -> str:
    """The same with what it is to be."""
    found, (ours, bare) = more(*pairs), pairs
    if "UDP" in name:
        return f"{found}; {TAGGED}; target at most {OVER_UDP:g} × it: {met(np.median(ours / bare) <= OVER_UDP)}"
    return f"{found}; {TAGGED}; target below {duration(IN_MEMORY)} more: {met(np.median(ours - bare) < IN_MEMORY)}"


def met(kept: bool | np.bool) -> str:
    return "met" if kept else "missed"
