"""Frames that yield: the time of a step, against OpenSees in a process of its own on the same model and integrator.

Frames of equal storeys and bays are shaken until they yield, by Newmark's method with a step of 1 ms.  A step's time is
that of the frame's block alone, between two readings of the clock.  Its work is the same whenever the test is repeated,
so that of several runs the shortest time of each step counts: what else the machine does is left out, and what is left
are steps with much work and with little.  OpenSees is timed in the same way, by its processor time.

OpenSees has hinges as springs of zero length (``tests/models/frame/opensees.py``), and so an equation for each besides.
Both have to end at the same displacement.

``python benchmarks/frames.py`` alone shows these rows only, and draws ``frames.svg``; with ``--write`` it also renews
their tables in README.md.  ``hinges`` or ``fibres`` as an argument leaves out the others.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from report import Row, duration, show, write_part

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from halfreal.kernels.block import Block, channels
from halfreal.kernels.clock import now
from halfreal.kernels.loop import Loop
from halfreal.models.frame.builder import regular_frame
from halfreal.models.frame.frame import Frame
from models.frame import opensees
from models.frame.frames import shaking, source
from models.materials.opensees import environment, why_not

STEP, TICKS, SETTLED, PEAK = 1e-3, 1200, 400, 12.0
REPEATS, THEIR_REPEATS = 15, 3
HALF = 0.5 * STEP
SIZES = ((3, 2), (7, 3), (12, 5))
"""Storeys and bays: some 50, 200 and 500 equations with hinges."""
FIBRES = ((3, 2), (10, 7))
"""Storeys and bays with fibres: the second has 150 members."""
POINTS = 5
"""Sections of a member."""
GROWING = (*SIZES, (21, 7), (26, 9), (34, 11))
"""Those of which the growth of cost is told; each is larger than the one before."""
TIMED = """
import json, sys
from time import thread_time_ns as now
import openseespy.opensees as ops
asked = json.load(sys.stdin)
best = [float("inf")] * asked["ticks"]
for _ in range(asked["repeats"]):
    for command, *arguments in asked["commands"]:
        getattr(ops, command)(*arguments)
    for k in range(asked["ticks"]):
        start = now()
        failed = ops.analyze(1, asked["step"])
        best[k] = min(best[k], now() - start)
        if failed:
            raise SystemExit("OpenSees did not converge")
print("ANSWER" + json.dumps([best, ops.systemSize(), ops.nodeDisp(asked["node"], 1)]))
"""


@dataclass(frozen=True)
class Steps:
    """Times of the steps of a frame while it is shaken [s], and where it is at the end."""

    times: np.ndarray
    moved: float

    @property
    def mean(self) -> float:
        return float(self.times.mean())

    def quantile(self, part: float) -> float:
        return float(np.quantile(self.times, part))

    def __str__(self) -> str:
        parts = ", ".join(f"p{100 * part:g} {duration(self.quantile(part))}" for part in (0.5, 0.99))
        return f"mean {duration(self.mean)}, {parts}, max {duration(float(self.times.max()))}"


def clock_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = float(now())
    return 0


def clock(name: str) -> Block:
    return Block(name, clock_step, (), channels(name, "1", 1))


def ours(frame: Frame, repeats: int = REPEATS) -> Steps:
    """The frame between two clocks."""
    ground = shaking(TICKS, STEP, PEAK)
    times, record = np.full(TICKS, np.inf), ("before", "after", "target")
    blocks = [source(ground), clock("before"), frame.block(STEP, "ground", ("feedback",)), clock("after")]
    for _ in range(repeats):
        driven = Loop(blocks, dt=STEP)
        log = driven.run(TICKS, record=record).log
        assert driven.describe(driven.vector[driven.index["loop.fault"]]) == ""
        times = np.minimum(times, 1e-9 * (log[:, 2] - log[:, 1]))
    return Steps(times[SETTLED:], float(log[-1, 3]))


def theirs(frame: Frame) -> tuple[Steps, int]:
    """The same in OpenSees, and its number of equations."""
    commands, tags = opensees.told(frame)
    commands += [
        ["timeSeries", "Path", 1, "-dt", STEP, "-values", *map(float, shaking(TICKS, STEP, PEAK))],
        ["pattern", "UniformExcitation", 1, 1, "-accel", 1],
        *(["test", "NormDispIncr", 1e-8, 50] if one[0] == "test" else one for one in opensees.SOLVED),
        ["integrator", "Newmark", 0.5, 0.25],
        ["analysis", "Transient"],
    ]
    node = tags[frame.interface[0].node]
    asked = {
        "commands": commands,
        "repeats": THEIR_REPEATS,
        "ticks": TICKS - 1,
        "step": STEP,
        "node": node,
    }
    ran = subprocess.run(
        [sys.executable, "-c", TIMED],
        input=json.dumps(asked),
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    line = next(one for one in ran.stdout.splitlines() if one.startswith("ANSWER"))
    best, equations, moved = json.loads(line.removeprefix("ANSWER"))
    return Steps(1e-9 * np.array(best[SETTLED:]), moved), equations


def hinged(storeys: int, bays: int, hinge: str = "elastoplastic hinge", inertia: float = 50.0) -> Frame:
    """A frame whose members have hinges at both ends."""
    modulus, column, girder = 2e11, 2.5e-4, 3.5e-4
    law = {"kind": hinge, "hardening": 0.02}
    frame = regular_frame(
        storeys,
        bays,
        height=3.5,
        width=6.0,
        column={"modulus": modulus, "area": 1.2e-2, "second_moment": column},
        girder={"modulus": modulus, "area": 9e-3, "second_moment": girder},
        mass=4e4 / (bays + 1),
        inertia=inertia,
        column_hinge={**law, "stiffness": 60.0 * modulus * column / 3.5, "yield_moment": 3e5},
        girder_hinge={**law, "stiffness": 60.0 * modulus * girder / 6.0, "yield_moment": 2.5e5},
    )
    return frame.build([(f"A{storeys}", "x")], rayleigh={"mass": 0.3}, scheme="newmark")


def against(frame: Frame, what: str, least: float, at_1_khz: bool = False) -> Row:
    """A frame here and in OpenSees, which has to be so many times slower; whether it fits into half of 1 ms."""
    found, model = ours(frame), frame.loaded("ground").model
    what = f"frame, {model.dofs} degrees of freedom, {what}, Newmark: a step"
    if why_not():
        return Row(what, str(found), why_not())
    other, equations = theirs(frame)
    assert abs(found.moved - other.moved) < 1e-5 * abs(other.moved), (found.moved, other.moved)
    ratio = other.mean / found.mean
    met = "met" if ratio >= least else "missed"
    fits = "met" if found.quantile(0.99) < HALF else "missed"
    return Row(
        what,
        str(found) + f"; p99 below half of 1 ms: {fits}" * at_1_khz,
        f"{ratio:.0f} × faster than OpenSees, {equations} equations: {other}; target at least {least:g}: {met}",
    )


def hinges() -> list[Row]:
    """A row for each size."""
    frames = [hinged(*size) for size in SIZES]
    return [against(frame, f"{len(frame.loaded('ground').model.laws)} bilinear hinges", 30.0) for frame in frames]


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
        member={"kind": kind, "points": POINTS},
    )
    return frame.build([(f"A{storeys}", "x")], rayleigh={"mass": 0.3}, scheme="newmark")


def fibres() -> list[Row]:
    """Frames with fibre sections, of displacement- and of force-based beams."""
    found = []
    for kind in ("displacement-based beam", "force-based beam"):
        for size in FIBRES:
            frame = of_fibres(*size, kind)
            members, section = len(frame.elements), frame.sections["column"].fibres(frame.materials)
            what = f"{members} {kind}s of {POINTS} sections of {len(section.y)} fibres"
            found.append(against(frame, what, 10.0, at_1_khz=size == FIBRES[-1]))
    return found


def growth() -> list[Row]:
    """How the cost grows with the degrees of freedom, and the largest frame whose p99 is below half of 1 ms."""
    found = {}
    for size in GROWING:
        frame = hinged(*size)
        model = frame.loaded("ground").model
        found[model.dofs] = (ours(frame), model.width, len(model.laws))
    dofs = np.array(list(found))
    means = np.array([steps.mean for steps, *_ in found.values()])
    power = np.polyfit(np.log(dofs), np.log(means), 1)[0]
    fitting = [n for n, (steps, *_) in found.items() if steps.quantile(0.99) < HALF]
    rows = [
        Row(f"frame, {n} degrees of freedom, {hinges} bilinear hinges, half-bandwidth {width}: a step", str(steps))
        for n, (steps, width, hinges) in found.items()
    ]
    largest = max(fitting)
    more = "larger ones were not tried" if largest == dofs[-1] else f"{dofs[dofs > largest][0]} do not fit"
    plot(dofs, {name: [of(steps) for steps, *_ in found.values()] for name, of in CURVES.items()})
    return [
        *rows,
        Row("growth of the mean step", f"(degrees of freedom)^{power:.2f}", "storeys and bays grow together"),
        Row(
            "largest frame at 1 kHz, one core, p99 of its step below 0.5 ms",
            f"{largest} degrees of freedom, {found[largest][2]} hinges; {more}",
            f"p99 {duration(found[largest][0].quantile(0.99))}; aim 500: {'met' if largest >= 500 else 'missed'}",
        ),
    ]


PLOT = Path(__file__).with_name("frames.svg")
CURVES: dict[str, Callable[[Steps], float]] = {
    "mean": lambda steps: steps.mean,
    "p99": lambda steps: steps.quantile(0.99),
    "longest step": lambda steps: float(steps.times.max()),
}


def plot(dofs: np.ndarray, curves: dict[str, list[float]]) -> None:
    """Times of a step over the degrees of freedom, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.8), layout="constrained")
    axes = figure.subplots()
    for (name, values), marker in zip(curves.items(), "os^", strict=True):
        axes.loglog(dofs, 1e6 * np.array(values), marker=marker, label=name)
    axes.axhline(1e6 * HALF, color="black", linestyle="--", linewidth=1.0, label="half a step of 1 ms")
    axes.set(xlabel="degrees of freedom", ylabel="time of a step (µs)")
    axes.set_title("Frame with bilinear hinges at all member ends, Newmark", fontsize=10)
    axes.grid(visible=True, which="both", linewidth=0.3)
    axes.legend()
    figure.savefig(PLOT)


def yielding() -> list[Row]:
    """All rows of frames with hinges."""
    return [*hinges(), *growth()]


TABLES: dict[str, Callable[[], list[Row]]] = {"hinges": yielding, "fibres": fibres}
TITLES = {"hinges": "Frames that yield", "fibres": "Frames of fibres"}


if __name__ == "__main__":
    asked = [name for name in TABLES if name in sys.argv[1:]] or list(TABLES)
    for name in asked:
        found = TABLES[name]()
        show(found)
        if "--write" in sys.argv:
            write_part(TITLES[name], found)
