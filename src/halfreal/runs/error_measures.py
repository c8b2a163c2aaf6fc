"""How far a signal x is from the reference r it should have been, sample by sample: plain numbers.

NaN where a measure has no meaning (no samples, a reference that is zero throughout).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


def nrmse(reference: np.ndarray, signal: np.ndarray) -> float:
    """Root mean square of the error over that of the reference.

    NRMSE = √( Σ (x_k − r_k)² / Σ r_k² )
    """
    return _ratio(float(np.linalg.norm(signal - reference)), float(np.linalg.norm(reference)))


def peak_error(reference: np.ndarray, signal: np.ndarray) -> float:
    """Difference of the peaks over the peak of the reference: blind to delay, negative if the signal is too small.

    e = ( max|x_k| − max|r_k| ) / max|r_k|
    """
    due = _peak(reference)
    return _ratio(_peak(signal) - due, due)


def largest_error(reference: np.ndarray, signal: np.ndarray) -> float:
    """Largest error at any time over the peak of the reference.

    e = max|x_k − r_k| / max|r_k|
    """
    return _ratio(_peak(signal - reference), _peak(reference))


def frequency_evaluation(reference: np.ndarray, signal: np.ndarray, step: float) -> FrequencyEvaluation:
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
    """
    if len(reference) < FEWEST_SAMPLES:
        return FrequencyEvaluation(NAN, NAN, NAN, NAN)
    window = np.ones(len(reference)) if is_transient(reference) else np.hanning(len(reference))
    target, measured = _spectrum(reference, window), _spectrum(signal, window)
    del window  # a long record has columns of many megabytes
    power = np.abs(target)
    power *= power
    total = float(power.sum())
    if not (np.isfinite(total) and total > 0) or not np.all(np.isfinite(measured)):
        return FrequencyEvaluation(NAN, NAN, NAN, NAN)
    index = complex(np.multiply(measured, np.conjugate(target, out=target), out=measured).sum() / total)
    del target, measured
    power *= np.fft.rfftfreq(len(reference), step)[1:]
    frequency = float(power.sum() / total)
    phase = float(np.angle(index))
    return FrequencyEvaluation(abs(index), phase, frequency, -phase / (2 * np.pi * frequency))


def is_transient(reference: np.ndarray) -> bool:
    """Whether a motion has most of its energy in one half of its record."""
    power = reference - reference.mean()
    power *= power
    halves = [float(half.sum()) for half in (power[: len(power) // 2], power[len(power) // 2 :])]
    return TRANSIENT * min(halves) < max(halves)


def _spectrum(signal: np.ndarray, window: np.ndarray) -> np.ndarray:
    mean = (window * signal).sum() / window.sum()
    part = signal - mean
    part *= window
    return np.fft.rfft(part)[1:]


def _peak(signal: np.ndarray) -> float:
    return float(np.max(np.abs(signal), initial=0.0))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 and np.isfinite(part) and np.isfinite(whole) else NAN
