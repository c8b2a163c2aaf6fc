"""Laws along cyclic histories with partial reversals, against OpenSees."""

import numpy as np
import pytest

from models.materials.opensees import histories
from models.materials.paths import CYCLES, along, follow

E, FY = 200e9, 350e6
EY = FY / E

CASES = {
    "elastoplastic": (
        {"kind": "elastoplastic fibre", "modulus": E, "yield_stress": FY, "hardening": 0.02},
        ["Steel01", FY, E, 0.02],
        along(EY * CYCLES),
    ),
    "menegotto-pinto": (
        {"kind": "menegotto-pinto fibre", "modulus": E, "yield_stress": FY, "hardening": 0.02},
        ["Steel02", FY, E, 0.02, 20.0, 0.925, 0.15],
        along(EY * CYCLES),
    ),
    "menegotto-pinto, isotropic": (
        {
            **{"kind": "menegotto-pinto fibre", "modulus": E, "yield_stress": FY, "hardening": 0.01, "r0": 18.0},
            **{"a1": 0.05, "a2": 1.2, "a3": 0.02, "a4": 0.9},
        },
        ["Steel02", FY, E, 0.01, 18.0, 0.925, 0.15, 0.05, 1.2, 0.02, 0.9],
        along(EY * CYCLES),
    ),
}


@pytest.fixture(scope="module")
def theirs():
    return dict(zip(CASES, histories([(material, path) for _, material, path in CASES.values()]), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_stress_and_tangent_equal_those_of_opensees(name, theirs):
    fields, _, path = CASES[name]
    stress, tangent = follow(fields, path)
    expected, slopes = theirs[name]
    np.testing.assert_allclose(stress, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(tangent, slopes, rtol=0, atol=1e-9 * np.abs(slopes).max())
