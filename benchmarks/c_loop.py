"""The loop in C: compiled here from loop.c, fed with the parameters of the package's own blocks."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

from halfreal.kernels.loop import Loop

SOURCE = Path(__file__).with_name("loop.c")
COMPILER = "gcc"
LEVELS = {"-O2": ("-O2",), "-O3 -march=native": ("-O3", "-march=native", "-ffp-contract=off")}
"""Ways to compile it, by the names of their rows; without contraction, as ours, so that results can be compared."""
FIELDS = {
    "excitation.virtual": ("amplitude", "ramp", "omega", "phase"),
    "virtual": ("transition", "earlier", "later", "outputs", "direct"),
    "coupling": ("weights",),
    "energy": ("fading", "floor"),
    "guard": ("trip", "warn", "smoothing", "returns", "return_time", "after", "safe"),
    "actuator": ("first", "weights", "stroke", "travel"),
    "specimen": ("stiffness", "damping", "mass", "excited"),
    "sensors": ("resolution", "range"),
}
"""The order of ``struct parameters``, after the step."""
EVENT_ROOM = 4096


class CLoop:
    """The C loop of one test; ``run`` starts from rest."""

    def __init__(self, loop: Loop, folder: Path, level: str = "-O2") -> None:
        library = folder / f"loop{''.join(level.split())}.so"
        subprocess.run([COMPILER, *LEVELS[level], "-shared", "-fPIC", "-o", library, SOURCE, "-lm"], check=True)
        self._library = ctypes.CDLL(str(library))
        values = [np.ravel(loop.parameter(block)[field]) for block, fields in FIELDS.items() for field in fields]
        self._parameters = np.concatenate([[loop.dt], *values])
        if self._parameters.size != self._library.parameters_size():
            raise ValueError(
                f"loop.c expects {self._library.parameters_size()} parameters and the blocks have "
                f"{self._parameters.size}; bring loop.c up to date"
            )
        self._columns = 1 + len(loop.channels)

    def run(self, ticks: int) -> np.ndarray:
        """Log (ticks, 1 + channels), in a fresh array as the package's own."""
        log, events, counts = np.empty((ticks, self._columns)), np.empty((EVENT_ROOM, 3)), np.zeros(2, dtype=np.int64)
        done = self._library.run(
            self._parameters.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int64(ticks),
            log.ctypes.data_as(ctypes.c_void_p),
            events.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int64(EVENT_ROOM),
            counts.ctypes.data_as(ctypes.c_void_p),
        )
        return log[:done]


def compiler_present() -> bool:
    return shutil.which(COMPILER) is not None
