"""The go/no-go answer before a test, from the loop that will run.

It is linearised at rest, its margins are computed, it is rehearsed against its limits, and if it is nonlinear it is
linearised along the rehearsal too.  What would make a NO-GO pass is tried out on the same code before it is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .. import units
from ..couplings.direct import Direct
from ..couplings.forward_prediction import ForwardPrediction
from ..couplings.harmonic import Harmonic
from ..couplings.model_inverse import ModelInverse
from ..definition.definition import Definition, SimulatedRig
from ..definition.paths import with_values
from ..errors import HalfrealError
from ..rigs.servo_hydraulic import ServoHydraulic
from ..runs.build import choice, plant
from ..runs.loop_stability import DELAY, LoopStability, finite, linearised, loop_stability
from ..runs.pure_delay import is_dynamic, rig_lag, with_pure_delay
from ..runs.rehearse import Progress, rehearse
from ..runs.run import Run
from ..stability.linearise import Linearisation
from .force_advice import advice
from .harmonic_advice import harmonic_advice
from .nonlinear import Nonlinear, examine, is_nonlinear
from .reach import out_of_reach, whole_reference
from .truncation import truncation
from .uncertainty import UncertaintyStudy, study_uncertainty

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
        room = {} if self.linearisation.stable else {"stability": 0.0}  # of equals the first is told
        room |= {f"limit of {name}": 1.0 - share for name, share in self.rehearsal.limits_used.items()}
        room = {name: max(left, 0.0) for name, left in room.items()}
        margin = self.stability.margin
        if self.linearisation.stable and margin is not None:
            if self.stability.critical_delay is not None:
                room["delay"] = margin.critical_delay / self.stability.critical_delay
            if np.isfinite(margin.gain_margin_db):
                room["gain"] = 1.0 - 10.0 ** (-margin.gain_margin_db / 20.0)
        if self.uncertainty is not None and self.uncertainty.worst_growth >= 0.0:
            room["uncertainty"] = 0.0
        if self.beyond_reach:
            room["reach of the rig"] = 0.0
        if not room:
            return "none"
        name = min(room, key=lambda key: room[key])
        return f"{name}, {100 * max(room[name], 0.0):.0f} % of room left"

    def summary(self) -> str:
        return f"{self.verdict}: {self.reasons[0]}"


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
    used = run.limits_used
    study = study_uncertainty(definition, SAMPLES) if definition.uncertainty else None
    certain = study is None or study.worst_growth < 0.0
    clocks = free_clocks(definition, stability)
    beyond = out_of_reach(definition, whole_reference(definition, run))
    go = stability.linearisation.stable and run.outcome == "completed" and certain and bounded and clocks != "too much"
    go = go and not beyond
    reasons = [stability.linearisation.summary(), *margins_in_words(definition, stability)]
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
    reasons += advice(definition, run)
    reasons += truncation(definition)
    if isinstance(definition.coupling, Harmonic):
        reasons += choice(definition).in_words(lambda: plant(definition), definition.timing.step)
        reasons += harmonic_advice(definition, run)
    found = () if go or not remedies else tuple(remedies_for(definition, stability, run, certain and bounded))
    verdict: Literal["GO", "NO-GO"] = "GO" if go else "NO-GO"
    run = replace(run, verdict=verdict, reasons=tuple(reasons), remedies=found)
    return Check(verdict, tuple(reasons), found, stability, run, nonlinear, study, tuple(beyond))


def margins_in_words(definition: Definition, stability: LoopStability) -> list[str]:
    """Margins of a stable loop, or the delay that an unstable one would bear."""
    margin, critical = stability.margin, stability.critical_delay
    if margin is None:
        return []
    if not stability.linearisation.stable:
        if critical is None:
            return ["it is unstable with the shortest delay the rig can have too"]
        has = units.text(rig_delay(definition), "s")
        return [f"the loop bears a delay of {units.text(critical, 's')}, and the rig has {has}"]
    further = finite(margin.critical_delay)
    if further is None:
        return ["bears any further delay: the loop gain never reaches 1"]
    in_all = ""
    if critical is not None and is_dynamic(definition):
        own = units.text(rig_delay(definition), "s")
        in_all = f" (of {units.text(critical, 's')} as a pure delay; the rig alone has {own})"
    elif critical is not None:
        more = 100 * further / (critical - further)
        in_all = f", {more:.0f} % of what the rig has ({units.text(critical, 's')} in all)"
    return [
        f"bears a further delay of {units.text(further, 's')}{in_all}, at {margin.critical_frequency_hz:.4g} Hz; "
        f"phase margin {margin.phase_margin_deg:.4g}°, gain margin {margin.gain_margin_db:.3g} dB"
    ]


def free_clocks(definition: Definition, stability: LoopStability) -> Literal["", "borne", "too much"]:
    """Whether the loop bears what two clocks that nobody synchronises may add: up to one step."""
    if definition.link is None or definition.real_time.pacing == "rig" or stability.margin is None:
        return ""
    further = finite(stability.margin.critical_delay)
    return "borne" if further is None or further > definition.timing.step else "too much"


def rig_delay(definition: Definition) -> float:
    rig = definition.rig
    if is_dynamic(definition):
        return rig_lag(definition)
    return max(rig.actuator.delay, definition.timing.step) if isinstance(rig, SimulatedRig) else definition.timing.step


def tripped_at(run: Run) -> float:
    trips = [event.time for event in run.events if event.text.startswith("trip")]
    return trips[0] if trips else float(run.time[-1])


def remedies_for(definition: Definition, stability: LoopStability, run: Run, robust: bool = False) -> list[str]:
    """Changes that make the loop stable, each tried on the linearised code; ``robust``: it is for all it may be.

    What the rig cannot make is told with its remedy among the reasons.
    """
    found = []
    if not stability.linearisation.stable:
        found += [*inverse_remedy(definition), *prediction_remedy(definition), *step_remedy(definition)]
        if stability.critical_delay is not None and delay_cures(definition, stability.critical_delay):
            found.append(f"a rig whose delay is shorter than {units.text(stability.critical_delay, 's')}")
    elif free_clocks(definition, stability) == "too much":
        found.append('real_time.pacing = "rig": one tick for each measurement of the rig, and one clock for both')
    elif run.outcome == "completed" and not robust:
        found.append("a narrower uncertainty, or a coupling that bears the worst case")
    elif run.outcome == "tripped" and "beyond its limit" in run.reason:  # a block's fault tells its own remedy
        found.append("a smaller excitation, or a wider limit if rig and specimen bear it")
    return found


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


def prediction_remedy(definition: Definition) -> list[str]:
    """The interval of predictions that make the loop stable, for a loop without one or with a wrong one."""
    coupling, delay = definition.coupling, rig_delay(definition)
    if not isinstance(coupling, Direct | ForwardPrediction):
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
