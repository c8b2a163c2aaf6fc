"""Sensors that read their noise from a table measure, to the bit, what they do without one."""

import numpy as np
import pytest

import halfreal
from examples.scripts import GALLERY
from halfreal.contracts.context import AT_REST
from halfreal.kernels.random import normal
from halfreal.rigs import noise_table
from halfreal.rigs.noise_table import share_noise
from halfreal.runs.build import build

TICKS = 600


@pytest.mark.parametrize("fused", [False, True], ids=["rows", "fused"])
@pytest.mark.parametrize(
    "name", ["strut_braced_wing/single_gust", "vrths_benchmark/case_1", "marths_benchmark/decoupling_inverse"]
)
def test_rehearsals_are_the_same_to_the_bit(name, fused, monkeypatch):
    test = halfreal.load(GALLERY / f"{name}.toml")
    plain, shared = build(test), build(test)
    monkeypatch.setattr(noise_table, "LARGEST", 800)  # so that the last ticks are beyond its end
    share_noise(shared, TICKS)
    assert shared.borrowed and all(table.size <= 800 for table in shared.borrowed)
    for loop in (plain, shared):
        if fused:
            loop.fuse()
        loop.run(TICKS)
    np.testing.assert_array_equal(shared.vector, plain.vector)


def test_a_table_has_the_deviates_of_its_seed():
    for seed in (1, 2):
        test = halfreal.load(GALLERY / "vrths_benchmark/case_1.toml").with_values({"timing.seed": seed})
        loop = build(test)
        share_noise(loop, 5)
        (table,) = loop.borrowed
        expected = [[normal(float(seed), float(i), float(k)) for i in range(2)] for k in range(5)]
        np.testing.assert_array_equal(table, expected)


def test_sensors_without_noise_have_no_table():
    loop = build(halfreal.load(GALLERY / "vrths_benchmark/case_1.toml"), AT_REST)
    share_noise(loop, TICKS)
    assert loop.borrowed == ()
