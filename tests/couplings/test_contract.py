"""What couplings say of themselves, beside what their own tests show."""

import numpy as np
import pytest

import halfreal
from halfreal.couplings.adaptive_forward_prediction import AdaptiveForwardPrediction
from halfreal.couplings.direct import Direct
from halfreal.couplings.force_prediction import ForcePrediction
from halfreal.couplings.forward_prediction import ForwardPrediction, weights
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.kalman_filter import KalmanFilter
from halfreal.couplings.linear_controller import LinearController
from halfreal.couplings.model_inverse import ModelInverse
from halfreal.kernels.block import names
from halfreal.runs.build import context_of

FORWARD = ForwardPrediction(kind="forward prediction", prediction=9e-3)
INVERSE = ModelInverse(kind="model inverse", coefficients=[1.0, 0.01])
CONTROLLER = LinearController(
    kind="linear controller",
    feedback=({"kind": "pi", "proportional": 2.0, "integral": 95.0},),
    filter=KalmanFilter(coefficients=[1.0, 0.01], measurement_noise=1e-5, command_noise=1e-4),
    force_prediction=ForcePrediction(prediction=2e-3),
)


def two_axes(coupling):
    return halfreal.Definition.model_validate(
        {
            "title": "two axes",
            "timing": {"step": 1e-3, "duration": 0.1},
            "virtual": {"mass": np.eye(2), "stiffness": 100.0 * np.eye(2), "interface": [1, 2]},
            "rig": {"specimen": {"stiffness": np.eye(2)}},
            "coupling": coupling,
        }
    )


def test_filter_and_prediction_stand_around_the_coupling():
    context = context_of(two_axes(CONTROLLER))
    filtering, coupling = CONTROLLER.blocks(context)
    assert filtering.inputs == ("measured.displacement.1", "measured.displacement.2", "command.1", "command.2")
    seen = ("filtered.displacement.1", "filtered.displacement.2")
    assert coupling.inputs == ("target.1", "target.2", *seen, "measured.force.1", "measured.force.2")
    assert names(coupling.outputs) == ("command.asked.1", "command.asked.2")
    (predicting,), fed_back = CONTROLLER.feedback_blocks(context)
    assert predicting.inputs == ("measured.force.1", "measured.force.2")
    assert fed_back == names(predicting.outputs) == ("predicted.force.1", "predicted.force.2")


def test_without_them_the_coupling_stands_alone():
    context = context_of(two_axes(INVERSE))
    assert [block.name for block in INVERSE.blocks(context)] == ["coupling"]
    assert INVERSE.feedback_blocks(context) == ([], ("measured.force.1", "measured.force.2"))


def test_prediction_of_the_force_is_given_and_taken_where_there_is_room_for_it():
    assert FORWARD.with_force_prediction(2e-3) is None and FORWARD.with_earlier_forces(2e-3) is FORWARD
    assert INVERSE.with_earlier_forces(2e-3) is INVERSE
    predicted = INVERSE.with_force_prediction(2e-3)
    assert predicted.force_prediction == ForcePrediction(prediction=2e-3)
    assert predicted.with_earlier_forces(0.5e-3).force_prediction.prediction == 1.5e-3
    assert predicted.with_earlier_forces(3e-3).force_prediction.prediction == 0.0
    each = INVERSE.model_copy(update={"force_prediction": ForcePrediction(prediction=[1e-3, 3e-3])})
    np.testing.assert_allclose(each.with_earlier_forces(2e-3).force_prediction.prediction, [0.0, 1e-3])


@pytest.mark.parametrize(
    ("coupling", "expected", "caveat"),
    [
        (Direct(), np.ones(1), ""),
        (FORWARD, weights(3, 12, 9.0), ""),
        (
            AdaptiveForwardPrediction(kind="adaptive forward prediction", prediction=9e-3),
            weights(2, 12, 9.0),
            "the coupling adapts: ρ = 9 ms and order 2, its initial values",
        ),
    ],
    ids=lambda one: getattr(one, "kind", None),
)
def test_weights_of_the_last_targets_are_told(coupling, expected, caveat):
    found = coupling.predictor(1e-3)
    np.testing.assert_allclose(found.weights, expected, rtol=1e-12)
    assert found.caveat == caveat and INVERSE.predictor(1e-3) is None


def test_what_a_coupling_commands_the_rig_in():
    assert FORWARD.gives("displacement") == "displacement" and Direct().gives("force") == "force"
    assert HarmonicLms(frequencies=[8.0]).gives("displacement") == "force"
    assert Direct.follows_forces and Direct.serves_slow_tests and not Direct.compensates
    assert not FORWARD.follows_forces and not FORWARD.serves_slow_tests and FORWARD.compensates
    assert FORWARD.predicts and not ForwardPrediction(kind="forward prediction", prediction=0.0).predicts


def test_only_a_random_drive_without_an_amplitude_needs_limits():
    learning = HarmonicLms(identification_time=9.0)
    assert learning.drive_needs_limits
    assert not HarmonicLms(identification_time=9.0, amplitude=1.0).drive_needs_limits
    assert not HarmonicLms(transfer="model").drive_needs_limits and not FORWARD.drive_needs_limits
