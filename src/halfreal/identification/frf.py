"""Frequency responses from recorded signals: random or chirp excitation (H1, H2, Hv, coherence), and stepped sine.

Auto and cross spectra S of input x and output y are averaged over overlapping Hann windows (P. D. Welch, IEEE Trans.
Audio Electroacoust. 15 (1967) 70–73):

    H1 = S_xy/S_xx           noise in the output only
    H2 = S_yy/S_yx           noise in the input only
    Hv: total least squares, for noise in both: the direction of the smallest eigenvalue of [[S_xx, S_xy], [S_yx, S_yy]]
    γ² = |S_xy|²/(S_xx S_yy)                     coherence: 1 without noise and nonlinearity

A stepped sine is fitted at each frequency by a sine, a cosine, a mean and a drift, after a time of settling.

H is y over x: with S_xy = ⟨x* y⟩.  Hv depends on the ratio of the noises; they are taken to be equal as parts of the
signals, by scaling both to the same power first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from .. import units
from ..errors import HalfrealError
from ..stability.frf import FRF

LEAST_AVERAGES = 2
LEAST_CYCLES = 2.0
"""Of a stepped sine at each frequency, after it has settled."""


@dataclass(frozen=True)
class Estimate:
    """A measured frequency response with its coherence, lines in Hz."""

    frequency_hz: np.ndarray
    response: np.ndarray
    coherence: np.ndarray
    averages: int = 1
    unit: str = ""

    def frf(self) -> FRF:
        return FRF(self.frequency_hz, self.response, self.unit)

    def deviation(self) -> np.ndarray:
        """Relative standard deviation √((1 − γ²)/(2 γ² n)) of the response (Bendat & Piersol, Random Data)."""
        coherence = np.clip(self.coherence, 1e-12, 1.0)
        return np.asarray(np.sqrt((1.0 - coherence) / (2.0 * coherence * max(self.averages, 1))))

    def between(self, low_hz: float, high_hz: float) -> Estimate:
        """The lines within a band."""
        kept = (self.frequency_hz >= low_hz) & (self.frequency_hz <= high_hz)
        if kept.sum() < 2:
            raise HalfrealError(
                f"{int(kept.sum())} line(s) from {low_hz:g} to {high_hz:g} Hz; the lines go from "
                f"{self.frequency_hz[0]:.4g} to {self.frequency_hz[-1]:.4g} Hz, choose a band that holds more of them"
            )
        return Estimate(self.frequency_hz[kept], self.response[kept], self.coherence[kept], self.averages, self.unit)


def estimate(
    x: np.ndarray,
    y: np.ndarray,
    dt: float,
    *,
    window: float,
    method: Literal["H1", "H2", "Hv"] = "H1",
    unit: str = "",
) -> Estimate:
    """H from an input and an output sampled every ``dt`` [s], averaged over half-overlapping windows [s]."""
    from scipy.signal import csd, welch

    x, y = pair(x, y)
    length = round(window / dt)
    averages = 2 * x.size // max(length, 1) - 1
    if length < 8 or averages < LEAST_AVERAGES:
        raise HalfrealError(
            f"windows of {window:g} s ({length} samples) fit {max(averages, 0)} time(s) into {x.size * dt:g} s; at "
            f"least {LEAST_AVERAGES} averages of 8 samples are needed, record longer or take shorter windows"
        )
    how = {"fs": 1.0 / dt, "window": "hann", "nperseg": length, "detrend": "constant"}
    hz, cross = csd(x, y, **how)
    own, out = welch(x, **how)[1], welch(y, **how)[1]
    hz, cross, own, out = hz[1:], cross[1:], own[1:], out[1:]  # the mean was taken away
    if not own.any() or not out.any():
        raise HalfrealError("a signal does not move: there is no frequency response; check for a dead channel")
    tiny = np.finfo(float).tiny
    coherence = np.abs(cross) ** 2 / np.maximum(own * out, tiny)
    if method == "H1":
        response = cross / np.maximum(own, tiny)
    elif method == "H2":
        response = out / np.where(np.abs(cross) > 0.0, np.conj(cross), tiny)
    else:
        scale = np.sqrt(out.mean() / own.mean())
        difference = out - scale**2 * own
        root = np.sqrt(difference**2 + 4.0 * scale**2 * np.abs(cross) ** 2)
        response = (difference + root) / np.where(np.abs(cross) > 0.0, 2.0 * np.conj(cross), tiny)
    return Estimate(hz, np.asarray(response), np.asarray(coherence), averages, unit)


def stepped_sine(
    time: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    frequencies_hz: Sequence[float] | np.ndarray,
    dwell: float,
    *,
    settle: float,
    unit: str = "",
) -> Estimate:
    """H at the frequencies of a stepped sine, each lasting ``dwell`` [s], of which ``settle`` is left out.

    The coherence is the part of the output's variation that the sine explains.
    """
    x, y = pair(x, y)
    time = np.asarray(time, dtype=float)
    half = 0.5 / float(np.median(np.diff(time))) if time.size > 1 else 0.0
    found, explained = [], []
    for i, hz in enumerate(np.asarray(frequencies_hz, dtype=float)):
        kept = (time >= i * dwell + settle) & (time < (i + 1) * dwell)
        cycles = hz * (dwell - settle)
        if cycles < LEAST_CYCLES or kept.sum() < 8:
            raise HalfrealError(
                f"at {hz:g} Hz there are {max(cycles, 0.0):.3g} cycles and {int(kept.sum())} samples after settling; "
                f"at least {LEAST_CYCLES:g} cycles and 8 samples are needed, dwell longer or settle shorter"
            )
        if hz >= half:
            raise HalfrealError(
                f"{hz:g} Hz is not below half the sampling rate, {half:g} Hz; sample faster, or remove it"
            )
        (of_x, of_y), parts = zip(*(fitted_sine(time[kept], signal[kept], hz) for signal in (x, y)), strict=True)
        if of_x == 0.0:
            raise HalfrealError(f"the input does not move at {hz:g} Hz; check for a dead channel")
        found.append(of_y / of_x)
        explained.append(parts[1])
    return Estimate(np.asarray(frequencies_hz, dtype=float), np.array(found), np.array(explained), 1, unit)


def fitted_sine(time: np.ndarray, signal: np.ndarray, hz: float) -> tuple[complex, float]:
    """Phasor of the sine in a signal, at its first time, and the part of the signal's variation that is not noise."""
    t = time - time[0]
    basis = np.column_stack([np.cos(2 * np.pi * hz * t), np.sin(2 * np.pi * hz * t), np.ones_like(t), t])
    weights = np.linalg.lstsq(basis, signal, rcond=None)[0]
    left = signal - basis @ weights
    whole = signal - basis[:, 2:] @ weights[2:]
    power = float(np.mean(whole**2))
    return complex(weights[0], -weights[1]), 1.0 - float(np.mean(left**2)) / power if power else 0.0


def pair(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two signals of one length without gaps."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise HalfrealError(f"input and output have the shapes {x.shape} and {y.shape}; give two signals of one length")
    for name, signal in (("input", x), ("output", y)):
        if not np.all(np.isfinite(signal)):
            where = int(np.argmax(~np.isfinite(signal)))
            raise HalfrealError(f"sample {where + 1} of the {name} is {signal[where]}; remove gaps first")
    return x, y


# --- files ------------------------------------------------------------------------------------------------------------

_UNIT = re.compile(r"^#\s*unit\s*[:=]\s*(.+?)\s*$", re.IGNORECASE)


def read_frf(path: Path | str, unit: str | None = None) -> FRF:
    """A response from a file (``halfreal.stability.frf``), with its unit: given, or in a line ``# unit: m/N`` of it."""
    path = Path(path)
    told = None
    if path.suffix.lower() != ".npz":
        with path.open(encoding="utf-8") as lines:
            told = next((match.group(1) for line in lines if (match := _UNIT.match(line))), None)
    if unit is not None and told is not None and unit != told:
        raise HalfrealError(f"{path.name} states the unit '{told}', but '{unit}' is given; keep the correct one")
    return FRF.read(path, unit or told or "")


def combined(parts: Sequence[FRF], unit: str | None = None) -> FRF:
    """Several responses of one system as one: lines in order, in the unit of the first; the same line counts once.

    Units of one dimension are converted; others, or one that is missing next to others, are refused.
    """
    if not parts:
        raise HalfrealError("no frequency response is given; give one or more")
    wanted = parts[0].unit if unit is None else unit
    lines, values = [], []
    for number, part in enumerate(parts, start=1):
        if bool(part.unit) != bool(wanted):
            raise HalfrealError(
                f"response {number} has {f'the unit {part.unit!r}' if part.unit else 'no unit'} where "
                f"{f'{wanted!r}' if wanted else 'none'} is expected; give the unit of each"
            )
        if part.response.shape[1:] != parts[0].response.shape[1:]:
            raise HalfrealError(f"response {number} has {part.response.shape[1:]} channels, the first has others")
        try:
            factor = float(units.factor(part.unit, wanted)) if wanted else 1.0
        except units.UnitError as error:
            raise HalfrealError(f"response {number} {error}; the responses are of different quantities") from error
        lines.append(part.frequency_hz)
        values.append(factor * part.response)
    hz, first = np.unique(np.concatenate(lines), return_index=True)
    return FRF(hz, np.concatenate(values)[first], wanted)
