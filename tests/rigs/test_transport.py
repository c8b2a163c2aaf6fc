import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.transport import taps, transport


def time_step(p, s, t, u, y):
    y[0] = t
    return 0


def seen_by_actuator(delay: float, reconstruction: str, substeps: int = 1, ticks: int = 40) -> np.ndarray:
    """What the actuator sees at the beginning of each tick when the command is the time itself."""
    source = Block("guard", time_step, (), (Channel("command", "s"),))
    block = transport(("command",), "s", 1.0, substeps, delay, reconstruction, np.zeros(1))
    loop = Loop([source], inner=[block], dt=1.0, substeps=substeps)
    return loop.run(ticks, record=["rig.command"]).log[:, 1]


@pytest.mark.parametrize("reconstruction", ["linear", "cubic"])
@pytest.mark.parametrize("delay", [1.0, 3.0, 4.7, 9.4])
@pytest.mark.parametrize("substeps", [1, 4])
def test_fractional_delay_is_exact_for_a_ramp(delay, reconstruction, substeps):
    seen = seen_by_actuator(delay, reconstruction, substeps)
    k = np.arange(seen.size)
    np.testing.assert_allclose(seen[15:], k[15:] - delay, rtol=1e-12)


@pytest.mark.parametrize(("delay", "late"), [(1.0, 1.0), (2.0, 2.0), (2.3, 3.0), (2.9, 3.0)])
def test_held_commands_are_a_staircase(delay, late):
    seen = seen_by_actuator(delay, "hold")
    np.testing.assert_allclose(seen[15:], np.arange(seen.size)[15:] - late)


def test_no_command_acts_before_it_is_issued():
    """Whatever the delay, a measurement can know the previous tick's command at the best."""
    for reconstruction in ("hold", "linear", "cubic"):
        np.testing.assert_allclose(seen_by_actuator(0.0, reconstruction)[5:], np.arange(40)[5:] - 1.0)


@given(lag=st.floats(0.0, 30.0), reconstruction=st.sampled_from(["hold", "linear", "cubic"]))
def test_reconstruction_keeps_constants_and_its_order(lag, reconstruction):
    first, weights = taps(lag, reconstruction)
    nodes = first + np.arange(4)
    assert weights.sum() == pytest.approx(1.0)
    order = {"hold": 0, "linear": 1, "cubic": 3}[reconstruction]
    for power in range(1, order + 1):
        assert weights @ (nodes - lag) ** power == pytest.approx(0.0, abs=1e-6)
