"""What held a loop up when a tick was not finished in time, from the times of the tick and its thread's account.

A tick is due, the thread is woken, does the tick's work, and should be ready when the next tick is due.  Where it is
not, the time that has passed is split into

    own         time on a processor in which the tick's work was done
    delayed     the thread was ready, and the kernel ran others in its place (run delay)
    waited      the rig's measurement had not come, where the rig sets the pace
    rest        none of these: the thread was woken late, or was at a standstill although no other ran; the host of a
                virtual machine, interrupts, the firmware

and the cause is the test's own work if that alone takes more than ``OWN`` of what is allowed, as no computer would have
been in time, and else what took longest.  Where the thread waited in a call during its work although no clock and no
rig made it (a driver, a file), the rest is the test's own as well.  Where the kernel keeps no run delay, a thread that
had to give way was delayed.
"""

from __future__ import annotations

from ..kernels.compile import kernel

OWN_WORK, SCHEDULER, COMPUTER, RIG = 0, 1, 2, 3
CAUSES = ("own work", "scheduler", "computer", "rig")
"""Names of the causes, in the order of their codes."""
OWN = 0.9
"""Share of the time allowed for a tick: ``halfreal doctor`` accepts a computer that wakes a loop within the rest."""
KEPT = 10
"""The longest stalls, of which the time is kept."""


@kernel
def cause_of(passed, allowed, execution, ran, delayed, waited, gave_way, paused):  # type: ignore[no-untyped-def]
    """The cause of an overrun, from times in one unit.

    ``passed``: since the tick was due, or the rig began it; more than is ``allowed``.  ``execution``: from the wake-up
    to the end of its work, without waiting for the rig.  ``ran``: the time in it on a processor.  ``delayed``: the run
    delay since before the wake-up; less than 0 if not known.  ``waited``: for the rig.  ``gave_way``, ``paused``: how
    often the thread had to give way, and how often it waited in a call of the test's.
    """
    own = min(max(ran, 0.0), execution)
    if own > OWN * allowed:
        return OWN_WORK
    held_up = passed - own
    if delayed < 0.0:
        delayed = held_up if gave_way > 0.0 else 0.0
    delayed = min(delayed, held_up)
    waited = max(waited - delayed, 0.0)
    rest = held_up - delayed - waited
    if rest >= max(delayed, waited):
        return OWN_WORK if paused > 0.0 and 2.0 * (execution - own) > rest else COMPUTER
    return SCHEDULER if delayed >= waited else RIG


@kernel
def note_stall(s, cause, stall, time):  # type: ignore[no-untyped-def]
    """Count a stall of the test [ns], and keep it if it is among the longest."""
    s.stalls[cause] += 1.0
    s.stalled[cause] += stall
    s.longest[cause] = max(s.longest[cause], stall)
    place = 0
    for i in range(KEPT):
        if s.kept_stall[i] < s.kept_stall[place]:
            place = i
    if stall > s.kept_stall[place]:
        s.kept_stall[place] = stall
        s.kept_cause[place] = cause
        s.kept_time[place] = time
