"""Histories of signals as shift registers, newest row first (why not rings: ``halfreal.kernels.block``, rule 5)."""

from __future__ import annotations

from .compile import kernel


@kernel
def fill(history, values):  # type: ignore[no-untyped-def]
    """Every row becomes ``values``, as if the signal had always had this value."""
    for j in range(history.shape[0]):
        for c in range(history.shape[1]):
            history[j, c] = values[c]


@kernel
def push(history, values):  # type: ignore[no-untyped-def]
    """Move every row back by one and put ``values`` in front; the oldest row drops out."""
    for j in range(history.shape[0] - 1, 0, -1):
        for c in range(history.shape[1]):
            history[j, c] = history[j - 1, c]
    for c in range(history.shape[1]):
        history[0, c] = values[c]


@kernel
def weighted(weights, history, first, c):  # type: ignore[no-untyped-def]
    """The sum of the weights times as many rows of column ``c``, from the row ``first`` on."""
    total = 0.0
    for k in range(weights.size):
        total += weights[k] * history[first + k, c]
    return total
