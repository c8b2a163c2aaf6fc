"""Large blocks that offer their own Jacobian, against perturbing every state of the loop."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.contracts.context import AT_REST, OPEN_LOOP
from halfreal.kernels.block import Jacobian
from halfreal.kernels.loop import Loop
from halfreal.models.structures.structure import Structure
from halfreal.runs.build import SETTLING_TICKS, build
from halfreal.stability.linearise import derivative, perturbed
from halfreal.stability.pieces import taken_apart

DOFS = 60
EXAMPLE = halfreal.load(Path(__file__).parents[2] / "examples" / "spring_mass_damper" / "forward_prediction.toml")


def structure(scheme: str, dofs: int = DOFS, axes: int = 1) -> Structure:
    """A chain of masses with dampers that no mode goes along with."""
    rng = np.random.default_rng(dofs)
    springs, dampers = rng.uniform(0.5e5, 2e5, dofs), rng.uniform(5.0, 50.0, dofs)

    def chain(values: np.ndarray) -> np.ndarray:
        return np.diag(values + np.append(values[1:], 0.0)) - np.diag(values[1:], 1) - np.diag(values[1:], -1)

    return Structure.model_validate(
        {
            "mass": np.diag(rng.uniform(1.0, 3.0, dofs)),
            "stiffness": chain(springs),
            "damping": chain(dampers),
            "interface": list(range(dofs, dofs - axes, -1)),
            "support": {"stiffness": springs[0] * np.eye(dofs)[0], "damping": dampers[0] * np.eye(dofs)[0]},
            "responses": {"base": {"dof": 2, "quantity": "velocity"}, "roof": {"dof": 3, "quantity": "acceleration"}},
            "scheme": scheme,
        }
    )


def loop_of(scheme: str, purpose=AT_REST) -> Loop:
    loop = build(EXAMPLE.unchecked_copy({"virtual": structure(scheme)}), purpose)
    loop.run(SETTLING_TICKS)
    return loop


@pytest.mark.parametrize(
    ("scheme", "plain"),
    [
        *((kind, True) for kind in ("exact", "newmark", "generalized-alpha", "kr-alpha", "rk4")),
        *((kind, False) for kind in ("exact", "newmark")),
    ],
)
def test_jacobian_of_a_scheme_is_that_of_the_code_that_runs(scheme: str, plain: bool, monkeypatch):
    if plain:
        monkeypatch.setattr("halfreal.models.schemes.in_parts.FEW", DOFS + 1)
    loop = loop_of(scheme)
    indices = loop.dynamic_indices()
    before = loop.vector.copy()
    pieces = taken_apart(loop, indices, indices, perturbed)
    assert pieces is not None
    np.testing.assert_array_equal(loop.vector, before)
    expected, found = perturbed(loop, indices, indices), pieces.together()
    size = np.abs(expected).max(axis=1, keepdims=True)
    assert np.abs((found - expected) / np.where(size > 0.0, size, 1.0)).max() < 1e-9
    # without states of the large block only what passes through it counts
    outside = indices[loop.owners_of(indices) != loop.row("virtual")]
    few = taken_apart(loop, outside, outside, perturbed)
    kept = np.isin(indices, outside)
    assert few is not None and few.large
    np.testing.assert_allclose(few.together(), found[np.ix_(kept, kept)], rtol=1e-12, atol=1e-15)


def test_open_loop_from_the_probe_to_other_channels():
    loop = loop_of("newmark", OPEN_LOOP)
    states = np.concatenate([loop.dynamic_indices(), loop.state_indices("probe", "value")])
    rows = np.append(loop.dynamic_indices(), [loop.index[name] for name in ("command", "target", "virtual.roof")])
    np.testing.assert_allclose(derivative(loop, states, rows), perturbed(loop, states, rows), rtol=1e-7, atol=1e-9)


def with_jacobian(loop: Loop, offered) -> Loop:
    block = loop.blocks[loop.row("virtual")]
    other = loop.with_blocks({"virtual": replace(block, jacobian=offered)})
    other.run(SETTLING_TICKS)
    return other


def test_jacobian_that_the_code_does_not_have_is_not_believed():
    loop = loop_of("newmark")
    indices, right = loop.dynamic_indices(), loop.blocks[loop.row("virtual")].jacobian

    def wrong(*given) -> Jacobian:
        found = right(*given)
        return replace(found, b=1.001 * found.b)

    other = with_jacobian(loop, wrong)
    assert taken_apart(other, indices, indices, perturbed) is None
    np.testing.assert_array_equal(derivative(other, indices, indices), perturbed(loop, indices, indices))


def test_jacobian_is_given_what_the_step_is_given():
    seen = []

    def offered(p, s, t, u, after) -> Jacobian:
        seen.append((p.direct.shape, s.x.shape, after.x.shape, s.started, t, u.shape))
        return right(p, s, t, u, after)

    loop = loop_of("newmark")
    indices, right = loop.dynamic_indices(), loop.blocks[loop.row("virtual")].jacobian
    other = with_jacobian(loop, offered)
    assert taken_apart(other, indices, indices, perturbed) is not None
    assert seen == [((3, 3), (2, 3 * DOFS // 2), (2, 3 * DOFS // 2), 1.0, SETTLING_TICKS * loop.dt, (3,))]


def test_loops_without_large_blocks_and_frozen_fields_are_perturbed():
    small = build(EXAMPLE, AT_REST)
    indices = small.dynamic_indices()
    assert taken_apart(small, indices, indices, perturbed) is None
    loop = loop_of("newmark")
    frozen = np.append(loop.dynamic_indices(), loop.state_indices("virtual", "started"))
    assert taken_apart(loop, frozen, loop.dynamic_indices(), perturbed) is None
