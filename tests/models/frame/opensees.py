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
    history.append([ops.nodeDisp(*one) for one in asked["record"]] + [ops.getTime()] * asked.get("factor", 0))
answer["start"], answer["history"] = start, history
print("ANSWER" + json.dumps(answer))
"""
DIRECTION = {"x": 1, "y": 2, "rz": 3}


def told(frame: Frame) -> tuple[list[list[Any]], dict[str, int]]:
    """Commands that build a plane frame, and the tags of its nodes."""
    commands: list[list[Any]] = [["wipe"], ["model", "basic", "-ndm", 2, "-ndf", 3]]
    tags = {name: i for i, name in enumerate(frame.nodes, start=1)}
    for name, node in frame.nodes.items():
        commands.append(["node", tags[name], *map(float, node.at)])
        if node.fixed:
            commands.append(["fix", tags[name], *(int(one in node.fixed) for one in DIRECTION)])
        commands.append(["mass", tags[name], node.mass, node.mass, node.inertia])
    commands += [["geomTransf", "Linear", 1], ["geomTransf", "PDelta", 2]]
    materials = {name: i for i, name in enumerate(frame.materials, start=1)}
    for name, law in frame.materials.items():
        commands.append(_material(law, materials[name]))
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
            sort = 2 if one.geometry == "p-delta" else 1
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
            commands.append(["uniaxialMaterial", "Elastic", 5000 + element, section.modulus])
            commands.append(["element", "Truss", element, *ends, section.area, 5000 + element])
    if frame.rayleigh is not None:
        commands.append(["rayleigh", frame.rayleigh.mass, 0.0, frame.rayleigh.stiffness, 0.0])
    return commands, tags


def _material(law: Any, tag: int) -> list[Any]:
    if law.kind == "elastoplastic hinge":
        return ["uniaxialMaterial", "Steel01", tag, law.yield_moment, law.stiffness, law.hardening]
    assert law.kind == "menegotto-pinto hinge"
    return [
        "uniaxialMaterial",
        "Steel02",
        tag,
        law.yield_moment,
        law.stiffness,
        law.hardening,
        law.r0,
        law.cr1,
        law.cr2,
    ]


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


def pushed(frame: Frame, shares: dict[str, float], node: str, by: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Displacements of a node in x, counted from those under gravity, and load factors, by displacement control."""
    commands, tags = told(frame)
    analysis = [
        ["timeSeries", "Linear", 1],
        ["pattern", "Plain", 1, 1],
        *(["load", tags[name], float(share), 0.0, 0.0] for name, share in shares.items()),
        *SOLVED,
        ["integrator", "DisplacementControl", tags[node], 1, by / steps],
        ["analysis", "Static"],
    ]
    asked = {
        "model": commands,
        "gravity": _gravity(frame, tags) if frame.loads else None,
        "record": [[tags[node], 1]],
        "analysis": analysis,
        "steps": steps,
        "by": [1],
        "factor": 1,
    }
    answer = _asked(asked)
    history = np.array(answer["history"])
    return history[:, 0] - answer["start"][0], history[:, 1]
