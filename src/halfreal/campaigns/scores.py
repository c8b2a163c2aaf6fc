"""What is kept of a point: numbers and words drawn from its rehearsal and its stability.

=============================================  =====================================================================
score                                          what it is
=============================================  =====================================================================
peak CHANNEL, rms CHANNEL                      of a recorded signal during the test; of several axes the largest
synchronisation ERROR                          target against measured displacement (``reports.measures``)
fidelity ERROR                                 emulated system against target; the definition must have a reference
limits used, closest limit                     largest share of a trip limit that was used, and which
spectral radius, growth rate                   of the loop linearised at rest; the loop is stable below 1, below 0
delay, phase and gain margin, critical delay   of the loop at rest; empty where unlimited
growth in motion, and margins in motion        of trials of the test; stable where growth is below 0 (``in_motion.py``)
verdict                                        GO, MARGINAL or NO-GO of ``halfreal check``
a criterion by its name, such as J2            of those that the definition names (section [criteria])
=============================================  =====================================================================

ERROR is nrmse, peak error, largest error, amplitude error, delay or energy error; of several axes that move
(``reports.measures.MOVES``) the worst.  Scores are in SI units, and criteria in their own.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..contracts.axes import Axes
from ..definition.definition import Definition
from ..definition.faults import DefinitionError, Fault
from ..presentation.measures import Measures, counted, measures
from ..presentation.series import judged_rows
from ..runs.build import build
from ..runs.loop_stability import LoopStability, finite
from ..runs.margins_in_motion import MotionMargins
from ..runs.run import Run
from ..stability.linearise import Linearisation
from .plan import SCORES, Plan
from .store import Column

ERRORS = {
    "nrmse": "1",
    "peak error": "1",
    "largest error": "1",
    "amplitude error": "1",
    "delay": "s",
    "energy error": "1",
}
LINEAR = {"spectral radius": "1", "growth rate": "1/s"}
MARGINS = {"delay margin": "s", "critical delay": "s", "phase margin": "deg", "gain margin": "dB"}
IN_MOTION = {
    "growth in motion": "1/s",
    "delay margin in motion": "s",
    "gain margin in motion": "dB",
    "lower gain margin in motion": "dB",
}
OTHERS = {"limits used": "1", "closest limit": "", "verdict": ""}
NAMED = {
    **{f"synchronisation {name}": unit for name, unit in ERRORS.items()},
    **{f"fidelity {name}": unit for name, unit in ERRORS.items() if name != "energy error"},
    **LINEAR,
    **MARGINS,
    **IN_MOTION,
    **OTHERS,
}
CHECKED = ("verdict", "spectral radius", "delay margin")
"""Kept of every point if the campaign checks."""


@dataclass(frozen=True)
class Found:
    """A point's rehearsal, and what is known of its loop's stability."""

    run: Run
    linearisation: Linearisation | None = None
    stability: LoopStability | None = None
    growth: float | None = None
    """Exponent in motion [1/s]; infinite where the motion runs away."""
    in_motion: MotionMargins | None = None
    verdict: str = ""
    against: str = ""
    """Why the verdict is no better, if it is not GO."""


def wanted(plan: Plan, definition: Definition) -> tuple[Column, ...]:
    """The scores of a plan with their units; ``DefinitionError`` lists those that this test does not have."""
    known, own = _known(definition), criteria_of(definition)
    chosen = plan.scores
    if plan.scores == SCORES:
        chosen = (*(one for name in SCORES for one in _by_axis(name, known)), *own)
    names = [*chosen, *(name for name in CHECKED if plan.check and name not in chosen)]
    faults = [Fault("", "scores", told) for name in names if (told := _refused(name, known, plan, definition))]
    goal, _ = plan.goal
    if not faults and goal not in names:
        faults.append(Fault("", "minimise or maximise", f"'{goal}' is not among the scores; add it there"))
    if not faults and not (own.get(goal) or _unit(goal, known)):
        faults.append(Fault("", "minimise or maximise", f"'{goal}' is a text, not a number; use another score"))
    if faults:
        raise DefinitionError(faults)
    return tuple(Column(name, own.get(name) or _unit(name, known)) for name in names)


def criteria_of(definition: Definition) -> dict[str, str]:
    """The criteria that a definition names, with their units; none that has the name of another score."""
    found = {} if definition.criteria is None else dict(definition.criteria.units)
    return {name: unit for name, unit in found.items() if name not in NAMED}


def _known(definition: Definition) -> dict[str, str]:
    """Units of all channels, and of all vectors whose axes have one unit."""
    found: dict[str, set[str]] = {}
    for channel in build(definition).channels:
        for name in _signals(channel.name, definition.interface):
            found.setdefault(name, set()).add(channel.unit)
    return {name: units.pop() for name, units in found.items() if len(units) == 1}


def _by_axis(name: str, known: dict[str, str]) -> list[str]:
    """A score, or where it is of a vector whose axes have different units one for each axis."""
    how, _, signal = name.partition(" ")
    if name in NAMED or signal in known:
        return [name]
    return [f"{how} {channel}" for channel in known if channel.startswith(f"{signal}.")]


def _signals(channel: str, axes: Axes) -> tuple[str, ...]:
    """A channel, and the vector that it may be an axis of."""
    vector, _, axis = channel.rpartition(".")
    return (channel, vector) if axis.isdigit() or axis in (*axes.names, *axes.actuators.names) else (channel,)


def _unit(name: str, known: dict[str, str]) -> str:
    how, _, signal = name.partition(" ")
    return NAMED[name] if name in NAMED else known[signal] if how in ("peak", "rms") else ""


def _refused(name: str, known: dict[str, str], plan: Plan, definition: Definition) -> str:
    how, _, signal = name.partition(" ")
    if name in criteria_of(definition):
        return ""
    if name in NAMED:
        if name.startswith("fidelity") and definition.reference is None:
            return f"'{name}' needs the emulated system; give the definition a section [reference]"
        if name == "verdict" and not plan.check:
            return "'verdict' is that of a check; set check = true"
        return ""
    if how in ("peak", "rms"):
        if signal in known:
            return ""
        axes = [channel for channel in known if channel.startswith(f"{signal}.")]
        if axes:
            return f"'{name}': axes of '{signal}' have different units; name one, such as '{how} {axes[-1]}'"
        near = difflib.get_close_matches(signal, known, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(known)}"
        return f"'{name}': this test has no signal '{signal}'; {hint}"
    there = [*NAMED, *criteria_of(definition)]
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"write 'peak SIGNAL', 'rms SIGNAL', or one of {', '.join(there)}"
    return f"'{name}' is not a score; {hint}"


def channels_for(names: Sequence[str], definition: Definition) -> tuple[str, ...]:
    """Channels that must be recorded for these scores, in the loop's order; all if criteria are among them."""
    if set(names) & set(criteria_of(definition)):
        return tuple(channel.name for channel in build(definition).channels)
    signals = {name.partition(" ")[2] for name in names if name not in NAMED}
    if any(name.startswith("synchronisation") for name in names):
        signals |= {"target", "measured.displacement", "measured.force"}
    if any(name.startswith("fidelity") for name in names):
        signals |= {"target", "virtual.interface", "virtual.stage"}
    names_of = (channel.name for channel in build(definition).channels)
    return tuple(name for name in names_of if signals.intersection(_signals(name, definition.interface)))


def score(names: Sequence[str], found: Found, from_time: float) -> dict[str, float | str | None]:
    """The scores of a point; NaN or None where there is none."""
    kept = judged_rows(found.run, from_time)
    compared = any(name.startswith(("synchronisation", "fidelity")) for name in names)
    rows = measures(found.run, from_time) if compared else ()
    return {name: _score(name, found, kept, rows) for name in names}


def _score(name: str, found: Found, kept: slice, rows: tuple[Measures, ...]) -> float | str | None:
    used = found.run.limits_used
    if name == "limits used":
        return max(used.values(), default=None)
    if name == "closest limit":
        return max(used, key=lambda limit: used[limit], default=None)
    if name == "verdict":
        return found.verdict
    if name in LINEAR or name in MARGINS:
        return _of_loop(name, found)
    if name in IN_MOTION:
        return _in_motion(name, found)
    if name in found.run.scores:
        return found.run.scores[name].value
    how, _, what = name.partition(" ")
    if name in NAMED:
        return _worst(counted(rows, how), what)
    signal = np.array(
        [s.values[kept] for key, s in found.run.signals.items() if what in _signals(key, found.run.interface)]
    )
    if not signal.size:
        return None
    with np.errstate(over="ignore"):
        axes = np.abs(signal).max(axis=1) if how == "peak" else np.sqrt(np.mean(signal**2, axis=1))
    return float(axes.max())


def _worst(rows: list[Measures], error: str) -> float:
    values = [
        row.amplitude - 1.0 if error == "amplitude error" else getattr(row, error.replace(" ", "_")) for row in rows
    ]
    return float(max(values, key=lambda value: math.inf if math.isnan(value) else abs(value), default=math.nan))


def _in_motion(name: str, found: Found) -> float | None:
    margins = found.in_motion
    if name == "growth in motion":
        return found.growth
    if margins is None:
        return None
    of = {
        "delay margin in motion": margins.delay,
        "gain margin in motion": margins.gain_margin_db,
        "lower gain margin in motion": -margins.gain_reduction_db,
    }
    return finite(of[name])


def _of_loop(name: str, found: Found) -> float | None:
    loop, known = found.linearisation, found.stability
    if loop is not None and name == "spectral radius":
        return loop.spectral_radius
    if loop is not None and name == "growth rate":
        return math.log(loop.spectral_radius) / loop.dt if loop.spectral_radius > 0.0 else None
    if known is None or (name == "critical delay"):
        return None if known is None else known.critical_delay
    margin, gains = (known.margin, known.gains) if known.linearisation.stable else (None, None)
    of = {
        "delay margin": None if margin is None else margin.critical_delay,
        "phase margin": None if margin is None else margin.phase_margin_deg,
        "gain margin": None if gains is None else gains.gain_margin_db,
    }
    value = of[name]
    return None if value is None else finite(value)
