"""Structures of many degrees of freedom: a tick in parts against the plain scheme, and how the costs of a check grow.

``python benchmarks/scale.py [DOFS…]`` alone shows these rows only.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from capacity import structure
from report import Row, duration, show

import halfreal
from halfreal.contracts.context import OPEN_LOOP
from halfreal.contracts.system import Method
from halfreal.kernels.block import Block, channels, names
from halfreal.kernels.loop import Loop
from halfreal.models.schemes.in_parts import in_parts
from halfreal.runs.build import SETTLING_TICKS, build
from halfreal.runs.loop_stability import linearised
from halfreal.stability.condensed import Condensed
from halfreal.stability.margins import delay_margin
from halfreal.stability.open_loop import open_loop

EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"
SIZES, SCHEMES = (100, 300, 1000), ("exact", "newmark", "kr-alpha")
CHECKED = {100: None, 300: 2.0, 1000: None, 1500: 10.0}
"""Sizes of checks, and the processor time that the first one may take [s]."""
STEP, TURNS, LONGEST_TURN = 1e-3, 40, 0.02
WHOLE = 100
"""Degrees of freedom up to which the whole model is asked for its margins too."""
SAME = 1e-11
"""Largest difference between the targets of both forms, relative to the largest one."""


def pushed_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.shape[0]):
        y[i] = np.sin((40.0 + 11.0 * i) * t)
    return 0


def loop_of(method: Method) -> Loop:
    """A method alone, pushed by sines."""
    inputs, answer = channels("u", "1", len(method.state["u"])), channels("y", "1", 1)
    block = Block("block", method.step, names(inputs), answer, method.parameters, method.state, method.frozen)
    return Loop([Block("push", pushed_step, (), inputs), block], dt=STEP)


def ticks(scheme: str, dofs: int) -> Row:
    """A tick in parts and a plain one, which take turns."""
    virtual = structure(dofs, scheme)
    system = virtual.system("support")
    parts = in_parts(virtual.scheme, system, STEP)
    assert parts is not None
    loops = {"parts": loop_of(parts), "plain": loop_of(virtual.scheme.plain(system, STEP))}
    answers = [loop.run(200, record=["y"]).log[:, 1] for loop in loops.values()]
    apart = np.abs(answers[0] - answers[1]).max() / np.abs(answers[1]).max()
    assert apart < SAME, f"{scheme}, {dofs}: targets differ by {apart:.1e}"
    best = dict.fromkeys(loops, np.inf)
    for _ in range(TURNS):
        for name, loop in loops.items():
            count = 20 if not np.isfinite(best[name]) else int(np.clip(LONGEST_TURN / best[name], 20, 20_000))
            start = time.perf_counter()
            loop.run(count, event_room=0)
            best[name] = min(best[name], (time.perf_counter() - start) / count)
    against = f"plain {duration(best['plain'])}, {best['plain'] / best['parts']:,.0f} ×; targets equal to {apart:.0e}"
    return Row(f"{dofs} degrees of freedom, {scheme}, in modes", f"{duration(best['parts'])} a tick", against)


def stability_rows(dofs: int) -> list[Row]:
    """Poles and margins, once warm."""
    test = halfreal.load(EXAMPLE).model_copy(update={"virtual": structure(dofs, "exact")})
    linearised(test)
    closed = timed(lambda: linearised(test))
    cut = build(test, OPEN_LOOP)
    cut.run(SETTLING_TICKS)
    loop = open_loop(cut)
    assert isinstance(loop, Condensed)
    margin = timed(lambda: delay_margin(loop))
    against = ""
    if dofs <= WHOLE:
        whole = timed(lambda: delay_margin(loop.dense()))
        against = f"as one model {duration(whole)}, {whole / margin:,.0f} ×"
    return [
        Row(f"build, linearise, all poles, {dofs} degrees of freedom", f"{duration(closed)} of processor time"),
        Row(f"margins of the open loop, {dofs} degrees of freedom", f"{duration(margin)} of processor time", against),
    ]


def check_row(dofs: int) -> Row:
    test = halfreal.load(EXAMPLE).model_copy(update={"virtual": structure(dofs, "exact"), "reference": None})
    # as the command does, which has the definition's text from its file: 7 million numbers are not written
    first, again = (timed(lambda: halfreal.check(test, text="")) for _ in range(2))
    against = f"the first time {duration(first)}; without the emulated reference"
    if (target := CHECKED.get(dofs)) is not None:
        against += f"; target below {target:g} s: {'met' if first < target else 'missed'}"
    return Row(f"check, {dofs} degrees of freedom", f"{duration(again)} of processor time", against)


def timed(call) -> float:  # type: ignore[no-untyped-def]
    """Processor time: of seconds on a shared machine, most may be others'."""
    start = time.process_time()
    call()
    return time.process_time() - start


def rows(sizes: tuple[int, ...] = SIZES, checked: tuple[int, ...] = tuple(CHECKED)) -> list[Row]:
    return [
        *(ticks(scheme, dofs) for dofs in sizes for scheme in SCHEMES),
        *(row for dofs in sizes for row in stability_rows(dofs)),
        *(check_row(dofs) for dofs in checked),
    ]


if __name__ == "__main__":
    given = tuple(map(int, sys.argv[1:]))
    show(rows(given, given) if given else rows(), [])
