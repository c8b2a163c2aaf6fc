"""Whether the loop that runs and its continuous limit, a delay equation, agree on stability."""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.finding import Finding
from ..examined import Examined


def continuous_limit(examined: Examined) -> Iterable[Finding]:
    equation, step = examined.continuous, examined.definition.timing.step
    if equation is None or equation.verdict != ("unstable" if examined.stable_at_rest else "stable"):
        return
    words = ("stable", "unstable") if examined.stable_at_rest else ("unstable", "stable")
    yield Finding(
        "warning",
        f"the sampled loop is {words[0]}, but its delay equation in continuous time is {words[1]}: the step of "
        f"{units.text(step, 's')} makes the difference; try a shorter timing.step",
        step,
        unit="s",
    )
