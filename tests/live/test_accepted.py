"""The judgement on a run after it has ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfreal.definition.acceptance import Acceptance
from halfreal.live.accepted import accepted
from halfreal.runs.run import Run, Signal

STEP = 1e-3
TIME = STEP * np.arange(-500, 2000)
COUNTED = {"pace.overruns": 0.0, "link.late": 0.0}


def run(error: float = 0.01, overruns: int = 0, late: int = 0, **changes) -> Run:
    """Two seconds of a sine after a soft start, with counters that rise in the test, and rose before it."""
    target = np.sin(2 * np.pi * TIME)
    counters = {
        name: Signal("1", 300.0 + np.minimum(np.maximum(np.arange(TIME.size) - 600.0, 0.0), count))
        for name, count in (("pace.overruns", overruns), ("link.late", late))
    }
    return Run(
        title="a run", kind="run", definition={"timing": {"duration": 1.5}}, definition_text="", step=STEP, time=TIME,
        signals={"target": Signal("m", target), "measured.displacement": Signal("m", (1 + error) * target), **counters},
        events=(), outcome="completed", reason="", seed=1, started="",
    )  # fmt: skip


def judged(one: Run, **asked: object):
    return accepted(one, Acceptance(**asked), COUNTED, 2500.0)


def test_a_run_as_it_should_be_says_what_was_looked_at():
    found = judged(run())
    assert found.word == "ACCEPTED"
    assert found.reasons == (
        "the test completed",
        "synchronisation error 1 %, at most 5 % (acceptance.synchronisation)",
        "0 of 1500 ticks not finished before the next was due: 0 %, at most 0.1 % (acceptance.overruns)",
        "0 of 1500 ticks without a new measurement: 0 %, at most 1 % (acceptance.stale)",
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            run(error=0.11),
            "synchronisation error 11 %, more than the allowed 5 % (acceptance.synchronisation)",
        ),
        (run(overruns=3), "3 of 1500 ticks not finished before the next was due: 0.2 %, more than the allowed 0.1 %"),
        (run(late=30), "30 of 1500 ticks without a new measurement: 2 %, more than the allowed 1 % (acceptance.stale)"),
        (replace(run(), outcome="stopped", reason="by the operator"), "was not completed: stopped (by the operator)"),
        (replace(run(), signals={}), "the synchronisation error is not known"),
    ],
    ids=["synchronisation", "overruns", "stale", "stopped", "not recorded"],
)
def test_what_is_not_as_it_should_be_is_told_with_figure_and_limit(given, why):
    found = judged(given)
    assert found.word == "NOT ACCEPTED" and len(found.reasons) == 1
    assert why in found.reasons[0]


def test_a_definition_says_what_it_accepts():
    bad = run(error=0.11, overruns=3, late=30)
    assert judged(bad).word == "NOT ACCEPTED"
    assert judged(bad, synchronisation=0.2, overruns="none", stale=0.05).word == "ACCEPTED"
    assert judged(replace(run(), signals={}), synchronisation="none").word == "ACCEPTED"


def test_counters_that_are_not_on_record_are_those_of_the_loop():
    bare = run()
    bare = replace(
        bare, signals={name: one for name, one in bare.signals.items() if "." in name and "pace" not in name}
    )
    bare = replace(bare, signals={**bare.signals, "target": run().signals["target"]})
    found = accepted(bare, Acceptance(), {"pace.overruns": 25.0, "link.late": 0.0}, 2500.0)
    assert found.word == "NOT ACCEPTED" and "25 of 2500 ticks" in found.reasons[0]


def test_a_slow_test_waits_for_the_rig_and_is_not_judged_by_its_clock():
    slow = replace(run(overruns=100), definition={"timing": {"duration": 1.5}, "slow": {}})
    assert judged(slow).word == "ACCEPTED"


@pytest.mark.parametrize(("measured", "word"), [(0.0, "ACCEPTED"), (1e-6, "ACCEPTED"), (np.nan, "NOT ACCEPTED")])
def test_a_run_in_which_nothing_was_asked_to_move_has_no_error_but_needs_measurements(measured, word):
    still = run()
    signals = {"target": Signal("m", 0.0 * TIME), "measured.displacement": Signal("m", np.full(TIME.size, measured))}
    found = judged(replace(still, signals={**still.signals, **signals}))
    assert found.word == word
    assert ("no motion was commanded" in found.reasons) == (word == "ACCEPTED")
