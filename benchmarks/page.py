"""What the operator's page costs: ``python benchmarks/page.py`` (needs the extra "page").

First the page's process alone, on a ring that is filled at 5 kHz with 50 channels: its processor time with one browser
and with ten, the delay from a sample to the browser's socket, and its memory before and after an hour's rows.  Then
whole runs at 1 kHz on a simulated rig, with the page and without it in turns: with it, ten browsers look on, one of
them takes nothing of what it is sent, and requests come as fast as the server answers.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from websockets.sync.client import connect

import halfreal
from halfreal.kernels.control import ROWS
from halfreal.live.console import Operator, rig_beside
from halfreal.live.session import Session
from halfreal.page import guests, wire
from halfreal.page.address import Address
from halfreal.page.desk import PageDesk
from halfreal.records.ring import Ring

APART = get_context("spawn")
RATE, CHANNELS = 5e3, 50
SECONDS, TURNS, TURN = 15.0, 4, 5.0
HOUR = int(3600 * RATE)
EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"


def processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """MB of its own: what it shares with others, such as the ring, is not counted."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1e3


class Looker:
    """A browser that follows some channels, or takes nothing."""

    def __init__(self, url: str, token: str, stack: ExitStack, *, takes: bool = True) -> None:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        connection.request("GET", f"/?token={token}")
        cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
        connection.close()
        self.cookie, self.delays = cookie, list[float]()
        self.socket = stack.enter_context(
            connect(f"ws://{parts.netloc}/live", origin=url, additional_headers={"cookie": cookie}, max_size=None)
        )
        if takes:
            threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        try:
            while True:
                data = self.socket.recv()
                now = time.monotonic()
                if isinstance(data, str):
                    told = json.loads(data)
                    if told["kind"] == "rows":
                        names = [name for name, _ in told["channels"]]
                        self.socket.send(
                            json.dumps({"channels": names[:6], "pairs": [names[:2]], "spectrum": names[0]})
                        )
                    continue
                (length,) = struct.unpack("<I", data[:4])
                head = json.loads(data[4 : 4 + length])
                if head["kind"] == "bins" and head["count"] < 100:  # not the first, of all that is kept
                    last = np.frombuffer(data[4 + length : 4 + length + 8 * head["count"]], "<f8")[-1]
                    self.delays.append(now - last)
        except Exception:  # it was closed
            return


class Alone:
    """The page's process on a ring of our own, whose time is that of the machine's clock."""

    def __init__(self) -> None:
        self.ring = Ring.create(65_536, CHANNELS)
        self.listening = Address().listen()
        self.url = Address().url(self.listening)
        kept = os.memfd_create("guests")
        doorman = guests.Guests({}, lambda state: guests.write_state(kept, state), time.monotonic)
        self.tokens = [doorman.invite("operate"), *(doorman.invite() for _ in range(9))]
        self.door, there = wire.pair()
        passed = [there.fileno(), self.listening.fileno(), kept]
        command = [sys.executable, "-m", "halfreal.page.process", "--parent", str(os.getpid()), "--url", self.url]
        command += ["--door", str(passed[0]), "--listen", str(passed[1]), "--guests", str(passed[2])]
        self.process = subprocess.Popen(command, pass_fds=passed)
        about: dict[str, Any] = {"kind": "rows", "step": 1.0 / RATE, "watched": [], "watched_columns": [], "texts": {}}
        about["channels"] = [[f"channel {i}", "m"] for i in range(CHANNELS)]
        wire.send(self.door, about, [self.ring.for_readers()])
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        while wire.receive(self.door) is not None:
            pass

    def fill(self, seconds: float) -> None:
        """Rows in real time, some at each millisecond."""
        begin = time.monotonic()
        written = int(self.ring.words[ROWS])
        first = written
        while (now := time.monotonic()) < begin + seconds:
            due = first + int((now - begin) * RATE)
            if due > written:
                rows = np.arange(written, due)
                places = rows % self.ring.capacity
                self.ring.rows[places, 0] = begin + (rows - first) / RATE
                self.ring.rows[places, 1:] = np.sin(0.01 * rows)[:, None]
                self.ring.words[ROWS] = written = due
            time.sleep(0.001)

    def hurry(self, rows: int) -> None:
        """As many rows as fast as the process takes them."""
        for _ in range(0, rows, 4096):
            self.ring.words[ROWS] += 4096
            time.sleep(0.012)


def alone() -> None:
    page = Alone()
    with ExitStack() as stack:
        first = Looker(page.url, page.tokens[0], stack)
        page.fill(2.0)
        for browsers in (1, 10):
            if browsers == 10:
                for token in page.tokens[1:]:
                    Looker(page.url, token, stack)
                page.fill(2.0)
            first.delays.clear()
            began, used = time.monotonic(), processor_time(page.process.pid)
            page.fill(SECONDS)
            share = (processor_time(page.process.pid) - used) / (time.monotonic() - began)
            p50, p99 = np.percentile(first.delays, [50, 99])
            print(
                f"{browsers} browser(s): {100 * share:.1f} % of one processor; a sample is at the socket after "
                f"{1e3 * p50:.0f} ms (p99 {1e3 * p99:.0f} ms)",
                flush=True,
            )
        page.hurry(HOUR // 12)
        before = memory(page.process.pid)
        page.hurry(HOUR)
        after = memory(page.process.pid)
        print(f"memory of its own after five minutes' rows: {before:.0f} MB, an hour later {after:.0f} MB", flush=True)
    page.process.terminate()
    page.process.wait()


def flood(url: str, cookie: str, ended: Any, counted: Any) -> None:
    """In a process of its own: requests on several connections, each as soon as the last one is answered."""

    async def one() -> None:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        request = f"GET /static/page.css HTTP/1.1\r\nHost: {parts.netloc}\r\nCookie: {cookie}\r\n\r\n".encode()
        while not ended.is_set():
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head.lower())[0]))
            counted.value += 1

    async def all_() -> None:
        await asyncio.gather(*(one() for _ in range(8)))

    asyncio.run(all_())


def turn(definition: halfreal.Definition, checked: Any, folder: Path, name: str, paged: bool) -> np.ndarray:
    """Lateness of every tick of a run [s]."""
    session = Session(definition, folder / f"{name}.h5")
    session.checked = checked
    lines: list[str] = []
    ended, counted = APART.Event(), APART.Value("i", 0)
    try:
        with ExitStack() as stack:
            look = None
            if paged:
                desk = stack.enter_context(
                    PageDesk(session, Operator(session), Address(), terminal=True, say=lines.append)
                )
                url, _, token = lines[0].rpartition(": ")[2].partition("/?token=")
                operator = Looker(url, token, stack)
                paths = []
                for _ in range(9):
                    parts = urlsplit(url)
                    asking = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
                    head = {"cookie": operator.cookie, "origin": url, "content-type": "application/json"}
                    asking.request("POST", "/invite", "{}", head)
                    paths.append(json.loads(asking.getresponse().read())["path"])
                for i, path in enumerate(paths):
                    Looker(url, path.partition("=")[2], stack, takes=i > 0)
                flooding = APART.Process(target=flood, args=(url, operator.cookie, ended, counted), daemon=True)
                flooding.start()
                while counted.value == 0:
                    time.sleep(0.01)
                look = desk.show
            session.arm()
            before, began = counted.value, time.monotonic()
            session.wait(look, every=0.1)
            asked = (counted.value - before) / (time.monotonic() - began)
            ended.set()
            if paged:
                flooding.join()
        run = session.finish()
    finally:
        session.close()
    if paged:
        print(f"  with the page: {asked:.0f} requests/s besides", flush=True)
    return np.asarray(run.signals["pace.lateness"].values)


def runs() -> None:
    text = EXAMPLE.read_text().replace('pacing = "rig"', 'pacing = "clock"').replace('"12 s"', f'"{TURN:g} s"')
    text = text.replace("127.0.0.1:7411", "127.0.0.1:7417").replace(
        'stale = { trip = "0.3 s" }', 'stale = { trip = "1 s" }'
    )
    text = text.replace('lease = "0.3 s"', 'lease = "1 s"').replace(
        "[limits]\n", '[limits]\nlateness = { trip = "1 s" }\n'
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "test.toml").write_text(text)
        definition = halfreal.load(folder / "test.toml")
        checked = halfreal.check(definition)
        found: dict[bool, list[np.ndarray]] = {False: [], True: []}
        with rig_beside(folder / "test.toml", print):
            for i in range(TURNS):
                for paged in (False, True):
                    found[paged].append(turn(definition, checked, folder, f"{i}{paged}", paged))
    for paged, name in ((False, "without the page"), (True, "with the page")):
        both = np.concatenate(found[paged])
        each = [1e6 * float(np.percentile(one, 99)) for one in found[paged]]
        p50, p99, p999 = 1e6 * np.percentile(both, [50, 99, 99.9])
        print(
            f"{name}: lateness p50 {p50:.2f} µs, p99 {p99:.1f} µs, p99.9 {p999:.0f} µs; p99 of each turn "
            f"{', '.join(f'{one:.0f}' for one in each)} µs",
            flush=True,
        )


if __name__ == "__main__":
    alone()
    runs()
