import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.kernels.memory import WiringError
from halfreal.kernels.tick import COMPLETED, GUARD_FAILED, compiled_run
from kernels import blocks


def closed_loop() -> Loop:
    return Loop([blocks.oscillator(), blocks.passing("guard", "target", "command")], outer=[blocks.lag()], dt=1e-3)


def in_python(ticks: int) -> np.ndarray:
    """The same closed loop, written out."""
    x, v, lagged, force, rows = 1.0, 0.0, 0.0, 0.0, []
    for k in range(ticks):
        v += 1e-3 * (-(30.0**2) * x - force)
        x += 1e-3 * v
        rows.append((k * 1e-3, x, force))
        lagged += 0.1 * (x - lagged)
        force = 10.0 * lagged
    return np.array(rows)


def test_closed_loop_equals_the_same_loop_written_in_python():
    log = closed_loop().run(200, record=["target", "force"]).log
    np.testing.assert_array_equal(log, in_python(200))


def test_measurements_recorded_in_a_tick_are_those_the_controller_saw():
    """The rig's answer to a command is recorded one tick later, not beside the command."""
    log = closed_loop().run(3, record=["command", "force"]).log
    assert log[0, 2] == 0.0
    assert log[1, 2] == 10.0 * 0.1 * log[0, 1]


def test_snapshot_restored_goes_on_to_the_same_bits():
    loop = closed_loop()
    loop.run(50)
    snapshot = loop.vector.copy()
    first = loop.run(100, record=["target", "force"]).log
    loop.vector[:] = snapshot
    np.testing.assert_array_equal(loop.run(100, record=["target", "force"]).log, first)
    loop.reset()
    np.testing.assert_array_equal(loop.run(50, record=["target"]).log[:, 1], in_python(50)[:, 1])


def test_a_prepared_stretch_is_the_same_stretch_however_often_it_is_run():
    plain, often = closed_loop(), closed_loop()
    stretch = often.prepared(7, ("target", "force"))
    for _ in range(3):
        expected = plain.run(7, record=("target", "force")).log
        np.testing.assert_array_equal(stretch(), expected)
        np.testing.assert_array_equal(often.vector, plain.vector)


def test_a_block_called_alone_in_a_row_takes_the_steps_written_in_python():
    loop = closed_loop()
    before, inputs = loop.vector.copy(), np.linspace(0.0, 5.0, 6)[:, None]
    states, outputs, well = loop.calls("virtual", np.tile([1.0, 0.0], (6, 1)), inputs, carried=True)
    x, v, expected = 1.0, 0.0, []
    for force in inputs[:, 0]:
        v += 1e-3 * (-(30.0**2) * x - force)
        x += 1e-3 * v
        expected.append((x, v))
    np.testing.assert_array_equal(states, expected)
    np.testing.assert_array_equal(outputs[:, 0], states[:, 0])
    assert well.all()
    apart, _, _ = loop.calls("virtual", np.tile([1.0, 0.0], (6, 1)), inputs)
    np.testing.assert_array_equal(apart[:, 1], 1e-3 * (-(30.0**2) - inputs[:, 0]))
    np.testing.assert_array_equal(loop.vector, before)


def test_calls_in_a_row_end_with_a_fault_and_calls_apart_do_not():
    late = Block("late", blocks.code_step, (), (Channel("late", "1"),), {"when": 2.5e-3})
    loop = Loop([late, blocks.passing("guard", "late", "command")], dt=1e-3)
    none = np.zeros((5, 0))
    _, times, well = loop.calls("late", none, none, carried=True)
    np.testing.assert_array_equal(well, [True, True, True, False, False])
    np.testing.assert_array_equal(times[:3, 0], 1e-3 * np.arange(3))
    assert loop.calls("late", none, none)[2].all()


@pytest.mark.parametrize(("times", "ticks"), [(4, 1), (3, 5)])
def test_a_loop_settles_as_if_it_were_run(times, ticks):
    plain, settled = closed_loop(), closed_loop()
    plain.run(times * ticks)
    settled.settle(times, ticks)
    np.testing.assert_array_equal(settled.vector, plain.vector)


def test_a_loop_that_stops_does_not_settle_further():
    def stopping() -> Loop:
        guard = Block("guard", blocks.raising_step, (), (Channel("command", "m"),), {"when": 2.5})
        return Loop([guard], outer=[blocks.clock("rig")], dt=1.0)

    plain, settled = stopping(), stopping()
    plain.run(10)
    settled.settle(10, 1)
    np.testing.assert_array_equal(settled.vector, plain.vector)
    assert settled.state("rig")["calls"] == 3.0


def test_swapping_blocks_compiles_no_loop():
    closed_loop().run(1)
    before = compiled_run.native
    Loop([blocks.clock("guard")], dt=1.0).run(1)
    assert compiled_run.native is before


def test_rig_runs_on_its_own_finer_step():
    loop = Loop(
        [blocks.clock("guard")], inner=[blocks.clock("inner")], outer=[blocks.clock("outer")], dt=1.0, substeps=4
    )
    log = loop.run(3, record=["guard.time", "inner.time", "outer.time", "inner.calls"]).log
    np.testing.assert_allclose(log[:, 1], [0, 1, 2])
    np.testing.assert_allclose(log[:, 2], [0, 1, 2])  # the last of the finer steps ends where the next tick begins
    np.testing.assert_allclose(log[:, 3], [0, 1, 2])
    np.testing.assert_allclose(log[:, 4], [0, 4, 8])


def test_decimated_record_keeps_every_nth_tick_across_stretches():
    loop = Loop([blocks.clock("guard")], dt=1.0)
    times = [row[0] for _ in range(5) for row in loop.run(7, record=["guard.time"], every=3).log]
    assert times == list(range(0, 35, 3))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_exception_in_a_block_is_a_fault_and_never_passes_for_success():
    raising = Block("coupling", blocks.raising_step, (), (Channel("command", "m"),), {"when": 2.5})
    loop = Loop([raising, blocks.clock("guard")], dt=1.0)
    loop.run(3)
    assert loop.vector[loop.index["loop.fault"]] == 0.0
    loop.run(1)
    assert loop.describe(loop.vector[loop.index["loop.fault"]]) == "block 'coupling': it raised an exception"


def test_first_fault_code_stays():
    coded = Block("virtual", blocks.code_step, (), (Channel("a", "s"),), {"when": 2.5}, faults={7: "it has had enough"})
    loop = Loop([coded, blocks.clock("guard")], dt=1.0)
    loop.run(10)
    assert loop.describe(loop.vector[loop.index["loop.fault"]]) == "block 'virtual': it has had enough"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_loop_stops_at_once_when_the_guard_itself_fails():
    guard = Block("guard", blocks.raising_step, (), (Channel("command", "m"),), {"when": 2.5})
    loop = Loop([guard], outer=[blocks.clock("rig")], dt=1.0)
    stretch = loop.run(10)
    assert stretch.ended == GUARD_FAILED
    assert loop.state("rig")["calls"] == 3.0


def test_events_are_the_changes_of_watched_channels():
    coded = Block(
        "guard",
        blocks.clock_step,
        (),
        (Channel("time", "s"), Channel("calls", "1")),
        state={"calls": 0.0},
        watched=("calls",),
    )
    stretch = Loop([coded], dt=1.0).run(3)
    assert stretch.ended == COMPLETED
    assert stretch.events == [(0, "calls", 1.0), (1, "calls", 2.0), (2, "calls", 3.0)]


def test_events_without_room_are_counted():
    coded = Block(
        "guard",
        blocks.clock_step,
        (),
        (Channel("time", "s"), Channel("calls", "1")),
        state={"calls": 0.0},
        watched=("calls",),
    )
    stretch = Loop([coded], dt=1.0).run(10, event_room=4)
    assert (len(stretch.events), stretch.events_lost) == (4, 6)


def test_wiring_errors_name_block_and_channel():
    with pytest.raises(WiringError, match="'guard' reads channel 'nothing'"):
        Loop([blocks.passing("guard", "nothing", "command")], dt=1.0)
    with pytest.raises(WiringError, match=r"'guard\.time' is written twice"):
        Loop([blocks.clock("guard"), blocks.clock("guard")], dt=1.0)


def test_dynamic_state_is_what_one_tick_hands_to_the_next():
    loop = closed_loop()
    names = {loop.index["force"]} | {i for i in range(loop.vector.size) if i >= loop._end_of_bus}
    assert set(loop.dynamic_indices()) == names - {loop.vector.size} - _unused(loop)


def _unused(loop: Loop) -> set[int]:
    """A block without state still has one, unused, entry."""
    return {int(loop._state_at[loop.row("guard")])}
