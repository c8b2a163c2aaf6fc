"""The controller's side of the handshake, with a rig that answers as the test wants it to."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from halfreal.kernels.datagram import credentials
from halfreal.links import controller_end
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.identity import Identity
from halfreal.links.wires import LinkError, NoWire
from links.by_hand import (
    ARM,
    ARMED,
    HELLO,
    IDLE,
    MEASUREMENT,
    OFFER,
    OWN_LIMIT,
    REFUSAL,
    SAFE,
    STOP,
    Datagram,
    unpacked,
)

STEP, LEASE, PATIENCE = 1e-3, 0.1, 20.0
KEY = 0x1234_5678_9ABC_DEF1


class Answering(NoWire):
    """A wire at whose other end a function answers each datagram with others."""

    address = "the far end"

    def __init__(self, answer: Callable[[Datagram], list[Datagram]]) -> None:
        self.answer = answer
        self.said: list[Datagram] = []
        self.waiting: list[bytes] = []

    def send(self, data: bytes) -> None:
        self.said.append(unpacked(data))
        self.waiting += [datagram.packed() for datagram in self.answer(self.said[-1])]

    def receive(self, seconds: float) -> bytes | None:
        return self.waiting.pop(0) if self.waiting else None


def offered(
    hello: Datagram, session: int = KEY, channels: tuple[float, ...] = (0.25, 250.0, 0.5, 0.2, 0.01)
) -> Datagram:
    return Datagram(OFFER, session, 0, channels, hello.sequence, state=IDLE)


def measured(state: int = ARMED, code: int = 0, **other: Any) -> Datagram:
    first = Datagram(MEASUREMENT, KEY, 1, (0.25, 250.0), answers=1, state=state, code=code)
    return replace(first, **other)


def hello(answer: Callable[[Datagram], list[Datagram]], patience: float = PATIENCE) -> controller_end.Offer:
    return ControllerEnd(Answering(answer)).hello(1, STEP, LEASE, patience)


def armed(answer: Callable[[Datagram], list[Datagram]], patience: float = PATIENCE) -> int:
    """Sequence of the measurement that answers ARM."""
    end = ControllerEnd(Answering(lambda d: [offered(d)] if d.kind == HELLO else answer(d)))
    end.hello(1, STEP, LEASE, patience)
    return end.arm(patience)


def in_doubles(text: bytes) -> tuple[float, ...]:
    """A name as docs/link.md has it: twelve channels of eight bytes."""
    return struct.unpack("<12d", text.ljust(96, b"\0"))


@pytest.mark.parametrize(
    ("channels", "nature", "name"),
    [
        ((1.0, *in_doubles(b"halfreal 0.1.0: a test")), "simulated", "halfreal 0.1.0: a test"),
        ((2.0, *in_doubles("Prüfstand 7, v2".encode())), "real", "Prüfstand 7, v2"),
        ((2.0, *in_doubles(b"x" * 96)), "real", "x" * 96),
        ((3.0, *in_doubles(b"a\x1b[31mb\xff\xc3")), "unknown", "a[31mb"),
        ((math.nan, *[math.nan] * 12), "unknown", ""),
        ((), "unknown", ""),
    ],
    ids=["simulated", "real", "full", "neither, with rubbish", "not a number", "a rig from before it was asked"],
)
def test_who_the_rig_is(channels, nature, name):
    wire = Answering(lambda d: [replace(offered(d), channels=(*offered(d).channels, *channels))])
    offer = ControllerEnd(wire).hello(1, STEP, LEASE, PATIENCE)
    assert wire.said[0].code == 1  # it asks
    assert offer.identity.nature == nature
    assert offer.identity.name.startswith(name) and offer.identity.name.isprintable()
    assert offer.furthest[0] == 0.01


@pytest.mark.parametrize("name", ["short", "ü" * 60, "a\0b", ""])
def test_what_a_rig_says_of_itself_is_heard(name):
    said = Identity("real", name).channels()
    assert len(said) == 13 and all(map(math.isfinite, said))
    heard = Identity.read(said)
    assert heard.nature == "real" and name.replace("\0", "").startswith(heard.name)
    assert len(heard.name.encode()) == min(len(name.replace("\0", "").encode()), 96)


def test_hello_says_step_axes_and_lease():
    wire = Answering(lambda d: [offered(d)])
    offer = ControllerEnd(wire).hello(1, STEP, LEASE, PATIENCE)
    said = wire.said[0]
    assert (said.kind, said.session, said.channels) == (HELLO, 0, (STEP, 1.0, LEASE, 0.0))
    assert (offer.session, offer.displacement[0], offer.force[0]) == (KEY, 0.25, 250.0)
    assert (offer.largest[0], offer.fastest[0], offer.furthest[0]) == (0.5, 0.2, 0.01)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "busy with another session"),
        (2, r"its step is 0\.002 s and the definition's 0\.001 s; give both the same"),
        (3, r"it has 3 axis\(es\) and the definition 1; give both the same"),
        (4, r"does not grant a lease of 0\.1 s; shorten link.lease"),
        (5, r"it measures 4 auxiliary channel\(s\) and the definition 0; give both the same"),
        (0, "its code is 0"),
        (77, "its code is 77"),
    ],
)
def test_each_refusal_is_told_in_words(code, words):
    with pytest.raises(LinkError, match=f"the rig at the far end refuses: .*{words}"):
        hello(lambda d: [Datagram(REFUSAL, 0, 0, (0.002, 3.0, 4.0), d.sequence, state=IDLE, code=code)])


def test_a_refusal_without_channels_is_one_all_the_same():
    with pytest.raises(LinkError, match="refuses"):
        hello(lambda d: [Datagram(REFUSAL, answers=d.sequence, code=2)])


@pytest.mark.parametrize(
    "other",
    [
        lambda d: offered(Datagram(HELLO, sequence=d.sequence ^ 1), session=7),
        lambda d: Datagram(REFUSAL, answers=d.sequence ^ 1, code=1),
        lambda d: offered(d, session=0),
        lambda d: offered(d, session=7, channels=(0.25,)),
        lambda d: offered(d, session=7, channels=(0.0,) * 10),
        lambda d: Datagram(MEASUREMENT, 7, 5, (0.25, 250.0), d.sequence),
        lambda d: Datagram(HELLO, 7, d.sequence, (0.25, 250.0), d.sequence),
    ],
    ids=["offer to another", "refusal to another", "no session", "one channel", "two axes", "a measurement", "an echo"],
)
def test_what_does_not_answer_the_question_is_not_heard(other):
    assert hello(lambda d: [other(d), offered(d)]).session == KEY


@pytest.mark.parametrize("channels", [(math.nan, 250.0, 1.0, 1.0, 1.0), (0.25, math.inf, 1.0, 1.0, 1.0)])
def test_a_rig_whose_sensors_tell_nothing_is_not_armed(channels):
    with pytest.raises(LinkError, match=r"measures .*(nan|inf).*must be finite: check its sensors"):
        hello(lambda d: [offered(d, channels=channels)])


@pytest.mark.parametrize("limits", [(0.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, math.nan)])
def test_a_rig_whose_own_limits_make_no_sense_is_not_armed(limits):
    with pytest.raises(LinkError, match=r"offers .* as its own limits .*must be greater than 0: check its settings"):
        hello(lambda d: [offered(d, channels=(0.25, 250.0, *limits))])


def test_a_rig_of_another_version_is_told_so():
    with pytest.raises(LinkError, match=r"uses version 2 of the protocol, this program version 4"):
        hello(lambda d: [replace(offered(d), version=2)], patience=0.01)


def test_only_the_answer_to_the_last_question_is_taken(monkeypatch):
    """A slow rig answers the first HELLOs together with the fourth, each with a number of its own: the last counts."""
    monkeypatch.setattr(controller_end, "REPEAT", 1e-3)
    heard: list[Datagram] = []

    def answer(said: Datagram) -> list[Datagram]:
        heard.append(said)
        return [offered(d, session=101 + i) for i, d in enumerate(heard)] if len(heard) >= 4 else []

    assert hello(answer).session == 100 + len(heard)
    assert len({d.sequence for d in heard}) == len(heard)


def test_a_rig_is_given_more_and_more_time_to_answer(monkeypatch):
    """It takes ten times as long as the first question is waited for, each time."""
    monkeypatch.setattr(controller_end, "REPEAT", 1e-3)
    due: list[tuple[float, bytes]] = []

    class Slow(Answering):
        def send(self, data: bytes) -> None:
            due.append((time.monotonic() + 10e-3, offered(unpacked(data)).packed()))

        def receive(self, seconds: float) -> bytes | None:
            return due.pop(0)[1] if due and time.monotonic() >= due[0][0] else None

    assert ControllerEnd(Slow(lambda d: [])).hello(1, STEP, LEASE, PATIENCE).session == KEY


def test_arm_asks_for_what_hello_did_and_is_answered_by_the_first_measurement():
    said: list[Datagram] = []

    def answer(d: Datagram) -> list[Datagram]:
        said.append(d)
        return [measured(session=KEY ^ 1), measured(channels=(0.0,)), offered(d), measured()]

    assert armed(answer) == 1
    assert [(d.kind, d.session, d.sequence, d.channels) for d in said] == [(ARM, KEY, 1, (STEP, 1.0, LEASE, 0.0))]


def test_arm_that_was_lost_is_said_again(monkeypatch):
    monkeypatch.setattr(controller_end, "REPEAT", 1e-3)
    said: list[Datagram] = []

    def answer(d: Datagram) -> list[Datagram]:
        said.append(d)
        return [measured()] if len(said) >= 3 else []

    assert armed(answer) == 1
    assert len(set(said)) == 1  # the very same each time: to a rig that had heard it a duplicate


@pytest.mark.parametrize(("state", "code"), [(SAFE, OWN_LIMIT), (IDLE, 0)])
def test_a_rig_that_is_armed_no_more_is_not_begun_with(state, code):
    with pytest.raises(LinkError, match=rf"state {state}, code {code}.*try again"):
        armed(lambda d: [measured(state, code)])


def test_a_rig_that_does_not_say_it_is_armed_is_not_begun_with():
    with pytest.raises(LinkError, match=r"did not confirm within 0\.05 s that it is armed.*lease"):
        armed(lambda d: [], patience=0.05)


@pytest.mark.parametrize(("sent", "first"), [(0.0, 2), (1.0, 2), (57.0, 58)])
def test_stop_goes_on_with_the_sequences_after_arm_until_it_is_answered(monkeypatch, sent, first):
    monkeypatch.setattr(controller_end, "REPEAT", 1e-3)

    def answer(d: Datagram) -> list[Datagram]:
        if d.kind == HELLO:
            return [offered(d)]
        return [measured(), measured(IDLE, session=7), *([measured(IDLE)] if d.sequence > first else [])]

    wire = Answering(answer)
    end = ControllerEnd(wire)
    end.hello(1, STEP, LEASE, PATIENCE)
    end.stop(sent)
    said = wire.said[1:]
    assert len(said) >= 2
    for sequence, d in enumerate(said, start=first):
        assert (d.kind, d.session, d.sequence, d.channels) == (STOP, KEY, sequence, ())


def test_stop_that_no_one_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(controller_end, "REPEAT", 1e-3)
    end = ControllerEnd(Answering(lambda d: [offered(d)] if d.kind == HELLO else []))
    end.hello(1, STEP, LEASE, PATIENCE)
    end.stop(9.0)
    assert isinstance(end.wire, Answering)
    assert [d.sequence for d in end.wire.said[1:]] == [10, 11, 12]


def test_number_and_key_of_a_session_are_kept_exactly():
    for number in (1, 2**32 - 1, 2**32, 2**64 - 1, KEY):
        key = bytes(range(240, 256))
        parts = credentials(number, key)
        assert b"".join(int(part).to_bytes(4, "little") for part in parts) == number.to_bytes(8, "little") + key
