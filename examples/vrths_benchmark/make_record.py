"""Makes ``synthetic.csv``: an earthquake that never happened, for a benchmark that runs without anybody's records.

White noise through the filter of K. Kanai and H. Tajimi (soil of 2.5 Hz, damping 0.6) and the high-pass of R. W. Clough
and J. Penzien (0.3 Hz), under an envelope that rises as t² for 3 s, stays for 9 s and decays as exp(−0.25 t/s).  The
last 10 s are quiet, for the response to die away.  The largest acceleration is 2 m/s².

    python make_record.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import signal

STEP, LENGTH, QUIET, PEAK, SEED = 0.01, 30.0, 10.0, 2.0, 1940
RISE, STRONG, DECAY = 3.0, 12.0, 0.25


def acceleration() -> np.ndarray:
    """m/s² every ``STEP`` seconds."""
    t = np.arange(0.0, LENGTH, STEP)
    white = np.random.default_rng(SEED).standard_normal(t.size)
    soil, high_pass = (2 * np.pi * 2.5, 0.6), (2 * np.pi * 0.3, 0.6)
    (w, d), (v, e) = soil, high_pass
    numerator = np.polymul([2 * d * w, w**2], [1.0, 0.0, 0.0])
    denominator = np.polymul([1.0, 2 * d * w, w**2], [1.0, 2 * e * v, v**2])
    _, shaken, _ = signal.lsim((numerator, denominator), white, t)
    envelope = np.minimum((t / RISE) ** 2, 1.0) * np.exp(-DECAY * np.maximum(t - STRONG, 0.0))
    record = shaken * envelope
    record *= PEAK / np.abs(record).max()
    return np.concatenate([record, np.zeros(round(QUIET / STEP) + 1)])


def main(folder: Path) -> None:
    lines = ["# synthetic ground acceleration in m/s^2, every 0.01 s (make_record.py)"]
    lines += [f"{value:.5f}" for value in acceleration()]
    (folder / "synthetic.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(__file__).parent)
