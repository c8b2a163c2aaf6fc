"""Poles from free decays: the least-squares complex exponential method.

D. L. Brown, R. J. Allemang, R. Zimmerman, M. Mergeay, "Parameter estimation techniques for modal analysis", SAE Paper
790221 (1979).  A free motion, decaying or growing, is a sum of exponentials, so that its samples obey one recurrence,

    h_c(kΔ) = Σ_r A_cr z_rᵏ,      z_r = e^{s_rΔ}
    Σ_{j=0…p} a_j h_c((k + j)Δ) = 0,   a_p = 1           for all k and all channels c: least squares for a_j

whose characteristic roots are the z_r.  With these, the amplitudes A_cr are linear.  An order p of several times the
number of modes lets noise have poles of its own; the modes are those with most energy in the record.

Samples far closer than the motion needs spoil the recurrence: with ``highest_hz`` the record is low-passed and thinned
out first, which leaves the poles of a free motion as they are.

======== ==========================================================================
h_c      displacement, velocity or acceleration of channel c in free motion
s_r      poles: frequency |s|/2π, damping ratio −Re s/|s|
Δ, p     sampling step, ``order``
======== ==========================================================================
"""

from __future__ import annotations

import numpy as np

from .poles import ModalError, Poles

SAMPLES_PER_CYCLE = 2.5
"""Of the highest frequency, kept when a record is thinned out."""
FILTER_CYCLES = 5
"""Half the length of the thinning filter, in samples kept."""
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
    if not np.all(np.isfinite(records)) or not np.any(records):
        raise ModalError(
            "the decay holds samples that are not finite, or nothing but zeros; cut out a piece that moves"
        )
    if not (np.isfinite(dt) and dt > 0.0):
        raise ModalError(f"a sampling step of {dt} s; give the time between two samples, above 0")
    if highest_hz is not None and not (np.isfinite(highest_hz) and highest_hz > 0.0):
        raise ModalError(f"a highest frequency of {highest_hz} Hz; give one above 0, or leave highest_hz out")
    order = 4 * modes + 8 if order is None else order
    if modes < 1 or order < 2 * modes:
        raise ModalError(f"order {order} for {modes} mode(s); a mode takes two, so ask for order {2 * modes} or more")
    if highest_hz is not None:
        records, dt = _thinned(records, dt, highest_hz)
    count = records.shape[1]
    if records.shape[0] * (count - order) < 2 * order:
        raise ModalError(
            f"the decay is too short: {count} samples of {1e3 * dt:.4g} ms for order {order}, which takes at least "
            f"{order + -(-2 * order // records.shape[0])}; record longer, or ask for fewer modes or a lower order"
        )
    z = np.roots(_recurrence(records, order)[::-1])
    z = z[np.abs(z) > 1e-6]
    powers = _powers(z, count)
    amplitudes, *_ = np.linalg.lstsq(powers, records.T.astype(complex), rcond=None)
    energy = (np.abs(amplitudes) ** 2).sum(axis=1) * (np.abs(powers) ** 2).sum(axis=0)
    upper = np.flatnonzero((z.imag > 1e-9) & (np.angle(z) < np.pi * (1 - 1e-9)))
    if upper.size < modes:
        raise ModalError(
            f"{upper.size} oscillation(s) found where {modes} are asked for; ask for fewer, or excite them better"
        )
    chosen = upper[np.argsort(-energy[upper])[:modes]]
    chosen = chosen[np.argsort(np.abs(np.log(z[chosen])))]
    poles = np.log(z[chosen]) / dt
    residues, misfit = _shares(records, z[chosen])
    _check(poles, residues, misfit, count * dt, modes)
    return Poles(poles, residues, misfit)


def _recurrence(records: np.ndarray, order: int) -> np.ndarray:
    """a_0 … a_p with a_p = 1."""
    rows = records.shape[1] - order
    windows = [np.column_stack([one[j : j + rows] for j in range(order + 1)]) for one in records]
    # each channel counts by its own size: a recurrence knows no amplitude
    table = np.vstack([window / np.sqrt(np.mean(window**2)) for window in windows if np.any(window)])
    solution = np.linalg.lstsq(table[:, :-1], -table[:, -1], rcond=None)[0]
    return np.append(solution, 1.0)


def _powers(z: np.ndarray, count: int) -> np.ndarray:
    """z_rᵏ, (count, poles)."""
    return np.asarray(np.exp(np.outer(np.arange(count), np.log(z.astype(complex)))))


def _shares(records: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float]:
    """Complex amplitudes of the chosen poles and their conjugates in each record, and what they leave."""
    powers = _powers(z, records.shape[1])
    basis = np.hstack([powers.real, -powers.imag])
    found = np.linalg.lstsq(basis, records.T, rcond=None)[0]
    left = records.T - basis @ found
    size = np.sqrt(np.mean(records**2))
    return (found[: len(z)] + 1j * found[len(z) :]).T, float(np.sqrt(np.mean(left**2)) / size)


def _check(poles: np.ndarray, residues: np.ndarray, misfit: float, duration: float, modes: int) -> None:
    slowest = float(np.abs(poles.imag).min()) / (2 * np.pi)
    if slowest * duration < LEAST_CYCLES:
        raise ModalError(
            f"the decay is too short: its {duration:.4g} s hold {slowest * duration:.2g} cycle(s) of the slowest "
            f"motion found, {slowest:.4g} Hz; record at least {LEAST_CYCLES / slowest:.3g} s, or ask for fewer modes"
        )
    if misfit > LARGEST_MISFIT:
        raise ModalError(
            f"the decay is too noisy for {modes} mode(s): {100 * misfit:.0f} % of it is left unexplained, more than "
            f"{100 * LARGEST_MISFIT:.0f} %; excite it harder, leave out what is faster (highest_hz), or ask for "
            "another number of modes"
        )


def _thinned(records: np.ndarray, dt: float, highest_hz: float) -> tuple[np.ndarray, float]:
    """Low-passed and thinned out, without the ends that the filter has not filled."""
    from scipy.signal import firwin

    factor = int(1.0 / (SAMPLES_PER_CYCLE * highest_hz * dt))
    if factor < 2:
        return records, dt
    taps = firwin(2 * FILTER_CYCLES * factor + 1, 1.0 / factor, window="hamming")
    if records.shape[1] <= taps.size:
        raise ModalError(
            f"the decay is too short to be filtered at {highest_hz:g} Hz: {records.shape[1]} samples where the filter "
            f"takes {taps.size}; record longer, or leave highest_hz out"
        )
    smooth = np.array([np.convolve(one, taps, mode="valid") for one in records])
    return smooth[:, ::factor], factor * dt
