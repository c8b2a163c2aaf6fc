"""Identification experiments on the virtual rig of the strut-braced wing, through the loop and its limits."""

import numpy as np
import pytest

from halfreal.errors import HalfrealError
from halfreal.identification.experiment import experiment, programme
from halfreal.identification.parameters import fit_parameters
from halfreal.models.excitations import Random, Sine, SteppedSine
from halfreal.models.shaker import Shaker, responses
from rigs.wing import SHAKER, STEP, definition

HZ = np.arange(2.0, 21.0, 2.0)


def predicted(test, shaker, hz, force):
    """D_a/D_c = G_c + G_f F_m/D_c with the measured force: the specimen need not be known."""
    omega = 2 * np.pi * hz
    command, by_force = responses(shaker, test.rig.drive, omega)
    return command * np.exp(-0.5j * omega * STEP) - by_force * force


def test_the_shaker_is_identified_with_an_unknown_wing_on_it():
    test = definition()
    measured = experiment(test, SteppedSine(displacement=0.5e-3, frequencies=HZ, dwell=8.0, ramp=0.5), 8.0 * HZ.size)
    moved, pushed = measured.response("displacement"), measured.response("force")

    def model(v):
        known = {name: SHAKER[name] for name in ("mass", "stiffness", "motor_constant")}
        return predicted(test, Shaker(**known, **v), HZ, pushed.response)

    bounds = {"damping": (0.0, 20.0), "inductance": (0.005, 0.1), "resistance": (0.2, 5.0)}
    found = fit_parameters(model, moved.response, bounds, generations=60)
    assert found.values == pytest.approx({name: SHAKER[name] for name in bounds}, rel=5e-3)


def test_random_excitation_gives_the_same_response():
    test = definition()
    measured = experiment(test, Random(displacement=0.3e-3, frequency=0.5, to=25.0, period=8.0), 64.0)
    moved, pushed = (measured.response(of, window=8.0).between(2.0, 20.0) for of in ("displacement", "force"))
    expected = predicted(test, test.rig.shaker, moved.frequency_hz, pushed.response)
    assert np.median(np.abs(moved.response / expected - 1.0)) < 0.01


def test_the_limits_of_the_test_hold_for_the_experiment():
    guarded = definition(limits={"displacement": {"trip": 1e-3}})
    with pytest.raises(HalfrealError, match="the experiment tripped"):
        experiment(guarded, Sine(displacement=5e-3, frequency=2.0), 4.0)


def test_a_programme_is_a_displacement():
    with pytest.raises(HalfrealError, match="programme is given as force"):
        programme(definition(), Sine(force=1.0, frequency=2.0), 4.0)
