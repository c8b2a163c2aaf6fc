"""The protocol of genericClient as bytes, and what a conversation makes of them."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.sites import mailbox as box
from halfreal.sites.conversation import Conversation, Matrices
from halfreal.sites.generic_client import LARGEST, Action, Header, ProtocolError
from sites.by_hand import COMMIT, DAMPING, DIE, FORCE, INITIAL, MASS, TANGENT, TRIAL, header

K = np.array([[3.0, -1.0], [-2.0, 5.0]])  # not symmetric: that rows and columns are not swapped shows


class Spring:
    """A site that has the rig there at once."""

    def __init__(self, stiffness: np.ndarray) -> None:
        self.stiffness, self.axes = stiffness, len(stiffness)
        self.asked: list[np.ndarray] = []
        self.times: list[float] = []
        self.commits = self.messages = 0
        self.ended: list[int] = []
        self.over = self.taken = False

    def enter(self) -> bool:
        taken, self.taken = self.taken, True
        return not taken

    def ask(self, displacement: tuple[float, ...], time: float) -> None:
        self.asked.append(np.array(displacement))
        self.times.append(time)

    def measured(self, still_there) -> np.ndarray | None:
        return None if self.over else np.concatenate([self.asked[-1], self.stiffness @ self.asked[-1]])

    def heard(self) -> None:
        self.messages += 1

    def committed(self) -> None:
        self.commits += 1

    def ends(self, how: int) -> None:
        self.ended.append(how)


def begun(site: Spring, first: bytes) -> tuple[Conversation, list[str]]:
    said: list[str] = []
    zeros = np.zeros_like(site.stiffness)
    talk = Conversation(site, Matrices(site.stiffness, 2.0 * site.stiffness, zeros), said.append, "client")
    talk.begin(first)
    return talk, said


def message(action: float, displacement: tuple[float, ...] = (), time: float = 0.0, n: int = 2, numbers: int = 16):
    values = np.full(numbers, 7.0)  # padding is anything
    values[0], values[1 : 1 + len(displacement)], values[1 + 3 * n] = action, displacement, time
    return values.tobytes()


def reply(talk: Conversation, data: bytes) -> np.ndarray | None:
    answer = talk.answer(data, lambda: True)
    return None if answer is None else np.frombuffer(answer)


def test_a_step_of_newmark_explicit() -> None:
    site = Spring(K)
    talk, said = begun(site, header(2, 16))
    assert said == ["client connected: 2 degree(s) of freedom, 16 numbers per message"]
    np.testing.assert_array_equal(reply(talk, message(INITIAL))[:4], [3.0, -2.0, -1.0, 5.0], "column by column")
    np.testing.assert_array_equal(reply(talk, message(TANGENT))[:4], K.ravel(order="F"))
    np.testing.assert_array_equal(reply(talk, message(MASS)), np.zeros(16))
    for data in (message(TRIAL, (1.0, 2.0), 0.5), message(DAMPING), message(FORCE)):
        answer = reply(talk, data)
    np.testing.assert_array_equal(answer[:2], K @ [1.0, 2.0])
    assert reply(talk, message(TRIAL, (1.0, 2.0), 0.5)) is None and reply(talk, message(COMMIT)) is None
    assert len(site.asked) == 1 and site.times == [0.5] and site.commits == 1, "what is repeated moves nothing"
    reply(talk, message(TRIAL, (1.0, 2.0 + 1e-15), 0.5))
    assert len(site.asked) == 2
    assert reply(talk, message(DIE)) is None
    assert talk.over and site.ended == [box.GOODBYE] and said[-1] == "client has ended the test"


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (header(3, 16), r"has 3 degree\(s\) of freedom, but the site has 2 axis\(es\)"),
        (header(2, 3), "the client's header is not one of genericClient"),
        (struct.pack(">11i", 2, 2, 2, 0, 1, 0, 0, 0, 2, 0, 16), "a different byte order"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8090\r\n\r\nabcd"[:44], "not one of genericClient|byte order"),
        (header(2, 16)[:40], "has 40 bytes instead of 44"),
        (struct.pack("=11i", 2, 2, 2, 2, 1, 0, 0, 0, 2, 0, 16), "degree"),
        (struct.pack("=11i", 2, 2, 2, 0, 1, 0, 0, 0, 1, 0, 16), "the client requests"),
    ],
)
def test_who_does_not_fit_is_refused_and_named(first: bytes, why: str) -> None:
    site = Spring(K)
    talk, said = begun(site, first)
    assert len(said) == 1 and re.search(f"^client was refused: .*({why})", said[0])
    assert not site.taken, "the site is free for another client"
    if talk.header is not None:
        assert not talk.over
        data = message(FORCE, n=talk.header.sent[0], numbers=talk.header.numbers)
        assert np.isnan(reply(talk, data)).all(), "an analysis of numbers that are none ends; one that waits does not"
    assert site.asked == [] and site.ended == []


def test_a_second_client_is_refused() -> None:
    site = Spring(K)
    begun(site, header(2, 16))
    talk, said = begun(site, header(2, 16))
    assert "this test already had its client" in said[0]
    reply(talk, message(TRIAL, (1.0, 2.0)))
    assert np.isnan(reply(talk, message(FORCE))).all() and site.asked == []


def test_a_displacement_that_is_no_number_ends_the_test_and_is_not_passed_on() -> None:
    site = Spring(K)
    talk, said = begun(site, header(2, 16))
    reply(talk, message(TRIAL, (1.0, np.nan)))
    assert site.asked == [] and site.ended == [box.NOT_FINITE] and "not finite" in said[-1]
    assert np.isnan(reply(talk, message(FORCE))).all()


def test_when_the_test_is_over_answers_are_no_numbers() -> None:
    site = Spring(K)
    talk, _ = begun(site, header(2, 16))
    reply(talk, message(TRIAL, (1.0, 2.0)))
    site.over = True
    assert np.isnan(reply(talk, message(FORCE))).all() and not talk.over
    assert np.isnan(reply(talk, message(TANGENT))).all()


def test_a_client_that_goes_without_a_word() -> None:
    site = Spring(K)
    talk, said = begun(site, header(2, 16))
    talk.gone()
    assert talk.over and site.ended == [box.LOST] and "without ending the test" in said[-1]


def test_daq_responses_of_openfresco() -> None:
    first = struct.pack("=11i", 2, 0, 0, 0, 0, 2, 0, 0, 2, 1, 16)
    site = Spring(K)
    talk, _ = begun(site, first)
    values = np.zeros(16)
    values[:3] = 3.0, 1.0, 2.0
    talk.answer(values.tobytes(), lambda: True)
    answer = reply(talk, message(Action.GET_DAQ))
    np.testing.assert_array_equal(answer[:5], [1.0, 2.0, *(K @ [1.0, 2.0]), 0.0])


@given(st.binary(max_size=64))
def test_any_bytes_are_a_header_or_an_error(data: bytes) -> None:
    try:
        found = Header.read(data)
    except ProtocolError:
        return
    assert 1 <= found.numbers <= LARGEST and sum(found.sent) < found.numbers


@given(st.binary(min_size=128, max_size=128), st.booleans())
def test_any_message_is_taken_or_an_error(data: bytes, served: bool) -> None:
    site = Spring(K)
    site.taken = not served
    site.asked.append(np.zeros(2))
    talk, _ = begun(site, header(2, 16))
    answer = talk.answer(data, lambda: True)
    assert answer is None or len(answer) == 128
    assert all(np.isfinite(one).all() for one in site.asked)
    assert served or len(site.asked) == 1


@given(
    st.lists(st.floats(-1e3, 1e3, width=64), min_size=2, max_size=2),
    st.floats(0.0, 1e6),
    st.integers(9, 64),
)
def test_what_is_sent_is_what_is_read(displacement: list[float], time: float, numbers: int) -> None:
    read = Header.read(header(2, numbers)).message(message(TRIAL, tuple(displacement), time, 2, numbers))
    np.testing.assert_array_equal(read.displacement, displacement)
    assert read.action is Action.SET_TRIAL and read.time == time


@given(st.integers(0, 200).filter(lambda size: size != 128))
def test_messages_of_another_size_are_refused(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"has {size} bytes instead of 128"):
        Header.read(header(2, 16)).message(bytes(size))
