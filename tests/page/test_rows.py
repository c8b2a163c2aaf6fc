"""The ring, read by whoever looks on: never written, and never a row that is half of another."""

from __future__ import annotations

import os

import numpy as np
import pytest

from halfreal.kernels.control import ROWS
from halfreal.page.rows import RingRows
from halfreal.records.ring import Ring

CAPACITY = 8


def put(ring: Ring, count: int) -> None:
    """Rows as a loop writes them: row r holds r in every column."""
    for _ in range(count):
        row = int(ring.words[ROWS])
        ring.rows[row % CAPACITY] = float(row)
        ring.words[ROWS] = row + 1


@pytest.fixture
def ring() -> Ring:
    return Ring.create(CAPACITY, 2)


def test_rows_come_once_and_in_order(ring: Ring) -> None:
    reader, seen = RingRows(ring.for_readers()), list[float]()
    for count in (3, 0, 4, 1, 6):
        put(ring, count)
        taken = reader.take()
        assert taken.shape == (3, count) and np.all(taken == taken[0])
        seen += taken[0].tolist()
    assert seen == list(range(14)) and reader.missed == 0


def test_whoever_is_slow_misses_the_oldest_rows_and_gets_no_spoilt_one(ring: Ring) -> None:
    reader = RingRows(ring.for_readers())
    put(ring, 30)
    taken = reader.take()
    # the loop may be writing row 30 over row 22
    assert taken[0].tolist() == list(range(23, 30)) and reader.missed == 23


def test_the_ring_cannot_be_written_by_who_looks_on(ring: Ring) -> None:
    descriptor = ring.for_readers()
    with pytest.raises(PermissionError):
        Ring.attach(descriptor)
    with pytest.raises(OSError):
        os.pwrite(descriptor, b"x", 0)
    reader = RingRows(descriptor)
    with pytest.raises(ValueError, match="read-only"):
        reader.ring.words[ROWS] = 1
    reader.close()
