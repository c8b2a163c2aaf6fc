"""The rig as it is now: its lag and gain on every axis, identified while the test runs.

A test is checked with a model of its rig, for all that is said to be uncertain in it.  If oil warms up or a bolt comes
loose, the rig leaves what was checked, and the margins of the check no longer hold.  Command c and measurement x (what
is commanded, displacement or force) tell so while the test runs.  Both pass the same band-pass, and c waits for about
the lag τ₀ that was checked, D ticks, so that little is left to find; then at every tick, with the fading
λ = exp(−Δt/memory) and c˙ by central differences::

    S ← λ S + (c, c˙)ᵀ(c, c˙)      s ← λ s + (c, c˙)ᵀ x      ω² = S₂₂/S₁₁      (S + P) θ = s + P θ₀

    lag = D Δt + arctan2(−θ₂ ω, θ₁)/ω                     gain = √(θ₁² + θ₂² ω²)

which is recursive least squares with forgetting (information form) for x(t) = θ₁ c + θ₂ c˙.  For a sine of any
frequency in the band both are exact, for a pure delay in a band they are to second order in ω (lag − τ₀).  θ₀ is the
plant that was checked; P weighs it, with the width of what was checked, by the part of x that c does not explain: of a
rig that rests, or whose motion is lost in noise, it tells what was checked, and nothing trips.  Where motion has just
begun, (Σ c²)²/Σ c⁴ with the same fading, the ticks that count, is small, and the last estimate stays.

How far that is outside of what was checked is told for each axis,

    outside = max(|lag − τ_m|/τ_h, |gain − g_m|/g_h)                    1 at the edge of the range τ_m ± τ_h, g_m ± g_h

and from the open loop L of the check follows what is left of its margins.  d(γ) is the further delay that γL bears
(``stability/margins.py``), known before the test for a row of gains γ:

    margin used = 1 − (d(gain/g₀) − (lag − τ₀))/d(1)                    0 as checked, 1 at the limit of stability

of several axes as if all had changed like the worst.  That is an indicator of instability from the rig itself; the
energy error (``energy_error.py``) shows what comes of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..kernels.block import Block, Value, channels
from ..settings import Number, Settings, fault

LAG, GAIN, OUTSIDE, USED = "plant.lag", "plant.gain", "plant.outside", "plant.margin_used"
WARN_OUTSIDE, WARN_USED = 1.0, 0.5
"""Warning limits of these channels where the definition gives none."""
ENOUGH = 0.15
"""Share of the memory in which there must have been motion for an estimate; before, the last one stays."""
MOST_TICKS = 2000
"""Of lag that the command may wait for."""


class OnlineIdentification(Settings):
    """Lag and gain of the rig identified while the test runs, and what is left of the margins that were checked."""

    memory: Annotated[float, Number("s", above=0)] = 2.0
    """Time in which what was measured fades to 1/e: a few periods of the motion."""
    lowest: Annotated[float, Number("Hz", above=0)] = 0.1
    """Lower edge of the band that is looked at: below it are drift and offsets."""
    highest: Annotated[float, Number("Hz", above=0)] | None = None
    """Upper edge of the band; a fiftieth of the sampling rate, or ten times the lower edge, if left out."""
    tolerance: Annotated[float, Number("1", above=0)] = 0.05
    """By this share of gain and lag the range that was checked is widened: what counts as still the same."""

    @field_validator("highest")
    @classmethod
    def _above_lowest(cls, highest: float | None, info: ValidationInfo) -> float | None:
        lowest = info.data.get("lowest")
        if highest is not None and lowest is not None and highest <= lowest:
            raise fault(f"{highest:g} Hz is not above lowest, {lowest:g} Hz; a band goes from low to high")
        return highest

    def band(self, step: float) -> tuple[float, float]:
        """Edges of the band [Hz]."""
        return self.lowest, max(0.02 / step, 10.0 * self.lowest) if self.highest is None else self.highest

    def check_step(self, step: float) -> None:
        """Raise a fault if the band does not fit the step of the test [s]."""
        low, high = self.band(step)
        if high >= 0.4 / step:
            key = "lowest" if self.highest is None else "highest"
            raise fault(f"a band up to {high:g} Hz at {1.0 / step:g} ticks a second; stay below {0.4 / step:g} Hz", key)
        if low * step < 1e-6:
            raise fault(f"{low:g} Hz is below a millionth of the sampling rate, {1.0 / step:g} Hz; raise it", "lowest")


@dataclass(frozen=True)
class CheckedPlant:
    """The rig that was checked: lag [s] and gain of each commanded axis as modelled and over all that is uncertain, and
    the further delay [s] that the loop bears at some gains in its place."""

    lag: np.ndarray
    gain: np.ndarray
    lag_range: np.ndarray
    """(axes, 2), least and largest."""
    gain_range: np.ndarray
    gains: np.ndarray
    """Factors on the gain, rising; logarithmic."""
    further: np.ndarray
    """At these, not above ``longest``."""
    longest: float
    """Further delays beyond this one [s] are not told apart."""

    @property
    def margin(self) -> float:
        """The further delay as checked [s]; ``longest`` of a loop that is not stable as checked: its margin is used."""
        return float(np.interp(0.0, np.log(self.gains), self.further)) or self.longest


def online_plant_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = p.lag.size
    depth = s.past.shape[0]
    used = 0.0
    if s.started < 2.0:  # the command on the bus is that of the tick before
        s.started += 1.0
        for i in range(n):
            s.zero[i], s.zero[n + i] = u[i], u[n + i]
    s.count = p.fading * s.count + 1.0
    for j in range(depth - 1, 0, -1):
        for i in range(n):
            s.past[j, i] = s.past[j - 1, i]
    for i in range(n):
        for k in (i, n + i):  # the same band-pass on command and measurement
            value = u[k] - s.zero[k]
            seen = p.b[0] * value + s.band[k, 0]
            s.band[k, 0] = p.b[1] * value - p.a[1] * seen + s.band[k, 1]
            s.band[k, 1] = p.b[2] * value - p.a[2] * seen
            s.seen[k] = seen
        s.past[0, i] = s.seen[i]
        x = s.seen[n + i]
        at = int(p.waits[i]) + 1
        c = s.past[at, i]
        d = (s.past[at - 1, i] - s.past[at + 1, i]) / (2.0 * p.dt)
        s.cc[i] = p.fading * s.cc[i] + c * c
        s.cd[i] = p.fading * s.cd[i] + c * d
        s.dd[i] = p.fading * s.dd[i] + d * d
        s.xc[i] = p.fading * s.xc[i] + x * c
        s.xd[i] = p.fading * s.xd[i] + x * d
        s.xx[i] = p.fading * s.xx[i] + x * x
        s.fourth[i] = p.fading * p.fading * s.fourth[i] + c * c * c * c
        lag, gain = s.lag[i], s.gain[i]
        det = s.cc[i] * s.dd[i] - s.cd[i] * s.cd[i]
        enough = s.cc[i] * s.cc[i] >= p.enough * s.fourth[i]
        if enough and det > 1e-9 * s.cc[i] * s.dd[i]:
            first = (s.xc[i] * s.dd[i] - s.xd[i] * s.cd[i]) / det
            second = (s.xd[i] * s.cc[i] - s.xc[i] * s.cd[i]) / det
            left = max(s.xx[i] - first * s.xc[i] - second * s.xd[i], 0.0) / s.count
            gained, delayed = left * p.prior_gain[i], left * p.prior_lag[i]
            a11, a22 = s.cc[i] + gained, s.dd[i] + delayed
            b1, b2 = s.xc[i] + gained * p.theta[0, i], s.xd[i] + delayed * p.theta[1, i]
            both = a11 * a22 - s.cd[i] * s.cd[i]
            first, second = (b1 * a22 - b2 * s.cd[i]) / both, (b2 * a11 - b1 * s.cd[i]) / both
            omega = math.sqrt(s.dd[i] / s.cc[i])
            lag = p.base[i] + math.atan2(-second * omega, first) / omega
            gain = math.sqrt(first * first + second * second * omega * omega)
            s.lag[i], s.gain[i] = lag, gain
        y[i], y[n + i] = lag, gain
        y[2 * n + i] = max(abs(lag - p.lag_middle[i]) / p.lag_half[i], abs(gain - p.gain_middle[i]) / p.gain_half[i])
        place = (math.log(max(gain / p.gain[i], 1e-6)) - p.first_gain) / p.gain_step
        place = min(max(place, 0.0), p.further.size - 1.001)
        below = int(place)
        bears = p.further[below] + (place - below) * (p.further[below + 1] - p.further[below])
        used = max(used, 1.0 - (bears - (lag - p.lag[i])) / p.margin)
    y[3 * n] = used
    return 0


def online_plant(
    dt: float,
    asked: OnlineIdentification,
    checked: CheckedPlant,
    command: tuple[str, ...],
    measured: tuple[str, ...],
    ahead: int,
) -> Block:
    """Block "plant": from the commands, each of ``ahead`` ticks ago, and what is measured of them."""
    from scipy.signal import butter

    n = len(command)
    low, high = asked.band(dt)
    section = butter(1, [low, high], "bandpass", fs=1.0 / dt, output="sos")[0]
    waits = np.clip(np.round(checked.lag / dt) - ahead - 1, 0, MOST_TICKS)  # a central difference needs one after it
    base = (waits + ahead + 1) * dt
    # so many ticks tell as much as one that is independent of the others
    alike = 1.0 / (2.0 * high * dt)
    lag_size = np.maximum(np.abs(checked.lag), 5.0 * dt)
    lag_half = 0.5 * np.ptp(checked.lag_range, axis=1) + asked.tolerance * lag_size
    gain_half = 0.5 * np.ptp(checked.gain_range, axis=1) + asked.tolerance * checked.gain
    gains = np.log(checked.gains)
    zeros = np.zeros(n)
    state: dict[str, Value] = {
        "started": 0.0,
        "count": 0.0,
        "zero": np.zeros(2 * n),
        "band": np.zeros((2 * n, 2)),
        "seen": np.zeros(2 * n),
        "past": np.zeros((int(waits.max()) + 3, n)),
        **{name: zeros for name in ("cc", "cd", "dd", "xc", "xd", "xx", "fourth")},
        "lag": checked.lag,
        "gain": checked.gain,
    }
    return Block(
        name="plant",
        step=online_plant_step,
        inputs=(*command, *measured),
        outputs=(
            *channels(LAG, "s", n, of="commanded"),
            *channels(GAIN, "1", n, of="commanded"),
            *channels(OUTSIDE, "1", n, of="commanded"),
            *channels(USED, "1", 1),
        ),
        parameters={
            "dt": dt,
            "enough": ENOUGH * asked.memory / dt,
            "fading": math.exp(-dt / asked.memory),
            "b": section[:3],
            "a": section[3:],
            "waits": waits,
            "base": base,
            "lag": checked.lag,
            "gain": checked.gain,
            "theta": np.array([checked.gain, -checked.gain * (checked.lag - base)]),
            "prior_gain": np.asarray(alike / gain_half**2),
            "prior_lag": np.asarray(alike / (checked.gain * lag_half) ** 2),
            "lag_middle": checked.lag_range.mean(axis=1),
            "lag_half": lag_half,
            "gain_middle": checked.gain_range.mean(axis=1),
            "gain_half": gain_half,
            "first_gain": float(gains[0]),
            "gain_step": float(gains[1] - gains[0]),
            "further": checked.further,
            "margin": checked.margin,
        },
        state=state,
        frozen=tuple(state),
    )
