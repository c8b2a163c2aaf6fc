"""Small frames with fibre sections, static pushing, and El Centro."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

from halfreal.models.frame.builder import FrameBuilder
from halfreal.models.frame.frame import Frame
from halfreal.models.frame.model import Model
from models.frame.frames import two_storeys

BILINEAR = {"kind": "elastoplastic fibre", "modulus": 2e11, "yield_stress": 2.35e8, "hardening": 0.02}
CURVED = {"kind": "menegotto-pinto fibre", "modulus": 2e11, "yield_stress": 2.35e8, "hardening": 0.02}
ELASTIC = {"kind": "elastic fibre", "modulus": 2e11}
CONCRETE = {"kind": "kent-park concrete", "strength": 3e7, "crushed_stress": 6e6, "crushing_strain": 0.01}
COLUMN = {"kind": "wide flange", "depth": 0.36, "flange_width": 0.3, "flange_thickness": 0.015, "web_thickness": 0.01}
GIRDER = {**COLUMN, "depth": 0.4, "flange_width": 0.2, "flange_fibres": 2, "web_fibres": 8}
KINDS = ("displacement-based beam", "force-based beam")
EL_CENTRO = Path(__file__).parents[4] / "shared" / "data" / "ground_motions" / "el_centro_mps2.csv"


def storeys(kind: str, material: dict[str, Any], geometry: str = "linear", **changes: Any) -> Frame:
    """Two storeys and one bay, of beams with fibre sections."""
    members = {}
    for name, one in two_storeys().elements.items():
        turned = geometry if one.section == "column" else "linear"
        members[name] = {"kind": kind, "nodes": one.nodes, "section": one.section, "geometry": turned, "points": 4}
    sections = {
        name: {"kind": "fibres", "parts": [{**part, "material": "steel"}]}
        for name, part in (("column", COLUMN), ("girder", GIRDER))
    }
    return two_storeys(elements=members, sections=sections, materials={"steel": material}, **changes)


JACK = 1e9
"""Stiffness of what pushes a pier [N/m], so that it follows a displacement."""


def pier(
    kind: str, parts: list[dict[str, Any]], materials: dict[str, Any], elements: int = 1, **settings: Any
) -> Frame:
    """A column that stands on its foot, with a load on its head, a stiff jack there, and gauges at its foot."""
    weight, geometry, frame = settings.pop("weight", 0.0), settings.pop("geometry", "linear"), FrameBuilder()
    for name, law in materials.items():
        frame.material(name, **law)
    frame.fibre_section("pier", *parts)
    for i in range(elements + 1):
        frame.node(f"n{i}", (0.0, 3.0 * i / elements), mass=1e4, **({} if i else {"fixed": "all"}))
        if i:
            frame.element(f"e{i}", kind, f"n{i - 1}", f"n{i}", section="pier", geometry=geometry)
    if settings.pop("jack", True):
        frame.material("jack", kind="linear", stiffness=JACK)
        frame.spring("jack", f"n{elements}", direction="x", material="jack")
    if weight:
        frame.load(f"n{elements}", "y", force=-weight)
    for quantity in ("strain", "stress"):
        frame.record(quantity, element="e1", gauge="top", quantity=quantity)
    for quantity in ("axial strain", "curvature", "axial force", "moment"):
        frame.record(quantity, element="e1", quantity=quantity)
    return frame.build([(f"n{elements}", "x")], **settings)


CONCRETE_PARTS = [
    {"kind": "rectangle", "material": "concrete", "bottom": -0.25, "top": 0.25, "width": 0.4, "fibres_across": 16},
    {"kind": "bars", "material": "steel", "y": -0.2, "area": 1.5e-3},
    {"kind": "bars", "material": "steel", "y": 0.2, "area": 1.5e-3},
]


def committed(model: Model, states: dict[str, np.ndarray]) -> Model:
    kept = len(states["memory"])
    new = {"memory": states["trial"][:kept], "flowing": states["trial"][kept:], "inner": states["inner_trial"]}
    return replace(model, states={**states, **{key: value.copy() for key, value in new.items()}})


def moved(model: Model, load: np.ndarray, start: np.ndarray, within: float = 1e-13 * JACK) -> tuple[np.ndarray, Model]:
    """Displacements in equilibrium with a load, by Newton's method, and the model committed there."""
    q = start.copy()
    for _ in range(60):
        forces, tangents, states = model.forces(q)
        left = load - model.stiffness @ q - forces
        if np.abs(left).max() <= within:
            return q, committed(model, states)
        # the model's own stiffness has the tangents at rest
        now = model.stiffness + replace(model, stiffness=0.0 * model.stiffness).tangent(
            tangents - model.arrays["initial"]
        )
        q = q + scipy.sparse.linalg.spsolve(now.tocsc(), left)
    raise AssertionError(f"{np.abs(left).max():g} N left")


def pushed(frame: Frame, node: str, direction: str, forces: np.ndarray, record: list[tuple[str, str]]) -> np.ndarray:
    """Displacements under a force at a node that takes these values one after another, a row for each."""
    model = frame.loaded("none").model
    numbers = model.numbering
    t = numbers.transformation.toarray()
    q, found = np.zeros(model.dofs), []
    for force in forces:
        q, model = moved(model, force * t[numbers.index(node, direction)], q)
        found.append([t[numbers.index(*one)] @ q for one in record])
    return np.array(found)


def el_centro(dt: float, seconds: float, factor: float = 1.0) -> np.ndarray:
    """The ground acceleration, straight between its samples."""
    if not EL_CENTRO.exists():
        pytest.skip("no record of El Centro here")
    t, a = np.loadtxt(EL_CENTRO, delimiter=",", skiprows=1).T
    return np.asarray(factor * np.interp(dt * np.arange(int(seconds / dt)), t, a))
