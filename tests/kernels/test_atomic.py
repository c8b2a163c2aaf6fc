"""Words between threads: whole, in order, and read anew each time."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.atomic import fence, load_word, store_word
from halfreal.kernels.bytes import load64, store64
from halfreal.kernels.compile import kernel

ROUNDS = 2000


@kernel
def load(address):
    return load_word(address)


@kernel
def store(address, value):
    store_word(address, value)
    fence()


@kernel
def wait_for(address, value):
    while load_word(address) != value:
        pass


@kernel
def publish(word, content, length, rounds):
    """Writes the round into every place, then into the word; then waits until it was answered."""
    for number in range(1, rounds + 1):
        for i in range(length):
            store64(content + 8 * i, number)
        store_word(word, number)
        while load_word(word) != -number:
            pass


@kernel
def check(word, content, length, rounds):
    """How many places did not yet hold the round when the word did."""
    wrong = 0
    for number in range(1, rounds + 1):
        while load_word(word) != number:
            pass
        for i in range(length):
            if load64(content + 8 * i) != number:
                wrong += 1
        store_word(word, -number)
    return wrong


@given(value=st.integers(-(2**63), 2**63 - 1), place=st.integers(0, 2))
def test_a_word_is_read_as_it_was_written_and_its_neighbours_stay(value, place):
    words = np.array([11, 22, 33])
    expected = words.copy()
    expected[place] = value
    address = words.ctypes.data + 8 * place
    store(address, value)
    np.testing.assert_array_equal(words, expected)
    assert load(address) == value


def test_a_waiting_loop_sees_what_another_thread_writes():
    """An ordinary load would be moved out of the loop, which then would not end."""
    word = np.zeros(1, dtype=np.int64)
    wait_for(word.ctypes.data, 0)  # compiled
    thread = threading.Thread(target=wait_for, args=(word.ctypes.data, 7), daemon=True)
    thread.start()
    store(word.ctypes.data, 6)
    store(word.ctypes.data, 7)
    thread.join(60.0)
    assert not thread.is_alive()


def test_what_is_stored_before_a_word_is_seen_by_who_has_read_the_word():
    words, content = np.zeros(1, dtype=np.int64), np.zeros(64, dtype=np.int64)
    where = (words.ctypes.data, content.ctypes.data, content.size)
    publish(*where, 0)
    assert check(*where, 0) == 0
    thread = threading.Thread(target=publish, args=(*where, ROUNDS))
    thread.start()
    wrong = check(*where, ROUNDS)
    thread.join()
    assert wrong == 0
