import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numba import njit

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.compile import kernel
from halfreal.kernels.loop import Loop
from halfreal.kernels.native import CompilationError

PROGRAM = """
import importlib.util, sys
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop

spec = importlib.util.spec_from_file_location("mine", sys.argv[1])
mine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mine)
print(Loop([Block("guard", mine.step, (), (Channel("y", "1"),))], dt=1.0).run(1, record=["y"]).log[0, 1])
"""


def run_block(path, folder) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def test_cached_block_follows_an_edited_constant_of_the_same_size_and_time(tmp_path):
    """Numba's own cache keys on time stamp and size; a limit lowered from 8 to 5 must act, not the stale 8."""
    path = tmp_path / "mine.py"
    source = textwrap.dedent("""
        LIMIT = 8.0
        def step(p, s, t, u, y):
            y[0] = LIMIT
            return 0
    """)
    path.write_text(source)
    stamp = path.stat()
    assert run_block(path, tmp_path) == "8.0"
    path.write_text(source.replace("8.0", "5.0"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert run_block(path, tmp_path) == "5.0"


@kernel
def total(x):
    found = 0.0
    for i in range(x.size):
        found += x[i]
    return found


@njit
def totals(p):
    return total(p.two) + total(p.three)


def test_a_helper_is_compiled_once_for_fields_of_any_shape():
    record = np.zeros(1, dtype=[("two", float, 2), ("three", float, 3)])
    record["two"], record["three"] = [1.0, 2.0], [10.0, 20.0, 30.0]
    assert totals(record[0]) == 63.0
    assert len(total.signatures) == 1


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
