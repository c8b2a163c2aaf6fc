"""Elements along any direction: against closed forms of frames, and what cannot be meant."""

from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.definition.load import from_toml
from halfreal.definition.write import to_toml
from halfreal.models import Element, Structure
from halfreal.models.materials.element_fields import loaded
from halfreal.rigs.specimen import Specimen

HEIGHT, BENDING = 4.0, 3e6  # m, N m²
SPRING = 6 * BENDING / HEIGHT  # N m/rad: both ends of a column in double curvature resist its drift with this


def hinge(*along, kind="linear hinge", **law):
    return {"law": {"kind": kind, "stiffness": SPRING, **law}, "along": list(along)}


def test_hinges_at_both_ends_give_the_lateral_stiffness_of_a_column_in_double_curvature():
    both = [hinge({"dof": 1, "per_length": -1 / HEIGHT})] * 2
    expected = [[12 * BENDING / HEIGHT**3]]
    np.testing.assert_allclose(
        Structure(mass=[[1.0]], stiffness=[[0.0]], elements=both).system("none").stiffness, expected
    )
    np.testing.assert_allclose(Specimen(elements=both).stiffness_at_rest(1), expected)


def test_a_portal_of_hinged_rigid_columns_sways_as_its_closed_form_says():
    """Columns on pinned feet, hinges at their heads against a girder that resists rotation at either end."""
    girder = 2e6  # N m/rad, of each end in double curvature
    heads = [hinge({"dof": head}, {"dof": 1, "per_length": -1 / HEIGHT}) for head in (2, 3)]
    ends = [{"law": {"kind": "linear hinge", "stiffness": girder}, "between": [head]} for head in (2, 3)]
    k = Structure(mass=np.eye(3), stiffness=np.zeros((3, 3)), elements=heads + ends).system("none").stiffness
    series = 1 / (1 / SPRING + 1 / girder)
    lateral = k[0, 0] - k[0, 1:] @ np.linalg.solve(k[1:, 1:], k[1:, 0])
    assert lateral == pytest.approx(2 * series / HEIGHT**2, rel=1e-12)


def test_a_frame_of_plastic_hinges_holds_no_more_than_its_mechanism():
    """Four hinges that have yielded resist the drift with 4 M_y/h; as a specimen and as a virtual part."""
    moment = 5e3
    four = [hinge({"dof": 1, "per_length": -1 / HEIGHT}, kind="elastoplastic hinge", yield_moment=moment)] * 4
    for part in (
        Specimen(elements=four).attached_to(Structure(mass=[[1.0]], stiffness=[[0.0]]).system("none"), 1),
        Structure(mass=[[1.0]], stiffness=[[0.0]], elements=four, scheme={"kind": "newmark"}).system("none"),
    ):
        forces, states = loaded(part.elements, np.array([0.1]), np.zeros(1))
        assert (forces @ part.elements.direction)[0] == pytest.approx(4 * moment / HEIGHT, rel=1e-12)
        np.testing.assert_allclose(states[:, 0], -(0.1 / HEIGHT - moment / SPRING), rtol=1e-12)


def test_every_hinge_is_the_law_of_its_name_in_rotations():
    laws = {
        "cubic": ({"cubic": 5.0}, {"cubic": "5 N m/rad^3"}),
        "bilinear": ({"limit": 0.01}, {"limit": "0.01 rad"}),
        "elastoplastic": ({"yield_force": 3.0, "hardening": 0.1}, {"yield_moment": "3 N m", "hardening": 0.1}),
        "bouc-wen": ({"yield_displacement": 0.01, "n": 1.5}, {"yield_rotation": "10 mrad", "n": 1.5}),
    }
    for kind, (displaced, turned) in laws.items():
        law = Element.model_validate({"law": {"kind": kind, "stiffness": 7.0, **displaced}, "between": [1]}).law
        other = Element.model_validate(
            {"law": {"kind": f"{kind} hinge", "stiffness": "7 N m/rad", **turned}, "between": [1]}
        ).law
        assert (law.code, law.other, other.other) == (other.code, other.kind, law.kind)
        np.testing.assert_allclose(law.row, other.row, rtol=1e-12)


@pytest.mark.parametrize(
    ("element", "told"),
    [
        ({"law": {"kind": "linear", "stiffness": "5 kN m/rad"}, "between": [1]}, r"N m/rad.*in N/m.*'linear hinge'"),
        ({"law": {"kind": "linear hinge", "stiffness": "5 kN/m"}, "between": [1]}, r"in N/m.*N m/rad.*'linear'"),
        (hinge({"dof": 1, "lever": 0.3}), r"lever belongs to elements of displacements.*'linear hinge' is one of rot"),
        (
            {"law": {"kind": "linear", "stiffness": 1.0}, "along": [{"dof": 1, "per_length": 0.3}]},
            "per_length belongs to elements of rotations",
        ),
        (hinge({"dof": 1}, {"dof": 1}), "twice"),
        (hinge({"dof": 1, "factor": 0}), "has no effect"),
        (hinge({"dof": 1, "factor": 2, "per_length": 0.1}), "both factor and per_length are given"),
        ({"law": {"kind": "linear", "stiffness": 1.0}}, "has no location"),
        ({**hinge({"dof": 1}), "between": [1]}, "both along and between are given"),
    ],
)
def test_what_cannot_be_meant_is_refused(element, told):
    with pytest.raises(ValueError, match=told):
        Element.model_validate(element)


def test_a_degree_of_freedom_is_either_a_displacement_or_a_rotation():
    spring = {"law": {"kind": "linear", "stiffness": 1.0}, "between": [2]}
    fields = {"mass": np.eye(2), "stiffness": np.eye(2)}
    with pytest.raises(ValueError, match=r"freedom 2 is a rotation by element 1 \('linear hinge'\) and a displac"):
        Structure(**fields, elements=[hinge({"dof": 2}), spring])
    response = {"head": {"dof": 2, "quantity": "displacement"}}
    with pytest.raises(ValueError, match=r"displacement by the response 'head' and a rotation by element 1"):
        Structure(**fields, elements=[hinge({"dof": 2})], responses=response)
    assert Structure(**fields, interface=(1, 2), elements=[hinge({"dof": 2})]).turning == (False, True)


def loads(text: str):
    return from_toml(text, halfreal.Definition, folder=Path())


def definition(axis: str, element: str):
    return loads(
        f"""
        title = "hinge"
        axes = ["{axis}"]
        [timing]
        step = "1 ms"
        duration = "1 s"
        [virtual]
        mass = "2 kg"
        stiffness = "1 kN/m"
        [[rig.specimen.elements]]
        {element}
        """
    )


def test_a_specimen_of_a_hinge_survives_toml_and_must_suit_its_axis():
    element = 'law = {kind = "linear hinge", stiffness = "8 N m/rad"}\nalong = [{dof = 1, per_length = "-0.25 1/m"}]'
    test = definition("x", element)
    assert test.rig.specimen.stiffness_at_rest(1)[0, 0] == pytest.approx(0.5)
    assert loads(to_toml(test)) == test
    with pytest.raises(halfreal.HalfrealError, match="rotation by axis 'rz' and a displacement by element 1"):
        definition("rz", element)
    with pytest.raises(halfreal.HalfrealError, match="displacement by axis 'x' and a rotation by element 1"):
        definition("x", 'law = {kind = "linear hinge", stiffness = "8 N m/rad"}\nbetween = [1]')
