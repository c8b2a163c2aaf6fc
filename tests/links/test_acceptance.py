"""What becomes of a datagram, at both ends, against the table of docs/link.md written out with a set of sequences."""

from __future__ import annotations

import math
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.loop import Loop
from halfreal.links.controller_end import ControllerEnd, Offer
from halfreal.links.rig_end import RigEnd, RigSession
from halfreal.links.wires import UdpWire
from links.by_hand import ARMED, COMMAND, HEADER, MAGIC, MEASUREMENT, Datagram
from links.ends import KEY, LONG, STEP, controller_loop, rig_loop, sockets, value

COUNTED = ("lost", "duplicated", "reordered", "corrupted", "truncated", "foreign", "replayed")


@dataclass
class Model:
    """An end of a session that expects one kind of datagram, with the sequences that have come as a set."""

    kind: int
    count: int
    newest: int
    accepted: tuple[float, ...]
    came: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))

    def hear(self, data: bytes) -> None:
        what = self.judge(data)
        if what:
            self.counts[what] += 1

    def judge(self, data: bytes) -> str:
        if len(data) < 60 or len(data) != 60 + 8 * struct.unpack_from("<H", data, 6)[0]:
            return "truncated"
        magic, version, kind, count, key, sequence, *_ = HEADER.unpack_from(data)
        if (magic, version, kind, count, key) != (MAGIC, 1, self.kind, self.count, KEY):
            return "foreign"
        channels = struct.unpack_from(f"<{count}d", data, 56)
        if struct.unpack("<I", data[-4:])[0] != zlib.crc32(data[:-4]):
            return "corrupted"
        if kind == COMMAND and not all(map(math.isfinite, channels)):
            return "corrupted"
        if self.newest - sequence >= 64:
            return "replayed"
        if sequence in self.came:
            return "duplicated"
        self.came.add(sequence)
        if sequence < self.newest:
            self.counts["lost"] -= 1
            return "reordered"
        self.counts["lost"] += sequence - self.newest - 1
        self.newest, self.accepted = sequence, channels
        return ""


@dataclass
class End:
    """A loop, how to speak to it, and which of its channels must be what was accepted last."""

    loop: Loop
    tell: Callable[[bytes], object]
    sends: Datagram
    outputs: tuple[str, ...]
    first: int

    def model(self) -> Model:
        resting = (0.0,) * len(self.outputs)
        return Model(self.sends.kind, len(self.outputs), self.first, resting, {self.first})


@pytest.fixture(scope="module", params=["controller", "rig"])
def side(request: pytest.FixtureRequest) -> Iterator[End]:
    with sockets() as (wire, far):
        yield controller(wire, far) if request.param == "controller" else rig(wire, far)


def controller(wire: UdpWire, far: socket.socket) -> End:
    loop = controller_loop(ControllerEnd(wire), Offer(KEY, np.zeros(1), np.zeros(1)), waits=False)
    sends = Datagram(MEASUREMENT, KEY, channels=(1.0, 2.0), state=ARMED)
    return End(loop, far.send, sends, ("measured.displacement", "measured.force"), 0)


def rig(wire: UdpWire, far: socket.socket) -> End:
    loop = rig_loop(RigEnd(1, STEP, wire, ""), RigSession(KEY, LONG, wire), waits=False)
    return End(loop, far.send, Datagram(COMMAND, KEY, channels=(1.0,)), ("command",), 1)


mutations = st.one_of(
    st.just(("none", 0)),
    st.tuples(st.just("cut"), st.integers(0, 100)),
    st.tuples(st.just("longer"), st.integers(1, 40)),
    st.tuples(st.just("flip"), st.integers(0, 8 * 64)),
    st.tuples(st.just("key"), st.integers(0, 2**64 - 1)),
    st.tuples(st.just("version"), st.integers(0, 255)),
    st.tuples(st.just("kind"), st.integers(0, 255)),
    st.tuples(st.just("not finite"), st.sampled_from([math.nan, math.inf, -math.inf])),
)
events = st.lists(
    st.tuples(st.one_of(st.just(1), st.integers(-70, 5), st.integers(60, 70)), st.floats(-1e3, 1e3), mutations),
    max_size=4,
)


def changed(datagram: Datagram, how: str, by: float) -> bytes:
    if how == "key":
        return replace(datagram, key=int(by)).packed()
    if how == "version":
        return replace(datagram, version=int(by)).packed()
    if how == "kind":
        return replace(datagram, kind=int(by)).packed()
    if how == "not finite":
        return replace(datagram, channels=(by, *datagram.channels[1:])).packed()
    data = bytearray(datagram.packed())
    if how == "cut":
        return bytes(data[: int(by)])
    if how == "longer":
        return bytes(data) + bytes(int(by))
    if how == "flip":
        bit = int(by) % (8 * len(data))
        data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


@given(ticks=st.lists(events, max_size=8))
def test_any_sequence_of_good_and_bad_datagrams_is_judged_as_the_page_says(side, ticks):
    side.loop.reset()
    model = side.model()
    newest = 1
    for tick in ticks:
        for ahead, number, (how, by) in tick:
            sequence = max(newest + ahead, 2)
            newest = max(newest, sequence)
            values = tuple(number + i for i in range(len(side.outputs)))
            data = changed(replace(side.sends, sequence=sequence, channels=values), how, by)
            side.tell(data)
            model.hear(data)
        side.loop.run(1)
        assert {name: value(side.loop, f"link.{name}") for name in COUNTED} == model.counts
        outputs = [value(side.loop, name) for name in side.outputs]
        np.testing.assert_array_equal(outputs, model.accepted)
        assert value(side.loop, "loop.fault") == 0.0


def test_late_counts_the_ticks_at_which_nothing_new_had_come(side):
    side.loop.reset()
    for sequence in (2, 2, 3, 3, 3):  # two of them new
        side.tell(replace(side.sends, sequence=sequence).packed())
        side.loop.run(1)
    assert value(side.loop, "link.late") == 3.0


def test_measurements_that_are_not_finite_reach_the_guard():
    with sockets() as (wire, far):
        side = controller(wire, far)
        side.tell(replace(side.sends, sequence=2, channels=(math.nan, math.inf)).packed())
        side.loop.run(1)
    assert math.isnan(value(side.loop, "measured.displacement"))
    assert value(side.loop, "measured.force") == math.inf
    assert value(side.loop, "link.corrupted") == 0.0
