"""Noise of sensors in a table, for studies that rehearse variants of one test.

A deviate is a function of the seed, the sensor and the tick alone (``kernels/random.py``), so that all variants with
one seed have the same.  To compute them takes a logarithm and a cosine each, two fifths of a small tick; here that is
done once, and the sensors of the variants read them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..kernels.entry import entry
from ..kernels.loop import Loop
from ..kernels.random import normal
from .sensors import late_sensors_step, sensors_step

LARGEST = 1 << 21
"""Deviates in a table; what is beyond its end is computed."""


@entry("f8", "f8[,]")
def fill(seed, table):  # type: ignore[no-untyped-def]
    for count in range(table.shape[0]):
        for i in range(table.shape[1]):
            table[count, i] = normal(seed, float(i), float(count))
    return 0


def share_noise(loop: Loop, ticks: int) -> None:
    """Have the sensors of a loop, at its beginning, read the noise of so many ticks from a table."""
    tables = []
    for block in loop.blocks:
        if block.step in (sensors_step, late_sensors_step) and np.any(block.parameters["noise"]):
            given = loop.parameter(block.name)
            sensors = given["noise"].size
            table = _table(float(given["seed"]), sensors, min(ticks, LARGEST // sensors))
            given["known"], given["table"] = len(table), table.ctypes.data
            tables.append(table)
    loop.borrowed = tuple(tables)


@lru_cache(maxsize=4)
def _table(seed: float, sensors: int, rows: int) -> np.ndarray:
    table = np.empty((rows, sensors))
    fill(seed, table)
    return table
