"""Ground motions as laboratories have them: PEER's AT2, text with columns, MATLAB's MAT, checked before they are used.

A record must be sampled uniformly and without gaps, and its unit must be known: told by the file (PEER's header, a
column heading such as ``a_m_per_s2`` or ``acc [g]``) or by the caller.  It is never guessed: a record that does not
say, or says m/s² where its largest value looks like g or the other way round, is refused with what that value would
mean in either unit, until the caller says which.  A caller who contradicts a record that says its unit, and whose
values do not speak against it, is refused too, and so is a record that says it is no acceleration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import units
from ..errors import HalfrealError
from ..models.excitations import Record

STRONGEST = 40.0
"""m/s²: no strong motion on record is much larger; a record beyond it has another unit than it is said to have."""
USUAL = (0.5, 20.0)
"""m/s²: peaks of records that structures are tested with.  Beyond them, one of g and m/s² may stand for the other."""
G = 9.80665
UNEVEN = 1e-3
"""Deviation of a time step from the others, as a part of it, up to which sampling is uniform."""
SQUARED = r"(?:\s*/\s*s|_per_s)(?:ec)?\s*(?:\^|\*\*)?\s*(?:2|²|/\s*s)"
HEADINGS = (
    (rf"cm{SQUARED}|\bgals?\b", "cm/s^2"),
    (rf"(?<![a-z])m{SQUARED}|(?<![a-z])m\s*s\s*\^?\s*(?:-2|⁻²)|mps2", "m/s^2"),
    (r"\[g\]|\(g\)|_g\b|\bin g\b|units of g\b", "g_0"),
)
VELOCITY = rf"(?<!\d)(?<!\d )(?<![a-z])[cm]?m(?!{SQUARED})(?:\s*/\s*s|_per_s|ps\b)"
"""A unit of velocity; not behind a number, as in a site's 760 m/s."""


class GroundMotionError(HalfrealError):
    """A record that cannot be used as it is."""


class UnknownUnitError(GroundMotionError):
    """A record whose unit must be told."""


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
    """A record from its file; ``unit`` and ``step`` [s] where the file does not tell them."""
    path = Path(path)
    try:
        if path.suffix.lower() == ".mat":
            time, values, told = _mat(path)
        elif path.suffix.lower() == ".at2":
            time, values, told = _at2(path)
            told = told or (None if unit else "g_0")
        else:
            time, values, told = _columns(path)
    except OSError as error:
        raise GroundMotionError(f"{path}: {error.strerror or error}") from error
    values = np.asarray(values, dtype=float)
    if values.size < 2:
        raise GroundMotionError(f"{path} holds {values.size} sample(s) where at least 2 are expected")
    missing = np.flatnonzero(~np.isfinite(values))
    if missing.size:
        raise GroundMotionError(
            f"{path}: sample {missing[0] + 1} of {values.size} is {values[missing[0]]}; fill gaps in a record before "
            "using it"
        )
    found = _step(path, time) if time is not None else step
    if found is None:
        raise GroundMotionError(f"{path} has no times; give the time step of its samples")
    if not found > 0.0:
        raise GroundMotionError(f"{path}: a time step of {found:g} s; give one above 0")
    return GroundMotion(path.stem, found, values * _factor(path, float(np.abs(values).max()), unit, told))


def _step(path: Path, time: np.ndarray) -> float:
    steps = np.diff(time)
    usual = float(np.median(steps))
    wrong = np.flatnonzero(~(np.abs(steps - usual) <= UNEVEN * abs(usual)))
    if wrong.size or not usual > 0.0:
        at = int(wrong[0]) if wrong.size else 0
        raise GroundMotionError(
            f"{path}: from sample {at + 1} to {at + 2} are {steps[at]:g} s where others are {usual:g} s apart; "
            "resample the record uniformly"
        )
    return float((time[-1] - time[0]) / (len(time) - 1))


def _factor(path: Path, largest: float, unit: str | None, told: str | None) -> float:
    """m/s² for 1 in the file, in the unit that it tells or else the caller; who must decide where its size is odd."""
    if unit is None and told is None:
        raise UnknownUnitError(
            f"{path} does not say its unit: its largest value, {largest:.3g}, is {largest:.3g} m/s² or "
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
            f"{path} says that it is in {told}, and its largest value would be {largest * said:.3g} m/s²; in the "
            f"other unit, m/s^2 or g_0, it would be {largest * other:.3g} m/s², as records mostly are; give the unit"
        )
    if given is not None and abs(given - said) > 1e-9 * said and not odd and largest * said <= STRONGEST:
        raise GroundMotionError(
            f"{path} says that it is in {told}, and the unit given is {unit}; leave it out, or correct the heading"
        )
    return said if given is None else given


def _parsed(unit: str) -> float:
    try:
        return float(units.factor(unit, "m/s^2"))
    except units.UnitError as error:
        raise GroundMotionError(f"the unit {unit!r} of ground motions {error}; give 'm/s^2' or 'g_0'") from error


def _told(path: Path, heading: str) -> str | None:
    if other := re.search(VELOCITY, heading.lower()):
        raise GroundMotionError(
            f"{path}: its heading {heading.strip()[:60]!r} tells a velocity, in {other[0]}; give a record of time and "
            "acceleration, or correct the heading"
        )
    return next((unit for pattern, unit in HEADINGS if re.search(pattern, heading.lower())), None)


def _columns(path: Path) -> tuple[np.ndarray | None, np.ndarray, str | None]:
    rows: list[list[float]] = []
    told: str | None = None
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            words = line.replace(",", " ").replace(";", " ").split()
            try:
                row = [float(word) for word in words]
            except ValueError:
                if rows:
                    raise GroundMotionError(
                        f"line {number} of {path} is {line.strip()[:60]!r} where numbers are expected; fill gaps in a "
                        "record before using it"
                    ) from None
                told = _told(path, line) or told
                continue
            if row:
                rows.append(row[:2])
            if row and len(rows[-1]) != len(rows[0]):
                raise GroundMotionError(f"line {number} of {path} has {len(row)} column(s), and others {len(rows[0])}")
    table = np.array(rows)
    if table.size and table.shape[1] == 2:
        return table[:, 0], table[:, 1], told
    return None, table.ravel(), told


def _at2(path: Path) -> tuple[np.ndarray | None, np.ndarray, str | None]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    head = next((i for i, line in enumerate(lines) if re.search(r"NPTS", line, re.IGNORECASE)), None)
    found = None if head is None else re.search(r"DT\s*=\s*([0-9.]+(?:[eE][-+]?\d+)?)", lines[head], re.IGNORECASE)
    count = None if head is None else re.search(r"NPTS\s*=\s*(\d+)", lines[head], re.IGNORECASE)
    if head is None or found is None or count is None:
        raise GroundMotionError(f"{path} has no line 'NPTS= …, DT= …'; is it a PEER record?")
    try:
        values = np.array([float(word) for line in lines[head + 1 :] for word in line.split()])
    except ValueError as error:
        raise GroundMotionError(f"{path}: {error}; fill gaps in a record before using it") from None
    if len(values) != int(count[1]):
        raise GroundMotionError(
            f"{path} holds {len(values)} samples where its header tells {count[1]}; it is cut or damaged"
        )
    return float(found[1]) * np.arange(len(values)), values, _told(path, " ".join(lines[: head + 1]))


def _mat(path: Path) -> tuple[np.ndarray | None, np.ndarray, str | None]:
    from scipy.io import loadmat

    try:
        content: dict[str, Any] = loadmat(path)
    except (ValueError, NotImplementedError, TypeError) as error:
        raise GroundMotionError(f"{path}: {error}; save it with MATLAB's option -v7") from error
    pairs = {
        name: np.asarray(value, dtype=float)
        for name, value in content.items()
        if isinstance(value, np.ndarray) and value.ndim == 2 and 2 in value.shape and value.dtype.kind in "fiu"
    }
    if len(pairs) != 1:
        held = ", ".join(name for name in content if not name.startswith("__")) or "nothing"
        raise GroundMotionError(
            f"{path} holds {held}; one array of two rows or columns, time and acceleration, is expected"
        )
    (name, pair), *_ = pairs.items()
    pair = pair if pair.shape[0] == 2 else pair.T
    return pair[0], pair[1], _told(path, name)
