"""What every law promises, whatever it is made to go through."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halfreal.models.materials.kinds import FIBRES, HINGES, SPRINGS
from halfreal.models.materials.law import rows
from halfreal.models.materials.uniaxial import uniaxial
from models.materials.laws import LAWS
from models.materials.paths import along, follow, law

DT = 1e-3
any_law = st.sampled_from(sorted(LAWS))
corners = st.lists(st.floats(-6.0, 6.0), min_size=1, max_size=8)
PATH_ONLY = (
    *("linear", "cubic", "bilinear", "gap", "hook", "elastoplastic", "menegotto-pinto", "coulomb friction"),
    *("kent-park concrete", "concrete with tension"),
)
"""Laws that depend on the corners of a path alone, exactly."""


def loaded(name, path, dt: float = DT):
    """Code, parameters and state of a law after a path, and its last strain."""
    chosen = law(LAWS[name][0])
    (code,), (p,), (s,) = rows([chosen])
    tried, before = s.copy(), 0.0
    for strain in path:
        uniaxial(code, p, s, strain, (strain - before) / dt, dt, tried)
        s[:] = tried
        before = strain
    return code, p, s, before


def test_every_kind_of_law_is_tried_here():
    kinds = {*SPRINGS, *HINGES, *FIBRES}
    tried = {fields["kind"].removesuffix(" hinge").removesuffix(" fibre") for fields, _ in LAWS.values()}
    assert {kind.removesuffix(" hinge").removesuffix(" fibre") for kind in kinds} - {"elastic"} == tried


@given(any_law, corners, st.floats(-6.0, 6.0), st.floats(-1.0, 1.0))
def test_a_trial_changes_nothing_and_another_one_does_not_notice_it(name, path, tried_strain, rate):
    size = LAWS[name][1]
    code, p, s, before = loaded(name, along(size * np.array(path), 4))
    kept_p, kept_s, tried = p.copy(), s.copy(), np.full_like(s, np.nan)
    strain = before + 0.1 * size
    first = uniaxial(code, p, s, strain, rate, DT, tried)
    state = tried.copy()
    uniaxial(code, p, s, tried_strain * size, -rate, 2 * DT, tried)
    assert uniaxial(code, p, s, strain, rate, DT, tried) == first
    np.testing.assert_array_equal(tried, state)
    np.testing.assert_array_equal(p, kept_p)
    np.testing.assert_array_equal(s, kept_s)


@given(any_law, corners)
def test_the_committed_strain_has_the_committed_stress(name, path):
    size = LAWS[name][1]
    steps = along(size * np.array(path), 4)
    rate = (steps[-1] - (steps[-2] if len(steps) > 1 else 0.0)) / DT
    code, p, s, before = loaded(name, steps)
    stress = follow(LAWS[name][0], steps, DT)[0]
    again = uniaxial(code, p, s, before, rate, 0.0, np.zeros_like(s))[0]
    assert again == pytest.approx(stress[-1], rel=1e-9, abs=1e-9 * np.abs(stress).max())


@given(st.sampled_from(PATH_ONLY), corners)
def test_a_straight_leg_may_be_divided(name, path):
    fields, size = LAWS[name]
    whole, parts = size * np.array(path), 7
    stress = follow(fields, whole)[0]
    np.testing.assert_allclose(
        stress, follow(fields, along(whole, parts))[0][parts - 1 :: parts], rtol=0, atol=1e-9 * np.abs(stress).max()
    )


@given(any_law, st.lists(st.floats(-6.0, 6.0), min_size=1, max_size=6))
def test_no_law_gives_out_more_energy_than_it_took_up(name, path):
    fields, size = LAWS[name]
    strains = np.array([0.0, *along(size * np.array(path), 400)])
    stress = np.array([0.0, *follow(fields, strains[1:], DT)[0]])
    turning = np.abs(np.diff(stress)).max() * np.abs(np.diff(strains)).max()  # of the trapezoidal rule at a kink
    work = np.cumsum(np.diff(strains) * (stress[1:] + stress[:-1]) / 2)
    assert work.min() >= -len(path) * turning - 1e-9 * np.abs(stress).max() * size


@given(any_law, st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30), st.sampled_from([0.0, 1e-6, 1e-3, 1.0]))
def test_no_bounded_history_ends_in_something_that_is_no_number(name, path, dt):
    fields, size = LAWS[name]
    stress, tangent = follow(fields, size * np.array(path), dt)
    assert np.all(np.isfinite(stress))
    assert np.all(np.isfinite(tangent))


@given(any_law, corners, st.floats(-1.0, 1.0), st.floats(-0.5, 0.5))
def test_the_tangent_is_the_slope_of_the_stress(name, path, away, rate):
    """Or, at a corner, lies between the slopes on either side of it."""
    size = LAWS[name][1]
    code, p, s, before = loaded(name, along(size * np.array(path), 10))
    increment = 0.1 if name.startswith("bouc-wen") else 1.0  # within which its integration is accurate
    strain, near, tried = before + increment * away * size, 1e-6 * size, s.copy()
    # it deteriorates with the reversal itself, which differences must not straddle
    assume(abs(strain - before) > near or name != "ibarra-medina-krawinkler")
    elapsed = 0.0 if name == "mr damper" else DT  # its tangent leaves out how its inner states depend on the strain
    at, below, above = (uniaxial(code, p, s, x, rate, elapsed, tried) for x in (strain, strain - near, strain + near))
    slopes = sorted(((at[0] - below[0]) / near, (above[0] - at[0]) / near))
    stiffness = max(law(LAWS[name][0]).initial_stiffness, abs(at[1]))
    blur = 1e-9 * np.abs(at[0]) / near + 1e-4 * stiffness
    rupture = name == "ibarra-medina-krawinkler" and max(map(abs, slopes)) > 2 * stiffness
    assert rupture or slopes[0] - blur <= at[1] <= slopes[1] + blur


@given(st.sampled_from(["power damper", "friction pendulum", "mr damper", "elastoplastic"]), corners, st.floats(-2, 2))
def test_the_damping_is_the_slope_of_the_stress_by_the_rate(name, path, rate):
    code, p, s, before = loaded(name, along(LAWS[name][1] * np.array(path), 4))
    near, tried = 1e-7, s.copy()
    assume(rate == 0.0 or abs(rate) > near)
    at, below, above = (uniaxial(code, p, s, before, v, DT, tried) for v in (rate, rate - near, rate + near))
    slopes = sorted(((at[0] - below[0]) / near, (above[0] - at[0]) / near))
    blur = 1e-9 * abs(at[0]) / near + 1e-4 * abs(at[2])
    assert slopes[0] - blur <= at[2] <= slopes[1] + blur


@pytest.mark.parametrize("name", LAWS)
def test_slopes_at_the_origin_are_the_initial_ones(name):
    fields, size = LAWS[name]
    chosen = law(fields)
    (code,), (p,), (s,) = rows([chosen])
    side = -1.0 if name in ("kent-park concrete", "gap") else 1.0
    small, tried = 1e-7 * size * side, s.copy()
    stress = uniaxial(code, p, s, small, 0.0, 0.0, tried)[0]
    assert stress / small == pytest.approx(chosen.initial_stiffness, rel=1e-5)
    damped = uniaxial(code, p, s, 0.0, 1e-7, 0.0, tried)[0]
    assert damped / 1e-7 == pytest.approx(chosen.initial_damping, rel=1e-9)


def test_no_law_has_an_unknown_code():
    a = np.zeros(32)
    assert np.isnan(uniaxial(-1.0, a, a, 0.1, 0.0, 0.0, a.copy())[0])
    codes = {code for (code,), _, _ in (rows([law(fields)]) for fields, _ in LAWS.values())}
    assert len(codes) == len(LAWS) - 3  # degrading Bouc–Wen, hook and pendulum share a function each


def test_legs_of_the_paths_here_are_straight():
    for a, b in itertools.pairwise(along(np.array([1.0, -2.0]), 4).tolist()):
        assert abs(b - a) in (0.25, 0.75)
