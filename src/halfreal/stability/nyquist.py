"""Frequency responses, of models and as measured: Bode and Nyquist plots, encirclements, margins from data.

Negative feedback, u = −y, with L = model, data, or a product of both.  The closed loop's number of unstable poles is

    Z = P − E,    E = Δ arg det(I + L(jω)) / π  for ω from 0 to ∞ (half the sampling rate)

with P that of L itself and E the anticlockwise encirclements of the origin by the whole curve (MacFarlane,
Postlethwaite, Int. J. Control 25 (1977) 81–127, doi 10.1080/00207177708922217).  The curve of a model is refined until
its argument turns by no more than ``TURN`` from point to point.  Nothing is guessed: a pole on the imaginary axis, a
curve through the origin, measured lines too far apart are refused in words.

Files of measured responses (``FRF.read``): CSV with a heading ``frequency_hz,real,imag`` or
``frequency_hz,magnitude,phase_deg`` (several channels: ``real_12`` is output 1, input 2), separated by commas or
semicolons, lines that start with # left out; or NPZ with the arrays frequency_hz and response (complex; lines, or
lines × outputs × inputs).
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import HalfrealError
from ..figures import BAD, QUIET, TARGET, new_figure, styled
from .state_space import Delayed, StateSpace, check_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TURN = 0.2
"""Largest step [rad] of an argument, or of a log-magnitude, between neighbouring points of a model's curve."""
LARGEST_PHASE_STEP = np.radians(60.0)
LARGEST_GAIN_STEP = np.log(2.0)
"""Between two measured lines next to a crossover; wider ones are refused."""
GAIN_REACH = np.log(10.0)
"""Gain crossovers of data are looked for within ±20 dB: farther down the phase is mostly noise."""
ON_AXIS = 1e-10


@dataclass(frozen=True)
class FRF:
    """A measured frequency response: lines [Hz], response (lines, outputs, inputs) and its unit in words."""

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
                raise HalfrealError(f"the {what} of line {int(np.argmax(bad)) + 1} is not finite; leave that line out")
        if lines[0] < 0 or np.any(np.diff(lines) <= 0):
            where = int(np.argmax(np.diff(lines) <= 0)) + 1
            raise HalfrealError(
                f"the frequencies must be ≥ 0 and rise from line to line; line {where} has {lines[where - 1]} Hz, line "
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
                    raise HalfrealError(f"{path.name} holds {arrays.files}; it needs frequency_hz and response")
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
            raise HalfrealError(
                f"{path.name} has lines that are not {len(heading)} numbers as its heading says"
            ) from None
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


Part = StateSpace | Delayed | FRF


def frequency_response(part: Part, omega: np.ndarray) -> np.ndarray:
    """Response of a model or of data at ω [rad/s], (len(ω), outputs, inputs)."""
    omega = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    return part.at(omega) if isinstance(part, FRF) else part.response(omega)


def product(*parts: Part, delay: float = 0.0, unit: str = "") -> FRF:
    """parts[0] · parts[1] · … · e^{−jωτ} at the lines of the first part that is data (the last part acts first)."""
    data = [part for part in parts if isinstance(part, FRF)]
    if not data:
        raise HalfrealError("a product without measured data is a model: use StateSpace.after and Delayed")
    omega = 2 * np.pi * data[0].frequency_hz
    value = np.exp(-1j * omega * delay)[:, None, None] * np.eye(frequency_response(parts[0], omega[:1]).shape[1])
    for part in parts:
        factor = frequency_response(part, omega)
        if value.shape[2] != factor.shape[1]:
            raise HalfrealError(f"a part with {factor.shape[1]} outputs cannot feed one with {value.shape[2]} inputs")
        value = value @ factor
    return FRF(data[0].frequency_hz, value, unit)


@dataclass(frozen=True)
class Curve:
    """Frequency response, element by element, for Bode and Nyquist plots."""

    frequency_hz: np.ndarray
    response: np.ndarray
    unit: str = ""

    @property
    def magnitude(self) -> np.ndarray:
        return np.abs(self.response)

    @property
    def phase_deg(self) -> np.ndarray:
        """Unwrapped along the frequency."""
        return np.degrees(np.unwrap(np.angle(self.response), axis=0))

    def summary(self) -> str:
        low, high = self.frequency_hz[[0, -1]]
        peak = np.unravel_index(np.argmax(self.magnitude), self.magnitude.shape)
        size = f"{self.magnitude[peak]:.4g} {self.unit}".strip()
        return f"{len(self.frequency_hz)} lines from {low:.4g} to {high:.4g} Hz, largest {size} at " + (
            f"{self.frequency_hz[peak[0]]:.4g} Hz"
        )

    @styled
    def plot(self) -> Figure:
        """Nyquist plot of every element, with −1 and the unit circle."""
        outputs, inputs = self.response.shape[1:]
        figure = new_figure(3.2 * inputs + 0.6, 3.2 * outputs)
        for number, (i, j) in enumerate(np.ndindex(outputs, inputs), start=1):
            axes = figure.add_subplot(outputs, inputs, number)
            _nyquist_axes(axes, self.response[:, i, j])
            axes.set_title(_element(i, j, outputs * inputs))
        return figure

    @styled
    def plot_bode(self) -> Figure:
        """Magnitude and phase of every element."""
        figure = new_figure(6.5, 4.5)
        size, phase = figure.subplots(2, 1, sharex=True)
        count = self.response[0].size
        for i, j in np.ndindex(self.response.shape[1:]):
            size.loglog(self.frequency_hz, self.magnitude[:, i, j], label=_element(i, j, count))
            phase.semilogx(self.frequency_hz, self.phase_deg[:, i, j])
        size.axhline(1.0, color=QUIET, linewidth=0.8)
        size.set_ylabel(f"magnitude {self.unit}".strip())
        phase.set_ylabel("phase [deg]")
        phase.set_xlabel("frequency [Hz]")
        if count > 1:
            size.legend()
        return figure


def curve(part: Part, omega: np.ndarray | None = None) -> Curve:
    """Frequency response for plots, at ω [rad/s]; by default the lines of the data, or where a model's curve bends."""
    if isinstance(part, FRF):
        if omega is None:
            return Curve(part.frequency_hz, part.response, part.unit)
        return Curve(np.asarray(omega) / (2 * np.pi), part.at(omega), part.unit)
    if omega is None:
        omega = _smooth(lambda w: part.response(w).reshape(len(w), -1), _grid(part), largest=4000)
    return Curve(np.asarray(omega) / (2 * np.pi), part.response(omega))


# --- encirclements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Encirclements:
    """The determinant's curve and the count of unstable closed-loop poles that follows from it."""

    frequency_hz: np.ndarray
    determinant: np.ndarray
    turns: int
    """E, anticlockwise encirclements of the origin by det(I + L)."""
    open_loop_unstable: int
    """P."""

    @property
    def unstable_poles(self) -> int:
        """Z = P − E."""
        return self.open_loop_unstable - self.turns

    @property
    def stable(self) -> bool:
        return self.unstable_poles == 0

    @property
    def closest(self) -> tuple[float, float]:
        """Smallest |det(I + L)| and its frequency [Hz]."""
        index = int(np.argmin(np.abs(self.determinant)))
        return float(np.abs(self.determinant[index])), float(self.frequency_hz[index])

    def summary(self) -> str:
        word = "stable" if self.stable else f"unstable, {self.unstable_poles} unstable closed-loop poles"
        distance, hz = self.closest
        return (
            f"{word}: det(I + L) encircles the origin {self.turns} times anticlockwise, the open loop has "
            f"{self.open_loop_unstable} unstable poles; it comes closest, to {distance:.3g}, at {hz:.4g} Hz"
        )

    @styled
    def plot(self) -> Figure:
        figure = new_figure(4.2, 4.2)
        axes = figure.add_subplot()
        _nyquist_axes(axes, self.determinant, critical=0.0)
        axes.set_title("det(I + L)")
        return figure


def encirclements(loop: Part, open_loop_unstable: int = 0) -> Encirclements:
    """Generalised Nyquist criterion; ``open_loop_unstable`` is only asked of measured data, a model knows its own."""
    if isinstance(loop, FRF):
        determinant = _determinant(loop.response)
        steps = np.abs(np.angle(determinant[1:] / determinant[:-1]))
        _refuse(loop.frequency_hz, steps > LARGEST_PHASE_STEP, "det(I + L) turns by more than 60°")
        ends = determinant[[0, -1]]
        if np.any(np.abs(ends.imag) > 0.35 * np.abs(ends)):
            raise HalfrealError(
                "the measured band ends where det(I + L) is not near the real axis (arguments "
                f"{np.degrees(np.angle(ends[0])):.0f}° and {np.degrees(np.angle(ends[1])):.0f}°), so that what it does "
                "outside cannot be told; measure lower and higher frequencies"
            )
        return _counted(loop.frequency_hz, determinant, open_loop_unstable)
    check_square(loop)
    model = loop.model if isinstance(loop, Delayed) else loop
    if isinstance(loop, Delayed) and np.any(model.d) and model.dt is None:
        raise HalfrealError(
            "det(I + L) of a delayed loop with a direct term D has no limit at high frequency: use margins"
        )
    poles = model.poles()
    growth = poles.real if model.dt is None else np.abs(poles) - 1.0
    on_axis = np.abs(growth) <= ON_AXIS * np.max(np.abs(poles), initial=0.0)
    if on_axis.any():
        pole = poles[np.argmax(on_axis)]
        hz = abs(pole.imag if model.dt is None else np.angle(pole) / model.dt) / (2 * np.pi)
        raise HalfrealError(
            f"the open loop has a pole on the stability limit at {hz:.4g} Hz: its Nyquist curve runs through infinity "
            f"and cannot be counted without an indentation; delay_margin counts such loops from their poles"
        )
    omega = _smooth(
        lambda w: _determinant(loop.response(w))[:, None], np.concatenate([[0.0], _grid(loop)]), largest=200_000
    )
    determinant = _determinant(loop.response(omega))
    if model.dt is None:  # the limit itself, which the last point is close to
        omega, determinant = (
            np.append(omega, np.inf),
            np.append(determinant, np.linalg.det(np.eye(len(model.d)) + model.d)),
        )
    steps = np.abs(np.angle(determinant[1:] / np.where(determinant[:-1] == 0, 1.0, determinant[:-1])))
    _refuse(
        omega / (2 * np.pi),
        (steps > 0.5) | (np.abs(determinant[1:]) < 1e-9),
        "det(I + L) runs (nearly) through the origin, a closed-loop pole is on the stability limit",
    )
    keep = np.isfinite(omega)
    counted = _counted(omega / (2 * np.pi), determinant, int(np.sum(growth > 0)))
    return Encirclements(counted.frequency_hz[keep], determinant[keep], counted.turns, counted.open_loop_unstable)


def _counted(hz: np.ndarray, determinant: np.ndarray, unstable: int) -> Encirclements:
    turned = np.sum(np.angle(determinant[1:] / determinant[:-1]))
    return Encirclements(hz, determinant, round(float(turned / np.pi)), unstable)


def _determinant(response: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.det(np.eye(response.shape[1]) + response))


# --- margins from data ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DataMargins:
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
        return np.radians(self.phase_deg) / (2 * np.pi * self.frequency_hz)

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
    """Crossovers and margins of a single-channel loop, interpolated in log-magnitude and unwrapped phase.

    The error of a linear interpolation is at most an eighth of the second difference; the largest one next to a
    crossover is taken twice.  Lines too far apart to interpolate between are refused.
    """
    if loop.response.shape[1:] != (1, 1):
        raise HalfrealError("margins from data are those of one channel; use encirclements for several channels")
    values = loop.response[:, 0, 0]
    if np.any(values == 0):
        raise HalfrealError(f"the response at {loop.frequency_hz[np.argmax(values == 0)]:.6g} Hz is zero; leave it out")
    size, phase = np.log(np.abs(values)), np.unwrap(np.angle(values))
    gain_step, phase_step = np.abs(np.diff(size)), np.abs(np.diff(phase))
    near = np.minimum(np.abs(size[1:]), np.abs(size[:-1])) < np.maximum(gain_step, LARGEST_GAIN_STEP)
    _refuse(loop.frequency_hz, near & (phase_step > LARGEST_PHASE_STEP), "the phase turns by more than 60°")
    crossing = _changes(size)
    _refuse(
        loop.frequency_hz, crossing & (gain_step > LARGEST_GAIN_STEP), "the loop gain changes by more than a factor 2"
    )
    rows = [_crossover(loop.frequency_hz, size, phase, i) for i in np.flatnonzero(crossing).tolist()]
    at_one = np.array(rows).reshape(-1, 4)
    rows = []
    for turn in range(int(np.floor(phase.min() / (2 * np.pi))) - 1, int(np.ceil(phase.max() / (2 * np.pi))) + 1):
        offset = phase - (2 * turn + 1) * np.pi
        turning = _changes(offset) & (np.abs(size[1:]) < GAIN_REACH) & (np.abs(size[:-1]) < GAIN_REACH)
        _refuse(loop.frequency_hz, turning & (phase_step > LARGEST_PHASE_STEP), "the phase turns by more than 60°")
        rows += [_crossover(loop.frequency_hz, offset, size, i) for i in np.flatnonzero(turning).tolist()]
    at_turn = np.array(rows).reshape(-1, 4)
    lag = np.mod(np.degrees(at_one[:, 2]) + 180.0, 360.0)
    decibel = 20 / np.log(10)
    return DataMargins(
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


def _refuse(hz: np.ndarray, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        i = int(np.argmax(wrong))
        raise HalfrealError(
            f"{what} between the lines at {hz[i]:.6g} and {hz[i + 1]:.6g} Hz: what happens between them cannot be "
            f"told; a finer resolution there is needed"
        )


# --- help -------------------------------------------------------------------------------------------------------------


def _grid(loop: StateSpace | Delayed) -> np.ndarray:
    """Frequencies [rad/s] around all poles of L, and far beyond them."""
    model = loop.model if isinstance(loop, Delayed) else loop
    poles = model.poles()
    poles = poles[np.abs(poles) > 0]
    if model.dt is not None:
        poles = np.log(poles[np.abs(poles) > 1e-14].astype(complex)) / model.dt
    size = np.abs(poles)
    low, high = 1e-3 * np.min(size, initial=np.inf), 1e3 * np.max(size, initial=0.0)
    if size.size == 0:
        low, high = 1e-3, 1e3
    if model.dt is not None:
        high = np.pi / model.dt
        low = min(low, 1e-3 * high)
    else:  # until L has come to its limit D
        while high < 1e15 * low and np.abs(model.response(np.array([high]))[0] - model.d).max() > 1e-3:
            high *= 4
    around = np.abs(poles.imag)[:, None] + np.abs(poles.real)[:, None] * np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    around = around[(around > low) & (around < high)]
    return np.unique(np.concatenate([np.geomspace(low, high, 200), around]))


def _smooth(function: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, largest: int) -> np.ndarray:
    """Points added until no column turns or grows by more than ``TURN`` between two of them."""
    for _ in range(60):
        values = function(omega)
        ratio = np.log(np.where(values == 0, 1e-300, values))
        step = np.diff(ratio, axis=0)
        step = np.maximum(np.abs(np.angle(np.exp(1j * step.imag))), np.abs(step.real)).max(axis=1)
        wide = np.flatnonzero((step > TURN) & (np.diff(omega) > 1e-13 * omega[1:]))
        if wide.size == 0 or omega.size + wide.size > largest:
            break
        omega = np.insert(omega, wide + 1, (omega[wide] + omega[wide + 1]) / 2)
    return omega


def _element(i: int, j: int, count: int) -> str:
    return "" if count == 1 else f"output {i + 1}, input {j + 1}"


def _nyquist_axes(axes: Axes, values: np.ndarray, critical: float = -1.0) -> None:
    axes.plot(values.real, values.imag, color=TARGET)
    axes.plot(values.real, -values.imag, color=TARGET, linewidth=0.7, linestyle="--")
    turn = np.linspace(0, 2 * np.pi, 181)
    if critical == -1.0:
        axes.plot(np.cos(turn), np.sin(turn), color=QUIET, linewidth=0.8)
    axes.plot(critical, 0.0, "+", color=BAD, markersize=9)
    reach = float(np.clip(np.abs(values).max(), 1.5, 4.0))
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="real part", ylabel="imaginary part", aspect="equal")


def eigenvalue_plot(response: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, dt: float | None) -> Figure:
    """Eigenvalues of L(jω) in the plane and their moduli, around the frequencies ω [rad/s]."""
    high = 30 * omega.max() if dt is None else np.pi / dt
    grid = _smooth(lambda w: np.linalg.eigvals(response(w)), np.geomspace(omega.min() / 30, high, 400), largest=4000)
    values = np.linalg.eigvals(response(grid))
    figure = new_figure(8.0, 3.8)
    circle, moduli = figure.subplots(1, 2)
    marker = "-" if values.shape[1] == 1 else "."  # several eigenvalues are not sorted into branches
    circle.plot(values.real, values.imag, marker, color=TARGET, markersize=2)
    turn = np.linspace(0, 2 * np.pi, 181)
    circle.plot(np.cos(turn), np.sin(turn), color=QUIET, linewidth=0.8)
    circle.plot(-1.0, 0.0, "+", color=BAD, markersize=9)
    circle.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), xlabel="real part", ylabel="imaginary part", aspect="equal")
    moduli.loglog(grid / (2 * np.pi), np.sort(np.abs(values), axis=1), color=TARGET)
    moduli.axhline(1.0, color=QUIET, linewidth=0.8)
    moduli.set(xlabel="frequency [Hz]", ylabel="modulus of the eigenvalues of L")
    return figure


# --- reading ----------------------------------------------------------------------------------------------------------


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
