"""Time a step of an FMU in the compiled loop, against FMPy and against our own block for the same oscillator.

The FMU is that of the tests (``tests/fmi/oscillator.c``): two inputs, one output, classical Runge–Kutta method.  In
co-simulation it makes four steps of its own in a tick, in model exchange the loop makes one, as our own block does.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import Row, duration

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from contracts.native import COMPILER, NO_COMPILER
from halfreal.runs.build import build
from halfreal.studies.check.criteria.foreign_code import timed

STEPS, ROUNDS = 2000, 5


def of_block(test: object) -> float:
    """Median time of a tick of the virtual substructure [s]."""
    (block,) = [one for one in build(test).blocks if one.name == "virtual"]  # type: ignore[arg-type]
    return float(min(np.median(timed(block)[0]) for _ in range(ROUNDS)))


def of_fmpy(path: Path) -> float:
    """Of the same from Python: two inputs set, a step, one output read [s]."""
    import fmpy
    from fmpy.fmi2 import FMU2Slave

    description, place = fmpy.read_model_description(str(path)), fmpy.extract(str(path))
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=place,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="timed",
    )
    slave.instantiate()
    slave.setupExperiment()
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    took = np.zeros(STEPS)
    for k in range(STEPS):
        start = time.perf_counter()
        slave.setReal([4, 5], [0.0, 0.0])
        slave.doStep(k * 1e-3, 1e-3)
        slave.getReal([6])
        took[k] = time.perf_counter() - start
    slave.terminate()
    slave.freeInstance()
    shutil.rmtree(place)
    return float(np.median(took))


def rows() -> list[Row]:
    if COMPILER is None:
        print(f"rows of FMUs are left out: {NO_COMPILER}")
        return []
    from fmi.made import oscillator
    from fmi.test_fmu import OURS, changed, driven

    with tempfile.TemporaryDirectory() as name:
        path = oscillator(Path(name), 2)
        inside, exchange = of_block(driven(path)), of_block(driven(path, "model exchange"))
        ours, fmpy = of_block(changed(virtual=OURS)), of_fmpy(path)
    return [
        Row("an oscillator, one tick of our own block (rk4)", duration(ours)),
        Row("the same as an FMU, model exchange", duration(exchange), f"{exchange / ours:.1f} × our own block"),
        Row("the same as an FMU, co-simulation", duration(inside), f"{inside / ours:.1f} × our own block"),
        Row("the same FMU stepped by FMPy", duration(fmpy), f"{fmpy / inside:.0f} × slower than in our loop"),
    ]


if __name__ == "__main__":
    for row in rows():
        print(row)
