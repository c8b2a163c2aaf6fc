"""How a rig follows its command on one axis: frequency response with its uncertainty, and a rational fit with a delay.

A record of an excitation that repeats is averaged over its periods, without a window; any other, which may run through
its frequencies or die out, over neighbouring lines of its whole spectrum.  Lines count where the command excites them
and the coherence is high enough.  Their standard deviation is

    σ_H/|H| = √((1 − γ²)/(2 γ² n))                                   n averages, γ² the coherence

(J. S. Bendat, A. G. Piersol, Random Data, 4th ed., Wiley 2010).  Fits with 0, 1, 2, … poles are compared by Bayes'
information criterion, N ln(χ²/N) + k ln N with N real numbers measured and k fitted, the least of which is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import HalfrealError
from .assembled_frf import frf_of_run
from .frf import Estimate
from .parameters import CONFIDENCE, covariance
from .rig_record import NotIdentifiableError, RigRecord
from .sought import shifted_delay
from .vector_fitting import RationalFit, vector_fit

LEAST_COHERENCE = 0.8
EXCITED = 1e-4
"""Of the largest power of the command at any line, from which on a line is excited: 40 dB below."""
FEWEST_LINES = 6
MOST_POLES = 8
JUST_NOISE = 1.5
"""χ²/N of a fit that leaves noise only: higher orders have little to add."""
MISFIT = 0.03
"""Of a rational fit, from which on it is reported."""
FAR = 5.0
"""Times the highest line beyond which a pole is none of the rig's."""
LEAST_DEVIATION = 1e-5
"""Relative, of any line: what the record without noise of a simulation is taken for."""
TOGETHER, FEWEST_TOGETHER = 0.25, 8
"""Hz of neighbouring lines that are averaged, and lines at least."""
TAPERED, AT_REST = 0.1, 0.02
"""Share of a record at each of its ends that is tapered, unless its motion there is less than this part of its rms."""


@dataclass(frozen=True)
class RigResponse:
    """A rig on one axis: from its command to its measured displacement."""

    axis: str
    unit: str
    lines: Estimate
    """All lines that the command excites."""
    used: np.ndarray
    """Which of them have a coherence that is high enough."""
    fit: RationalFit | None
    """None where there are too few lines."""
    delay_half_width: float
    """Half of the 95 % interval of the delay of the fit, which speaks of noise only."""
    notes: tuple[str, ...] = ()

    def deviation(self) -> np.ndarray:
        """Relative standard deviation of each line."""
        return np.asarray(np.maximum(self.lines.deviation(), LEAST_DEVIATION))

    def slow_lag(self) -> float:
        """Lag [s] of the fit at its lowest line: −φ/ω."""
        assert self.fit is not None
        omega = 2 * np.pi * self.lines.frequency_hz[self.used][0]
        return float(-np.angle(self.fit.response(np.array([omega]))[0]) / omega)


def rig_response(record: RigRecord, axis: int, *, fitted: bool = True) -> RigResponse:
    """The response on an axis, counted from 0, ``fitted`` or not; refused if its command does not move it."""
    name = record.run.interface.names[axis]
    column = record.run.column("command", axis)
    if column is None or not np.ptp(record.commands[record.kept, column]) > 0.0:
        raise NotIdentifiableError(f"{record.name} does not command axis {name}; give a record that does")
    command, moved = record.commands[record.kept, column], record.displacement[record.kept, axis]
    late = max(shifted_delay(command[:, None], moved[:, None], command.size // 4), 0)
    lines, power = _periodic(record, column, axis) or _smoothed(command, moved, record, late)
    excited = power > EXCITED * power.max()
    lines = Estimate(
        lines.frequency_hz[excited], lines.response[excited], lines.coherence[excited], lines.averages, lines.unit
    )
    used = lines.coherence >= LEAST_COHERENCE
    notes = []
    if not used.all():
        bad = lines.frequency_hz[~used]
        notes.append(
            f"{bad.size} of {used.size} lines have a coherence below {LEAST_COHERENCE:g}, from {bad[0]:.3g} to "
            f"{bad[-1]:.3g} Hz, and are not fitted: noise, or a rig that is not linear; move more, or record longer"
        )
    fit, half = None, float("nan")
    if not fitted:
        return RigResponse(name, lines.unit, lines, used, None, half)
    if used.sum() >= FEWEST_LINES:
        fit, half = _rational(lines, used, (2 * late + 10) * record.step)
        known = float(np.median(lines.deviation()[used]))
        if fit.error > max(MISFIT, 10.0 * known):
            notes.append(
                f"the rational fit leaves {100 * fit.error:.2g} % of a response that is known to {100 * known:.2g} %: "
                "the rig is not linear at this amplitude, as when it saturates or sticks, or is of a higher order; "
                "move less, and see whether that becomes less"
            )
    else:
        notes.append(
            f"{int(used.sum())} lines of the response can be used, and a rational fit needs {FEWEST_LINES}: the "
            f"command excites {_span(lines.frequency_hz)}; excite a band (--experiment)"
        )
    return RigResponse(name, lines.unit, lines, used, fit, half, tuple(notes))


def _span(hz: np.ndarray) -> str:
    return f"{hz[0]:.3g} to {hz[-1]:.3g} Hz" if hz.size else "no line"


def _periodic(record: RigRecord, column: int, axis: int) -> tuple[Estimate, np.ndarray] | None:
    """Averaged over periods, if the run's excitation repeats often enough."""
    run = record.run
    of = run.along("command").channels("command")[column], run.interface.channels("measured.displacement")[axis]
    try:
        found = frf_of_run(run, (of[1],), input=of[0])
    except HalfrealError:  # another excitation, or too short
        return None
    if found.kind != "random" or found.averages < 3 or found.driven is None:
        return None
    # a coherence of n periods knows the noise with n − 1 degrees of freedom
    lines = Estimate(found.frequency_hz, found.values[0], found.coherence[0], found.averages - 1, found.units[0])
    return lines, np.abs(found.driven) ** 2


def _smoothed(command: np.ndarray, moved: np.ndarray, record: RigRecord, late: int) -> tuple[Estimate, np.ndarray]:
    """Averaged over neighbouring lines of the whole record: of its differences, which begin and end with nothing where
    the rig is at rest, and are tapered where it does not.  It is ``late`` by so many samples: they are taken off
    before, and put back, as the phase must not turn among lines that are averaged."""
    x, y = np.diff(command), np.diff(moved)
    count, taper = x.size, _taper(x)
    x, y = np.fft.rfft(taper * x), np.fft.rfft(taper * y)
    hz = np.fft.rfftfreq(count, record.step)
    y *= np.exp(2j * np.pi * hz * late * record.step)
    together = max(FEWEST_TOGETHER, round(TOGETHER * count * record.step))
    first = together // 2 + 1
    blocks = (hz.size - first) // together
    if blocks < FEWEST_LINES:
        raise NotIdentifiableError(
            f"{record.name}: {count * record.step:.3g} s are {blocks} lines of a response, and {FEWEST_LINES} are "
            "needed; record longer"
        )

    def mean(values: np.ndarray) -> np.ndarray:
        return np.asarray(values[first : first + blocks * together].reshape(blocks, together).mean(axis=1))

    own, out, cross = mean(np.abs(x) ** 2), mean(np.abs(y) ** 2), mean(x.conj() * y)
    tiny = np.finfo(float).tiny
    coherence = np.abs(cross) ** 2 / np.maximum(own * out, tiny)
    # at the middle of the power, not of the lines
    middle = mean(np.abs(x) ** 2 * hz) / np.maximum(own, tiny)
    unit = f"{record.run.units('measured.displacement')[0]}/{record.run.units('command')[0]}"
    response = cross / np.maximum(own, tiny) * np.exp(-2j * np.pi * middle * late * record.step)
    return Estimate(middle, response, coherence, together - 1, unit), own


def _taper(x: np.ndarray) -> np.ndarray:
    """1, and half a cosine at each end at which a signal moves."""
    rise = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, int(TAPERED * x.size) + 1) / int(TAPERED * x.size + 1))
    taper, size, end = np.ones(x.size), float(np.std(x)), max(x.size // 200, 4)
    if np.std(x[:end]) > AT_REST * size:
        taper[: rise.size] = rise
    if np.std(x[-end:]) > AT_REST * size:
        taper[-rise.size :] = rise[::-1]
    return taper


def _rational(lines: Estimate, used: np.ndarray, longest: float) -> tuple[RationalFit, float]:
    """The fit whose order is worth its numbers, and half of the interval of its delay."""
    hz, values = lines.frequency_hz[used], lines.response[used]
    weight = 1.0 / (np.abs(values) * np.maximum(lines.deviation()[used], LEAST_DEVIATION))
    best, least, noise_only, n = None, np.inf, False, 2 * hz.size
    for poles, constant in [(0, True), *((k, d) for k in range(1, MOST_POLES + 1) for d in (False, True))]:
        numbers = 2 * poles + constant + 1
        if 2 * numbers > n:
            break
        fit = vector_fit(hz, values, poles, weight=weight, constant=constant, longest_delay=longest)
        if np.any(np.abs(fit.poles) > 2 * np.pi * FAR * hz[-1]):  # nothing but delay within the band
            continue
        left = weight * np.abs(fit.response(2 * np.pi * hz) - values)
        over = float(np.sum(left**2)) / n
        score = n * np.log(max(over, 1e-300)) + numbers * np.log(n)
        if score < least:
            best, least, noise_only = fit, score, over < JUST_NOISE
        elif noise_only and best is not None and poles >= len(best.poles) + 2:
            break
    assert best is not None
    return best, _delay_interval(best, hz, values, weight)


def _delay_interval(fit: RationalFit, hz: np.ndarray, values: np.ndarray, weight: np.ndarray) -> float:
    """Half of the 95 % interval of the delay, with all other numbers of the fit as unknown as it."""
    from scipy.special import stdtrit

    omega = 2 * np.pi * hz
    start = np.array([fit.delay, fit.constant])
    free = [0, 1] if fit.constant else [0]
    upper = [i for i in range(len(fit.poles)) if fit.poles[i].imag >= 0.0]

    def response(theta: np.ndarray) -> np.ndarray:
        s = 1j * omega
        value = np.full(s.shape, theta[1], dtype=complex)
        for k, i in enumerate(upper):
            a, r = (complex(*theta[2 + 4 * k + j : 4 + 4 * k + j]) for j in (0, 2))
            value += r / (s - a) + (np.conj(r) / (s - np.conj(a)) if fit.poles[i].imag > 0.0 else 0.0)
        return np.asarray(value * np.exp(-s * theta[0]))

    for i in upper:
        start = np.append(start, [fit.poles[i].real, fit.poles[i].imag, fit.residues[i].real, fit.residues[i].imag])
    for k, i in enumerate(upper):
        free += [2 + 4 * k + j for j in ((0, 1, 2, 3) if fit.poles[i].imag > 0.0 else (0, 2))]
    columns = []
    for j in free:
        step, pair = np.zeros_like(start), [j, j + 1] if j % 2 == 0 else [j - 1, j]
        step[j] = 1e-6 * (float(np.linalg.norm(start[pair])) if j > 1 else max(abs(start[j]), 1e-2 / omega[-1]))
        slope = weight * (response(start + step) - response(start - step)) / (2.0 * step[j])
        columns.append(np.concatenate([slope.real, slope.imag]))
    jacobian = np.column_stack(columns)
    size = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
    left = weight * (response(start) - values)
    freedom = 2 * hz.size - len(free)
    spread = covariance(jacobian / size, float(np.sum(np.abs(left) ** 2)) / freedom)
    return float(stdtrit(freedom, 0.5 * (1.0 + CONFIDENCE)) * np.sqrt(spread[0, 0]) / size[0])
