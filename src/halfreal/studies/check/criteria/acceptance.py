"""Whether a stable test reaches what its section [acceptance] requests: margins of its loop, errors of its rehearsal.

A test that does not is MARGINAL.  The errors are those that reports show (``runs/measures.py``), of the test itself and
not of its soft start, and of a coupling that learns those of its last periods.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .... import units
from ....contracts.finding import Finding, note, warning
from ....definition.acceptance import KEPT_PHASE, LEAST_PHASE, OFF
from ....definition.definition import Definition
from ....runs.error_measures import FEWEST_SAMPLES
from ....runs.ideal_phase import ideal_phase
from ....runs.judged_samples import since
from ....runs.loop_stability import LoopStability
from ....runs.measures import measures, worst
from ....stability.gain_margins import GainMargins
from ....stability.margins import DelayMargin
from ..examined import Examined
from ..remedies import accepting
from .gain import calmer, specimen_with
from .margins import lag_text
from .stability import LEARNS
from .truncation import high_frequency_gain_of

MARGINS = ("gain_margin", "phase_margin", "delay_margin")
UNKNOWN = "the required margins are not known, so this verdict rests on the rehearsal alone"
IN_MOTION = "margins at rest are not known: gain and delay margins are judged by trials in motion, phase is not judged"
ERRORS = ("synchronisation", "fidelity")


def acceptance(examined: Examined) -> Iterable[Finding]:
    """What is below acceptance, with what would fix it, and against what was judged."""
    if not examined.sound:
        return
    found = [*of_margins(examined), *of_errors(examined)]
    if found and found[0].severity == "marginal" and examined.rehearsal.outcome == "completed":
        mend = examined.remedies(lambda: accepting(examined))
        found[0] = replace(found[0], remedies=mend)
    yield from found
    if judged_in_motion(examined):
        yield note(IN_MOTION)
    yield note(judged_against(examined))


def of_margins(examined: Examined) -> Iterable[Finding]:
    """Margins of gain, phase and delay that are below what is accepted."""
    margin, asked = examined.stability.margin, examined.definition.acceptance
    unknown = examined.stability.margin_unknown and not judged_in_motion(examined)
    if unknown and any(getattr(asked, name) != OFF for name in MARGINS):
        yield Finding("marginal", UNKNOWN, name="accepted margins", room=0.0)
    short = list(of_margins_at_rest(examined.definition, examined.stability)) if examined.stable_at_rest else []
    if short and examined.learns:
        yield from (warning(f"with the coefficients of t = 0, {one.text}; {LEARNS}") for one in short)
    else:
        yield from short
    if margin is not None:
        yield from of_high_frequency(examined)


def of_margins_at_rest(definition: Definition, stability: LoopStability) -> Iterable[Finding]:
    """Those of the loop at rest."""
    if stability.gains is not None:
        yield from of_gain(definition, stability.gains)
    if stability.margin is not None:
        yield from of_phase(definition, stability, stability.margin)
        yield from of_delay(definition, stability, stability.margin)


def judged_in_motion(examined: Examined) -> bool:
    """Whether gain and delay are judged by trials in motion, as the margins at rest are not known."""
    return examined.stability.poles_unknown and not examined.stability.untried


def of_gain(definition: Definition, margin: DelayMargin | GainMargins) -> Iterable[Finding]:
    least = definition.acceptance.least("gain_margin")
    for name, sign, size in (("", 1.0, margin.gain_margin_db), ("lower ", -1.0, -margin.gain_reduction_db)):
        if size < least:
            gain = 10.0 ** (sign * size / 20.0)
            what, helps = specimen_with(definition, gain), calmer(definition, gain)
            text = (
                f"{name}gain margin {below(size, least)} dB, required {least:g} dB: {what} makes the loop unstable; "
                f"{helps}"
            )
            yield Finding("marginal", text, size, least, "dB", name="accepted gain margin", room=0.0)


def of_high_frequency(examined: Examined) -> Iterable[Finding]:
    """The gain margin of a pure delay at high frequency, which the step hides (``truncation.py``)."""
    asked = examined.definition.acceptance
    gain, least = high_frequency_gain_of(examined.definition), asked.least("gain_margin")
    up = -20.0 * float(np.log10(max(gain, np.finfo(float).tiny)))
    if asked.gain_margin == OFF or not up < least:
        return
    left = f"gain margin {below(up, least)} dB" if np.isfinite(gain) else "no gain margin"
    text = (
        f"{left} at high frequency, required {least:g} dB: a rig modelled as a pure delay passes all high "
        f"frequencies, and there the loop gain is {gain:.3g}, the ratio of specimen mass to virtual "
        "mass; only the step "
        "attenuates it; use a lighter specimen, or more virtual mass at the interface"
    )
    value = up if np.isfinite(up) else None
    yield Finding("marginal", text, value, least, "dB", name="accepted gain margin", room=0.0)


def of_phase(definition: Definition, stability: LoopStability, margin: DelayMargin) -> Iterable[Finding]:
    asked = definition.acceptance
    phase = margin.phase_margin_deg
    if not phase < asked.least_phase(None):
        return
    ideal = None
    if asked.phase_margin is None and stability.lag is not None:
        ideal = ideal_phase(definition, margin, stability.lag, stability.linearisation.equivalent)
    least = asked.least_phase(ideal)
    if not phase < least:
        return
    hz = margin.frequency_hz[int(np.argmin(margin.lag))]
    why = "" if ideal is None else f"; with an ideal rig (no lag) this loop would have {ideal:.3g}°"
    text = f"phase margin {below(phase, least)}° at {hz:.4g} Hz, required {least:.3g}°{why}"
    yield Finding("marginal", text, phase, least, "deg", name="accepted phase margin", room=0.0)


def of_delay(definition: Definition, stability: LoopStability, margin: DelayMargin) -> Iterable[Finding]:
    least, share = definition.acceptance.least("delay_margin"), stability.delay_share
    if share is None or not share < least:
        return
    text = (
        f"an additional delay of {units.text(margin.critical_delay, 's')} makes the loop unstable, "
        f"{below(100 * share, 100 * least)} % of {lag_text(stability)}; required {100 * least:g} %"
    )
    yield Finding("marginal", text, share, least, name="accepted delay margin", room=0.0)


def of_errors(examined: Examined) -> Iterable[Finding]:
    """Errors of a rehearsal that was completed beyond what is accepted, on the worst axis."""
    run, asked = examined.rehearsal, examined.definition.acceptance
    if run.outcome != "completed" or all(asked.most(name) == np.inf for name in ERRORS):
        return
    rows = measures(run, since(run))
    for name in ERRORS:
        row, most = worst(rows, name), asked.most(name)
        if row is None or row.samples < FEWEST_SAMPLES or not row.nrmse > most:
            continue
        axis = "" if len(run.interface) == 1 else f" on axis {row.axis}"
        what = (
            "the measured motion against the target"
            if name == "synchronisation"
            else "the target against the reference"
        )
        size = f"{100 * row.nrmse:.3g} %"
        text = f"{name} error {size}{axis} in the rehearsal, accepted {100 * most:g} % ({what}, RMS)"
        yield Finding("marginal", text, row.nrmse, most, name=f"accepted {name} error", room=0.0)


def judged_against(examined: Examined) -> str:
    """What the test was held against, for people."""
    asked = examined.definition.acceptance
    phase = (
        f"phase margin {asked.least('phase_margin'):g}°"
        if asked.phase_margin is not None
        else (f"phase margin {LEAST_PHASE:g}° or {100 * KEPT_PHASE:g} % of that with an ideal rig")
    )
    told = [
        ("gain_margin", f"gain margin {asked.least('gain_margin'):g} dB"),
        ("phase_margin", phase),
        ("delay_margin", f"additional delay {100 * asked.least('delay_margin'):g} % of the rig's lag"),
        ("synchronisation", f"synchronisation error up to {100 * asked.most('synchronisation'):g} %"),
        ("fidelity", f"fidelity error up to {100 * asked.most('fidelity'):g} %"),
        ("limit_reserve", f"reserve of {100 * asked.least('limit_reserve'):g} % to limits and ranges"),
    ]
    if examined.cycles is not None:
        told.append(
            (
                "amplitude_margin",
                f"free motion bounded up to {asked.least('amplitude_margin'):g} times the expected motion",
            )
        )
    without = {"phase_margin"} if examined.stability.at_feedback is not None else set()
    without |= {"delay_margin"} if examined.definition.slow is not None else set()
    kept = [text for name, text in told if getattr(asked, name) != OFF and name not in without]
    return f"acceptance criteria: {', '.join(kept)} (section [acceptance])" if kept else "[acceptance] sets no criteria"


def below(value: float, least: float) -> str:
    """A value with three digits, never rounded up to the limit that it is below."""
    if not 0.0 < value < least:
        return f"{value:.3g}"
    scale = 10.0 ** (2 - np.floor(np.log10(value)))
    return f"{np.floor(value * scale * (1.0 + 1e-12)) / scale:.3g}"
