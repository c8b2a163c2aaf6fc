"""How the cost of a tick grows with degrees of freedom, axes, elements and recorded channels: rows and ``growth.svg``.

``python benchmarks/growth.py`` alone shows these rows only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from capacity import structure
from report import Row, duration
from scale import loop_of

import halfreal
from halfreal.definition.definition import Definition
from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import FAULT
from halfreal.models.schemes.in_parts import FEW
from halfreal.models.structures.structure import Structure

EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"
PLOT = Path(__file__).with_name("growth.svg")
STEP, TURNS, TURN, MOST = 1e-3, 40, 0.01, 20_000
"""Step of the loops [s]; turns of each, the shortest counts, and their length [s], or so many ticks."""
DOFS, DENSE = (10, 30, 100, 300, 1000), (10, 30, 100, 300)
AXES, ELEMENTS = (1, 2, 3, 6, 12), (5, 10, 20, 50, 100, 200, 500)
CHANNELS = (1, 3, 6, 12, 24)


Timed = tuple[Loop, list[str]]
"""A loop, and the channels that it records."""


def turn(timed: Timed, count: int) -> float:
    """Time of a tick in a turn of so many [s]."""
    loop, record = timed
    loop.reset()
    start = time.perf_counter()
    loop.run(count, record=record, event_room=0)
    took = (time.perf_counter() - start) / count
    if loop.vector[FAULT] != 0.0 or loop.vector[loop.index.get("guard.mode", FAULT)] != 0.0:
        raise RuntimeError(f"the loop tripped and rests; {loop.describe(float(loop.vector[FAULT]))}")
    return took


def ticks(loops: list[Timed]) -> list[float]:
    """Time of a tick of each [s]; they take turns."""
    rough = [min(turn(one, 200) for _ in range(3)) for one in loops]  # the first turn loads code
    most = [loop.end or MOST for loop, _ in loops]  # after the end of a test its blocks rest
    counts = [int(np.clip(TURN / each, 20, end)) for each, end in zip(rough, most, strict=True)]
    found = [[turn(one, count) for one, count in zip(loops, counts, strict=True)] for _ in range(TURNS)]
    return [float(one) for one in np.min(found, axis=0)]


def chosen(dofs: int) -> Timed:
    """As the program integrates it: in modes, if there are more than a few."""
    virtual = structure(dofs, "exact")
    return loop_of(virtual.scheme.method(virtual.system("support"), STEP)), []


def dense(dofs: int) -> Timed:
    virtual = structure(dofs, "exact")
    return loop_of(virtual.scheme.plain(virtual.system("support"), STEP)), []


def chain(count: int, scheme: str) -> Timed:
    """As many masses in a row, a yielding spring before each.

    The springs are stiff: what reaches the last mass within a step would else be a subnormal number, which is slow.
    """
    law = {"kind": "elastoplastic", "stiffness": 1e6, "yield_force": 500.0}
    between = [[1], *([i, i + 1] for i in range(1, count))]
    virtual = Structure.model_validate(
        {
            "mass": 10.0 * np.eye(count),
            "stiffness": 10.0 * np.eye(count),
            "damping": 20.0 * np.eye(count),
            "elements": [{"law": law, "between": pair} for pair in between],
            "support": {"stiffness": np.eye(count)[0] * 2250.0},
            "scheme": scheme,
        }
    )
    return loop_of(virtual.scheme.method(virtual.system("support"), STEP)), []


def of_axes(axes: int) -> Definition:
    """The example with as many axes, each as the first."""
    test = halfreal.load(EXAMPLE)
    one = np.eye(axes)
    virtual = Structure.model_validate(
        {
            "mass": 2.2 * one,
            "damping": 30.0 * one,
            "stiffness": 4500.0 * one,
            "interface": tuple(range(1, axes + 1)),
            "support": {"stiffness": np.full(axes, 2250.0), "damping": np.full(axes, 15.0)},
            "scheme": "exact",
        }
    )
    rig = test.rig.model_copy(
        update={"specimen": test.rig.specimen.model_copy(update={"stiffness": 2250.0 * np.eye(axes)})}
    )
    return test.model_copy(update={"virtual": virtual, "rig": rig, "reference": None})


def whole(axes: int) -> Timed:
    """A tick of the whole loop with its record, fused."""
    loop = halfreal.build(of_axes(axes))
    loop.fuse()
    return loop, [channel.name for channel in loop.channels]


def recorded(channels: int) -> Timed:
    loop = halfreal.build(halfreal.load(EXAMPLE))
    loop.fuse()
    return loop, [channel.name for channel in loop.channels][:channels]


Curves = dict[str, tuple[tuple[int, ...], Callable[[int], Timed]]]
PANELS: dict[str, Curves] = {
    "degrees of freedom": {
        f"exact, as chosen: in modes from {FEW} on": (DOFS, chosen),
        "exact, full matrices": (DENSE, dense),
    },
    "axes": {"whole loop": (AXES, whole)},
    "elements": {
        "elastoplastic, Newmark": (ELEMENTS, lambda count: chain(count, "newmark")),
        "elastoplastic, KR-α": (ELEMENTS, lambda count: chain(count, "kr-alpha")),
    },
    "recorded channels": {"whole loop": (CHANNELS, recorded)},
}


def rows() -> list[Row]:
    loops = [made(size) for curves in PANELS.values() for sizes, made in curves.values() for size in sizes]
    measured = iter(ticks(loops))
    found = {
        over: {name: (sizes, [next(measured) for _ in sizes]) for name, (sizes, _) in curves.items()}
        for over, curves in PANELS.items()
    }
    plot(found)
    rows = []
    for over, curves in found.items():
        for name, (sizes, times) in curves.items():
            power = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
            listed = ", ".join(f"{size}: {duration(each)}" for size, each in zip(sizes, times, strict=True))
            rows.append(Row(f"tick over {over}: {name}", listed, f"({over})^{power:.2f} between the last two"))
    return rows


def plot(found: dict[str, dict[str, tuple[tuple[int, ...], list[float]]]]) -> None:
    """A panel for each, both axes logarithmic."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    for panel, (over, curves) in zip(figure.subplots(2, 2).ravel(), found.items(), strict=True):
        for (name, (sizes, times)), marker in zip(curves.items(), "os", strict=False):
            panel.loglog(sizes, times, marker=marker, label=name)
        marked = sorted({size for sizes, _ in curves.values() for size in sizes})
        panel.set_xticks(marked, map(str, marked))
        panel.minorticks_off()
        every = [one for _, times in curves.values() for one in times]
        panel.set_ylim(10.0 ** np.floor(np.log10(min(every))), 10.0 ** np.ceil(np.log10(3.0 * max(every))))
        panel.yaxis.set_major_formatter(EngFormatter("s"))
        panel.set(xlabel=over, ylabel="time of a tick")
        panel.grid(visible=True, linewidth=0.3)
        panel.legend(fontsize=8, loc="upper left")
    figure.savefig(PLOT)


if __name__ == "__main__":
    from report import show

    show(rows())
