"""The go/no-go answer before a test, from the loop that will run.

It is linearised at rest, its margins are computed, it is rehearsed against its limits, and if it is nonlinear it is
linearised along the rehearsal too.  What would make a NO-GO pass is tried out on the same code before it is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ... import units
from ...couplings.direct import Direct
from ...couplings.forward_prediction import ForwardPrediction
from ...couplings.harmonic.coupling import Harmonic
from ...couplings.model_inverse import ModelInverse
from ...definition.definition import Definition
from ...definition.paths import with_values
from ...definition.sections import SimulatedRig
from ...errors import HalfrealError
from ...rigs.flexible_specimen import FlexibleSpecimen
from ...rigs.servo_hydraulic import ServoHydraulic
from ...rigs.shaking_table import ShakingTable
from ...rigs.specimen import Specimen
from ...runs.build import choice, plant
from ...runs.loop_stability import DELAY, LoopStability, finite, linearised, loop_stability
from ...runs.pure_delay import is_dynamic, with_pure_delay
from ...runs.rehearse import Progress, rehearse
from ...runs.run import Run
from ...stability.linearise import Linearisation
from ...stability.margins import DelayMargin
from ..uncertainty.uncertainty import UncertaintyStudy, study_uncertainty
from .advice import sampling, strokes
from .force_advice import advice
from .harmonic_advice import harmonic_advice
from .missing_limits import missing_limits
from .nonlinear import Nonlinear, examine, is_nonlinear
from .reach import out_of_reach, whole_reference
from .truncation import truncation

SAMPLES = 256
"""Of the uncertain numbers, if there are any."""


@dataclass(frozen=True)
class Check:
    """Verdict, its reasons, what would make it pass, and the analyses it rests on."""

    verdict: Literal["GO", "NO-GO"]
    reasons: tuple[str, ...]
    remedies: tuple[str, ...]
    stability: LoopStability
    rehearsal: Run
    nonlinear: Nonlinear | None = None
    uncertainty: UncertaintyStudy | None = None
    beyond_reach: tuple[str, ...] = ()
    """What of the true motion the rig cannot make."""

    @property
    def linearisation(self) -> Linearisation:
        return self.stability.linearisation

    @property
    def binding(self) -> str:
        """The constraint that leaves least room, as a share of what it allows."""
        room = {} if self.stability.rig_fault is None else {"stability of the rig on its own": 0.0}
        room |= {} if self.linearisation.stable else {"stability": 0.0}  # of equals the first is told
        room |= {f"limit of {name}": 1.0 - share for name, share in self.rehearsal.limits_used.items()}
        room = {name: max(left, 0.0) for name, left in room.items()}
        margin = self.stability.margin
        if self.linearisation.stable and margin is not None:
            if self.stability.delay_room is not None:
                room["delay of the rig"] = self.stability.delay_room
            if np.isfinite(margin.gain_margin_db):
                room["gain of the loop"] = 1.0 - 10.0 ** (-margin.gain_margin_db / 20.0)
        if self.uncertainty is not None and self.uncertainty.worst_growth >= 0.0:
            room["uncertainty"] = 0.0
        if self.beyond_reach:
            room["reach of the rig"] = 0.0
        elif self.nonlinear is not None and self.nonlinear.saturated is not None:
            room["reach of the rig"] = max(1.0 - 1.0 / self.nonlinear.saturated, 0.0)
        if not room:
            return "none"
        name = min(room, key=lambda key: room[key])
        return f"{name}, {100 * max(room[name], 0.0):.0f} % of room left"

    def summary(self) -> str:
        return f"{self.verdict}: {self.reasons[0]}"


LEAST_GAIN_DB = 3.0
"""Margin below which a warning is due."""
CLOCKS = {
    "borne": "with clocks of their own, loop and rig add up to one step ({step}) of delay; the loop bears it",
    "too much": "with clocks of their own, loop and rig add up to one step ({step}) of delay, more than the loop bears",
}


def check(
    definition: Definition, *, text: str | None = None, progress: Progress | None = None, remedies: bool = True
) -> Check:
    """Judge the test that the definition describes (``text``: as its file has it, for the record).

    Without ``remedies``, what would make a NO-GO pass is not tried out.
    """
    stability = loop_stability(definition)
    run = rehearse(definition, text=text, stability=stability, progress=progress)
    nonlinear = examine(definition, stability.linearisation.stable) if is_nonlinear(definition) else None
    bounded = nonlinear is None or nonlinear.factor is None or nonlinear.factor > 1.0
    reaches = nonlinear is None or nonlinear.saturated is None or nonlinear.saturated > 1.0
    used = run.limits_used
    study = study_uncertainty(definition, SAMPLES) if definition.uncertainty else None
    certain = study is None or study.worst_growth < 0.0
    clocks = free_clocks(definition, stability)
    beyond = out_of_reach(definition, whole_reference(definition, run))
    go = stability.linearisation.stable and run.outcome == "completed" and certain and bounded and clocks != "too much"
    go = go and not beyond and reaches and stability.rig_fault is None
    reasons = [stability.linearisation.summary(), *margins_text(definition, stability)]
    if run.outcome != "completed":
        reasons.append(f"the rehearsal {run.outcome} at {units.text(tripped_at(run), 's')}: {run.reason}")
    elif used:
        closest = max(used, key=lambda name: used[name])
        share = f"{100 * used[closest]:.0f} % of its trip limit"
        reasons.append(f"the rehearsal stays within its limits; closest is {closest} with {share} used")
    if nonlinear is not None:
        reasons.append(nonlinear.summary())
    if study is not None:
        reasons.append(f"{'' if certain else 'not stable for all it may be: '}{study.summary()}")
    if clocks:
        reasons.append(CLOCKS[clocks].format(step=units.text(definition.timing.step, "s")))
    reasons += [*stability.caveats, *beyond]
    reasons += [*sampling(definition), *strokes(definition), *missing_limits(definition)]
    reasons += advice(definition, run)
    reasons += truncation(definition)
    if isinstance(definition.coupling, Harmonic):
        reasons += choice(definition).as_text(lambda: plant(definition), definition.timing.step)
        reasons += harmonic_advice(definition, run)
    found = () if go or not remedies else tuple(remedies_for(definition, stability, run, certain and bounded))
    if remedies and not reaches:
        found = (*found, "a smaller excitation, or a table whose actuators do not saturate")
    verdict: Literal["GO", "NO-GO"] = "GO" if go else "NO-GO"
    run = replace(run, verdict=verdict, reasons=tuple(reasons), remedies=found)
    return Check(verdict, tuple(reasons), found, stability, run, nonlinear, study, tuple(beyond))


def margins_text(definition: Definition, stability: LoopStability) -> list[str]:
    """What a rig has that is unstable on its own; else margins of a stable loop, or the delay an unstable one bears."""
    if stability.rig_fault is not None:
        return [stability.rig_fault.reason]
    margin = stability.margin
    if margin is None:
        return []
    if not stability.linearisation.stable:
        return delay_text(definition, stability)
    further = finite(margin.critical_delay)
    if further is None:
        return ["bears any further delay: the loop gain never reaches 1"]
    beside, has = "", stability.rig_delay
    if has is not None:
        share = f"{100 * further / has:.0f} % of" if has > 0.0 else "beside"
        beside = f", {share} the rig's {'lag' if is_dynamic(definition) else 'delay'} of {units.text(has, 's')}"
    told = f"bears a further delay of {units.text(further, 's')}{beside}, at {margin.critical_frequency_hz:.4g} Hz"
    about_rig = delay_text(definition, stability) if is_dynamic(definition) else []
    return [f"{told}; {margin.as_text()}", *little_gain(definition, margin), *about_rig]


def little_gain(definition: Definition, margin: DelayMargin) -> list[str]:
    """A warning where the loop bears little more gain."""
    more = 10.0 ** (margin.gain_margin_db / 20.0) - 1.0
    if not margin.gain_margin_db < LEAST_GAIN_DB:
        return []
    down = np.floor(100.0 * margin.gain_margin_db) / 100.0  # never rounded up to the limit that it is below
    return [
        f"warning: a gain margin of {down:.2f} dB, below {LEAST_GAIN_DB:g} dB, is little: a specimen "
        f"{100 * more:.0f} % stiffer or heavier makes the loop unstable; {calmer(definition)}"
    ]


def calmer(definition: Definition) -> str:
    """What may be changed so that the loop bears more gain, by what its coupling does."""
    coupling = definition.coupling
    if np.any(getattr(coupling, "prediction", 0.0)):
        return "what the coupling predicts, it amplifies: less prediction, or a lower order, may help"
    smaller = "a lighter or softer specimen, or more mass and stiffness on the virtual side, helps"
    if isinstance(coupling, Direct):
        return smaller
    return (
        f"the coupling '{coupling.kind}' amplifies where it makes up for the rig: a milder one may help; else {smaller}"
    )


def delay_text(definition: Definition, stability: LoopStability) -> list[str]:
    """The whole delay that a loop bears beside that of its rig.  Where the rig has dynamics of its own, both are told
    without the coupling: a pure delay in place of the rig, and its lag in slow motion.
    """
    critical, has = stability.critical_delay, stability.rig_delay
    if has is None:
        return []
    if not is_dynamic(definition):
        if critical is None:
            return ["it is unstable with the shortest delay the rig can have too"]
        return [f"the loop bears a delay of {units.text(critical, 's')}, and the rig has {units.text(has, 's')}"]
    lags = f"the rig lags by {units.text(has, 's')} in slow motion"
    if critical is not None:
        told = f"without coupling, a pure delay in place of the rig is borne up to {units.text(critical, 's')}; {lags}"
        faster = not stability.linearisation.stable and has < critical
        why = ", which is less: the coupling, or how the rig follows faster motion, makes the loop unstable"
        return [told + (why if faster else "")]
    if linearised(with_pure_delay(definition, definition.timing.step)).stable:
        return [f"without coupling, any pure delay in place of the rig is borne; {lags}"]
    return ["without coupling it is unstable with the shortest pure delay in place of the rig too"]


def free_clocks(definition: Definition, stability: LoopStability) -> Literal["", "borne", "too much"]:
    """Whether the loop bears what two clocks that nobody synchronises may add: up to one step."""
    if definition.link is None or definition.real_time.pacing == "rig" or stability.margin is None:
        return ""
    if not stability.linearisation.stable:  # it bears nothing, and that is told
        return ""
    further = finite(stability.margin.critical_delay)
    return "borne" if further is None or further > definition.timing.step else "too much"


def tripped_at(run: Run) -> float:
    trips = [event.time for event in run.events if event.text.startswith("trip")]
    return trips[0] if trips else float(run.time[-1])


def remedies_for(definition: Definition, stability: LoopStability, run: Run, robust: bool = False) -> list[str]:
    """Changes that make the loop stable, each tried on the linearised code; ``robust``: it is for all it may be.

    What the rig cannot make is told with its remedy among the reasons.
    """
    found = []
    if stability.rig_fault is not None:
        found.append(stability.rig_fault.remedy)
    elif not stability.linearisation.stable:
        has, critical = stability.rig_delay, stability.critical_delay
        found += [*inverse_remedy(definition), *prediction_remedy(definition, has), *step_remedy(definition)]
        found += coupling_remedy(definition)
        if critical is not None and has is not None and has > critical and delay_cures(definition, critical):
            whose = "that lags by less" if is_dynamic(definition) else "whose delay is shorter"
            found.append(f"a rig {whose} than {units.text(critical, 's')}")
        if not found:
            found += size_remedy(definition, stability)
    elif free_clocks(definition, stability) == "too much":
        found.append('real_time.pacing = "rig": one tick for each measurement of the rig, and one clock for both')
    elif run.outcome == "completed" and not robust:
        found.append("a narrower uncertainty, or a coupling that bears the worst case")
    elif run.outcome == "tripped" and "beyond its limit" in run.reason:  # a block's fault tells its own remedy
        found.append("a smaller excitation, or a wider limit if rig and specimen bear it")
    return found


def size_remedy(definition: Definition, stability: LoopStability) -> list[str]:
    """A smaller specimen against the virtual part, where nothing else helps: it scales the gain of the loop."""
    margin, specimen = stability.margin, getattr(definition.rig, "specimen", None)
    if margin is None or not isinstance(specimen, Specimen | FlexibleSpecimen):
        return []
    if isinstance(specimen, Specimen) and specimen.elements:
        return []
    crossed = np.flatnonzero((margin.gains > 0.0) & (margin.gains < 1.0))  # none is below one if the gain is not known
    for place in sorted(crossed, key=lambda i: float(margin.gains[i])):
        share = 0.9 * float(margin.gains[place])
        given = {key: getattr(specimen, key) for key in ("mass", "damping", "stiffness")}
        smaller = specimen.model_copy(update={key: share * m for key, m in given.items() if m is not None})
        rig = definition.rig.model_copy(update={"specimen": smaller})
        if linearised(definition.model_copy(update={"rig": rig})).stable:
            hz = margin.gain_omega[place] / (2.0 * np.pi)
            plain = isinstance(definition.coupling, Direct) and isinstance(definition.rig, ShakingTable)
            more = "; a table that is compensated (halfreal tune) may bear a larger one" if plain else ""
            return [
                f"a specimen of {100 * share:.2g} % of the mass and stiffness, or a virtual part about "
                f"{1.0 / share:.2g} times as heavy and stiff: what decides is the loop gain near {hz:.3g} Hz, by the "
                f"specimen's mass and stiffness against those of the virtual part{more}"
            ]
    return []


def delay_cures(definition: Definition, critical: float) -> bool:
    """Whether the loop that runs is stable with a little less than the critical delay."""
    if is_dynamic(definition):
        return linearised(with_pure_delay(definition, 0.98 * critical)).stable
    shorter = with_values(definition, {DELAY: 0.98 * critical})
    return linearised(shorter).stable


def inverse_remedy(definition: Definition) -> list[str]:
    """The inverse of a servo-hydraulic rig's own model, where that alone makes the loop stable."""
    rig = definition.rig
    if not isinstance(rig, ServoHydraulic) or definition.virtual.axes > 1 or isinstance(definition.coupling, Harmonic):
        return []
    tried = ModelInverse(kind="model inverse", coefficients=rig.inverse())
    if not linearised(definition.model_copy(update={"coupling": tried})).stable:
        return []
    coefficients = ", ".join(f"{a:.6g}" for a in rig.inverse())
    return [f'the coupling "model inverse" with coefficients = [{coefficients}]; halfreal tune compares others with it']


def coupling_remedy(definition: Definition) -> list[str]:
    """The coupling left out, where that alone makes the loop stable."""
    if isinstance(definition.coupling, Direct | Harmonic) or definition.commands != "displacement":
        return []
    if not linearised(definition.model_copy(update={"coupling": Direct()})).stable:
        return []
    kind = definition.coupling.kind
    return [f"without the coupling '{kind}' the loop is stable: another one, or other settings of it"]


def prediction_remedy(definition: Definition, delay: float | None) -> list[str]:
    """The interval of predictions that make the loop stable, for a loop without one or with a wrong one."""
    coupling = definition.coupling
    if not isinstance(coupling, Direct | ForwardPrediction) or not delay:
        return []
    order, points = (coupling.order, coupling.points) if isinstance(coupling, ForwardPrediction) else (3, 12)

    def stable(prediction: float) -> bool:
        tried = ForwardPrediction(kind="forward prediction", prediction=prediction, order=order, points=points)
        return linearised(definition.model_copy(update={"coupling": tried})).stable

    if not stable(delay):
        return []
    low, high = (edge(stable, delay, end) for end in (0.0, 4.0 * delay))
    return [
        f"forward prediction (order {order}, {points} points) by {units.text(low, 's', 3)} to "
        f"{units.text(high, 's', 3)}, best by the rig's delay of {units.text(delay, 's')}"
    ]


def edge(stable: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where stability ends between a stable value and another; the other itself if it is stable too."""
    if stable(outside):
        return outside
    for _ in range(20):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stable(middle) else (inside, middle)
    return inside


def step_remedy(definition: Definition) -> list[str]:
    """A shorter step, where that alone makes the loop stable."""
    rig, step = definition.rig, definition.timing.step
    if is_dynamic(definition) or (isinstance(rig, SimulatedRig) and rig.actuator.delay > step):
        return []  # the delay is not the step's
    for divisor in (2, 5, 10):
        try:
            shorter = with_values(definition, {"timing.step": step / divisor})
        except HalfrealError:
            return []
        if linearised(shorter).stable:
            return [f"a step of {units.text(step / divisor, 's')} or shorter"]
    return []
