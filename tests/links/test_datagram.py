"""What compiled blocks put on the wire is what struct makes of the page, bit for bit."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.bytes import store_double
from halfreal.kernels.compile import kernel
from halfreal.kernels.datagram import BUFFER, HEADER, credentials, seal, write_header
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.datagram import Datagram, decode
from halfreal.links.rig_end import RigSession
from links import by_hand
from links.ends import KEY, LONG, STEP, controller_loop, offer_of, rig_end, rig_loop, sockets

WHOLE = st.integers(0, 2**64 - 1)
HALF = st.integers(0, 2**32 - 1)
KEYS = st.binary(min_size=16, max_size=16)
EXACT = st.integers(0, 2**53)
"""Counters in the loop are floats."""


@kernel
def compiled(buffer, values, session, numbers, stamp, words):
    """A whole datagram, as blocks write it."""
    write_header(buffer, words[0], values.size, session, numbers[0], numbers[1], numbers[2], stamp, words[1], words[2])
    for i in range(values.size):
        store_double(buffer + HEADER + 8 * i, values[i])
    return seal(buffer, values.size, session)


@given(
    kind=st.integers(0, 255),
    session=WHOLE,
    key=KEYS,
    sequence=EXACT,
    answers=EXACT,
    tick=st.integers(-(2**53), 2**53),
    timestamp=st.integers(0, 2**63 - 1),
    state=HALF,
    code=HALF,
    channels=st.lists(st.floats(), max_size=192).map(tuple),
)
def test_compiled_datagrams_are_those_of_struct(key, **fields):
    room = np.full(8 * BUFFER + 8, 0xAA, dtype=np.uint8)
    length = compiled(
        room.ctypes.data,
        np.array(fields["channels"], dtype=float),
        credentials(fields["session"], key),
        np.array([fields["sequence"], fields["answers"], fields["tick"]], dtype=float),
        fields["timestamp"],
        np.array([fields["kind"], fields["state"], fields["code"]]),
    )
    assert bytes(room[:length]) == by_hand.Datagram(**fields).packed(key=key)
    assert set(room[length:]) == {0xAA}  # and nothing is written beyond it


@given(
    kind=st.integers(0, 255),
    session=WHOLE,
    key=KEYS,
    sequence=WHOLE,
    answers=WHOLE,
    tick=st.integers(-(2**63), 2**63 - 1),
    timestamp=WHOLE,
    state=HALF,
    code=HALF,
    channels=st.lists(st.floats(allow_nan=False), max_size=192).map(tuple),
)
def test_datagrams_of_the_handshake_are_those_of_the_page(key, **fields):
    data = Datagram(**fields).encode(key)
    assert data == by_hand.Datagram(**fields).packed(key=key)
    assert decode(data, key) == Datagram(**fields)
    assert decode(data, bytes(byte ^ 1 for byte in key)) is None


def test_no_turned_bit_passes_for_a_datagram():
    whole = Datagram(5, KEY, 7, channels=(1.0, 2.0)).encode()
    for at in range(8 * len(whole)):
        data = bytearray(whole)
        data[at // 8] ^= 1 << at % 8
        assert decode(bytes(data)) is None


@pytest.mark.parametrize("channels", [(), (1.0, 2.0)])
def test_no_part_of_a_datagram_nor_one_with_more_behind_it_passes_for_one(channels):
    data = Datagram(5, KEY, 7, channels=channels).encode()
    for length in range(len(data)):
        assert decode(data[:length]) is None
    assert decode(data + b"\0") is None


def test_what_is_whole_and_of_another_kind_of_link_is_no_datagram():
    for strange in (by_hand.Datagram(5, magic=0x4C524649), by_hand.Datagram(5, version=1)):
        assert decode(strange.packed()) is None
    assert decode(by_hand.Datagram(5, channels=(0.0,) * 398).packed()) is None
    assert decode(by_hand.Datagram(5, channels=(0.0,) * 397).packed()) is not None


def test_commands_of_the_loop_are_those_of_the_page():
    with sockets() as (wire, far):
        loop = controller_loop(ControllerEnd(wire), offer_of(), waits=False, mode=4.0)
        loop.vector[0] = -2.0  # the tick
        before = -math.inf
        for tick, sequence in ((-2, 2), (-1, 3), (0, 4), (1, 5)):
            loop.run(1)
            data = far.recv(2000)
            heard = by_hand.unpacked(data)
            assert (heard.kind, heard.session, heard.sequence, heard.tick) == (by_hand.COMMAND, KEY, sequence, tick)
            assert (heard.state, heard.code) == (4, 0)
            assert heard.channels == (1e-6 * (tick * STEP),)
            assert heard.timestamp > before
            assert data == heard.packed()
            before = heard.timestamp


def test_measurements_of_the_loop_are_those_of_the_page():
    with sockets() as (wire, far):
        loop = rig_loop(rig_end(wire), RigSession(KEY, LONG, wire), waits=False)
        for sequence, tick, position in ((2, 40, 0.5), (3, 41, -0.25), (7, 45, 1e-9)):
            far.send(by_hand.Datagram(by_hand.COMMAND, KEY, sequence, (position,), tick=tick).packed())
            loop.run(1)
            data = far.recv(2000)
            heard = by_hand.unpacked(data)
            assert (heard.kind, heard.session, heard.answers) == (by_hand.MEASUREMENT, KEY, sequence)
            assert heard.tick == tick + 1
            assert (heard.state, heard.code) == (by_hand.ARMED, 0)
            assert heard.channels == (position, 1000.0 * position)
            assert data == heard.packed()


def test_the_largest_and_smallest_numbers_go_through_unchanged():
    """Channels are eight bytes, whatever they stand for."""
    with sockets() as (wire, far):
        loop = rig_loop(rig_end(wire), RigSession(KEY, LONG, wire), waits=False)
        for sequence, number in enumerate((5e-324, 1.7976931348623157e308, -0.0), start=2):
            far.send(by_hand.Datagram(by_hand.COMMAND, KEY, sequence, (number,)).packed())
            loop.run(1)
            assert struct.pack("<d", by_hand.unpacked(far.recv(2000)).channels[0]) == struct.pack("<d", number)
