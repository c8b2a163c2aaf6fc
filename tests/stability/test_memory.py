"""Poles at λ = 1 of what is memory are left out, and those of a loop that drifts are not."""

import numpy as np
import pytest
import scipy.linalg

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.stability import memory
from halfreal.stability.linearise import linearise
from kernels import blocks


def offset_step(p, s, t, u, y):
    """An elastoplastic spring whose offset moves where it yields, and a field that nobody uses."""
    force = 10.0 * (u[0] - s.offset)
    if abs(force) > 1.0:
        s.offset = u[0] - np.sign(force) * 0.1
        force = np.sign(force)
    y[0] = force
    return 0


def increments_step(p, s, t, u, y):
    """The same spring while it is elastic, by increments of its force: f − 10 u₀ is kept."""
    s.force += 10.0 * (u[0] - s.last)
    s.last = u[0]
    y[0] = s.force
    return 0


def counting_step(p, s, t, u, y):
    """A spring that counts its calls, sums its path, and integrates what it does not use."""
    s.count += 1.0
    s.path += abs(u[0])
    s.sum += u[0]
    y[0] = 10.0 * u[0]
    return 0


def integrating_step(p, s, t, u, y):
    """A spring beside a force that integrates the displacement, and so drifts."""
    s.sum += 1e-3 * u[0] * p.gain
    y[0] = 10.0 * u[0] + s.sum
    return 0


def seldom_step(p, s, t, u, y):
    """The same, but it takes in the displacement in every tenth call only."""
    s.count += 1.0
    if s.count >= 10.0:
        s.count = 0.0
        s.sum += 1e-2 * u[0]
    y[0] = 10.0 * u[0] + s.sum
    return 0


def ring_step(p, s, t, u, y):
    """A spring of the displacement of four calls ago, kept in a ring."""
    s.kept[int(s.count) % 5] = u[0]
    s.count += 1.0
    y[0] = 10.0 * s.kept[int(s.count) % 5]
    return 0


def drifting_step(p, s, t, u, y):
    """A force that rises by itself for ever."""
    s.sum += 1e-3
    y[0] = 10.0 * u[0] + s.sum
    return 0


def linearised(step, state, **parameters):
    specimen = Block("rig", step, ("command",), (Channel("force", "N"),), parameters=parameters, state=state)
    oscillator = blocks.oscillator()
    loop = Loop([oscillator, blocks.passing("guard", "target", "command")], outer=[specimen], dt=1e-3)
    loop.state("virtual")["x"][:] = 0.0
    loop.run(3)
    return linearise(loop)


def spring_step(p, s, t, u, y):
    y[0] = 10.0 * u[0]
    return 0


@pytest.mark.parametrize(
    ("step", "state", "names"),
    [
        (offset_step, {"offset": 0.0, "unused": 3.0}, {"rig.offset", "rig.unused"}),
        (increments_step, {"force": 0.0, "last": 0.0}, {"rig.force", "rig.last"}),
        (counting_step, {"count": 0.0, "path": 0.0, "sum": 0.0}, {"rig.count", "rig.path", "rig.sum"}),
    ],
)
def test_memory_is_no_pole_of_the_loop(step, state, names):
    found, plain = linearised(step, state), linearised(spring_step, {})
    assert set(found.memory) == names and not plain.memory
    assert found.spectral_radius == pytest.approx(plain.spectral_radius, rel=1e-12)


@pytest.mark.parametrize(
    ("step", "state"),
    [(drifting_step, {"sum": 0.0}), (seldom_step, {"count": 0.0, "sum": 0.0})],
)
def test_what_drifts_or_is_driven_now_and_then_is_not_taken_for_memory(step, state):
    found = linearised(step, state)
    assert not found.stable and "rig.sum" not in found.memory


@pytest.mark.parametrize(
    ("step", "state"),
    [(ring_step, {"count": 0.0, "kept": np.zeros(5)}), (seldom_step, {"count": 0.0, "sum": 0.0})],
)
def test_a_block_that_one_tick_does_not_tell_all_of_is_named(step, state):
    found = linearised(step, state)
    assert found.changing == ("rig",)
    assert "'rig' treats its state differently from tick to tick" in found.summary()


def test_an_integrator_that_is_fed_and_felt_keeps_its_pole():
    """With a gain of 0 nothing feeds it; with any other its pole leaves 1, and it is not memory."""
    assert linearised(integrating_step, {"sum": 0.0}, gain=0.0).memory == ("rig.sum",)
    assert not linearised(integrating_step, {"sum": 0.0}, gain=1.0).memory


def alternating_step(p, s, t, u, y):
    """A spring with a sum of alternating signs that is neither driven nor read, one pole at λ = −1 for both."""
    s.x = -s.x
    y[0] = 10.0 * u[0]
    return 0


def rough_step(p, s, t, u, y):
    """A sum of alternating signs that takes in the displacement, and that nothing reads."""
    s.x = 2.0 * u[0] - s.x
    y[0] = 10.0 * u[0]
    return 0


@pytest.mark.parametrize("step", [alternating_step, rough_step])
def test_a_pole_that_is_held_and_unread_takes_one_state_with_it(step):
    found, plain = linearised(step, {"x": 1.0}), linearised(spring_step, {})
    assert found.memory == ("rig.x",)
    np.testing.assert_allclose(found.eigenvalues, plain.eigenvalues, rtol=1e-9, atol=1e-12)


def test_poles_are_chosen_by_eigenvectors_where_lapack_cannot_put_them_in_order(monkeypatch):
    """The same directions: of a matrix with a pole at 1, a pair on the circle, and others."""
    turn = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    inside = np.random.default_rng(1).normal(size=(5, 5))
    part = inside @ scipy.linalg.block_diag(turn, [[1.0]], [[0.5]], [[-0.2]]) @ np.linalg.inv(inside)
    left, scale = np.eye(5), np.ones(5)
    for which, count in ((memory._at_one, 1), (memory._elsewhere_on_circle, 2), (lambda *_: False, 0)):
        expected = memory._chosen(part, left, scale, which)
        with monkeypatch.context() as patched:
            patched.setattr(memory, "schur", refused)
            found = memory._chosen(part, left, scale, which)
        assert found.shape == expected.shape == (count, 5)
        if count:
            assert scipy.linalg.subspace_angles(found.T, expected.T).max() < 1e-10


def refused(*_, **__):
    raise np.linalg.LinAlgError("Leading eigenvalues do not satisfy sort condition.")
