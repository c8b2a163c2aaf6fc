"""What is wrong with a frame is told with its node and element, before anything runs."""

import numpy as np
import pytest

from halfreal.errors import DefinitionError
from models.frame.frames import PLASTIC, two_storeys

GIRDER = {"kind": "beam", "nodes": ["A1", "B1"], "section": "girder"}


def told(**changes) -> str:
    with pytest.raises(ValueError) as error:
        two_storeys(**changes)
    return str(error.value)


def parts(family: str, **changes):
    """A family of parts of the frame, with some changed or added."""
    whole = {name: one.model_dump() for name, one in getattr(two_storeys(), family).items()}
    return {family: {**whole, **changes}}


def test_a_mechanism_is_named_by_what_moves():
    pinned = {"kind": "beam", "section": "column", "hinges": ["pinned", "pinned"]}
    columns = {f"{line}c{n}": {**pinned, "nodes": [f"{line}{n - 1}", f"{line}{n}"]} for line in "AB" for n in (1,)}
    text = told(**parts("elements", **columns), interface=[{"node": "A2", "direction": "y"}])
    assert "mechanism" in text and "nothing holds x of node 'B2' (elements 'Bc2', 'g2')" in text
    loads = [{"node": f"{line}2", "direction": "y", "force": -1e5} for line in "AB"]
    two_storeys(**parts("elements", **columns), loads=loads)  # the specimen at x of node A2 holds it


def test_a_pinned_girder_is_no_mechanism():
    frame = two_storeys(**parts("elements", g1={**GIRDER, "hinges": ["pinned", "pinned"]}))
    assert np.linalg.eigvalsh(frame.loaded("none").model.stiffness.toarray()).min() > 0.0


def test_a_node_without_element():
    assert "node 'C' is not connected to an element" in told(**parts("nodes", C={"at": [9.0, 0.0]}))


def test_a_part_that_is_joined_to_no_support():
    nodes = parts("nodes", Y={"at": [9.0, 0.0]}, Z={"at": [12.0, 0.0]})
    isle = {"kind": "beam", "nodes": ["Y", "Z"], "section": "girder"}
    text = told(**nodes, **parts("elements", isle=isle))
    assert "node 'Y' of element 'isle', and 1 more with it, are joined to no support" in text


def test_a_beam_without_length():
    nodes = parts("nodes", C={"at": [0.0, 3.5]})
    elements = parts("elements", short={"kind": "beam", "nodes": ["A1", "C"], "section": "girder"})
    text = told(**nodes, **elements)
    assert "element 'short'" in text and "no length" in text and "'A1' and 'C'" in text


def test_a_section_without_area_or_second_moment():
    assert "area" in told(sections={"column": {"modulus": 2e11, "area": 0.0, "second_moment": 1e-4}})
    bare = {"column": {"modulus": 2e11, "area": 0.01}, "girder": {"modulus": 2e11, "area": 0.01}}
    assert "has no second_moment" in told(sections=bare)


def test_an_unknown_name_is_told_with_the_nearest():
    assert "did you mean 'A2'?" in told(interface=[{"node": "AA2", "direction": "x"}])
    assert "element 'g1'" in told(**parts("elements", g1={**GIRDER, "nodes": ["A1", "B7"]}))
    assert "did you mean 'girder'?" in told(**parts("elements", g1={**GIRDER, "section": "gurder"}))
    assert "no material is called 'soft'" in told(**parts("elements", g1={**GIRDER, "hinges": ["soft", "rigid"]}))


def test_an_interface_at_a_fixed_node():
    assert "x of node 'A0' is held by a support" in told(interface=[{"node": "A0", "direction": "x"}])


def test_a_hinge_that_yields_under_gravity():
    loads = [{"node": "A2", "direction": "x", "force": 4e5}]
    text = told(material=PLASTIC, loads=loads)
    assert "hinge of '" in text and "yields under the gravity loads" in text and "(yield_moment is " in text


def test_a_hinge_needs_a_law_of_a_rotation():
    spring = {"kind": "elastoplastic", "stiffness": 1e6, "yield_force": 1e3}
    assert "use kind = 'elastoplastic hinge'" in told(material=spring)


def test_constraints_do_not_contradict_supports():
    equal = {"kind": "equal", "master": "A1", "slaves": ["A0"], "directions": ["x"]}
    assert "x of node 'A0' is fixed by a support and prescribed" in told(constraints=[equal])
    twice = [{"kind": "rigid diaphragm", "master": "A1", "slaves": ["B1"]}] * 2
    assert "prescribed by two constraints" in told(constraints=twice)
    circle = [
        {"kind": "equal", "master": "A1", "slaves": ["B1"], "directions": ["x"]},
        {"kind": "equal", "master": "B1", "slaves": ["A1"], "directions": ["x"]},
    ]
    assert "follows itself" in told(constraints=circle)


def test_no_node_that_can_move():
    held = {name: {**one.model_dump(), "fixed": "all"} for name, one in two_storeys().nodes.items()}
    assert "every node is held in every direction" in told(nodes=held)


def test_no_mass_at_all():
    nodes = {name: {**one.model_dump(), "mass": 0.0} for name, one in two_storeys().nodes.items()}
    assert "has mass" in told(nodes=nodes)


def test_an_explicit_scheme_needs_mass_everywhere():
    from halfreal.contracts.massless import MasslessError

    frame = two_storeys(scheme="kr-alpha")
    with pytest.raises(MasslessError, match="rz of node"):
        frame.method(1e-3, "none")


RECTANGLE = {"kind": "rectangle", "material": "steel", "bottom": -0.2, "top": 0.2, "width": 0.1}
STEEL = {"kind": "elastoplastic fibre", "modulus": 2e11, "yield_stress": 3e8}


def of_fibres(part=RECTANGLE, law=STEEL, response=None, **element) -> str:
    """What is told of a frame with one member of fibres."""
    section = {"kind": "fibres", "parts": [part] if isinstance(part, dict) else part}
    sections = {name: one.model_dump() for name, one in two_storeys().sections.items()}
    girder = {**GIRDER, "kind": "force-based beam", "section": "H", **element}
    return told(
        **parts("elements", g1=girder),
        sections={**sections, "H": section},
        materials={"steel": law},
        responses={} if response is None else {"asked": response},
    )


def test_a_section_without_fibres_or_area():
    assert "the section has no fibres" in of_fibres([])
    assert "the rectangle has no area" in of_fibres({**RECTANGLE, "top": -0.2})
    assert "width" in of_fibres({**RECTANGLE, "width": 0.0})
    bars = {"kind": "bars", "material": "steel", "y": 0.1, "area": 1e-3}
    assert "no stiffness in bending" in of_fibres([bars, bars])
    assert "area" in of_fibres([RECTANGLE, {**bars, "area": 0.0}])
    flanges = {"kind": "wide flange", "material": "steel", "depth": 0.03, "flange_width": 0.3, "web_thickness": 0.01}
    assert "do not fit into a depth" in of_fibres({**flanges, "flange_thickness": 0.015})


def test_fibres_need_a_law_of_a_strain():
    text = of_fibres(law=PLASTIC)
    assert "section 'H'" in text and "'elastoplastic hinge'" in text and "'elastoplastic fibre'" in text
    text = of_fibres({**RECTANGLE, "material": "steal"})
    assert "section 'H'" in text and "did you mean 'steel'?" in text
    assert "modulus" in of_fibres(law={**STEEL, "modulus": "200 kN"})


def test_too_few_points():
    text = of_fibres(points=2)
    assert "2 points of the rule 'lobatto'; give 3 to 10" in text and "g1" in text
    assert "give 2 to 10" in of_fibres(points=1, rule="legendre")


def test_a_beam_of_fibres_without_length():
    assert "force-based beam 'g1' has no length" in of_fibres(nodes=["A1", "A1"])


def test_elastic_members_do_not_take_fibres():
    assert "section 'H' is made of fibres" in of_fibres(kind="beam")
    assert "section 'H' is made of fibres" in of_fibres(kind="truss")


def test_responses_ask_for_what_there_is():
    assert "no section 6, but 5" in of_fibres(response={"element": "g1", "quantity": "moment", "section": 6})
    assert "did you mean 'top'?" in of_fibres(response={"element": "g1", "quantity": "stress", "gauge": "topp"})
    assert "gives strain or stress" in of_fibres(response={"element": "g1", "quantity": "moment", "gauge": "top"})
    assert "not a quantity of a section" in of_fibres(response={"element": "g1", "quantity": "stress"})
    assert "not laws" in of_fibres(response={"element": "g1", "quantity": "stress", "law": 2, "gauge": "top"})


def test_steel_that_yields_under_gravity_is_told_with_its_fibre_and_concrete_that_cracks_is_not():
    from models.frame.fibres import CONCRETE, CONCRETE_PARTS, CURVED, pier

    with pytest.raises(ValueError, match=r"fibre at y = .* in section . of 'e1' yields"):
        pier("force-based beam", CONCRETE_PARTS, {"steel": STEEL, "concrete": CONCRETE}, weight=6.7e6)
    pier("force-based beam", CONCRETE_PARTS, {"steel": CURVED, "concrete": CONCRETE}, weight=1e6)


def test_a_truss_of_stress_over_strain_needs_an_area():
    brace = {"kind": "truss", "nodes": ["A0", "B1"], "material": "steel"}
    laws = {"steel": STEEL, "rope": {"kind": "elastoplastic", "stiffness": 1e6, "yield_force": 1e3}}
    assert "also give a section" in told(**parts("elements", brace=brace), materials=laws)
    two_storeys(**parts("elements", brace={**brace, "section": "girder"}), materials=laws)
    twice = {**brace, "material": "rope", "section": "girder"}
    assert "either a section or a material" in told(**parts("elements", brace=twice), materials=laws)
    spring = {"kind": "spring", "nodes": ["A1"], "direction": "x", "material": "steel"}
    assert "is a stress–strain law" in told(**parts("elements", s=spring), materials=laws)


def at_fault(**changes) -> str:
    """The key at fault."""
    with pytest.raises(DefinitionError) as error:
        two_storeys(**changes)
    [one] = error.value.faults
    return one.path


def test_the_place_at_fault_is_where_it_stands():
    assert at_fault(interface=[{"node": "A0", "direction": "x"}]) == "interface[1]"
    assert at_fault(interface=[{"node": "A2", "direction": "x"}, {"node": "Q", "direction": "x"}]) == "interface[2]"
    assert at_fault(**parts("nodes", C={"at": [9.0, 0.0]})) == "nodes.C"
    assert at_fault(**parts("elements", g1={**GIRDER, "section": "gurder"})) == "elements.g1.section"
    assert at_fault(**parts("elements", g1={**GIRDER, "nodes": ["A1", "B7"]})) == "elements.g1.nodes"
    assert at_fault(loads=[{"node": "A9", "direction": "y", "force": -1.0}]) == "loads[1]"
    assert at_fault(responses={"roof": {"element": "none", "quantity": "force"}}) == "responses.roof"
    pull = [{"node": "A2", "direction": "x", "force": 4e5}]
    assert at_fault(material=PLASTIC, loads=pull).startswith("elements.")
    two = parts("nodes", C={"at": [9.0, 0.0], "mass": 1.0}, D={"at": [9.0, 1.0]})
    alone = parts("elements", loose={"kind": "beam", "nodes": ["C", "D"], "section": "girder"})
    assert at_fault(**two, **alone).startswith("nodes.")


def test_a_hinge_that_yields_without_end_under_gravity_is_named():
    ideal = {**PLASTIC, "hardening": 0.0}
    text = told(material=ideal, loads=[{"node": "A2", "direction": "x", "force": 8e5}])
    assert "hinge of '" in text and "yields under the gravity loads" in text


def test_a_frame_that_buckles_under_its_loads_is_no_mechanism_for_want_of_a_brace():
    heavy = [{"node": f"{line}2", "direction": "y", "force": -1e9} for line in "AB"]
    text = told(geometry="p-delta", loads=heavy)
    assert "is not stable under its gravity loads" in text and "of node '" in text


@pytest.mark.parametrize("fall", [0.9, 1.1])
def test_a_hinge_that_softens_faster_than_its_beam_unloads_is_refused(fall):
    """Both ends hinged: 2 EI/L is the least that the beam resists with."""
    steepest = fall * 2.0 * 2e11 * 3.5e-4 / 6.0  # of the girder, the softest
    softening = {
        "kind": "ibarra-medina-krawinkler hinge",
        "stiffness": 8.6e8,
        "yield_moment": 2.5e5,
        "capping": 1.1,
        "plastic_rotation": 0.01,
        "post_capping_rotation": 1.1 * 2.5e5 / steepest,
        "ultimate_rotation": 0.4,
    }
    if fall < 1.0:
        two_storeys(material=softening)
        return
    text = told(material=softening)
    assert "the hinge of 'g1' at 'A1' softens by up to 2.567e+04 kN m/rad" in text and "no step can follow" in text
