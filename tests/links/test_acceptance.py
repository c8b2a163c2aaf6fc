"""What becomes of a datagram, at both ends, against the table of docs/link.md written out with a set of sequences."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import STOPPED
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.rig_end import RigSession
from halfreal.links.wires import Wire
from links.by_hand import ARM, ARMED, COMMAND, HEADER, IDLE, MAGIC, MEASUREMENT, OPEN, STOP, VERSION, Datagram, siphash
from links.ends import KEY, LONG, controller_loop, mailboxes, offer_of, rig_end, rig_loop, sockets, value

FAR = 10**9
"""Stands for as far ahead of the newest as a sequence may be."""
COUNTED = ("lost", "duplicated", "reordered", "corrupted", "truncated", "foreign", "replayed")


@dataclass
class Model:
    """An end of a session that expects one kind of datagram, with the sequences that have come as a set."""

    kind: int
    count: int
    newest: int
    accepted: tuple[float, ...]
    ahead: int
    came: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    stopped: bool = False

    def hear(self, data: bytes) -> None:
        what = self.judge(data)
        if what:
            self.counts[what] += 1

    def judge(self, data: bytes) -> str:
        if len(data) < 72 or len(data) != 72 + 8 * struct.unpack_from("<H", data, 6)[0]:
            return "truncated"
        magic, version, kind, count, key, sequence, *_ = HEADER.unpack_from(data)
        if (magic, version, key) != (MAGIC, VERSION, KEY) or not self.belongs(kind, count, sequence):
            return "foreign"
        if kind != STOP and sequence > self.newest + self.ahead:
            return "foreign"
        channels = struct.unpack_from(f"<{count}d", data, 56)
        if data[-16:] != siphash(data[:-16], OPEN):
            return "corrupted"
        if kind == COMMAND and not all(map(math.isfinite, channels)):
            return "corrupted"
        if kind == STOP and not self.newest < sequence <= self.newest + self.ahead:
            self.stopped = True  # valid whatever its sequence
            return ""
        if self.newest - sequence >= 64:
            return "replayed"
        if sequence in self.came:
            return "duplicated"
        self.came.add(sequence)
        if sequence < self.newest:
            self.counts["lost"] -= 1
            return "reordered"
        self.counts["lost"] += sequence - self.newest - 1
        self.newest = sequence
        if kind == STOP:
            self.stopped = True
        elif not self.stopped:
            self.accepted = channels
        return ""

    def belongs(self, kind: int, count: int, sequence: int) -> bool:
        if self.kind == COMMAND and kind == STOP:
            return count == 0
        if self.kind == COMMAND and kind == ARM:  # a copy of that which opened the session
            return count == 4 and sequence == 1
        return kind == self.kind and count == self.count


@dataclass
class End:
    """A loop, how to speak to it, and which of its channels must be what was accepted last."""

    loop: Loop
    block: str
    wire: Wire
    tell: Callable[[bytes], object]
    sends: Datagram
    outputs: tuple[str, ...]
    first: int
    queues: bool
    """Whether it hears all that was said since it listened last, or the last of it."""

    def listen(self) -> Model:
        """Anew, to what is said from now on."""
        self.loop.reset()
        while self.wire.receive(0.0) is not None:
            pass
        self.loop.state(self.block)["taken"][:] = self.wire.taken()
        resting = (0.0,) * len(self.outputs)
        ahead = int(self.loop.parameter(self.block)["ahead"])
        return Model(self.sends.kind, len(self.outputs), self.first, resting, ahead, {self.first})

    def agrees_with(self, model: Model) -> None:
        assert {name: value(self.loop, f"link.{name}") for name in COUNTED} == model.counts
        np.testing.assert_array_equal([value(self.loop, name) for name in self.outputs], model.accepted)
        assert value(self.loop, "loop.fault") == 0.0


@pytest.fixture(scope="module", params=["controller", "rig", "controller in memory", "rig in memory"])
def side(request: pytest.FixtureRequest) -> Iterator[End]:
    build = controller if request.param.startswith("controller") else rig
    if request.param.endswith("memory"):
        with mailboxes() as (rig_wire, controller_wire):
            near, far = (controller_wire, rig_wire) if build is controller else (rig_wire, controller_wire)
            yield build(near, far.send, False)
    else:
        with sockets() as (wire, far_end):
            yield build(wire, far_end.send, True)


def controller(wire: Wire, tell: Callable[[bytes], object], queues: bool) -> End:
    loop = controller_loop(ControllerEnd(wire), offer_of(), waits=False)
    sends = Datagram(MEASUREMENT, KEY, channels=(1.0, 2.0), state=ARMED)
    return End(loop, "link.receive", wire, tell, sends, ("measured.displacement", "measured.force"), 0, queues)


def rig(wire: Wire, tell: Callable[[bytes], object], queues: bool) -> End:
    loop = rig_loop(rig_end(wire), RigSession(KEY, LONG, wire), waits=False)
    return End(loop, "link.command", wire, tell, Datagram(COMMAND, KEY, channels=(1.0,)), ("command",), 1, queues)


mutations = st.one_of(
    st.just(("none", 0)),
    st.tuples(st.just("cut"), st.integers(0, 100)),
    st.tuples(st.just("longer"), st.integers(1, 40)),
    st.tuples(st.just("flip"), st.integers(0, 8 * 88 - 1)),
    st.tuples(st.just("session"), st.integers(0, 2**64 - 1)),
    st.tuples(st.just("magic"), st.integers(0, 2**32 - 1)),
    st.tuples(st.just("version"), st.integers(0, 255)),
    st.tuples(st.just("kind"), st.integers(0, 255)),
    st.tuples(st.just("channels"), st.integers(0, 200)),
    st.tuples(st.just("not finite"), st.sampled_from([math.nan, math.inf, -math.inf])),
    st.just(("stop", 0)),
    st.just(("arm", 0)),
)
steps = st.one_of(st.just(1), st.integers(-70, 5), st.integers(60, 70), st.integers(FAR - 70, FAR + 70))
events = st.lists(st.tuples(steps, st.floats(-1e3, 1e3), mutations), max_size=4)


def changed(datagram: Datagram, how: str, by: float) -> bytes:
    if how in ("session", "magic", "version", "kind"):
        return replace(datagram, **{how: int(by)}).packed()
    if how == "channels":
        return replace(datagram, channels=(datagram.channels[0],) * int(by)).packed()
    if how == "not finite" and datagram.kind == COMMAND:  # measurements that are not finite are the guard's business
        return replace(datagram, channels=(by, *datagram.channels[1:])).packed()
    if how == "stop":
        return replace(datagram, kind=STOP, channels=()).packed()
    if how == "arm":
        return replace(datagram, kind=ARM, sequence=1, channels=(1.0,) * 4).packed()
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
def test_any_sequence_of_good_and_bad_datagrams_is_judged_as_the_page_says(side: End, ticks: list) -> None:
    model = side.listen()
    newest = 1
    for tick in ticks:
        said = []
        for ahead, number, (how, by) in tick:
            sequence = max(newest + (ahead if ahead < FAR / 2 else ahead - FAR + model.ahead), 2)
            newest = sequence if newest < sequence <= newest + model.ahead else newest
            values = tuple(number + i for i in range(len(side.outputs)))
            said.append(changed(replace(side.sends, sequence=sequence, channels=values), how, by))
        for data in said if side.queues else said[-1:]:
            side.tell(data)
            model.hear(data)
        ended = side.loop.run(1).ended
        side.agrees_with(model)
        assert (ended == STOPPED) == model.stopped
        if model.stopped:
            assert value(side.loop, "rig.state") == IDLE
            return


def heard_anew(side: End) -> Model:
    """An end that is listening and has heard two good datagrams, and its model."""
    model = side.listen()
    for sequence in (2, 3):
        data = replace(side.sends, sequence=sequence).packed()
        side.tell(data)
        model.hear(data)
        side.loop.run(1)
    return model


def test_every_bit_that_turns_and_every_cut_is_counted_and_changes_nothing(side: End) -> None:
    model = heard_anew(side)
    whole = replace(side.sends, sequence=4, channels=tuple(7.0 for _ in side.outputs)).packed()
    expected = dict(model.counts)
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        at = bit // 8
        ahead = 16 <= at < 24 and 1 << (bit - 8 * 16) > model.ahead  # the sequence, which is 4
        foreign = at < 6 or 8 <= at < 16 or ahead
        expected["foreign" if foreign else "truncated" if at < 8 else "corrupted"] += 1
        side.tell(bytes(data))
        side.loop.run(1)
    for length in range(len(whole)):
        expected["truncated"] += 1
        side.tell(whole[:length])
        side.loop.run(1)
    model.counts = expected
    side.agrees_with(model)
    model.hear(whole)
    side.tell(whole)
    side.loop.run(1)
    side.agrees_with(model)  # and what they were made of is still new


def test_what_is_longer_than_any_datagram_is_counted_once_and_changes_nothing(side: End) -> None:
    model = heard_anew(side)
    told = replace(side.sends, sequence=4)
    for data in (replace(told, channels=(7.0,) * 129), replace(told, channels=(7.0,) * 200)):
        side.tell(data.packed())
        side.loop.run(1)
        model.counts["foreign"] += 1
    side.agrees_with(model)
    side.tell(told.packed() + bytes(2000))
    side.loop.run(1)
    assert sum(value(side.loop, f"link.{name}") for name in COUNTED) == sum(model.counts.values()) + 1
    assert [value(side.loop, name) for name in side.outputs] == list(model.accepted)


def test_sequences_of_another_world_change_no_output_that_older_ones_do(side: End) -> None:
    """One as far ahead as may be is new, and every one before it is then old; one further ahead is foreign."""
    model = heard_anew(side)
    new, far = 3 + model.ahead, (4 + model.ahead, 2**53, 2**63 - 1, 2**64 - 1)
    said = [*((sequence, 7.0) for sequence in far), (new, 5.0)]
    for sequence, number in [*said, *((sequence, 7.0) for sequence in (4, 0, new - 64, new - 63, new, *far[1:]))]:
        data = replace(side.sends, sequence=sequence, channels=tuple(number for _ in side.outputs)).packed()
        side.tell(data)
        model.hear(data)
        side.loop.run(1)
    side.agrees_with(model)
    assert model.accepted[0] == 5.0


def test_late_counts_the_ticks_at_which_nothing_new_had_come(side: End) -> None:
    side.listen()
    for sequence in (2, 2, 3, 3, 3):  # two of them new
        side.tell(replace(side.sends, sequence=sequence).packed())
        side.loop.run(1)
    assert value(side.loop, "link.late") == 3.0


def test_measurements_that_are_not_finite_reach_the_guard() -> None:
    with sockets() as (wire, far):
        side = controller(wire, far.send, True)
        side.tell(replace(side.sends, sequence=2, channels=(math.nan, math.inf)).packed())
        side.loop.run(1)
    assert math.isnan(value(side.loop, "measured.displacement"))
    assert value(side.loop, "measured.force") == math.inf
    assert value(side.loop, "link.corrupted") == 0.0
