"""The benchmark problem's ground motions, where they are: records that do not belong to this project."""

from pathlib import Path

import pytest

from halfreal.benchmark.ground_motion import read_ground_motion
from halfreal.benchmark.problem import Motion

RECORDS = Path(__file__).parents[3] / "shared" / "data" / "ground_motions"


def motion(name: str, folder: Path) -> Motion:
    """A record × 0.4 for the time that it lasts; the test is skipped where there is none."""
    path = RECORDS / f"{name}_mps2.csv"
    if not path.is_file():
        pytest.skip(f"no record {path.name} beside the project; the benchmark's motions are not part of it")
    found = read_ground_motion(path)
    return Motion(found.excitation(folder, 0.4), found.duration)
