"""What README.md tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import HERE, draw, rehearsal
from gallery import Numbers, table

import halfreal

PEAKS = {
    "displacement of the roof": ("virtual.roof", 1e3, "mm"),
    "displacement of the first floor": ("target", 1e3, "mm"),
    "drift of the second storey": ("virtual.drift 2", 1e3, "mm"),
    "hinge at the foot of column B1": ("virtual.foot rotation", 1e3, "mrad"),
    "moment at the foot of column B1": ("virtual.foot moment", 1e-3, "kN m"),
    "hinge of girder B1": ("virtual.girder rotation", 1e3, "mrad"),
    "moment of girder B1": ("virtual.girder moment", 1e-3, "kN m"),
    "force of the brace": ("measured.force", 1e-3, "kN"),
}
MORE = 16.0
"""A ground acceleration that is too much [m/s²]."""


def collapse() -> str:
    test = halfreal.load(HERE / "yielding_frame.toml").with_values({"excitation.virtual.acceleration": MORE})
    run = halfreal.rehearse(test)
    trip = next((event for event in run.events if event.text.startswith("trip")), None)
    return f"with {MORE:g} m/s² " + ("it does not trip" if trip is None else f"at {trip.time:.2f} s, {run.reason}")


def make(images: Path, quick: bool) -> Numbers:
    run = rehearsal()
    peaks = [
        [name, f"{scale * np.abs(run.signals[signal].values).max():.3g} {unit}"]
        for name, (signal, scale, unit) in PEAKS.items()
    ]
    count, left = (run.signals[f"virtual.{name}"].values for name in ("iterations", "residual"))
    small = "less than 1e-9" if left.max() < 1e-9 else f"{left.max():.0e}"
    values = {"iterations": f"at most {count.max():.0f} iterations leave {small} of the displacements"}
    if not quick:
        values["collapse"] = collapse()
        draw(run, images)
    return Numbers((), {"peaks": table(["largest", ""], peaks)}, values)
