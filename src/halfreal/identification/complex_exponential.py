"""Poles from free decays: the least-squares complex exponential method.

D. L. Brown, R. J. Allemang, R. Zimmerman, M. Mergeay, "Parameter estimation techniques for modal analysis", SAE Paper
790221 (1979).  A free motion, decaying or growing, is a sum of exponentials, so that its samples obey one recurrence,

    h_c(kΔ) = Σ_r A_cr z_rᵏ + o_c,      z_r = e^{s_rΔ}
    Σ_{j=0…p} a_j h_c((k + j)Δ) = d_c,   a_p = 1         for all k and all channels c: least squares for a_j and d_c

whose characteristic roots are the z_r.  With these, the amplitudes A_cr and the offsets o_c of the channels are linear.
An order p of several times the number of modes lets noise have poles of its own; the modes are those with most energy
in the record.  Modes that the record does not hold are refused (``supported_modes.py``).

Samples far closer than the motion needs spoil the recurrence: with ``highest_hz`` the record is low-passed and thinned
out first, which leaves the poles of a free motion as they are.  The filter falls from one third of the new rate to two
thirds of it.  What it lets through of faster motions comes out above ``highest_hz``, as it is or folded at half the
rate: such poles take their share of the record, and are no modes.  What it holds back, 53 dB of it, may fold down among
the modes; but the record before thinning has no energy there, and so it is refused.

======== ==========================================================================
h_c      displacement, velocity or acceleration of channel c in free motion
s_r      poles: frequency |s|/2π, damping ratio −Re s/|s|
Δ, p     sampling step, ``order``
======== ==========================================================================
"""

from __future__ import annotations

import numpy as np

from .poles import ROUNDING, ModalError, Poles, part_left
from .supported_modes import LEAST_ENERGY, energy_over_noise, moves, powers, real_basis, scale

SAMPLES_PER_CYCLE = 3
"""Of the highest frequency, kept when a record is thinned out: what folds to below it is above twice it."""
FILTER_CYCLES = 5
"""Half the length of the thinning filter, in samples kept."""
RAISED = (2, 4)
"""By which the order is raised to see which poles stay."""
LEAST_CYCLES = 1.0
LARGEST_MISFIT = 0.3


def lsce(
    decays: np.ndarray, dt: float, modes: int, *, order: int | None = None, highest_hz: float | None = None
) -> Poles:
    """The ``modes`` oscillating poles with most energy in free motions, (channels, samples) or (samples,).

    Parameters
    ----------
    order
        Of the recurrence, at least twice the modes; four times and eight more if left out.
    highest_hz
        Of the motions looked for; what is faster is filtered out.
    """
    records = np.atleast_2d(np.asarray(decays, dtype=float))
    if not np.all(np.isfinite(records)) or not np.any(np.diff(records)):
        raise ModalError("the decay contains samples that are not finite, or is constant; select a part with motion")
    if not (np.isfinite(dt) and dt > 0.0):
        raise ModalError(f"a sampling step of {dt} s; give the time between two samples, above 0")
    if highest_hz is not None and not (np.isfinite(highest_hz) and highest_hz > 0.0):
        raise ModalError(f"a highest frequency of {highest_hz} Hz; give one above 0, or omit highest_hz")
    order = 4 * modes + 8 if order is None else order
    if modes < 1 or order < 2 * modes:
        raise ModalError(f"order {order} for {modes} mode(s); a mode needs two, so use order {2 * modes} or more")
    smooth, factor = (records, 1) if highest_hz is None else _smooth(records, dt, highest_hz)
    records, dt = smooth[:, ::factor], factor * dt
    count, channels, most = records.shape[1], records.shape[0], order + max(RAISED)
    if channels * (count - most) < 2 * most:
        raise ModalError(
            f"the decay is too short: {count} samples of {1e3 * dt:.4g} ms for order {order}, which takes at least "
            f"{most + -(-2 * most // channels)}; record longer, or request fewer modes or a lower order"
        )
    z = _roots(records, order)
    motions = np.hstack([powers(z, count), np.ones((count, 1))])
    size = records.std(axis=1)  # each channel counts by its own size here too, those of rounding errors do not
    alive = size > ROUNDING * np.abs(records).max(axis=1)
    amplitudes = np.linalg.lstsq(motions, (records[alive] / size[alive, None]).T.astype(complex), rcond=None)[0]
    energy = (np.abs(amplitudes) ** 2).sum(axis=1) * (np.abs(motions) ** 2).sum(axis=0)
    oscillates = (z.imag > 1e-9) & (np.angle(z) < np.pi * (1 - 1e-9))
    slow = np.abs(np.log(z)) <= 2 * np.pi * dt * (np.inf if highest_hz is None else highest_hz)
    upper, faster = np.flatnonzero(oscillates & slow), z[oscillates & ~slow]
    if upper.size < modes:
        below = "" if highest_hz is None else f" up to {highest_hz:g} Hz"
        raise ModalError(
            f"{upper.size} oscillation(s) found{below} where {modes} are requested; request fewer, or excite them "
            "better"
        )
    chosen = upper[np.argsort(-energy[upper])[:modes]]
    chosen = chosen[np.argsort(np.abs(np.log(z[chosen])))]
    poles = np.log(z[chosen]) / dt
    raised = [np.log(_roots(records, order + more)) / dt for more in RAISED]
    original = (one ** (1.0 / factor) for one in (z[chosen], faster))
    _check_supported(poles, energy_over_noise(smooth, *original), moves(poles, raised), order)
    _check_length(poles, count * dt)
    residues, misfit = _shares(records, z[chosen], faster)
    if misfit > LARGEST_MISFIT:
        raise ModalError(
            f"{100 * misfit:.0f} % of the decay is unexplained by {modes} mode(s), more than "
            f"{100 * LARGEST_MISFIT:.0f} %; excite it harder, exclude higher frequencies "
            "(highest_hz) and channels that "
            "hardly move, or request more modes"
        )
    return Poles(poles, residues, misfit)


def lsce_supported(decays: np.ndarray, dt: float, most: int, *, highest_hz: float | None = None) -> Poles:
    """As many modes, up to ``most``, as the decays support."""
    for modes in range(most, 1, -1):  # the last one's error is told
        try:
            return lsce(decays, dt, modes, highest_hz=highest_hz)
        except ModalError:
            continue  # fewer may do
    return lsce(decays, dt, min(most, 1), highest_hz=highest_hz)


def _roots(records: np.ndarray, order: int) -> np.ndarray:
    """z_r of the recurrence of an order."""
    tables = []
    for one in records:
        rows = np.lib.stride_tricks.sliding_window_view(one, order + 1)
        moving = rows - rows.mean(axis=0)  # takes d_c away
        size = np.sqrt(np.mean(moving**2))
        if size > ROUNDING * np.abs(one).max():
            tables.append(moving / size)  # each channel counts by its own size: a recurrence knows no amplitude
    if not tables:
        raise ModalError("the decay has no content below highest_hz; raise it, or select a part with motion")
    table = np.vstack(tables)
    solution = np.linalg.lstsq(table[:, :-1], -table[:, -1], rcond=None)[0]
    z = np.roots(np.append(solution, 1.0)[::-1]).astype(complex)
    return np.asarray(z[np.abs(z) > 1e-6])


def _shares(records: np.ndarray, z: np.ndarray, faster: np.ndarray) -> tuple[np.ndarray, float]:
    """Complex amplitudes of the chosen poles and their conjugates in each record, and what all and offsets leave."""
    every, count = np.append(z, faster), records.shape[1]
    basis = real_basis(every, count)
    found = np.linalg.lstsq(basis, records.T, rcond=None)[0]
    n = len(every)
    amplitudes = (found[:n] + 1j * found[n : 2 * n]).T * scale(every, count)
    return amplitudes[:, : len(z)], part_left((records.T - basis @ found).T, (records.T - found[-1]).T, records)


def _check_length(poles: np.ndarray, duration: float) -> None:
    slowest = float(np.abs(poles.imag).min()) / (2 * np.pi)
    if slowest * duration < LEAST_CYCLES:
        raise ModalError(
            f"the decay is too short: its {duration:.4g} s hold {slowest * duration:.2g} cycle(s) of the slowest "
            f"motion found, {slowest:.4g} Hz; record at least {LEAST_CYCLES / slowest:.3g} s, or request fewer modes"
        )


def _check_supported(poles: np.ndarray, energy: np.ndarray, moved: np.ndarray, order: int) -> None:
    good = (energy >= LEAST_ENERGY) & (moved <= 1.0)
    supported = int(good.sum())
    if supported < len(poles):
        k = int(np.argmin(good))
        raise ModalError(
            f"the decay is too noisy for {len(poles)} mode(s), or holds fewer: it supports {supported}. The one at "
            f"{abs(poles[k]) / (2 * np.pi):.4g} Hz has {energy[k]:.2g} times the energy of the noise around it, where "
            f"{LEAST_ENERGY:g} are needed, and its pole moves {moved[k]:.2g} times as far as allowed as the order is "
            f"raised from {order} to {order + max(RAISED)}; ask for {supported or 'none'} (lsce_supported does), "
            "excite the others harder, or leave out what is faster (highest_hz)"
        )


def _smooth(records: np.ndarray, dt: float, highest_hz: float) -> tuple[np.ndarray, int]:
    """Low-passed, without the ends that the filter has not filled, and how many samples are one when thinned out."""
    from scipy.signal import firwin

    factor = int(1.0 / (SAMPLES_PER_CYCLE * highest_hz * dt))
    if factor < 2:
        return records, 1
    taps = firwin(2 * FILTER_CYCLES * factor + 1, 1.0 / factor, window="hamming")
    if records.shape[1] <= taps.size:
        raise ModalError(
            f"the decay is too short to be filtered at {highest_hz:g} Hz: {records.shape[1]} samples where the filter "
            f"takes {taps.size}; record longer, or omit highest_hz"
        )
    return np.array([np.convolve(one, taps, mode="valid") for one in records]), factor
