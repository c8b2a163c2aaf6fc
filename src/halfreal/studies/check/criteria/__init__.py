"""What a test is judged by: one criterion a file, each a function from what is examined to findings, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ....contracts.finding import Finding
from ....places import found
from ..examined import Examined

Criterion = Callable[[Examined], Iterable[Finding]]
CRITERIA: tuple[Criterion, ...] = found(
    __package__,
    (
        "stability:stability",
        "rig_alone:rig_alone",
        "measured_force:measured_force",
        "margins:margins",
        "tolerated_delay:tolerated_delay",
        "rehearsal:rehearsal",
        "limits:limits",
        "limits:ranges",
        "first_command:first_command",
        "offsets:offsets",
        "acceptance:acceptance",
        "adapted:adapted",
        "scores:scores",
        "settling:settling",
        "motion:motion",
        "nonlinear:nonlinear",
        "free_motion:free_motion",
        "uncertainty:uncertainty",
        "online_plant:online_plant",
        "clocks:clocks",
        "caveats:caveats",
        "reach:reach",
        "kinematics:kinematics",
        "exchanges:exchanges",
        "sampling:sampling",
        "release:release",
        "continuous_limit:continuous_limit",
        "foreign_code:foreign_code",
        "parts:of_rig",
        "missing_limits:missing_limits",
        "parts:of_virtual",
        "slow:slow",
        "truncation:truncation",
        "parts:of_coupling",
    ),
)
