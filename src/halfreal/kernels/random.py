"""Reproducible normal deviates from a counter, so that noise is part of the loop's one state vector.

A library generator hides its state; here the n-th deviate of a stream is a pure function of (seed, stream, n): the
SplitMix64 finaliser (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014) hashes the counter to two uniform numbers, and
Box–Muller turns them into one normal deviate.  Snapshots, restarts and perturbed copies of a loop see the same noise.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STREAM = np.uint64(0xD1342543DE82EF95)


@kernel
def _mixed(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@kernel
def normal(seed, stream, count):  # type: ignore[no-untyped-def]
    """The ``count``-th standard normal deviate of a stream; all three are whole numbers held as floats."""
    origin = _mixed(np.uint64(seed) * _STREAM + np.uint64(stream) + _GOLDEN)
    first = _mixed(origin + _GOLDEN * np.uint64(2.0 * count + 1.0))
    second = _mixed(origin + _GOLDEN * np.uint64(2.0 * count + 2.0))
    # 53 bits each; the half keeps the logarithm away from zero
    radius = (np.float64(first >> np.uint64(11)) + 0.5) / 9007199254740992.0
    angle = np.float64(second >> np.uint64(11)) / 9007199254740992.0
    return math.sqrt(-2.0 * math.log(radius)) * math.cos(2.0 * math.pi * angle)
