"""A virtual substructure computed by a client such as OpenSees, which requests displacements one by one.

Slowly (with a section [slow]) a tick lasts from one displacement to the next: the block waits for it, the motion of the
slow test brings the rig there, and what was measured is the answer.

In real time the rig is not to stop between two displacements (A. H. Schellenberg, S. A. Mahin, G. L. Fenves, "Advanced
implementation of hybrid simulation", PEER Report 2009/104, University of California, Berkeley (2009)): while the client
computes, the target is *predicted*, by a polynomial through the last displacements; when the next one has come
it is *corrected*, along a cubic that leaves with the velocity there is and arrives where the client wants the rig.  The
guard compares that goal with the limits as well, in the tick in which it has come: a cubic takes its time.  The force
measured in the tick after that is the answer.  A client that is late finds the target slowed down, from the share
``slow_down`` of its step on, until it is held.

    predicted   x(ξ) = Σ L_i(ξ) d_i, ξ = steps since d_0, dξ/dt = min(1, (1 − ξ)/(1 − slow_down)) / step
    corrected   x(τ) = h00 x_0 + h10 m x˙_0 + h01 d + h11 m x˙_1, τ = ticks since / m
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.client_port import GOAL, WAITING, ClientPort
from ..contracts.context import Context
from ..contracts.finding import Finding, warning
from ..contracts.known import Known
from ..contracts.quantities import ActsAs
from ..contracts.virtual import Virtual
from ..kernels.atomic import load_word, store_word
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.clock import now
from ..kernels.compile import kernel
from ..kernels.foreign import put_real, real_at
from ..safety.watched import COMMAND_RATE
from ..settings import Matrix, Number, fault
from .mailbox import ANSWER, ANSWERED, CLIENT, COMMITS, CONNECTED, FAULTS, GOODBYE, HEAD, LOST, MESSAGES, TRIAL

if TYPE_CHECKING:
    from ..studies.check.examined import Examined

SILENT = 7
SHARE_OF_RATE = 0.9
"""Of the command's rate limit that corrections use."""
HELD = 0.05
"""Share of its speed below which a predicted target counts as held."""
STATES = {
    0.0: "no client yet",
    1.0: "a client is served",
    2.0: "the client has ended the test",
    **{float(code): text for code, text in FAULTS.items()},
}
HOLDS = {0.0: "the client is on time again", 1.0: "the client is late: the target is held"}


class Client(Virtual):
    """The rest of the structure is computed by a client, such as OpenSees with its element genericClient, which
    ``halfreal site`` serves.  In a rehearsal the client requests the displacements of ``excitation.virtual``, on every
    axis."""

    kind: Literal["client"] = "client"
    interface: Annotated[int, Field(ge=1)] = 1
    """Number of interface axes: the degrees of freedom of the client's element."""
    listen: str = "127.0.0.1:8090"
    """Address and port for the client; an address of a network of this machine needs peer and unauthenticated."""
    protocol: Literal["tcp", "udp"] = "tcp"
    """Protocol of the client's element: TCP, or on this machine UDP with its option -udp."""
    peer: str = ""
    """IP address of the only machine whose client is served; default: this one."""
    unauthenticated: str = ""
    """Reason for serving a client on another machine, which cannot authenticate; it is recorded."""
    step: Annotated[float, Number("s", above=0)] | None = None
    """Time step of the client's integration, for real-time tests; default: timing.step."""
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)] | None = None
    """Initial stiffness sent to the client, in SI units; default: that of the rig's specimen."""
    damping: Annotated[np.ndarray, Matrix("N s/m", symmetric=True)] | None = None
    """Damping sent to the client in addition to that in the measured forces; default: none."""
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True)] | None = None
    """Mass sent to the client in addition to that in the measured forces; default: none."""
    silence: Annotated[float, Number("s", above=0)] = 60.0
    """Timeout: silence of the client, while the site waits for it, after which the test trips."""
    order: Annotated[int, Field(ge=0, le=3)] = 2
    """Order of the polynomial that predicts the target in real time."""
    slow_down: Annotated[float, Number("1", least=0, most=0.95)] = 0.6
    """Share of the client's step after which a predicted target slows down."""

    @field_validator("listen")
    @classmethod
    def _host_and_port(cls, listen: str) -> str:
        host, colon, port = listen.rpartition(":")
        if not (host and colon and port.isdecimal() and 0 <= int(port) < 65536):
            raise fault(f"'{listen}' is not an address to listen on; write host:port, such as '127.0.0.1:8090'")
        return listen

    @field_validator("peer")
    @classmethod
    def _address(cls, peer: str) -> str:
        try:
            return str(ipaddress.ip_address(peer)) if peer else ""
        except ValueError:
            raise fault(
                f"'{peer}' is not an IP address; write that of the client's machine, e.g. '192.168.7.20'"
            ) from None

    @field_validator("stiffness", "damping", "mass")
    @classmethod
    def _of_the_interface(cls, matrix: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        n = info.data.get("interface")
        if matrix is not None and n is not None and matrix.shape != (n, n):
            raise fault(f"{matrix.shape[0]} × {matrix.shape[1]} where the interface has {n} axis(es); give {n} × {n}")
        return matrix

    @property
    def client_port(self) -> ClientPort:
        host, _, port = self.listen.rpartition(":")
        damping, mass = (np.zeros((self.axes, self.axes)) if one is None else one for one in (self.damping, self.mass))
        return ClientPort(
            host.strip("[]"),
            int(port),
            self.protocol,
            self.stiffness,
            damping,
            mass,
            self.peer,
            self.unauthenticated.strip(),
        )

    @property
    def axes(self) -> int:
        return self.interface

    def fits(self, known: Known) -> None:
        super().fits(known)
        tick = known.step
        if tick is not None and self.step is not None and abs(self.step / tick - round(self.step / tick)) > 1e-6:
            raise fault(
                f"{self.step:g} s is not a whole number of ticks of {tick:g} s (timing.step); change one of them",
                "step",
            )
        if tick is not None and self.step is not None and round(self.step / tick) < 1:
            raise fault(f"{self.step:g} s is shorter than a tick of {tick:g} s (timing.step); shorten that", "step")

    def check_excitation(self, excitation: ActsAs) -> None:
        if excitation not in ("support", "none"):
            raise fault("the client's structure is excited by the client; give a displacement for rehearsals")

    def check_slow(self) -> None:
        """A client takes the force for the answer to the displacement that it requested."""
        if self.step is not None:
            raise fault("a slow test waits for each displacement; omit step")

    def blocks(self, context: Context) -> list[Block]:
        test, n, slow = context.test, self.axes, context.test.slow is not None
        rate = test.limits.watched(test.interface, test.commands)[COMMAND_RATE].trip
        ticks = 1 if self.step is None else round(self.step / context.step)
        zeros = np.zeros(n)
        state: dict[str, Value] = {}
        parameters: dict[str, Value] = {}
        if not slow:  # these come first: Numba takes a longer record that begins alike for a kind of the shorter one
            state |= {"past": np.zeros((4, n)), "known": 0.0, "phase": 0.0, "velocity": zeros, "left": 0.0}
            state |= {"from_": zeros, "leaves": zeros, "arrives": zeros, "length": 0.0}
            parameters |= {"rate": np.asarray(rate, dtype=float) * context.step, "ticks": float(ticks)}
            parameters |= {"order": float(self.order), "slow_down": self.slow_down}
        state |= {"goal": zeros, "target": zeros, "taken": 0.0, "answered": 0.0, "waiting": 0.0, "time": 0.0}
        state |= {"at": -1.0, "heard": 0.0, "since": 0.0}
        parameters |= {"mailbox": 0.0, "silence": 1e9 * self.silence}
        return [
            Block(
                name="virtual",
                step=slow_client_step if slow else fast_client_step,
                inputs=(
                    "excitation.virtual",
                    *context.channels("feedback"),
                    *context.channels("measured.displacement"),
                ),
                outputs=(
                    *channels("target", "m", n, of="axis"),
                    Channel(WAITING, "1"),
                    Channel("client.state", "1"),
                    Channel("client.time", "s"),
                    Channel("client.trial", "1"),
                    Channel("client.commits", "1"),
                    Channel("client.held", "1"),
                    *(() if slow else channels(GOAL, "m", n, of="axis")),
                ),
                parameters=parameters,
                state=state,
                frozen=tuple(state),
                faults={**FAULTS, SILENT: f"no message from the client for {self.silence:g} s (virtual.silence)"},
                watched=("client.state", "client.held"),
                texts={"client.state": STATES, "client.held": HOLDS},
                references=() if slow else ("schellenberg2009",),
            )
        ]

    def findings(self, examined: Examined) -> Iterable[Finding]:
        yield warning(
            "the client computes the rest of the structure, which is unknown here: the above findings on stability, "
            "margins and delay concern the rig alone, not the test"
        )


@kernel
def take(p, s):  # type: ignore[no-untyped-def]
    """Take the newest displacement that the client requested; whether there is one that was not yet taken."""
    box, n = int(p.mailbox), s.goal.size
    before = load_word(box + 8 * TRIAL)
    if before % 2 != 0 or before // 2 == int(s.taken):
        return False
    for i in range(n):
        s.goal[i] = real_at(box + HEAD + 8 * i)
    s.time = real_at(box + HEAD + 8 * n)
    if load_word(box + 8 * TRIAL) != before:
        return False
    s.taken = float(before // 2)
    return True


@kernel
def publish(p, s, u):  # type: ignore[no-untyped-def]
    """Answer the displacement that was taken last with what is measured now."""
    box, n = int(p.mailbox), s.goal.size
    count = load_word(box + 8 * ANSWER)
    store_word(box + 8 * ANSWER, count + 1)
    for i in range(n):
        put_real(box + HEAD + 8 * (n + 1 + i), u[1 + n + i])
        put_real(box + HEAD + 8 * (2 * n + 1 + i), u[1 + i])
    store_word(box + 8 * ANSWER, count + 2)
    s.answered = s.taken
    store_word(box + 8 * ANSWERED, int(s.answered))


@kernel
def client_status(p, s, waits):  # type: ignore[no-untyped-def]
    """0, or what is wrong with the client; silence counts while the site waits."""
    box = int(p.mailbox)
    client = load_word(box + 8 * CLIENT)
    if client >= LOST:
        return client
    messages, time = float(load_word(box + 8 * MESSAGES)), float(now())
    if messages != s.heard or not waits or client != CONNECTED:
        s.heard, s.since = messages, time
    return SILENT if time - s.since > p.silence else 0


@kernel
def tell(p, s, y, held):  # type: ignore[no-untyped-def]
    n, box = s.goal.size, int(p.mailbox)
    for i in range(n):
        y[i] = s.target[i]
    y[n] = s.waiting
    y[n + 1] = float(load_word(box + 8 * CLIENT)) if box != 0 else 0.0
    y[n + 2], y[n + 3] = s.time, s.taken
    y[n + 4] = float(load_word(box + 8 * COMMITS)) if box != 0 else 0.0
    y[n + 5] = held


def slow_client_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, status = s.goal.size, 0
    if p.mailbox == 0.0:
        for i in range(n):
            s.goal[i] = u[0]
        s.time = t
    else:
        if t != s.at:  # a new tick: the rig has been where the last one asked it to be
            s.at, s.waiting = t, 1.0
            if s.taken > s.answered:
                publish(p, s, u)
        if s.waiting != 0.0 and take(p, s):
            s.waiting = 0.0
        status = client_status(p, s, s.waiting != 0.0)
    for i in range(n):
        s.target[i] = s.goal[i]
    tell(p, s, y, 0.0)
    return status


@kernel
def predicted(p, s, i):  # type: ignore[no-untyped-def]
    """The polynomial through the last displacements, ``phase`` ticks after the newest."""
    points = int(min(s.known, p.order + 1.0))
    xi, value = s.phase / p.ticks, 0.0
    for j in range(points):
        weight = 1.0
        for k in range(points):
            if k != j:
                weight *= (xi + k) / (k - j)
        value += weight * s.past[j, i]
    return value


@kernel
def peak_rate(chord, leaves, arrives):  # type: ignore[no-untyped-def]
    """Largest slope of the cubic between two ends with these slopes, whose chord has this one."""
    a, b = 3.0 * (leaves + arrives) - 6.0 * chord, 6.0 * chord - 4.0 * leaves - 2.0 * arrives
    peak = max(abs(leaves), abs(arrives))
    if a != 0.0 and 0.0 < -b / (2.0 * a) < 1.0:
        peak = max(peak, abs(leaves - b * b / (4.0 * a)))
    return peak


@kernel
def set_out_to_correct(p, s):  # type: ignore[no-untyped-def]
    """Begin the cubic from where the target is to where the client wants it, no faster than the rate limit allows."""
    n = s.goal.size
    # of a target that has slowed down time is lost already, and is not made up for
    length = p.ticks if s.phase > p.slow_down * p.ticks else max(math.ceil(p.ticks - s.phase - 1e-9), 1.0)
    for i in range(n):
        most = SHARE_OF_RATE * p.rate[i]
        s.from_[i], s.leaves[i] = s.target[i], min(max(s.velocity[i], -most), most)
        way = 0.0  # in a step, at its end: the slope there of the parabola through the last three
        if s.known > 1.0:
            way = 1.5 * s.goal[i] - 2.0 * s.past[0, i] + 0.5 * s.past[1, i]
        s.arrives[i] = min(max(way / p.ticks, -most), most)
        for _ in range(1000):
            if peak_rate((s.goal[i] - s.from_[i]) / length, s.leaves[i], s.arrives[i]) <= most * (1.0 + 1e-9):
                break
            length += max(1.0, math.floor(0.1 * length))
    s.length = s.left = length


def fast_client_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, status = s.goal.size, 0
    real = p.mailbox != 0.0
    if s.taken > s.answered and s.left == 0.0:  # arrived in the tick before
        if real:
            publish(p, s, u)
        s.answered = s.taken
    if s.taken == s.answered:
        if real:
            new = take(p, s)
        else:  # in a rehearsal the client wants what the excitation says
            new, s.time = True, t
            s.taken += 1.0
            for i in range(n):
                s.goal[i] = u[0]
        if new:
            set_out_to_correct(p, s)
        status = client_status(p, s, not new) if real else 0
    elif real:
        status = client_status(p, s, False)
    held = 0.0
    if s.left > 0.0:
        s.left -= 1.0
        share, m = 1.0 - s.left / s.length, s.length
        for i in range(n):
            before = s.target[i]
            if s.left == 0.0:
                s.target[i] = s.goal[i]
            else:
                rest = 1.0 - share
                s.target[i] = (
                    (1.0 + 2.0 * share) * rest * rest * s.from_[i]
                    + share * rest * rest * m * s.leaves[i]
                    + share * share * (3.0 - 2.0 * share) * s.goal[i]
                    - share * share * rest * m * s.arrives[i]
                )
            s.velocity[i] = s.target[i] - before
        if s.left == 0.0:
            for i in range(n):
                for k in range(3, 0, -1):
                    s.past[k, i] = s.past[k - 1, i]
                s.past[0, i] = s.goal[i]
            s.known, s.phase = min(s.known + 1.0, 4.0), 0.0
    elif real and load_word(int(p.mailbox) + 8 * CLIENT) == GOODBYE:
        pass  # the last displacement it is
    elif s.known > 0.0:
        xi = s.phase / p.ticks
        pace = min(1.0, (1.0 - xi) / (1.0 - p.slow_down))
        s.phase += pace
        held = 1.0 if pace < HELD else 0.0
        for i in range(n):
            before, most = s.target[i], SHARE_OF_RATE * p.rate[i]
            s.target[i] = before + min(max(predicted(p, s, i) - before, -most), most)
            s.velocity[i] = s.target[i] - before
    s.waiting = 0.0
    tell(p, s, y, held)
    for i in range(n):
        y[n + 6 + i] = s.goal[i]
    return status
