"""The iteration of frames: against Newton's method as it stands in textbooks, and whether its bound suffices."""

from typing import Any

import numpy as np
import pytest

from halfreal.models.frame.builder import regular_frame
from halfreal.models.frame.frame import Frame
from models.frame import newton
from models.frame.frames import CURVED, DT, PLASTIC, SECTIONS, loop, run, shaking, two_storeys

GRAVITY = [{"node": f"{name}{storey}", "direction": "y", "force": -4e5} for name in "AB" for storey in (1, 2)]
SPRINGS: dict[str, list[dict[str, Any]]] = {
    "gap and friction": [
        {"kind": "gap", "stiffness": 5e7, "gap": 0.01},
        {"kind": "coulomb friction", "force": 5e4, "stick_stiffness": 2e7},
    ],
    "power damper": [{"kind": "power damper", "force": 1e5, "speed": 0.5, "alpha": 0.4}],
    "Maxwell damper": [{"kind": "maxwell damper", "stiffness": 4e7, "force": 1e5, "speed": 0.5, "alpha": 0.5}],
}


def braced(laws: list[dict[str, Any]]) -> Frame:
    """A frame with hinges, and springs between its storeys."""
    frame = two_storeys(material=PLASTIC, inertia=300.0)
    springs = {
        f"s{i}": {"kind": "spring", "nodes": [f"B{i}", f"B{i + 1}"], "direction": "x", "material": f"m{i}"}
        for i in range(len(laws))
    }
    given = {name: getattr(frame, name) for name in frame.model_fields_set}
    elements = {**{name: one.model_dump() for name, one in frame.elements.items()}, **springs}
    materials = {"plastic": PLASTIC, **{f"m{i}": law for i, law in enumerate(laws)}}
    return Frame(**{**given, "elements": elements, "materials": materials})


FRAMES = {
    "bilinear hinges": lambda: two_storeys(material=PLASTIC),
    "curved hinges": lambda: two_storeys(material=CURVED),
    "P-Δ": lambda: two_storeys(material=PLASTIC, geometry="p-delta", loads=GRAVITY),
    "generalised-α": lambda: two_storeys(
        material=PLASTIC, scheme={"kind": "generalized-alpha", "rho_inf": 0.6, "tolerance": 1e-12}
    ),
    **{name: (lambda laws=laws: braced(laws)) for name, laws in SPRINGS.items()},
}


@pytest.mark.parametrize("case", FRAMES)
def test_a_frame_moves_as_by_newtons_method_in_full(case):
    frame, ground = FRAMES[case](), shaking(400)
    wanted = newton.shaken(frame, ground, DT)[:, 0]
    found = run(frame, ground)[:, 0]
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


STIFF = 60.0 * 2e11 * 2.5e-4 / 3.5
LAWS = {
    "bilinear": {"kind": "elastoplastic hinge", "stiffness": STIFF, "yield_moment": 3e5, "hardening": 0.02},
    "ideally plastic": {"kind": "elastoplastic hinge", "stiffness": STIFF, "yield_moment": 3e5},
    "curved": {"kind": "menegotto-pinto hinge", "stiffness": STIFF, "yield_moment": 3e5, "hardening": 0.01},
    "softening": {
        "kind": "ibarra-medina-krawinkler hinge",
        "stiffness": STIFF,
        "yield_moment": 3e5,
        "capping": 1.1,
        "plastic_rotation": 0.02,
        "post_capping_rotation": 0.1,
        "residual": 0.3,
        "ultimate_rotation": 0.4,
    },
}


MECHANISM = ("ideally plastic", 0.0)
"""Joints without inertia between hinges that are ideally plastic."""


def small(law: dict[str, Any], inertia: float) -> Frame:
    """One storey and one bay, with all settings as they are by themselves."""
    frame = regular_frame(
        1, 1, height=3.5, width=6.0, column=SECTIONS["column"], girder=SECTIONS["girder"], mass=4e4, inertia=inertia,
        column_hinge=law, girder_hinge=law,
    )  # fmt: skip
    return frame.build([("A1", "x")], rayleigh={"mass": 0.3})


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize(
    ("law", "inertia"), [(law, inertia) for law in LAWS for inertia in (0.0, 50.0) if (law, inertia) != MECHANISM]
)
def test_the_default_number_of_iterations_suffices_on_a_small_frame(law, inertia, dt):
    """Shaken with twice gravity."""
    driven = loop(small(LAWS[law], inertia), shaking(int(3.0 / dt), dt, 20.0), dt)
    log = driven.run(int(3.0 / dt), record=("target", "virtual.iterations", "virtual.residual")).log
    assert driven.describe(driven.vector[driven.index["loop.fault"]]) == ""
    assert np.abs(log[:, 1]).max() > 0.1  # far beyond yielding, at some 0.03 m
    assert log[:, 2].max() <= 12 and log[:, 3].max() < 1e-10


def test_hinges_that_yield_all_at_once_take_few_iterations():
    """A blow within a step, from rest to where almost every member yields."""
    ground = np.zeros(30)
    ground[20:] = 1e5
    names = ["Ac1", "Ac2", "Bc1", "Bc2", "g1", "g2"]
    turns = {name: {"element": name, "quantity": "deformation"} for name in names}
    driven = loop(two_storeys(material=PLASTIC, responses=turns), ground)
    log = driven.run(len(ground), record=("virtual.iterations", *(f"virtual.{name}" for name in names))).log
    yielding = np.abs(log[:, 2:]) > PLASTIC["yield_moment"] / PLASTIC["stiffness"]
    assert not yielding[19].any() and yielding[20].sum() >= 5
    assert 1.0 < log[20, 1] <= 6.0


def test_an_iteration_that_is_cut_short_is_told():
    """With one iteration a hinge that yields leaves a residual, which is a fault if it is above the tolerance."""
    frame = two_storeys(material=PLASTIC, scheme={"kind": "newmark", "iterations": 1, "tolerance": 1e-12})
    driven = loop(frame, shaking(400))
    driven.run(400)
    assert "not converged to 1e-12" in driven.describe(driven.vector[driven.index["loop.fault"]])
    assert driven.vector[driven.index["virtual.residual"]] > 1e-12
