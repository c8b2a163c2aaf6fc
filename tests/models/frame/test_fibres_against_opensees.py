"""Fibre sections and large displacements against the same in OpenSees, with the same integrator and step."""

import numpy as np
import pytest

from models.frame import opensees
from models.frame.fibres import (
    BILINEAR,
    CONCRETE,
    CONCRETE_PARTS,
    CURVED,
    ELASTIC,
    JACK,
    KINDS,
    el_centro,
    pier,
    pushed,
    storeys,
)
from models.frame.frames import PLASTIC, run, two_storeys
from models.frame.test_against_opensees import GRAVITY, NEWMARK, RECORD, worst

DT = 5e-3
SHAKEN = {
    "elastic, displacement-based": (storeys, {"kind": KINDS[0], "material": ELASTIC}, 1e-10),
    "elastic, force-based": (storeys, {"kind": KINDS[1], "material": ELASTIC}, 1e-10),
    "bilinear, displacement-based": (storeys, {"kind": KINDS[0], "material": BILINEAR}, 1e-6),
    "bilinear, force-based": (storeys, {"kind": KINDS[1], "material": BILINEAR}, 1e-6),
    "curved, displacement-based, P-Δ": (
        storeys,
        {"kind": KINDS[0], "material": CURVED, "geometry": "p-delta", "loads": GRAVITY},
        1e-6,
    ),
    "curved, force-based, corotational": (
        storeys,
        {"kind": KINDS[1], "material": CURVED, "geometry": "corotational", "loads": GRAVITY},
        1e-6,
    ),
    "hinges, corotational": (
        two_storeys,
        {"material": PLASTIC, "geometry": "corotational", "loads": GRAVITY},
        1e-6,
    ),
}


@pytest.mark.parametrize("case", SHAKEN)
def test_a_frame_under_el_centro_moves_as_in_opensees(case):
    make, changes, within = SHAKEN[case]
    frame, ground = make(**changes), el_centro(DT, 8.0, 4.0)
    theirs = opensees.shaken(frame, ground, DT, RECORD, NEWMARK)
    assert worst(run(frame, ground, DT)[1:, :3], theirs) < within


CYCLES = np.concatenate([np.linspace(a, b, 31)[1:] for a, b in ((0, 1), (1, -1), (-1, 1.2), (1.2, -1.2), (-1.2, 0.3))])
RECORDED = [("n2", "y"), ("n2", "rz"), ("n1", "x")]
PIERS = {
    "steel": [{"kind": "rectangle", "material": "steel", "bottom": -0.2, "top": 0.2, "width": 0.05}],
    "reinforced concrete": CONCRETE_PARTS,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("geometry", ["linear", "p-delta", "corotational"])
@pytest.mark.parametrize("case", PIERS)
def test_a_pier_pushed_to_and_fro_moves_as_in_opensees(kind, geometry, case):
    materials = {"steel": CURVED, "concrete": CONCRETE}
    frame, peak = pier(kind, PIERS[case], materials, elements=2, geometry=geometry, weight=3e5), 0.06 * JACK
    theirs = opensees.pushed(frame, "n2", "x", peak * CYCLES, RECORDED)
    assert worst(pushed(frame, "n2", "x", peak * CYCLES, RECORDED), theirs) < 1e-6
