"""Uncertain numbers: as they stand in a definition, and what they do to its stability."""

import itertools
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from scipy.stats import binomtest, truncnorm

import halfreal
from examples.wallace2005 import GALLERY, KS, C, critical_delay, definition
from halfreal import two_processes
from halfreal.definition.load import from_json, from_toml, to_toml
from halfreal.definition.paths import numbers
from halfreal.definition.schema import json_schema
from halfreal.definition.uncertainty import Parameter, parameters, quantities
from halfreal.errors import HalfrealError
from halfreal.studies.uncertainty.uncertainty import UncertaintyStudy, _worst_case, study_uncertainty
from halfreal.studies.uncertainty.variation import growth_rate

pytestmark = pytest.mark.xdist_group("uncertainty")
THREE = {
    "rig.actuator.delay": {"low": "8 ms", "high": 11e-3},
    "rig.specimen.stiffness": {"deviation": "100 N/m"},
    "virtual.damping": {"relative": 0.2},
}
FAULTY = """
[uncertainty]
"rig.actuator.dely" = { low = "8 ms", high = "11 ms" }
"rig.actuator.delay" = { low = "8 ms", high = "7 N" }
"rig.specimen.stiffness" = { deviation = "100 N/m", low = "3 N/m" }
"virtual.damping" = { relative = -0.2 }
"virtual.mass" = { low = 2, high = "3 kg" }
"virtual.stiffness" = { high = "1 kN/m", low = "2 kN/m" }
"timing.step" = { low = "anything, as the section has a fault", high = 1 }
"start_up.ramp" = 3
"""


# --- in a definition --------------------------------------------------------------------------------------------------


def test_units_are_those_of_the_place():
    delay, stiffness, damping = parameters(definition(uncertainty=THREE))
    assert (delay.unit, delay.value, delay.low, delay.high) == ("s", 9.4e-3, 8e-3, 11e-3)
    assert (stiffness.unit, stiffness.deviation, stiffness.low, stiffness.high) == ("N/m", 100.0, KS - 400, KS + 400)
    assert (damping.low, damping.high) == pytest.approx((0.8 * C, 1.2 * C), rel=1e-15)


def test_normal_quantiles_are_those_of_the_cut_distribution():
    stiffness = parameters(definition(uncertainty=THREE))[1]
    part = np.array([0.0, 1e-3, 0.2, 0.5, 0.9, 1.0])
    expected = truncnorm(-4, 4, loc=KS, scale=100.0).ppf(part)
    np.testing.assert_allclose(stiffness.quantile(part), expected, rtol=1e-12)


def test_uncertainty_survives_every_way_of_storing():
    test = definition(uncertainty=THREE)
    text = to_toml(test)
    assert from_toml(text, halfreal.Definition, folder=Path()) == test
    assert from_json(halfreal.Definition, test.model_dump_json()) == test
    assert from_json(halfreal.Definition, test.model_dump(mode="json")) == test
    jsonschema.Draft202012Validator(json_schema(halfreal.Definition)).validate(tomllib.loads(text))
    assert parameters(from_toml(text, halfreal.Definition, folder=Path())) == parameters(test)


@pytest.mark.parametrize("path", sorted(GALLERY.parent.glob("*/*.toml")), ids=lambda path: path.stem)
def test_places_are_those_of_the_definition(path):
    test = halfreal.load(path)
    found = quantities({name: getattr(test, name) for name in halfreal.Definition.model_fields})
    assert {place: quantity.value for place, quantity in found.items()} == numbers(test)


def test_all_faults_come_at_once_with_their_lines():
    text = (GALLERY / "uncompensated.toml").read_text().replace('step = "1 ms"', 'step = "0 ms"') + FAULTY
    first = text.splitlines().index("[uncertainty]") + 1
    with pytest.raises(halfreal.DefinitionError) as error:
        from_toml(text, halfreal.Definition, folder=Path(), name="test.toml")
    told = [(fault.place, fault.path, fault.message) for fault in error.value.faults]
    assert told[0][1] == "timing.step"
    expected = [
        (1, '."rig.actuator.dely"', "did you mean 'rig.actuator.delay'?"),
        (2, '."rig.actuator.delay".high', "'7 N' is in N where s is expected"),
        (3, '."rig.specimen.stiffness"', "deviation and low given; write { low"),
        (4, '."virtual.damping".relative', "-0.2 must be greater than 0"),
        (5, '."virtual.mass".low', "2 has no unit where kg is expected"),
        (6, '."virtual.stiffness".high', "'1 kN/m' is not above low, 2 kN/m"),
        (8, '."start_up.ramp"', "is not a number of this definition"),
    ]
    assert [(place, path) for place, path, _ in told[1:]] == [
        (f"test.toml:{first + line}", f"uncertainty{path}") for line, path, _ in expected
    ]
    for (_, _, message), (_, _, words) in zip(told[1:], expected, strict=True):
        assert words in message


def test_interval_beyond_what_the_field_allows_is_a_fault():
    with pytest.raises(ValueError, match="must be at least 0 s"):
        definition(uncertainty={"rig.actuator.delay": {"low": -1e-3, "high": 1e-3}})


# --- what it does to the loop -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def delay_study() -> UncertaintyStudy:
    test = definition(uncertainty={"rig.actuator.delay": {"low": "5 ms", "high": "8 ms"}})
    return study_uncertainty(test, 300)


def test_probability_of_instability_is_that_of_the_critical_delay(delay_study):
    low, high = delay_study.confidence
    assert low < (8e-3 - critical_delay()) / 3e-3 < high
    # strata of a Latin hypercube are 10 µs wide here: all but the one with the critical delay are sure
    assert delay_study.probability == pytest.approx((8e-3 - critical_delay()) / 3e-3, abs=2 / 300)
    np.testing.assert_array_equal(
        delay_study.growth >= 0, delay_study.samples[:, 0] > delay_study.samples[delay_study.growth < 0, 0].max()
    )


def test_confidence_is_that_of_clopper_and_pearson(delay_study):
    exact = binomtest(delay_study.unstable, delay_study.judged).proportion_ci(0.95, method="exact")
    assert delay_study.confidence == pytest.approx((exact.low, exact.high), rel=1e-10)


def test_worst_delay_is_the_longest_and_can_be_written_and_read(delay_study):
    assert delay_study.worst_values == {"rig.actuator.delay": 8e-3}
    worst = from_toml(to_toml(delay_study.worst), halfreal.Definition, folder=Path())
    assert worst.rig.actuator.delay == 8e-3
    assert not worst.uncertainty
    assert growth_rate(worst) == pytest.approx(delay_study.worst_growth, rel=1e-12)
    assert "rig.actuator.delay = 8 ms" in delay_study.summary()


def test_worst_of_two_numbers_is_their_known_corner():
    # less damping and a stiffer specimen both lower the critical delay, which is c/k_s to first order
    uncertain = {"virtual.damping": {"relative": 0.3}, "rig.specimen.stiffness": {"deviation": 100.0}}
    study = study_uncertainty(definition(delay=6e-3, uncertainty=uncertain), 40)
    assert study.worst_values == pytest.approx({"virtual.damping": 0.7 * C, "rig.specimen.stiffness": KS + 400})
    assert study.worst_growth >= np.nanmax(study.growth)
    assert list(study.influence) == ["virtual.damping", "rig.specimen.stiffness"]
    assert study.influence["virtual.damping"] < 0 < study.influence["rig.specimen.stiffness"]


class Hill:
    """A growth rate with a known summit inside the ranges, and nothing valid near one corner."""

    places = ("a", "b")

    def growth(self, values) -> float:
        a, b = values
        if a + b > 5.5:
            raise halfreal.DefinitionError([])
        return 1.5 - (a - 1.3) ** 2 - 4 * (b - 2.2) ** 2 + (a - 1.3) * (b - 2.2)


def test_worst_case_inside_the_ranges_is_found():
    ranges = (Parameter("a", "1", 1.0, 0.0, 3.0), Parameter("b", "1", 1.0, 1.0, 3.0))
    samples = np.array([[0.2, 1.1], [2.5, 1.5], [1.0, 2.9], [2.9, 2.8]])
    points = np.vstack([samples, [[0.0, 1.0], [0.0, 3.0], [3.0, 1.0], [3.0, 3.0]]])  # with the corners
    rates = np.array([np.nan if row.sum() > 5.5 else Hill().growth(row) for row in points])
    worst, rate, _ = _worst_case(Hill(), ranges, points, rates)
    np.testing.assert_allclose(worst, [1.3, 2.2], atol=2e-3)
    assert rate == pytest.approx(1.5, abs=1e-5)


class Saddle:
    """Ten numbers whose worst corner takes knowing that two of them act together."""

    places = tuple("abcdefghij")
    sign = np.array([1, -1, 1, 1, -1, 1, -1, -1, 1, -1.0])

    def growth(self, values):
        v = np.asarray(values)
        return float(self.sign @ v + 3.0 * v[0] * v[1] - 0.2 * np.sum(v**2))


def test_worst_corner_of_many_numbers_takes_few_loops():
    ranges = tuple(Parameter(name, "1", 0.0, -1.0, 1.0) for name in Saddle.places)
    samples = np.random.default_rng(1).uniform(-1, 1, (64, 10))
    rates = np.array([Saddle().growth(row) for row in samples])
    worst, rate, count = _worst_case(Saddle(), ranges, samples, rates)
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=10)))
    most = max(corners, key=lambda row: Saddle().growth(row))
    assert rate == pytest.approx(Saddle().growth(most)) and rate > rates.max()
    np.testing.assert_allclose(worst, most, atol=1e-6)
    assert count < 300 < len(corners)


def test_samples_that_are_no_valid_definitions_are_counted_apart():
    uncertain = {"virtual.mass": {"deviation": "1 kg"}}
    study = study_uncertainty(definition(delay=6e-3, uncertainty=uncertain), 200)
    negative = study.samples[:, 0] < 0
    assert 0 < negative.sum() == len(study.refused) == 200 - study.judged
    np.testing.assert_array_equal(np.isnan(study.growth), negative)
    assert "not positive semidefinite" in study.refused[0][1]
    assert 0 < study.worst_values["virtual.mass"] <= 6.2
    assert "no valid definitions" in study.summary()


def test_definition_without_uncertainty_is_refused():
    with pytest.raises(HalfrealError, match=r"give a section \[uncertainty\]"):
        study_uncertainty(definition())


def test_plot_shows_distribution_and_influence(delay_study):
    spread, scatter = delay_study.plot().axes[:2]
    assert sum(bar.get_height() for bar in spread.patches) == 300
    assert scatter.get_xlabel() == "rig.actuator.delay [ms]"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_two_processes_find_what_one_finds(monkeypatch):
    test, found = definition(uncertainty=THREE), []
    for forks in (False, True):
        monkeypatch.setattr(two_processes, "can_fork", lambda forks=forks: forks)
        found.append(study_uncertainty(test, samples=12))
    alone, together = found
    np.testing.assert_array_equal(alone.growth, together.growth)
    assert (alone.worst_values, alone.worst_growth) == (together.worst_values, together.worst_growth)
    assert (alone.evaluations, alone.refused) == (together.evaluations, together.refused)
