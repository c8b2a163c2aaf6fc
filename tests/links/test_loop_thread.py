"""What the thread of a loop asks of the kernel in a tick: to send, to receive, to sleep, and nothing else.

That blocks allocate nothing is tested with each of them (``allocation.py``).
"""

from contextlib import ExitStack

import pytest

from halfreal.kernels.loop import Loop
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.pace import pace
from links.ends import STEP, mailboxes, offer_of, ramp, sockets
from links.thread_counts import counted, why_not

TICKS = 200
SPIN = 5e-5


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "counted here")
@pytest.mark.parametrize(
    ("medium", "each"), [("udp", {"sendto": TICKS, "recvfrom": TICKS}), ("shared memory", {})], ids=["udp", "memory"]
)
def test_a_tick_sends_receives_and_sleeps_and_does_nothing_else(medium, each):
    with ExitStack() as kept:
        wire = kept.enter_context(sockets())[0] if medium == "udp" else kept.enter_context(mailboxes())[1]
        send, receive = ControllerEnd(wire).blocks(
            ("command",), STEP, waits=False, stale_warn=None, stale_trip=None, offer=offer_of()
        )
        loop = Loop([ramp()], outer=[send, pace(STEP, SPIN, "hold", waits=True), receive], dt=STEP)
        found = counted(loop, TICKS, ("command", "measured.force"))
    slept = found.calls.pop("clock_nanosleep", 0)
    assert slept <= 2 * TICKS  # until the next tick; after a late one also until the command may leave (spacing.py)
    assert dict(found.calls) == each
    assert found.major_faults == 0
    assert found.minor_faults < TICKS / 20  # none that belongs to a tick
    assert found.voluntary_switches <= 2 * (slept + found.calls.total()) + 10  # each call waits for the counter, too
