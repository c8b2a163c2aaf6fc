"""Laws along cyclic histories with partial reversals, against OpenSees."""

import numpy as np
import pytest

from models.materials.opensees import histories
from models.materials.paths import CYCLES, along, follow

E, FY = 200e9, 350e6
EY = FY / E

K, MY = 2e7, 4e5
TY = MY / K


def deteriorating(capacity, corners, exponents=(1.0, 1.0, 1.0), residual=0.3, rates=(1.0, 1.0), ultimate=0.6):
    """A hinge as both have it; ``capacity`` is one for all its deteriorations."""
    ours = {
        **{"kind": "ibarra-medina-krawinkler hinge", "stiffness": K, "yield_moment": MY, "capping": 1.2},
        **{"plastic_rotation": 2 * TY, "post_capping_rotation": 8 * TY, "ultimate_rotation": ultimate},
        **{"strength_capacity": capacity, "capping_capacity": capacity, "unloading_capacity": 2 * capacity},
        **{"residual": residual, "exponents": exponents, "rates": rates, "negative": 0.8},
    }
    sides = [[2 * TY, 8 * TY, ultimate, share * MY, 1.2, residual] for share in (1.0, 0.8)]
    lamdas = [capacity, capacity, 2 * capacity]
    return ours, ["IMKBilin", K, *sides[0], *sides[1], *lamdas, *exponents, *rates], along(TY * np.array(corners))


GROWING = [0.8, -0.7, *(sign * size for size in (1.5, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0) for sign in (1.0, -1.0))]
DETERIORATING = {
    "little": deteriorating(2.0, [*GROWING, 8.0, 7.0, 8.5, -8.0]),
    "much": deteriorating(0.6, GROWING),
    "to the residual moment": deteriorating(2.0, [5.0, -5.0, 12.0, 10.0, 14.0, -12.0, 3.0]),
    "with a slab": deteriorating(1.0, GROWING, rates=(0.5, 1.0), exponents=(1.2, 0.9, 1.5)),
    "to rupture": deteriorating(2.0, [5.0, -5.0, 9.0, 6.0, 11.0, 5.0, -3.0, -9.0, -11.0, 2.0], ultimate=10 * TY),
}

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
    "kent-park": (
        {"kind": "kent-park concrete", "strength": 30e6, "crushed_stress": 6e6, "crushing_strain": 0.008},
        ["Concrete01", -30e6, -0.002, -6e6, -0.008],
        along(
            -0.002 * np.array([0.4, 0.1, 0.9, 0.6, 0.8, -0.1, 1.5, 1.2, 1.4, 0.2, 3.0, 2.9, 2.0, 6.0, -1.0, 5.0, 7.0])
        ),
    ),
    "concrete with tension": (
        {
            **{"kind": "concrete with tension", "strength": 30e6, "crushed_stress": 6e6, "crushing_strain": 0.008},
            **{"tensile_strength": 3e6, "softening_modulus": 2e9, "unloading": 0.1},
        },
        ["Concrete02", -30e6, -0.002, -6e6, -0.008, 0.1, 3e6, 2e9],
        along(
            -0.002 * np.array([-0.2, 0.1, -0.4, 0.9, 0.6, 0.8, -0.5, 1.5, 0.2, -0.9, -0.2, 3.0, 2.0, 6.0, -2.0, 5.0])
        ),
    ),
    "gap": (
        {"kind": "gap", "stiffness": 1e6, "gap": 0.0103},
        ["ElasticPPGap", 1e6, -1e12, -0.0103, 0.0],
        along(0.01 * CYCLES),
    ),
    "hook": (
        {"kind": "hook", "stiffness": 1e6, "gap": 0.0103},
        ["ElasticPPGap", 1e6, 1e12, 0.0103, 0.0],
        along(0.01 * CYCLES),
    ),
    "coulomb friction": (
        {"kind": "coulomb friction", "force": 5e3, "stick_stiffness": 1e6},
        ["Steel01", 5e3, 1e6, 0.0],
        along(0.005 * CYCLES),
    ),
    **{f"ibarra-medina-krawinkler, {name}": case for name, case in DETERIORATING.items()},
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
    if name.startswith("ibarra"):  # theirs is the secant of the last increment
        return
    np.testing.assert_allclose(tangent, slopes, rtol=0, atol=1e-9 * np.abs(slopes).max())
