"""Auxiliary channels on the link: they cross it bit for bit, and both ends must have the same number of them."""

from __future__ import annotations

import math
import struct
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.block import Block, Channel, channels
from halfreal.kernels.loop import Loop
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.identity import Identity
from halfreal.links.rig_end import RigEnd, RigSession
from halfreal.links.wires import LinkError
from links import by_hand
from links.by_hand import MEASUREMENT, OFFER, Controller
from links.ends import KEY, LONG, STEP, link, offer_of, ramp, reach, sockets
from links.reference import LAG, Start
from links.reference import LONG as GRANTED
from links.test_handshake import PATIENCE, Answering
from links.test_session import in_background, port

NAMES = ("generator", "pressure", "button")
MEASURED = tuple(Channel(f"measured.{name}", unit) for name, unit in zip(NAMES, ("V", "MPa", "1"), strict=True))
ALL = ("measured.displacement", "measured.force", *(one.name for one in MEASURED))
NUMBERS = st.lists(st.floats(), min_size=5, max_size=5)


def as_bytes(values) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def still_step(p, s, t, u, y):
    return 0


@pytest.fixture(scope="module")
def controller():
    """A loop that receives, the far end of its wire, and how many measurements it was sent."""
    with sockets() as (wire, far):
        offer = replace(offer_of(), auxiliary=np.zeros(3))
        blocks = ControllerEnd(wire).blocks(
            ("command",), STEP, waits=False, stale_warn=None, stale_trip=None, offer=offer, auxiliary=MEASURED
        )
        yield Loop([ramp()], outer=blocks, dt=STEP), far, [0]


@pytest.fixture(scope="module")
def rig():
    """A loop that answers, and the far end of its wire."""
    with sockets() as (wire, far):
        end = RigEnd(1, STEP, wire, "", LONG, auxiliary=[one.name for one in MEASURED])
        session = RigSession(KEY, LONG, wire)
        outputs = (*channels("measured.displacement", "m", 1), *channels("measured.force", "N", 1), *MEASURED)
        command = end.command_block(session, np.zeros(1), waits=False, returns=False, return_time=0.01)
        still = Block("sensors", still_step, (), outputs)
        yield Loop([command], outer=[still, end.answer_block(session)], dt=STEP), far


@given(numbers=NUMBERS)
def test_what_a_rig_measures_comes_out_of_the_controllers_end_bit_for_bit(controller, numbers):
    loop, far, sent = controller
    sent[0] += 1
    far.send(by_hand.Datagram(MEASUREMENT, KEY, sent[0], tuple(numbers), state=by_hand.ARMED).packed())
    loop.run(1)
    far.recv(2000)  # its command
    assert as_bytes([loop.vector[loop.index[name]] for name in ALL]) == as_bytes(numbers)


@given(numbers=NUMBERS)
def test_what_a_rig_measures_goes_out_as_the_page_has_it(rig, numbers):
    loop, far = rig
    loop.vector[[loop.index[name] for name in ALL]] = numbers
    loop.run(1)
    data = far.recv(2000)
    count = struct.unpack_from("<H", data, 6)[0]
    assert (data[5], count, len(data)) == (MEASUREMENT, 5, 72 + 8 * 5)
    assert data[56:-16] == as_bytes(numbers)


def test_a_measurement_with_another_number_of_channels_is_foreign(controller):
    loop, far, sent = controller
    foreign = loop.vector[loop.index["link.foreign"]]
    for count in (2, 4, 6, 192):
        far.send(by_hand.Datagram(MEASUREMENT, KEY, sent[0] + 1, (1.0,) * count, state=by_hand.ARMED).packed())
        loop.run(1)
        far.recv(2000)
    assert loop.vector[loop.index["link.foreign"]] == foreign + 4


@given(
    axes=st.integers(1, 64),
    auxiliary=st.integers(0, 64),
    who=st.sampled_from([None, Identity("real", "our rig, v3")]),
    data=st.data(),
)
def test_every_offer_is_taken_apart_as_the_page_has_it(axes, auxiliary, who, data):
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    measured = data.draw(st.lists(numbers, min_size=2 * axes + auxiliary, max_size=2 * axes + auxiliary))
    limits = data.draw(st.lists(st.floats(min_value=1e-9), min_size=3 * axes, max_size=3 * axes))
    values = (*measured, *limits, *(() if who is None else who.channels()))
    wire = Answering(lambda d: [by_hand.Datagram(OFFER, KEY, 0, values, d.sequence, state=by_hand.IDLE)])
    offer = ControllerEnd(wire).hello(axes, STEP, 0.1, PATIENCE, auxiliary)
    assert wire.said[0].channels == (STEP, float(axes), 0.1, float(auxiliary))
    found = (offer.displacement, offer.force, offer.auxiliary, offer.largest, offer.fastest, offer.furthest)
    assert as_bytes(np.concatenate(found)) == as_bytes((*measured, *limits))
    assert offer.identity == (who or Identity())


@pytest.mark.parametrize("offered", [0, 1, 3, 13])
def test_a_rig_that_offers_another_number_of_channels_is_not_armed(offered):
    values = (0.0,) * (2 + offered) + (1.0,) * 3
    wire = Answering(lambda d: [by_hand.Datagram(OFFER, KEY, 0, values, d.sequence, state=by_hand.IDLE)])
    told = (
        rf"offers {5 + offered} channels where 7 are expected.* 1 axis\(es\), and 2 auxiliary; give both ends the same"
    )
    with pytest.raises(LinkError, match=told):
        ControllerEnd(wire).hello(1, STEP, 0.1, 0.02, 2)
    assert {d.kind for d in wire.said} == {by_hand.HELLO}


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_rig_whose_auxiliary_channel_gives_no_number_is_not_armed(number):
    values = (0.0, 0.0, 1.0, number, 1.0, 1.0, 1.0)
    wire = Answering(lambda d: [by_hand.Datagram(OFFER, KEY, 0, values, d.sequence, state=by_hand.IDLE)])
    with pytest.raises(LinkError, match=r"measures 0, 0, 1, (nan|inf) .*auxiliary channels.*must be finite"):
        ControllerEnd(wire).hello(1, STEP, 0.1, PATIENCE, 2)


@pytest.mark.parametrize("medium", ["udp", "shared memory"])
@pytest.mark.parametrize("asked", [0, 2, 4])
def test_halfreals_rig_refuses_another_number_in_words(medium, asked):
    where = link(medium)
    at = (np.zeros(1), np.zeros(1), np.zeros(3))
    with closing(RigEnd.listen(where, 1, STEP, auxiliary=NAMES)) as rig, closing(reach(where, rig)) as controller:
        with in_background(lambda ended: rig.await_session(lambda: at, ended.is_set)) as opened:
            told = rf"refuses: it measures 3 auxiliary channel\(s\) and the definition {asked}; give both the same"
            with pytest.raises(LinkError, match=told):
                controller.hello(1, STEP, 0.1, PATIENCE, asked)
            assert controller.hello(1, STEP, 0.1, PATIENCE, 3).auxiliary.size == 3
        assert opened == [None]


def test_a_hello_without_the_number_is_refused():
    with closing(RigEnd.listen(link("udp"), 1, STEP)) as rig, Controller(port(rig)) as controller:
        at = (np.zeros(1), np.zeros(1))
        with in_background(lambda ended: rig.await_session(lambda: at, ended.is_set)):
            controller.send(by_hand.Datagram(by_hand.HELLO, sequence=5, channels=(STEP, 1.0, 0.1)))
            assert controller.hear().kind == by_hand.REFUSAL


def test_the_rig_in_c_measures_its_auxiliary_channels_with_the_others(start: Start) -> None:
    rig = start("--in-step", "--auxiliary", "3")
    with Controller(rig.port, STEP, auxiliary=3) as controller:
        offer = controller.arm(GRANTED)
        assert offer.channels == (0.0,) * 5 + (0.25, 1e6, 1.0)
        for k in range(1, 20):
            d = 0.010 * (1.0 - math.exp(-k * STEP / LAG))
            assert controller.command(0.010).channels[2:] == pytest.approx([d, 2 * d, 3 * d], rel=1e-12)


@pytest.mark.parametrize("asked", [0.0, 2.0, 64.0, math.nan])
def test_the_rig_in_c_refuses_another_number(start: Start, asked: float) -> None:
    rig = start("--auxiliary", "3")
    with Controller(rig.port, STEP, auxiliary=3) as controller:
        refusal = controller.hello(auxiliary=asked)
        assert (refusal.kind, refusal.code) == (by_hand.REFUSAL, by_hand.OTHER_AUXILIARY)
        assert refusal.channels == (STEP, 1.0, 3.0)
        assert controller.hello().kind == OFFER
