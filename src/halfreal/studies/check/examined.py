"""A test under examination: what criteria and parts judge it by, each analysis made once, when it is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.context import Purpose
from ...contracts.state_space import StateSpace
from ...definition.definition import Definition
from ...kernels.loop import Loop
from ...runs.adapted import Adapted, adapted
from ...runs.build import build, plant
from ...runs.continuous import delay_equation, has_delay_equation
from ...runs.loop_stability import LoopStability, cut_loop, loop_stability
from ...runs.peaks import Peaks, peaks_of
from ...runs.rehearse import Progress, rehearse
from ...runs.run import DelayEquation, Run
from ...runs.validity import ADAPTS, is_nonlinear
from ...stability.open_loop import answer
from ..uncertainty.uncertainty import UncertaintyStudy, study_uncertainty

if TYPE_CHECKING:
    from ...models.force_control.constrained import Constrained
    from ...stability.force_method import Forecast
    from .free_motion import FreeMotion
    from .motion import Motion
    from .nonlinear import Nonlinear

SAMPLES = 256
"""Of the uncertain numbers, if there are any."""
STAGES = {"rehearsal": 1, "uncertainty": 4, "motion": 4, "operating points": 3, "limit cycles": 6}
"""Long work of a check in its order, and about how much of the time each takes."""
WHOLE = 1000
"""Of the progress of a check."""


@dataclass(frozen=True, eq=False)
class Examined:
    """A definition (``text``: as its file has it, for the record) and what is found out about it."""

    definition: Definition
    text: str | None = None
    on_progress: Progress | None = None
    tries_remedies: bool = True
    """Whether what would make the test pass is tried out."""

    @cached_property
    def stability(self) -> LoopStability:
        """Of the loop at rest: poles and margins."""
        return loop_stability(self.definition)

    @property
    def stable_at_rest(self) -> bool:
        """Whether the loop is not known to be unstable at rest."""
        return self.stability.linearisation.stable or self.stability.poles_unknown

    @property
    def stable(self) -> bool:
        """Whether it is not, or with the coefficients alone that it has before it adapts."""
        return self.stable_at_rest or self.learns

    @cached_property
    def learns(self) -> bool:
        """Whether a loop adapts, and is stable with what it learns in its excitation and from rest, with each change
        that its acceptance promises: poles and margins with the coefficients of t = 0 then decide nothing."""
        if self.stability.holds != ADAPTS or self.stability.untried:
            return False
        stable = [one.linearisation.stable for one in self.adapted]
        if not stable or not stable[-1] or stable != sorted(stable) or not self.adapted[-1].moved:
            return False  # what it learns must not make the loop unstable again
        from ...runs.in_motion import trials_of
        from ...runs.margins_in_motion import is_lost
        from ...runs.start_from_rest import comes_to_rest
        from .motion import promised

        trials, lag = trials_of(self.definition, self.stability), self.stability.rig_lag
        if not trials.repeatable:
            return False
        promises = promised(self.definition, lag or self.definition.timing.step)
        changes = [(0.0, 1.0), *((delay, gain) for _, delay, gain in promises)]
        tried = (trials.attempt(delay=delay, gain=gain) for delay, gain in changes)
        if any(is_lost(one, trials.attempt(), trials.remembers) for one in tried):
            return False
        return all(comes_to_rest(trials, delay=delay, gain=gain) for delay, gain in changes)

    @property
    def sound(self) -> bool:
        """Whether the loop, and the rig on its own, are stable at rest; else what follows from it needs no remedy."""
        return self.stable and self.stability.rig_fault is None

    @cached_property
    def rehearsal(self) -> Run:
        """The whole test against its simulated rig; not judged yet."""
        progress = self._progress("rehearsal")
        return rehearse(self.definition, text=self.text, stability=self.stability, on_progress=progress)

    @cached_property
    def peaks(self) -> Peaks | None:
        """Shares of limits and ranges in rehearsals with other noise; None without noise and ranges, or if the
        rehearsal was not completed."""
        if self.rehearsal.outcome != "completed":
            return None
        return peaks_of(self.definition, 1.0 - self.definition.acceptance.least("limit_reserve"))

    @cached_property
    def continuous(self) -> DelayEquation | None:
        """The loop in continuous time, a delay equation; None where it is not known."""
        return delay_equation(self.definition) if has_delay_equation(self.definition) else None

    @cached_property
    def motion(self) -> Motion | None:
        """The test in motion, tried with what its acceptance promises; None if it is unstable at rest, or proven
        linear."""
        if not self.sound or self.stability.proven_linear or self.stability.untried:
            return None
        from .motion import study_motion

        worst = None if self.uncertainty is None or self.uncertainty.worst_growth >= 0.0 else self.uncertainty.worst
        return study_motion(self.definition, self.stability, worst, self._progress("motion"))

    @cached_property
    def adapted(self) -> tuple[Adapted, ...]:
        """The loop with the coefficients that it reaches in its rehearsal; empty if it does not adapt."""
        if self.stability.poles_unknown or self.stability.rig_fault is not None:
            return ()
        return adapted(self.definition, self.stability.linearisation)

    @cached_property
    def nonlinear(self) -> Nonlinear | None:
        """The loop along its rehearsal and at larger excitations; None if it is linear, or in force control.

        There the linearisation says that nonlinear elements are taken at their initial stiffness.
        """
        if not self._judged_nonlinear or self.stability.untried:
            return None
        from .nonlinear import examine

        poles = self.stability.linearisation.continuous
        slowest = complex(poles[0]) if poles.size else 0.0
        unstable = None if self.motion is None else self.motion.defined.unstable
        return examine(self.definition, self.stable, self._progress("operating points"), slowest, unstable)

    @cached_property
    def cycles(self) -> FreeMotion | None:
        """Limit cycles of the loop left to itself; None where a nonlinear loop is not judged either, or its model at
        rest is not known."""
        if self.nonlinear is None or self.definition.slow is not None or self.stability.poles_unknown:
            return None
        from .free_motion import free_motion

        return free_motion(self.definition, self.stable, self._progress("limit cycles"))

    @cached_property
    def uncertainty(self) -> UncertaintyStudy | None:
        """The loop for all that its uncertain numbers may be; None if there are none, or its poles are not known."""
        return (
            study_uncertainty(self.definition, SAMPLES, on_progress=self._progress("uncertainty"))
            if self.definition.uncertainty and not self.stability.poles_unknown
            else None
        )

    @property
    def _judged_nonlinear(self) -> bool:
        return is_nonlinear(self.definition) and self.definition.targets == "displacement"

    def _progress(self, stage: str) -> Progress | None:
        """Progress of one stage as that of the whole check, of which it is a part."""
        on_progress = self.on_progress
        if on_progress is None:
            return None
        stages = dict(STAGES)
        if not self.sound or self.stability.proven_linear or self.stability.untried:
            del stages["motion"]
        if not self._judged_nonlinear:
            del stages["operating points"]
        if not self._judged_nonlinear or self.definition.slow is not None or self.stability.poles_unknown:
            del stages["limit cycles"]
        if not self.definition.uncertainty or self.stability.poles_unknown:
            del stages["uncertainty"]
        names, total = list(stages), sum(stages.values())
        before = sum(stages[one] for one in names[: names.index(stage)])
        return lambda done, of: on_progress(round(WHOLE * (before + stages[stage] * done / max(of, 1)) / total), WHOLE)

    @cached_property
    def plant(self) -> StateSpace:
        """The loop from the command to the gap, linearised, with the model of its rig and without its coupling."""
        return plant(self.definition)

    def cut_loop(self, variant: Definition) -> Loop:
        """The loop of a variant of the test, opened at the command: its rig follows nothing."""
        return build(variant, Purpose(cut=True))

    def response_to_command(self, outputs: Sequence[str]) -> StateSpace:
        """The loop, opened at the command and linearised at rest, from the command to these channels."""
        return answer(cut_loop(self.definition, self.stability.linearisation.equivalent), outputs)

    def force_methods(
        self, virtual: Constrained, stiffness: np.ndarray, noise: float, amplitude: float
    ) -> list[Forecast]:
        """Methods of force control for this virtual part, best first, with a specimen of this stiffness."""
        from ...stability.force_method import recommend  # no other test needs the methods of force control

        timing = self.definition.timing
        return recommend(
            virtual,
            timing.step * virtual.ticks_per_step,
            stiffness,
            noise=noise,
            amplitude=amplitude,
            duration=timing.duration,
        )

    def remedies(self, find: Callable[[], Iterable[str]]) -> tuple[str, ...]:
        """What ``find`` finds, unless remedies are not requested."""
        return tuple(find()) if self.tries_remedies else ()
