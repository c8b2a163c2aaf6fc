import numpy as np
import pytest
import scipy.signal

import halfreal
from halfreal.models.structures.partition import Partition
from halfreal.models.structures.structure import Structure
from halfreal.runs.reference import assembled, emulate

MASS = np.diag([3.0, 2.0, 1.0])
STIFFNESS = 1e3 * (2 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1))
REMOVED = {"mass": [[0.5]], "damping": [[2.0]], "stiffness": [[300.0]]}


def partition(**changed):
    whole = {"mass": MASS, "stiffness": STIFFNESS, "modal_damping": 0.03, "interface": [2], "removed": REMOVED}
    return Partition.model_validate({"kind": "partition", **whole, **changed})


def test_putting_the_specimen_back_gives_the_whole_structure():
    """The emulated system of a test whose specimen is what was taken out."""
    definition = halfreal.Definition.model_validate(
        {
            "title": "whole",
            "timing": {"step": 1e-3, "duration": 1.0},
            "virtual": partition().model_dump(),
            "excitation": {"virtual": {"kind": "sine", "acceleration": 1.0, "frequency": 1.0}},
            "rig": {"specimen": REMOVED},
            "reference": {},
        }
    )
    found = assembled(definition, definition.rig.specimen)
    whole = Structure(mass=MASS, stiffness=STIFFNESS, modal_damping=0.03, interface=(2,)).system("ground")
    for name in ("mass", "damping", "stiffness"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(found.inputs[:, 0], -MASS @ np.ones(3))


@pytest.mark.parametrize("shaken", ["virtual", "specimen"])
def test_hybrid_and_whole_structure_move_alike_wherever_the_removed_mass_is_shaken(shaken):
    """A specimen that stands still, or one on which its own ground load acts, against the whole structure."""
    hz, top, duration = 1.7, 2.0, 3.0
    shaking = {"kind": "sine", "acceleration": top, "frequency": hz}
    own = {"kind": "sine", "force": -REMOVED["mass"][0][0] * top, "frequency": hz}
    definition = halfreal.Definition.model_validate(
        {
            "title": "parts",
            "timing": {"step": 1e-3, "duration": duration},
            "virtual": partition(removed={**REMOVED, "ground_load_on": shaken}).model_dump(),
            "excitation": {"virtual": shaking, **({"specimen": own} if shaken == "specimen" else {})},
            "rig": {"specimen": REMOVED},
            "reference": {},
        }
    )
    whole = Structure(mass=MASS, stiffness=STIFFNESS, modal_damping=0.03, interface=(2,)).system("ground")
    a, b, c, _ = whole.first_order()
    exact = scipy.signal.lsim(
        (a, b[:, :1], c[:1], np.zeros((1, 1))),
        top * np.sin(2 * np.pi * hz * np.arange(3001) * 1e-3),
        np.arange(3001) * 1e-3,
    )[1]
    found = emulate(definition, 3001, 1)
    np.testing.assert_allclose(found[:, 0], exact, atol=1e-5 * np.abs(exact).max())


def test_what_is_taken_out_is_taken_out_at_the_interface_alone():
    remains = partition().system("none")
    np.testing.assert_allclose(remains.mass, np.diag([3.0, 1.5, 1.0]))
    np.testing.assert_allclose(STIFFNESS - remains.stiffness, np.diag([0.0, 300.0, 0.0]))


@pytest.mark.parametrize(
    ("removed", "told"),
    [({"mass": [[2.5]]}, "more mass is removed"), ({"stiffness": np.eye(2)}, "the interface has 1 axis")],
)
def test_what_cannot_be_taken_out_is_refused(removed, told):
    with pytest.raises(ValueError, match=told):
        partition(removed=removed)
