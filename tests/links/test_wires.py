"""Open ends: mailboxes that are read whole or not at all, ports, and what cannot be opened."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import allocation
from halfreal.kernels import wire as compiled
from halfreal.kernels.datagram import LONGEST
from halfreal.links import shared_memory
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.rig_end import RigSession
from halfreal.links.shared_memory import FOLDER, MailboxWire
from halfreal.links.udp import Udp, UdpListener, UdpWire
from halfreal.links.wires import LinkError, NoWire
from links import ends, icmp
from links.by_hand import ARMED, COMMAND, MEASUREMENT, Datagram
from links.ends import KEY, LONG, SOON, STEP, controller_loop, link, offer_of, rig_end, rig_loop, value

OFFER = offer_of()
MEASURED = Datagram(MEASUREMENT, KEY, 1, (0.5, 500.0), state=ARMED).packed()
Pair = tuple[MailboxWire, MailboxWire]


@pytest.fixture
def mailboxes() -> Iterator[Pair]:
    """The rig's and the controller's."""
    with ends.mailboxes() as both:
        yield both


def words(wire: MailboxWire) -> np.ndarray:
    """The mailbox to the controller as another process sees it."""
    return np.memmap(wire.path, dtype=np.int64, mode="r+")[512:]


# Mailboxes


def test_a_mailbox_is_laid_out_as_the_page_says(mailboxes: Pair):
    rig, controller = mailboxes
    rig.send(b"to the controller")
    controller.send(b"to the rig")
    data = rig.path.read_bytes()
    assert len(data) == 8192
    for start, text in ((0, b"to the rig"), (4096, b"to the controller")):
        assert np.frombuffer(data, np.int64, 2, start).tolist() == [2, len(text)]
        assert data[start + 16 : start + 16 + len(text)] == text
    assert (rig.receive(0.0), controller.receive(0.0)) == (b"to the rig", b"to the controller")
    assert (rig.receive(0.0), controller.receive(0.0)) == (None, None)


def test_a_mailbox_is_not_read_while_it_is_written(mailboxes: Pair):
    rig, controller = mailboxes
    loop = controller_loop(ControllerEnd(controller), OFFER, waits=False)
    rig.send(MEASURED)
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


def test_what_was_replaced_while_it_was_copied_is_not_taken(monkeypatch: pytest.MonkeyPatch):
    """The reader as plain Python; the writer comes between its first and its second look at the counter."""
    counters = iter([4, 72, 6, 6, 88, 6])  # counter, length, counter; and again
    copied: list[int] = []
    monkeypatch.setattr(compiled, "load_word", lambda address: next(counters))
    monkeypatch.setattr(compiled, "copy_words", lambda source, target, length: copied.append(length))
    monkeypatch.setattr(compiled, "fence", lambda: copied.append(0))
    way, taken = np.array([compiled.MAILBOX, -1.0, 1000.0, 2000.0]), np.array([2.0])
    receive = compiled.wire_receive.py_func
    assert (receive(way, taken, 0, 1084), taken[0]) == (-1, 2.0)
    assert (receive(way, taken, 0, 1084), taken[0]) == (88, 6.0)
    assert copied == [72, 0, 88, 0]


def test_a_length_that_cannot_be_brings_nothing_new(mailboxes: Pair):
    rig, controller = mailboxes
    loop = controller_loop(ControllerEnd(controller), OFFER, waits=False)
    box = words(rig)
    for length in (0, 71, 73, -1, 2**62, -(2**63)):
        rig.send(MEASURED)
        box[1] = length
        loop.run(1)
        assert controller.receive(0.0) != MEASURED
    bad = [value(loop, f"link.{name}") for name in ("truncated", "foreign")]
    assert (sum(bad) >= 4.0, value(loop, "link.late")) == (True, 6.0)
    assert value(loop, "measured.displacement") == 0.0


def test_a_writer_that_died_half_way_does_not_block_the_next(mailboxes: Pair):
    rig, controller = mailboxes
    words(rig)[0] |= 1
    rig.send(b"whole")
    assert controller.receive(0.0) == b"whole"


def test_two_loops_that_write_and_read_without_waiting_never_see_half_a_datagram(mailboxes: Pair):
    rig, controller = mailboxes
    end = ControllerEnd(controller)
    end._lease = LONG  # the reader may miss many
    reader = controller_loop(end, OFFER, waits=False, step=SOON)
    writer = rig_loop(rig_end(rig, SOON), RigSession(KEY, LONG, rig), waits=False)
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


@pytest.mark.parametrize("rig", [False, True], ids=["controller", "rig"])
def test_there_is_one_rig_and_one_controller_until_it_goes(mailboxes: Pair, rig: bool):
    name = mailboxes[0].path.name.removeprefix("halfreal-")
    who = "rig" if rig else "controller"
    for _ in range(2):  # who was turned away did not take the place with it
        with pytest.raises(LinkError, match=f"shared memory '{name}' already has a {who}; stop that one, or choose"):
            MailboxWire(name, rig=rig)
    held = mailboxes[0 if rig else 1]
    held.close()
    held.close()  # twice is once
    MailboxWire(name, rig=rig).close()


def test_the_place_is_taken_for_other_processes_too(mailboxes: Pair):
    attempt = (
        "import fcntl, os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDWR)\n"
        "for byte in (0, 1, 2):\n"
        "    try:\n"
        "        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)\n"
        "        print('free')\n"
        "    except BlockingIOError:\n"
        "        print('taken')\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", attempt, mailboxes[0].path], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["taken", "taken", "free"]


def test_there_is_one_place_to_find_a_rig_and_it_goes_with_it():
    name = link("shared memory").name
    with pytest.raises(LinkError, match=r"no rig at .*start it first, e.g. with 'halfreal rig'"):
        MailboxWire(name, rig=False)
    rig = MailboxWire(name, rig=True)
    assert (FOLDER / f"halfreal-{name}").stat().st_size == 8192
    rig.close()
    assert not (FOLDER / f"halfreal-{name}").exists()


def test_a_rig_that_comes_again_finds_its_mailboxes_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One that was killed could not take its file away."""
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    (tmp_path / "halfreal-rig").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "halfreal-rig").chmod(0o600)
    with closing(MailboxWire("rig", rig=True)) as rig, closing(MailboxWire("rig", rig=False)) as controller:
        assert rig.path.read_bytes() == bytes(8192)
        assert (rig.receive(0.0), controller.receive(0.0)) == (None, None)


def test_what_was_in_the_mailbox_before_is_not_new_to_a_controller_that_comes_later(mailboxes: Pair):
    rig, controller = mailboxes
    rig.send(MEASURED)
    controller.close()
    with closing(MailboxWire(rig.path.name.removeprefix("halfreal-"), rig=False)) as later:
        assert later.receive(0.0) is None
        assert later.taken() == 2.0
        rig.send(MEASURED)
        assert later.receive(0.0) == MEASURED


def test_a_file_that_is_no_mailbox_is_no_rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    (tmp_path / "halfreal-small").write_bytes(bytes(100))
    (tmp_path / "halfreal-small").chmod(0o600)
    with pytest.raises(LinkError, match="no rig at shared memory 'small'; start it first"):
        MailboxWire("small", rig=False)
    (tmp_path / "halfreal-folder").mkdir()
    for rig in (False, True):
        with pytest.raises(LinkError, match=r"'folder' .*: Is a directory; .*choose another link\.name"):
            MailboxWire("folder", rig=rig)


# Ports


@pytest.mark.parametrize("host", ["no.such.host.invalid", "..", "x" * 64])
def test_a_host_that_is_not_known_is_told(host: str):
    with pytest.raises(LinkError, match=r"the rig's address '.*:7411' cannot be resolved: .*; check link\.rig"):
        Udp(kind="udp", rig=f"{host}:7411").to_rig()
    with pytest.raises(LinkError, match=r"the rig cannot listen on .*:7411: .*; .*link\.rig"):
        UdpListener((host, 7411))


def test_an_address_without_a_way_to_it_is_told():
    with pytest.raises(
        LinkError, match=r"no route to the rig's address '255\.255\.255\.255:7411': .*; check link\.rig"
    ):
        Udp(kind="udp", rig="255.255.255.255:7411", unauthenticated="nothing is there").to_rig()


def test_a_port_has_one_rig_and_only_on_an_address_of_this_machine():
    with closing(UdpListener(("127.0.0.1", 0))) as rig:
        host, _, port = rig.address.rpartition(":")
        with pytest.raises(LinkError, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*close the other program"):
            UdpListener((host, int(port)))
    with pytest.raises(LinkError, match=r"cannot listen on 192\.0\.2\.1:7411: .*another address in link\.rig"):
        UdpListener(("192.0.2.1", 7411))  # an address for documentation, nobody's


def test_a_wire_to_a_port_where_nobody_is_stays_silent():
    with closing(UdpListener(("127.0.0.1", 0))) as rig:
        address = rig.address
    with closing(Udp(kind="udp", rig=address).to_rig()) as wire:
        for _ in range(3):
            wire.send(b"anybody?")
            assert wire.receive(0.0) is None
        loop = controller_loop(ControllerEnd(wire), OFFER, waits=False)
        loop.run(5)
        assert value(loop, "loop.fault") == 0.0, "it is silence that ends a test"


@pytest.mark.parametrize("waits", [False, True])
def test_a_message_that_the_port_is_closed_takes_nothing_from_a_test(waits: bool):
    """Anybody can send one (ICMP); here the system does, of a port that is closed for a moment."""
    near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with near:
        for end in (near, far):
            end.bind(("127.0.0.1", 0))
        near.connect(far.getsockname())
        near.setblocking(False)
        loop = controller_loop(ControllerEnd(UdpWire(near, "the far end")), OFFER, waits=waits)
        where = far.getsockname()
        far.close()
        near.send(b"anybody?")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
            again.bind(where)
            again.settimeout(10.0)
            again.sendto(MEASURED, near.getsockname())
            loop.run(1)
            assert again.recv(2000)[5] == COMMAND, "the command was not sent"
            assert (value(loop, "loop.fault"), value(loop, "measured.displacement")) == (0.0, 0.5)


@pytest.mark.skipif(os.geteuid() != 0, reason="messages in another's name need root")
def test_no_message_of_the_network_takes_a_datagram_from_a_test():
    """Every sort that Linux reports to a socket, in the far end's name: port, host or network unreachable, …"""
    with ends.sockets() as (wire, far):
        loop = controller_loop(ControllerEnd(wire), OFFER, waits=False)
        far.settimeout(10.0)
        near = wire.socket.getsockname()
        for count, (kind, code) in enumerate([*((3, code) for code in range(16)), (4, 0), (11, 0), (12, 0)], 1):
            far.send(Datagram(MEASUREMENT, KEY, count, (0.5, 500.0), state=ARMED).packed())
            icmp.send_in_the_name_of(far.getsockname(), near, kind, code)
            loop.run(1)
            assert far.recv(2000)[5] == COMMAND, f"a message {kind}/{code} has taken a command"
            icmp.send_in_the_name_of(far.getsockname(), near, kind, code)
            loop.run(1)
            assert far.recv(2000)[5] == COMMAND
            assert (value(loop, "loop.fault"), value(loop, "link.lost")) == (0.0, 0.0)


def test_without_a_limit_of_its_own_a_silent_rig_counts_as_gone_after_the_lease():
    wire = NoWire()
    _, receive = ControllerEnd(wire).blocks(
        ("command",), STEP, waits=False, stale_warn=None, stale_trip=None, offer=OFFER
    )
    assert receive.parameters["trip"] == 1e9  # a lease of a second
    assert "no new measurement for the lease of 1000 ms" in receive.faults[int(receive.parameters["silent"])]


def test_a_session_hears_who_opened_it_and_the_listener_all_others():
    with (
        closing(UdpListener(("127.0.0.1", 0))) as listener,
        closing(Udp(kind="udp", rig=listener.address).to_rig()) as controller,
        closing(Udp(kind="udp", rig=listener.address).to_rig()) as other,
    ):
        controller.send(b"first")
        assert listener.receive(1.0) == b"first"
        with closing(listener.private()) as session:
            for i in range(20):
                other.send(b"other %d" % i)
                controller.send(b"own %d" % i)
            assert [session.receive(1.0) for _ in range(20)] == [b"own %d" % i for i in range(20)]
            assert [listener.receive(1.0) for _ in range(20)] == [b"other %d" % i for i in range(20)]
            assert (session.receive(0.0), listener.receive(0.0)) == (None, None)
            session.send(b"to the controller")
            listener.send(b"to the other")
            assert controller.receive(1.0) == b"to the controller"
            assert other.receive(1.0) == b"to the other"
        controller.send(b"again")
        assert listener.receive(1.0) == b"again"


def test_what_is_longer_than_any_datagram_is_received_cut_but_too_long():
    with ends.sockets() as (wire, far):
        far.send(bytes(5000))
        heard = wire.receive(0.0)
        assert heard is not None and len(heard) == LONGEST + 1


def test_a_wire_that_leads_nowhere_is_silent():
    wire = NoWire()
    wire.send(b"hello")
    assert (wire.receive(0.0), wire.taken(), wire.way()[1]) == (None, 0.0, -1.0)
    loop = controller_loop(ControllerEnd(wire), OFFER, waits=False)
    assert loop.run(3).ticks == 3
    assert value(loop, "link.late") == 3.0


def test_the_way_of_a_socket_is_its_number():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        assert UdpWire(end, "").way().tolist() == [compiled.UDP, float(end.fileno()), 0.0, 0.0]


def test_nothing_is_allocated_at_either_end():
    with ends.loops_of_both_ends() as loops:
        found = allocation.per_tick(loops)
    assert found == dict.fromkeys(["controller", "rig", "controller paced by its rig", "rig in step"], 0.0)
