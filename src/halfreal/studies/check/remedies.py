"""What would make an unstable loop stable, each tried out on the loop that runs before it is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import units
from ...couplings.direct import Direct
from ...couplings.model_inverse import ModelInverse
from ...definition.definition import Definition
from ...definition.paths import with_values
from ...errors import HalfrealError
from ...runs.loop_stability import LoopStability, linearised
from ...runs.pure_delay import with_pure_delay

WORST_CASE = "a narrower uncertainty, or a coupling that bears the worst case"
"""For a loop that is stable at rest as it is defined, and not for all it may be."""


def stabilising(definition: Definition, stability: LoopStability) -> list[str]:
    """Changes that make the loop stable; the size of the specimen where nothing else does."""
    has = stability.rig_delay
    found = [
        *inverse_remedy(definition),
        *prediction_remedy(definition, has),
        *step_remedy(definition, has),
        *coupling_remedy(definition),
        *delay_remedy(definition, has, stability.critical_delay),
    ]
    return found or size_remedy(definition, stability)


def inverse_remedy(definition: Definition) -> list[str]:
    """The inverse of a rig's own model, where that alone makes the loop stable."""
    inverse = definition.rig.inverse_coefficients(definition.virtual.axes)
    if inverse is None:
        return []
    tried = ModelInverse(kind="model inverse", coefficients=inverse)
    if not linearised(definition.unchecked_copy({"coupling": tried})).stable:
        return []
    coefficients = ", ".join(f"{a:.6g}" for a in inverse)
    return [f'the coupling "model inverse" with coefficients = [{coefficients}]; halfreal tune compares others with it']


def prediction_remedy(definition: Definition, delay: float | None) -> list[str]:
    """The interval of predictions that make the loop stable, for a loop without one or with a wrong one."""
    tried = definition.coupling.predicting(delay) if delay else None
    if tried is None or not delay:
        return []

    def stable(time: float) -> bool:
        return linearised(definition.unchecked_copy({"coupling": definition.coupling.predicting(time)})).stable

    if not stable(delay):
        return []
    low, high = (edge(stable, delay, end) for end in (0.0, 4.0 * delay))
    return [
        f"forward prediction (order {tried.order}, {tried.points} points) by {units.text(low, 's', 3)} to "
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


def step_remedy(definition: Definition, has: float | None) -> list[str]:
    """A shorter step, where that alone makes the loop stable."""
    step = definition.timing.step
    if definition.rig.is_dynamic or (has is not None and has > step):
        return []  # the delay is not the step's
    for divisor in (2, 5, 10):
        try:
            shorter = with_values(definition, {"timing.step": step / divisor})
        except HalfrealError:
            return []
        if linearised(shorter).stable:
            return [f"a step of {units.text(step / divisor, 's')} or shorter"]
    return []


def coupling_remedy(definition: Definition) -> list[str]:
    """The coupling left out, where that alone makes the loop stable."""
    if not definition.coupling.compensates or definition.commands != "displacement":
        return []
    if not linearised(definition.unchecked_copy({"coupling": Direct()})).stable:
        return []
    kind = definition.coupling.kind
    return [f"without the coupling '{kind}' the loop is stable: another one, or other settings of it"]


def delay_remedy(definition: Definition, has: float | None, critical: float | None) -> list[str]:
    """A rig with less than the critical delay, where the loop that runs is stable with a little less than that."""
    if critical is None or has is None or has <= critical:
        return []
    dynamic, shorter = definition.rig.is_dynamic, 0.98 * critical
    if dynamic:
        tried = with_pure_delay(definition, shorter)
    else:
        tried = definition.unchecked_copy({"rig": definition.rig.with_delay(shorter)})
    if not linearised(tried).stable:
        return []
    whose = "that lags by less" if dynamic else "whose delay is shorter"
    return [f"a rig {whose} than {units.text(critical, 's')}"]


def size_remedy(definition: Definition, stability: LoopStability) -> list[str]:
    """A smaller specimen against the virtual part: it scales the gain of the loop."""
    margin = stability.margin
    if margin is None:
        return []
    crossed = np.flatnonzero((margin.gains > 0.0) & (margin.gains < 1.0))  # none is below one if the gain is not known
    for place in sorted(crossed, key=lambda i: float(margin.gains[i])):
        share = 0.9 * float(margin.gains[place])
        rig = definition.rig.with_share_of_specimen(share)
        if rig is not None and linearised(definition.unchecked_copy({"rig": rig})).stable:
            hz = margin.gain_omega[place] / (2.0 * np.pi)
            hint = "" if definition.coupling.compensates else definition.rig.tuning_hint
            return [
                f"a specimen of {100 * share:.2g} % of the mass and stiffness, or a virtual part about "
                f"{1.0 / share:.2g} times as heavy and stiff: what decides is the loop gain near {hz:.3g} Hz, by the "
                f"specimen's mass and stiffness against those of the virtual part{f'; {hint}' if hint else ''}"
            ]
    return []
