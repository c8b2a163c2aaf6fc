"""Plans of campaigns: the points they make, and everything that can be wrong with them."""

import itertools

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import DELAY, GALLERY, KS, definition
from halfreal.campaigns.plan import Plan, lay_out, read_plan
from halfreal.definition.faults import DefinitionError

pytestmark = pytest.mark.xdist_group("campaign")
PREDICTED = {"kind": "forward prediction", "prediction": DELAY, "order": 3, "points": 12}
GRID = """
[vary]
"rig.actuator.delay" = { low = "5 ms", high = "9 ms", count = 5 }
"rig.specimen.stiffness" = { low = "1 kN/m", high = "100 kN/m", count = 3, scale = "log" }
"coupling.order" = [1, 3]
"""
FAULTY = """
kind = "grid"
[vary]
"rig.actuator.dely" = ["8 ms"]
"rig.actuator.delay" = ["8 ms", "-1 ms", 0.009, "1 N"]
"virtual.mass" = { low = "3 kg", high = "2 kg", count = 5 }
"virtual.damping" = { low = "0 N s/m", high = "2 N s/m", count = 5, scale = "log" }
"virtual.stiffness" = { low = "1 N/m", high = "2 N/m" }
"coupling.points" = [12.5]
"coupling.order" = [99]
"rig.specimen.stiffness" = "2 N/m"
"""


def test_a_grid_is_every_combination_in_si_units(tmp_path):
    (tmp_path / "plan.toml").write_text(GRID)
    plan, design = read_plan(tmp_path / "plan.toml", definition(coupling=PREDICTED))
    assert [(p.place, p.unit, p.value, p.log) for p in design.parameters] == [
        ("rig.actuator.delay", "s", DELAY, False),
        ("rig.specimen.stiffness", "N/m", KS, True),
        ("coupling.order", "1", 3.0, False),
    ]
    expected = list(itertools.product([0.005, 0.006, 0.007, 0.008, 0.009], [1e3, 1e4, 1e5], [1, 3]))
    np.testing.assert_allclose(design.values, expected, rtol=1e-14)
    assert plan.goal == ("peak measured.displacement", False)


def test_a_list_is_read_side_by_side():
    plan = Plan(kind="list", vary={"rig.actuator.delay": ["8 ms", 0.009], "virtual.mass": np.array([2.0, 2.5])})
    np.testing.assert_array_equal(lay_out(plan, definition()).values, [[8e-3, 2.0], [9e-3, 2.5]])
    # 3 points cannot carry the definition's order of 3: that is between a point's numbers, and not the plan's fault
    plan = Plan(kind="list", vary={"coupling.points": [3, 12], "coupling.order": [2, 3]})
    np.testing.assert_array_equal(lay_out(plan, definition(coupling=PREDICTED)).values, [[3, 2], [12, 3]])


def test_a_latin_hypercube_has_one_point_in_each_stratum_of_each_number():
    n = 40
    vary = {
        "rig.actuator.delay": {"low": "2 ms", "high": "12 ms"},
        "rig.specimen.stiffness": {"low": 100.0, "high": 1e4, "scale": "log"},
    }
    plans = [Plan(kind="latin hypercube", samples=n, seed=seed, vary=vary) for seed in (1, 1, 2)]
    first, again, other = (lay_out(plan, definition()).values for plan in plans)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    for part in ((first[:, 0] - 2e-3) / 10e-3, np.log10(first[:, 1] / 100.0) / 2.0):
        np.testing.assert_array_equal(np.sort(np.floor(n * part)), np.arange(n))


def test_whole_numbers_stay_whole_in_a_latin_hypercube():
    plan = Plan(kind="latin hypercube", samples=9, vary={"coupling.order": {"low": 1, "high": 4}})
    values = lay_out(plan, definition(coupling=PREDICTED)).values
    np.testing.assert_array_equal(values, np.round(values))


def test_all_faults_of_a_plan_are_told_at_once_with_their_lines(tmp_path):
    (tmp_path / "plan.toml").write_text(FAULTY)
    with pytest.raises(DefinitionError) as error:
        read_plan(tmp_path / "plan.toml", definition(coupling=PREDICTED))
    told = str(error.value)
    for words in (
        'plan.toml:4  vary."rig.actuator.dely": is not a number of this definition; did you mean '
        "'rig.actuator.delay'",
        "plan.toml:5  vary.\"rig.actuator.delay\"[2]: '-1 ms' must be at least 0 s",
        "0.009 has no unit where s is expected; write '0.009 s'",
        "'1 N' is in N where s is expected",
        "plan.toml:6  vary.\"virtual.mass\".high: '2 kg' is not above low, 3 kg",
        "'0 N s/m' must be greater than 0 on a logarithmic scale",
        "low and high given for a grid; write a list, or { low = …, high = …, count = … }",
        "12.5 where a whole number is expected",
        'vary."coupling.order"[1]: 99',
        "'2 N/m' in a grid; write a list",
    ):
        assert words in told, told
    assert len(error.value.faults) == 10


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"kind": "list", "vary": {"virtual.mass": [1, 2], "virtual.damping": [1]}}, "where 'virtual.mass' has 2"),
        ({"kind": "latin hypercube", "vary": {"virtual.mass": {"low": 1, "high": 2}}}, "give the number of points"),
        ({"vary": {"virtual.mass": {"low": 1, "high": 2, "count": 2000}, "virtual.damping": [1] * 600}}, "1.2e+06 "),
        ({"vary": {"virtual.mass": {"low": 1, "high": 2, "count": 1}}}, "from 2 to 1,000,000"),
        ({"vary": {"virtual.mass": []}}, "the list is empty"),
        ({"vary": {"virtual.mass": [float("nan")]}}, "not finite"),
        ({"vary": {"virtual.mass": {"low": 1, "high": 2, "count": 3, "scale": "ln"}}}, "write 'linear' or 'log'"),
    ],
)  # fmt: skip
def test_points_that_cannot_be_laid_out_are_refused(plan, words):
    with pytest.raises(DefinitionError) as error:
        lay_out(Plan(**plan), definition())
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[vary]\n", "nothing varies"),
        ("samples = 3\n[vary]\n'virtual.mass' = ['1 kg']", "a grid has as many points as its values define"),
        ("minimise = 'rms gap'\nmaximise = 'rms gap'\n[vary]\n'virtual.mass' = ['1 kg']", "keep one"),
        ("scores = ['rms gap', 'rms gap']\n[vary]\n'virtual.mass' = ['1 kg']", "'rms gap' is listed twice"),
        ("score = ['rms gap']\n[vary]\n'virtual.mass' = ['1 kg']", "did you mean 'scores'?"),
    ],
)
def test_what_a_plan_must_not_say_is_told(tmp_path, text, words):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(DefinitionError) as error:
        read_plan(tmp_path / "plan.toml", halfreal.load(GALLERY / "forward_prediction.toml"))
    assert words in str(error.value)
