"""One run of the multi-axial benchmark problem, 41 s at 1024 Hz, its scorecard, and the tuning of its two actuators.

The NumPy loop is the example's ``plain_loop.py``: Newmark's method, actuators, coupler and RoDeAC with ready matrices,
without guard, energy error and noise.  The test suite compares its signals with those of the loop.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np
from report import Row, duration

from halfreal import tune
from halfreal.benchmark import Motion, scorecard, with_motion
from halfreal.definition.definition import Definition
from halfreal.marths import problem as marths
from halfreal.marths.criteria import RECORDED
from halfreal.marths.published import RODEAC
from halfreal.runs.alike import alike
from halfreal.runs.build import build
from vrths import scored, timed

LENGTH = 41.18
"""Seconds: as long as the problem's record of El Centro."""
LONGEST, WHOLE, TUNED, PLANTS = 0.1, 120.0, 180.0, 20
"""Seconds that a run, the scorecard and a tuning may take, and perturbed plants of each motion and coupling."""
NUMPY_TICKS, TURNS, MOTIONS = 2000, 9, 3
COUPLINGS = (RODEAC, marths.CHOSEN)


def definition(coupling: str) -> Definition:
    motion = Motion(marths.motions()["synthetic"].excitation, LENGTH)
    return marths.put(with_motion(marths.case(), motion), marths.couplings()[coupling])


def plain_loop() -> Any:
    spec = importlib.util.spec_from_file_location("plain_loop", marths.GALLERY / "plain_loop.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> list[Row]:
    tests, plain = {name: definition(name) for name in COUPLINGS}, plain_loop()
    ground = np.sin(0.01 * np.arange(NUMPY_TICKS))
    ticks = tests[RODEAC].timing.ticks

    def seconds_of(test: Definition) -> float:
        return timed(lambda: build(test).run(ticks, record=RECORDED))

    turns = []
    with alike():
        for _ in range(TURNS):
            numpy = timed(lambda: plain.rodeac(tests[RODEAC], ground))
            turns.append([*(seconds_of(test) for test in tests.values()), numpy])
    *best, numpy = np.min(turns, axis=0)
    interpreted = numpy / NUMPY_TICKS * ticks
    return [
        *(
            Row(
                f"multi-axial benchmark problem, {LENGTH:g} s, {ticks:,} ticks: {name}",
                duration(seconds),
                f"target at most {LONGEST:g} s: {met(seconds, LONGEST)}",
            )
            for name, seconds in zip(COUPLINGS, best, strict=True)
        ),
        Row(
            f"{RODEAC} in plain NumPy",
            duration(interpreted),
            f"{interpreted / best[0]:,.0f} × slower, from {NUMPY_TICKS:,} ticks",
        ),
        whole(),
        tuned(),
    ]


def met(seconds: float, longest: float) -> str:
    return "met" if seconds <= longest else "missed"


def whole() -> Row:
    """As many motions as the problem has records, each the shipped one for as long as El Centro, and all couplings."""
    motion = Motion(marths.motions()["synthetic"].excitation, LENGTH)
    moved = {f"motion {i + 1}": motion for i in range(MOTIONS)}
    return scored("multi-axial problem", lambda: scorecard(marths.PROBLEM, moved, plants=PLANTS, workers=2), WHOLE)


def tuned() -> Row:
    """Two actuators and 20 perturbed plants: every root of the actuators is uncertain."""
    test = marths.gallery("adaptive_inverse")
    places = {f"rig.actuators.roots.{name}.actual": {"deviation": part} for name, part in marths.DEVIATIONS.items()}
    test = Definition.model_validate({**test.model_dump(), "uncertainty": places}, context={"stored": True})
    wall = time.perf_counter()
    found = tune(test, samples=PLANTS, workers=2)
    wall = time.perf_counter() - wall
    return Row(
        f"tuning of two actuators with {PLANTS} perturbed plants, {found.rehearsals} rehearsals",
        duration(wall),
        f"target below {TUNED / 60:g} min: {met(wall, TUNED)}",
    )


if __name__ == "__main__":
    from report import show

    show(rows())
