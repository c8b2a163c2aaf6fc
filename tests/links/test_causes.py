"""What held a loop up: numbers in, cause out; and every overrun of a test has one cause."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels import thread_account
from halfreal.kernels.modes import ARMED, RUNNING
from halfreal.links import causes, pace
from halfreal.links.causes import CAUSES, COMPUTER, KEPT, OWN_WORK, RIG, SCHEDULER
from links.scripted import Scripted, reader

cause_of = causes.cause_of.py_func
PERIOD = 1_000_000
USUAL = {"allowed": 1000.0, "delayed": 0.0, "waited": 0.0, "gave_way": 0.0, "paused": 0.0}


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        ({"passed": 3020.0, "execution": 3000.0, "ran": 2999.0}, OWN_WORK),
        ({"passed": 1100.0, "execution": 1000.0, "ran": 950.0, "delayed": 100.0}, OWN_WORK),  # it leaves no time
        ({"passed": 3020.0, "execution": 3000.0, "ran": 60.0, "delayed": 2900.0, "gave_way": 1.0}, SCHEDULER),
        ({"passed": 3020.0, "execution": 60.0, "ran": 60.0, "delayed": 2900.0}, SCHEDULER),  # woken, and not run
        ({"passed": 3020.0, "execution": 60.0, "ran": 60.0, "delayed": 40.0, "gave_way": 1.0}, COMPUTER),  # woken late
        ({"passed": 10237.0, "execution": 10200.0, "ran": 118.0}, COMPUTER),  # the host took it away
        ({"passed": 3020.0, "execution": 3000.0, "ran": 60.0, "paused": 1.0}, OWN_WORK),  # a call waited
        ({"passed": 3020.0, "execution": 60.0, "ran": 60.0, "paused": 1.0}, COMPUTER),  # stopped while it slept
        ({"passed": 3020.0, "execution": 3000.0, "ran": 60.0, "delayed": -1.0, "gave_way": 1.0}, SCHEDULER),
        ({"passed": 3020.0, "execution": 3000.0, "ran": 60.0, "delayed": -1.0}, COMPUTER),
        ({"passed": 5000.0, "allowed": 2000.0, "execution": 60.0, "ran": 90.0, "waited": 4940.0}, RIG),
        (
            {"passed": 5000.0, "allowed": 2000.0, "execution": 60.0, "ran": 60.0, "waited": 4940.0, "delayed": 4000.0},
            SCHEDULER,
        ),
        ({"passed": 5000.0, "allowed": 2000.0, "execution": 4000.0, "ran": 60.0, "waited": 1000.0}, COMPUTER),
    ],
)
def test_a_cause_is_what_took_longest_and_own_work_what_no_computer_could_have_done_in_time(found, cause):
    assert CAUSES[cause_of(**USUAL | found)] == CAUSES[cause]


TICKS = st.lists(
    st.tuples(
        st.sampled_from([ARMED, RUNNING, RUNNING]),
        st.integers(0, 3 * PERIOD),
        st.one_of(st.just(0), st.integers(0, 4 * PERIOD)),
        st.one_of(st.just(0), st.integers(0, 4 * PERIOD)),
    ),
    max_size=30,
)
"""Of each tick the mode, and times of own work, of other programs in its place, and of neither."""


@pytest.mark.parametrize("waits", [True, False], ids=["by the clock", "by the rig"])
@given(ticks=TICKS)
def test_causes_add_up_to_the_overruns_of_the_test_and_their_stalls_to_the_time_it_stood_still(waits, ticks):
    with pytest.MonkeyPatch.context() as patch:
        block = pace.pace(1e-9 * PERIOD, 0.0, "hold", waits=waits, mode="guard.mode")
        end = Scripted(block, pace, patch, look=0)
        account = np.zeros(4)

        def read_account(handle: int, buffer: int, found: np.ndarray) -> None:
            found[:] = account

        for name, stand_in in (
            ("read_account", read_account),
            ("cause_of", cause_of),
            ("note_stall", causes.note_stall.py_func),
        ):
            patch.setattr(pace, name, stand_in)
        patch.setattr(pace, "READING", -1.0)  # the account is read in every tick
        end.p.accounts = 1.0
        end.step(0.0)
        overruns, stood, expected = 0, 0, np.zeros(len(CAUSES))
        for mode, own, delayed, rest in ticks:
            end.u[0] = mode
            end.time += own + delayed + rest
            account += [own, delayed, delayed > 0, 0.0]
            begin, before, passed = end.time, end["pace.overruns"], own + delayed + rest
            end.step(0.0)
            if end["pace.overruns"] > before and mode == RUNNING:
                overruns += 1
                stood += PERIOD * (-(-passed // PERIOD) - 1) if waits else passed - PERIOD
                assert not waits or end.time - begin < PERIOD
                if own > 2 * PERIOD or own < 0.9 * PERIOD:  # else what is allowed decides
                    dominant = OWN_WORK if own > 2 * PERIOD else (SCHEDULER if delayed > rest else COMPUTER)
                    expected[dominant] += 1
                    assert end.s.stalls[dominant] >= expected[dominant]
        assert end.s.stalls.sum() == overruns
        assert end.s.stalled.sum() == pytest.approx(stood, abs=1.0)
        assert end.s.longest.max() <= end.s.stalled.sum()
        assert np.count_nonzero(end.s.kept_stall) == min(overruns, KEPT)
        assert end.s.of_test == sum(mode == RUNNING for mode, *_ in ticks) + 1


@pytest.mark.parametrize(
    ("line", "delay"), [("178786 5089046 2\n", 5089046), ("1 0 3\n", 0), ("12\n", -1), ("", -1), ("a b c", -1)]
)
def test_the_run_delay_is_the_second_number_of_a_line(line, delay, monkeypatch):
    monkeypatch.setattr(thread_account, "load8", reader("<B"))
    text = np.frombuffer(line.encode() + bytes(8), dtype=np.uint8)
    assert thread_account.second_number.py_func(text.ctypes.data, len(line)) == delay
