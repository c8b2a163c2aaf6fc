"""Columns of a record, in memory or on disk, which are read piece by piece.

A column has a length, and its slices are arrays.  A NumPy array is a column; so is a channel that stays in its file
(``records/on_disk.py``), of which a slice is read when it is used.  What is computed from pieces needs the same memory
for a record of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

PIECE = 1 << 16
"""Values of a column that are read together."""


class Column(Protocol):
    """Values at the rows of a record, or at some of them."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


@dataclass(frozen=True)
class Computed:
    """Values that are computed from columns, row by row, each time that they are read."""

    function: Callable[..., np.ndarray]
    columns: tuple[Column, ...]
    rows: range

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any, /) -> Any:
        if not isinstance(rows, slice):
            row = range(len(self))[rows]
            return self[row : row + 1][0]
        chosen = self.rows[rows]
        at = slice(chosen.start, chosen.stop, chosen.step)
        return self.function(*(column[at] for column in self.columns))


def computed(function: Callable[..., np.ndarray], *columns: Column) -> Computed:
    """A column that a function makes of columns of one length, row by row."""
    return Computed(function, columns, range(len(columns[0])))


def part(column: Column, rows: slice) -> Column:
    """Some rows of a column, without reading them."""
    if isinstance(column, np.ndarray):
        return np.asarray(column[rows])
    return Computed(lambda values: values, (column,), range(len(column))[rows])


class RowNumbers:
    """A column of the numbers 0, 1, 2, …"""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, rows: slice, /) -> np.ndarray:
        return np.arange(*rows.indices(self.count))


def pieces(*columns: Column, overlap: int = 0) -> Iterator[tuple[np.ndarray, ...]]:
    """The same rows of each column, piece by piece; each begins with the last ``overlap`` rows of the one before."""
    for first in range(0, len(columns[0]) - overlap, PIECE):
        yield tuple(column[first : first + PIECE + overlap] for column in columns)


def total(function: Callable[..., Any], *columns: Column, overlap: int = 0) -> Any:
    """Sum of a function of the pieces."""
    found = 0.0
    for piece in pieces(*columns, overlap=overlap):
        found = found + function(*piece)
    return found


def any_finite(column: Column) -> bool:
    """Whether a column has a finite value."""
    return any(np.isfinite(values).any() for (values,) in pieces(column))


def finite_rows(*columns: Column) -> int:
    """How many rows there are before the first one in which a column is not finite."""
    count = 0
    for piece in pieces(*columns):
        finite = np.logical_and.reduce([np.isfinite(values) for values in piece])
        if not finite.all():
            return count + int(np.argmin(finite))
        count += len(finite)
    return count
