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
from models.materials.opensees import environment, why_not

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
DIRECTIONS = {2: {"x": 1, "y": 2, "rz": 3}, 3: {"x": 1, "y": 2, "z": 3, "rx": 4, "ry": 5, "rz": 6}}
GEOMETRY = {"linear": 1, "p-delta": 2, "corotational": 3}
FIBRES = {
    "displacement-based beam": "dispBeamColumn",
    "force-based beam": "forceBeamColumn",
    "displacement-based space beam": "dispBeamColumn",
    "force-based space beam": "forceBeamColumn",
}


def told(frame: Frame) -> tuple[list[list[Any]], dict[str, int]]:
    """Commands that build a frame, and the tags of its nodes."""
    plane, directions = frame.dimensions == 2, DIRECTIONS[frame.dimensions]
    commands: list[list[Any]] = [["wipe"], ["model", "basic", "-ndm", frame.dimensions, "-ndf", len(directions)]]
    tags = {name: i for i, name in enumerate(frame.nodes, start=1)}
    for name, node in frame.nodes.items():
        commands.append(["node", tags[name], *map(float, node.at)])
        if node.fixed:
            commands.append(["fix", tags[name], *(int(one in node.fixed) for one in directions)])
        own = (node.inertia if one.startswith("r") else node.mass for one in directions)
        commands.append(["mass", tags[name], *own])
    if plane:
        commands += [["geomTransf", name, tag] for name, tag in (("Linear", 1), ("PDelta", 2), ("Corotational", 3))]
    commands += [one for constraint in frame.constraints for one in _constraint(constraint, tags, directions)]
    materials = {name: i for i, name in enumerate(frame.materials, start=1)}
    for name, law in frame.materials.items():
        commands.append(_material(law, materials[name]))
    sections = {name: i for i, name in enumerate(frame.sections, start=1)}
    for name, section in frame.sections.items():
        if section.elastic is None:
            commands += _section(section, frame, sections[name], materials)
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
        elif one.kind == "space beam":
            node, element = node + 2, element + 5
            commands += space_beam(frame, one, ends, node, element, materials)
        elif one.kind == "truss":
            element, sort = element + 1, "corotTruss" if one.geometry == "corotational" else "Truss"
            if one.material is None:
                section = frame.sections[one.section]
                commands.append(["uniaxialMaterial", "Elastic", 5000 + element, section.modulus])
                commands.append(["element", sort, element, *ends, section.area, 5000 + element,
                                 "-rho", section.mass_per_length, "-doRayleigh", 1])  # fmt: skip
            elif one.section is not None:  # its law is one of stresses over strains
                area = frame.sections[one.section].area
                commands.append(["element", sort, element, *ends, area, materials[one.material], "-doRayleigh", 1])
            else:  # its law is one of forces over elongations
                length = float(np.linalg.norm(frame.nodes[one.nodes[1]].at - frame.nodes[one.nodes[0]].at))
                law = _material(frame.materials[one.material], 5000 + element)
                law[4] = law[4] * length
                commands.append(law)
                commands.append(["element", sort, element, *ends, 1.0, 5000 + element, "-doRayleigh", 1])
        elif one.kind == "spring":
            node, element = node + 1, element + 1
            commands.append(["node", node, *map(float, frame.nodes[one.nodes[0]].at)])
            commands.append(["fix", node, *(1 for _ in directions)])
            to = directions[one.direction]
            commands.append(
                ["element", "zeroLength", element, node, *ends, "-mat", materials[one.material], "-dir", to]
            )
        elif one.kind in FIBRES:
            element += 1
            rule = [one.rule.capitalize(), element, sections[one.section], one.points]
            commands.append(["beamIntegration", *rule])
            inner = ["-iter", 50, 1e-16] if one.kind.startswith("force-based") else []
            sort = GEOMETRY[one.geometry]
            if not plane:
                sort, given = element, _local(frame, one)[0]
                named = "PDelta" if one.geometry == "p-delta" else "Linear"
                commands.append(["geomTransf", named, sort, *map(float, given)])
            commands.append(["element", FIBRES[one.kind], element, *ends, sort, element, *inner])
    if frame.rayleigh is not None:
        at = ("tangent", "initial", "committed").index(frame.rayleigh.on)
        factors = [frame.rayleigh.stiffness * float(i == at) for i in range(3)]
        commands.append(["rayleigh", frame.rayleigh.mass, *factors])
    if frame.modal_damping is not None:
        numbers = frame.modal_damping.numbers(0)
        ratios = np.zeros(numbers.max() + 1)
        ratios[numbers] = frame.modal_damping.ratio
        commands += [["eigen", len(ratios)], ["modalDamping", *map(float, ratios)]]
    return commands, tags


def _constraint(constraint: Any, tags: dict[str, int], directions: dict[str, int]) -> list[list[Any]]:
    master, slaves = tags[constraint.master], [tags[name] for name in constraint.slaves]
    if constraint.kind == "rigid diaphragm":
        assert len(directions) == 6
        return [["rigidDiaphragm", 3, master, *slaves]]
    if constraint.kind == "rigid link":
        return [["rigidLink", "beam", master, slave] for slave in slaves]
    return [["equalDOF", master, slave, *(directions[one] for one in constraint.directions)] for slave in slaves]


def space_beam(
    frame: Frame, beam: Any, ends: list[int], node: int, element: int, materials: dict[str, int]
) -> list[list[Any]]:
    """A beam whose local axes are along the global ones where it has hinges: nodes up to ``node``, elements up to
    ``element`` may be used."""
    given, x, y = _local(frame, beam)
    commands: list[list[Any]] = []
    for end in range(2):
        hinges = {5: beam.hinges_y[end], 6: beam.hinges_z[end]}
        if set(hinges.values()) == {"rigid"}:
            continue
        joint, own = ends[end], node - end
        global_axis = {4: x, 5: y, 6: np.cross(x, y)}
        stays = [4, *(axis for axis, hinge in hinges.items() if hinge == "rigid")]
        turning = [4 + int(np.argmax(np.abs(global_axis[axis]))) for axis in stays]
        commands.append(["node", own, *map(float, frame.nodes[beam.nodes[end]].at)])
        commands.append(["equalDOF", joint, own, 1, 2, 3, *turning])
        sprung = {axis: materials[hinge] for axis, hinge in hinges.items() if hinge not in ("rigid", "pinned")}
        if sprung:
            orient = ["-orient", *map(float, x), *map(float, y)]
            laws = ["-mat", *sprung.values(), "-dir", *sprung]
            commands.append(["element", "zeroLength", element - 1 - end, joint, own, *laws, *orient])
        ends[end] = own
    section = frame.sections[beam.section]
    shear = section.shear_modulus or section.modulus / (2.0 * (1.0 + section.poisson))
    sort = {"p-delta": "PDelta", "corotational": "Corotational"}.get(beam.geometry, "Linear")
    commands.append(["geomTransf", sort, element, *map(float, given)])
    numbers = [section.area, section.modulus, shear, section.torsion_constant]
    numbers += [section.second_moment_y, section.second_moment_z]
    mass = ["-mass", section.mass_per_length, *(["-cMass"] if frame.element_mass == "consistent" else [])]
    commands.append(["element", "elasticBeamColumn", element, *ends, *numbers, element, *mass])
    return commands


def _local(frame: Frame, beam: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The vector that orients a beam in space, and its local x and y."""
    a, b = (frame.nodes[name].at for name in beam.nodes)
    x = (b - a) / np.linalg.norm(b - a)
    given = beam.orientation
    if given is None:
        given = np.array([1.0, 0.0, 0.0] if abs(x[2]) > 1.0 - 1e-9 else [0.0, 0.0, 1.0])
    y = np.cross(given, x)
    return given, x, y / np.linalg.norm(y)


def _section(section: Any, frame: Frame, tag: int, materials: dict[str, int]) -> list[list[Any]]:
    """Its y counts from the centre of the area, so that only sections whose axis is there are alike.  In space ours is
    its z, and our z its -y."""
    fibres = section.fibres(frame.materials)
    assert abs(fibres.area @ fibres.y) < 1e-12
    at, twist = np.column_stack([fibres.y, np.zeros(len(fibres.y))]), []
    if frame.dimensions == 3:
        assert abs(fibres.area @ fibres.z) < 1e-12
        at, twist = np.column_stack([-fibres.z, fibres.y]), ["-GJ", section.rigidity]
    each = zip(at.tolist(), fibres.area.tolist(), fibres.materials, strict=True)
    return [["section", "Fiber", tag, *twist], *(["fiber", *one, area, materials[name]] for one, area, name in each)]


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
        directions = DIRECTIONS[frame.dimensions]
        values = [0.0] * len(directions)
        values[directions[load.direction] - 1] = load.force if load.force is not None else load.moment
        commands.append(["load", tags[load.node], *values])
    return [*commands, *SOLVED, ["integrator", "LoadControl", 1.0], ["analysis", "Static"]]


def _asked(question: dict[str, Any]) -> dict[str, Any]:
    if why_not():
        pytest.skip(why_not())
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(question),
        env=environment(),
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
        ["timeSeries", "Path", 1, "-dt", dt, "-values", *map(float, ground), 0.0],  # one more: its time rounds
        ["pattern", "UniformExcitation", 1, DIRECTIONS[frame.dimensions][frame.ground], "-accel", 1],
        *SOLVED,
        ["integrator", *integrator],
        ["analysis", "Transient"],
    ]
    asked = {
        "model": commands,
        "gravity": _gravity(frame, tags) if frame.loads else None,
        "record": [[tags[node], DIRECTIONS[frame.dimensions][direction]] for node, direction in record],
        "analysis": analysis,
        "steps": len(ground) - 1,
        "by": [1, dt],
    }
    answer = _asked(asked)
    return np.array(answer["history"]) - np.array(answer["start"])


def pushed(frame: Frame, node: str, direction: str, forces: np.ndarray, record: list[tuple[str, str]]) -> np.ndarray:
    """Displacements under a force at a node that takes these values one after another, a row for each."""
    commands, tags = told(frame)
    load = [0.0] * len(DIRECTIONS[frame.dimensions])
    load[DIRECTIONS[frame.dimensions][direction] - 1] = 1.0
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
        "record": [[tags[node], DIRECTIONS[frame.dimensions][direction]] for node, direction in record],
        "analysis": analysis,
        "steps": len(forces),
        "by": [1],
    }
    answer = _asked(asked)
    return np.array(answer["history"]) - np.array(answer["start"])


def pushed_over(
    frame: Frame, shares: dict[str, float], node: str, by: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
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
