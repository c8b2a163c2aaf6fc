"""Frames against the dense schemes on the same matrices, with springs that yield between storeys."""

import numpy as np
import pytest

from halfreal.kernels.loop import Loop
from halfreal.models.structures.structure import Structure
from models.frame.frames import DT, run, shaking, source, two_storeys

SCHEMES = {
    "newmark": {"kind": "newmark", "tolerance": 1e-13, "iterations": 100},
    "hht": {"kind": "hht", "alpha": -0.1, "tolerance": 1e-13, "iterations": 100},
    "generalized-alpha": {"kind": "generalized-alpha", "rho_inf": 0.6, "tolerance": 1e-13, "iterations": 100},
    "kr-alpha": {"kind": "kr-alpha", "rho_inf": 0.6},
    "mkr-alpha": {"kind": "mkr-alpha", "rho_inf": 0.6},
    "operator splitting": {"kind": "operator splitting", "specimen_stiffness": [[3e6]], "alpha": -0.1},
}
STOREY = {"kind": "elastoplastic", "stiffness": 3e7, "yield_force": 1e5, "hardening": 0.05}


def braced(scheme):
    """The frame with elastic members, and springs that yield between its storeys."""
    frame = two_storeys(inertia=500.0)
    springs = {
        f"s{storey}": {
            "kind": "spring",
            "nodes": [f"B{storey - 1}", f"B{storey}"],
            "direction": "x",
            "material": "storey",
        }
        for storey in (1, 2)
    }
    given = {name: getattr(frame, name) for name in frame.model_fields_set}
    elements = {**{name: one.model_dump() for name, one in frame.elements.items()}, **springs}
    return type(frame)(**{**given, "elements": elements, "materials": {"storey": STOREY}, "scheme": scheme})


def dense(frame, scheme):
    """The same by its matrices."""
    loaded = frame.loaded("ground")
    numbers = loaded.model.numbering
    at = [numbers.free.index(numbers.index(node, "x")) + 1 for node in ("B1", "B2")]
    structure = Structure(
        mass=loaded.model.mass.toarray(),
        damping=loaded.damping.matrix(),
        stiffness=two_storeys(inertia=500.0).system("none").stiffness,
        ground=[float(numbers.named(i).startswith("x")) for i in range(loaded.model.dofs)],
        elements=[{"law": STOREY, "between": at[:1]}, {"law": STOREY, "between": at}],
        interface=[numbers.free.index(numbers.index("A2", "x")) + 1],
        scheme=scheme,
    )
    return structure


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_frame_moves_as_the_dense_scheme_moves_its_matrices(scheme):
    frame, ground = braced(SCHEMES[scheme]), shaking(600)
    driven = Loop([source(ground), dense(frame, SCHEMES[scheme]).block(DT, "ground", ("feedback",))], dt=DT)
    wanted = driven.run(len(ground), record=("target",)).log[:, 1]
    found = run(frame, ground)[:, 0]
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()
    elastic = Loop([source(ground), two_storeys(inertia=500.0).block(DT, "ground", ("feedback",))], dt=DT)
    assert np.abs(elastic.run(len(ground), record=("target",)).log[:, 1] - wanted).max() > 0.05 * np.abs(wanted).max()
