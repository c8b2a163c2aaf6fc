"""Measured frequency responses: reading them, and margins from them with their error.

Files of measured responses (``FRF.read``): CSV with a heading ``frequency_hz,real,imag`` or
``frequency_hz,magnitude,phase_deg`` (several channels: ``real_12`` is output 1, input 2), separated by commas or
semicolons, lines that start with # left out; or NPZ with the arrays frequency_hz and response (complex; lines, or
lines × outputs × inputs).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..errors import HalfrealError
from ..summaries import Summarised
from .matching import matched

LARGEST_PHASE_STEP = np.radians(60.0)
LARGEST_GAIN_STEP = np.log(2.0)
"""Between two measured lines next to a crossover; wider ones are refused."""
GAIN_REACH = np.log(10.0)
"""Gain crossovers of data are looked for within ±20 dB: farther down the phase is mostly noise."""


@dataclass(frozen=True)
class FRF:
    """A measured frequency response: lines [Hz], response (lines, outputs, inputs) and its unit as text."""

    frequency_hz: np.ndarray
    response: np.ndarray
    unit: str = ""

    def __post_init__(self) -> None:
        lines = np.asarray(self.frequency_hz, dtype=np.float64)
        values = np.asarray(self.response, dtype=np.complex128)
        values = values[:, None, None] if values.ndim == 1 else values
        if lines.ndim != 1 or lines.size < 2 or values.ndim != 3 or len(values) != lines.size:
            raise HalfrealError(
                f"a frequency response needs at least 2 lines and as many values, lines × outputs × inputs; given are "
                f"frequencies of shape {lines.shape} and values of shape {values.shape}"
            )
        for what, bad in (("frequency", ~np.isfinite(lines)), ("response", ~np.isfinite(values).all(axis=(1, 2)))):
            if bad.any():
                raise HalfrealError(f"the {what} of line {int(np.argmax(bad)) + 1} is not finite; remove that line")
        if lines[0] < 0 or np.any(np.diff(lines) <= 0):
            where = int(np.argmax(np.diff(lines) <= 0)) + 1
            raise HalfrealError(
                f"the frequencies must be ≥ 0 and increase from line to line; line {where} has "
                f"{lines[where - 1]} Hz, line "
                f"{where + 1} has {lines[where]} Hz"
            )
        object.__setattr__(self, "frequency_hz", lines)
        object.__setattr__(self, "response", values)

    @staticmethod
    def read(path: str | Path, unit: str = "") -> FRF:
        """From a CSV or NPZ file, see above."""
        path = Path(path)
        if path.suffix.lower() == ".npz":
            with np.load(path) as arrays:
                if not {"frequency_hz", "response"} <= set(arrays.files):
                    raise HalfrealError(f"{path.name} contains {arrays.files}; it needs frequency_hz and response")
                return FRF(arrays["frequency_hz"], arrays["response"], unit)
        with path.open(newline="", encoding="utf-8") as file:
            text = [line for line in file if line.strip() and not line.startswith("#")]
        separator = ";" if text and ";" in text[0] else ","
        rows = [[entry.strip() for entry in row] for row in csv.reader(text, delimiter=separator)]
        if not rows:
            raise HalfrealError(f"{path.name} is empty")
        heading = rows[0]
        try:
            numbers = np.array(rows[1:], dtype=np.float64).reshape(len(rows) - 1, len(heading))
        except ValueError:
            raise HalfrealError(f"{path.name} has rows without the {len(heading)} numbers of its heading") from None
        columns = dict(zip(heading, numbers.T, strict=True))
        return FRF(_column(columns, "frequency_hz", path), _responses(columns, path), unit)

    def at(self, omega: np.ndarray) -> np.ndarray:
        """Response at ω [rad/s], interpolated in log-magnitude and unwrapped phase; refused beyond the lines."""
        hz = np.atleast_1d(omega) / (2 * np.pi)
        low, high = self.frequency_hz[[0, -1]]
        outside = (hz < low * (1 - 1e-12)) | (hz > high * (1 + 1e-12))
        if outside.any():
            raise HalfrealError(
                f"{hz[np.argmax(outside)]:.6g} Hz is outside the measured lines, {low:.6g} to {high:.6g} Hz"
            )
        out = np.empty((hz.size, *self.response.shape[1:]), dtype=np.complex128)
        for index in np.ndindex(self.response.shape[1:]):
            values = self.response[(slice(None), *index)]
            size = np.interp(hz, self.frequency_hz, np.log(np.maximum(np.abs(values), 1e-300)))
            out[(slice(None), *index)] = np.exp(
                size + 1j * np.interp(hz, self.frequency_hz, np.unwrap(np.angle(values)))
            )
        return out


@dataclass(frozen=True, repr=False)
class DataMargins(Summarised):
    """Crossovers of a measured loop with the bounds of their interpolation error."""

    frequency_hz: np.ndarray
    frequency_error_hz: np.ndarray
    phase_deg: np.ndarray
    """Additional lag [deg], 0 to 360, that takes each crossover to −1."""
    phase_error_deg: np.ndarray
    gain_frequency_hz: np.ndarray
    """Where the phase is −180°, the gain being within ±20 dB."""
    gain_db: np.ndarray
    """Factor on L that takes it to −1 there."""
    gain_error_db: np.ndarray

    @property
    def delays(self) -> np.ndarray:
        """Smallest delay [s] of each crossover."""
        return np.asarray(np.radians(self.phase_deg) / (2 * np.pi * self.frequency_hz))

    @property
    def delay_errors(self) -> np.ndarray:
        relative = self.phase_error_deg / self.phase_deg + self.frequency_error_hz / self.frequency_hz
        return np.asarray(self.delays * relative)

    @property
    def critical_delay(self) -> float:
        """Smallest delay of all crossovers [s], inf without any; of a loop that is stable without it."""
        return float(self.delays.min()) if self.delays.size else np.inf

    def summary(self) -> str:
        if not self.delays.size:
            return "the measured loop gain does not cross 1 within its lines"
        i = int(np.argmin(self.delays))
        return (
            f"if stable as measured, stable up to an additional delay of {1e3 * self.delays[i]:.4g} ± "
            f"{1e3 * self.delay_errors[i]:.2g} ms, critical at {self.frequency_hz[i]:.4g} Hz, phase margin "
            f"{self.phase_deg.min():.4g}°"
        )


def data_margins(loop: FRF) -> DataMargins:
    """Crossovers and margins of a loop, interpolated in log-magnitude and unwrapped phase.

    Of a loop of several channels they are those of its eigenvalues, followed from line to line.  The error of a linear
    interpolation is at most an eighth of the second difference; the largest one next to a crossover is taken twice.
    Lines too far apart to interpolate between are refused.
    """
    if loop.response.shape[1] != loop.response.shape[2]:
        shape = " × ".join(map(str, loop.response.shape[1:]))
        raise HalfrealError(f"a loop has as many outputs as inputs, and the response is {shape}; close it first")
    found = [_of_one(loop.frequency_hz, branch) for branch in branches(loop.response).T]
    return DataMargins(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def branches(response: np.ndarray) -> np.ndarray:
    """Eigenvalues, (lines, channels), each column those that follow each other."""
    values = np.linalg.eigvals(response)
    for before, now in pairwise(values) if values.shape[1] > 1 else ():  # one value follows itself
        now[:] = now[[pair for _, pair in sorted(matched(before, now).items())]]
    return np.asarray(values)


def _of_one(hz: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """The fields of ``DataMargins`` for one eigenvalue of a loop."""
    if np.any(values == 0):
        if not values.any():
            return (np.zeros(0),) * 7
        raise HalfrealError(f"the response at {hz[np.argmax(values == 0)]:.6g} Hz is zero; remove that line")
    size, phase = np.log(np.abs(values)), np.unwrap(np.angle(values))
    gain_step, phase_step = np.abs(np.diff(size)), np.abs(np.diff(phase))
    near = np.minimum(np.abs(size[1:]), np.abs(size[:-1])) < np.maximum(gain_step, LARGEST_GAIN_STEP)
    refuse_coarse(hz, near & (phase_step > LARGEST_PHASE_STEP), "the phase turns by more than 60°")
    crossing = _changes(size)
    refuse_coarse(hz, crossing & (gain_step > LARGEST_GAIN_STEP), "the loop gain changes by more than a factor 2")
    rows = [_crossover(hz, size, phase, i) for i in np.flatnonzero(crossing).tolist()]
    at_one = np.array(rows).reshape(-1, 4)
    rows = []
    for turn in range(int(np.floor(phase.min() / (2 * np.pi))) - 1, int(np.ceil(phase.max() / (2 * np.pi))) + 1):
        offset = phase - (2 * turn + 1) * np.pi
        turning = _changes(offset) & (np.abs(size[1:]) < GAIN_REACH) & (np.abs(size[:-1]) < GAIN_REACH)
        refuse_coarse(hz, turning & (phase_step > LARGEST_PHASE_STEP), "the phase turns by more than 60°")
        rows += [_crossover(hz, offset, size, i) for i in np.flatnonzero(turning).tolist()]
    at_turn = np.array(rows).reshape(-1, 4)
    lag = np.mod(np.degrees(at_one[:, 2]) + 180.0, 360.0)
    decibel = 20 / np.log(10)
    return (
        at_one[:, 0],
        at_one[:, 1],
        np.where(lag == 0, 360.0, lag),
        np.degrees(at_one[:, 3]),
        at_turn[:, 0],
        -decibel * at_turn[:, 2],
        decibel * at_turn[:, 3],
    )


def _changes(values: np.ndarray) -> np.ndarray:
    """Between which lines the sign changes; a zero on a line counts once."""
    return np.asarray((values[1:] >= 0) != (values[:-1] >= 0))


def _crossover(hz: np.ndarray, zero: np.ndarray, other: np.ndarray, i: int) -> tuple[float, float, float, float]:
    """Where ``zero`` vanishes between the lines i and i + 1, the error of that, ``other`` there and its error."""
    span = hz[i + 1] - hz[i]
    part = zero[i] / (zero[i] - zero[i + 1])
    bends = [_bend(hz, values, i) for values in (zero, other)]
    slope, slope_other = np.abs([zero[i + 1] - zero[i], other[i + 1] - other[i]]) / span
    error = bends[0] / slope
    return hz[i] + part * span, error, other[i] + part * (other[i + 1] - other[i]), bends[1] + slope_other * error


def _bend(hz: np.ndarray, values: np.ndarray, i: int) -> float:
    """Twice the bound |f''| h²/8 of the interpolation error between the lines i and i + 1."""
    rows = range(max(i - 1, 0), min(i + 2, len(hz) - 2))
    slopes = np.diff(values) / np.diff(hz)
    second = [abs(slopes[k + 1] - slopes[k]) / ((hz[k + 2] - hz[k]) / 2) for k in rows]
    return float(2 * max(second, default=0.0) * (hz[i + 1] - hz[i]) ** 2 / 8)


def refuse_coarse(hz: np.ndarray, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        i = int(np.argmax(wrong))
        raise HalfrealError(
            f"{what} between the lines at {hz[i]:.6g} and {hz[i + 1]:.6g} Hz: a finer resolution is needed there to "
            f"resolve the loop"
        )


def _column(columns: dict[str, np.ndarray], name: str, path: Path) -> np.ndarray:
    if name not in columns:
        raise HalfrealError(
            f"{path.name} has the columns {', '.join(columns) or 'none'} but no {name}; its heading must "
            f"be frequency_hz with real and imag, or with magnitude and phase_deg (several channels: real_11 …)"
        )
    return columns[name]


def _responses(columns: dict[str, np.ndarray], path: Path) -> np.ndarray:
    polar = any(name.startswith("magnitude") for name in columns)
    first, second = ("magnitude", "phase_deg") if polar else ("real", "imag")
    tags = [name[len(first) :] for name in columns if name.startswith(first)] or [""]

    def values(tag: str) -> np.ndarray:
        a, b = (_column(columns, name + tag, path) for name in (first, second))
        return np.asarray(a * np.exp(1j * np.radians(b)) if polar else a + 1j * b)

    if tags == [""]:
        return values("")
    places = {tag: (int(tag[1]) - 1, int(tag[2]) - 1) for tag in tags if len(tag) == 3 and tag[1:].isdigit()}
    shape = tuple(1 + max(place[k] for place in places.values()) for k in (0, 1)) if places else (0, 0)
    if len(places) != len(tags) or len(places) != shape[0] * shape[1]:
        raise HalfrealError(f"{path.name}: the columns {', '.join(columns)} do not fill a matrix of outputs × inputs")
    out = np.empty((len(columns["frequency_hz"]), *shape), dtype=np.complex128)
    for tag, place in places.items():
        out[(slice(None), *place)] = values(tag)
    return out
