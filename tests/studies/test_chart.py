"""Stability charts against closed forms, and against the code that runs."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.signal import cont2discrete

import halfreal
from examples.wallace2005 import KS, C, K, M, critical_delay, definition
from halfreal.contracts.state_space import StateSpace
from halfreal.errors import HalfrealError
from halfreal.runs.continuous import continuous_loop
from halfreal.stability.dde import roots
from halfreal.stability.margins import delay_margin
from halfreal.studies.charts.batch_crossings import crossings_of
from halfreal.studies.charts.chart import chart
from halfreal.studies.charts.gain_phase import gain_phase_chart
from halfreal.studies.charts.grid import zero_line
from halfreal.studies.uncertainty.variation import Variation, growth_rate

pytestmark = pytest.mark.xdist_group("chart")
DELAY, STIFFNESS = "rig.actuator.delay", "rig.specimen.stiffness"
OMEGA_N, ZETA = np.sqrt(K / M), C / (2 * np.sqrt(K * M))


def closed_form(p: float, turns: int = 12) -> np.ndarray:
    """All τ̂ of the paper's Eqs. 11 and 12 at a stiffness ratio p: ω̂ from p = √((ω̂² − 1)² + 4ζ²ω̂²)."""
    squares = np.roots([1.0, 4 * ZETA**2 - 2, 1 - p**2])
    omega = np.sqrt(squares[(abs(squares.imag) < 1e-9) & (squares.real > 1e-12)].real)
    angle = np.arctan2(2 * ZETA * omega, omega**2 - 1)
    return np.concatenate([(angle + 2 * np.pi * n) / omega for n in range(turns)] or [np.zeros(0)])


@pytest.fixture(scope="module")
def figure_3():
    """Delay against stiffness ratio, as in Fig. 3 of Wallace et al. (2005), up to τ̂ = 15."""
    return chart(definition(), (DELAY, 0.0, 15 / OMEGA_N), (STIFFNESS, 0.0, K), continuous=True)


def test_every_branch_of_wallace_2005_figure_3_is_traced(figure_3):
    for curve in figure_3.branches:
        for delay, stiffness in curve:
            assert np.abs(closed_form(stiffness / K) - delay * OMEGA_N).min() < 1e-7
    # and none is missing: four descend from folds to p = 1 within the chart, and three rise from the same folds
    traced = np.concatenate(figure_3.branches)
    for p in (0.3, 0.5, 0.9, 1.0):
        row = np.argmin(np.abs(figure_3.y.values - p * K))
        wanted = closed_form(figure_3.y.values[row] / K)
        wanted = np.sort(wanted[wanted <= 15])
        found = np.sort(traced[traced[:, 1] == figure_3.y.values[row], 0]) * OMEGA_N
        np.testing.assert_allclose(found[found <= 15], wanted, rtol=1e-9)


def test_first_branch_ends_at_the_published_critical_delay(figure_3):
    first = min(figure_3.boundary, key=lambda curve: curve[:, 0].min())
    assert first[-1] == pytest.approx([6.76955e-3, K], rel=1e-6)


def test_folds_are_closed(figure_3):
    least = 2 * ZETA * np.sqrt(1 - ZETA**2)
    assert min(curve[:, 1].min() for curve in figure_3.branches) / K == pytest.approx(least, abs=1e-9)


def test_regions_are_those_of_an_oscillator_sampled_by_other_means(figure_3):
    step = 2e-3
    for delay, p in [(20, 0.45), (50, 0.6), (130, 0.5), (150, 0.75), (250, 0.3), (350, 0.3), (350, 0.9), (200, 0.9)]:
        row, column = np.argmin(np.abs(figure_3.y.values - p * K)), np.argmin(np.abs(figure_3.x.values - delay * 1e-3))
        margin = figure_3.margin[row, column]
        assert abs(margin) > step
        assert (margin > 0) == (_radius(p, round(delay * 1e-3 / step), step) < 1)


def _radius(p: float, samples: int, step: float) -> float:
    """Spectral radius of the oscillator, integrated exactly, with a spring whose force is ``samples`` steps late."""
    a, b = np.array([[0.0, 1.0], [-K / M, -C / M]]), np.array([[0.0], [-p * K / M]])
    # the held force is half a step late by itself, which the mean of two samples gives back
    phi, gamma, *_ = cont2discrete((a, b, np.eye(2), np.zeros((2, 1))), step)
    n = 2 + samples
    matrix = np.zeros((n, n))
    matrix[:2, :2] = phi
    matrix[:2, n - 1] += 0.5 * gamma[:, 0]
    matrix[:2, n - 2] += 0.5 * gamma[:, 0]
    matrix[2, 0] = 1.0
    matrix[3:, 2:-1] = np.eye(samples - 1)
    return np.abs(np.linalg.eigvals(matrix)).max()


def test_margin_is_the_distance_in_delay(figure_3):
    row = -1  # p = 1
    delays = figure_3.x.values
    np.testing.assert_allclose(
        figure_3.margin[row][delays < 50e-3], critical_delay() - delays[delays < 50e-3], rtol=0, atol=1e-9
    )
    assert figure_3.operating_margin == pytest.approx(critical_delay() - 9.4e-3, abs=delays[1] / 2)
    assert np.all(figure_3.margin[0] == np.inf)  # nothing to destabilise without a specimen
    assert "unstable, 2.6" in figure_3.summary()


def test_axes_may_be_exchanged_and_the_code_that_runs_is_close(figure_3):
    running = chart(definition(), (STIFFNESS, 0.25 * K, K), (DELAY, 0.0, 20e-3), points=(4, 21))
    for column, stiffness in enumerate(running.x.values):
        limit = min(closed_form(stiffness / K)) / OMEGA_N
        at_limit = [curve[curve[:, 0] == stiffness, 1] for curve in running.boundary]
        assert np.concatenate(at_limit).min() == pytest.approx(limit, rel=2e-3)
        for row in (4, 6, 7, 9):  # whole steps: the code itself
            test = definition(delay=running.y.values[row], rig={
                "actuator": {"delay": running.y.values[row], "reconstruction": "cubic"},
                "specimen": {"stiffness": stiffness},
            })  # fmt: skip
            assert (running.margin[row, column] > 0) == (radius_of(test) < 1)


def radius_of(test) -> float:
    return float(np.exp(growth_rate(test) * test.timing.step))


@pytest.mark.parametrize("mass", [0.0, 0.7])
def test_crossings_of_many_loops_agree_with_the_margins_of_each(mass):
    variation = Variation(definition(rig={"specimen": {"stiffness": KS, "damping": 6.0, "mass": mass}}), [STIFFNESS])
    loops = [continuous_loop(variation.at([k])).open_loop for k in (300.0, 1200.0, 2250.0, 4000.0)]
    for found, loop in zip(crossings_of(loops), loops, strict=True):
        margin = delay_margin(loop)
        order = np.argsort(margin.omega)
        np.testing.assert_allclose(found.omega, margin.omega[order], rtol=1e-9)
        np.testing.assert_allclose(found.lag, margin.lag[order], rtol=1e-8)
        np.testing.assert_array_equal(found.direction, margin.direction[order])


def test_specimen_heavier_than_the_virtual_mass_is_unstable_with_any_delay():
    rig = {"actuator": {"delay": 5e-3}, "specimen": {"stiffness": KS, "mass": 1.0}}
    found = chart(definition(rig=rig), (DELAY, 1e-3, 20e-3), ("rig.specimen.mass", 0.5, 4.0), (20, 30), continuous=True)
    heavy = found.y.values > M
    assert np.all(found.margin[heavy] == -np.inf)


# --- any two numbers --------------------------------------------------------------------------------------------------


def test_zero_line_of_a_circle_is_closed_and_on_the_circle():
    asked = []

    def bowl(x: float, y: float) -> float:
        asked.append((x, y))
        return 0.3**2 - (x - 0.45) ** 2 - (y - 0.52) ** 2

    found = zero_line(bowl, (101, 81))
    (line,) = found.lines
    np.testing.assert_array_equal(line[0], line[-1])
    np.testing.assert_allclose(np.hypot(line[:, 0] - 0.45, line[:, 1] - 0.52), 0.3, atol=2e-5)
    assert found.evaluations == len(asked) < 0.3 * 97**2  # of a lattice as fine everywhere
    x, y = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 81))
    exact = 0.3**2 - (x - 0.45) ** 2 - (y - 0.52) ** 2
    np.testing.assert_allclose(found.values, exact, atol=1e-3)  # linear between nodes 1/24 apart


def test_parts_where_nothing_is_defined_are_left_out():
    found = zero_line(lambda x, y: np.nan if x > 0.8 else y - 0.4, (41, 41))
    np.testing.assert_array_equal(
        np.isnan(found.values[0]), np.linspace(0, 1, 41) > 19 / 24
    )  # the last node with a value
    np.testing.assert_allclose(np.concatenate(found.lines)[:, 1], 0.4, atol=1e-4)


@pytest.fixture(scope="module")
def damping_chart():
    virtual = {"mass": M, "damping": C, "stiffness": K, "scheme": "newmark"}  # cheaper to set up than an exponential
    test = definition(delay=6e-3, virtual=virtual, excitation={})
    return chart(test, (STIFFNESS, 500.0, 4500.0), ("virtual.damping", 5.0, 25.0), points=(81, 81))


def test_boundary_of_the_code_that_runs_is_that_of_the_delay_equation(damping_chart):
    (line,) = damping_chart.boundary
    for stiffness, damping in line[:: max(1, len(line) // 10)]:
        # m s² + c s + k + k_s e^{−sτ} = 0 at s = jω: k_s sin ωτ = c ω and m ω² = k + k_s cos ωτ
        omega = _crossing_frequency(stiffness)
        assert stiffness * np.sin(omega * 6e-3) / omega == pytest.approx(damping, rel=2e-3)


def _crossing_frequency(stiffness: float) -> float:
    return brentq(lambda w: M * w**2 - K - stiffness * np.cos(w * 6e-3), 10.0, 90.0)


def test_operating_point_is_told(damping_chart):
    assert damping_chart.measure == "decay"
    assert damping_chart.operating_margin == pytest.approx(-np.log(radius_of(definition(delay=6e-3))) / 1e-3, rel=0.05)
    assert "is stable: its slowest pole decays" in damping_chart.summary()
    stable = damping_chart.margin > 0
    assert stable[-1, 0] and not stable[0, -1]


@pytest.mark.parametrize("which", ["figure_3", "damping_chart"])
def test_plot_has_boundary_operating_point_and_engineers_units(which, request):
    found = request.getfixturevalue(which)
    axes = found.plot().axes[0]
    assert "[ms]" in axes.get_xlabel() or "[kN/m]" in axes.get_xlabel()
    assert {"stable", "unstable"} <= {text.get_text() for text in axes.texts}
    assert len(axes.lines) == len(found.boundary) + len(found.branches) + 1


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (((DELAY, 0.0, 0.02), (DELAY, 0.0, 0.02)), "give two different keys"),
        (((STIFFNESS, 2.0, 1.0), DELAY), "it must increase"),
        (("rig.actuator.dely", DELAY), "did you mean 'rig.actuator.delay'"),
        (("rig.sensors.force.noise", DELAY), r"give \('rig.sensors.force.noise', low, high\)"),
        ((("virtual.mass", -1.0, 3.0), DELAY), "virtual.mass"),
    ],
)
def test_what_cannot_be_drawn_is_told(wanted, told):
    with pytest.raises(HalfrealError, match=told):
        chart(definition(), *wanted, continuous=True)


@pytest.mark.parametrize("prediction", [4e-3, 9.4e-3])
def test_continuous_chart_with_a_predictor_is_that_of_its_delay_equation(prediction):
    """Stability at points of the chart, and where it changes, from the roots of the delay equation."""
    coupling = {"kind": "forward prediction", "prediction": prediction, "order": 3}
    test = definition(coupling=coupling)
    found = chart(test, (DELAY, 1e-3, 30e-3), (STIFFNESS, 500.0, 4000.0), (15, 8), continuous=True)

    def abscissa(delay, stiffness):
        changed = test.with_values({DELAY: delay, STIFFNESS: stiffness})
        return roots(halfreal.delay_system(changed), most=2).abscissa

    told = [[found.margin[j, i] > 0.0 for i in range(0, 15, 2)] for j in range(0, 8, 3)]
    seen = [[abscissa(x, y) < 0.0 for x in found.x.values[::2]] for y in found.y.values[::3]]
    assert told == seen
    assert np.any(told) and not np.all(told)
    for delay, stiffness in np.vstack(found.boundary)[::5]:
        assert abs(abscissa(delay, stiffness)) < 1e-6


def test_continuous_chart_of_a_predictor_that_no_delay_bears():
    """0.9 kg on 2.2 kg, and a gain of 3 at high frequencies."""
    coupling = {"kind": "forward prediction", "prediction": 1e-3, "order": 1, "points": 2}
    rig = {"actuator": {"delay": 5e-3}, "specimen": {"mass": 0.9, "stiffness": KS}}
    found = chart(definition(coupling=coupling, rig=rig), DELAY, STIFFNESS, (5, 5), continuous=True)
    assert not np.any(found.margin > 0.0)


# --- gain and phase ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def turned():
    loop = continuous_loop(definition()).open_loop
    return loop, gain_phase_chart(loop, np.linspace(0.05, 2.0, 40), np.linspace(-180.0, 180.0, 73))


def test_gain_and_phase_boundary_is_the_inverse_nyquist_curve(turned):
    _, found = turned
    for phase, gain in np.concatenate(found.boundary)[::50]:
        # g e^{jφ} = −(k − m ω² + jcω)/k_s: ω from the modulus, then the phase
        squares = np.roots([M**2, C**2 - 2 * M * K, K**2 - (gain * KS) ** 2])
        omega = np.sqrt(squares[squares.real > 0].real)
        phases = np.degrees(np.angle(-(K - M * omega**2 + 1j * C * omega)))
        assert np.abs(phases - phase).min() < 1e-4


def test_gain_and_phase_margins_are_those_of_the_delay(turned):
    loop, found = turned
    row = np.argmin(np.abs(found.gains - 1.0))
    margin = delay_margin(StateSpace(loop.a, loop.b, found.gains[row] * loop.c, loop.d))
    column = np.argmin(np.abs(found.phases_deg))
    assert found.margin[row, column] == pytest.approx(margin.phase_margin_deg, rel=1e-9)
    # more lag than the margin is unstable, lead is not
    lag = -np.ceil(margin.phase_margin_deg / 5) * 5
    assert found.margin[row, np.argmin(np.abs(found.phases_deg - lag))] < 0 < found.margin[row, column + 6]
    assert "the loop as it is is stable" in found.summary()
    assert {"stable", "unstable"} <= {text.get_text() for text in found.plot().axes[0].texts}


def test_two_channels_give_both_curves():
    one = continuous_loop(definition()).open_loop
    two = StateSpace(
        np.kron(np.eye(2), one.a), np.kron(np.eye(2), one.b), np.kron(np.diag([1.0, 0.5]), one.c), np.zeros((2, 2))
    )
    gains, phases = np.linspace(0.3, 2.0, 5), np.linspace(-170.0, 170.0, 35)
    whole, weak = gain_phase_chart(one, gains, phases), gain_phase_chart(one, 0.5 * gains, phases)
    both = gain_phase_chart(two, gains, phases)
    np.testing.assert_array_equal(both.margin > 0, (whole.margin > 0) & (weak.margin > 0))
