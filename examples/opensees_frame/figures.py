"""The pictures of README.md: ``python figures.py`` runs the tests through ``halfreal site`` and draws into results/."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import halfreal

HERE = Path(__file__).resolve().parent


def environment() -> dict[str, str]:
    """With OpenSees' own libraries where the system has none."""
    found = find_spec("openseespylinux")
    where = list(found.submodule_search_locations or []) if found is not None else []
    return {**os.environ, **({"LD_LIBRARY_PATH": str(Path(where[0]) / "lib")} if where else {})}


def opensees(*arguments: str, output: Path) -> np.ndarray:
    """What frame.py writes: time, displacement and velocity of the floor."""
    script = [sys.executable, str(HERE / "frame.py"), *arguments, "--output", str(output)]
    subprocess.run(script, env=environment(), check=True, capture_output=True)
    return np.loadtxt(output, delimiter=",", skiprows=1)


def at_a_site(name: str, folder: Path) -> tuple[np.ndarray, halfreal.Run]:
    """The frame with its brace at the site of a definition, and the site's record."""
    record = folder / f"{name}.h5"
    words = [sys.executable, "-m", "halfreal", "site", str(HERE / f"{name}.toml")]
    site = subprocess.Popen(
        [*words, "--with-rig", "--start", "--output", str(record)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert site.stdout is not None
    for line in site.stdout:
        if port := re.search(r"listening for a client on \S+:(\d+)", line):
            found = opensees("site", "--port", port[1], output=folder / f"{name}.csv")
            break
    site.communicate()
    return found, halfreal.load_run(record)


def results() -> tuple[np.ndarray, np.ndarray, halfreal.Run, np.ndarray, halfreal.Run]:
    """The whole frame, and through both sites."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return (
            opensees("whole", output=folder / "whole.csv"),
            *at_a_site("slow", folder),
            *at_a_site("real_time", folder),
        )


def values(run: halfreal.Run, name: str) -> np.ndarray:
    return run.signals[name].values


def draw(found: tuple[np.ndarray, np.ndarray, halfreal.Run, np.ndarray, halfreal.Run], images: Path) -> None:
    whole, slow, slow_run, _, real_run = found
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), width_ratios=[1.7, 1.0], layout="constrained")
    left.plot(whole[:, 0], 1e3 * whole[:, 1], color="0.7", lw=3, label="all of it in OpenSees")
    left.plot(slow[:, 0], 1e3 * slow[:, 1], color="C0", lw=1, label="brace at the site")
    left.set(xlabel="time of OpenSees [s]", ylabel="floor [mm]", ylim=(-35.0, 42.0))
    left.legend(frameon=False, loc="upper right", ncols=2)
    test = values(slow_run, "client.trial") > 0
    force = values(slow_run, "measured.force")[test]
    right.plot(1e3 * values(slow_run, "measured.displacement")[test], 1e-3 * force, color="C0", lw=0.8)
    right.set(xlabel="measured displacement [mm]", ylabel="measured force [kN]")
    figure.savefig(images / "slow.png", dpi=110)
    plt.close(figure)

    time, target, trial = real_run.time, values(real_run, "target"), values(real_run, "client.trial")
    reached = np.flatnonzero(np.diff(trial) > 0)  # the tick before the next displacement is taken
    figure, axis = plt.subplots(figsize=(9.5, 3.2), layout="constrained")
    peak = time[np.argmax(np.abs(target))]
    window = (time > peak - 0.12) & (time < peak + 0.12)
    axis.plot(time[window], 1e3 * target[window], ".-", ms=3, lw=0.7, label="target at 1 kHz")
    axis.plot(time[window], 1e3 * values(real_run, "measured.displacement")[window], lw=1, label="measured")
    inside = reached[window[reached]]
    axis.plot(
        time[inside],
        1e3 * target[inside],
        "o",
        mfc="none",
        color="C3",
        label="the next displacement comes from OpenSees",
    )
    axis.set(xlabel="time of the rig [s]", ylabel="displacement [mm]")
    axis.legend(frameon=False)
    figure.savefig(images / "real_time.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    folder = Path("results")
    folder.mkdir(exist_ok=True)
    draw(results(), folder)
