"""Couplings with one value of a setting for all axes, or one for each."""

import numpy as np
import pytest
from pydantic_core import PydanticCustomError

import halfreal
from couplings.test_axis_filters import filtered
from halfreal.contracts.known import Known
from halfreal.couplings.adaptive_forward_prediction import AdaptiveForwardPrediction
from halfreal.couplings.adaptive_time_series import AdaptiveTimeSeries
from halfreal.couplings.force_prediction import ForcePrediction
from halfreal.couplings.forward_prediction import ForwardPrediction
from halfreal.couplings.linear_controller import LinearController
from halfreal.couplings.model_inverse import ModelInverse
from halfreal.definition.load import from_toml
from halfreal.definition.paths import numbers, with_values
from halfreal.definition.schema import json_schema
from halfreal.definition.write import to_toml
from halfreal.models.structures.structure import Structure

FORWARD = {"kind": "forward prediction", "order": 2, "points": 8}
INVERSE = {"kind": "model inverse", "points": 8}
TWO = Known(virtual=Structure(kind="structure", mass=np.eye(2), stiffness=np.eye(2), interface=[1, 2]))


def predicting(prediction):
    return ForwardPrediction.model_validate({**FORWARD, "prediction": prediction})


def inverse(**given):
    return ModelInverse.model_validate({**INVERSE, **given})


@pytest.mark.parametrize(
    ("each", "alone"),
    [
        (predicting([2e-3, 5e-3]), [predicting(2e-3), predicting(5e-3)]),
        (
            inverse(coefficients=[[1.0, 0.01], [1.1, 0.02]], lead=[0.0, 1e-3]),
            [inverse(coefficients=[1.0, 0.01]), inverse(coefficients=[1.1, 0.02], lead=1e-3)],
        ),
        (
            inverse(coefficients=[1.0, 0.01], lead=[0.0, 1e-3]),
            [inverse(coefficients=[1.0, 0.01]), inverse(coefficients=[1.0, 0.01], lead=1e-3)],
        ),
    ],
    ids=["forward prediction", "model inverse", "lead"],
)
def test_each_axis_goes_its_own_way(each, alone):
    _, found = filtered(each)
    for axis, one in enumerate(alone):
        np.testing.assert_array_equal(found[:, axis], filtered(one)[1][:, axis])


def test_an_adaptive_prediction_begins_on_each_axis_where_it_is_told():
    coupling = AdaptiveForwardPrediction(kind="adaptive forward prediction", prediction=[2e-3, 5e-3])
    block = coupling.block(1e-3, "m", ("target.1", "target.2"), ("x.1", "x.2"))
    np.testing.assert_array_equal(block.state["rho"], [2e-3, 5e-3])
    assert "ρ = 2 ms, 5 ms and order 2" in block.held
    with pytest.raises(ValueError, match=r"shorter than the starting prediction 0\.06 s"):
        AdaptiveForwardPrediction(kind="adaptive forward prediction", prediction=[2e-3, 0.06], longest_prediction=0.05)


def test_one_value_stays_a_number():
    """So that it can be varied, and written, by its place."""
    assert predicting("9.4 ms").prediction == predicting([9.4e-3]).prediction == 9.4e-3
    assert predicting({"unit": "ms", "values": [9.4]}).prediction == pytest.approx(9.4e-3)
    assert isinstance(predicting([9.4e-3]).prediction, float)
    assert 'prediction = "9.4 ms"' in to_toml(predicting(9.4e-3))
    assert inverse(coefficients=[[1.0, 0.01]]).coefficients.shape == (2,)


def test_values_for_each_axis_go_through_files_and_back():
    assert 'prediction = { unit = "s", values = [0.002, 0.005] }' in to_toml(predicting(["2 ms", "5 ms"]))
    each = predicting(["2 ms", "5 ms"])
    assert ForwardPrediction.model_validate(each.model_dump(mode="json")) == each
    rows = inverse(coefficients=[[1.0, 0.01], [1.1, 0.02]])
    assert ModelInverse.model_validate(rows.model_dump(mode="json")) == rows


def test_what_is_neither_is_refused_as_a_number_is():
    for given, told in (("-1 ms", "must be at least 0 s"), ("1 mm", "where s is expected"), ([1e-3, -1e-3], "entry 2")):
        with pytest.raises(ValueError, match=told):
            predicting(given)
    with pytest.raises(ValueError, match="a polynomial of order 1 has no derivative 2"):
        inverse(coefficients=[[1.0, 0.01, 1e-4], [1.1, 0.02, 1e-4]], order=1)


THREE = ForcePrediction(prediction=[1e-3, 2e-3, 3e-3])


@pytest.mark.parametrize(
    ("coupling", "place"),
    [
        (predicting([1e-3, 2e-3, 3e-3]), ("prediction",)),
        (AdaptiveForwardPrediction(kind="adaptive forward prediction", prediction=[1e-3] * 3), ("prediction",)),
        (inverse(coefficients=np.ones((3, 2))), ("coefficients",)),
        (inverse(coefficients=[1.0, 0.01], lead=[1e-3] * 3), ("lead",)),
        (inverse(coefficients=[1.0, 0.01], force_prediction=THREE), ("force_prediction", "prediction")),
        (
            LinearController(
                kind="linear controller", feed_forward=({"kind": "lead", "zero": 1, "pole": 2},), force_prediction=THREE
            ),
            ("force_prediction", "prediction"),
        ),
        (
            AdaptiveTimeSeries(kind="adaptive time series", coefficients=[1.0, 0.01], force_prediction=THREE),
            ("force_prediction", "prediction"),
        ),
    ],
    ids=lambda one: one.kind if hasattr(one, "kind") else ".".join(one),
)
def test_as_many_as_axes_are_wanted(coupling, place):
    with pytest.raises(PydanticCustomError, match="3 of them for 2 axis") as raised:
        coupling.fits(TWO)
    assert raised.value.context["items"][0][0] == place


def test_a_predictor_is_the_same_on_every_axis_or_none():
    assert predicting([2e-3, 5e-3]).predictor(1e-3) is None
    same, one = predicting([2e-3, 2e-3]).predictor(1e-3), predicting(2e-3).predictor(1e-3)
    np.testing.assert_array_equal(same.weights, one.weights)


def test_the_schema_knows_both_forms():
    prediction = json_schema(ForwardPrediction)["properties"]["prediction"]
    assert prediction["description"].endswith("Quantity in s, at least 0 s, or one for each axis.")
    assert {form.get("type") for form in prediction["anyOf"]} == {"string", "array", "object"}


def test_in_a_definition_the_numbers_have_their_places(tmp_path):
    given = {
        "title": "two axes",
        "timing": {"step": 1e-3, "duration": 0.05},
        "virtual": {"mass": np.eye(2), "stiffness": 1e4 * np.eye(2), "interface": [1, 2]},
        "rig": {"specimen": {"stiffness": np.eye(2)}, "actuator": {"kind": "delay", "delay": 3e-3}},
    }
    with pytest.raises(ValueError, match="3 of them for 2 axis"):
        halfreal.Definition.model_validate({**given, "coupling": {**FORWARD, "prediction": [1e-3, 2e-3, 3e-3]}})
    test = halfreal.Definition.model_validate({**given, "coupling": {**FORWARD, "prediction": [3e-3, 2e-3]}})
    assert numbers(test)["coupling.prediction[2]"] == 2e-3
    assert with_values(test, {"coupling.prediction[2]": 4e-3}).coupling == predicting([3e-3, 4e-3])
    assert from_toml(to_toml(test), halfreal.Definition, folder=tmp_path) == test
