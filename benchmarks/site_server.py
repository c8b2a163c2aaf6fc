"""Time a step of the stock OpenSees through the server of a site, against a bare echo server in its place.

Both servers are processes of their own in Python.  The bare one takes messages and sends back the same bytes, without
a look at them but for whether an answer is due; it acknowledges at once, as without that a step takes 44 ms.  Behind
the site's server stands a spring that is where it should be at once: what is timed is what the site adds, not the rig.

Client and server share a processor.  With one each, either sleeps while the other works, and most of the processor time
of both would be that of waking an idle processor, six times a step: as much as the system makes of it, in a virtual
machine several times the work itself, and more or less of it by chance.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from report import Row, duration, show, write_part

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from models.materials.opensees import environment, why_not

STEPS, ROUNDS = 2000, 15
MOST = 1.1
STIFFNESS = 2e6
CLIENT = """
import json, sys, time
import openseespy.opensees as ops
port, steps, options = json.loads(sys.argv[1])
ops.model("basic", "-ndm", 1, "-ndf", 1)
ops.node(1, 0.0)
ops.node(2, 0.0)
ops.fix(1, 1)
ops.mass(2, 5000.0)
ops.element("genericClient", 1, "-node", 2, "-dof", 1, "-server", port, "127.0.0.1", *options)
ops.timeSeries("Trig", 1, 0.0, 100.0, 0.5)
ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
ops.constraints("Plain")
ops.numberer("Plain")
ops.system("BandGeneral")
ops.test("NormDispIncr", 1e-12, 1)
ops.algorithm("Linear")
ops.integrator("NewmarkExplicit", 0.5)
ops.analysis("Transient")
began, start = time.perf_counter(), time.process_time()
ops.analyze(steps, 1e-3)
spent = [(time.process_time() - start) / steps, (time.perf_counter() - began) / steps]
ops.wipe()
print("ANSWER" + json.dumps(spent))
"""


class Spring:
    """A site whose rig is there at once."""

    axes = 1

    def __init__(self) -> None:
        self._measured = (0.0, 0.0)

    def enter(self) -> bool:
        return True

    def ask(self, displacement: tuple[float, ...], time: float) -> None:
        self._measured = (displacement[0], STIFFNESS * displacement[0])

    def measured(self, still_there: object) -> tuple[float, float]:
        return self._measured

    def heard(self) -> None:
        pass

    def committed(self) -> None:
        pass

    def ends(self, how: int) -> None:
        pass


def serve_site(listener: socket.socket, begun: Callable[[], None]) -> None:
    from halfreal.sites.conversation import Matrices
    from halfreal.sites.server import server_of

    one = np.array([[STIFFNESS]])
    server = server_of(listener, Spring(), Matrices(one, 0.0 * one, 0.0 * one))
    server.look(60.0)
    begun()
    while server.busy:
        server.look(1.0)


def serve_echo(listener: socket.socket, begun: Callable[[], None]) -> None:
    """The least that keeps OpenSees going."""
    answered = {float(action) for action in range(6, 16)}
    if listener.type == socket.SOCK_STREAM:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.recv(44, socket.MSG_WAITALL)
        begun()
        data = bytearray(2048)
        action = np.frombuffer(data, count=1)
        while True:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            if connection.recv_into(data, 2048, socket.MSG_WAITALL) < 2048 or action[0] == 99.0:
                return
            if action[0] in answered:
                connection.sendall(data)
    _, peer = listener.recvfrom(16)
    listener.sendto(b"b", peer)
    listener.recvfrom(44)
    begun()
    data = bytearray(2048)
    action = np.frombuffer(data, count=1)
    while True:
        listener.recvfrom_into(data)
        if action[0] == 99.0:
            return
        if action[0] in answered:
            listener.sendto(data, peer)


def step(which: str, udp: bool) -> tuple[float, float]:
    """Processor time of a step [s] in client and server, which depends less on who else is at work, and wall time."""
    kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
    with socket.socket(type=kind) as listener:
        listener.bind(("127.0.0.1", 0))
        if not udp:
            listener.listen()
        port = listener.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, __file__, which, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdout=subprocess.PIPE,
            text=True,
        )
        asked = json.dumps([port, STEPS, ["-udp"] if udp else []])
        ran = subprocess.run(
            [sys.executable, "-c", CLIENT, asked], env=environment(), capture_output=True, text=True, check=True
        )
        said, _ = server.communicate()
    client, wall = json.loads(answer_in(ran.stdout))
    return client + json.loads(answer_in(said)) / STEPS, wall


def answer_in(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("ANSWER")).removeprefix("ANSWER")


@contextmanager
def one_processor() -> Iterator[None]:
    """For all processes that are started within it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def rows() -> list[Row]:
    found = []
    for name, udp in (("TCP", False), ("UDP", True)):
        what = f"step of OpenSees (NewmarkExplicit) through a site, {name}"
        if why_not():
            found.append(Row(what, "not measured", why_not()))
            continue
        with one_processor():
            times = [(step("site", udp), step("echo", udp)) for _ in range(ROUNDS)]
        (ours, wall), (bare, bare_wall) = (np.min(one, axis=0) for one in zip(*times, strict=True))
        met = "met" if ours <= MOST * bare else "missed"
        found.append(
            Row(
                f"{what}, processor time of both ends",
                f"{duration(ours)} ({duration(wall)} on the clock)",
                f"{ours / bare:.2f} × a bare echo server's {duration(bare)} ({duration(bare_wall)}); target at most "
                f"{MOST}: {met}",
            )
        )
    return found


if __name__ == "__main__":
    if len(sys.argv) == 3:
        given = socket.socket(fileno=int(sys.argv[2]))
        began: list[float] = []

        def timed() -> None:
            began.append(time.process_time())

        serve_site(given, timed) if sys.argv[1] == "site" else serve_echo(given, timed)
        print("ANSWER" + json.dumps(time.process_time() - began[0]))
    else:
        measured = rows()
        show(measured)
        if "--write" in sys.argv:
            write_part("OpenSees through a site", measured)
