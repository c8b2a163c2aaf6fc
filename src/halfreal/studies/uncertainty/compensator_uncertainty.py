"""What an uncertain shaker means for its compensator: bands of P_id, and of D_a/D_n with a compensator that is wrong.

V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech. (2020), doi
10.1007/s40799-020-00394-5, section 3.3, Figs. 5 and 6: the shaker's numbers are drawn together by Latin hypercube
sampling, each uniform within its range.  P_id is computed for every sample, and D_a/D_n for the rig with that
compensator,

    D_a/D_n = G_c P_id,sample + G_f/N

where the rig is the nominal one, or drawn from the same ranges by itself.  All samples are computed at once, one row
for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...contracts.device import Device
from ...errors import HalfrealError
from ...figures import MEASURED, QUIET, TARGET, new_figure, styled
from ...models.shaker import Drive, Shaker, responses
from ...summaries import Summarised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAKER_RANGES = {
    "mass": 0.05,
    "damping": 0.25,
    "stiffness": 0.05,
    "inductance": 0.025,
    "resistance": 0.10,
    "motor_constant": 0.01,
}
"""± parts of the shaker's numbers, as in the paper."""


@dataclass(frozen=True)
class Band:
    """Least, nominal and largest gain and phase [deg] at each frequency."""

    gain: np.ndarray
    phase_deg: np.ndarray
    """Both (3, lines)."""


@dataclass(frozen=True, repr=False)
class CompensatorBands(Summarised):
    """Bands of P_id and of D_a/D_n, and D_a/D_n without a compensator."""

    frequency_hz: np.ndarray
    ideal: Band
    ratio: Band
    uncompensated: np.ndarray
    samples: int

    @property
    def worst_gain(self) -> float:
        return float(self.ratio.gain[2].max())

    @property
    def out_of_phase_from(self) -> float:
        """Frequency [Hz] from which on D_a may be opposite to D_n; inf if nowhere."""
        spread = np.abs(self.ratio.phase_deg[[0, 2]]).max(axis=0)
        opposite = np.flatnonzero(spread > 179.0)
        return float(self.frequency_hz[opposite[0]]) if opposite.size else np.inf

    def summary(self) -> str:
        return (
            f"{self.samples} samples: with an uncertain compensator |D_a/D_n| goes from {self.ratio.gain[0].min():.2g} "
            f"to {self.worst_gain:.3g}, and D_a may oppose D_n from {self.out_of_phase_from:.3g} Hz on; without one "
            f"|D_a/D_n| is up to {np.abs(self.uncompensated).max():.3g}"
        )

    @styled
    def plot(self) -> Figure:
        """Figs. 5 and 6: bands against frequency."""
        figure = new_figure(9.0, 5.0)
        panels = figure.subplots(2, 2, sharex=True)
        for column, (band, title) in enumerate(((self.ideal, "P_id"), (self.ratio, "D_a/D_n"))):
            for axes, values, unit in zip(
                panels[:, column], (band.gain, band.phase_deg), ("gain", "phase [°]"), strict=True
            ):
                axes.fill_between(self.frequency_hz, values[0], values[2], color=QUIET, alpha=0.4, linewidth=0)
                axes.plot(self.frequency_hz, values[1], color=TARGET)
                axes.set(ylabel=unit)
            panels[0, column].set(title=f"{title}, {self.samples} samples", yscale="log")
            panels[1, column].set(xlabel="frequency [Hz]")
        bare = self.uncompensated
        panels[0, 1].plot(self.frequency_hz, np.abs(bare), color=MEASURED, linestyle="--", label="uncompensated")
        panels[1, 1].plot(self.frequency_hz, np.degrees(np.angle(bare)), color=MEASURED, linestyle="--")
        panels[0, 1].legend()
        return figure


def compensator_bands(
    shaker: Shaker,
    drive: Drive,
    device: Device,
    frequency_hz: np.ndarray,
    *,
    ranges: Mapping[str, float] = SHAKER_RANGES,
    rig: Literal["nominal", "uncertain"] = "nominal",
    samples: int = 10_000,
    seed: int = 1,
) -> CompensatorBands:
    """Bands over a Latin hypercube of the shaker's numbers, each uniform within ± its part of the nominal value."""
    from scipy.stats import qmc

    unknown = set(ranges) - set(type(shaker).model_fields)
    if unknown or not ranges:
        raise HalfrealError(
            f"{', '.join(sorted(unknown)) or 'nothing'} is not a parameter of a shaker; use some of "
            f"{', '.join(type(shaker).model_fields)}"
        )
    if drive.position_rate is not None:
        raise HalfrealError("these bands are those of a continuous drive; leave out position_rate and force_rate")
    hz = np.asarray(frequency_hz, dtype=float)
    omega = 2 * np.pi * hz
    drawn = 2.0 * qmc.LatinHypercube(2 * len(ranges), seed=seed).random(samples) - 1.0
    answer = device.response(omega)
    command, force = responses(_sampled(shaker, ranges, drawn[:, : len(ranges)]), drive, omega)
    ideal = (1.0 - force / answer) / command
    nominal_command, nominal_force = responses(shaker, drive, omega)
    nominal = (1.0 - nominal_force / answer) / nominal_command
    true = nominal_command, nominal_force
    if rig == "uncertain":
        true = responses(_sampled(shaker, ranges, drawn[:, len(ranges) :]), drive, omega)
    ratio = true[0] * ideal + true[1] / answer
    phase = np.degrees(np.unwrap(np.angle(nominal)))
    return CompensatorBands(
        frequency_hz=hz,
        ideal=_band(np.abs(ideal), phase + np.degrees(np.angle(ideal / nominal)), np.abs(nominal), phase),
        ratio=_band(np.abs(ratio), np.degrees(np.angle(ratio)), np.ones(hz.size), np.zeros(hz.size)),
        uncompensated=nominal_command + nominal_force / answer,
        samples=samples,
    )


def _sampled(shaker: Shaker, ranges: Mapping[str, float], drawn: np.ndarray) -> SimpleNamespace:
    """The shaker's numbers as columns of samples; ``drawn`` lies within ± 1."""
    numbers = shaker.model_dump()
    for column, (name, part) in enumerate(ranges.items()):
        numbers[name] = numbers[name] * (1.0 + part * drawn[:, [column]])
    return SimpleNamespace(**numbers)


def _band(gain: np.ndarray, phase: np.ndarray, nominal_gain: np.ndarray, nominal_phase: np.ndarray) -> Band:
    return Band(
        np.vstack([gain.min(axis=0), nominal_gain, gain.max(axis=0)]),
        np.vstack([phase.min(axis=0), nominal_phase, phase.max(axis=0)]),
    )
