"""Ground motions for a benchmark problem from a folder of the user's: PEER's AT2, text, MAT."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .ground_motion import GroundMotion, GroundMotionError, UnknownUnitError, read_ground_motion
from .problem import RECORDS, Motion

SUFFIXES = (".at2", ".csv", ".mat", ".txt")
SCALE = 0.4
"""Part of a record that the problems use."""
ALIKE = 2e-3
"""Part of peak and length by which a record may differ from one of the problems' and be taken for it."""

Ask = Callable[[str], str]
"""Shows what is not known about a record's unit, and returns the unit."""


def read_motions(
    folder: Path, kept: Path, *, unit: str | None = None, step: float | None = None, ask: Ask | None = None
) -> dict[str, Motion]:
    """All records of a folder by name, × 0.4; ``kept`` is a folder for plain copies of them.

    ``unit`` and ``step`` [s] hold for all; ``ask`` is requested the unit of a record that does not say it, or says one
    that its size makes doubtful.
    """
    if not folder.is_dir():
        raise GroundMotionError(f"'{folder}' is not a folder; give the folder of the records")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise GroundMotionError(
            f"'{folder}' contains no record; files with the extensions {', '.join(SUFFIXES)} are read"
        )
    found: dict[str, Motion] = {}
    for path in paths:
        try:
            motion = read_ground_motion(path, unit=unit, step=step)
        except UnknownUnitError as error:
            if ask is None:
                raise
            motion = read_ground_motion(path, unit=ask(str(error)), step=step)
        name = recognised(motion) or motion.name
        if name in found:
            raise GroundMotionError(f"'{folder}' contains two records named '{name}'; rename or remove one")
        found[name] = Motion(motion.excitation(kept, SCALE), motion.duration)
    return found


def recognised(motion: GroundMotion) -> str | None:
    """Which of the problems' records a record is, by its peak and its length, regardless of the file's name."""
    peak = float(abs(motion.acceleration).max())
    for name, (largest, length) in RECORDS.items():
        if abs(peak - largest) <= ALIKE * largest and abs(motion.duration - length) <= ALIKE * length:
            return name
    return None
