"""Physical parameters with their intervals, against what is known of the data."""

import numpy as np
import pytest

from halfreal.errors import HalfrealError
from halfreal.identification.parameters import fit_parameters

S = 2j * np.pi * np.linspace(0.5, 10.0, 40)
TRUE = {"mass": 2.0, "damping": 6.0, "stiffness": 1500.0}
BOUNDS = {"mass": (0.1, 10.0), "damping": (0.0, 50.0), "stiffness": (100.0, 1e4)}


def model(v):
    return 1.0 / (v["mass"] * S**2 + v["damping"] * S + v["stiffness"])


def noisy(seed):
    rng = np.random.default_rng(seed)
    return model(TRUE) * (1.0 + 0.02 * (rng.normal(size=S.size) + 1j * rng.normal(size=S.size)))


def test_without_noise_the_parameters_are_exact():
    found = fit_parameters(model, model(TRUE), BOUNDS)
    assert found.values == pytest.approx(TRUE, rel=1e-6)
    assert found.error < 1e-8
    assert not found.at_bounds


def test_intervals_cover_the_truth_as_often_as_they_say():
    covered = []
    for seed in range(40):
        found = fit_parameters(model, noisy(seed), BOUNDS, generations=15)
        covered += [abs(found.values[name] - value) <= found.half_widths[name] for name, value in TRUE.items()]
    # 120 times 95 %: within 4 standard deviations of the binomial
    assert np.mean(covered) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 120))


def test_a_parameter_at_its_bound_is_told():
    found = fit_parameters(model, model(TRUE), {**BOUNDS, "mass": (3.0, 10.0)})
    assert found.at_bounds == ("mass",)


def test_what_the_data_do_not_tell_has_no_interval():
    found = fit_parameters(lambda v: model({**v, "damping": 6.0}), model(TRUE), BOUNDS)
    assert found.half_widths["damping"] == np.inf
    assert found.half_widths["mass"] < 1e-3


@pytest.mark.parametrize(
    ("measured", "bounds", "told"),
    [
        (model(TRUE)[:2], BOUNDS, "2 lines are too few for 3 parameters"),
        (model(TRUE), {"mass": (2.0, 1.0)}, "bounds of mass are 2 and 1"),
        (np.full(40, np.nan), BOUNDS, "line 1 of the response is not finite"),
    ],
)
def test_what_cannot_be_fitted_is_refused(measured, bounds, told):
    with pytest.raises(HalfrealError, match=told):
        fit_parameters(model, measured, bounds)
