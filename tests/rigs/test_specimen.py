"""The specimen of a simulated rig."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halfreal.kernels.block import Block, flatten
from halfreal.kernels.native import compiled_block
from halfreal.rigs.specimen import Specimen, linear_step
from halfreal.rigs.specimen_elements import specimen_step


def called(block: Block, u: np.ndarray) -> np.ndarray:
    """State and force after a call."""
    p, s, y = flatten(block.parameters), flatten(block.state), np.zeros(len(block.outputs))
    assert compiled_block(block)(p, s, 0.0, u, y) == (0, 0)
    return np.concatenate([s, y])


def test_without_elements_the_force_is_the_same_to_the_bit():
    random = np.random.default_rng(1)
    matrices = {name: np.diag(random.uniform(1.0, 9.0, 1)) for name in ("mass", "damping", "stiffness")}
    linear = Specimen(kind="specimen", **matrices).block(1, np.zeros(1), 1e-3)
    assert linear.step is linear_step
    general = replace(linear, step=specimen_step)
    for _ in range(5):
        u = random.standard_normal(4)
        np.testing.assert_array_equal(called(linear, u), called(general, u))


def test_elements_are_not_left_out():
    law = {"kind": "cubic", "stiffness": 100.0, "cubic": 1e4}
    given = Specimen.model_validate({"stiffness": [[50.0]], "elements": [{"law": law, "between": [1]}]})
    block = given.block(1, np.zeros(1), 1e-3)
    assert block.step is specimen_step
    force = called(block, np.array([0.1, 0.0, 0.0, 0.0]))[-1]
    np.testing.assert_allclose(force, 150.0 * 0.1 + 1e4 * 0.1**3, rtol=1e-14)
