"""What compiled blocks put on the wire is what struct and zlib make of the page, bit for bit."""

from __future__ import annotations

import math
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfreal.links.controller_end import ControllerEnd, Offer
from halfreal.links.datagram import Datagram, decode
from halfreal.links.rig_end import RigEnd, RigSession
from links import by_hand
from links.ends import KEY, LONG, STEP, controller_loop, rig_loop, sockets

WHOLE = st.integers(0, 2**64 - 1)
HALF = st.integers(0, 2**32 - 1)


@given(
    kind=st.integers(0, 255),
    key=WHOLE,
    sequence=WHOLE,
    answers=WHOLE,
    tick=st.integers(-(2**63), 2**63 - 1),
    timestamp=WHOLE,
    state=HALF,
    code=HALF,
    channels=st.lists(st.floats(allow_nan=False), max_size=128).map(tuple),
)
def test_datagrams_of_the_handshake_are_those_of_the_page(**fields):
    data = Datagram(**fields).encode()
    assert data == by_hand.Datagram(**fields).packed()
    assert decode(data) == Datagram(**fields)


@given(at=st.integers(0, 8 * 76 - 1))
def test_no_turned_bit_passes_for_a_datagram(at):
    data = bytearray(Datagram(5, KEY, 7, channels=(1.0, 2.0)).encode())
    data[at // 8] ^= 1 << at % 8
    assert decode(bytes(data)) is None


def test_commands_of_the_loop_are_those_of_the_page():
    with sockets() as (wire, far):
        loop = controller_loop(ControllerEnd(wire), Offer(KEY, np.zeros(1), np.zeros(1)), waits=False, mode=4.0)
        loop.vector[0] = -2.0  # the tick
        before = -math.inf
        for tick, sequence in ((-2, 2), (-1, 3), (0, 4), (1, 5)):
            loop.run(1)
            data = far.recv(2000)
            heard = by_hand.unpacked(data)
            assert (heard.kind, heard.key, heard.sequence, heard.tick) == (by_hand.COMMAND, KEY, sequence, tick)
            assert (heard.state, heard.code) == (4, 0)
            assert heard.channels == (1e-6 * (tick * STEP),)
            assert heard.timestamp > before
            assert data == heard.packed()
            before = heard.timestamp


def test_measurements_of_the_loop_are_those_of_the_page():
    with sockets() as (wire, far):
        loop = rig_loop(RigEnd(1, STEP, wire, ""), RigSession(KEY, LONG, wire), waits=False)
        for sequence, tick, position in ((2, 40, 0.5), (3, 41, -0.25), (7, 45, 1e-9)):
            far.send(by_hand.Datagram(by_hand.COMMAND, KEY, sequence, (position,), tick=tick).packed())
            loop.run(1)
            data = far.recv(2000)
            heard = by_hand.unpacked(data)
            assert (heard.kind, heard.key, heard.answers) == (by_hand.MEASUREMENT, KEY, sequence)
            assert heard.tick == tick + 1
            assert (heard.state, heard.code) == (by_hand.ARMED, 0)
            assert heard.channels == (position, 1000.0 * position)
            assert data == heard.packed()


def test_the_largest_and_smallest_numbers_go_through_unchanged():
    """Channels are eight bytes, whatever they stand for."""
    with sockets() as (wire, far):
        loop = rig_loop(RigEnd(1, STEP, wire, ""), RigSession(KEY, LONG, wire), waits=False)
        for sequence, number in enumerate((5e-324, 1.7976931348623157e308, -0.0), start=2):
            far.send(by_hand.Datagram(by_hand.COMMAND, KEY, sequence, (number,)).packed())
            loop.run(1)
            assert struct.pack("<d", by_hand.unpacked(far.recv(2000)).channels[0]) == struct.pack("<d", number)
