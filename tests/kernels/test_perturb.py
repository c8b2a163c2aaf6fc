"""Runs from perturbed states, together in one compiled call and one by one."""

import numpy as np
import pytest

from halfreal.kernels import prepared
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import GUARD_MODE, Loop
from kernels import blocks

LIMIT = 1.5


def limited_step(p, s, t, u, y):
    """A guard that changes its mode beyond a limit, and has a fault below the opposite one."""
    y[0] = u[0]
    y[1] = 1.0 if u[0] > p.limit else 0.0
    return 5 if u[0] < -p.limit else 0


def limited_loop() -> Loop:
    guard = Block(
        "guard",
        limited_step,
        ("target",),
        (Channel("command", "m"), Channel(GUARD_MODE, "1")),
        {"limit": LIMIT},
        watched=(GUARD_MODE,),
    )
    loop = Loop([blocks.oscillator(), guard], outer=[blocks.lag()], dt=1e-3)
    loop.run(20)
    return loop


def one_by_one(loop: Loop, columns: np.ndarray, by: np.ndarray, rows: np.ndarray, ticks: int) -> np.ndarray:
    """The same with ``run``, from Python."""
    base, found = loop.vector.copy(), np.full((columns.size, rows.size), np.nan)
    fault, mode = loop.index["loop.fault"], loop.index.get(GUARD_MODE, loop.index["loop.fault"])
    for i, (column, change) in enumerate(zip(columns, by, strict=True)):
        loop.vector[:] = base
        loop.vector[column] += change
        loop.run(ticks)
        if loop.vector[fault] == base[fault] and loop.vector[mode] == base[mode]:
            found[i] = loop.vector[rows]
    loop.vector[:] = base
    return found


@pytest.mark.parametrize("ticks", [1, 7])
@pytest.mark.parametrize("at_once", [prepared.AT_ONCE, 10, 1])
def test_runs_in_one_compiled_call_are_those_made_one_by_one(ticks, at_once, monkeypatch):
    monkeypatch.setattr(prepared, "AT_ONCE", at_once)
    loop = limited_loop()
    indices = loop.dynamic_indices()
    columns = np.repeat(indices, 6)
    by = np.tile([1e-8, -1e-8, 0.3, -0.3, 2.0 * LIMIT, -4.0 * LIMIT], indices.size)
    base = loop.vector.copy()
    found = loop.images(columns, by, indices, ticks)
    np.testing.assert_array_equal(loop.vector, base)
    expected = one_by_one(loop, columns, by, indices, ticks)
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(expected).any() and np.isfinite(expected).any()


def test_runs_start_from_where_the_loop_is():
    loop = limited_loop()
    indices, by = loop.dynamic_indices(), np.full(loop.dynamic_indices().size, 1e-6)
    first = loop.images(indices, by, indices, 1)
    loop.run(3)
    again = loop.images(indices, by, indices, 1)
    assert not np.array_equal(first, again)
    np.testing.assert_array_equal(again, one_by_one(loop, indices, by, indices, 1))
