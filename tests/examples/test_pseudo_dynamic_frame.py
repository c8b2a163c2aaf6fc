"""What the README of the pseudo-dynamic frame states."""

from functools import cache

import numpy as np
import pytest

import halfreal
from examples.frame import figures, study
from halfreal.presentation.measures import measures

FIDELITY = {"explicit_newmark": (0.0106,), "operator_splitting": (0.0328,), "two_storeys": (0.0131,)}
"""Of the worst axis."""


@cache
def rehearsed(name, slow=True, lagging=False):
    return halfreal.rehearse(study.definition(name, slow=slow, actuator=study.LAGGING if lagging else None))


@pytest.mark.parametrize("name", FIDELITY)
def test_the_slow_test_is_the_emulated_frame_but_for_its_integration_error(name):
    run = rehearsed(name)
    assert run.outcome == "completed"
    worst = max(row.nrmse for row in measures(run) if row.comparison == "fidelity")
    assert worst == pytest.approx(FIDELITY[name][0], abs=5e-5)


@pytest.mark.parametrize("name", ["explicit_newmark", "operator_splitting"])
def test_its_integration_error_is_of_second_order(name):
    """A quarter at half the step: what is left is the scheme's, and not the slow motion's."""
    data = study.definition(name).model_dump(mode="json")
    data["timing"]["step"] = 0.005
    half = halfreal.rehearse(halfreal.Definition.model_validate(data))
    errors = [
        max(row.nrmse for row in measures(run) if row.comparison == "fidelity") for run in (rehearsed(name), half)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize(
    ("name", "rounding"), [("explicit_newmark", 1e-13), ("operator_splitting", 1e-13), ("two_storeys", 1e-6)]
)
def test_slowly_and_in_real_time_it_is_the_same_test(name, rounding):
    """Bouc–Wen's law is integrated along the way, in other pieces."""
    assert study.apart(rehearsed(name), rehearsed(name, slow=False)) < rounding


def test_a_lag_of_the_actuator_does_not_matter_slowly_and_does_in_real_time():
    slow = rehearsed("explicit_newmark")
    assert study.apart(slow, rehearsed("explicit_newmark", lagging=True)) == pytest.approx(2.3e-4, abs=5e-5)
    assert study.apart(slow, rehearsed("explicit_newmark", slow=False, lagging=True)) > 0.5
    assert not halfreal.check(
        study.definition("explicit_newmark", slow=False, actuator=study.LAGGING)
    ).linearisation.stable


def test_the_first_storey_yields():
    run = rehearsed("explicit_newmark")
    force, moved = (run.vector(f"measured.{name}")[:, 0] for name in ("force", "displacement"))
    assert np.abs(force).max() > 150e3
    dissipated = float(np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(moved)))
    assert dissipated > 4 * 150e3 * 10e-3


def test_it_takes_as_long_as_the_readme_says():
    assert rehearsed("explicit_newmark").signals["motion.clock"].values[-1] == pytest.approx(191.0, abs=1.0)


def test_figures_are_drawn(tmp_path):
    figures.main(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["frame.png", "slow_and_fast.png"]
    assert all(path.stat().st_size > 10_000 for path in tmp_path.glob("*.png"))
