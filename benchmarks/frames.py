"""Time a step of frames that yield, against OpenSees in a process of its own on the same model and integrator.

Frames of equal storeys and bays whose members have bilinear hinges at both ends, or five sections of twenty fibres of
bilinear steel, shaken until they yield, by Newmark's method with a step of 1 ms.  OpenSees has the hinges as springs of
zero length (``tests/models/frame/opensees.py``), and so an equation for each besides; its time is that of the step
alone, without building the model.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from report import Row

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from halfreal.models.frame.builder import regular_frame
from halfreal.models.frame.frame import Frame
from models.frame import opensees
from models.frame.frames import loop, shaking
from models.materials.opensees import _environment, why_not

STEP, TICKS, SETTLED = 1e-3, 1200, 400
SIZES = ((3, 2), (7, 3), (12, 5))
"""Storeys and bays: some 50, 200 and 500 equations with hinges."""
TOLERANCE = 1e-8
"""Of the iteration, a part of the displacements here and in m in OpenSees."""
FIBRES = ((3, 2), (10, 7))
"""Storeys and bays with fibres: the second has 150 members."""
TIMED = """
import json, sys, time
import openseespy.opensees as ops
asked = json.load(sys.stdin)
for command, *arguments in asked["commands"]:
    getattr(ops, command)(*arguments)
ops.analyze(asked["before"], asked["step"])
start = time.thread_time()
failed = ops.analyze(asked["ticks"], asked["step"])
spent = time.thread_time() - start
print("ANSWER" + json.dumps([failed, spent / asked["ticks"], ops.systemSize(), ops.nodeDisp(asked["node"], 1)]))
"""


def yielding(storeys: int, bays: int) -> Frame:
    """A frame whose members have hinges at both ends."""
    modulus, column, girder = 2e11, 2.5e-4, 3.5e-4
    hinge = {"kind": "elastoplastic hinge", "hardening": 0.02}
    frame = regular_frame(
        storeys,
        bays,
        height=3.5,
        width=6.0,
        column={"modulus": modulus, "area": 1.2e-2, "second_moment": column},
        girder={"modulus": modulus, "area": 9e-3, "second_moment": girder},
        mass=4e4 / (bays + 1),
        inertia=50.0,
        column_hinge={**hinge, "stiffness": 60.0 * modulus * column / 3.5, "yield_moment": 3e5},
        girder_hinge={**hinge, "stiffness": 60.0 * modulus * girder / 6.0, "yield_moment": 2.5e5},
    )
    return frame.build([(f"A{storeys}", "x")], rayleigh={"mass": 0.3}, scheme="newmark")


def of_fibres(storeys: int, bays: int, kind: str) -> Frame:
    """A frame whose members have five sections of twenty fibres of bilinear steel."""
    steel = {"kind": "elastoplastic fibre", "modulus": 2e11, "yield_stress": 2.35e8, "hardening": 0.02}
    shape = {"kind": "wide flange", "material": "steel", "depth": 0.36, "flange_width": 0.3, "flange_thickness": 0.015}
    section = {"kind": "fibres", "parts": [{**shape, "web_thickness": 0.01}]}
    frame = regular_frame(
        storeys,
        bays,
        height=3.5,
        width=6.0,
        column=section,
        girder=section,
        mass=4e4 / (bays + 1),
        inertia=50.0,
        materials={"steel": steel},
        member={"kind": kind, "points": 5},
    )
    scheme = {"kind": "newmark", "tolerance": TOLERANCE}
    return frame.build([(f"A{storeys}", "x")], rayleigh={"mass": 0.3}, scheme=scheme)


def ours(frame: Frame, ground: np.ndarray) -> tuple[float, float, float]:
    """Processor time a step, the 99th percentile of single ones, and the displacement at the end."""
    spent = np.zeros(TICKS - SETTLED)
    ticking = loop(frame, ground, STEP)
    ticking.run(SETTLED)
    for i in range(len(spent)):
        start = time.thread_time()
        ticking.run(1)
        spent[i] = time.thread_time() - start
    driven = loop(frame, ground, STEP)
    driven.run(SETTLED)
    start = time.thread_time()
    driven.run(TICKS - SETTLED)
    mean = (time.thread_time() - start) / len(spent)
    return mean, float(np.percentile(spent, 99)), float(driven.vector[driven.index["target"]])


def theirs(frame: Frame, ground: np.ndarray) -> tuple[float, int, float]:
    """Processor time a step of OpenSees, its equations, and the displacement at the end."""
    commands, tags = opensees.told(frame)
    commands += [
        ["timeSeries", "Path", 1, "-dt", STEP, "-values", *map(float, ground)],
        ["pattern", "UniformExcitation", 1, 1, "-accel", 1],
        *(["test", "NormDispIncr", TOLERANCE, 50] if one[0] == "test" else one for one in opensees.SOLVED),
        ["integrator", "Newmark", 0.5, 0.25],
        ["analysis", "Transient"],
    ]
    node = tags[frame.interface[0].node]
    asked = {"commands": commands, "before": SETTLED, "ticks": TICKS - SETTLED - 1, "step": STEP, "node": node}
    ran = subprocess.run(
        [sys.executable, "-c", TIMED],
        input=json.dumps(asked),
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    line = next(one for one in ran.stdout.splitlines() if one.startswith("ANSWER"))
    failed, spent, equations, moved = json.loads(line.removeprefix("ANSWER"))
    assert failed == 0
    return spent, equations, moved


def rows() -> list[Row]:
    """A row for each size."""
    found = []
    for storeys, bays in SIZES:
        found.append(_row(yielding(storeys, bays), "hinges", 12.0, 30))
    for kind in ("displacement-based beam", "force-based beam"):
        for storeys, bays in FIBRES:
            found.append(_row(of_fibres(storeys, bays, kind), f"fibres, {kind}s", 12.0, 10))
    return found


def _row(frame: Frame, what: str, peak: float, target: int) -> Row:
    ground = shaking(TICKS, STEP, peak)
    spent, slow, moved = ours(frame, ground)
    model = frame.loaded("ground").model
    told = f"frame, {model.dofs} degrees of freedom, {len(model.laws)} {what}, Newmark: a step"
    figure = f"{spent * 1e6:.3g} µs, 99 % below {slow * 1e6:.3g} µs"
    if why_not():
        return Row(told, figure, why_not())
    other, equations, wanted = theirs(frame, ground)
    assert abs(moved - wanted) < 1e-5 * abs(wanted), (moved, wanted)
    against = f"OpenSees, {equations} equations: {other * 1e6:.3g} µs, {other / spent:.0f} × slower"
    return Row(told, figure, f"{against}; target at least {target}")


if __name__ == "__main__":
    for row in rows():
        print(row)
