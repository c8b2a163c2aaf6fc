"""A one-bay frame in OpenSees with a yielding brace: all of it in OpenSees, or with the brace in a laboratory.

    python frame.py whole                 # the brace is an element like others; writes whole.csv
    python frame.py site [--udp]          # the brace is at a site, port 8090; writes site.csv

It needs openseespy (pip install openseespy).  Units are N, m, s.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import openseespy.opensees as ops

STEP = 0.01
BRACE = {"stiffness": 8e6, "yield_force": 60e3, "hardening": 0.1}
FLOOR, ELEMENT = 3, 10
"""The node and the element that are looked at."""


def ground(steps: int) -> list[float]:
    """A ground motion made of sines [m/s²]."""
    motion = []
    for k in range(steps + 1):
        t = k * STEP
        envelope = min(t / 2.0, 1.0, max(0.0, (9.0 - t) / 3.0))
        motion.append(
            envelope * sum(a * math.sin(6.283 * f * t + 2.0 * f) for a, f in ((1.2, 0.9), (1.5, 1.7), (1.0, 3.1)))
        )
    return motion


def frame(steps: int) -> None:
    """Columns of 3.5 m and a girder of 6 m, 20 t on each upper node."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    for tag, x, y in ((1, 0.0, 0.0), (2, 6.0, 0.0), (3, 0.0, 3.5), (4, 6.0, 3.5)):
        ops.node(tag, x, y)
    for tag in (1, 2):
        ops.fix(tag, 1, 1, 1)
    for tag in (3, 4):
        ops.mass(tag, 20e3, 20e3, 2e3)
    ops.geomTransf("Linear", 1)
    for tag, i, j, area, inertia in ((1, 1, 3, 0.012, 8e-5), (2, 2, 4, 0.012, 8e-5), (3, 3, 4, 0.010, 1.5e-4)):
        ops.element("elasticBeamColumn", tag, i, j, area, 200e9, inertia, 1)
    ops.rayleigh(0.3, 0.0, 0.0, 0.0)
    ops.timeSeries("Path", 1, "-dt", STEP, "-values", *ground(steps))
    ops.pattern("UniformExcitation", 1, 1, "-accel", 1)


def brace() -> None:
    """The brace as an element of OpenSees, between the floor and the ground."""
    k, hardening = BRACE["stiffness"], BRACE["hardening"]
    ops.node(5, 0.0, 3.5)
    ops.fix(5, 1, 1, 1)
    ops.uniaxialMaterial("Hardening", 1, k, BRACE["yield_force"], 0.0, k * hardening / (1.0 - hardening))
    ops.element("zeroLength", ELEMENT, 5, FLOOR, "-mat", 1, "-dir", 1)


def brace_at_site(port: int, udp: bool) -> None:
    """The brace in the laboratory: halfreal site is at the port."""
    options = ["-udp"] if udp else []
    ops.element("genericClient", ELEMENT, "-node", FLOOR, "-dof", 1, "-server", port, "127.0.0.1", *options)


def analyse(steps: int) -> list[tuple[float, float, float]]:
    """Operator splitting: one displacement a step, no iterations.  Time, displacement and velocity of the floor."""
    ops.constraints("Plain")
    ops.numberer("Plain")
    ops.system("BandGeneral")
    ops.test("NormDispIncr", 1e-12, 1)
    ops.algorithm("Linear", "-initial")  # a laboratory tells its initial stiffness only
    ops.integrator("AlphaOS", 1.0)
    ops.analysis("Transient")
    rows = []
    for _ in range(steps):
        if ops.analyze(1, STEP) != 0:
            raise SystemExit(f"the analysis failed at {ops.getTime():g} s")
        rows.append((ops.getTime(), ops.nodeDisp(FLOOR, 1), ops.nodeVel(FLOOR, 1)))
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("where", choices=["whole", "site"])
    options.add_argument("--port", type=int, default=8090)
    options.add_argument("--udp", action="store_true")
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--output", type=Path)
    given = options.parse_args()
    steps = round(given.seconds / STEP)
    frame(steps)
    if given.where == "whole":
        brace()
    else:
        brace_at_site(given.port, given.udp)
    rows = analyse(steps)
    ops.wipe()  # tells the site that the test is over
    output = given.output or Path(f"{given.where}.csv")
    with output.open("w", newline="") as file:
        csv.writer(file).writerows([("time [s]", "displacement [m]", "velocity [m/s]"), *rows])


if __name__ == "__main__":
    main()
