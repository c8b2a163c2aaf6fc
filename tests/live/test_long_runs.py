"""A run of many ticks takes no more memory than a short one, at either end; ``soak/long_run.py`` has hours of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import halfreal
from live.long_runs import drift, growth, watched
from live.processes import IN_STEP, Rig, assert_every_tick, controller

TICKS = 100_000
ROW = 8 * 20
"""Bytes of a row of the rig's record, at least."""


def test_memory_is_flat_and_no_row_is_missing(tmp_path: Path) -> None:
    changes = {"timing.step": "20 us", "timing.duration": f"{TICKS * 20e-6} s"}
    few = {"record.channels": ["target"], "acceptance.synchronisation": "none"}
    with (
        Rig(tmp_path, "--in-step", changes=changes) as rig,
        controller(tmp_path, rig.port, IN_STEP, changes, few, options=("--start", "--without-go", "rows")) as run,
    ):
        memory = watched(run, rig, every=0.1)
        run.ends()
        steps = int(rig.until(r"after (\d+) steps")[1])
        record = rig.record()
    found = halfreal.load_run(tmp_path / "run.h5")
    assert_every_tick(found)
    assert found.time.size >= TICKS and record.time.size == steps >= TICKS
    assert record.signals.keys() and 8 * len(record.signals) >= ROW
    for name in ("controller", "recorder", "rig"):
        assert growth(memory[name]) < 0.3 * 1e-6 * ROW * TICKS, f"the {name} keeps rows in memory"


@pytest.mark.parametrize("moved", [0.0, 1e-3, -0.02])
@pytest.mark.parametrize("held_up", [0.0, 0.05])
def test_a_clock_that_drifts_is_seen(moved: float, held_up: float) -> None:
    """Ticks that come up to a tenth of a step after their time, some by a step and more; at the end more of them."""
    chance, ticks = np.random.default_rng(1), 50_000
    often = 0.01 + np.where(np.arange(ticks) > 0.9 * ticks, held_up, 0.0)
    late = np.where(chance.random(ticks) < often, 2.3, 0.1) * chance.random(ticks)
    clock = (0.9 + np.arange(ticks) * (1.0 + moved / ticks) + late) * 1e-3
    assert drift(clock, 1e-3) == pytest.approx(0.9 * moved, abs=3e-4)
