"""Damping of frames, against OpenSees and closed forms."""

import numpy as np
import pytest

from halfreal.models.frame.builder import regular_frame
from halfreal.models.frame.frame import Frame
from halfreal.models.frame.modes import LARGE
from models.frame import opensees
from models.frame.frames import CURVED, DT, PLASTIC, SECTIONS, run, shaking, two_storeys
from models.frame.test_against_opensees import NEWMARK, RECORD, worst
from models.frame.test_linearised import both, started

BRACE = {"kind": "elastoplastic", "stiffness": 6e6, "yield_force": 6e4, "hardening": 0.05}
SPLITTING = {"kind": "operator splitting", "specimen_stiffness": [[0.0]]}


def braced(**changes) -> Frame:
    """Elastic members, and braces that yield."""
    plain = two_storeys(inertia=changes.pop("inertia", 0.0))
    braces = {
        f"brace {storey}": {"kind": "truss", "nodes": [f"A{storey - 1}", f"B{storey}"], "material": "brace"}
        for storey in (1, 2)
    }
    elements = {**{name: one.model_dump() for name, one in plain.elements.items()}, **braces}
    given = {name: getattr(plain, name) for name in plain.model_fields_set}
    return Frame(**{**given, "elements": elements, "materials": {"brace": BRACE}, **changes})


@pytest.mark.parametrize("on", ["initial", "committed", "tangent"])
def test_rayleigh_damping_acts_on_the_stiffness_that_is_named(on):
    rayleigh = {"mass": 0.2, "stiffness": 4e-3, "on": on}
    frame, ground = braced(rayleigh=rayleigh), shaking(800)
    found = run(frame, ground)[1:, :3]
    theirs = opensees.shaken(frame, ground, DT, RECORD, NEWMARK)
    assert worst(found, theirs) < 1e-9
    if on != "initial":
        elsewhere = run(braced(rayleigh={**rayleigh, "on": "initial"}), ground)[1:, :3]
        assert worst(found, elsewhere) > 1e-3


@pytest.mark.parametrize("modes", [{"ratio": [0.03, 0.07, 0.02]}, {"ratio": 0.05, "modes": [2]}])
def test_modal_damping_is_that_of_opensees(modes):
    frame, ground = two_storeys(material=PLASTIC, rayleigh=None, modal_damping=modes), shaking(800)
    theirs = opensees.shaken(frame, ground, DT, RECORD, NEWMARK)
    assert worst(run(frame, ground)[1:, :3], theirs) < 1e-6


def test_modes_have_the_ratios_that_are_asked_for():
    """Poles of M q¨ + C q˙ + K q: −ζω ± iω√(1 − ζ²); all modes with one ratio, some with ratios of their own."""
    for given, wanted in (
        ({"ratio": 0.02}, np.full(12, 0.02)),
        ({"ratio": [0.1, 0.3], "modes": [1, 4]}, [0.1, 0.0, 0.0, 0.3, *[0.0] * 8]),
        ({"ratio": 0.04, "modes": 2}, [0.04, 0.04, *[0.0] * 10]),
    ):
        system = two_storeys(inertia=500.0, rayleigh=None, modal_damping=given).system("none")
        shapes = system.natural_frequencies()
        n = system.dofs
        a = np.block(
            [
                [np.zeros((n, n)), np.eye(n)],
                [-np.linalg.solve(system.mass, m) for m in (system.stiffness, system.damping)],
            ]
        )
        poles = np.linalg.eigvals(a)
        poles = poles[np.argsort(np.abs(poles))][::2]
        np.testing.assert_allclose(np.abs(poles), shapes, rtol=1e-8)
        np.testing.assert_allclose(-poles.real / np.abs(poles), wanted, atol=1e-8)


DAMPED = {
    "committed": {"rayleigh": {"mass": 0.2, "stiffness": 2e-3, "on": "committed"}},
    "tangent": {"rayleigh": {"mass": 0.2, "stiffness": 2e-3, "on": "tangent"}},
    "modal": {"rayleigh": None, "modal_damping": {"ratio": 0.05, "modes": 3}},
}


@pytest.mark.parametrize("scheme", ["kr-alpha", SPLITTING, {"kind": "hht", "alpha": -0.1}], ids=["kr", "os", "hht"])
@pytest.mark.parametrize("damping", DAMPED)
def test_all_schemes_damp_alike(scheme, damping):
    """With a short step each comes to what Newmark's method gives, in proportion to the step or its square."""
    away = []
    for finer in (1, 2):
        dt = 1e-3 / finer
        ground = shaking(500 * finer, dt)
        found = [
            run(two_storeys(material={**CURVED, "r0": 2.0}, inertia=2e3, scheme=one, **DAMPED[damping]), ground, dt)
            for one in (scheme, "newmark")
        ]
        a, b = found[0][:, :2], found[1][:, :2]
        away.append(np.abs(a - b).max() / np.abs(b).max())
    assert away[1] < 0.6 * away[0] and away[1] < 3e-3


def tall(storeys, bays):
    return regular_frame(
        storeys, bays, height=3.5, width=6.0, column=SECTIONS["column"], girder=SECTIONS["girder"], mass=1e4,
        column_hinge=PLASTIC,
    )  # fmt: skip


def test_modes_of_a_large_frame_are_those_of_all():
    """They are sought one by one there."""
    frame = tall(10, 6).build([("A10", "x")], modal_damping={"ratio": 0.05, "modes": 4})
    assert frame.system("none").dofs >= LARGE
    wanted = 0.1 * frame.system("none").natural_frequencies()[:4]
    np.testing.assert_allclose(frame.loaded("none").damping.rates, wanted, rtol=1e-9)


def test_damping_in_modes_keeps_the_jacobian():
    for scheme in ("newmark", {"kind": "generalized-alpha", "rho_inf": 0.7}):
        frame = tall(3, 2).build([("A3", "x")], modal_damping={"ratio": 0.05, "modes": 3}, scheme=scheme)
        found, wanted = both(started(frame))
        scale = np.abs(wanted).max(axis=1, keepdims=True) + np.abs(wanted).max(axis=0) + 1e-300
        assert np.max(np.abs(found - wanted) / scale) < 1e-8


def test_damping_that_does_not_fit_is_named():
    for given, words in (
        ({"ratio": 0.02, "modes": [1, 99]}, "mode 99 is requested"),
        ({"ratio": [0.02, 0.03], "modes": 3}, "2 ratios for 3 modes"),
        ({"ratio": 0.02, "modes": [2, 2]}, "listed twice"),
        ({"ratio": -0.1}, "ratio"),
    ):
        with pytest.raises(ValueError, match=words):
            two_storeys(modal_damping=given)
