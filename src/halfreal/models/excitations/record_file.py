"""Histories as laboratories have them: text with columns, PEER's AT2, MATLAB's MAT, LabVIEW's TDMS.

Text may have columns separated by semicolons, tabs, commas or blanks, decimals with a point or, where columns are not
separated by commas, with a comma; lines that begin with ``#`` are skipped, and what stands above the numbers is a
heading, whose last line may name the columns.  A column is one of time if its name says so, or if it is the first of
several and rises evenly, unless its name says something else; it is never taken for the history itself.  Which column
is meant is given by its number or name, or is the only one that is not time.  Gaps, uneven times, and what may be read
in two ways are refused with their line.

The columns of a TDMS file are the channels of all its groups; their step is that of their waveform, or of a channel
of time.

The unit is what a heading says: PEER's, the name of the column, such as ``a_m_per_s2`` or ``acc [g]``, or the unit of a
TDMS channel.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import HalfrealError

LARGEST = 500_000_000
"""Bytes of a file that is read."""
UNEVEN = 1e-3
"""Deviation of a time step from the others, as a part of it, up to which sampling is uniform."""
MOSTLY = 0.9
"""Share of equal steps from which on a column without a name is one of time, though it has gaps."""
SQUARED = r"(?:\s*/\s*s|_per_s)(?:ec)?\s*(?:\^|\*\*)?\s*(?:2|²|/\s*s)"
HEADINGS = (
    (rf"cm{SQUARED}|\bgals?\b", "cm/s^2"),
    (rf"(?<![a-z])m{SQUARED}|(?<![a-z])m\s*s\s*\^?\s*(?:-2|⁻²)|mps2", "m/s^2"),
    (r"\[g\]|\(g\)|_g\b|\bin g\b|units of g\b", "g_0"),
)
VELOCITY = rf"(?<!\d)(?<!\d )(?<![a-z])[cm]?m(?!{SQUARED})(?:\s*/\s*s|_per_s|ps\b)"
"""A unit of velocity; not behind a number, as in a site's 760 m/s."""
TIME = re.compile(r"\W*(?:t|times?|zeit|temps|tiempo|tempo)(?![a-z])", re.IGNORECASE)
ONLY_TIME = re.compile(TIME.pattern + r"[\W_]*(?:m?s|sec|seconds?|sek)?\W*", re.IGNORECASE)
"""Names that say nothing but time."""
MILLISECONDS = re.compile(r"[\[(_\s]ms\b")
MOTION = re.compile(r"acc|disp|vel|force|load|weg|kraft|[\[(_](?:g|k?n|[cm]?m)\b", re.IGNORECASE)
"""Names of what is no time, though it may rise evenly."""
COUNT = re.compile(r"\W*(?:n|no|nr|i|k|index|samples?|steps?|points?|row)\W*", re.IGNORECASE)
COMMENTS = ("#", "%", "//", "!")


class RecordFileError(HalfrealError):
    """A file from which a history cannot be determined."""


@dataclass(frozen=True)
class History:
    """One column of a file."""

    values: np.ndarray
    step: float | None
    """Between samples [s]; None if the file does not give it."""
    heading: str
    """What the file says of the column."""
    column: int
    """From 1."""

    @property
    def unit(self) -> str | None:
        """Of an acceleration, if the heading gives it."""
        found = self.heading.lower()
        return next((unit for pattern, unit in HEADINGS if re.search(pattern, found)), None)

    @property
    def velocity(self) -> str | None:
        """The unit of a velocity, if the heading shows one."""
        found = re.search(VELOCITY, self.heading.lower())
        return found[0] if found else None


def read_history(path: Path | str, column: int | str | None = None) -> History:
    """The column of a file that is named, counted from 1, or the only one that can be meant."""
    path = Path(path)
    about = path.stat()
    return _read(path, column, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, column: int | str | None, changed: int, size: int) -> History:
    """Kept as long as the file stays as it is: it is read when it is checked, and when a loop is built."""
    if size > LARGEST:
        raise RecordFileError(f"{path} has {size / 1e6:.0f} MB; the limit is {LARGEST / 1e6:.0f} MB; shorten it")
    if path.suffix.lower() == ".mat":
        return _checked(path, _mat(path, column))
    if path.suffix.lower() == ".tdms":
        return _checked(path, _tdms(path, column))
    lines = path.read_bytes().decode("utf-8-sig", errors="replace").splitlines()
    head = next((i for i, line in enumerate(lines[:20]) if re.search(r"NPTS\s*=", line, re.IGNORECASE)), None)
    if path.suffix.lower() == ".at2" or head is not None:
        return _checked(path, _at2(path, lines, head, column))
    return _checked(path, _table(path, lines, column))


def _checked(path: Path, found: History) -> History:
    values = found.values
    if values.size < 2:
        raise RecordFileError(f"{path} contains {values.size} number(s); at least 2 are needed")
    missing = np.flatnonzero(~np.isfinite(values))
    if missing.size:
        raise RecordFileError(f"{path}: {_missing(values, int(missing[0]))}; fill gaps in a record before using it")
    values.flags.writeable = False
    return found


def _missing(values: np.ndarray, at: int) -> str:
    return f"sample {at + 1} of {values.size} is {values[at]}"


# --- text -------------------------------------------------------------------------------------------------------------


def _table(path: Path, lines: list[str], column: int | str | None) -> History:
    begin = next((i for i, line in enumerate(lines) if _is_data(line)), len(lines))
    rows = [(i + 1, line.strip()) for i, line in enumerate(lines[begin:], start=begin)]
    rows = [(number, line) for number, line in rows if line and not line.startswith(COMMENTS)]
    if len(rows) < 2:
        return History(np.zeros(len(rows)), None, "", 1)
    table, decimals, separator = _numbers(path, rows)
    above = [line.strip().lstrip("#%!/ \t").strip() for line in lines[:begin] if line.strip()]
    names = _names(above, table.shape[1], separator)
    times, numbers = _times(table, names), [number for number, _ in rows]
    step, counts = None, set[int]()
    if times:
        scale = 1e-3 if names and MILLISECONDS.search(names[times[0]]) else 1.0
        step = scale * _step(path, table[:, times[0]], numbers, decimals if times[0] == 0 else 0)
    elif table.shape[1] > 1 and _counts(table[:, 0], names):
        counts = {0}
    chosen = _chosen(path, table, names, set(times), counts, column)
    lone = table.shape[1] - len(times) - len(counts) == 1
    heading = names[chosen] if names else " ".join(above) if lone else ""
    values = np.ascontiguousarray(table[:, chosen])
    missing = np.flatnonzero(~np.isfinite(values))
    if missing.size:
        raise RecordFileError(
            f"line {numbers[missing[0]]} of {path}: {_missing(values, int(missing[0]))}; fill gaps in a record before "
            "using it"
        )
    return History(values, step, heading, chosen + 1)


def _is_data(line: str) -> bool:
    words = re.split(r"[;,\s]+", line.strip().strip(",;"))
    if line.strip().startswith(COMMENTS):
        return False
    try:
        return bool([float(word) for word in words])
    except ValueError:
        return False


def _numbers(path: Path, rows: list[tuple[int, str]]) -> tuple[np.ndarray, int, str]:
    """All numbers, (rows, columns), the decimals of the first column, and what separates columns."""
    sample = [line for _, line in rows[:50]]
    separator, comma = _style(path, rows[0][0], sample)
    split = re.compile({";": r"\s*;\s*", "\t": r"\s*\t\s*", ",": r"\s*,\s*|\s+", " ": r"\s+"}[separator])
    trailing = separator in ";," and all(line.endswith(separator) for line in sample)
    table: list[list[float]] = []
    decimals = 0
    for number, line in rows:
        cells = split.split(line.removesuffix(separator) if trailing else line)
        try:
            row = [float(cell.replace(",", ".") if comma else cell) for cell in cells]
        except ValueError:
            wrong = next(i for i, cell in enumerate(cells) if not _is_number(cell.replace(",", ".") if comma else cell))
            what = "nothing" if not cells[wrong] else repr(cells[wrong][:30])
            raise RecordFileError(
                f"line {number} of {path}, {line[:60]!r}, has {what} in column {wrong + 1} where numbers are expected; "
                "fill gaps in a record before using it, and mark comments with '#'"
            ) from None
        if table and len(row) != len(table[0]):
            raise RecordFileError(f"line {number} of {path} has {len(row)} column(s), and others {len(table[0])}")
        decimals = max(decimals, len(re.sub(r"[eE].*", "", cells[0]).partition("," if comma else ".")[2]))
        table.append(row)
    return np.array(table), decimals, separator


def _style(path: Path, first: int, sample: list[str]) -> tuple[str, bool]:
    """What separates columns, and whether decimals have a comma."""
    text = "\n".join(sample)
    for mark in (";", "\t"):
        if all(mark in line for line in sample):
            return mark, "," in text and "." not in text
    if "," not in text:
        return " ", False
    if ";" in text or "." in text or re.search(r",\s|\s,|,,|,$", text, re.MULTILINE):
        return ",", False
    if all(len(line.split()) > 1 and re.search(r"\d,\d", line) for line in sample):
        return " ", True
    pairs = [re.fullmatch(r"([+-]?\d+),(\d+)", line) for line in sample]
    if all(pairs) and any(one and (one[1].startswith("-0") or re.match(r"0\d", one[2])) for one in pairs):
        raise RecordFileError(
            f"{path} may have decimals with a comma, or two columns: line {first} is {sample[0]!r}; write decimals "
            "with a point, or separate columns with ';'"
        )
    return ",", False


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _names(above: list[str], columns: int, separator: str) -> tuple[str, ...]:
    """Of the columns, from the lowest line of the heading that has as many words as there are columns."""
    splits = [{";": ";", "\t": r"\t+", ",": ",", " ": r"\s{2,}"}[separator], ";", r"\t+", ",", r"\s{2,}", r"\s+"]
    for line in reversed(above):
        for split in splits:
            words = [word.strip().strip("\"'").strip() for word in re.split(split, line.strip(" ,;"))]
            if len(words) == columns and all(words) and columns > 1:
                return tuple(words)
    return tuple(above[-1:]) if columns == 1 and above else ()


# --- which column -----------------------------------------------------------------------------------------------------


def _times(table: np.ndarray, names: tuple[str, ...]) -> list[int]:
    """Columns of time, from 0."""
    if table.shape[1] == 1:
        return [0] if names and ONLY_TIME.fullmatch(names[0]) else []
    named = [i for i, name in enumerate(names) if TIME.match(name)]
    if named or (names and MOTION.search(names[0])):
        return named
    steps = np.diff(table[:, 0])
    if steps.size < 1 or not np.all(steps > 0.0) or _counts(table[:, 0], names):
        return []
    usual = float(np.median(steps))
    same = np.abs(steps - usual) <= 0.1 * usual
    return [0] if np.mean(same) >= MOSTLY else []


def _counts(first: np.ndarray, names: tuple[str, ...]) -> bool:
    """Whether a column counts the samples: 0, 1, 2 … or 1, 2, 3 …, or is named so."""
    if names and COUNT.fullmatch(names[0]):
        return True
    return bool(first[0] in (0.0, 1.0) and np.all(np.diff(first) == 1.0))


def _step(path: Path, time: np.ndarray, numbers: list[int], decimals: int) -> float:
    """Of times that are even, or are so but for rounding to the digits that are written."""
    steps, count = np.diff(time), np.arange(len(time))
    usual = float(np.median(steps)) if steps.size else math.nan
    wrong = np.flatnonzero(~(np.abs(steps - usual) <= UNEVEN * abs(usual)))
    if wrong.size and decimals and np.all(np.isfinite(time)):
        grid = np.polyval(np.polyfit(count, time, 1), count)
        if np.abs(time - grid).max() <= 0.55 * 10.0**-decimals:
            wrong = wrong[:0]
    mean = float(time[-1] - time[0]) / max(len(time) - 1, 1)
    if wrong.size or not mean > 0.0:
        at = int(wrong[0]) if wrong.size else 0
        raise RecordFileError(
            f"{path}: from line {numbers[at]} to {numbers[at + 1]} (samples {at + 1} and {at + 2}) are {steps[at]:g} s "
            f"where others are {usual:g} s apart; resample the record uniformly"
        )
    return float(f"{mean:.9g}")


def _chosen(
    path: Path, table: np.ndarray, names: tuple[str, ...], times: set[int], counts: set[int], column: int | str | None
) -> int:
    """The column that is meant, from 0."""
    count = table.shape[1]
    others = [i for i in range(count) if i not in times | counts]
    listed = "; ".join(_told(i, names, times, counts, table) for i in range(count))
    if isinstance(column, str):
        wanted = column.strip().lower()
        found = [i for i, name in enumerate(names) if name.lower() == wanted]
        found = found or [i for i, name in enumerate(names) if _bare(name) == _bare(column)]
        if len(found) != 1:
            what = "no column of that name" if not found else f"{len(found)} columns of that name"
            raise RecordFileError(f"{path} has {what}, '{column}'; its columns are {listed}")
        index = found[0]
    elif column is not None:
        if not 1 <= column <= count:
            raise RecordFileError(f"{path} has no column {column}; its columns are {listed}")
        index = column - 1
    elif len(others) == 1:
        index = others[0]
    elif not names and not times and not counts and not np.all(np.diff(table[:, 0]) > 0.0):
        index = 0  # one that only rises may be uneven times
    elif not others:
        raise RecordFileError(f"{path} has a time column and no history; its columns are {listed}")
    else:
        raise RecordFileError(f"{path}: which column is meant? Give its number or name (column); they are {listed}")
    if index in times:
        raise RecordFileError(
            f"{path}: column {index + 1} is the time, and is not taken for the history; its columns are {listed}"
        )
    return index


def _told(i: int, names: tuple[str, ...], times: set[int], counts: set[int], table: np.ndarray) -> str:
    name = f" '{names[i]}'" if names else ""
    what = " (time)" if i in times else " (counts samples)" if i in counts else ""
    return f"{i + 1}{name}{what}, from {table[0, i]:g} on"


def _bare(name: str) -> str:
    return re.sub(r"[\[(].*?[\])]", "", name).strip().lower()


# --- other formats ----------------------------------------------------------------------------------------------------


def _at2(path: Path, lines: list[str], head: int | None, column: int | str | None) -> History:
    found = None if head is None else re.search(r"DT\s*=\s*([0-9.]+(?:[eE][-+]?\d+)?)", lines[head], re.IGNORECASE)
    count = None if head is None else re.search(r"NPTS\s*=\s*(\d+)", lines[head], re.IGNORECASE)
    if head is None or found is None or count is None or not float(found[1]) > 0.0:
        raise RecordFileError(f"{path} has no line 'NPTS= …, DT= …'; is it a PEER record?")
    if column not in (None, 1):
        raise RecordFileError(f"{path} is a PEER record, one history over all its columns; omit column")
    try:
        values = np.array([float(word) for line in lines[head + 1 :] for word in line.split()])
    except ValueError as error:
        raise RecordFileError(f"{path}: {error}; fill gaps in a record before using it") from None
    if len(values) != int(count[1]):
        raise RecordFileError(
            f"{path} holds {len(values)} samples, but its header states {count[1]}; it is truncated or damaged"
        )
    return History(values, float(found[1]), " ".join(lines[: head + 1]), 1)


def _mat(path: Path, column: int | str | None) -> History:
    from scipy.io import loadmat

    try:
        content: dict[str, Any] = loadmat(path)
    except (ValueError, NotImplementedError, TypeError) as error:
        raise RecordFileError(f"{path}: {error}; save it with MATLAB's option -v7") from error
    pairs = {
        name: np.asarray(value, dtype=float)
        for name, value in content.items()
        if isinstance(value, np.ndarray) and value.ndim == 2 and 2 in value.shape and value.dtype.kind in "fiu"
    }
    if len(pairs) != 1 or column not in (None, 2):
        held = ", ".join(name for name in content if not name.startswith("__")) or "nothing"
        raise RecordFileError(
            f"{path} contains {held}; one array of two rows or columns, time and acceleration, is expected"
        )
    (name, pair), *_ = pairs.items()
    pair = pair if pair.shape[0] == 2 else pair.T
    step = _step(path, pair[0], list(range(1, pair.shape[1] + 1)), 0)
    return History(np.array(pair[1]), step, name, 2)


def _tdms(path: Path, column: int | str | None) -> History:
    try:
        from nptdms import TdmsFile
    except ImportError as error:
        raise RecordFileError(f"{path} needs the package npTDMS: pip install 'halfreal[records]'") from error
    try:
        groups = TdmsFile.read(str(path)).groups()
    except Exception as error:  # of many kinds, by what the file is instead
        raise RecordFileError(f"{path} is not a TDMS file ({error})") from error
    found = [one for group in groups for one in group.channels() if one.dtype.kind in "fiu" and len(one)]
    if not found:
        raise RecordFileError(f"{path} has no channel with numbers")
    names = tuple(one.name for one in found)
    times = {i for i, name in enumerate(names) if ONLY_TIME.fullmatch(name)}
    first = np.array([[float(one[0]) for one in found]])
    chosen = _chosen(path, first, names, times, set(), column)
    one = found[chosen]
    step = one.properties.get("wf_increment")
    same = [found[i] for i in times if len(found[i]) == len(one)]
    if step is None and same:
        step = _step(path, np.asarray(same[0][:], dtype=float), list(range(1, len(one) + 1)), 0)
    heading = f"{one.name} [{one.properties.get('unit_string', '')}]"
    return History(np.array(one[:], dtype=float), step, heading, chosen + 1)
