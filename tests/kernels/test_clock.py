"""Compiled code and Python read one clock, and no deadline is passed early."""

from __future__ import annotations

import errno
import time

import numpy as np
import pytest

from halfreal.kernels.clock import now, sleep_until, wait_until
from halfreal.kernels.compile import kernel

MILLISECOND = 1_000_000


@kernel
def read():
    return now()


@kernel
def read_into(readings):
    for i in range(readings.size):
        readings[i] = now()


@kernel
def sleep(deadline):
    return sleep_until(deadline)


@kernel
def wait(deadline, spin):
    return wait_until(deadline, spin)


def test_it_is_the_monotonic_clock_of_python():
    before = time.monotonic_ns()
    found = read()
    after = time.monotonic_ns()
    assert before <= found <= after


def test_it_never_goes_back():
    readings = np.zeros(10_000, dtype=np.int64)
    read_into(readings)
    assert np.all(np.diff(readings) >= 0)
    assert readings[-1] > readings[0]


@pytest.mark.parametrize("ahead", [0, 1, MILLISECOND, 3 * MILLISECOND])
@pytest.mark.parametrize("spin", [0, MILLISECOND // 2, 1000 * MILLISECOND])
def test_a_deadline_is_waited_for_whether_asleep_or_watching(ahead, spin):
    deadline = time.monotonic_ns() + ahead
    told = wait(deadline, spin)
    assert deadline <= told <= time.monotonic_ns()


@pytest.mark.parametrize("spin", [0, MILLISECOND])
def test_a_deadline_of_the_past_is_not_waited_for(spin):
    """Nor is its distance misread: a wait of the clock's whole reading would not end."""
    assert wait(time.monotonic_ns() - 1000 * MILLISECOND, spin) <= time.monotonic_ns()
    assert wait(0, spin) <= time.monotonic_ns()


def test_sleeping_ends_after_its_deadline_and_returns_what_the_system_says():
    deadline = time.monotonic_ns() + MILLISECOND
    assert sleep(deadline) == 0
    assert time.monotonic_ns() >= deadline
    assert sleep(0) == 0
    assert sleep(-1) == errno.EINVAL
