"""The rig as it is now: its lag and gain on every axis, identified while the test runs.

A test is checked with a model of its rig, for all that is said to be uncertain in it.  If oil warms up or a bolt comes
loose, the rig leaves what was checked, and the margins of the check no longer hold.  Commands c and measurements x
(what is commanded, displacement or force) show it while the test runs; where actuators move the interface, both are
strokes.  All pass the same band-pass, and c goes through the model that was checked, by its impulse responses h: what
is left to find is how the rig differs from it.  At every tick, with the fading λ = exp(−Δt/memory), m˙ by central
differences and φ = (m, m˙)::

    m = h * c       S ← λ S + φ φᵀ      s ← λ s + φ x      ω² = S₂₂/S₁₁      (S + P) θ = s + P θ₀,   θ₀ = (1, 0)

    lag = τ₀ + arctan2(−θ₂ ω, θ₁)/ω                       gain = g₀ √(θ₁² + θ₂² ω²)

which is recursive least squares with forgetting (information form) for x = θ₁ m + θ₂ m˙: exact for the rig that was
checked, for a sine of any frequency, and to second order in ω (lag − τ₀) for a further delay in a band.  τ₀ and g₀ are
lag and gain of the model in the band of the motion.  Where an axis also answers the commands of others, m is all of its
modelled motion, and φ holds the answers to others once more, with their derivatives: two further numbers for each, 0 as
checked, by which these differ more than the motion as a whole.

P weighs what was checked, with its width, by the part of x that φ does not explain: of a rig that rests, or whose
motion is lost in noise, the block gives what was checked, and nothing trips.  Axes that always move alike do not show
which command an axis has answered; then the answers to others stay near those that were checked, and the change is
taken for one of the axis itself.  Where motion has just begun, (Σ m²)²/Σ m⁴ with the same fading, the ticks that count,
is small, and the last estimate stays.

How far that is outside of what was checked is found for each axis,

    outside = max(|lag − τ_m|/τ_h, |gain − g_m|/g_h)                    1 at the edge of the range τ_m ± τ_h, g_m ± g_h

and from the open loop L of the check follows what is left of its margins.  d(γ) is the further delay that γL can take
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

from ..kernels.block import Block, Owner, Value, channels
from ..kernels.linear import set_to, solve_in_place
from ..settings import Number, Settings, fault

LAG, GAIN, OUTSIDE, USED = "plant.lag", "plant.gain", "plant.outside", "plant.margin_used"
WARN_OUTSIDE, WARN_USED = 1.0, 0.5
"""Warning limits of these channels where the definition gives none."""
ENOUGH = 0.15
"""Share of the memory in which there must have been motion for an estimate; before, the last one stays."""


class OnlineIdentification(Settings):
    """Lag and gain of the rig identified while the test runs, and what is left of the margins that were checked."""

    memory: Annotated[float, Number("s", above=0)] = 2.0
    """Time constant of forgetting: a few periods of the motion."""
    lowest: Annotated[float, Number("Hz", above=0)] = 0.1
    """Lower edge of the identification band; drift and offsets are below it."""
    highest: Annotated[float, Number("Hz", above=0)] | None = None
    """Upper edge of the band; default: a fiftieth of the sampling rate, or ten times the lower edge."""
    tolerance: Annotated[float, Number("1", above=0)] = 0.05
    """Tolerance on gain and delay by which the checked range is widened."""

    @field_validator("highest")
    @classmethod
    def _above_lowest(cls, highest: float | None, info: ValidationInfo) -> float | None:
        lowest = info.data.get("lowest")
        if highest is not None and lowest is not None and highest <= lowest:
            raise fault(f"{highest:g} Hz is not above lowest, {lowest:g} Hz; highest must be above lowest")
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


RIDGE = 1e-9
"""Part of S by which its diagonal is raised where what is unexplained is found: axes may move alike."""


@dataclass(frozen=True)
class CheckedPlant:
    """The rig that was checked: lag [s] and gain of each commanded axis as modelled and over all that is uncertain, and
    the further delay [s] that the loop tolerates at some gains in its place."""

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
    """Further delays beyond this one [s] are not distinguished."""
    taps: np.ndarray
    """(axes, axes, ticks): impulse responses of the model, from the command of each axis in the tick before to what is
    measured on each; zeros where it does not answer it."""
    cross_width: np.ndarray
    """(axes, axes, 2): half the width of θ that was checked, of the answers to the commands of others."""
    unexplained: np.ndarray
    """(axes, 2): by how much lag [s] and gain may be wrong, as variants of the answers are more than two numbers."""

    @property
    def margin(self) -> float:
        """The further delay as checked [s]; ``longest`` of a loop that is not stable as checked: its margin is used."""
        return float(np.interp(0.0, np.log(self.gains), self.further)) or self.longest


def online_plant_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, m, length = p.lag.size, s.theta.size, p.taps.shape[2]
    used = 0.0
    if s.started < 2.0:  # the command on the bus is that of the tick before
        s.started += 1.0
        for k in range(2 * n):
            s.zero[k] = u[k]
    s.count = p.fading * s.count + 1.0
    for k in range(2 * n):  # the same band-pass on command and measurement
        value = u[k] - s.zero[k]
        seen = p.b[0] * value + s.band[k, 0]
        s.band[k, 0] = p.b[1] * value - p.a[1] * seen + s.band[k, 1]
        s.band[k, 1] = p.b[2] * value - p.a[2] * seen
        s.before[k] = s.seen[k]
        s.seen[k] = seen
    at = int(s.at)  # commands stand twice, the newest first from ``at`` on
    for i in range(n):
        newest = s.seen[i] if p.ahead == 1.0 else s.before[i]
        s.past[i, at] = s.past[i, at + length] = newest
    for i in range(n):
        x = s.before[n + i]  # that of the tick before: a central difference needs one after it
        set_to(0.0, s.now)
        for k in range(m // 2):
            j = int(p.of[i, k])
            if j >= 0:
                for q in range(length):
                    s.now[k] += p.taps[i, j, q] * s.past[j, at + q]
        for k in range(1, m // 2):
            s.now[0] += s.now[k]
        for k in range(m // 2):
            s.row[2 * k] = s.answer[i, k, 0]
            s.row[2 * k + 1] = (s.now[k] - s.answer[i, k, 1]) / (2.0 * p.dt)
            s.answer[i, k, 1] = s.answer[i, k, 0]
            s.answer[i, k, 0] = s.now[k]
        for k in range(m):
            for j in range(k + 1):
                s.known[i, k, j] = p.fading * s.known[i, k, j] + s.row[k] * s.row[j]
            s.right[i, k] = p.fading * s.right[i, k] + s.row[k] * x
        s.xx[i] = p.fading * s.xx[i] + x * x
        s.fourth[i] = p.fading * p.fading * s.fourth[i] + s.row[0] ** 4
        cc, dd, cd = s.known[i, 0, 0], s.known[i, 1, 1], s.known[i, 1, 0]
        lag, gain = s.lag[i], s.gain[i]
        if cc * cc >= p.enough * s.fourth[i] and cc * dd - cd * cd > 1e-9 * cc * dd:
            for k in range(m):
                s.theta[k] = s.right[i, k]
                for j in range(k):
                    s.work[k, j] = s.work[j, k] = s.known[i, k, j]
                s.work[k, k] = (1.0 + p.ridge) * s.known[i, k, k] if s.known[i, k, k] > 0.0 else 1.0
            solve_in_place(s.work, s.theta)
            left = s.xx[i]
            for k in range(m):
                left -= s.theta[k] * s.right[i, k]
            left = max(left, p.ridge * s.xx[i]) / s.count
            for k in range(m):
                s.theta[k] = s.right[i, k] + left * p.prior[i, k] * p.start[k]
                for j in range(k):
                    s.work[k, j] = s.work[j, k] = s.known[i, k, j]
                s.work[k, k] = s.known[i, k, k] + left * p.prior[i, k]
            solve_in_place(s.work, s.theta)
            first, second, omega = s.theta[0], s.theta[1], math.sqrt(dd / cc)
            lag = p.lag[i] + math.atan2(-second * omega, first) / omega
            gain = p.gain[i] * math.sqrt(first * first + second * second * omega * omega)
            s.lag[i], s.gain[i] = lag, gain
        y[i], y[n + i] = lag, gain
        y[2 * n + i] = max(abs(lag - p.lag_middle[i]) / p.lag_half[i], abs(gain - p.gain_middle[i]) / p.gain_half[i])
        place = (math.log(max(gain / p.gain[i], 1e-6)) - p.first_gain) / p.gain_step
        place = min(max(place, 0.0), p.further.size - 1.001)
        below = int(place)
        further = p.further[below] + (place - below) * (p.further[below + 1] - p.further[below])
        used = max(used, 1.0 - (further - (lag - p.lag[i])) / p.margin)
    s.at = float(at - 1 if at > 0 else length - 1)
    y[3 * n] = used
    return 0


def online_plant(
    dt: float,
    asked: OnlineIdentification,
    checked: CheckedPlant,
    command: tuple[str, ...],
    measured: tuple[str, ...],
    ahead: int,
    of_what: Owner = "commanded",
) -> Block:
    """Block "plant": from the commands, each of ``ahead`` ticks ago, and what is measured of them."""
    from scipy.signal import butter

    n, length = len(command), checked.taps.shape[2]
    low, high = asked.band(dt)
    section = butter(1, [low, high], "bandpass", fs=1.0 / dt, output="sos")[0]
    # so many ticks tell as much as one that is independent of the others
    alike = 1.0 / (2.0 * high * dt)
    lag_size = np.maximum(np.abs(checked.lag), 5.0 * dt)
    lag_half = 0.5 * np.ptp(checked.lag_range, axis=1) + asked.tolerance * lag_size + checked.unexplained[:, 0]
    gain_half = 0.5 * np.ptp(checked.gain_range, axis=1) + asked.tolerance * checked.gain + checked.unexplained[:, 1]
    answered = [[i, *(j for j in range(n) if j != i and np.any(checked.taps[i, j]))] for i in range(n)]
    most = max(len(one) for one in answered)
    m = 2 * most
    prior = np.ones((n, m))
    prior[:, 0], prior[:, 1] = alike / (gain_half / checked.gain) ** 2, alike / lag_half**2
    for i, one in enumerate(answered):
        for k, j in enumerate(one[1:], start=1):
            prior[i, 2 * k : 2 * k + 2] = alike / checked.cross_width[i, j] ** 2
    gains = np.log(checked.gains)
    state: dict[str, Value] = {
        "started": 0.0,
        "count": 0.0,
        "at": 0.0,
        "zero": np.zeros(2 * n),
        "band": np.zeros((2 * n, 2)),
        "seen": np.zeros(2 * n),
        "before": np.zeros(2 * n),
        "past": np.zeros((n, 2 * length)),
        "now": np.zeros(most),
        "answer": np.zeros((n, most, 2)),
        "known": np.zeros((n, m, m)),
        "right": np.zeros((n, m)),
        "xx": np.zeros(n),
        "fourth": np.zeros(n),
        "row": np.zeros(m),
        "work": np.zeros((m, m)),
        "theta": np.zeros(m),
        "lag": checked.lag,
        "gain": checked.gain,
    }
    return Block(
        name="plant",
        step=online_plant_step,
        inputs=(*command, *measured),
        outputs=(
            *channels(LAG, "s", n, of=of_what),
            *channels(GAIN, "1", n, of=of_what),
            *channels(OUTSIDE, "1", n, of=of_what),
            *channels(USED, "1", 1),
        ),
        parameters={
            "dt": dt,
            "enough": ENOUGH * asked.memory / dt,
            "fading": math.exp(-dt / asked.memory),
            "ridge": RIDGE,
            "b": section[:3],
            "a": section[3:],
            "ahead": float(ahead),
            "taps": checked.taps,
            "of": np.array([one + [-1] * (most - len(one)) for one in answered], dtype=float),
            "lag": checked.lag,
            "gain": checked.gain,
            "start": np.eye(1, m)[0],
            "prior": prior,
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
