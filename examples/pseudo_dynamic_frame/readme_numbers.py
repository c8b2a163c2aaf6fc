"""Numbers and pictures of this README: see gallery.py.  The frame follows no figure of a paper."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import figures
import study
from gallery import Numbers, table

import halfreal
from halfreal.runs import linearised, measured_errors, worst

FILES = {
    "explicit_newmark": (
        "storey 1, elastoplastic",
        "explicit Newmark: nothing to know of the specimen; the step is limited to 2/ω_max",
    ),
    "operator_splitting": (
        "storey 1, elastoplastic",
        "operator splitting: stable at any step for a specimen not stiffer than `specimen_stiffness`",
    ),
    "two_storeys": ("storeys 1 and 2, Bouc–Wen, two actuators", "operator splitting"),
}


@cache
def judged(name: str) -> halfreal.studies.Check:
    return halfreal.check(study.definition(name), remedies=False)


def rehearsed(name: str) -> halfreal.Run:
    run = judged(name).rehearsal
    assert run is not None
    return run


def file_table() -> list[str]:
    rows = []
    for name, (where, scheme) in FILES.items():
        found = worst(measured_errors(rehearsed(name)), "fidelity")
        assert found is not None
        rows.append([f"`{name}.toml`", where, scheme, judged(name).verdict, f"{100 * found.nrmse:.2f} %"])
    return table(["file", "in the laboratory", "scheme", "`halfreal check`", "error against the emulated frame"], rows)


def values() -> dict[str, str]:
    slow = rehearsed("explicit_newmark")
    same = study.apart(slow, halfreal.rehearse(study.definition("explicit_newmark", slow=False)))
    along = study.apart(rehearsed("two_storeys"), halfreal.rehearse(study.definition("two_storeys", slow=False)))
    late = study.apart(slow, halfreal.rehearse(study.definition("explicit_newmark", actuator=study.LAGGING)))
    fast = study.definition("explicit_newmark", slow=False, actuator=study.LAGGING)
    away, stable = study.apart(slow, halfreal.rehearse(fast)), linearised(fast).stable
    took = slow.signals["motion.clock"].values[-1]
    return {
        "takes": f"{int(took // 60)} minutes {took % 60:.0f} s",
        "elastoplastic": "less than 1e-13" if same < 1e-13 else f"{same:.0e}",
        "Bouc–Wen": "less than 1e-6" if along < 1e-6 else f"{along:.0e}",
        "slow, lagging": f"{100 * late:.2f} %",
        "fast, lagging": f"{'stable' if stable else 'unstable'}, and up to {100 * away:.0f} % of the peak away",
    }


def make(images: Path, quick: bool) -> Numbers:
    if quick:
        return Numbers()
    figures.main(images)
    return Numbers((), {"files": file_table()}, values())
