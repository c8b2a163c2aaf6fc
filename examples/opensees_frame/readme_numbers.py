"""What README.md tells.  Nothing of it is quick: it needs OpenSees, and wall time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import draw, results, values
from gallery import Numbers

ROUNDING = 1e-12
"""Share of the peak that counts as rounding."""


def make(images: Path, quick: bool) -> Numbers:
    if quick:
        return Numbers()
    found = results()
    whole, slow, slow_run, real, real_run = found
    draw(found, images)
    peak = np.abs(whole[:, 1]).max()
    off, off_in_real_time = (np.abs(one[:, 1] - whole[:, 1]).max() / peak for one in (slow, real))
    equal = "equal to rounding" if off < ROUNDING else f"within {off:.0e} of the peak"
    most = next(share for share in (1, 2, 5, 10, 20, 50, 100, np.inf) if off_in_real_time <= 0.01 * share)
    return Numbers(
        values={
            "peak": f"{1e3 * peak:.2f} mm",
            "force": f"{1e-3 * np.abs(values(slow_run, 'measured.force')).max():.1f} kN",
            "equal": f"{equal} (less than {ROUNDING:g} of the peak)" if off < ROUNDING else equal,
            "displacements": f"{values(slow_run, 'client.trial').max():.0f}",
            "real time": f"within {most:g} % of the peak",
            "outcome": f"{slow_run.outcome} and {real_run.outcome}",
        }
    )
