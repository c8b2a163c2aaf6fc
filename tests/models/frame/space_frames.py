"""A small frame in space: one bay each way, two storeys of unequal sides, so that it twists."""

from __future__ import annotations

from typing import Any

from halfreal.models.frame.builder import regular_space_frame
from halfreal.models.frame.frame import Frame

COLUMN = {
    "modulus": 2e11, "area": 1.2e-2, "second_moment_y": 2.5e-4, "second_moment_z": 9e-5, "torsion_constant": 2e-6,
    "mass_per_length": 90.0,
}  # fmt: skip
GIRDER = {**COLUMN, "area": 9e-3, "second_moment_y": 3.5e-4, "second_moment_z": 3e-5, "shear_modulus": 7e10}
MASS, INERTIA = 1.5e4, 800.0
RESPONSES = ("target", "virtual.first", "virtual.aside", "virtual.turn")
RECORD = [("AA2", "x"), ("AA1", "x"), ("BB2", "y"), ("BA2", "rz")]


def twisting(material: dict[str, Any] | None = None, geometry: str = "linear", **changes: Any) -> Frame:
    """Two storeys of which one corner is heavier, with hinges about both axes if a material is given."""
    floors = changes.pop("rigid_floors", False)
    weight = changes.pop("weight", None)
    frame = regular_space_frame(
        2, (1, 1), height=3.5, widths=(6.0, 5.0), column=COLUMN, girder=GIRDER, mass=MASS, inertia=INERTIA,
        column_hinge=material, girder_hinge=material, weight=weight, geometry=geometry, rigid_floors=floors,
    )  # fmt: skip
    frame.parts["nodes"]["BB2"]["mass"] = 2.5 * MASS
    frame.record("first", node="AA1", direction="x", quantity="displacement")
    frame.record("aside", node="BB2", direction="y", quantity="displacement")
    frame.record("turn", node="BA2", direction="rz", quantity="displacement")
    frame.parts["constraints"] += changes.pop("constraints", [])
    frame.parts["nodes"].update(changes.pop("nodes", {}))
    frame.parts["elements"].update(changes.pop("elements", {}))
    frame.parts["materials"].update(changes.pop("materials", {}))
    settings = {"rayleigh": {"mass": 0.3}, "scheme": {"kind": "newmark", "tolerance": 1e-12}}
    return frame.build([("AA2", "x")], **{**settings, **changes})
