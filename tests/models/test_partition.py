import numpy as np
import pytest
from pydantic import ValidationError

import halfreal
from halfreal.models.structures.partition import Partition
from halfreal.models.structures.structure import Structure
from halfreal.runs.reference import assembled

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


def test_what_is_taken_out_is_taken_out_at_the_interface_alone():
    remains = partition().system("none")
    np.testing.assert_allclose(remains.mass, np.diag([3.0, 1.5, 1.0]))
    np.testing.assert_allclose(STIFFNESS - remains.stiffness, np.diag([0.0, 300.0, 0.0]))


@pytest.mark.parametrize(
    ("removed", "told"),
    [({"mass": [[2.5]]}, "more mass is taken out"), ({"stiffness": np.eye(2)}, "the interface has 1 axis")],
)
def test_what_cannot_be_taken_out_is_refused(removed, told):
    with pytest.raises(ValidationError, match=told):
        partition(removed=removed)
