import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.kernels.native import CompilationError

PROGRAM = """
from halfreal import mine
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop

print(Loop([Block("guard", mine.step, (), (Channel("y", "1"),))], dt=1.0).run(1, record=["y"]).log[0, 1])
"""
OURS = """
LIMIT = 8.0
def step(p, s, t, u, y):
    y[0] = LIMIT
    return 0
"""


def test_cached_block_of_ours_follows_an_edited_constant_of_the_same_size_and_time(tmp_path):
    """Numba's own cache keys on time stamp and size; a limit lowered from 8 to 5 must act, not the stale 8."""
    package = tmp_path / "halfreal"
    shutil.copytree(Path(halfreal.__file__).parent, package, ignore=shutil.ignore_patterns("examples", "__pycache__"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    for limit in ("8.0", "5.0"):
        (package / "mine.py").write_text(OURS.replace("8.0", limit))
        os.utime(package / "mine.py", (1.0e9, 1.0e9))
        program = [sys.executable, "-c", PROGRAM]
        answer = subprocess.run(
            program, env={**environment, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
        )
        assert answer.stdout.strip() == limit, answer.stderr
    assert list((tmp_path / "cache").rglob("*step*"))


def sizes_step(p, s, t, u, y):
    """Fields of all ranks, by attribute and by name; scalars of the state are set."""
    s.count += 1
    s["last"] = p["gain"] * u[u.size - 1]
    y[0] = s.last + p.cube[1, 0, 1] + s.history.shape[0] + p.square[0].sum() + s.count
    return 0


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_user_block_reads_fields_of_any_size(size):
    parameters = {"gain": 2.0, "square": np.full((size, 3), 0.5), "cube": np.arange(8.0 * size).reshape(2, 2, 2 * size)}
    state = {"history": np.zeros(size), "last": 0.0, "count": 0.0}
    block = Block("guard", sizes_step, ("loop.request",) * size, (Channel("y", "1"),), parameters, state)
    log = Loop([block], dt=1.0).run(2, record=["y"]).log
    np.testing.assert_array_equal(log[:, 1], parameters["cube"][1, 0, 1] + size + 1.5 + np.array([1.0, 2.0]))


def unknown_field_step(p, s, t, u, y):
    y[0] = p.missing
    return 0


def text_step(p, s, t, u, y):
    y[0] = "text"
    return 0


@pytest.mark.parametrize(("step", "reason"), [(unknown_field_step, "'missing'"), (text_step, "setitem")])
def test_function_that_cannot_be_compiled_is_named_with_its_line_and_the_reason(step, reason):
    block = Block("guard", step, (), (Channel("y", "1"),), {"there": 1.0})
    with pytest.raises(CompilationError, match=rf"'{step.__name__}' \(test_compile\.py, line \d+\).*{reason}"):
        Loop([block], dt=1.0)
