"""Harmonic signals for blocks: amplitudes that turn with their frequency, and what a coupling observes of them.

Real and imaginary parts of the amplitudes of n axes at n_ω harmonics stand in one vector, k = (2i + part) n + c for
harmonic i and axis c.  Symbols and equations are those of ``halfreal.couplings.harmonic.coupling``.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels.block import Value
from ...kernels.compile import kernel
from ...kernels.random import normal

IDENTIFYING, ADAPTING = 0.0, 1.0
"""Values of a coupling's mode."""
NOT_EXCITED = 1
"""Fault of a coupling whose identification had no answer."""
RANDOM_STREAM = 1e6
"""Streams of random numbers from here on are those of random drives; sensors take the first ones."""
MOVES = 1e-4
"""Part of the largest mean square of an axis, below which another axis does not count as moving."""
WHITE, AS_NOISE, EXPLAINED, FEWEST = 4.0, 10.0, 0.03, 100.0
"""A rig did not answer if its motion is white, the correlation of successive samples being below so many deviations of
that of white noise, and the random drives explain below so many times what they would of white noise, and this part;
fewer ticks do not give."""


@kernel
def turn(x, cosine, sine, axes, turned):  # type: ignore[no-untyped-def]
    """[Re z, −Im z] of z = x e^{jφ}, harmonic by harmonic, from [Re x, Im x]."""
    for i in range(cosine.shape[0]):
        c, s = cosine[i], sine[i]
        for k in range(2 * i * axes, (2 * i + 1) * axes):
            real, imaginary = x[k], x[k + axes]
            turned[k] = c * real - s * imaginary
            turned[k + axes] = -(s * real + c * imaginary)


@kernel
def squares(rows, found):  # type: ignore[no-untyped-def]
    """Sums of squares of the entries that belong to each harmonic: |q_i|² of one row r, ‖H_i‖² of the rows P_o."""
    each = rows.shape[1] // found.shape[0]
    for i in range(found.shape[0]):
        found[i] = 0.0
        for o in range(rows.shape[0]):
            for k in range(i * each, (i + 1) * each):
                found[i] += rows[o, k] * rows[o, k]


@kernel
def draw(seed, number, amplitude, x):  # type: ignore[no-untyped-def]
    """The ``number``-th random x, uniform in ±amplitude: erf(·/√2) of a normal deviate is uniform in ±1."""
    for k in range(x.shape[0]):
        x[k] = amplitude * math.erf(normal(seed, RANDOM_STREAM + k, number) / math.sqrt(2.0))


@kernel
def in_metres(u, lengths, motion):  # type: ignore[no-untyped-def]
    """Targets, measured and the twin's displacements, rotations through the lever (``lever.py``), into ``motion``."""
    n = lengths.shape[0]
    for k in range(3 * n):
        motion[k] = lengths[k % n] * u[k]


@kernel
def observe(u, twin, phasor, transfer, gap, answer, error):  # type: ignore[no-untyped-def]
    """Gap g, its answer to the drive r, g − g_ext, and what the transfer functions leave unexplained of that.

    u = (targets y_v, measured displacements y_e, …); twin = −g_ext.
    """
    n = gap.shape[0]
    for o in range(n):
        gap[o] = u[n + o] - u[o]
        answer[o] = gap[o] + twin[o]
        error[o] = answer[o]
        for k in range(phasor.shape[0]):
            error[o] -= transfer[o, k] * phasor[k]


@kernel
def faded_ratio(held, fade, first, second):  # type: ignore[no-untyped-def]
    """Ratio of the fading mean squares of two vectors, held in ``held``, (2, axes): the largest of the axes that move.

    Each axis is compared with its own motion.
    """
    most = 0.0
    for c in range(first.shape[0]):
        held[0, c] = fade * held[0, c] + (1.0 - fade) * first[c] * first[c]
        held[1, c] = fade * held[1, c] + (1.0 - fade) * second[c] * second[c]
        most = max(most, held[1, c])
    worst = 0.0
    for c in range(first.shape[0]):
        if held[1, c] > 0.0 and held[1, c] >= MOVES * most:
            worst = max(worst, held[0, c] / held[1, c])
    return worst


@kernel
def write(phasor, drives, drive, transfer, mode, nmse, misfit, excited, y):  # type: ignore[no-untyped-def]
    """A block's outputs: u = Σ_i Re q_i, and what is worth recording; ``drives`` are those of a lever, ``drive`` and
    ``transfer`` |q_i|², ‖H_i‖²."""
    harmonics, axes = drive.shape[0], drives.shape[0]
    for c in range(axes):
        y[c] = 0.0
    for i in range(harmonics):
        for c in range(axes):
            y[c] += phasor[2 * i * axes + c]
        y[axes + 3 + i] = math.sqrt(drive[i])
        y[axes + 3 + harmonics + i] = math.sqrt(transfer[i])
        y[axes + 3 + 2 * harmonics + i] = excited[i]
    for c in range(axes):
        y[c] *= drives[c]
    y[axes], y[axes + 1], y[axes + 2] = mode, nmse, misfit


def comparison(axes: int, harmonics: int) -> dict[str, Value]:
    """State by which both laws see whether the rig answers: sums over the identification, and their count.

    Of the motion m of each axis since the first tick they are Σm, Σm², and Σm m₋₁ with that of the tick before; of the
    drive Σr_k, Σr_k²; of both Σm_o r_k.  A rig that is at rest shows the white noise of its sensors, of whose power
    the N entries of r explain the part N/ticks.  One that answers moves smoothly, even if transients outweigh what the
    drives explain.
    """
    size = 2 * axes * harmonics
    return {
        "first": np.zeros(axes),
        "last": np.zeros(axes),
        "moved": np.zeros((3, axes)),
        "driven": np.zeros((2, size)),
        "alike": np.zeros((axes, size)),
        "seen": 0.0,
    }


@kernel
def compare(s, u):  # type: ignore[no-untyped-def]
    """Keep sums of how alike the drive and the rig's motion are (``Harmonic.comparison``)."""
    n, size = s.first.shape[0], s.driven.shape[1]
    for o in range(n):
        if s.seen == 0.0:
            s.first[o] = u[n + o]
        moved = u[n + o] - s.first[o]
        s.moved[0, o] += moved
        s.moved[1, o] += moved * moved
        s.moved[2, o] += moved * s.last[o]
        s.last[o] = moved
        for k in range(size):
            s.alike[o, k] += moved * s.phasor[0, k]
    for k in range(size):
        s.driven[0, k] += s.phasor[0, k]
        s.driven[1, k] += s.phasor[0, k] * s.phasor[0, k]
    s.seen += 1.0


@kernel
def unanswered(s):  # type: ignore[no-untyped-def]
    """Whether an axis was at rest, or moved as white noise does of which the random drives explain nothing."""
    size = s.driven.shape[1]
    for o in range(s.first.shape[0]):
        mean = s.moved[0, o] / s.seen
        power, after = s.moved[1, o] - mean * s.moved[0, o], s.moved[2, o] - mean * s.moved[0, o]
        explained = 0.0
        for k in range(size):
            if s.driven[1, k] > 0.0:
                alike = s.alike[o, k] - mean * s.driven[0, k]
                explained += alike * alike / s.driven[1, k]
        white = s.seen >= FEWEST and abs(after) * math.sqrt(s.seen) < WHITE * power
        if not power > 0.0 or (white and explained < min(EXPLAINED, AS_NOISE * size / s.seen) * power):
            return True
    return False
