"""The process in which OpenSees computes: it runs the user's model file, then what is requested of it.

    matrices    mass, damping and tangent stiffness at rest, with the numbers of the interface's degrees of freedom
    steps       one step of central differences for every force that comes through shared memory, until its parent ends
    history     steps without the interface's force: the reference of a whole structure

It receives one JSON argument and answers with one JSON line through a pipe of its own, so that what OpenSees and the
model print does no harm.  The memory is: words ASKED, DONE, STATUS (int64), then forces, then results (float64).
"""

from __future__ import annotations

import json
import mmap
import os
import runpy
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 8
ASKED, DONE, STATUS = 0, 1, 2
FAILED, GONE = 1, 2
"""STATUS: a step failed; the process has ended."""
HEAD = 8 * WORDS
TAG = 990001
"""Of the load pattern and time series of the measured forces."""
SPIN = 2e-3
"""Seconds of watching for the next step before it is slept in between."""


class ModelError(Exception):
    """What is wrong with a model, for people."""


def started(model: str) -> Any:
    """OpenSees with the model in it."""
    try:
        import openseespy.opensees as ops
    except Exception as error:
        raise ModelError(f"openseespy cannot be imported: {error}; pip install openseespy") from None
    path = Path(model)
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    ops.wipe()
    if path.suffix == ".tcl":
        from . import tcl

        try:
            tcl.run(ops, path)
        except tcl.TclModelError as error:
            raise ModelError(str(error)) from None
        ops.wipeAnalysis()
        return ops
    try:
        runpy.run_path(model, run_name="__model__")
    except BaseException as error:  # also SystemExit
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == model]
        line = f", line {lines[-1]}" if lines else ""
        if isinstance(error, SyntaxError):
            line = f", line {error.lineno}"
        raise ModelError(f"{path.name}{line} raised {type(error).__name__}: {error}") from None
    ops.wipeAnalysis()
    return ops


def check(ops: Any, model: str, wanted: list[list[int]]) -> None:
    """See that the model has the degrees of freedom that the definition names."""
    nodes, name = ops.getNodeTags() or [], Path(model).name
    nodes = [nodes] if isinstance(nodes, int) else list(nodes)
    if not nodes:
        raise ModelError(f"{name} has no nodes: it must build the model when it is run")
    for node, dof in wanted:
        if node not in nodes:
            raise ModelError(f"{name} has no node {node}; it has {', '.join(map(str, nodes))}")
        count = len(ops.nodeDisp(node))
        if not 1 <= dof <= count:
            raise ModelError(f"node {node} of {name} has {count} degree(s) of freedom; {dof} is not one of them")
    if abs(ops.getTime()) > 0.0:
        raise ModelError(f"{name} ends at time {ops.getTime():g} s; end it with loadConst('-time', 0.0)")


def common(ops: Any, system: str) -> None:
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system(system)
    ops.algorithm("Linear")


def matrices(ops: Any, model: str, wanted: list[list[int]]) -> dict[str, Any]:
    """M, C and K at rest, and the place of each wanted degree of freedom in them."""
    found = {}
    for name, factors in (("mass", (1.0, 0.0, 0.0)), ("damping", (0.0, 1.0, 0.0)), ("stiffness", (0.0, 0.0, 1.0))):
        ops.wipeAnalysis()
        common(ops, "FullGeneral")
        ops.integrator("GimmeMCK", *factors)
        ops.analysis("Transient")
        ops.analyze(1, 0.0)
        values = np.array(ops.printA("-ret"))
        size = round(np.sqrt(values.size))
        if size == 0 or size * size != values.size:
            raise ModelError(f"{Path(model).name} has no free degree of freedom")
        found[name] = values.reshape(size, size).tolist()
    places = []
    for node, dof in wanted:
        place = ops.nodeDOFs(node)[dof - 1]
        if place < 0:
            raise ModelError(
                f"degree of freedom {dof} of node {node} is fixed or constrained to another: it cannot move"
            )
        places.append(place)
    still = [i for i, row in enumerate(found["mass"]) if row[i] <= 0.0]
    if still:
        where = next(
            (f"degree of freedom {dof} of node {node}" for node, dof, place in numbered(ops) if place == still[0]), ""
        )
        raise ModelError(
            f"{Path(model).name}: {where or 'a degree of freedom'} has no mass, and central differences need some on "
            "every one; give it mass (a small rotary inertia), or fix it"
        )
    return {**found, "places": places}


def numbered(ops: Any) -> list[tuple[int, int, int]]:
    """Node, degree of freedom and equation of all that move."""
    tags = ops.getNodeTags()
    tags = [tags] if isinstance(tags, int) else tags
    return [(node, dof, place) for node in tags for dof, place in enumerate(ops.nodeDOFs(node), 1)]


def ready(ops: Any) -> None:
    """Central differences, and a pattern for the measured forces."""
    ops.wipeAnalysis()
    common(ops, "BandGeneral")
    ops.integrator("CentralDifference")
    ops.analysis("Transient")
    ops.timeSeries("Constant", TAG)


def load(ops: Any, interface: list[list[int]], forces: np.ndarray) -> None:
    """Let the specimen's forces act; they resist."""
    ops.remove("loadPattern", TAG)
    ops.pattern("Plain", TAG, TAG)
    for (node, dof), force in zip(interface, forces, strict=True):
        values = [0.0] * len(ops.nodeDisp(node))
        values[dof - 1] = -float(force)
        ops.load(node, *values)


def read(ops: Any, outputs: list[list[Any]]) -> list[float]:
    ask = {"displacement": ops.nodeDisp, "velocity": ops.nodeVel, "acceleration": ops.nodeAccel}
    return [ask[quantity](node, dof) for node, dof, quantity in outputs]


def steps(ops: Any, told: dict[str, Any], answer: Any) -> None:
    """One step for every force that comes, until its sender has exited."""
    interface, outputs, dt = told["interface"], told["outputs"], told["dt"]
    memory = mmap.mmap(told["memory"], 0)
    words = np.frombuffer(memory, dtype=np.int64, count=WORDS)
    numbers = np.frombuffer(memory, dtype=np.float64, offset=HEAD)
    forces, results = numbers[: len(interface)], numbers[len(interface) :]
    ready(ops)
    ops.pattern("Plain", TAG, TAG)
    results[:] = read(ops, outputs)
    answer({"rest": results.tolist()})
    done, parent, since = 0, os.getppid(), time.perf_counter()
    while True:
        if words[ASKED] == done:
            if time.perf_counter() - since > SPIN:
                if os.getppid() != parent:
                    return
                time.sleep(5e-5)
            continue
        load(ops, interface, forces)
        if ops.analyze(1, dt) != 0:
            words[STATUS] = FAILED
            return
        results[:] = read(ops, outputs)
        done += 1
        os.sched_yield()  # a full memory barrier: the results first
        words[DONE] = done
        since = time.perf_counter()


def history(ops: Any, told: dict[str, Any]) -> dict[str, Any]:
    """Displacements of the interface at every so many steps, from rest on."""
    ready(ops)
    rows = [read(ops, told["outputs"])]
    for step in range(1, (told["rows"] - 1) * told["every"] + 1):
        if ops.analyze(1, told["dt"]) != 0:
            raise ModelError(f"{Path(told['model']).name}: OpenSees failed at {ops.getTime():g} s")
        if step % told["every"] == 0:
            rows.append(read(ops, told["outputs"]))
    return {"rows": rows}


def main() -> None:
    told = json.loads(sys.argv[1])
    pipe = os.fdopen(told["answer"], "w")

    def answer(what: dict[str, Any]) -> None:
        pipe.write(json.dumps(what) + "\n")
        pipe.flush()

    try:
        ops = started(told["model"])
        check(ops, told["model"], [[node, dof] for node, dof, *_ in told["outputs"]])
        if told["task"] == "matrices":
            answer(matrices(ops, told["model"], told["interface"]))
        elif told["task"] == "history":
            answer(history(ops, told))
        else:
            steps(ops, told, answer)
    except ModelError as error:
        answer({"error": str(error)})


if __name__ == "__main__":
    main()
