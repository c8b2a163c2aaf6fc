"""What the thread of a loop asks of the kernel in a tick: to send, to receive, to sleep, and nothing else.

That blocks allocate nothing is tested with each of them (``allocation.py``); a loop that asks the kernel for memory
would be found here, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from halfreal.kernels.loop import Loop
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.pace import pace
from halfreal.links.rig_end import RigSession
from halfreal.links.udp import UdpWire
from halfreal.links.wires import Wire
from kernels.like_own import fused_like_own
from links.ends import KEY, LONG, STEP, mailboxes, offer_of, ramp, rig_end, rig_loop, sockets
from links.thread_counts import Counts, counted, why_not

TICKS = 200
SPIN = 5e-5
RECORDED = ("command", "measured.force")
MEDIA = pytest.mark.parametrize("medium", ["udp", "shared memory"])
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "counted here")


@contextmanager
def wires(medium: str) -> Iterator[tuple[Wire, Wire]]:
    """The controller's end and the rig's."""
    if medium == "udp":
        with sockets() as (near, far):
            yield near, UdpWire(far, "the near end")
    else:
        with mailboxes() as (rig, controller):
            yield controller, rig


def see_that_no_fault_belongs_to_a_tick(found: Counts) -> None:
    assert found.major_faults == 0
    assert found.minor_faults < TICKS / 20
    assert found.voluntary_switches <= 2 * found.calls.total() + 10  # each call waits for the counter, too


@MEDIA
def test_a_tick_sends_receives_and_sleeps_and_does_nothing_else(medium):
    with wires(medium) as (wire, _):
        send, receive = ControllerEnd(wire).blocks(
            ("command",), STEP, waits=False, stale_warn=None, stale_trip=None, offer=offer_of()
        )
        found = counted(
            Loop([ramp()], outer=[send, pace(STEP, SPIN, "hold", waits=True), receive], dt=STEP), TICKS, RECORDED
        )
    see_that_no_fault_belongs_to_a_tick(found)
    slept = found.calls.pop("clock_nanosleep", 0)
    assert slept <= 2 * TICKS  # until the next tick; after a late one also until the command may leave (spacing.py)
    assert dict(found.calls) == ({"sendto": TICKS, "recvfrom": TICKS} if medium == "udp" else {})


@MEDIA
@pytest.mark.parametrize("end", ["controller", "rig"])
@pytest.mark.parametrize("whole", [False, True], ids=["general", "fused"])
def test_a_tick_in_step_with_its_rig_waits_for_a_datagram_and_does_nothing_else(medium, end, whole, monkeypatch):
    """At both ends.  How often one looks for a datagram, and sleeps until it comes, depends on the other."""
    fused_like_own(monkeypatch)
    with wires(medium) as (near, far):
        send, receive = ControllerEnd(near).blocks(
            ("command",), STEP, waits=True, stale_warn=None, stale_trip=LONG, offer=offer_of()
        )
        paced = pace(STEP, SPIN, "hold", waits=False, idle=("link.idle",))
        ends = {
            "controller": Loop([ramp()], outer=[send, receive, paced], dt=STEP),
            "rig": rig_loop(rig_end(far), RigSession(KEY, LONG, far), waits=True),
        }
        counts = ends.pop(end)
        assert not whole or counts.fuse()
        found = counted(counts, TICKS, RECORDED, other=ends.popitem()[1])
    see_that_no_fault_belongs_to_a_tick(found)
    waited = {"recvfrom", "ppoll", "clock_nanosleep"} if medium == "udp" else {"clock_nanosleep"}
    assert found.calls.pop("sendto", 0) == (TICKS if medium == "udp" else 0)
    assert set(found.calls) <= waited
    assert medium != "udp" or found.calls["recvfrom"] >= TICKS
