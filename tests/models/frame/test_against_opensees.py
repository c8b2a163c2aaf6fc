"""Frames against the same in OpenSees, with the same integrator and step."""

import numpy as np
import pytest

from models.frame import opensees
from models.frame.frames import CURVED, DT, PLASTIC, run, shaking, two_storeys

RECORD = [("A2", "x"), ("A1", "x"), ("B2", "rz")]
GRAVITY = [{"node": f"{name}{storey}", "direction": "y", "force": -4e5} for name in "AB" for storey in (1, 2)]
NEWMARK = ["Newmark", 0.5, 0.25]
CASES = {
    "elastic": ({"material": None}, 1e-10),
    "bilinear hinges": ({"material": PLASTIC}, 1e-6),
    "curved hinges": ({"material": CURVED}, 1e-6),
    "P-Δ, elastic": ({"material": None, "geometry": "p-delta", "loads": GRAVITY}, 1e-6),
    "P-Δ, bilinear hinges": ({"material": PLASTIC, "geometry": "p-delta", "loads": GRAVITY}, 1e-6),
}


def worst(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.max(np.abs(ours - theirs) / np.abs(theirs).max(axis=0)))


@pytest.mark.parametrize("case", CASES)
def test_a_shaken_frame_moves_as_in_opensees(case):
    changes, within = CASES[case]
    frame, ground = two_storeys(**changes), shaking(1500)
    theirs = opensees.shaken(frame, ground, DT, RECORD, NEWMARK)
    assert worst(run(frame, ground)[1:, :3], theirs) < within


def test_hht_moves_an_elastic_frame_as_opensees_does():
    """Its α is 1 + ours.  Where something yields it takes the force at a displacement between, we a force between."""
    frame, ground = two_storeys(scheme={"kind": "hht", "alpha": -0.1}), shaking(600)
    theirs = opensees.shaken(frame, ground, DT, RECORD, ["HHT", 0.9])
    assert worst(run(frame, ground)[1:, :3], theirs) < 1e-10


def test_natural_frequencies_are_those_of_opensees():
    frame = two_storeys(inertia=300.0)
    ours = frame.system("none").natural_frequencies()
    np.testing.assert_allclose(ours, opensees.modes(frame, len(ours)), rtol=1e-9)
