"""Links with a secret: who has it is served; who has not gets no answer, leaves nothing behind, and moves nothing."""

from __future__ import annotations

import random
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from halfreal.kernels.loop import Loop
from halfreal.links.controller_end import ControllerEnd, begin
from halfreal.links.datagram import parse
from halfreal.links.rig_end import RigEnd
from halfreal.links.udp import Udp
from halfreal.links.wires import LinkError
from links.by_hand import (
    ARM,
    ARMED,
    COMMAND,
    HELLO,
    IDLE,
    MEASUREMENT,
    OFFER,
    OPEN,
    STOP,
    Controller,
    Datagram,
    session_key,
    siphash,
)
from links.ends import LEASE, STEP, controller_loop, value
from links.reference import LONG, Process, Start, running
from links.test_session import AT, PATIENCE, follow, in_background, port

SECRET = bytes(range(16))
PAGE = Path(__file__).parents[2] / "docs" / "link.md"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "rig.key"
    path.write_text(SECRET.hex() + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def rig_end(key: Path) -> Iterator[RigEnd]:
    with closing(RigEnd.listen(Udp(kind="udp", rig="127.0.0.1:0", key=str(key), lease=LEASE), 1, STEP)) as end:
        yield end


@contextmanager
def hearing_nothing(controller: Controller) -> Iterator[None]:
    yield
    controller.socket.settimeout(0.0)
    with pytest.raises(BlockingIOError):
        controller.hear()


# halfreal's own ends


def test_a_session_with_a_secret_is_served_from_hello_to_stop(rig_end: RigEnd, key: Path) -> None:
    link = Udp(kind="udp", rig=rig_end.address, key=str(key))
    with closing(ControllerEnd.connect(link)) as controller:
        keys = []
        for _ in range(2):
            with in_background(follow(rig_end, waits=True)) as served:
                offer = controller.hello(1, STEP, LEASE, PATIENCE)
                loop = controller_loop(controller, offer, waits=True, trip=LEASE)
                begin(loop, controller.arm(PATIENCE), controller.wire)
                log = loop.run(50, record=["command", "measured.displacement"]).log
                controller.stop(value(loop, "link.sent"))
            np.testing.assert_array_equal(log[1:, 2], log[:-1, 1])
            assert isinstance(served[0], Loop) and value(served[0], "link.corrupted") == 0.0
            keys.append(offer.key)
            assert SECRET.hex() not in repr(offer) and offer.key.hex() not in repr(offer)
    assert len({*keys, OPEN, SECRET}) == 4, "each session has a key of its own"


def test_a_controller_written_by_hand_with_the_secret_is_served(rig_end: RigEnd) -> None:
    with Controller(port(rig_end), secret=SECRET) as controller, in_background(follow(rig_end, waits=True)):
        controller.arm(LEASE)
        assert controller.command(0.3).channels == (0.3, 300.0)
        assert controller.stop().state == IDLE


@pytest.mark.parametrize("secret", [OPEN, bytes(16 * [7])])
def test_who_has_another_secret_or_none_gets_no_answer(rig_end: RigEnd, secret: bytes) -> None:
    said: list[str] = []

    def work(ended: threading.Event) -> object:
        return rig_end.await_session(lambda: AT, ended.is_set, said.append)

    with (
        Controller(port(rig_end), secret=secret) as stranger,
        Controller(port(rig_end), secret=SECRET) as controller,
        in_background(work) as opened,
        hearing_nothing(stranger),
    ):
        for _ in range(3):
            stranger.send(Datagram(HELLO, sequence=5, channels=stranger.wanted(LEASE)))
            stranger.send(Datagram(ARM, 1, 1, stranger.wanted(LEASE), answers=5))
        assert controller.hello(LEASE).kind == OFFER  # heard after all that
    assert opened == [None]
    assert said == ["a HELLO without this rig's key was ignored, as are further ones"]


def test_of_a_flood_of_hellos_only_those_with_the_key_are_read(
    rig_end: RigEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their tag comes first, which costs a fraction of reading them: a flood does not keep the rig busy."""
    read: list[int] = []

    def noted(data: bytes) -> object:
        read.append(data[5])
        return parse(data)

    monkeypatch.setattr("halfreal.links.rig_end.parse", noted)
    with (
        Controller(port(rig_end), secret=SECRET) as controller,
        Controller(port(rig_end)) as stranger,
        in_background(lambda ended: rig_end.await_session(lambda: AT, ended.is_set)),
    ):
        for i in range(1000):
            stranger.send(Datagram(HELLO, sequence=i, channels=stranger.wanted(LEASE)))
        assert controller.hello(LEASE).kind == OFFER
    assert read == [HELLO]


def test_hellos_of_strangers_new_and_recorded_do_not_keep_the_controller_from_its_rig(rig_end: RigEnd) -> None:
    """A recorded HELLO is answered: it is genuine.  The answer opens nothing, and takes the offer from nobody."""
    with (
        Controller(port(rig_end), secret=SECRET) as controller,
        Controller(port(rig_end)) as stranger,
        in_background(follow(rig_end, waits=True)) as served,
    ):
        recorded = Datagram(HELLO, sequence=11, channels=controller.wanted(LEASE)).packed(key=controller.handshake)
        offer = controller.hello(LEASE)
        answers = []
        for i in range(200):
            stranger.send(Datagram(HELLO, sequence=i, channels=stranger.wanted(LEASE)))
            stranger.send(recorded)
            answers.append(stranger.socket.recv(2000))
            stranger.send(Datagram(ARM, offer.session, 1, stranger.wanted(LEASE), answers=11))
        controller.session, controller.sequence, controller.heard = offer.session, 0, 0
        controller.key = session_key(SECRET, controller.asked, offer.session)
        controller.send(replace(controller.next(ARM, controller.wanted(LEASE)), answers=controller.asked))
        assert controller.measurement().state == ARMED
        assert controller.command(0.3).channels == (0.3, 300.0)
        controller.stop()
    assert {answer[5] for answer in answers} == {OFFER}
    assert isinstance(served[0], Loop)


def test_what_is_not_the_rigs_is_not_heard_by_its_controller(rig_end: RigEnd, key: Path) -> None:
    """Forged answers of the rig's own address: an offer, a refusal, another version."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        forger.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{forger.getsockname()[1]}"
        with closing(ControllerEnd.connect(Udp(kind="udp", rig=address, key=str(key)))) as controller:

            def forge(ended: threading.Event) -> None:
                forger.settimeout(0.05)
                while not ended.is_set():
                    try:
                        data, who = forger.recvfrom(2000)
                    except TimeoutError:
                        continue
                    asked = int.from_bytes(data[16:24], "little")
                    offer = Datagram(OFFER, 5, 0, (0.0, 0.0, 1.0, 1.0, 1.0), answers=asked, state=IDLE)
                    for said in (offer, replace(offer, kind=3, code=1, session=0), replace(offer, version=3)):
                        forger.sendto(said.packed(), who)

            with in_background(forge), pytest.raises(LinkError, match=r"no response .*uses version 3"):
                controller.hello(1, STEP, LEASE, 0.3)


# The rig's end in C


@pytest.fixture
def start_with_key(program: Path, key: Path) -> Iterator[Callable[..., Process]]:
    with running(program) as start:
        yield lambda *options: start("--key", str(key), *options)


def test_ten_thousand_datagrams_without_the_secret_move_the_rig_in_c_nowhere(start_with_key: Start) -> None:
    """Forged, replayed, reflected and flipped, from the controller's own socket; what it measures is its record."""
    rig, chance = start_with_key("--in-step"), random.Random(25)
    with Controller(rig.port, STEP, secret=SECRET) as controller:
        controller.arm(LONG)
        sent, heard, number = [], [], 0
        while number < 10_000:
            true = controller.next(COMMAND, (0.0,)).packed(key=controller.key)
            for _ in range(50):
                wanted = replace(controller.next(COMMAND, (0.1,)), kind=chance.choice((COMMAND, COMMAND, STOP, ARM)))
                controller.sequence -= 1
                if wanted.kind == STOP:
                    wanted = replace(wanted, channels=())
                flipped = bytearray(true)
                flipped[chance.randrange(len(true))] ^= 1 << chance.randrange(8)
                bad_one = chance.choice(
                    [
                        wanted.packed(),
                        wanted.packed(tag=chance.randbytes(16)),
                        wanted.packed(tag=true[-16:]),
                        wanted.packed(key=controller.handshake),
                        bytes(flipped),
                        *sent[-100:][::50],
                        *heard[-1:],
                    ]
                )
                controller.send(bad_one)
                number += 1
            controller.send(true)
            sent.append(true)
            heard.append(controller.socket.recv(2000))
            assert heard[-1][-16:] == siphash(heard[-1][:-16], controller.key)
            assert (heard[-1][5], heard[-1][48]) == (MEASUREMENT, ARMED)
            assert heard[-1][56:72] == bytes(16), "it moved"
    counters = rig.end()
    assert counters["corrupted"] > 1000 and counters["lost"] == 0
    assert counters["accepted"] == 1 + number // 50


@pytest.mark.parametrize("secret", [OPEN, bytes(16 * [7])])
def test_the_rig_in_c_does_not_answer_who_has_another_secret_or_none(start_with_key: Start, secret: bytes) -> None:
    rig = start_with_key()
    with Controller(rig.port, STEP, secret=secret) as stranger, Controller(rig.port, STEP, secret=SECRET) as controller:
        with hearing_nothing(stranger):
            for sequence in range(100):
                stranger.send(Datagram(HELLO, sequence=sequence, channels=stranger.wanted(LONG)))
            assert controller.hello(LONG).kind == OFFER
        controller.arm(LONG)
    assert rig.end()["corrupted"] == 100


def test_the_rig_in_c_refuses_key_files_of_others_and_addresses_that_others_reach(
    program: Path, tmp_path: Path
) -> None:

    def complaint(*options: str) -> str:
        done = subprocess.run([program, "0", *options], capture_output=True, text=True, timeout=20.0, check=False)
        assert done.returncode == 2
        return done.stderr

    path = tmp_path / "key"
    path.write_text(SECRET.hex())
    path.chmod(0o644)
    assert "its mode must be 600" in complaint("--key", str(path))
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    assert "is a link" in complaint("--key", str(tmp_path / "link"))
    for text in ("", "0" * 32, SECRET.hex()[:-1], SECRET.hex() + "00", "x" + SECRET.hex()[1:]):
        path.write_text(text)
        assert "must contain 32 hexadecimal digits" in complaint("--key", str(path))
    assert "could move it" in complaint("--address", "0.0.0.0")
    assert "could move it" in complaint("--address", "0.0.0.0", "--unauthenticated", "")


# The page


def test_the_worked_example_of_the_page_is_right() -> None:
    text = PAGE.read_text()
    example = text[text.index("### A worked example") :]
    said = {name: bytes.fromhex(value) for name, value in re.findall(r"^(\w+(?: \w+)*) +([0-9a-f ]+)$", example, re.M)}
    secret, asked, offered = said["secret"], 0x1112131415161718, 0x2122232425262728
    assert said["key of HELLO"] == session_key(secret, 0, 0)
    assert said["key of the session"] == session_key(secret, asked, offered)
    command = Datagram(COMMAND, offered, 2, (0.001,), answers=1, tick=-100, timestamp=123456789, state=3)
    assert said["COMMAND"] == command.packed(key=said["key of the session"])
