import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.signal

from halfreal.contracts.axes import Axes
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.excitations import silence
from halfreal.rigs.sensors import Sensors
from halfreal.rigs.servo_hydraulic import ServoHydraulic

STEP = 1 / 4096
ONE_AXIS = SimpleNamespace(virtual=SimpleNamespace(axes=1))
"""What of a test the remedy asks for."""
ACTUATOR = {
    "command_gain": 1.0261,
    "valve_gain": 2.1283e13,
    "valve_damping": 425.0,
    "valve_stiffness": 9.9976e4,
    "interaction": 4.2297e6,
    "leakage": 3.3,
}
SPECIMEN = {"mass": [[29.13]], "damping": [[114.2209]], "stiffness": [[1.19e6]]}


def rig(**changed):
    return ServoHydraulic.model_validate(
        {"kind": "servo-hydraulic", "actuator": ACTUATOR, "specimen": SPECIMEN, **changed}
    )


def denominator():
    """A_5 … A_0 of the plant's closed form in the benchmark problem (Silva et al. 2020)."""
    m, c, k = 29.13, 114.2209, 1.19e6
    a1b0, a2, a3, b1, b2 = 2.1283e13, 4.2297e6, 3.3, 425.0, 9.9976e4
    moving = k + c * a3 + a2
    return [
        m,
        c + m * a3 + m * b1,
        moving + (c + m * a3) * b1 + m * b2,
        k * a3 + moving * b1 + (c + m * a3) * b2,
        k * a3 * b1 + moving * b2,
        k * a3 * b2 + a1b0,
    ]


def command_step(p, s, t, u, y):
    y[0] = 1e-3 * math.sin(40.0 * t) + 5e-4 * math.sin(333.0 * t + 1.0)
    return 0


def moved(used, *, ideal=False, ticks=2000):
    """Command, displacement and force of every tick, the latter two after the command was held for a step."""
    source = Block("source", command_step, (), (Channel("command", "m"),))
    loop = Loop(
        [source], [silence("excitation.specimen"), used.block(("command",), STEP, np.zeros(1), ideal=ideal)], dt=STEP
    )
    log = loop.run(ticks, record=["command", "rig.displacement", "rig.force"]).log[:, 1:]
    return log[:-1, 0], log[1:, 1], log[1:, 2]


def test_displacement_is_that_of_the_benchmarks_closed_form_for_a_held_command():
    command, displacement, _ = moved(rig())
    plant = scipy.signal.TransferFunction([1.0261 * 2.1283e13], denominator())
    # scipy holds an input over the step that begins with it, and gives the output at its beginning
    _, expected, _ = scipy.signal.lsim(plant, command, np.arange(command.size) * STEP, interp=False)
    np.testing.assert_allclose(displacement[:-1], expected[1:], rtol=0, atol=1e-9 * np.abs(expected).max())


def test_force_is_what_the_specimen_needs_to_move_so():
    """F/U of the closed form is X/U times m s² + c s + k."""
    command, _, force = moved(rig())
    numerator = 1.0261 * 2.1283e13 * np.array([29.13, 114.2209, 1.19e6])
    plant = scipy.signal.TransferFunction(numerator, denominator())
    _, expected, _ = scipy.signal.lsim(plant, command, np.arange(command.size) * STEP, interp=False)
    np.testing.assert_allclose(force[:-1], expected[1:], rtol=0, atol=1e-9 * np.abs(expected).max())


def test_inverse_is_the_closed_forms_denominator_over_its_numerator():
    np.testing.assert_allclose(rig().inverse(5), np.array(denominator())[::-1] / (1.0261 * 2.1283e13), rtol=1e-8)


def test_converter_holds_whole_steps_within_its_range_and_an_ideal_one_does_nothing():
    """An 18-bit converter over ±3.8 V at 7.89 mm/V, and one that is coarse and short enough to be seen."""
    fine = 2 * 3.8 * 7.89e-3 / 2**18
    converter = {"resolution": fine, "range": 3.8 * 7.89e-3}
    command, exact, _ = moved(rig())
    _, converted, _ = moved(rig(converter=converter))
    assert 0.0 < np.abs(converted - exact).max() < fine
    coarse = rig(converter={"resolution": 2e-4, "range": 6e-4})
    plant = scipy.signal.TransferFunction([1.0261 * 2.1283e13], denominator())
    seen = 2e-4 * np.rint(np.clip(command, -6e-4, 6e-4) / 2e-4)
    _, expected, _ = scipy.signal.lsim(plant, seen, np.arange(command.size) * STEP, interp=False)
    np.testing.assert_allclose(moved(coarse)[1][:-1], expected[1:], rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(moved(coarse, ideal=True)[1], exact)


def test_starts_at_rest_where_it_stands():
    """With the command that holds it there, it stays: x = 2 mm needs g u = x (1 + a₃ β₂ k/a₁β₀)."""
    x0 = np.array([2e-3])
    parts = {**SPECIMEN, "stiffness": [[0.19e6]]}
    parts["elements"] = [{"between": [1], "law": {"kind": "linear", "stiffness": 1e6}}]
    used = rig(specimen=parts)
    hold = x0[0] * used.inverse(0)[0]

    def constant_step(p, s, t, u, y):
        y[0] = p.value
        return 0

    source = Block("source", constant_step, (), (Channel("command", "m"),), {"value": hold})
    loop = Loop([source], [silence("excitation.specimen"), used.block(("command",), STEP, x0, ideal=True)], dt=STEP)
    log = loop.run(500, record=["rig.displacement", "rig.force"]).log[:, 1:]
    np.testing.assert_allclose(log, np.tile([2e-3, 1.19e6 * 2e-3], (500, 1)), rtol=1e-9)


def test_a_specimen_without_mass_is_refused():
    with pytest.raises(ValueError, match="no mass in some direction"):
        rig(specimen={"stiffness": [[1e6]]})


def ramp_step(p, s, t, u, y):
    y[0], y[1] = 3.0 * t, -5.0 * t
    return 0


def test_a_late_sensor_gives_what_was_so_much_earlier_also_between_steps():
    source = Block("source", ramp_step, (), (Channel("rig.displacement", "m"), Channel("rig.force", "N")))
    sensors = Sensors.model_validate({"force": {"delay": 1.5e-3}})
    loop = Loop([source, sensors.block(Axes.numbered(1), 1, np.zeros(2), ideal=True, dt=1e-3)], dt=1e-3)
    log = loop.run(20, record=["measured.displacement", "measured.force"]).log
    np.testing.assert_allclose(log[2:, 1], 3.0 * log[2:, 0], rtol=1e-12)
    np.testing.assert_allclose(log[2:, 2], -5.0 * (log[2:, 0] - 1.5e-3), rtol=1e-12)
    np.testing.assert_allclose(log[:2, 2], [0.0, 0.0], atol=1e-15)


def test_an_inner_loop_with_too_much_gain_is_told_with_its_limit():
    """Where the closed form's denominator, A_0 rising with the gain, has its first root right of the axis."""
    told = rig(actuator={**ACTUATOR, "valve_gain": 2e14}).stability_remedy(ONE_AXIS)
    assert told.startswith("a lower rig.actuator.valve_gain: it is 2e+14 N/(m s^3)")
    limit = float(re.search(r"stable below (\S+) N", told).group(1))
    for gain, stable in ((0.99 * limit, True), (1.01 * limit, False)):
        *first, last = denominator()
        roots = np.roots([*first, last + gain - ACTUATOR["valve_gain"]])
        assert (roots.real.max() < 0.0) == stable


def test_a_specimen_that_no_gain_holds_is_told():
    specimen = {"mass": [[29.13]], "damping": [[-1e5]], "stiffness": [[1.19e6]]}
    assert "for any rig.actuator.valve_gain" in rig(specimen=specimen).stability_remedy(ONE_AXIS)
