"""The same frames in OpenSees, an independent implementation, in a process of its own.

A frame is told to it part by part: hinges as springs of zero length between a joint and a node in the same place.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from halfreal.models.frame.frame import Frame
from models.materials.opensees import _environment, why_not

SCRIPT = """
import json, sys
import openseespy.opensees as ops
asked = json.load(sys.stdin)
for command, *arguments in asked["model"]:
    getattr(ops, command)(*arguments)
answer = {}
if asked.get("modes"):
    answer["modes"] = ops.eigen("-fullGenLapack", asked["modes"])
if asked.get("gravity"):
    for command, *arguments in asked["gravity"]:
        getattr(ops, command)(*arguments)
    answer["settled"] = ops.analyze(1)
    ops.loadConst("-time", 0.0)
    ops.wipeAnalysis()
start = [ops.nodeDisp(*one) for one in asked["record"]]
history = []
for command, *arguments in asked["analysis"]:
    getattr(ops, command)(*arguments)
for _ in range(asked["steps"]):
    if ops.analyze(*asked["by"]) != 0:
        raise SystemExit("OpenSees did not converge")
    history.append([ops.nodeDisp(*one) for one in asked["record"]])
answer["start"], answer["history"] = start, history
print("ANSWER" + json.dumps(answer))
"""
DIRECTION = {"x": 1, "y": 2, "rz": 3}
GEOMETRY = {"linear": 1, "p-delta": 2, "corotational": 3}
FIBRES = {"displacement-based beam": "dispBeamColumn", "force-based beam": "forceBeamColumn"}


def told(frame: Frame) -> tuple[list[list[Any]], dict[str, int]]:
    """Commands that build a plane frame, and the tags of its nodes."""
    commands: list[list[Any]] = [["wipe"], ["model", "basic", "-ndm", 2, "-ndf", 3]]
    tags = {name: i for i, name in enumerate(frame.nodes, start=1)}
    for name, node in frame.nodes.items():
        commands.append(["node", tags[name], *map(float, node.at)])
        if node.fixed:
            commands.append(["fix", tags[name], *(int(one in node.fixed) for one in DIRECTION)])
        commands.append(["mass", tags[name], node.mass, node.mass, node.inertia])
    commands += [["geomTransf", name, tag] for name, tag in (("Linear", 1), ("PDelta", 2), ("Corotational", 3))]
    materials = {name: i for i, name in enumerate(frame.materials, start=1)}
    for name, law in frame.materials.items():
        commands.append(_material(law, materials[name]))
    sections = {name: i for i, name in enumerate(frame.sections, start=1)}
    for name, section in frame.sections.items():
        if section.elastic is None:
            commands += _section(section.fibres(frame.materials), sections[name], materials)
    node = element = 1000
    for one in frame.elements.values():
        ends = [tags[name] for name in one.nodes]
        if one.kind == "beam":
            for end, hinge in enumerate(one.hinges):
                if hinge == "rigid":
                    continue
                node += 1
                commands.append(["node", node, *map(float, frame.nodes[one.nodes[end]].at)])
                commands.append(["equalDOF", ends[end], node, 1, 2])
                if hinge != "pinned":
                    element += 1
                    commands.append(
                        ["element", "zeroLength", element, ends[end], node, "-mat", materials[hinge], "-dir", 6]
                    )
                ends[end] = node
            section = frame.sections[one.section]
            element += 1
            sort = GEOMETRY[one.geometry]
            commands.append(
                [
                    "element",
                    "elasticBeamColumn",
                    element,
                    *ends,
                    section.area,
                    section.modulus,
                    section.second_moment,
                    sort,
                ]
            )
        elif one.kind == "truss":
            section = frame.sections[one.section]
            element += 1
            if one.material is None:
                commands.append(["uniaxialMaterial", "Elastic", 5000 + element, section.modulus])
            tag = 5000 + element if one.material is None else materials[one.material]
            sort = "corotTruss" if one.geometry == "corotational" else "Truss"
            commands.append(["element", sort, element, *ends, section.area, tag])
        elif one.kind == "spring":
            node, element = node + 1, element + 1
            commands.append(["node", node, *map(float, frame.nodes[one.nodes[0]].at)])
            commands.append(["fix", node, 1, 1, 1])
            to = DIRECTION[one.direction]
            commands.append(
                ["element", "zeroLength", element, node, *ends, "-mat", materials[one.material], "-dir", to]
            )
        elif one.kind in FIBRES:
            element += 1
            rule = [one.rule.capitalize(), element, sections[one.section], one.points]
            commands.append(["beamIntegration", *rule])
            inner = ["-iter", 50, 1e-16] if one.kind == "force-based beam" else []
            commands.append(["element", FIBRES[one.kind], element, *ends, GEOMETRY[one.geometry], element, *inner])
    if frame.rayleigh is not None:
        commands.append(["rayleigh", frame.rayleigh.mass, 0.0, frame.rayleigh.stiffness, 0.0])
    return commands, tags


def _section(fibres: Any, tag: int, materials: dict[str, int]) -> list[list[Any]]:
    """Its y counts from the centre of the area, so that only sections whose axis is there are alike."""
    assert abs(fibres.area @ fibres.y) < 1e-12
    each = zip(fibres.y.tolist(), fibres.area.tolist(), fibres.materials, strict=True)
    return [["section", "Fiber", tag], *(["fiber", y, 0.0, area, materials[name]] for y, area, name in each)]


def _material(law: Any, tag: int) -> list[Any]:
    if law.linear:
        return ["uniaxialMaterial", "Elastic", tag, law.initial_stiffness]
    if law.kind == "kent-park concrete":
        return ["uniaxialMaterial", "Concrete01", tag, *law.envelope()]
    stiffness, yielding, *_ = law.values()
    if law.kind.startswith("elastoplastic"):
        return ["uniaxialMaterial", "Steel01", tag, yielding, stiffness, law.hardening]
    assert law.kind.startswith("menegotto-pinto")
    return ["uniaxialMaterial", "Steel02", tag, yielding, stiffness, law.hardening, law.r0, law.cr1, law.cr2]


SOLVED = [
    ["constraints", "Transformation"],
    ["numberer", "RCM"],
    ["system", "BandGeneral"],
    ["test", "NormDispIncr", 1e-13, 60],
    ["algorithm", "Newton"],
]


def _gravity(frame: Frame, tags: dict[str, int]) -> list[list[Any]]:
    commands: list[list[Any]] = [["timeSeries", "Linear", 8], ["pattern", "Plain", 8, 8]]
    for load in frame.loads:
        values = [0.0, 0.0, 0.0]
        values[DIRECTION[load.direction] - 1] = load.force if load.force is not None else load.moment
        commands.append(["load", tags[load.node], *values])
    return [*commands, *SOLVED, ["integrator", "LoadControl", 1.0], ["analysis", "Static"]]


def _asked(question: dict[str, Any]) -> dict[str, Any]:
    if why_not():
        pytest.skip(why_not())
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(question),
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    answers = [line for line in ran.stdout.splitlines() if line.startswith("ANSWER")]
    assert answers, ran.stderr[-2000:]
    return json.loads(answers[-1].removeprefix("ANSWER"))


def modes(frame: Frame, count: int) -> np.ndarray:
    """Natural frequencies ω [rad/s]."""
    commands, _ = told(frame)
    asked = {"model": commands, "modes": count, "record": [], "analysis": [], "steps": 0, "by": [1]}
    return np.sqrt(np.array(_asked(asked)["modes"]))


def shaken(
    frame: Frame, ground: np.ndarray, dt: float, record: list[tuple[str, str]], integrator: list[Any]
) -> np.ndarray:
    """Displacements under a ground acceleration, a row for each step, counted from those under gravity."""
    commands, tags = told(frame)
    analysis = [
        ["timeSeries", "Path", 1, "-dt", dt, "-values", *map(float, ground)],
        ["pattern", "UniformExcitation", 1, 1, "-accel", 1],
        *SOLVED,
        ["integrator", *integrator],
        ["analysis", "Transient"],
    ]
    asked = {
        "model": commands,
        "gravity": _gravity(frame, tags) if frame.loads else None,
        "record": [[tags[node], DIRECTION[direction]] for node, direction in record],
        "analysis": analysis,
        "steps": len(ground) - 1,
        "by": [1, dt],
    }
    answer = _asked(asked)
    return np.array(answer["history"]) - np.array(answer["start"])


def pushed(frame: Frame, node: str, direction: str, forces: np.ndarray, record: list[tuple[str, str]]) -> np.ndarray:
    """Displacements under a force at a node that takes these values one after another, a row for each."""
    commands, tags = told(frame)
    load = [0.0, 0.0, 0.0]
    load[DIRECTION[direction] - 1] = 1.0
    analysis = [
        ["timeSeries", "Path", 1, "-dt", 1.0, "-values", 0.0, *map(float, forces), float(forces[-1])],
        ["pattern", "Plain", 1, 1],
        ["load", tags[node], *load],
        *SOLVED,
        ["integrator", "LoadControl", 1.0],
        ["analysis", "Static"],
    ]
    asked = {
        "model": commands,
        "gravity": _gravity(frame, tags) if frame.loads else None,
        "record": [[tags[node], DIRECTION[direction]] for node, direction in record],
        "analysis": analysis,
        "steps": len(forces),
        "by": [1],
    }
    answer = _asked(asked)
    return np.array(answer["history"]) - np.array(answer["start"])
