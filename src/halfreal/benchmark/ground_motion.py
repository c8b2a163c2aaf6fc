"""Ground motions as laboratories have them: PEER's AT2, text with columns, MATLAB's MAT, checked before they are used.

A record must be sampled uniformly and without gaps, and its unit must be known: given by the file (PEER's header, a
column heading such as ``a_m_per_s2`` or ``acc [g]``) or by the caller.  It is never guessed: a record that does not
say, or says m/s² where its largest value looks like g or the other way round, is refused with what that value would
mean in either unit, until the caller says which.  A caller who contradicts a record that says its unit, and whose
values do not speak against it, is refused too, and so is a record that says it is no acceleration.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import units
from ..errors import HalfrealError
from ..models.excitations import Record
from ..models.excitations.record_file import RecordFileError, read_history

STRONGEST = 40.0
"""m/s²: no strong motion on record is much larger; a record beyond it has another unit than it is said to have."""
USUAL = (0.5, 20.0)
"""m/s²: peaks of records that structures are tested with.  Beyond them, one of g and m/s² may stand for the other."""
G = 9.80665


class GroundMotionError(HalfrealError):
    """A record that cannot be used as it is."""


class UnknownUnitError(GroundMotionError):
    """A record whose unit must be given."""


@dataclass(frozen=True)
class GroundMotion:
    """An acceleration [m/s²] every ``step`` [s]."""

    name: str
    step: float
    acceleration: np.ndarray

    @property
    def duration(self) -> float:
        return self.step * (len(self.acceleration) - 1)

    def excitation(self, folder: Path, scale: float = 1.0) -> Record:
        """A record excitation, by a plain file in ``folder``."""
        path = folder / f"{self.name}.txt"
        text = f"# {self.name}: ground acceleration in m/s^2, every {self.step:g} s\n"
        path.write_text(text + "\n".join(map(repr, self.acceleration.tolist())) + "\n", encoding="utf-8")
        return Record(file=path, time_step=self.step, acceleration=scale)


def read_ground_motion(path: Path | str, *, unit: str | None = None, step: float | None = None) -> GroundMotion:
    """A record from its file; ``unit`` and ``step`` [s] where the file does not give them."""
    path = Path(path)
    try:
        history = read_history(path)
    except RecordFileError as error:
        raise GroundMotionError(str(error)) from error
    except OSError as error:
        raise GroundMotionError(f"{path}: {error.strerror or error}") from error
    if history.velocity and history.unit is None:
        raise GroundMotionError(
            f"{path}: its heading {history.heading.strip()[:60]!r} states a velocity, in {history.velocity}; give a "
            "record of time and acceleration, or correct the heading"
        )
    told = history.unit or ("g_0" if path.suffix.lower() == ".at2" and unit is None else None)
    found, values = history.step or step, history.values
    if found is None:
        raise GroundMotionError(f"{path} has no times; give the time step of its samples")
    if not found > 0.0:
        raise GroundMotionError(f"{path}: a time step of {found:g} s; give one above 0")
    return GroundMotion(path.stem, found, values * _factor(path, float(np.abs(values).max()), unit, told))


def _factor(path: Path, largest: float, unit: str | None, told: str | None) -> float:
    """m/s² for 1 in the file, in the unit that it states, or else the caller, who must decide where its size is
    implausible."""
    if unit is None and told is None:
        raise UnknownUnitError(
            f"{path} does not state its unit: its largest value, {largest:.3g}, is {largest:.3g} m/s² or "
            f"{largest * G:.3g} m/s² if it is in g; give the unit, 'm/s^2' or 'g_0'"
        )
    given = None if unit is None else _parsed(unit)
    said = given if told is None else _parsed(told)
    assert said is not None
    if largest * (said if given is None else given) > STRONGEST:
        raise UnknownUnitError(
            f"{path}: its largest value, {largest:.3g}, would be {largest * (given or said):.3g} m/s² in "
            f"{unit or told}, more than any earthquake's {STRONGEST:g} m/s²; give another unit"
        )
    other = {"m/s^2": G, "g_0": 1.0}.get(told or "")
    low, high = USUAL
    odd = other is not None and not low <= largest * said <= high and low <= largest * other <= high
    if given is None and other is not None and odd:
        raise UnknownUnitError(
            f"{path} states {told}, but its largest value would be {largest * said:.3g} m/s²; in the "
            f"other unit, m/s^2 or g_0, it would be {largest * other:.3g} m/s², as usual for records; give the unit"
        )
    if given is not None and abs(given - said) > 1e-9 * said and not odd and largest * said <= STRONGEST:
        raise GroundMotionError(f"{path} states {told}, but the given unit is {unit}; omit it, or correct the heading")
    return said if given is None else given


def _parsed(unit: str) -> float:
    try:
        return float(units.factor(unit, "m/s^2"))
    except units.UnitError as error:
        raise GroundMotionError(f"the unit {unit!r} of ground motions {error}; give 'm/s^2' or 'g_0'") from error
