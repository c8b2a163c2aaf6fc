"""The judgement on a run after it has ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfreal.definition.acceptance import Acceptance
from halfreal.live.accepted import accepted
from halfreal.live.time_kept import TimeKept, stall_events
from halfreal.runs.run import Accepted, Run, Signal, Stalls

STEP = 1e-3
TIME = STEP * np.arange(-500, 2000)
TICKS = 1500.0
SIMULATED, REAL = {"nature": "simulated"}, {"nature": "real"}


def run(error: float = 0.01, late: int = 0) -> Run:
    """Two seconds of a sine after a soft start, with a counter that rises in the test, and rose before it."""
    target = np.sin(2 * np.pi * TIME)
    counter = Signal("1", 300.0 + np.minimum(np.maximum(np.arange(TIME.size) - 600.0, 0.0), late))
    return Run(
        title="a run", kind="run", definition={"timing": {"duration": 1.5}}, definition_text="", step=STEP, time=TIME,
        signals={"target": Signal("m", target), "measured.displacement": Signal("m", (1 + error) * target),
                 "link.late": counter},
        events=(), outcome="completed", reason="", seed=1, started="", rig=SIMULATED,
    )  # fmt: skip


def judged(one: Run, *stalls: Stalls, trip: float = 0.1, **asked: object) -> Accepted:
    return accepted(one, Acceptance(**asked), TimeKept(STEP, TICKS, stalls, trip), (0.0, 2500.0))


def stalls(cause: str, count: int, longest: float = STEP) -> Stalls:
    return Stalls(cause, count, longest, longest + (count - 1) * STEP)


def test_a_run_as_it_should_be_says_what_was_looked_at():
    found = judged(run())
    assert found.word == "ACCEPTED"
    assert found.reasons == (
        "the test completed",
        "synchronisation error 1 %, at most 5 % (acceptance.synchronisation)",
        "0 of 1500 ticks held up by the test's own work: 0 %, at most 0.1 % (acceptance.overruns)",
        "0 of 1500 ticks without a new measurement: 0 %, at most 1 % (acceptance.stale)",
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            run(error=0.11),
            "synchronisation error 11 %, more than the allowed 5 % (acceptance.synchronisation)",
        ),
        (run(late=30), "30 of 1500 ticks without a new measurement: 2 %, more than the allowed 1 % (acceptance.stale)"),
        (replace(run(), outcome="stopped", reason="by the operator"), "was not completed: stopped (by the operator)"),
        (replace(run(), signals={}), "the synchronisation error is not known"),
    ],
    ids=["synchronisation", "stale", "stopped", "not recorded"],
)
def test_what_is_not_as_it_should_be_is_told_with_figure_and_limit(given, why):
    found = judged(given)
    assert found.word == "NOT ACCEPTED" and len(found.reasons) == 1
    assert why in found.reasons[0]


def test_a_definition_says_what_it_accepts():
    bad, own = run(error=0.11, late=30), stalls("own work", 3, 0.05)
    assert judged(bad, own).word == "NOT ACCEPTED"
    off = {"overruns": "none", "longest_stall": "none", "time_lost": "none"}
    found = judged(bad, own, synchronisation=0.2, stale=0.05, **off)
    assert found.word == "ACCEPTED" and "not judged" in found.computer.text
    assert judged(replace(run(), signals={}), synchronisation="none").word == "ACCEPTED"


def test_counters_that_are_not_on_record_are_those_of_the_loop():
    bare = run()
    bare = replace(bare, signals={name: one for name, one in bare.signals.items() if name != "link.late"})
    found = accepted(bare, Acceptance(), TimeKept(STEP, TICKS), (40.0, 2500.0))
    assert found.word == "NOT ACCEPTED" and "40 of 2500 ticks" in found.reasons[0]


def test_a_slow_test_waits_for_the_rig_and_is_not_judged_by_its_clock():
    found = accepted(run(), Acceptance(), None, (0.0, 2500.0))
    assert found.word == "ACCEPTED" and found.computer is None and found.text == ""


def test_the_tests_own_work_is_judged_with_the_test_by_share_longest_stall_and_time_lost():
    assert judged(run(), stalls("own work", 1)).word == "ACCEPTED"
    found = judged(run(), stalls("own work", 3, 0.011))
    assert (found.word, found.test, found.computer.fit) == ("NOT ACCEPTED", "NOT ACCEPTED", True)
    assert found.reasons == (
        "3 of 1500 ticks held up by the test's own work: 0.2 %, more than the allowed 0.1 % (acceptance.overruns)",
        "longest stall 11 ms, more than the allowed 10 ms (acceptance.longest_stall)",
        "time lost 13 ms, 0.867 % of the test, more than the allowed 0.5 % (acceptance.time_lost)",
        "the work of a tick takes too long, or waits in a call: simplify it, or lengthen timing.step",
    )
    assert found.computer.text == "kept time in all 1500 ticks; fit for 1 kHz"


@pytest.mark.parametrize(("rig", "word"), [(SIMULATED, "ACCEPTED"), (REAL, "NOT ACCEPTED"), ({}, "NOT ACCEPTED")])
def test_a_computer_that_is_not_fit_is_apart_from_the_test_and_counts_with_a_real_rig(rig, word):
    given = (stalls("scheduler", 4), stalls("computer", 2, 0.003))
    found = judged(replace(run(), rig=rig), *given)
    assert (found.word, found.test) == (word, "ACCEPTED")
    assert found.text == "Test: ACCEPTED. Computer: held the loop up 6 times, up to 3 ms; not fit for 1 kHz"
    assert (found.because == found.reasons) == (word == "ACCEPTED")
    details = "\n".join(found.computer.details)
    assert "4 by other programs" in details and "2 by the computer" in details and "halfreal doctor" in details
    assert "6 of 1500 ticks held up by the computer: 0.4 %, more than the allowed 0.1 %" in details
    assert found.computer.stalls == given


def test_one_long_stall_is_too_long_though_it_is_one_tick_of_many():
    long = stalls("computer", 1, 0.0657)
    assert "not fit" in judged(run(), long).computer.text
    assert "allowed 10 ms (acceptance.longest_stall)" in "".join(judged(run(), long).computer.details)
    assert "allowed 5 ms" in "".join(judged(run(), stalls("computer", 1, 0.006), trip=0.005).computer.details)
    assert judged(run(), long, longest_stall=0.07, time_lost="none").computer.fit


def test_a_rig_that_is_late_is_the_tests_affair_where_it_is_real():
    late = stalls("rig", 5)
    assert judged(run(), late).word == "ACCEPTED" and judged(run(), late).computer.fit is False
    found = judged(replace(run(), rig=REAL), late)
    assert (found.test, found.computer.fit) == ("NOT ACCEPTED", True)
    assert "held up by the test's own work or its rig" in found.reasons[0]


@pytest.mark.parametrize(("measured", "word"), [(0.0, "ACCEPTED"), (1e-6, "ACCEPTED"), (np.nan, "NOT ACCEPTED")])
def test_a_run_in_which_nothing_was_asked_to_move_has_no_error_but_needs_measurements(measured, word):
    still = run()
    signals = {"target": Signal("m", 0.0 * TIME), "measured.displacement": Signal("m", np.full(TIME.size, measured))}
    found = judged(replace(still, signals={**still.signals, **signals}))
    assert found.word == word
    assert ("no motion was commanded" in found.reasons) == (word == "ACCEPTED")


def test_the_longest_stalls_are_events_in_their_order_and_the_others_are_counted():
    state = {
        "kept_time": np.array([0.5, 0.2, 0.0]),
        "kept_cause": np.array([2.0, 0.0, 0.0]),
        "kept_stall": np.array([3e6, 65.7e6, 0.0]),
        "stalls": np.array([4.0, 0.0, 1.0, 0.0]),
    }
    assert [(one.time, one.text) for one in stall_events(state)] == [
        (0.2, "held up for 65.7 ms by the test's own work"),
        (0.5, "held up for 3 ms by the computer"),
        (0.5, "held up 3 further times in the test, for 3 ms at most"),
    ]
