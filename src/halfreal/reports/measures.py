"""Error measures: how well the rig followed (synchronisation) and how true the test was (fidelity).

Every measure compares a signal x with the reference r it should have been, sample by sample, and is a plain number;
NaN where it has no meaning (no samples, a reference that is zero throughout).

=====================  =======================================  ===================================================
row                    reference r                              signal x
=====================  =======================================  ===================================================
synchronisation        target z: where the virtual part is      measured displacement: where the specimen is
fidelity               reference z*: the emulated system        target z: where the virtual part is
=====================  =======================================  ===================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..runs.run import Run
from .series import in_test, judged, peak
from .wording import in_time, in_unit, percent

REFERENCES = ("guo2014", "mosqueda2007")
"""Papers of the measures, for the report."""

FEWEST_SAMPLES = 8
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


@dataclass(frozen=True)
class Measures:
    """One row of the table of errors: one comparison for one degree of freedom of the interface."""

    comparison: str
    """``"synchronisation"`` or ``"fidelity"``."""
    dof: int
    """From 1."""
    nrmse: float
    peak_error: float
    largest_error: float
    amplitude: float
    delay: float
    frequency_hz: float
    energy_error: float
    """Only for the synchronisation, and only if a force was measured."""
    samples: int
    """How many samples were compared."""


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
    - Both signals lose their mean and are weighted by a Hann window before the transform: a record rarely holds a whole
      number of cycles, and the jump between its ends would spread over all frequencies.  The middle of the record thus
      counts more than its ends.  The zero frequency, where a delay has no phase, is left out.
    - A true delay over a band of frequencies turns the phases apart; to second order the average falls short of the
      true amplitude by the factor 1 − ½ d² σ², σ² [rad²/s²] being the variance of 2πf under the weights.
    - A delay beyond half a period of f_eq cannot be told from a lead.
    """
    if len(reference) < FEWEST_SAMPLES:
        return FrequencyEvaluation(NAN, NAN, NAN, NAN)
    window = np.hanning(len(reference))
    target, measured = _spectrum(reference, window), _spectrum(signal, window)
    power = np.abs(target) ** 2
    total = float(power.sum())
    if not (np.isfinite(total) and total > 0) or not np.all(np.isfinite(measured)):
        return FrequencyEvaluation(NAN, NAN, NAN, NAN)
    index = complex((measured * target.conj()).sum() / total)
    frequencies = np.fft.rfftfreq(len(reference), step)[1:]
    frequency = float((frequencies * power).sum() / total)
    phase = float(np.angle(index))
    return FrequencyEvaluation(abs(index), phase, frequency, -phase / (2 * np.pi * frequency))


def energy_error(force: np.ndarray, target: np.ndarray, measured: np.ndarray) -> float:
    """Work of the measured force on the gap over the work it exchanges on the target.

        e = ∫ f d(x − z) / ∫ |f dz|

    The specimen takes up ∫ f dx while the virtual part gives ∫ f dz; the difference, which the transfer system adds on
    its own account, is the energy error that G. Mosqueda, B. Stojadinović, S. A. Mahin, J. Struct. Eng. 133 (2007)
    1100–1108, monitor.  f is the resisting force.  **Positive: the transfer system feeds energy in**, which acts as
    negative damping (a delay does); negative: it takes energy out.  The energy going forth and back on the target is
    the measure, as the net work is near zero on an elastic specimen.  A spring lagging by the phase φ in a steady sine
    has e = π sin φ / (2 cos φ + 2 φ sin φ) ≈ π φ/2.  Integrals by the trapezium rule.
    """
    if len(force) < 2:
        return NAN
    mean_force = 0.5 * force[1:] + 0.5 * force[:-1]
    on_gap = float(np.sum(mean_force * np.diff(measured - target)))
    return _ratio(on_gap, float(np.sum(np.abs(mean_force * np.diff(target)))))


def measures(run: Run, from_time: float = 0.0) -> tuple[Measures, ...]:
    """The table of errors of a run from ``from_time`` [s] on (to leave out a start-up), for each degree of freedom.

    Judged is the test itself, from 0 s to its duration and not the way there and back; a tripped or stopped run up to
    then, as the guard moves the rig afterwards and not the test; a diverged record up to its first number that is not
    finite.
    """
    target, force = run.vector("target"), run.vector("measured.force")
    measured, reference = run.vector("measured.displacement"), run.vector("reference")
    rows = []
    for name, truth, signal in (("synchronisation", target, measured), ("fidelity", reference, target)):
        if truth is None or signal is None:
            continue
        for i in range(run.interface):
            work = force[:, i] if force is not None and name == "synchronisation" else None
            rows.append(_row(run, from_time, name, i, truth[:, i], signal[:, i], work))
    return tuple(rows)


def key_figures(run: Run, from_time: float = 0.0) -> list[tuple[str, str]]:
    """The few numbers to read first, in words; of several degrees of freedom the worst."""
    figures = [("Outcome", run.outcome if not run.reason else f"{run.outcome}: {run.reason}")]
    if run.stability is not None:
        figures.append(("Spectral radius", f"{run.stability.spectral_radius:.6f}"))
    target = run.vector("target")
    if target is not None:
        unit = run.signals["target" if run.interface == 1 else "target.1"].unit
        figures.append(("Peak target", in_unit(peak(target[in_test(run)]), unit)))
    rows = measures(run, from_time)
    for comparison, name in (("synchronisation", "Synchronisation error"), ("fidelity", "Fidelity error")):
        compared = [row for row in rows if row.comparison == comparison]
        if not compared:
            continue
        worst = max(compared, key=lambda row: np.inf if np.isnan(row.nrmse) else row.nrmse)
        figures.append((name, percent(worst.nrmse)))
        if comparison == "synchronisation":
            figures.append(("Remaining delay", in_time(worst.delay)))
            figures.append(("Amplitude error", percent(worst.amplitude - 1, sign=True)))
    return figures


def _row(
    run: Run, from_time: float, name: str, i: int, reference: np.ndarray, signal: np.ndarray, force: np.ndarray | None
) -> Measures:
    kept = judged(run, from_time)
    columns = [column[kept] for column in (run.time, reference, signal, *([] if force is None else [force]))]
    finite = np.all(np.isfinite(columns), axis=0)
    end = len(finite) if finite.all() else int(np.argmin(finite))
    time, r, x = (column[:end] for column in columns[:3])
    step = (time[-1] - time[0]) / (end - 1) if end > 1 else run.step
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged record may overflow: the measure is then NaN
        found = frequency_evaluation(r, x, step)
        return Measures(
            comparison=name,
            dof=i + 1,
            nrmse=nrmse(r, x),
            peak_error=peak_error(r, x),
            largest_error=largest_error(r, x),
            amplitude=found.amplitude,
            delay=found.delay,
            frequency_hz=found.frequency_hz,
            energy_error=NAN if force is None else energy_error(columns[3][:end], r, x),
            samples=end,
        )


def _spectrum(signal: np.ndarray, window: np.ndarray) -> np.ndarray:
    mean = (window * signal).sum() / window.sum()
    return np.fft.rfft(window * (signal - mean))[1:]


def _peak(signal: np.ndarray) -> float:
    return float(np.max(np.abs(signal), initial=0.0))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 and np.isfinite(part) and np.isfinite(whole) else NAN
