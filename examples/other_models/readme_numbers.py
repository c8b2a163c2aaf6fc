"""What README.md tells."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from gallery import Numbers, table
from study import difference, draw, target, tests

import halfreal
from halfreal.runs import measured_errors, worst

SAME = 1e-10


def rows() -> list[list[str]]:
    found = []
    for name, test in tests().items():
        answer = halfreal.check(test, remedies=False)
        error = worst(measured_errors(answer.rehearsal), "synchronisation")
        assert error is not None
        found.append(
            [
                *name.split(", "),
                answer.verdict,
                f"{answer.rehearsal.stability.spectral_radius:.4f}",
                f"{1e3 * np.abs(target(name)).max():.2f} mm",
                f"{100 * error.nrmse:.1f} %",
            ]
        )
    return found


def make(images: Path, quick: bool) -> Numbers:
    if quick and (shutil.which("cc") is None or find_spec("fmpy") is None):
        return Numbers((), {}, {})  # nothing can be built here
    if not quick:
        draw(images)
    off = difference()
    values = {"difference": f"less than {SAME:g}" if off < SAME else f"{off:.1g}"}
    if quick:
        return Numbers((), {}, values)
    head = ["virtual substructure", "compensator", "check", "spectral radius", "peak target", "synchronisation error"]
    return Numbers((), {"tests": table(head, rows())}, values)
