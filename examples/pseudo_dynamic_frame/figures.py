"""Rehearse the tests of this folder and draw their responses and the hysteresis of the specimen.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import study
from matplotlib.figure import Figure

import halfreal
from halfreal.figures import BAD, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled

DASHES = (0, (5, 2.5))


@styled
def frame(tests: dict[str, halfreal.Run]) -> Figure:
    """First floor against the emulated frame, and the first storey's shear, the sum of all actuators, against it."""
    figure = new_figure(10.4, 5.2)
    panels = figure.subplots(len(tests), 2, width_ratios=(2.2, 1), sharex="col", squeeze=False)
    for (time, plane), (title, run) in zip(panels, tests.items(), strict=True):
        target, reference, force = (run.vector(name) for name in ("target", "reference", "measured.force"))
        assert target is not None and reference is not None and force is not None
        time.plot(run.time, 1e3 * target[:, 0], color=TARGET, linewidth=2.0, alpha=0.7, label="test")
        time.plot(run.time, 1e3 * reference[:, 0], color=REFERENCE, linewidth=0.9, linestyle=DASHES, label="emulated")
        time.set(title=title, ylabel="first floor [mm]")
        measured = run.vector("measured.displacement")
        assert measured is not None
        plane.plot(1e3 * measured[:, 0], 1e-3 * force.sum(axis=1), color=MEASURED, linewidth=0.8)
        plane.set(ylabel="shear [kN]")
    panels[0, 0].legend(loc="upper left", ncols=2)
    panels[0, 1].set_title("First storey")
    panels[-1, 0].set_xlabel("time of the test [s]")
    panels[-1, 1].set_xlabel("displacement [mm]")
    return figure


@styled
def slow_and_fast(runs: dict[str, halfreal.Run]) -> Figure:
    """The same test slowly and in real time, on rigs with and without a lag."""
    figure = new_figure(10.4, 3.0)
    axes = figure.subplots()
    looks = ((TARGET, 3.0, "-", 0.4), (REFERENCE, 0.9, DASHES, 1.0), (QUIET, 1.2, ":", 1.0), (BAD, 1.0, "-", 1.0))
    for (label, run), (color, width, dashes, alpha) in zip(runs.items(), looks, strict=True):
        target = run.vector("target")
        assert target is not None
        axes.plot(
            run.time, 1e3 * target[:, 0], color=color, linewidth=width, linestyle=dashes, alpha=alpha, label=label
        )
    axes.set(xlabel="time of the test [s]", ylabel="first floor [mm]")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = {
        "explicit_newmark": "Explicit Newmark",
        "operator_splitting": "Operator splitting",
        "two_storeys": "Two axes",
    }
    tests = {title: halfreal.rehearse(study.definition(name)) for name, title in names.items()}
    cases = {
        "slow": {},
        "real time": {"slow": False},
        "slow, actuator lags by 20 ms": {"actuator": study.LAGGING},
        "real time, actuator lags by 20 ms": {"slow": False, "actuator": study.LAGGING},
    }
    runs = {label: halfreal.rehearse(study.definition("explicit_newmark", **case)) for label, case in cases.items()}
    for label, run in runs.items():
        print(f"{label}: {run.outcome}; apart from the slow test by {100 * study.apart(runs['slow'], run):.3g} %")
    for name, figure in {"frame": frame(tests), "slow_and_fast": slow_and_fast(runs)}.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
