"""Loops with a large part in pole–residue form, against the same loops as one model."""

from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.contracts.context import AT_REST, OPEN_LOOP
from halfreal.contracts.state_space import StateSpace
from halfreal.models.structures.structure import Structure
from halfreal.runs.build import SETTLING_TICKS, build
from halfreal.stability.arcs import Arcs
from halfreal.stability.condensed import Condensed
from halfreal.stability.condensed_poles import all_poles
from halfreal.stability.linearise import linearise, perturbed
from halfreal.stability.margins import delay_margin
from halfreal.stability.open_loop import open_loop

EXAMPLE = halfreal.load(Path(__file__).parents[2] / "examples" / "spring_mass_damper" / "forward_prediction.toml")
DOFS = 60


def structure(scheme: str, axes: int = 1, heavy: float = 1.0) -> Structure:
    """A chain of masses between two walls."""
    rng = np.random.default_rng(2)
    stiffness = 2e5 * (2.0 * np.eye(DOFS) - np.eye(DOFS, k=1) - np.eye(DOFS, k=-1))
    return Structure.model_validate(
        {
            "mass": heavy * np.diag(rng.uniform(1.0, 3.0, DOFS)),
            "stiffness": stiffness,
            "modal_damping": 0.02,
            "interface": list(range(20, 20 + axes)),
            "support": {"stiffness": 2e5 * np.eye(DOFS)[0]},
            "scheme": scheme,
        }
    )


def opened(scheme: str = "newmark", specimen: float = 2250.0, **more) -> Condensed:
    changes = {"virtual": structure(scheme, **more)}
    test = EXAMPLE.unchecked_copy(changes).with_values({"rig.specimen.stiffness": specimen})
    loop = build(test, OPEN_LOOP)
    loop.run(SETTLING_TICKS)
    found = open_loop(loop)
    assert isinstance(found, Condensed)
    return found


@pytest.mark.parametrize(
    ("scheme", "specimen"),
    [
        ("newmark", 2e3),
        ("exact", 2e3),
        ("exact", 3e5),
        ("generalized-alpha", 2e3),
        ("kr-alpha", 2e3),
        ("kr-alpha", 3e5),
    ],
)
def test_linearisation_has_the_poles_of_the_loop_that_runs(scheme: str, specimen: float):
    test = EXAMPLE.unchecked_copy({"virtual": structure(scheme)}).with_values({"rig.specimen.stiffness": specimen})
    loop = build(test, AT_REST)
    loop.run(SETTLING_TICKS)
    found, indices = linearise(loop), loop.dynamic_indices()
    expected = np.linalg.eigvals(perturbed(loop, indices, indices))
    assert found.poles is not None and found.eigenvalues.size == indices.size
    outer = expected[np.abs(expected) > 0.95]
    assert np.count_nonzero(np.abs(found.eigenvalues) > 0.95) == outer.size
    assert max(np.abs(found.eigenvalues - pole).min() for pole in outer) < 1e-9
    assert found.spectral_radius == pytest.approx(np.abs(expected).max(), rel=1e-11)
    np.testing.assert_allclose(found.matrix.toarray(), perturbed(loop, indices, indices), rtol=1e-6, atol=1e-6)


def same(found: Condensed, digits: float = 1e-10) -> None:
    """Margins that the condensed loop and the whole model have alike."""
    one, other = delay_margin(found), delay_margin(found.dense())
    np.testing.assert_allclose(one.omega, other.omega, rtol=digits)
    np.testing.assert_allclose(one.lag, other.lag, rtol=digits)
    np.testing.assert_array_equal(one.direction, other.direction)
    assert one.unstable_without_delay == other.unstable_without_delay
    assert (one.stuck, one.on_limit, one.beyond_one) == (other.stuck, other.on_limit, other.beyond_one)
    for name in ("critical_delay", "phase_margin_deg", "gain_margin_db", "gain_reduction_db", "high_frequency_gain"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=digits, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("scheme", ["newmark", "exact", "generalized-alpha"])
@pytest.mark.parametrize("specimen", [2e3, 5e4, 3e5])
def test_margins_are_those_of_the_whole_model(scheme: str, specimen: float):
    same(opened(scheme, specimen))


@pytest.mark.parametrize("seed", range(8))
def test_margins_of_random_loops(seed: int):
    same(random_loop(np.random.default_rng(seed)))


def random_loop(rng: np.random.Generator, channels: int = 1, modes: int = 50) -> Condensed:
    """A delay and a lag before modes, a lag after them; gains about one."""
    delay, lag = int(rng.integers(1, 9)), rng.uniform(0.1, 0.9)
    n, m = delay + 2, channels
    a = np.zeros((n, n))
    a[np.arange(1, delay), np.arange(delay - 1)] = 1.0
    a[delay, delay - 1], a[delay, delay], a[-1, -1] = 1.0 - lag, lag, 0.5
    a = np.kron(a, np.eye(m))
    unit = np.kron(np.eye(n), np.eye(m))
    poles = np.exp((-rng.uniform(0.005, 0.05, modes) + 1j) * np.sort(rng.uniform(0.02, 2.5, modes)))
    left, right = rng.standard_normal((m, modes)), rng.standard_normal((modes, m))
    size = 0.05 * rng.uniform(0.3, 2.0)
    return Condensed(
        a=a,
        e=0.5 * unit[:, -m:],
        f=unit[delay * m : (delay + 1) * m],
        modes=np.concatenate([poles, poles.conj()]),
        left=np.hstack([left, left]).astype(complex),
        right=size * np.vstack([right * 1j, right * -1j]),
        dt=1e-3,
        b=unit[:, :m],
        h=np.zeros((m, m)),
        c=unit[-m:],
        j=np.zeros((m, m)),
        d=np.zeros((m, m)),
        apart=np.zeros(0, dtype=complex),
    )


def test_margins_of_several_axes():
    rng = np.random.default_rng(3)
    for size in (1.0, 0.1):
        found = random_loop(rng, channels=2, modes=30)
        same(found._with(right=size * found.right), 1e-9)


def test_resonance_too_narrow_for_any_grid_is_found():
    """A mode with hardly any damping whose peak just passes one, between frequencies that nothing tells to look at."""
    base = random_loop(np.random.default_rng(1), modes=4)
    quiet = base._with(right=0.02 * base.right)
    pole = np.exp((-1e-7 + 1j) * 0.777)
    peak = np.abs(quiet.response(np.array([777.0]))[0, 0, 0])
    narrow = quiet._with(
        modes=np.append(quiet.modes, [pole, pole.conj()]),
        left=np.hstack([quiet.left, [[1.0, 1.0]]]),
        right=np.vstack([quiet.right, [[1e-9j], [-1e-9j]]]),
    )
    unit = np.abs(narrow.response(np.array([777.0]))[0, 0, 0])
    assert peak < 0.5
    loud = narrow._with(right=np.vstack([quiet.right, [[1e-9j * 1.5 / unit], [-1e-9j * 1.5 / unit]]]))
    found = delay_margin(loud)
    assert found.omega.size == 2 and np.ptp(found.omega) < 1e-3
    assert found.direction.tolist() == [-1, 1]


def test_bounds_hold_all_over_an_arc():
    loop = opened()
    arcs, rng = Arcs(loop), np.random.default_rng(0)
    theta = rng.uniform(1e-3, 3.0, 200)
    half = 10.0 ** rng.uniform(-6, -2, 200)
    value, slope, curve = arcs.evaluated(theta, half)
    for share in (-1.0, -0.5, 0.3, 1.0):
        moved = loop.response((theta + share * half) / loop.dt)
        rest = np.abs(moved - value - (share * half)[:, None, None] * slope)
        assert np.all(rest <= 0.5 * (share * half)[:, None, None] ** 2 * curve + 1e-13 * np.abs(value).max())


def test_poles_that_cannot_be_told_apart_are_left_to_the_whole_model():
    loop = random_loop(np.random.default_rng(0), modes=6).closed()
    same_twice = loop._with(
        modes=np.tile(loop.modes, 2), left=np.hstack([loop.left, loop.left]), right=np.vstack([loop.right, loop.right])
    )
    found = all_poles(same_twice)
    expected = np.linalg.eigvals(same_twice.dense().a)
    if found is not None:
        assert np.abs(found).max() == pytest.approx(np.abs(expected).max(), rel=1e-7)


def test_dense_model_has_the_same_response():
    loop = random_loop(np.random.default_rng(5), channels=2)
    omega = np.geomspace(1.0, 3000.0, 40)
    dense = loop.dense()
    assert isinstance(dense, StateSpace)
    np.testing.assert_allclose(dense.response(omega), loop.response(omega), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_poles_do_not_depend_on_the_units_of_the_states(seed: int):
    """Units of a valve's states and of a delay line differ by 14 decades; the poles are those in good units."""
    rng = np.random.default_rng(seed)
    loop = random_loop(rng, modes=60).closed()
    loop = loop._with(a=loop.a + 0.02 * rng.standard_normal(loop.a.shape))
    units = 10.0 ** np.linspace(-7.0, 7.0, len(loop.a))[rng.permutation(len(loop.a))]
    scaled = loop._with(a=loop.a * units / units[:, None], e=loop.e / units[:, None], f=loop.f * units)
    expected, found = np.linalg.eigvals(loop.dense().a), all_poles(scaled)
    assert found is not None
    outer = expected[np.abs(expected) > 0.95]
    assert np.count_nonzero(np.abs(found) > 0.95) == outer.size
    assert max(np.abs(found - pole).min() for pole in outer) < 1e-9
