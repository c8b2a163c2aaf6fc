"""Leading roots against a parameter: the data of the delay paper's Figs. 4 and 5."""

import numpy as np
import pytest

from examples.wallace2005 import DELAY, critical_delay, root
from halfreal.couplings.forward_prediction import weights
from halfreal.stability.dde import roots
from halfreal.stability.dde_sweep import limit, sweep
from halfreal.stability.matching import extrapolated, matched
from stability.delay_cases import predicted, rod, rod_open_loop, wallace


def test_wallace2005_figure_4_leading_roots_against_the_delay():
    delays = np.linspace(1e-3, 60e-3, 60)
    found = sweep(wallace, delays, most=6)
    np.testing.assert_allclose(found.abscissa, [roots(wallace(d)).abscissa for d in delays], rtol=1e-9)
    assert found.limits[0] == pytest.approx(critical_delay(), abs=1e-5)
    assert limit(wallace, 5e-3, 8e-3) == pytest.approx(critical_delay(), abs=1e-11)
    # the structure's own root, from its first place on by Newton's method alone
    follow = roots(wallace(delays[0])).roots[0]
    track = found.roots[:, np.nanargmin(np.abs(found.roots[0] - follow))]
    for delay, value in zip(delays, track, strict=True):
        follow = root(np.ones(1), delay, follow)
        assert value == pytest.approx(follow, rel=1e-9)


def test_tracks_do_not_swap():
    """Phases s τ of all tracks bend little; roots of neighbouring tracks are some 2π apart."""
    delays = np.linspace(3e-3, 60e-3, 115)
    found = sweep(wallace, delays, most=6)
    assert found.roots.shape[1] >= 6
    for track in found.roots.T:
        phase = (track * delays)[~np.isnan(track)]
        assert len(phase) > 50
        assert np.abs(np.diff(phase, 2)).max() < 0.1


@pytest.mark.parametrize(("order", "upper"), [(2, 40e-3), (3, 23e-3)])
def test_wallace2005_figure_5_leading_roots_against_the_prediction(order, upper):
    ahead = np.linspace(0.0, 45e-3, 31)
    found = sweep(lambda rho: predicted(weights(order, 12, rho * 1e3)), ahead, most=4)
    np.testing.assert_allclose(found.limits, [DELAY - critical_delay(), upper], atol=0.7e-3)
    assert found.summary().startswith("unstable at 0, stability changes at ")


def test_wallace2005_figure_5_exact_prediction():
    """Until the whole delay is made up for, when the emulated system's own damping is left: −c/2m."""
    ahead = np.linspace(0.0, DELAY, 20)
    found = sweep(lambda rho: wallace(max(DELAY - rho, 0.0)), ahead, most=2)
    assert found.limits == pytest.approx([DELAY - critical_delay()], abs=1e-5)
    assert found.abscissa[-1] == pytest.approx(-15.0 / (2 * 2.2), rel=1e-9)


def test_delay_pole_of_the_rod_comes_down_from_high_frequencies_and_goes_unstable():
    delays = np.linspace(6e-3, 36e-3, 61)
    found = sweep(rod, delays, most=6, below_hz=100.0)
    leading = np.nanargmax(found.roots[-1].real)
    track = found.roots[:, leading]
    hz, damping = np.abs(track) / (2 * np.pi), -track.real / np.abs(track)
    np.testing.assert_allclose(rod_open_loop(track / 1j) * np.exp(-track * delays), -1.0, rtol=1e-9)
    assert hz[0] > 5 * hz[-1]
    assert (np.diff(hz) < 0).all()
    assert damping[-1] < 0 < damping[-5]


def test_plot_marks_the_limit():
    found = sweep(wallace, np.linspace(4e-3, 9e-3, 6), most=2)
    axes = found.plot("delay [s]").axes[0]
    marked = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
    assert marked == pytest.approx(found.limits)


def test_poles_that_pass_each_other_are_told_apart_by_their_course():
    values = np.array([0.0, 1.0, 2.0])
    courses = [np.array([0.0, 1.0]), np.array([2.1, 1.1])]
    expected = np.array([extrapolated(values, track) for track in courses])
    np.testing.assert_allclose(expected, [2.0, 0.1])
    assert matched(expected, np.array([0.2, 1.9])) == {0: 1, 1: 0}
    assert matched(expected, np.array([0.2, 9.0]), 0.5) == {1: 0}
