"""The FMU beside halfreal's own model, and the C compensator beside none and halfreal's own."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from build import build

import halfreal

HERE = Path(__file__).parent
WITHOUT = {"coupling": {"kind": "none"}}


@cache
def folder() -> Path:
    """The definitions, with what they name built beside them."""
    place = Path(tempfile.mkdtemp(prefix="halfreal-other-models-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for path in (HERE / "definitions").glob("*.toml"):
        shutil.copy(path, place)
    build(place)
    return place


@cache
def test_of(name: str) -> halfreal.Definition:
    return halfreal.load(folder() / f"{name}.toml")


@cache
def tests() -> dict[str, halfreal.Definition]:
    """By what virtual substructure and compensator are."""
    fmu, own = test_of("fmu"), test_of("own")
    return {
        "FMU, C library": fmu,
        "FMU, halfreal's own": fmu.with_values({"coupling": {"kind": "forward prediction", "prediction": "9 ms"}}),
        "halfreal's own, halfreal's own": own,
        "FMU, none": fmu.with_values(WITHOUT),
    }


@cache
def target(name: str) -> np.ndarray:
    return np.asarray(halfreal.rehearse(tests()[name]).signals["target"].values)


def difference() -> float:
    """Between the FMU and halfreal's own model in the same loop, as a share of the peak."""
    ours = target("halfreal's own, halfreal's own")
    return float(np.abs(target("FMU, halfreal's own") - ours).max() / np.abs(ours).max())


def draw(images: Path) -> None:
    """The damper's force over the displacement, through the loop with the C compensator."""
    run = halfreal.rehearse(test_of("fmu"))
    v, x = run.signals["virtual.speed"].values, run.signals["target"].values
    force = 3.0 * np.sign(v) * (np.maximum(np.abs(v), 1e-12) / 0.1) ** 0.4
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    shown = run.time > 5.0
    left.plot(run.time[shown], 1e3 * x[shown], label="target")
    left.plot(run.time[shown], 1e3 * run.signals["measured.displacement"].values[shown], "--", label="measured")
    left.set(xlabel="time [s]", ylabel="displacement [mm]")
    left.legend()
    right.plot(1e3 * x[shown], force[shown])
    right.set(xlabel="displacement [mm]", ylabel="force of the FMU's damper [N]")
    figure.savefig(images / "loop.png", dpi=110)
    plt.close(figure)
