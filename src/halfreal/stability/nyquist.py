"""Frequency responses, of models and as measured: Bode and Nyquist plots, encirclements.

Negative feedback, u = −y, with L = model, data, or a product of both.  The closed loop's number of unstable poles is

    Z = P − E,    E = Δ arg det(I + L(jω)) / π  for ω from 0 to ∞ (half the sampling rate)

with P that of L itself and E the anticlockwise encirclements of the origin by the whole curve (MacFarlane,
Postlethwaite, Int. J. Control 25 (1977) 81–127).  The curve of a model is refined until
its argument turns by no more than ``TURN`` from point to point.  Nothing is guessed: a pole on the imaginary axis, a
curve through the origin, measured lines too far apart are refused as text.

Responses are plotted element by element.  For a loop of several channels that is a picture and no criterion: what the
elements would promise is reported with the exact margin next to it (``elementwise.py``).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..contracts.state_space import Delayed, StateSpace, check_square
from ..errors import HalfrealError
from ..figures import BAD, QUIET, TARGET, new_figure, styled
from ..summaries import Summarised
from .elementwise import element_margins
from .frf import FRF, LARGEST_PHASE_STEP, refuse_coarse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TURN = 0.2
"""Largest step [rad] of an argument, or of a log-magnitude, between neighbouring points of a model's curve."""
ON_AXIS = 1e-10


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


@dataclass(frozen=True, repr=False)
class Curve(Summarised):
    """Frequency response, element by element, for Bode and Nyquist plots.

    Elements are no margin of a loop of several channels: its exact one is reported next to them.
    """

    frequency_hz: np.ndarray
    response: np.ndarray
    unit: str = ""
    loop: Part | None = None
    """What it is the response of, if that has as many outputs as inputs and several of them, as a loop may."""

    @cached_property
    def caution(self) -> str:
        """What the elements of a loop of several channels would promise, and its exact margin; else nothing."""
        if self.loop is None:
            return ""
        try:
            return f"as a loop: {element_margins(self.loop).summary()}"
        except HalfrealError as error:
            return f"as a loop: its margin is not that of any element, and was not computed: {error}"

    @property
    def magnitude(self) -> np.ndarray:
        return np.asarray(np.abs(self.response))

    @property
    def phase_deg(self) -> np.ndarray:
        """Unwrapped along the frequency."""
        return np.asarray(np.degrees(np.unwrap(np.angle(self.response), axis=0)))

    def summary(self) -> str:
        low, high = self.frequency_hz[[0, -1]]
        peak = np.unravel_index(np.argmax(self.magnitude), self.magnitude.shape)
        size = f"{self.magnitude[peak]:.4g} {self.unit}".strip()
        lines = f"{len(self.frequency_hz)} lines from {low:.4g} to {high:.4g} Hz, largest {size} at "
        return lines + f"{self.frequency_hz[peak[0]]:.4g} Hz" + (f"; {self.caution}" if self.caution else "")

    @styled
    def plot(self) -> Figure:
        """Nyquist plot of every element, with −1 and the unit circle."""
        outputs, inputs = self.response.shape[1:]
        figure = new_figure(3.2 * inputs + 0.6, 3.2 * outputs)
        for number, (i, j) in enumerate(np.ndindex(outputs, inputs), start=1):
            axes = figure.add_subplot(outputs, inputs, number)
            _nyquist_axes(axes, self.response[:, i, j])
            axes.set_title(_element(i, j, outputs * inputs))
        if self.caution:
            figure.suptitle(textwrap.fill(self.caution, 40 * inputs), fontsize=7)
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
        loop = _several_channels(part, part.response)
        if omega is None:
            return Curve(part.frequency_hz, part.response, part.unit, loop)
        return Curve(np.asarray(omega) / (2 * np.pi), part.at(omega), part.unit, loop)
    if omega is None:
        omega = smooth(lambda w: part.response(w).reshape(len(w), -1), _grid(part), largest=4000)
    response = part.response(omega)
    return Curve(np.asarray(omega) / (2 * np.pi), response, loop=_several_channels(part, response))


def _several_channels(part: Part, response: np.ndarray) -> Part | None:
    outputs, inputs = response.shape[1:]
    return part if outputs == inputs > 1 else None


# --- encirclements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Encirclements(Summarised):
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
        refuse_coarse(loop.frequency_hz, steps > LARGEST_PHASE_STEP, "det(I + L) turns by more than 60°")
        ends = determinant[[0, -1]]
        if np.any(np.abs(ends.imag) > 0.35 * np.abs(ends)):
            raise HalfrealError(
                "the measured band ends where det(I + L) is not near the real axis (arguments "
                f"{np.degrees(np.angle(ends[0])):.0f}° and {np.degrees(np.angle(ends[1])):.0f}°), so that its course "
                "outside is not known; measure lower and higher frequencies"
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
    omega = smooth(
        lambda w: _determinant(loop.response(w))[:, None], np.concatenate([[0.0], _grid(loop)]), largest=200_000
    )
    determinant = _determinant(loop.response(omega))
    if model.dt is None:  # the limit itself, which the last point is close to
        omega, determinant = (
            np.append(omega, np.inf),
            np.append(determinant, np.linalg.det(np.eye(len(model.d)) + model.d)),
        )
    steps = np.abs(np.angle(determinant[1:] / np.where(determinant[:-1] == 0, 1.0, determinant[:-1])))
    refuse_coarse(
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


def smooth(
    function: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, largest: int, turn: float = TURN
) -> np.ndarray:
    """Points added until no column turns or grows by more than ``turn`` between two of them."""
    values = function(omega)
    for _ in range(60):
        ratio = np.log(np.where(values == 0, 1e-300, values))
        step = np.diff(ratio, axis=0)
        step = np.maximum(np.abs(np.angle(np.exp(1j * step.imag))), np.abs(step.real)).max(axis=1)
        wide = np.flatnonzero((step > turn) & (np.diff(omega) > 1e-13 * omega[1:]))
        if wide.size == 0 or omega.size + wide.size > largest:
            break
        middle = (omega[wide] + omega[wide + 1]) / 2
        omega, values = np.insert(omega, wide + 1, middle), np.insert(values, wide + 1, function(middle), axis=0)
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
    grid = smooth(lambda w: np.linalg.eigvals(response(w)), np.geomspace(omega.min() / 30, high, 400), largest=4000)
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
