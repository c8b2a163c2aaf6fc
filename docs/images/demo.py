"""Draws docs/images/demo.png: a run of the demo in real time against the simulated rig, and the top of the report of
its rehearsal; and docs/images/report.png: more of that report.

make demo && python docs/images/demo.py       # reads results/demo*; needs chromium
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import halfreal
from halfreal.figures import MEASURED, TARGET, styled

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "results"
WINDOW = (0.0, 3.0)
"""Seconds of the run that are shown."""


def screenshot(report: Path, picture: Path, size: str = "900,900", scale: float = 1.5) -> Path:
    """The top of a report, as a browser shows it."""
    options = ("--headless", "--no-sandbox", "--hide-scrollbars", f"--force-device-scale-factor={scale}")
    command = ["chromium", *options, f"--window-size={size}", f"--screenshot={picture}", report.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    return picture


@styled
def main(results: Path) -> None:
    run = halfreal.load_run(results / "demo.run.h5")
    seen = (run.time >= WINDOW[0]) & (run.time <= WINDOW[1])
    time, target, measured = run.time[seen], 1e3 * run["target"][seen], 1e3 * run["measured.displacement"][seen]
    figure = plt.figure(figsize=(14, 6.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.02))
    motion, error, loop = left.subplots(3, 1, height_ratios=(1.1, 0.8, 1.1))
    motion.plot(time, target, color=TARGET, label="target")
    motion.plot(time, measured, "--", color=MEASURED, label="measured")
    motion.set(ylabel="displacement [mm]", title="Run in real time, simulated rig in another process", xlim=WINDOW)
    motion.legend(loc="upper left", ncols=2)
    error.plot(time, measured - target, color=MEASURED)
    error.set(xlabel="time [s]", ylabel="tracking error [mm]", xlim=WINDOW)
    loop.plot(measured, run["measured.force"][seen], color=MEASURED)
    loop.set(xlabel="measured displacement [mm]", ylabel="measured force [N]")
    axes = right.subplots()
    with tempfile.TemporaryDirectory() as folder:
        halfreal.report(halfreal.load_run(results / "demo.h5"), Path(folder) / "rehearsal.html")
        axes.imshow(plt.imread(screenshot(Path(folder) / "rehearsal.html", Path(folder) / "page.png")))
        screenshot(Path(folder) / "rehearsal.html", HERE / "report.png", "1000,1700", 0.8)
    axes.set_axis_off()
    axes.set_title("Report of its rehearsal: one page that opens offline")
    figure.savefig(HERE / "demo.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
