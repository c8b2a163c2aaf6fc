"""Stability of a definition's loop, from the loop that will run.

The loop is linearised at rest, and cut at the command to measure its open loop, whose margins of delay, phase and gain
are exact, and how late the rig follows in it (``rig_lag.py``).  How long a delay the test would tolerate at all is
determined with the same loop without coupling, with a pure delay in place of the rig (``pure_delay.py``).  A rig that
is unstable on its own is reported as such (``rig_alone.py``).  A coupling that is tuned to several frequencies is
judged at the worst (``worst_frequency.py``).

A slow test, and one whose step has several exchanges, have margins of gain alone, cut at their feedback
(``feedback_margins.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import units
from ..contracts.context import AT_REST, OPEN_LOOP
from ..contracts.state_space import StateSpace
from ..definition.definition import Definition
from ..definition.user_code import remembered
from ..errors import HalfrealError
from ..kernels.loop import Loop
from ..stability.condensed import Condensed
from ..stability.gain_margins import GainMargins
from ..stability.linearise import Linearisation, NoSlopeError, linearise
from ..stability.margins import DelayMargin, delay_margin
from ..stability.open_loop import open_loop, open_loop_and
from . import equivalent
from .build import SETTLING_TICKS, build
from .feedback_margins import feedback_margins
from .opaque_models import opaque_parts
from .pure_delay import with_pure_delay
from .rig_alone import RigFault, rig_fault
from .rig_lag import RigLag, followed, rig_lag
from .validity import IN_ANY_MOTION, NOWHERE, where_it_holds
from .worst_frequency import at_worst

DELAY = "rig.actuator.delay"
SEVERAL = (
    "a margin of delay is not computed: a step has several exchanges, which an additional delay affects differently"
)
IDENTIFIED = (
    "a margin of gain at rest is not computed: the method's stiffness is identified at the start of the test, so a "
    "stiffer or softer specimen changes both"
)


@dataclass(frozen=True)
class LoopStability:
    """The loop at rest: its poles, its margins, and the whole delay that it tolerates."""

    linearisation: Linearisation
    margin: DelayMargin | None
    """Margins of the loop as it is; None if they could not be computed, for the reason in ``caveats``."""
    critical_delay: float | None
    """Pure delay in place of the rig [s] at which the loop without coupling loses stability.

    None if there is none, or it is not known.
    """
    caveats: tuple[str, ...]
    """What the answer rests on."""
    lag: RigLag | None = None
    """How late the rig follows its command; None if it is not known."""
    rig_fault: RigFault | None = None
    """Why the rig is unstable on its own, if it is."""
    margin_unknown: bool = False
    """Whether margins have a meaning, and could not be computed."""
    open_loop: StateSpace | Condensed | None = None
    """What ``margin`` is of: L of the loop that runs, cut at its command."""
    holds: str = IN_ANY_MOTION
    """Where poles and margins hold (``validity.py``)."""
    at_feedback: GainMargins | None = None
    """Margins of a loop that has none at its command; None if they could not be computed, or ``margin`` has them."""
    untried: str = ""
    """Why no trial in motion can be made."""

    @property
    def proven_linear(self) -> bool:
        """Whether poles and margins hold in any motion."""
        return self.holds == IN_ANY_MOTION and not self.margin_unknown

    @property
    def gains(self) -> DelayMargin | GainMargins | None:
        """Margins of gain; None if they are not known."""
        return self.at_feedback if self.margin is None else self.margin

    @property
    def poles_unknown(self) -> bool:
        """Whether the poles are not known, as a part keeps its state to itself and no model reproduces it."""
        return bool(self.linearisation.unknown)

    @property
    def rig_lag(self) -> float | None:
        """Lag of the rig [s], of its slowest axis, at the critical crossover, or in slow motion if there is none."""
        return None if self.lag is None else self.lag.latest(self.critical_hz)[0]

    @property
    def critical_hz(self) -> float:
        """Where a further delay makes the loop unstable [Hz]; 0 if none does, or it is unstable."""
        hz = 0.0 if self.margin is None else self.margin.critical_frequency_hz
        return hz if np.isfinite(hz) and self.linearisation.stable else 0.0

    @property
    def delay_share(self) -> float | None:
        """Further delay that the loop tolerates as a share of the rig's lag; None if there is no limit, or no lag."""
        further, has = None if self.margin is None else finite(self.margin.critical_delay), self.rig_lag
        return None if further is None or has is None or has <= 0.0 else further / has

    @property
    def delay_room(self) -> float | None:
        """Share of the lag that the loop tolerates, its rig's and the margin beyond it, that is left."""
        share = self.delay_share
        return None if share is None else share / (1.0 + share)


def linearised(definition: Definition, loop: Loop | None = None) -> Linearisation:
    """The quiet loop of a definition, settled at rest and linearised there, over one step of its integration."""
    loop = build(definition, AT_REST) if loop is None else loop
    ticks = definition.virtual.ticks_per_step
    loop.settle(SETTLING_TICKS, ticks)
    try:
        return linearise(loop, ticks)
    except NoSlopeError:
        return equivalent.at(definition, 1.0)


def cut_loop(definition: Definition, smooth: bool = False) -> Loop:
    """The loop cut at its command, settled at rest; ``smooth`` has equivalent blocks where one has no slope there."""
    if smooth:
        return equivalent.settled(definition, OPEN_LOOP)
    loop = build(definition, OPEN_LOOP)
    loop.run(SETTLING_TICKS)
    return loop


def open_loop_of(definition: Definition) -> StateSpace | Condensed:
    """L of the loop that runs, cut at its command."""
    try:
        return open_loop(cut_loop(definition))
    except NoSlopeError:
        return open_loop(cut_loop(definition, smooth=True))


def margin_of(definition: Definition) -> DelayMargin:
    """Exact margins of the open loop that runs."""
    return delay_margin(open_loop_of(definition))


@remembered(maxsize=8)
def margin_without_coupling(definition: Definition) -> DelayMargin:
    """The same for a loop that has none, which many couplings are compared for."""
    return margin_of(definition)


def loop_stability(definition: Definition) -> LoopStability:
    """Poles and margins of the loop that the definition describes, at rest."""
    parts = opaque_parts(definition)
    if parts.unknown:
        nothing = Linearisation.of_nothing(parts.unknown, definition.timing.step)
        known = without_margins(definition)
        why_none = () if known is None else (known,)
        return LoopStability(nothing, None, None, why_none, margin_unknown=True, holds=NOWHERE, untried=parts.untried)
    definition, tuned = at_worst(definition, lambda one: linearised(one).spectral_radius)
    loop = build(definition, AT_REST)
    linearisation, virtual = linearised(definition, loop), definition.virtual
    margin, critical, lag, unknown, opened, at_feedback = None, None, None, None, None, None
    if without_margins(definition) is not None:
        try:
            at_feedback = margins_at_feedback(definition, linearisation)
        except (HalfrealError, np.linalg.LinAlgError) as error:
            unknown = f"margins of gain are not known: {error}"
    else:
        try:
            linearisation, cut, opened, answer = cut_and_measured(definition, linearisation)
            lag = rig_lag(definition, cut, answer)
            margin = delay_margin(opened)
            critical = critical_delay(definition)
        except HalfrealError as error:
            unknown = f"margins are not known: {error}"
    caveats = [block.held for block in loop.blocks if block.held] + ([tuned] if tuned else [])
    if linearisation.equivalent:
        caveats.append(equivalent.told(definition, linearisation.stable))
    if linearisation.memory:
        caveats.append(
            f"memory, which small motion does not change and which is not a pole of the loop: "
            f"{', '.join(linearisation.memory)}"
        )
    caveats += [part.caveat for part in (definition.rig, virtual) if part.caveat is not None]
    if (why := without_margins(definition)) is not None:
        caveats.append(why)
        caveats += [IDENTIFIED] if definition.virtual.probing_ticks else []
    if unknown is not None:
        caveats.append(unknown)
    fault = rig_fault(definition, loop) if definition.slow is None else None
    blind = unknown is not None and margin is None
    holds = where_it_holds(definition, loop, bool(linearisation.equivalent))
    return LoopStability(
        linearisation,
        margin,
        critical,
        tuple(caveats),
        lag,
        fault,
        blind,
        None if margin is None else opened,
        holds,
        at_feedback,
    )


def without_margins(definition: Definition) -> str | None:
    """Why the loop of a definition has no margins against a further delay; None if it has."""
    if definition.slow is not None:
        return describe_waiting(definition)
    return SEVERAL if definition.virtual.ticks_per_step > 1 else None


def describe_waiting(definition: Definition) -> str:
    """What the delay of its rig is to a slow test."""
    slow = definition.slow
    assert slow is not None
    if slow.waits(definition.commands):
        return (
            f"a slow test tolerates any delay of its rig up to slow.settle.timeout = "
            f"{units.text(slow.settle.timeout, 's')}: its time is paused until the rig has settled"
        )
    return (
        f"a slow test without a settling tolerance measures {units.text(slow.settle.time, 's')} after each ramp "
        "regardless of where the rig is: its poles and margins include the rig's delay"
    )


def margins_at_feedback(definition: Definition, linearisation: Linearisation) -> GainMargins | None:
    """Margins of a stable loop that is cut at its feedback; None where a changed specimen also changes the method, or
    the virtual substructure is elsewhere."""
    virtual = definition.virtual
    if not linearisation.stable or virtual.probing_ticks or virtual.client_port is not None:
        return None
    return feedback_margins(definition)


def cut_and_measured(
    definition: Definition, linearisation: Linearisation
) -> tuple[Linearisation, Loop, StateSpace | Condensed, StateSpace]:
    """The cut loop, what was measured on it, and the linearisation of the closed one that goes with it.

    A block that moves in the closed loop may stand in the cut one, and have no slope there.
    """
    try:
        cut = cut_loop(definition, linearisation.equivalent)
        return linearisation, cut, *open_loop_and(cut, followed(definition))
    except NoSlopeError:
        cut = cut_loop(definition, smooth=True)
        return equivalent.at(definition, 1.0), cut, *open_loop_and(cut, followed(definition))


def critical_delay(definition: Definition) -> float | None:
    """Pure delay in place of the rig at which the loop without coupling loses stability [s]; None if it is never
    stable, or always, or not known."""
    rig, step = definition.rig, definition.timing.step
    if rig.ideal_but_late(step) is None:
        return None
    margin = margin_without_coupling(with_pure_delay(definition, step))
    further = finite(margin.critical_delay)
    return None if further is None or not margin.stable_without_delay else rig.delay_within(step + further, step)


def finite(value: float) -> float | None:
    """A margin as people and JSON know it: None if it is unlimited or undefined."""
    return float(value) if np.isfinite(value) else None
