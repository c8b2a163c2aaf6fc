"""Small frames, the ground motion that shakes them, and loops of the two."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfreal.kernels.block import Block
from halfreal.kernels.loop import Loop
from halfreal.models.frame.frame import Frame
from models.loops import table

DT = 2e-3
E = 2.0e11
SECTIONS = {
    "column": {"modulus": E, "area": 1.2e-2, "second_moment": 2.5e-4},
    "girder": {"modulus": E, "area": 9e-3, "second_moment": 3.5e-4},
}
HEIGHT, SPAN, MASS = 3.5, 6.0, 2.0e4
PLASTIC = {"kind": "elastoplastic hinge", "stiffness": 8.6e8, "yield_moment": 2.5e5, "hardening": 0.02}
CURVED = {"kind": "menegotto-pinto hinge", "stiffness": 8.6e8, "yield_moment": 2.5e5, "hardening": 0.02}


def two_storeys(material: dict[str, Any] | None = None, **changes: Any) -> Frame:
    """Two storeys and one bay; with a material its members have hinges of it at both ends."""
    hinges = {} if material is None else {"hinges": ["plastic", "plastic"]}
    geometry = {"geometry": changes.pop("geometry", "linear")}
    inertia = changes.pop("inertia", 0.0)
    nodes: dict[str, Any] = {}
    elements: dict[str, Any] = {}
    for storey in range(3):
        for bay, name in enumerate("AB"):
            at = [bay * SPAN, storey * HEIGHT]
            nodes[f"{name}{storey}"] = (
                {"at": at, "fixed": "all"} if storey == 0 else {"at": at, "mass": MASS, "inertia": inertia}
            )
            if storey:
                ends = [f"{name}{storey - 1}", f"{name}{storey}"]
                elements[f"{name}c{storey}"] = {
                    "kind": "beam",
                    "nodes": ends,
                    "section": "column",
                    **hinges,
                    **geometry,
                }
        if storey:
            ends = [f"A{storey}", f"B{storey}"]
            elements[f"g{storey}"] = {"kind": "beam", "nodes": ends, "section": "girder", **hinges}
    fields: dict[str, Any] = {
        "kind": "frame",
        "sections": SECTIONS,
        "materials": {} if material is None else {"plastic": material},
        "nodes": nodes,
        "elements": elements,
        "interface": [{"node": "A2", "direction": "x"}],
        "responses": {
            "first": {"node": "A1", "direction": "x", "quantity": "displacement"},
            "turn": {"node": "B2", "direction": "rz", "quantity": "displacement"},
            "roof": {"node": "A2", "direction": "x", "quantity": "acceleration"},
        },
        "rayleigh": {"mass": 0.3},
        "scheme": {"kind": "newmark", "tolerance": 1e-12},
    }
    return Frame(**{**fields, **changes})


RESPONSES = ("target", "virtual.first", "virtual.turn", "virtual.roof")


def shaking(ticks: int, dt: float = DT, peak: float = 6.0) -> np.ndarray:
    """A ground acceleration with many frequencies that rises from zero [m/s²]."""
    t = dt * np.arange(ticks)
    found = sum(np.sin(2.0 * np.pi * f * t + 0.7 * k) / (k + 1) for k, f in enumerate((1.3, 2.1, 3.7, 6.1)))
    return np.asarray(peak * found / np.abs(found).max() * np.minimum(1.0, t / 0.3))


def source(values: np.ndarray) -> Block:
    return table(np.column_stack([values, np.zeros((len(values), 2))]))


def loop(frame: Frame, ground: np.ndarray, dt: float = DT) -> Loop:
    return Loop([source(ground), frame.block(dt, "ground", ("feedback",))], dt=dt)


def run(frame: Frame, ground: np.ndarray, dt: float = DT, record: tuple[str, ...] = RESPONSES) -> np.ndarray:
    """Recorded outputs, one row for each tick."""
    driven = loop(frame, ground, dt)
    log = driven.run(len(ground), record=record).log[:, 1:]
    assert driven.describe(driven.vector[driven.index["loop.fault"]]) == ""
    return log
