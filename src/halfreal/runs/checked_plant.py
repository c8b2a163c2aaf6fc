"""The rig that a check has judged, for the block that identifies it while the test runs (``safety/online_plant.py``).

The loop is cut at its command (``stability/open_loop.py``), and lag and gain of the rig are those of G(ω), from the
command to what is measured of it, anywhere in the band in which the motion has its power: of the model, and of variants
with each uncertain number at its ends, and of some in between.  The further delay that the loop bears is that of its
open loop, times a row of gains.
"""

from __future__ import annotations

import numpy as np

from .. import units
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
from .rig_lag import followed
from .run import Run, Signal

BETWEEN = 8
"""Variants with all uncertain numbers drawn at random, beside those at their ends."""
GAINS = np.geomspace(0.5, 2.0, 17)
POINTS = 400
POWER = 0.05
"""Share of the power of a motion below its band, and above it."""
LEAST_GAIN = 1e-3
LONGEST = 10.0
"""Times the lag, or 100 steps: further delays beyond are not told apart."""


def online_blocks(context: Context) -> list[Block]:
    """The block that identifies the rig while the test runs, if the definition asks for one."""
    test = context.test
    asked = test.online_identification
    if asked is None or context.purpose.alone:
        return []
    checked = checked_plant(test)
    measured = commanded(context, f"measured.{test.commands}")
    if test.kinematics is not None:  # written in this tick; the applied command is that of the tick before
        return [online_plant(context.step, asked, checked, numbered(POSE, len(measured)), measured, 0)]
    return [online_plant(context.step, asked, checked, numbered("command", len(measured)), measured, 1)]


@remembered(maxsize=8)
def checked_plant(definition: Definition) -> CheckedPlant:
    """Lag, gain and margins of the rig and loop of a definition, over what is uncertain in them."""
    asked = definition.online_identification
    assert asked is not None
    test = definition.unchecked_copy({"online_identification": None})
    band, sizes = motion_band(test, asked)
    lags, gains, opened, answers = followed_in(test, band)
    check_apart(test, answers, sizes, asked.tolerance)
    size = np.maximum(np.abs(lags).max(), 10.0 * test.timing.step)
    nominal = lags.mean(axis=0), gains.mean(axis=0)
    for variant in variants(test):
        more = followed_in(variant, band)
        lags, gains = np.vstack([lags, more[0]]), np.vstack([gains, more[1]])
    if not np.all(np.isfinite(lags)) or not gains.min() > LEAST_GAIN:
        raise HalfrealError(
            "online_identification: the rig does not follow its command in the band of the motion, "
            f"{band.min():.3g} to {band.max():.3g} Hz; leave it out, or look at its band (lowest, highest)"
        )
    longest = float(LONGEST * size)
    further = np.array([min(delay_margin(scaled(opened, gain)).critical_delay, longest) for gain in GAINS])
    lag_range, gain_range = (np.column_stack([rows.min(axis=0), rows.max(axis=0)]) for rows in (lags, gains))
    return CheckedPlant(*nominal, lag_range, gain_range, GAINS, further, longest)


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


def check_apart(definition: Definition, answers: np.ndarray, sizes: np.ndarray, tolerance: float) -> None:
    """Raise an error where an axis answers the commands of others: a lag and a gain of its own say nothing then."""
    names = definition.interface.commanded.names
    for i, name in enumerate(names):
        own = answers[i, i] * sizes[i]
        for j, other in enumerate(names):
            if j != i and answers[i, j] * sizes[j] > tolerance * own:
                share = f"{100 * answers[i, j] * sizes[j] / own:.3g} %" if own > 0.0 else "more than all"
                raise HalfrealError(
                    f"online_identification: axis {name} answers the command of axis {other} by {share} of its own "
                    f"motion, more than the tolerance of {100 * tolerance:g} %: a lag and a gain for each axis do not "
                    "describe this rig; leave the section out, or let actuators that follow alike move the axes"
                )


def followed_in(definition: Definition, band: np.ndarray) -> tuple[np.ndarray, np.ndarray, StateSpace, np.ndarray]:
    """Lag [s] and gain of each commanded axis at frequencies in its band, (frequencies, axes), the open loop, and the
    largest answer of each axis to the command of each, (axes, axes)."""
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
    ahead = loop.dt if written > loop.row("guard") else 0.0
    top = 2.0 * np.pi * band.max()
    omega = top * np.arange(1, POINTS + 1) / POINTS
    whole = answer.response(omega) @ along_axes(definition)
    followed_by = np.diagonal(whole, axis1=1, axis2=2)
    phase = np.unwrap(np.angle(followed_by), axis=0)
    phase -= 2.0 * np.pi * np.round(phase[0] / (2.0 * np.pi))
    lags, gains = ahead - phase / omega[:, None], np.abs(followed_by)
    dense = opened if isinstance(opened, StateSpace) else opened.dense()
    at = [
        np.interp(2.0 * np.pi * np.linspace(float(ends[0]), float(ends[1]), 21), omega, np.arange(POINTS))
        for ends in band
    ]
    index = np.round(np.column_stack(at)).astype(int)
    largest = np.abs(whole[index.min() : index.max() + 1]).max(axis=0)
    return np.take_along_axis(lags, index, axis=0), np.take_along_axis(gains, index, axis=0), dense, largest


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
    """The frequencies [Hz] between which the motion of each commanded axis has its power, (axes, 2), and its rms."""
    low, high = asked.band(definition.timing.step)
    motion = interface_motion(definition)[:, list(definition.interface.commanded_at)]
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
    """Of each commanded axis what was identified in the test beside what was checked, and whether it stayed there."""
    asked = definition.online_identification
    axes = definition.interface.commanded
    kept = judged(run)
    outside, lag, gain = ([run.signals.get(name) for name in axes.channels(one)] for one in (OUTSIDE, LAG, GAIN))
    if asked is None or not kept.any() or any(one is None for one in (*outside, *lag, *gain)):
        return []
    checked, found = checked_plant(definition), []
    for i, name in enumerate(axes.names):
        left = np.flatnonzero(kept & (_values(outside[i]) > 1.0))
        (low, high), (less, more) = (_ends(one[i], kept) for one in (lag, gain))
        (early, late), (small, large) = checked.lag_range[i], checked.gain_range[i]
        on = "" if len(axes) == 1 else f" on axis {name}"
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
