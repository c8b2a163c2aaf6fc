"""Laws as they stand in a file: units, and what cannot be meant."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from halfreal.models.materials.kinds import AnyElementLaw, AnyLaw
from halfreal.models.structures.elements import Element, assemble
from models.materials.laws import LAWS
from models.materials.paths import law

FILE = {"folder": "."}


def read(**fields):
    return TypeAdapter(AnyLaw).validate_python(fields, context=FILE)


def test_quantities_are_read_in_any_unit():
    damper = read(kind="power damper", force="20 kN", speed="300 mm/s", alpha="0.3")
    np.testing.assert_allclose(damper.row, law(LAWS["power damper"][0]).row, rtol=1e-12)
    steel = read(kind="menegotto-pinto fibre", modulus="200 GPa", yield_stress="400 MPa", a1="0.02")
    np.testing.assert_allclose(steel.row, law(LAWS["menegotto-pinto"][0]).row, rtol=1e-12)
    hinge = read(
        **{"kind": "ibarra-medina-krawinkler hinge", "stiffness": "20 MN m/rad", "yield_moment": "400 kN m"},
        **{"plastic_rotation": "40 mrad", "post_capping_rotation": "160 mrad", "ultimate_rotation": "0.4 rad"},
        **{
            "strength_capacity": "1 rad",
            "capping_capacity": "1 rad",
            "unloading_capacity": "2 rad",
            "residual": "30 %",
        },
    )
    np.testing.assert_allclose(hinge.row, law(LAWS["ibarra-medina-krawinkler"][0]).row, rtol=1e-12)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"kind": "menegotto-pinto", "stiffness": "2 kN m/rad", "yield_force": "1 kN"},
            "the law kind = 'menegotto-pinto hinge'",
        ),
        ({"kind": "elastoplastic fibre", "modulus": "2 kN/mm", "yield_stress": "1 MPa"}, "where Pa is expected"),
        ({"kind": "kent-park concrete", "strength": "30 MPa", "crushing_strain": "0.001"}, "give a larger one"),
        ({"kind": "kent-park concrete", "strength": "30 MPa", "crushed_stress": "40 MPa"}, "give at most that"),
        (
            {**LAWS["friction pendulum"][0], "slow_friction": 0.2},
            "slow_friction = 0.2 is above friction = 0.08",
        ),
        ({**LAWS["mr damper"][0], "gamma": 3e6}, "choose gamma greater than"),
        ({**LAWS["ibarra-medina-krawinkler"][0], "rates": [1.0, 1.5]}, "1.5 is not above 0 and at most 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        TypeAdapter(AnyLaw).validate_python(fields)


def test_a_fibre_is_no_law_of_an_element():
    with pytest.raises(ValueError, match="does not match any of the expected tags"):
        TypeAdapter(AnyElementLaw).validate_python(LAWS["menegotto-pinto"][0])


def test_laws_of_all_sorts_stand_side_by_side():
    names = ["linear", "power damper", "mr damper", "ibarra-medina-krawinkler"]
    along = {"ibarra-medina-krawinkler": {"along": [{"dof": 1, "per_length": 0.25}]}}
    elements = [Element(law=LAWS[name][0], **along.get(name, {"between": [1]})) for name in names]
    found = assemble(elements, 1)
    for e, name in enumerate(names):
        alone = law(LAWS[name][0])
        np.testing.assert_array_equal(found.parameters[e, : len(alone.row)], alone.row)
        np.testing.assert_array_equal(found.start[e, : alone.states], alone.start)
        assert tuple(np.flatnonzero(found.flowing[e])) == alone.flowing
    np.testing.assert_allclose(found.damping, [[sum(law(LAWS[name][0]).initial_damping for name in names)]])
