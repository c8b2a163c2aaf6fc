"""Every scheme against independent solutions, its measured order, and its stability."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
from scipy.integrate import solve_ivp

import allocation
from halfreal.kernels.native import CompilationError
from models import loops
from models.loops import DAMPING, FORCED, MASS, NONLINEAR, SCHEMES, STIFFNESS, every_scheme, run, structure, transition

INVERSE = np.linalg.inv(MASS)
A = np.block([[np.zeros((2, 2)), np.eye(2)], [-INVERSE @ STIFFNESS, -INVERSE @ DAMPING]])
B = np.vstack([np.zeros((2, 2)), INVERSE @ np.array([[0.0, -1.0], [1.0, 0.0]])])  # excitation on 2, feedback on 1
START = {"initial_displacement": [0.02, -0.01], "initial_velocity": [0.3, 0.1]}
X0 = np.array([0.02, -0.01, 0.3, 0.1])
OBSERVED = np.eye(4)[:3]  # q1, q2, v1
END = 1.0
EXPLICIT = ("exact, held", "central difference", "kr-alpha", "mkr-alpha", "rk2")


def measured_order(name: str, truth: np.ndarray, source: dict[str, float], steps: int) -> float:
    """From the errors of q1, q2 and v1 at the end with two steps, one half the other."""
    errors = []
    for count in (steps, 2 * steps):
        last = run(structure(name, **START), END / count, count + 1, loops.sine(**source))[-1, :3]
        errors.append(np.linalg.norm((last - truth) * [10.0, 10.0, 1.0]))
    return float(np.log2(errors[0] / errors[1]))


@pytest.mark.parametrize("name", NONLINEAR)
def test_order_in_free_vibration(name):
    truth = OBSERVED @ scipy.linalg.expm(A * END) @ X0
    assert measured_order(name, truth, {}, 400) == pytest.approx(4 if name == "rk4" else 2, abs=0.1)


@pytest.mark.parametrize("name", SCHEMES)
def test_order_with_inputs(name):
    def inputs(t: float) -> np.ndarray:
        return np.array(
            [FORCED["amplitude"] * np.sin(FORCED["omega"] * t), FORCED["force"] * np.cos(FORCED["force_omega"] * t)]
        )

    solution = solve_ivp(lambda t, x: A @ x + B @ inputs(t), (0, END), X0, method="DOP853", rtol=1e-12, atol=1e-14)
    truth = OBSERVED @ solution.y[:, -1]
    assert measured_order(name, truth, FORCED, 400) == pytest.approx(1 if name == "exact, held" else 2, abs=0.1)


def random_inputs(ticks: int = 200) -> np.ndarray:
    values = np.random.default_rng(1).normal(size=(ticks, 3))
    values[:, 1] = 0.0  # the rate acts on nothing here
    return values


@pytest.mark.parametrize(("name", "interpolate"), [("exact", True), ("exact, held", False)])
def test_exact_equals_lsim_for_inputs_linear_or_held_between_samples(name, interpolate):
    values, dt = random_inputs(), 0.05
    acceleration = A[3:], B[3:]
    model = (A, B, np.vstack([OBSERVED, acceleration[0]]), np.vstack([np.zeros((3, 2)), acceleration[1]]))
    _, expected, _ = scipy.signal.lsim(model, values[:, [0, 2]], np.arange(200) * dt, X0, interp=interpolate)
    found = run(structure(name, **START), dt, 200, loops.table(values))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_exact_transition_matrix_is_the_matrix_exponential():
    np.testing.assert_allclose(transition(structure("exact"), 0.1)[:4, :4], scipy.linalg.expm(A * 0.1), atol=1e-12)


def test_newmark_average_acceleration_is_the_bilinear_transform():
    values, dt = random_inputs(), 0.05
    u = values[:, [0, 2]]
    x, expected = X0, [X0]
    for before, now in itertools.pairwise(u):
        right = x + 0.5 * dt * (A @ x + B @ (before + now))
        x = np.linalg.solve(np.eye(4) - 0.5 * dt * A, right)
        expected.append(x)
    found = run(structure("newmark", **START), dt, 200, loops.table(values))
    np.testing.assert_allclose(found[:, :3], np.array(expected)[:, :3], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", SCHEMES)
def test_first_tick_is_the_initial_state_in_equilibrium(name):
    values = random_inputs()
    row = run(structure(name, **START), 1e-3, 1, loops.table(values))[0]
    acceleration = A[2:] @ X0 + B[2:] @ values[0, [0, 2]]
    np.testing.assert_allclose(row, [0.02, -0.01, 0.3, acceleration[1]], rtol=1e-12)


@pytest.mark.parametrize("name", SCHEMES)
def test_explicit_schemes_give_the_displacement_before_the_inputs_of_the_tick(name):
    values = random_inputs()
    changed = values.copy()
    changed[50] += 1000.0
    target, other = (run(structure(name), 1e-3, 51, loops.table(rows))[:, 0] for rows in (values, changed))
    np.testing.assert_array_equal(target[:50], other[:50])
    assert (target[50] == other[50]) == (name in EXPLICIT)


# --- stability: two uncoupled oscillators of unit mass, ω = 1 and 3 rad/s ---------------------------------------------

LOW, HIGH = 1.0, 3.0


def oscillators(scheme, damping_ratio: float = 0.0):
    omega = np.array([LOW, HIGH])
    return structure(scheme, mass=np.eye(2), stiffness=np.diag(omega**2), damping=np.diag(2 * damping_ratio * omega))


def radius(virtual, dt: float) -> float:
    return float(np.max(np.abs(scipy.linalg.eigvals(transition(virtual, dt)))))


@pytest.mark.parametrize("dt", [0.01, 1.0, 100.0])
def test_newmark_average_acceleration_neither_grows_nor_decays(dt):
    values = np.abs(scipy.linalg.eigvals(transition(oscillators("newmark"), dt)))
    np.testing.assert_allclose(np.sort(values)[-4:], 1.0, atol=1e-9)


@pytest.mark.parametrize("kind", ["generalized-alpha", "kr-alpha", "mkr-alpha"])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 1.0])
def test_spectral_radius_at_infinity_is_the_one_asked_for(kind, rho):
    # equal roots meet there, so that the limit is reached with the square root of 1/Ω
    assert radius(oscillators({"kind": kind, "rho_inf": rho}), 1e7) == pytest.approx(rho, abs=1e-3)


@pytest.mark.parametrize("alpha", [-1 / 3, -0.1, 0.0])
def test_spectral_radius_of_hht_at_infinity(alpha):
    found = radius(oscillators({"kind": "hht", "alpha": alpha}), 1e7)
    assert found == pytest.approx((1 + alpha) / (1 - alpha), abs=1e-3)


@pytest.mark.parametrize("name", ["newmark", "hht", "generalized-alpha", "kr-alpha", "mkr-alpha", "exact"])
def test_unconditionally_stable_schemes_do_not_grow_at_any_step(name):
    virtual = oscillators(name, 0.02)
    assert virtual.scheme.critical_step(virtual.system("none")) is None
    assert max(radius(virtual, dt) for dt in np.logspace(-2, 4, 25)) < 1.0


@pytest.mark.parametrize("rho", [0.3, 0.75, 1.0])
def test_poles_of_mkr_alpha_lie_apart_at_infinity(rho):
    """Kolay and Ricles (2019): ±iρ and −ρ; of an undamped oscillator as Ω grows."""
    virtual = structure(
        {"kind": "mkr-alpha", "rho_inf": rho}, mass=np.eye(2), stiffness=np.eye(2), damping=np.zeros((2, 2))
    )
    found = scipy.linalg.eigvals(transition(virtual, 1e6))
    wanted = np.repeat([1j * rho, -1j * rho, -rho], 2)
    np.testing.assert_allclose(np.poly(found[np.argsort(-np.abs(found))][:6]), np.poly(wanted), atol=1e-6)


def test_mkr_alpha_overshoots_less():
    """Free vibration from a displacement with a step of many periods: KR-α's double pole lets it grow first."""

    def peak(kind):
        a = transition(oscillators({"kind": kind, "rho_inf": 0.5}), 50.0)
        return max(np.abs(np.linalg.matrix_power(a, k)[:2, :2]).max() for k in range(1, 40))

    assert peak("mkr-alpha") < peak("kr-alpha")


@pytest.mark.parametrize("rho", [0.3, 0.75, 1.0])
def test_kr_alpha_has_the_poles_of_generalized_alpha(rho):
    """Kolay and Ricles (2014): the integration parameter matrices are chosen for this."""
    found, expected = (
        scipy.linalg.eigvals(transition(structure({"kind": kind, "rho_inf": rho}), 0.2))
        for kind in ("kr-alpha", "generalized-alpha")
    )
    np.testing.assert_allclose(np.poly(found), np.poly(expected), atol=1e-10)


@pytest.mark.parametrize(
    ("scheme", "damping_ratio", "limit"),
    [
        ("central difference", 0.0, 2 / HIGH),
        ("central difference", 0.1, 2 / HIGH),
        ({"kind": "newmark", "beta": 1 / 6}, 0.0, np.sqrt(12) / HIGH),
        ("rk4", 0.0, np.sqrt(8) / HIGH),
        ("rk4", 0.1, None),
        ("rk2", 0.1, None),
    ],
)
def test_critical_step_is_where_the_spectral_radius_passes_one(scheme, damping_ratio, limit):
    virtual = oscillators(scheme, damping_ratio)
    critical = virtual.scheme.critical_step(virtual.system("none"))
    if limit is not None:
        assert critical == pytest.approx(limit, rel=1e-9)
    assert radius(virtual, 0.999 * critical) < 1.0 + 1e-9
    assert radius(virtual, 1.001 * critical) > 1.0 + 1e-6


def test_heun_without_damping_has_no_stable_step():
    virtual = oscillators("rk2")
    assert virtual.scheme.critical_step(virtual.system("none")) == 0.0
    assert radius(virtual, 0.1) > 1.0 + 1e-6


def test_schemes_allocate_nothing():
    found = allocation.per_tick(every_scheme())
    assert found == dict.fromkeys(SCHEMES, 0.0)


def test_block_that_allocates_is_refused():
    with pytest.raises(CompilationError, match=r"'allocating_step'.*zeros"):
        loops.allocating()
