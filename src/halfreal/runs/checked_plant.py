"""The rig that a check has judged, for the block that identifies it while the test runs (``safety/online_plant.py``).

The loop is cut at its command (``stability/open_loop.py``), and lag and gain of the rig are those of G(ω), from the
command to what is measured of it, anywhere in the band in which the motion has its power: of the model, and of variants
with each uncertain number at its ends, and of some in between.  Where as many actuators as axes move the interface,
commands and measurements are their strokes.  G is a matrix where axes answer each other's commands; answers that are
more than a share of the tolerance are identified too.  Of a variant each of them is G (θ₁ + jω θ₂), with the numbers
that come nearest in the band, and what they leave is added to the width of what was checked.  The further delay that
the loop can take is that of its open loop, times a row of gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import units
from ..contracts.axes import Axes
from ..contracts.context import Context, Purpose, numbered
from ..contracts.state_space import StateSpace
from ..couplings.direct import Direct
from ..definition.definition import Definition
from ..definition.faults import DefinitionError
from ..definition.sections import Reference
from ..definition.uncertainty import parameters
from ..errors import HalfrealError
from ..kernels.block import Block
from ..models.remembered import remembered
from ..safety.online_plant import GAIN, LAG, OUTSIDE, USED, CheckedPlant, OnlineIdentification, online_plant
from ..stability.linearise import NoSlopeError
from ..stability.margins import delay_margin
from ..stability.open_loop import open_loop_and
from .coupled import POSE, commanded
from .judged_samples import judged
from .rig_lag import followed, seen
from .run import Run, Signal

BETWEEN = 8
"""Variants with all uncertain numbers drawn at random, next to those at their ends."""
GAINS = np.geomspace(0.5, 2.0, 17)
POINTS = 400
POWER = 0.05
"""Share of the power of a motion below its band, and above it."""
LEAST_GAIN = 1e-3
SMALL = 0.1
"""Share of the tolerance below which the answer to the command of another axis is not looked at."""
MOST_LEFT = 0.2
"""Part of an axis's motion that its answers to others may leave unexplained."""
APPLIED = 1
"""Ticks by which the applied command is old when the block runs, before the guard."""
STROKES = "plant.stroke"
MOST_TICKS = 2048
"""Of the impulse responses of a rig."""
SHORTEST, ROUNDED = 1e-3, 64
"""Part of an impulse response that may be cut off; lengths are multiples of this, as a block is compiled for each."""
LONGEST = 10.0
"""Times the lag, or 100 steps: further delays beyond are not distinguished."""


def online_blocks(context: Context) -> list[Block]:
    """The block that identifies the rig while the test runs, if the definition requests one."""
    test = context.test
    asked, kinematics = test.online_identification, test.kinematics
    if asked is None or context.purpose.alone:
        return []
    checked = checked_plant(test)
    measured = commanded(context, f"measured.{test.commands}")
    if kinematics is not None and by_strokes(test):
        strokes = kinematics.to_strokes("plant strokes", measured, STROKES)
        count = len(kinematics.actuators)
        known, seen = numbered("command", count), numbered(STROKES, count)
        return [strokes, online_plant(context.step, asked, checked, known, seen, APPLIED, "actuator")]
    if kinematics is not None:  # written in this tick; the applied command is that of the tick before
        return [online_plant(context.step, asked, checked, numbered(POSE, len(measured)), measured, 0)]
    return [online_plant(context.step, asked, checked, numbered("command", len(measured)), measured, APPLIED)]


def by_strokes(definition: Definition) -> bool:
    """Whether the rig is identified by the strokes of its actuators: as many move the interface as it has axes."""
    axes, kinematics = definition.interface, definition.kinematics
    return kinematics is not None and len(kinematics.actuators) == len(axes.commanded_at)


def identified(definition: Definition) -> Axes:
    """What has a lag and a gain of its own: actuators, or axes that are commanded."""
    axes = definition.interface
    return axes.actuators if by_strokes(definition) else axes.commanded


@dataclass(frozen=True)
class Followed:
    """How a rig follows its commands, at frequencies in the band of the motion of each axis."""

    omega: np.ndarray
    """These frequencies [rad/s], (frequencies, axes)."""
    answers: np.ndarray
    """G of each axis to the command of each at the frequencies of the latter, (frequencies, axes, axes)."""
    lags: np.ndarray
    """To its own command [s], (frequencies, axes)."""
    opened: StateSpace
    model: StateSpace
    """From commands to what is measured in the tick after."""

    @property
    def own(self) -> np.ndarray:
        """G of each axis to its own command."""
        return np.diagonal(self.answers, axis1=1, axis2=2)


@remembered(maxsize=8)
def checked_plant(definition: Definition) -> CheckedPlant:
    """Lag, gain and margins of the rig and loop of a definition, over what is uncertain in them."""
    asked = definition.online_identification
    assert asked is not None
    test = definition.unchecked_copy({"online_identification": None})
    band, sizes = motion_band(test, asked)
    model = followed_in(test, band)
    known = [model, *(followed_in(variant, band) for variant in variants(test))]
    if not np.all(np.isfinite(model.lags)) or not min(np.abs(one.own).min() for one in known) > LEAST_GAIN:
        raise HalfrealError(
            "online_identification: the rig does not follow its command in the band of the motion, "
            f"{band.min():.3g} to {band.max():.3g} Hz; leave it out, or look at its band (lowest, highest)"
        )
    lag, gain = model.lags.mean(axis=0), np.abs(model.own).mean(axis=0)
    ratios = np.concatenate([one.own / model.own for one in known])
    further_lags = -np.angle(ratios) / np.tile(model.omega, (len(known), 1))
    lag_range, gain_range = (
        np.column_stack([rows.min(axis=0), rows.max(axis=0)]) for rows in (lag + further_lags, gain * np.abs(ratios))
    )
    longest = float(LONGEST * np.maximum(np.abs(model.lags).max(), 10.0 * test.timing.step))
    further = np.array([min(delay_margin(scaled(model.opened, one)).critical_delay, longest) for one in GAINS])
    answered, width, left = answers_to_others(known, sizes, asked.tolerance)
    for i, name in enumerate(identified(test).names):
        if left[i] > MOST_LEFT:
            raise HalfrealError(
                f"online_identification: what '{name}' answers to the commands of others varies by {100 * left[i]:.3g} "
                f"% of its motion in a way that no lag and gain describe, and at most {100 * MOST_LEFT:g} % may be "
                "left; leave the section out, or narrow [uncertainty]"
            )
    unexplained = np.column_stack([left / model.omega.mean(axis=0), left * gain])
    taps = impulse_responses(model.model) * answered[:, :, None]
    return CheckedPlant(lag, gain, lag_range, gain_range, GAINS, further, longest, taps, width, unexplained)


def answers_to_others(
    known: Sequence[Followed], sizes: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which axis answers the command of which, (axes, axes), half the width of θ there over what is uncertain, (axes,
    axes, 2), and the part of an axis's motion that two numbers leave unexplained in variants, (axes,)."""
    n, model = len(sizes), known[0]
    answered, width, left = np.eye(n, dtype=bool), np.ones((n, n, 2)), np.zeros(n)
    for i in range(n):
        least = float(np.abs(model.own[:, i]).min()) * sizes[i]
        for j in range(n):
            most = max(float(np.abs(one.answers[:, i, j]).max()) for one in known) * sizes[j]
            if j == i or most <= SMALL * tolerance * least:
                continue
            omega, answer = model.omega[:, j], model.answers[:, i, j]
            size = np.abs(answer)
            matters = size**2 / np.sum(size**2)
            ratios = [one.answers[:, i, j] / np.where(size > 0.0, answer, 1.0) for one in known]
            slopes = [matters * omega @ one.imag / (matters * omega @ omega) for one in ratios]
            found = np.array([[matters @ one.real, slope] for one, slope in zip(ratios, slopes, strict=True)])
            answered[i, j] = True
            width[i, j] = np.abs(found - [1.0, 0.0]).max(axis=0) + tolerance * np.array([1.0, 1.0 / omega.mean()])
            misses = [size * np.abs(r - one[0] - 1j * omega * one[1]) for r, one in zip(ratios, found, strict=True)]
            left[i] += float(np.max(misses)) * sizes[j] / least
    return answered, width, left


def impulse_responses(model: StateSpace) -> np.ndarray:
    """Of a sampled model, (outputs, inputs, ticks), as long as they matter."""
    taps, state = [model.d], model.b
    for _ in range(MOST_TICKS - 1):
        taps.append(model.c @ state)
        state = model.a @ state
    found = np.stack(taps, axis=2)
    after = np.cumsum(np.abs(found)[:, :, ::-1], axis=2)[:, :, ::-1]  # what is left from each tick on
    matters = np.flatnonzero((after > SHORTEST * after[:, :, :1].max()).any(axis=(0, 1)))
    length = -(-(int(matters[-1]) + 1) // ROUNDED) * ROUNDED
    return np.ascontiguousarray(found[:, :, : min(length, MOST_TICKS)])


def scaled(loop: StateSpace, gain: float) -> StateSpace:
    return StateSpace(loop.a, gain * loop.b, loop.c, gain * loop.d, loop.dt)


def variants(definition: Definition) -> list[Definition]:
    """The definition with each uncertain number at either end, and with all of them anywhere."""
    from scipy.stats import qmc

    uncertain = parameters(definition)
    if not uncertain:
        return []
    places = [one.place for one in uncertain]
    ends = [{one.place: end} for one in uncertain for end in (one.low, one.high)]
    drawn = qmc.LatinHypercube(len(uncertain), seed=definition.timing.seed).random(BETWEEN)
    values = np.column_stack([one.quantile(drawn[:, i]) for i, one in enumerate(uncertain)])
    bare, found = definition.unchecked_copy({"uncertainty": {}}), []
    for changes in [*ends, *(dict(zip(places, row.tolist(), strict=True)) for row in values)]:
        try:
            found.append(bare.with_values(changes))
        except DefinitionError:  # such as a step that does not suit the value: no test can have it
            continue
    return found


def followed_in(definition: Definition, band: np.ndarray) -> Followed:
    """How the rig of a definition follows, each axis at frequencies in its band [Hz], (axes, 2)."""
    from .loop_stability import cut_loop  # which builds loops, as this does for them

    names = followed(definition)
    try:
        loop = cut_loop(definition)
        opened, answer = open_loop_and(loop, names)
    except NoSlopeError:
        loop = cut_loop(definition, smooth=True)
        opened, answer = open_loop_and(loop, names)
    except HalfrealError as error:
        raise HalfrealError(f"online_identification: the rig's lag and gain are not known: {error}") from error
    written = next(row for row, block in enumerate(loop.blocks) if any(one.name == names[0] for one in block.outputs))
    model, strokes = seen(answer), along_axes(definition)
    if by_strokes(definition):
        model = StateSpace(model.a, model.b, strokes @ model.c, strokes @ model.d, model.dt)
    else:
        model = StateSpace(model.a, model.b @ strokes, model.c, model.d @ strokes, model.dt)
    if written < loop.row("guard"):  # measured before the command of the tick: it answers to that of the tick before
        model = StateSpace(model.a, model.b, model.c @ model.a, model.c @ model.b, model.dt)
    omega = 2.0 * np.pi * band.max() * np.arange(1, POINTS + 1) / POINTS
    whole = model.response(omega) * np.exp(-1j * omega * loop.dt)[:, None, None]
    own = np.diagonal(whole, axis1=1, axis2=2)
    phase = np.unwrap(np.angle(own), axis=0)
    phase -= 2.0 * np.pi * np.round(phase[0] / (2.0 * np.pi))
    at = [
        np.interp(2.0 * np.pi * np.linspace(float(ends[0]), float(ends[1]), 21), omega, np.arange(POINTS))
        for ends in band
    ]
    index = np.round(np.column_stack(at)).astype(int)
    answers = np.stack([whole[index[:, j], :, j] for j in range(index.shape[1])], axis=2)
    lags = np.take_along_axis(-phase / omega[:, None], index, axis=0)
    dense = opened if isinstance(opened, StateSpace) else opened.dense()
    return Followed(omega[index], answers, lags, dense, model)


def along_axes(definition: Definition) -> np.ndarray:
    """What a pose of the commanded axes asks of the actuators, (actuators, axes), about where the test begins."""
    kinematics, axes = definition.kinematics, definition.interface
    n = len(axes.commanded_at)
    if kinematics is None:
        return np.eye(n)
    if kinematics.matrix is not None:
        return kinematics.matrix
    start = np.asarray(definition.virtual.initial_target(), dtype=float)[list(axes.commanded_at)]
    small = 1e-6
    both = [[kinematics.strokes_at(start + sign * small * row) for sign in (1.0, -1.0)] for row in np.eye(n)]
    return np.column_stack([(up - down) / (2.0 * small) for up, down in both])


def motion_band(definition: Definition, asked: OnlineIdentification) -> tuple[np.ndarray, np.ndarray]:
    """The frequencies [Hz] between which the motion of each axis or actuator has its power, (axes, 2), and its rms."""
    low, high = asked.band(definition.timing.step)
    motion = interface_motion(definition)[:, list(definition.interface.commanded_at)]
    if by_strokes(definition):
        motion = motion @ along_axes(definition).T
    hz = np.fft.rfftfreq(len(motion), definition.timing.step)
    power = np.abs(np.fft.rfft(motion - motion.mean(axis=0), axis=0)) ** 2 * ((hz >= low) & (hz <= high))[:, None]
    total = np.cumsum(power, axis=0)
    found = np.tile([low, high], (motion.shape[1], 1))
    for i in range(motion.shape[1]):
        if total[-1, i] > 0.0:
            at = np.searchsorted(total[:, i], np.array([POWER, 1.0 - POWER]) * total[-1, i])
            found[i] = np.clip(hz[at], low, high)
    return found, motion.std(axis=0)


def interface_motion(definition: Definition) -> np.ndarray:
    """The motion that a test is about, (ticks, axes): of the emulated system, or else of a rigid interface."""
    from .build import build
    from .reference import can_emulate, emulate

    known = definition.virtual.system("none") is not None and definition.rig.known_specimen is not None
    whole = definition if definition.reference is not None or not known else None
    test = definition.unchecked_copy({"reference": Reference()}) if whole is None else whole
    ticks = definition.timing.ticks
    if definition.targets == "displacement" and test.reference is not None and can_emulate(test):
        motion = emulate(test, ticks, 1)
        if motion is not None:
            return motion
    loop = build(definition.unchecked_copy({"coupling": Direct()}), Purpose(cut=True))
    return loop.run(ticks, record=definition.interface.channels("target")).log[:, 1:]


def as_checked(definition: Definition, run: Run) -> list[tuple[str, bool]]:
    """Of each commanded axis what was identified in the test next to what was checked, and whether it stayed there."""
    asked = definition.online_identification
    axes = identified(definition)
    kept = judged(run)
    outside, lag, gain = ([run.signals.get(name) for name in axes.channels(one)] for one in (OUTSIDE, LAG, GAIN))
    if asked is None or not kept.any() or any(one is None for one in (*outside, *lag, *gain)):
        return []
    checked, found = checked_plant(definition), []
    for i, name in enumerate(axes.names):
        left = np.flatnonzero(kept & (_values(outside[i]) > 1.0))
        (low, high), (less, more) = (_ends(one[i], kept) for one in (lag, gain))
        (early, late), (small, large) = checked.lag_range[i], checked.gain_range[i]
        on = "" if len(axes) == 1 else f" at '{name}'"
        text = (
            f"the rig{on} was identified with a lag of {_ms(low)} to {_ms(high)}, a gain of {less:.3g} to {more:.3g}; "
            f"checked were {_ms(early)} to {_ms(late)} and {small:.3g} to {large:.3g}, with a tolerance of "
            f"{100 * asked.tolerance:g} %"
        )
        if left.size:
            text = f"{text}: it left that at {units.text(float(run.time[left[0]]), 's')}"
        found.append((text, not left.size))
    used = run.signals.get(USED)
    if used is not None:
        most = float(_values(used)[kept].max())
        text = f"of the margins that were checked, the identified rig used at most {100 * most:.3g} %"
        found.append((text, most < 1.0))
    return found


def _values(signal: Signal | None) -> np.ndarray:
    assert signal is not None
    return signal.values


def _ends(signal: Signal | None, kept: np.ndarray) -> tuple[float, float]:
    values = _values(signal)[kept]
    return float(values.min()), float(values.max())


def _ms(seconds: float) -> str:
    return units.text(float(seconds), "s", 3)
