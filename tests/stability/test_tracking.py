"""Poles of a sampled loop against its delay: known values, continuation, the delay equation, the compiled loop."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import KS, C, K, M, definition
from halfreal.contracts.state_space import StateSpace
from halfreal.models.schemes.exact import discretise
from halfreal.stability.dde import roots
from halfreal.stability.tracking import delayed, track
from stability.delay_cases import MASS, rod, rod_modes, wallace


def rod_loop(dt: float, modes: int = 2) -> StateSpace:
    """Tip force (held over a step) → acceleration of the rod → force of the mass."""
    omega, mass = rod_modes(modes)
    stiff = np.diag(-(omega**2)), np.diag(-0.02 * omega)
    a = np.block([[np.zeros((modes, modes)), np.eye(modes)], list(stiff)])
    b = np.concatenate([np.zeros(modes), 1 / mass])[:, None]
    transition, held, _ = discretise(a, b, dt, "zero")
    c = MASS * np.concatenate([-(omega**2), -0.02 * omega])[None]
    return StateSpace(transition, held, c, np.array([[MASS * (1 / mass).sum()]]), dt)


def wallace_loop(dt: float, hold: str) -> StateSpace:
    """Force → displacement → force of the spring.

    With the force linear over a step, x_k = Φ x_{k−1} + Γ₀ u_{k−1} + Γ₁ u_k; the state is then x_k − Γ₁ u_k.
    """
    a, b = np.array([[0, 1], [-K / M, -C / M]]), np.array([[0], [1 / M]])
    transition, earlier, later = discretise(a, b, dt, hold)
    c = np.array([[KS, 0.0]])
    return StateSpace(transition, transition @ later + earlier, c, c @ later, dt)


@pytest.fixture(scope="module")
def tracks():
    return track(rod_loop(1e-3), 45)


@pytest.mark.parametrize(("dt", "first"), [(1e-4, 343), (5e-4, 69), (1e-3, 34)])
def test_rod_with_mass_smallest_unstable_delay_of_the_sampled_loop(dt, first):
    """34.3, 34.5 and 34 ms; the continuous loop has 34.25 ms."""
    loop = rod_loop(dt)
    radius = [np.abs(np.linalg.eigvals(delayed(loop, n))).max() for n in (first - 1, first)]
    assert radius[0] < 1.0 < radius[1]


def test_rod_with_mass_first_unstable_delay_is_found(tracks):
    assert tracks.first_unstable == 34
    assert tracks.summary() == (
        "unstable from a delay of 34 ms (34 samples): a pole added by the delay, at 14.78 Hz, grows"
    )
    assert track(rod_loop(1e-3), 33).first_unstable is None
    assert "stable up to the longest delay analysed, 33 ms" in track(rod_loop(1e-3), 33).summary()


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (6, [(0, 3.62, 0.01, 2.4, 0.1), (2, 11.20, 0.01, 3.9, 0.1), ("delay", 85.45, 0.01, 23.0, 1.0)]),
        (30, [("delay", 16.0, 0.1, 7.3, 0.1)]),
        (34, [("delay", 14.78, 0.01, -0.03, 0.01)]),
    ],
)
def test_rod_with_mass_poles_are_the_known_ones(tracks, delay, expected):
    """Modes of the rod and the pole that the delay brings in: track, Hz and its last digit, % and its last digit."""
    assert tracks.critical >= tracks.own
    for number, hz, hz_digit, percent, digit in expected:
        number = tracks.critical if number == "delay" else number
        assert tracks.frequency_hz[delay, number] == pytest.approx(hz, abs=0.51 * hz_digit)
        assert 100 * tracks.damping[delay, number] == pytest.approx(percent, abs=0.51 * digit)


def continued(loop: StateSpace, pole: complex, samples: int, steps: int = 20) -> np.ndarray:
    """A pole followed through delays between whole samples, 1 + L(z) z^{−ν} = 0 by Newton's method alone."""

    def value(s: complex, nu: float) -> complex:
        z = np.exp(s * loop.dt)
        response = loop.c @ np.linalg.solve(z * np.eye(loop.states) - loop.a, loop.b) + loop.d
        return 1.0 + complex(response[0, 0]) * np.exp(-s * loop.dt * nu)

    s, path = np.log(pole) / loop.dt, [pole]
    for i in range(1, samples * steps + 1):
        nu = i / steps
        for _ in range(8):
            h = 1e-5 * abs(s)
            s -= value(s, nu) * 2 * h / (value(s + h, nu) - value(s - h, nu))
        if i % steps == 0:
            path.append(np.exp(s * loop.dt))
    return np.array(path)


def test_tracks_of_the_structure_are_those_of_a_continuous_change_of_the_delay(tracks):
    for number in (0, 2):
        path = continued(rod_loop(1e-3), tracks.poles[0, number], 45)
        np.testing.assert_allclose(tracks.poles[:, number], path, rtol=1e-9)


def test_tracks_do_not_swap(tracks):
    """Second differences stay far below the distance to the nearest other pole."""
    poles = tracks.poles
    for number in range(poles.shape[1]):
        alive = np.flatnonzero(~np.isnan(poles[:, number]))[2:]  # a pole leaves the negative real axis at right angles
        bend = np.abs(np.diff(poles[alive, number], 2))
        others = np.abs(np.delete(poles[alive[1:-1]], number, axis=1) - poles[alive[1:-1], number][:, None])
        assert (bend < 0.5 * np.nanmin(others, axis=1)).all()


def test_every_pole_is_on_exactly_one_track(tracks):
    loop = rod_loop(1e-3)
    for n in (0, 1, 7, 34):
        alive = tracks.poles[n][~np.isnan(tracks.poles[n])]
        assert len(alive) == loop.states + n
        expected = np.linalg.eigvals(delayed(loop, n))
        assert np.abs(alive[:, None] - expected).min(axis=0).max() < 1e-12


def test_poles_tend_to_those_of_the_delay_equation_with_the_order_of_the_hold():
    """A force held over the step is late by half of it: order one.  Linear over the step: order two."""
    exact = roots(wallace(12e-3)).roots[0]
    for hold, order in (("zero", 1.0), ("first", 2.0)):
        errors = []
        for n in (6, 12, 24):
            dt = 12e-3 / n
            values = np.log(np.linalg.eigvals(delayed(wallace_loop(dt, hold), n)).astype(complex)) / dt
            errors.append(np.abs(values - exact).min())
        assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(order, abs=0.1)


def test_rod_poles_tend_to_those_of_the_neutral_equation():
    exact = roots(rod(32e-3), most=6).roots[0]
    errors = []
    for n in (32, 64, 128):
        dt = 32e-3 / n
        values = np.log(np.linalg.eigvals(delayed(rod_loop(dt), n)).astype(complex)) / dt
        errors.append(np.abs(values - exact).min())
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("hold", ["zero", "first"])
def test_wallace2005_radius_is_that_of_the_linearised_code(hold):
    """Measured forces are those at the tick, so a delay of n samples of the rig is one of n samples of this loop."""
    tracks = track(wallace_loop(1e-3, hold), 9)
    virtual = {
        "mass": M, "damping": C, "stiffness": K, "support": {"stiffness": K, "damping": C},
        "scheme": {"kind": "exact", "hold": hold},
    }  # fmt: skip
    for n in (2, 6, 7, 9):
        measured = halfreal.check(definition(delay=n * 1e-3, virtual=virtual)).linearisation.spectral_radius
        assert tracks.radius[n] == pytest.approx(measured, abs=1e-9)


def test_two_channels_are_followed_as_two_loops():
    one, two = rod_loop(1e-3), wallace_loop(1e-3, "zero")
    block = [
        np.block([[p, np.zeros((p.shape[0], q.shape[1]))], [np.zeros((q.shape[0], p.shape[1])), q]])
        for p, q in ((one.a, two.a), (one.b, two.b), (one.c, two.c), (one.d, two.d))
    ]
    both = track(StateSpace(*block, dt=1e-3), 12)
    for single in (track(one, 12), track(two, 12)):
        for course in single.poles[:, : single.own].T:
            assert np.abs(both.poles[:, : both.own] - course[:, None]).max(axis=0).min() < 1e-9


def test_plot_marks_where_the_loop_is_unstable(tracks):
    above, below = tracks.plot(below_hz=40.0).axes
    assert above.patches[0].get_x() == pytest.approx(34.0)
    courses = [line for line in above.lines if line.get_marker() == "."]
    assert len(courses) == len([line for line in below.lines if line.get_marker() == "."]) >= 3
    assert np.nanmax([line.get_ydata() for line in courses]) <= 40.0


def test_continuous_loop_and_too_many_samples_are_refused():
    loop = rod_loop(1e-3)
    with pytest.raises(halfreal.errors.HalfrealError, match="continuous"):
        track(StateSpace(loop.a, loop.b, loop.c, loop.d), 3)
    with pytest.raises(halfreal.errors.HalfrealError, match="more than 500"):
        track(loop, 600)
