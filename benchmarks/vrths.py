"""One run of the benchmark problem for real-time hybrid simulation, 41 s at 4096 Hz, against a plain NumPy loop.

The NumPy loop is what a script has: the frame's step, the sample controller, the actuator with its specimen, and the
force that comes a sample and a half late, all with ready matrices.  It has no guard, no energy error and no noise; ours
has the first two also when the two are compared, and all of it in the figure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sized

import numpy as np
from report import Row, duration

from halfreal.contracts.context import Purpose
from halfreal.definition.definition import Definition
from halfreal.kernels.loop import Loop
from halfreal.runs.build import build
from halfreal.vrths import problem as vrths

LENGTH = 41.18
"""Seconds: as long as the problem's record of El Centro."""
LONGEST = 0.1
"""Seconds that a run may take."""
WHOLE, PLANTS = 180.0, 20
"""Seconds that the scorecard may take, and perturbed plants of each case and coupling in it."""
NUMPY_TICKS, TURNS = 4000, 15
SAME = 1e-9
"""Largest difference of the targets, relative to the largest."""
COUPLINGS = ("PI + lead", "adaptive model, force")


def definition(coupling: str) -> Definition:
    motion = vrths.Motion(vrths.motions()["synthetic"].excitation, LENGTH)
    found = vrths.with_motion(vrths.case(1), motion)
    return found.model_copy(update={"coupling": vrths.couplings()[coupling]})


def by_numpy(loop: Loop, ticks: int) -> np.ndarray:
    """Targets of the loop with the sample controller and ideal sensors; its numbers are those of the blocks."""

    def matrices(block: str, *keys: str) -> list[np.ndarray]:
        return [np.ascontiguousarray(loop.parameter(block)[key].T) for key in keys]

    ground = loop.parameter("excitation.virtual")
    values, scale, spacing = ground["values"].copy(), float(ground["amplitude"]), float(ground["step"])
    transition, earlier, later, outputs, direct = matrices(
        "virtual", "transition", "earlier", "later", "outputs", "direct"
    )
    a, b = matrices("coupling", "transition", "inputs")
    c, d = (loop.parameter("coupling")[key].copy() for key in ("output", "direct"))
    valve, held, seen = matrices("specimen", "transition", "held", "outputs")
    late = float(loop.parameter("sensors")["late"][1])
    whole, part = int(late), late - int(late)

    frame, controller, rig = np.zeros(len(transition)), np.zeros(len(a)), np.zeros(len(valve))
    before, forces, measured = np.zeros(3), np.zeros(whole + 2), np.zeros(2)
    targets = np.empty(ticks)
    for tick in range(ticks):
        at = tick * loop.dt / spacing
        i = min(int(at), len(values) - 2)
        slope = values[i + 1] - values[i]
        u = np.array([scale * (values[i] + (at - i) * slope), scale * slope / spacing, measured[1]])
        if tick:
            frame = transition @ frame + earlier @ before + later @ u
        before = u
        target = (outputs @ frame + direct @ u)[0]
        both = np.array([target, measured[0]])
        command = c @ controller + d @ both
        controller = a @ controller + b @ both
        rig = valve @ rig + held @ np.array([command, 0.0])
        place, force = seen @ rig
        forces = np.concatenate([[force], forces[:-1]])
        measured = np.array([place, (1.0 - part) * forces[whole] + part * forces[whole + 1]])
        targets[tick] = target
    return targets


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def whole_run(test: Definition) -> float:
    """Seconds of a run from its definition to its record of what the criteria need."""
    return timed(lambda: build(test).run(test.timing.ticks, record=vrths.CHANNELS))


def rows() -> list[Row]:
    tests = {name: definition(name) for name in COUPLINGS}
    ideal = build(tests[COUPLINGS[0]], Purpose(ideal=True))
    ours = ideal.run(NUMPY_TICKS, record=["target"]).log[:, 1]
    theirs = by_numpy(ideal, NUMPY_TICKS)
    difference = float(np.abs(ours - theirs).max() / np.abs(ours).max())
    if not difference <= SAME:
        raise RuntimeError(f"the targets differ by {difference:.2g} of the largest, beyond {SAME:g}")
    turns = [
        [*(whole_run(test) for test in tests.values()), timed(lambda: by_numpy(ideal, NUMPY_TICKS))]
        for _ in range(TURNS)
    ]
    *best, numpy = np.min(turns, axis=0)
    ticks = tests[COUPLINGS[0]].timing.ticks
    interpreted = numpy / NUMPY_TICKS
    return [
        *(
            Row(
                f"benchmark problem, {LENGTH:g} s, {ticks:,} ticks: {name}",
                duration(seconds),
                f"target at most {LONGEST:g} s: {'met' if seconds <= LONGEST else 'missed'}",
            )
            for name, seconds in zip(COUPLINGS, best, strict=True)
        ),
        Row(
            f"{COUPLINGS[0]} in plain NumPy",
            duration(interpreted * ticks),
            f"{interpreted * ticks / best[0]:,.0f} × slower, from {NUMPY_TICKS:,} ticks",
        ),
        scorecard(),
    ]


def scorecard() -> Row:
    """All cases, shipped motions and couplings, with 20 perturbed plants each."""
    return scored("benchmark problem", lambda: vrths.scorecard(plants=PLANTS, workers=2), WHOLE)


def scored(name: str, call: Callable[[], Sized], longest: float) -> Row:
    """How long a scorecard takes."""
    wall, processor = time.perf_counter(), time.process_time()
    scores = call()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return Row(
        f"whole scorecard of the {name}, {len(scores)} runs, 2 at a time",
        duration(wall),
        f"{processor:.0f} s of processor time; target below {longest / 60:g} min: "
        f"{'met' if wall <= longest else 'missed'}",
    )


if __name__ == "__main__":
    from report import show

    show(rows())
