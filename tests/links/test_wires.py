"""Mailboxes, addresses, and that nothing in the loop allocates."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from pydantic import ValidationError

import allocation
from halfreal.links.controller_end import ControllerEnd, Offer
from halfreal.links.rig_end import RigEnd, RigSession
from halfreal.links.settings import SharedMemory, Udp
from halfreal.links.wires import FOLDER, LinkError, MailboxWire
from links.by_hand import ARMED, MEASUREMENT, Datagram
from links.ends import KEY, LONG, STEP, controller_loop, link, rig_loop, value

OFFER = Offer(KEY, np.zeros(1), np.zeros(1))


@pytest.fixture
def mailboxes() -> Iterator[tuple[MailboxWire, MailboxWire]]:
    """The rig's and the controller's."""
    name = link("shared memory").name
    rig = MailboxWire(name, rig=True)
    controller = MailboxWire(name, rig=False)
    yield rig, controller
    controller.close()
    rig.close()


def words(wire: MailboxWire) -> np.ndarray:
    """The mailbox to the controller as another process sees it."""
    return np.memmap(wire.path, dtype=np.int64, mode="r+")[512:]


def test_a_mailbox_is_not_read_while_it_is_written(mailboxes):
    rig, controller = mailboxes
    loop = controller_loop(ControllerEnd(controller), OFFER, waits=False)
    rig.send(Datagram(MEASUREMENT, KEY, 1, (0.5, 500.0), state=ARMED).packed())
    box = words(rig)
    box[0] += 1  # odd
    loop.run(3)
    assert value(loop, "link.late") == 3.0
    assert value(loop, "measured.displacement") == 0.0
    box[0] += 1
    loop.run(1)
    assert value(loop, "measured.displacement") == 0.5
    assert controller.receive(0.0) is not None  # Python keeps its own account
    box[0] += 1
    assert controller.receive(0.0) is None


def test_a_length_that_cannot_be_brings_nothing_new(mailboxes):
    rig, controller = mailboxes
    loop = controller_loop(ControllerEnd(controller), OFFER, waits=False)
    box = words(rig)
    for length in (0, 59, 61, -1, 2**62, -(2**63)):
        rig.send(Datagram(MEASUREMENT, KEY, 1, (0.5, 500.0), state=ARMED).packed())
        box[1] = length
        loop.run(1)
    assert value(loop, "link.truncated") >= 3.0
    assert value(loop, "measured.displacement") == 0.0


def test_a_writer_that_died_half_way_does_not_block_the_next(mailboxes):
    rig, controller = mailboxes
    words(rig)[0] |= 1
    rig.send(b"whole")
    assert controller.receive(0.0) == b"whole"


def test_two_loops_that_write_and_read_without_waiting_never_see_half_a_datagram(mailboxes):
    rig, controller = mailboxes
    reader = controller_loop(ControllerEnd(controller), OFFER, waits=False)
    writer = rig_loop(RigEnd(1, STEP, rig, ""), RigSession(KEY, LONG, rig), waits=False)
    for loop in (reader, writer):
        loop.run(1)
    thread = threading.Thread(target=writer.run, args=(100_000,))
    thread.start()
    reader.run(100_000)
    thread.join()
    reader.run(1)
    for loop in (reader, writer):
        assert [value(loop, f"link.{name}") for name in ("corrupted", "truncated", "foreign")] == [0.0, 0.0, 0.0]
    assert value(reader, "link.lag") >= 0.0


def test_there_is_one_rig_and_one_place_to_find_it():
    name = link("shared memory").name
    with pytest.raises(LinkError, match="halfreal rig"):
        MailboxWire(name, rig=False)
    rig = MailboxWire(name, rig=True)
    assert (FOLDER / f"halfreal-{name}").stat().st_size == 8192
    rig.close()
    assert not (FOLDER / f"halfreal-{name}").exists()


@pytest.mark.parametrize("rig", ["", "7411", "host:", "host:port", "host:-1", "host:65536", ":7411"])
def test_an_address_that_is_none_is_refused(rig):
    with pytest.raises(ValidationError, match=r"host:port, such as '127\.0\.0\.1:7411'"):
        Udp(kind="udp", rig=rig)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "ä", "x" * 65])
def test_a_name_that_is_no_plain_one_is_refused(name):
    with pytest.raises(ValidationError, match="letters, digits"):
        SharedMemory(kind="shared memory", name=name)


def test_nothing_is_allocated_at_either_end():
    assert allocation.per_tick("links.ends:loops_of_both_ends") == {"controller": 0.0, "rig": 0.0}
