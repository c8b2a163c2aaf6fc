"""The learning curve of a harmonic coupling, and by what part of a test such a coupling is judged."""

from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.definition.paths import with_values
from halfreal.presentation import learning
from halfreal.presentation.html import render
from halfreal.presentation.learning_plot import learning_curve
from halfreal.presentation.measures import key_figures
from halfreal.presentation.plots import NothingToPlotError

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def run() -> halfreal.Run:
    definition = halfreal.load(EXAMPLES / "harmonic_feedforward" / "rls_simultaneous.toml")
    return halfreal.rehearse(with_values(definition, {"timing.duration": 50.0}))


def test_test_is_judged_by_its_last_ten_periods(run):
    assert learning.since(run) == pytest.approx(50.0 - 10 / 8.0, abs=0.01)
    whole, last = dict(key_figures(run)), dict(key_figures(run, learning.since(run)))
    assert float(whole["Synchronisation error"].split()[0]) > 50
    assert float(last["Synchronisation error"].lstrip("< ").split()[0]) < 0.1


def test_gap_at_the_end_is_that_of_the_record(run):
    gap = run.signals["measured.displacement"].values - run.signals["target"].values
    # the mean squares fade over 4 periods: 0.5 s, ten times of which count here
    weights = np.exp((run.time - run.time[-1]) / 0.5)
    expected = np.sqrt((weights @ gap**2) / (weights @ run.signals["target"].values ** 2))
    assert np.sqrt(run.signals["coupling.nmse"].values[-1]) == pytest.approx(expected, rel=1e-2)
    assert [name for name, _ in learning.figures(run, learning.since(run))] == ["Judged from", "Gap at the end"]
    assert [name for name, _ in learning.figures(run, 3.0)] == ["Gap at the end"]


def test_page_shows_the_learning_curve_and_says_what_it_judges(run):
    page = render(run)
    assert "Adaptation of the coupling" in page and "the last 10 periods" in page
    assert f"from {learning.since(run):.4g} s on" in page
    drawn = learning_curve(run)
    upper, lower = drawn.axes
    assert upper.get_yscale() == "log" and lower.get_ylabel() == "amplitude [N]"
    assert "from 30 s on" in render(run, 30.0)


def test_other_couplings_are_judged_as_a_whole():
    definition = halfreal.load(EXAMPLES / "spring_mass_damper" / "forward_prediction.toml")
    other = halfreal.rehearse(with_values(definition, {"timing.duration": 1.0}))
    assert learning.since(other) == 0.0 and learning.figures(other, 0.0) == []
    with pytest.raises(NothingToPlotError, match="does not adapt"):
        learning_curve(other)
