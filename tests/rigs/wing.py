"""The strut-braced wing's rig (Ruffini et al. 2020, Table 1) with the gallery's stand-in for the wing."""

from __future__ import annotations

from typing import Any

from halfreal.definition.definition import Definition

SHAKER = {
    "mass": 2.7,
    "damping": 2.0,
    "stiffness": 10.0,
    "inductance": 0.025,
    "resistance": 1.6,
    "motor_constant": 20.1,
}
DRIVE = {
    "proportional": 49e3,
    "integral": 39e3,
    "derivative": 390.0,
    "position_filter": 28274.0,
    "force_proportional": 0.07,
    "force_filter": 628.0,
}
WING = {
    "mass": [[0.4, 0, 0], [0, 0.5, 0], [0, 0, 0.25]],
    "stiffness": [[60e3, -60e3, 0], [-60e3, 61250.0, -350.0], [0, -350.0, 350.0]],
    "rayleigh": {"mass": 0.5, "stiffness": 1e-3},
    "excited": [0.0, 0.4, 0.6],
}
STEP = 0.25e-3


def definition(**changes: Any) -> Definition:
    """A test of 16 s; changes to its sections, of which those of the rig are merged."""
    rig = {"kind": "electrodynamic", "shaker": SHAKER, "drive": DRIVE, "specimen": WING, **changes.pop("rig", {})}
    sections = {
        "title": "wing",
        "timing": {"step": STEP, "duration": 16.0},
        "virtual": {"kind": "spring-damper", "stiffness": 8000.0, "damping": 800.0},
        "excitation": {"specimen": gusts(5.0)},
        "rig": rig,
        **changes,
    }
    return Definition.model_validate(sections)


def gusts(hz: float) -> dict[str, Any]:
    return {"kind": "gust", "force": 20.0, "frequencies": [hz], "ramp": 1.0}
