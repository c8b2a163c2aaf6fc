"""How far a signal x is from the reference r it should have been, sample by sample: plain numbers.

NaN where a measure has no meaning (no samples, a reference that is zero throughout).  Signals are read piece by
piece, so that a record may be larger than the memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .columns import Column, part, pieces, total
from .spectra import hann_window, transforms, whole_parts, without_mean

FEWEST_SAMPLES = 8
TRANSIENT = 4.0
"""Energy of one half of a record over that of the other, beyond which its motion is a transient."""
NAN = float("nan")


@dataclass(frozen=True)
class FrequencyEvaluation:
    """Amplitude and delay of a signal against its reference, in one equivalent frequency response."""

    amplitude: float
    """A: 1 is perfect, below it the signal is too small."""
    phase: float
    """φ [rad], in (−π, π]."""
    frequency_hz: float
    """f_eq: where the reference has its power."""
    delay: float
    """d [s]: positive if the signal is late, negative if it leads."""


def nrmse(reference: Column, signal: Column) -> float:
    """Root mean square of the error over that of the reference.

    NRMSE = √( Σ (x_k − r_k)² / Σ r_k² )
    """
    return sample_errors(reference, signal)[0]


def peak_error(reference: Column, signal: Column) -> float:
    """Difference of the peaks over the peak of the reference: blind to delay, negative if the signal is too small.

    e = ( max|x_k| − max|r_k| ) / max|r_k|
    """
    return sample_errors(reference, signal)[1]


def largest_error(reference: Column, signal: Column) -> float:
    """Largest error at any time over the peak of the reference.

    e = max|x_k − r_k| / max|r_k|
    """
    return sample_errors(reference, signal)[2]


def sample_errors(reference: Column, signal: Column) -> tuple[float, float, float]:
    """NRMSE, peak error and largest error, in one pass over the record."""
    norms, peaks = np.zeros(2), np.zeros(3)
    for r, x in pieces(reference, signal):
        error = x - r
        norms = np.hypot(norms, [np.linalg.norm(error), np.linalg.norm(r)])
        peaks = np.maximum(peaks, [np.max(np.abs(values)) for values in (r, x, error)])  # NaN stays
    due, reached, largest = map(float, peaks)
    return _ratio(float(norms[0]), float(norms[1])), _ratio(reached - due, due), _ratio(largest, due)


def frequency_evaluation(reference: Column, signal: Column, step: float) -> FrequencyEvaluation:
    """Amplitude and delay by the frequency evaluation index (FEI).

    T. Guo, C. Chen, W. Xu, F. Sanchez, Smart Mater. Struct. 23 (2014) 045042.  With the discrete Fourier transforms R
    and X of reference and signal, the frequency response X/R is averaged over the frequencies f_j > 0 with the weights
    |R_j|^l, here l = 2 (power)::

        FEI  = Σ (X_j/R_j) |R_j|² / Σ |R_j|²  =  Σ X_j R_j* / Σ |R_j|²
        f_eq = Σ f_j |R_j|² / Σ |R_j|²
        A    = |FEI|,   φ = arg FEI,   d = −φ / (2π f_eq)

    - With l = 2 the average is a quotient of spectra: noise in the signal that has nothing to do with the reference
      averages out, and no division by a small R_j is ever made.
    - A record that continues rarely holds a whole number of cycles, and the jump between its ends would spread over all
      frequencies: both signals lose their mean and are weighted by a Hann window before the transform.  The middle of
      the record thus counts more than its ends.  The zero frequency, where a delay has no phase, is left out.
    - A transient, of which one half of the record has more than four times the energy of the other (a pulse at the
      start, decayed to a quarter at the end), has its motion where the window would remove it, and next to no jump: it
      is taken as it is, as in the paper, and every sample counts alike.
    - Of two motions that decay differently, e^{−at} and e^{−bt} at one frequency, A → 2a/(a + b): A is of all of the
      motion, not of its peak.  Two that drift apart in phase make A smaller, too.
    - A true delay over a band of frequencies turns the phases apart; to second order the average falls short of the
      true amplitude by the factor 1 − ½ d² σ², σ² [rad²/s²] being the variance of 2πf under the weights.
    - A delay beyond half a period of f_eq cannot be distinguished from a lead.
    - A record of more than 131072 samples is transformed in parts (``spectra.py``).  If its length is not a multiple of
      a suitable number of parts, its last few samples are left out: fewer than one in 65536.
    """
    if len(reference) < FEWEST_SAMPLES:
        return FrequencyEvaluation(NAN, NAN, NAN, NAN)
    parts, length = whole_parts(len(reference))
    count = parts * length
    reference, signal = part(reference, slice(count)), part(signal, slice(count))
    window = None if is_transient(reference) else hann_window(count)
    reference, signal = (without_mean(one, window) for one in (reference, signal))
    power_of_all, index, moment = 0.0, 0j, 0.0
    for numbers, (target, measured) in transforms(reference, signal):
        if numbers[0] == 0:
            numbers, target, measured = numbers[1:], target[1:], measured[1:]
        power = np.abs(target)
        power *= power
        power_of_all += float(power.sum())
        index += complex(np.multiply(measured, np.conjugate(target, out=target), out=measured).sum())
        power *= numbers * (1.0 / (count * step))
        moment += float(power.sum())
    if not (np.isfinite(power_of_all) and power_of_all > 0) or not np.isfinite(index):
        return FrequencyEvaluation(NAN, NAN, NAN, NAN)
    index, frequency = index / power_of_all, moment / power_of_all
    phase = float(np.angle(index))
    return FrequencyEvaluation(abs(index), phase, frequency, -phase / (2 * np.pi * frequency))


def is_transient(reference: Column) -> bool:
    """Whether a motion has most of its energy in one half of its record."""
    centred, middle = without_mean(reference), len(reference) // 2
    halves = [float(total(_energy, part(centred, rows))) for rows in (slice(middle), slice(middle, None))]
    return TRANSIENT * min(halves) < max(halves)


def _energy(values: np.ndarray) -> float:
    return float((values * values).sum())


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 and np.isfinite(part) and np.isfinite(whole) else NAN
