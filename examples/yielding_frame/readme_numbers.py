"""What README.md tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import STOREY, draw, pushed, rehearsal, without_guard
from gallery import Numbers, table

from halfreal.couplings import Direct
from halfreal.presentation import measures, pushover, structure, structure_plots, wording
from halfreal.runs import replay

LARGE = 0.10
"""Drift over height that no frame comes back from."""


def make(images: Path, quick: bool) -> Numbers:
    run = rehearsal()
    played = replay.replay(run)
    assert played is not None
    section = structure.told(played)
    count, left = (run.signals[f"virtual.{name}"].values for name in ("iterations", "residual"))
    small = "less than 1e-9" if left.max() < 1e-9 else f"{left.max():.0e}"
    closes = "less than 1e-9" if played.left_open < 1e-9 else f"{played.left_open:.0e}"
    frequencies, _ = played.inside.modes(3)
    values = {
        "iterations": f"at most {count.max():.0f} iterations leave {small} of the displacements",
        "yielded": f"{int(structure_plots.yielded(played).sum())} of {len(played.plastic)} hinges yield",
        "balance": f"the balance closes to {closes} of the energy that came in",
        "modes": ", ".join(f"{one:.2f} Hz" for one in frequencies),
        "tuned": f"{100 * measures.measures(run)[0].nrmse:.2f} %",
        "brace": f"{1e-3 * np.abs(run.signals['measured.force'].values).max():.0f} kN",
    }
    drift = played.drifts["x"]
    drifts = [wording.in_unit(float(one[np.argmax(np.abs(one))]), "m") for one in drift.T[::-1]]
    tables = {
        "drifts": table(
            ["storey", "largest drift", "over its height", "left at the end"],
            [[row[0], largest, row[4], row[6]] for row, largest in zip(section.storeys, drifts, strict=True)],
        ),
        "energies": table(["energy", "", "share"], [list(row) for row in section.energies]),
    }
    if not quick:
        down, on, push = rehearsal("collapse"), without_guard(), pushed()
        trip = next(event for event in down.events if event.text.startswith("trip"))
        lost = float(on.time[int(np.argmax(np.abs(on.signals["virtual.drift 2"].values) > LARGE * STOREY))])
        values |= {
            "collapse": f"at {trip.time:.2f} s, {down.reason}",
            "without guard": f"at {lost:.2f} s the drift would be {100 * LARGE:g} % of the storey's height",
            "pushover": "; ".join(pushover.as_text(push)[1:3]),
            "untuned": f"{100 * measures.measures(rehearsal(coupling=Direct()))[0].nrmse:.1f} %",
        }
        draw(run, played, down, on, push, images)
    return Numbers((), tables, values)
