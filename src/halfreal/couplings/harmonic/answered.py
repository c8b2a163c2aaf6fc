"""Whether the rig answered the random drive of an identification, harmonic by harmonic.

In each random interval the amplitudes of the drive are constant.  Over its second half, when most of the transients are
gone, the amplitudes Y of the measured motion at all harmonics are fitted by least squares, under a Hann window that
keeps what still rings at other frequencies out.  Across the intervals j, Y is regressed on the amplitudes of the drive:

    Y_ij = c_i + Σ_c H_ic ψ_ijc + e_ij,        F = (explained by ψ / 2n) / (left / 2(J − n − 1))

If the drive did nothing, F has the F distribution with 2n and 2(J − n − 1) degrees of freedom, regardless of the
spectrum of the noise, as long as noise of different intervals is independent: that it passes ``needed`` then has the
probability ``CHANCE``.  What moves at the harmonic without the drive, such as an excitation of the specimen, is in c_i.
A harmonic that only rings when the drive switches passes for answered if that has not died out by the second half.

    n, J    number of axes, of random intervals
    ψ, Y    complex amplitudes of the drive and of the motion
"""

from __future__ import annotations

import math

import numpy as np

from ... import units
from ...kernels.block import Value
from ...kernels.compile import kernel
from ...kernels.givens import rotate_in, solve

NOT_JUDGED, ANSWERED, SILENT = 0.0, 1.0, 2.0
"""Of a harmonic, after the identification; it is not judged if the intervals are too few or too short."""
CHANCE = 1e-3
"""Probability that a harmonic which the rig does not answer passes for answered."""
LOST = "the rig's motion does not follow the random drive there, or is lost in noise and transients"
REMEDY = (
    "raise coupling.amplitude, lengthen coupling.random_interval or coupling.identification_time, or remove the "
    "harmonic"
)
PERIODS = 0.5
"""Of a harmonic, in the second half of an interval, below which its amplitude is not judged."""


def needed(axes: int, intervals: int) -> float:
    """F above which a harmonic counts as answered after so many intervals; 0 for too few to decide."""
    from scipy.special import fdtri  # takes long to import, and few tests come here

    free = intervals - axes - 1
    return float(fdtri(2 * axes, 2 * free, 1.0 - CHANCE)) if free > 0 else 0.0


def parameters(hz: np.ndarray, axes: int, dt: float, time: float, interval: float) -> dict[str, Value]:
    """What ``listen`` and ``judge`` need."""
    intervals = math.floor(time / interval + 1e-9)
    return {
        "judged": judged(hz, axes, dt, time, interval).astype(float),
        "intervals": float(intervals),
        "needed": needed(axes, intervals),
    }


def judged(hz: np.ndarray, axes: int, dt: float, time: float, interval: float) -> np.ndarray:
    """Which harmonics can be judged: the intervals are enough, and long enough."""
    enough = needed(axes, math.floor(time / interval + 1e-9)) > 0.0 and 0.5 * interval / dt >= 2 * (1 + 2 * len(hz))
    return np.asarray((0.5 * interval * hz >= PERIODS) & enough)


def state(axes: int, harmonics: int) -> dict[str, Value]:
    """State of ``listen``: the fit within an interval, and that across intervals."""
    waves, size = 1 + 2 * harmonics, 2 * (axes + 1)
    return {
        "wave_r": np.zeros((waves, waves)),
        "wave_z": np.zeros((axes, waves)),
        "wave_row": np.zeros(waves),
        "found": np.zeros((axes, waves)),
        "answer_r": np.zeros((harmonics, size, size)),
        "answer_z": np.zeros((harmonics, axes, size)),
        "answer_row": np.zeros(size),
        "answer_right": np.zeros(axes),
        "left": np.zeros((harmonics, axes)),
        "excited": np.zeros(harmonics),
    }


@kernel
def listen(p, s, u, angle, t):  # type: ignore[no-untyped-def]
    """Take in a tick of an identification: ``angle`` is that of the first harmonic (p.order shows the others')."""
    n = s.left.shape[1]
    number = math.floor(t / p.random_interval + 1e-9)
    if number != s.drawn:  # the drive is still that of the interval before
        close(p, s, angle)
    within = t / p.random_interval - number
    if number != s.drawn or within < 0.5:
        return
    weight = math.sin(2.0 * math.pi * (within - 0.5))
    s.wave_row[0] = weight
    for i in range(p.order.shape[0]):
        s.wave_row[1 + 2 * i] = weight * math.cos(p.order[i] * angle)
        s.wave_row[2 + 2 * i] = -weight * math.sin(p.order[i] * angle)
    for o in range(n):
        s.answer_right[o] = weight * u[n + o]
    rotate_in(s.wave_r, s.wave_z, s.wave_row, s.answer_right, 0)


@kernel
def close(p, s, angle):  # type: ignore[no-untyped-def]
    """At the end of an interval: the amplitudes of its motion against those of its drive, s.phasor = [Re q, −Im q]."""
    n = s.left.shape[1]
    if 0.0 <= s.drawn < p.intervals:  # a whole one
        solve(s.wave_r, s.wave_z, s.found)
        for i in range(p.order.shape[0]):
            cosine, sine = math.cos(p.order[i] * angle), math.sin(p.order[i] * angle)
            for part in range(2):
                s.answer_row[part], s.answer_row[1 - part] = 1.0, 0.0
                for c in range(n):
                    q, minus = s.phasor[0, 2 * i * n + c], s.phasor[0, (2 * i + 1) * n + c]
                    real, imaginary = cosine * q - sine * minus, -(cosine * minus + sine * q)
                    s.answer_row[2 + 2 * c] = real if part == 0 else imaginary
                    s.answer_row[3 + 2 * c] = -imaginary if part == 0 else real
                for o in range(n):
                    s.answer_right[o] = s.found[o, 1 + 2 * i + part]
                rotate_in(s.answer_r[i], s.answer_z[i], s.answer_row, s.answer_right, 0)
                for o in range(n):
                    s.left[i, o] += s.answer_right[o] * s.answer_right[o]
    s.wave_r[:] = 0.0
    s.wave_z[:] = 0.0


@kernel
def answers(p, s, i, o):  # type: ignore[no-untyped-def]
    """Whether the motion of axis o follows the drive of harmonic i: F passes what is needed."""
    n = s.left.shape[1]
    explained = 0.0
    for k in range(2, s.answer_z.shape[2]):
        explained += s.answer_z[i, o, k] * s.answer_z[i, o, k]
    return explained * (p.intervals - n - 1) > p.needed * n * s.left[i, o]


@kernel
def judge(p, s, angle):  # type: ignore[no-untyped-def]
    """At the end of an identification: whether some axis answered each harmonic, into s.excited."""
    close(p, s, angle)
    for i in range(p.order.shape[0]):
        if p.judged[i] == 0.0:
            continue
        s.excited[i] = SILENT
        for o in range(s.left.shape[1]):
            if answers(p, s, i, o):
                s.excited[i] = ANSWERED


def texts(hz: np.ndarray, names: tuple[str, ...]) -> dict[str, dict[float, str]]:
    """Words for the channels of s.excited."""
    found = {}
    for frequency, name in zip(hz, names, strict=True):
        at = units.text(float(frequency), "Hz")
        found[name] = {
            NOT_JUDGED: f"the response of the rig at {at} is not known",
            ANSWERED: "",
            SILENT: f"warning: not excited at {at}: {LOST}; {REMEDY}",
        }
    return found
