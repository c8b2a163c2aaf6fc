"""Blocks that different processes have compiled and cached work side by side in a third."""

import os
import subprocess
import sys

SCRIPT = """
import dataclasses, sys
import numpy as np
from halfreal.couplings.forward_prediction import ForwardPrediction, weights
from halfreal.kernels.loop import Loop

sizes = [int(size) for size in sys.argv[1:]]
blocks = []
for n in sizes:
    block = ForwardPrediction(kind="forward prediction", prediction=0.004, order=2, points=n).block(
        0.001, "m", ("loop.fault",), ("loop.fault", "loop.fault")
    )
    output = dataclasses.replace(block.outputs[0], name=f"y{n}")
    state = {"history": np.arange(1.0, n + 1)[:, None], "started": 1.0}
    blocks.append(dataclasses.replace(block, name=f"b{n}", outputs=(output,), state=state))
found = Loop(blocks, dt=0.001).run(1, record=[f"y{n}" for n in sizes]).log[0, 1:]
np.testing.assert_allclose(found, [weights(2, n, 4.0) @ np.arange(0.0, n) for n in sizes], rtol=1e-10)
"""


def test_blocks_cached_by_two_processes_do_not_take_each_others_place(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for sizes in (["5"], ["24"], ["5", "24"], ["24", "5"]):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *sizes], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{sizes}: {done.stderr[-500:]}"
