"""The ring between loop and recorder."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from halfreal.kernels.control import CAPACITY, COLUMNS, ROWS, WORDS
from halfreal.records.ring import Ring


def test_what_one_process_writes_the_other_reads() -> None:
    ring = Ring.create(7, 2)
    ring.rows[3] = [0.1, 2.0, -np.inf]
    ring.words[ROWS] = 4
    read = """if True:
        import sys
        from halfreal.records.ring import Ring
        ring = Ring.attach(int(sys.argv[1]))
        assert ring.written() == 4 and ring.rows.shape == (7, 3) and ring.channels == 2
        print(ring.rows[3].tobytes().hex())
        ring.rows[6, 1] = 5.5
    """
    command = [sys.executable, "-c", read, str(ring.fd)]
    answer = subprocess.run(command, pass_fds=[ring.fd], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == np.array([0.1, 2.0, -np.inf]).tobytes().hex()
    assert ring.rows[6, 1] == 5.5
    ring.close()


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 5), (3, 8), (5, 9), (8, 13), (1000, 1005)])
def test_rows_come_out_in_the_order_of_their_numbers(first: int, last: int) -> None:
    ring = Ring.create(5, 1)
    for number in range(last - 5, last):
        ring.rows[number % 5] = number
    assert np.array_equal(ring.copy(first, last), np.tile(np.arange(first, last), (2, 1)))
    ring.close()


def test_words_and_rows_are_where_the_compiled_loop_expects_them() -> None:
    ring = Ring.create(4, 3)
    assert ring.words.dtype == np.int64 and ring.words.shape == (WORDS,) and ring.words.flags.c_contiguous
    assert ring.rows.dtype == np.float64 and ring.rows.shape == (4, 4) and ring.rows.flags.c_contiguous
    assert ring.rows.ctypes.data - ring.words.ctypes.data == 512
    assert (ring.words[CAPACITY], ring.words[COLUMNS]) == (4, 4)
    assert not ring.words[:CAPACITY].any() and not ring.rows.any()
    assert os.fstat(ring.fd).st_blocks * 512 >= 512 + 4 * 4 * 8, "memory is taken at once, not when it is first written"
    ring.close()


def test_a_ring_of_no_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        Ring.create(0, 3)


def test_a_ring_that_does_not_fit_into_memory_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"more than half of this machine's .* GB; give it fewer rows"):
        Ring.create(2**40, 50)


def test_closing_keeps_what_others_hold() -> None:
    ring = Ring.create(3, 1)
    held = ring.rows
    held[:] = 2.0
    ring.close()
    ring.close()
    assert (held == 2.0).all() and ring.rows.size == 0
