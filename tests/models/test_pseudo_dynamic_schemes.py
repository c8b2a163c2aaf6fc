"""The schemes of pseudo-dynamic tests against the published recursion, their order, and the limits of their stability.

The rig here is an exact static one: the force of a linear specimen at the target, known at the next tick.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from halfreal.definition.definition import Definition
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.structures.structure import Structure
from halfreal.stability.linearise import linearise
from models.loops import SOURCES

MASS = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 1.5]])
DAMPING = np.array([[1.5, -0.4, 0.0], [-0.4, 0.7, -0.2], [0.0, -0.2, 0.9]])  # not proportional
STIFFNESS = np.array([[300.0, -100.0, 0.0], [-100.0, 250.0, -80.0], [0.0, -80.0, 180.0]])
SPECIMEN = np.array([[150.0, -60.0], [-60.0, 90.0]])
ESTIMATE = np.array([[180.0, -50.0], [-50.0, 120.0]])
INTERFACE = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])  # of axes 1 and 2: degrees of freedom 1 and 3
FORCED = np.array([0.0, 1.0, 0.0])
START = {"initial_displacement": [0.02, -0.01, 0.015], "initial_velocity": [0.3, 0.1, -0.2]}
AMPLITUDE, OMEGA = 20.0, 9.0
SPRING = {"stiffness": 120.0, "yield_force": 1.5, "hardening": 0.1}
DIRECTION = np.array([0.0, -1.0, 1.0])  # between degrees of freedom 2 and 3
OS = {"kind": "operator splitting", "specimen_stiffness": ESTIMATE}
SCHEMES = {
    "explicit newmark": {"kind": "explicit newmark"},
    "operator splitting": OS,
    "operator splitting, α = −0.1": {**OS, "alpha": -0.1},
    "operator splitting, α = −1/3": {**OS, "alpha": -1 / 3},
}


def sine_step(p, s, t, u, y):
    y[0] = p.amplitude * np.sin(p.omega * t)
    y[1] = p.amplitude * p.omega * np.cos(p.omega * t)
    return 0


def static_step(p, s, t, u, y):
    for i in range(y.size):
        y[i] = 0.0
        for j in range(u.size):
            y[i] += p.stiffness[i, j] * u[j]
    return 0


def channels(name: str, n: int) -> tuple[str, ...]:
    return (name,) if n == 1 else tuple(f"{name}.{i + 1}" for i in range(n))


def closed(virtual: Structure, dt: float, specimen: np.ndarray, amplitude: float = AMPLITUDE) -> Loop:
    """The structure and a static rig that answers each target at the next tick."""
    n = len(specimen)
    source = Block("source", sine_step, (), SOURCES[:2], parameters={"amplitude": amplitude, "omega": OMEGA})
    rig = Block(
        "rig",
        static_step,
        channels("target", n),
        tuple(Channel(name, "N") for name in channels("feedback", n)),
        {"stiffness": specimen},
    )
    return Loop([source, virtual.block(dt, "force", channels("feedback", n))], outer=[rig], dt=dt)


def structure(scheme: dict, **changes) -> Structure:
    return Structure(
        **{
            "mass": MASS,
            "damping": DAMPING,
            "stiffness": STIFFNESS,
            "interface": [1, 3],
            "force_dof": 2,
            "scheme": scheme,
            **START,
            **changes,
        }
    )


def targets(virtual: Structure, dt: float, ticks: int) -> np.ndarray:
    return closed(virtual, dt, SPECIMEN).run(ticks, record=channels("target", 2)).log[:, 1:]


class Elastoplastic:
    """Return mapping with kinematic hardening."""

    def __init__(self, stiffness: float, yield_force: float, hardening: float) -> None:
        self.k, self.limit, self.h = stiffness, yield_force, stiffness * hardening / (1.0 - hardening)
        self.plastic = 0.0

    def __call__(self, deformation: float) -> float:
        beyond = self.k * (deformation - self.plastic) - self.h * self.plastic
        if abs(beyond) > self.limit:
            self.plastic += np.sign(beyond) * (abs(beyond) - self.limit) / (self.k + self.h)
        return self.k * (deformation - self.plastic)


def published(scheme: dict, dt: float, ticks: int, spring: Elastoplastic | None) -> np.ndarray:
    """Predictors d̃ of the α-OS method as Combescure and Pegon print it: M̂ a_{n+1} = f̂_{n+1, α}."""
    explicit = scheme["kind"] == "explicit newmark"
    alpha = 0.0 if explicit else scheme.get("alpha", 0.0)
    beta, gamma = (0.0, 0.5) if explicit else ((1.0 - alpha) ** 2 / 4.0, (1.0 - 2.0 * alpha) / 2.0)
    initial = STIFFNESS + INTERFACE @ ESTIMATE @ INTERFACE.T
    if spring is not None:
        initial = initial + spring.k * np.outer(DIRECTION, DIRECTION)

    def resisting(d: np.ndarray) -> np.ndarray:
        own = 0.0 if spring is None else spring(float(DIRECTION @ d)) * DIRECTION
        return STIFFNESS @ d + INTERFACE @ SPECIMEN @ INTERFACE.T @ d + own

    def load(n: int) -> np.ndarray:
        return AMPLITUDE * np.sin(OMEGA * n * dt) * FORCED

    mass = MASS + gamma * dt * (1 + alpha) * DAMPING + beta * dt**2 * (1 + alpha) * initial
    d, v = np.array(START["initial_displacement"]), np.array(START["initial_velocity"])
    force = resisting(d)
    a = np.linalg.solve(MASS, load(0) - DAMPING @ v - force)
    # the state at the start is given, so that its predictors are what would have led there
    r, w = force - beta * dt**2 * initial @ a, v - gamma * dt * a
    found = [d]
    for n in range(ticks - 1):
        d_, w_ = d + dt * v + dt**2 / 2 * (1 - 2 * beta) * a, v + dt * (1 - gamma) * a
        r_ = resisting(d_)
        right = (1 + alpha) * load(n + 1) - alpha * load(n) + alpha * r - (1 + alpha) * r_
        right += alpha * DAMPING @ w - (1 + alpha) * DAMPING @ w_
        right += alpha * (gamma * dt * DAMPING + beta * dt**2 * initial) @ a
        a = np.linalg.solve(mass, right)
        d, v, r, w = d_ + dt**2 * beta * a, w_ + dt * gamma * a, r_, w_
        found.append(d_)
    return np.array(found) @ INTERFACE


@pytest.mark.parametrize("nonlinear", [False, True], ids=["linear", "with a yielding element"])
@pytest.mark.parametrize("name", SCHEMES)
def test_targets_are_those_of_the_published_recursion(name, nonlinear):
    dt, ticks = 0.02, 300
    spring = Elastoplastic(**SPRING) if nonlinear else None
    expected = published(SCHEMES[name], dt, ticks, spring)
    law = {"kind": "elastoplastic", **SPRING}
    changes = {"elements": [{"law": law, "between": [2, 3]}]} if nonlinear else {}
    found = targets(structure(SCHEMES[name], **changes), dt, ticks)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)
    assert np.abs(expected).max() > 0.05
    if spring is not None:
        assert abs(spring.plastic) > 0.1 * SPRING["yield_force"] / SPRING["stiffness"], "it never yielded"


@pytest.mark.parametrize("name", SCHEMES)
def test_order_of_convergence_is_two_with_a_linear_specimen(name):
    whole = STIFFNESS + INTERFACE @ SPECIMEN @ INTERFACE.T
    inverse, end = np.linalg.inv(MASS), 1.0

    def rates(t, x):
        force = AMPLITUDE * np.sin(OMEGA * t) * FORCED
        return np.concatenate([x[3:], inverse @ (force - DAMPING @ x[3:] - whole @ x[:3])])

    x0 = [*START["initial_displacement"], *START["initial_velocity"]]
    truth = solve_ivp(rates, (0, end), x0, method="DOP853", rtol=1e-12, atol=1e-14).y[[0, 2], -1]
    errors = [
        np.linalg.norm(targets(structure(SCHEMES[name]), end / count, count + 1)[-1] - truth) for count in (400, 800)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


# --- stability: one degree of freedom of unit mass --------------------------------------------------------------------


def radius(scheme: dict, own: float, specimen: float, dt: float) -> float:
    """Spectral radius of one tick of the whole loop."""
    virtual = Structure(mass=[[1.0]], damping=[[0.0]], stiffness=[[own]], interface=[1], force_dof=1, scheme=scheme)
    loop = closed(virtual, dt, np.array([[specimen]]), amplitude=0.0)
    loop.run(4)
    return linearise(loop).spectral_radius


def test_explicit_newmark_is_stable_up_to_twice_the_highest_frequency_of_structure_with_specimen():
    own, specimen = 300.0, 600.0
    limit = 2.0 / np.sqrt(own + specimen)
    scheme = {"kind": "explicit newmark"}
    assert radius(scheme, own, specimen, 0.999 * limit) == pytest.approx(1.0, abs=1e-6)
    assert radius(scheme, own, specimen, 1.001 * limit) > 1.01


@pytest.mark.parametrize("alpha", [0.0, -0.1, -1 / 3])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("omega", [0.1, 1.9, 2.1, 10.0, 100.0])
def test_operator_splitting_is_stable_at_any_step_for_specimens_no_stiffer_than_reckoned(omega, share, alpha):
    own, estimate = 300.0, 600.0
    scheme = {"kind": "operator splitting", "specimen_stiffness": [[estimate]], "alpha": alpha}
    dt = omega / np.sqrt(own + share * estimate)
    assert radius(scheme, own, share * estimate, dt) <= 1.0 + 1e-6


def test_a_specimen_stiffer_than_reckoned_makes_operator_splitting_unstable_beyond_a_step():
    """With α = 0 its predictors are those of the explicit method with the mass m + ¼ Δt² (k + k̂), hence unstable if
    k_s > k̂ + 4 m/Δt²."""
    own, estimate, dt = 300.0, 600.0, 0.2
    scheme = {"kind": "operator splitting", "specimen_stiffness": [[estimate]]}
    limit = estimate + 4.0 / dt**2
    assert radius(scheme, own, 0.999 * limit, dt) == pytest.approx(1.0, abs=1e-6)
    assert radius(scheme, own, 1.001 * limit, dt) > 1.01


def test_a_stiffness_for_another_number_of_axes_is_refused():
    virtual = structure({"kind": "operator splitting", "specimen_stiffness": [[600.0]]})
    with pytest.raises(ValueError, match=r"1 row\(s\) where the interface has 2 axis\(es\); give one for each"):
        Definition(title="t", timing={"step": 0.01, "duration": 1.0}, virtual=virtual, rig={"specimen": {}})
