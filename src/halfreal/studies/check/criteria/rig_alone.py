"""Whether the rig is stable on its own, with its command held."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..examined import Examined


def rig_alone(examined: Examined) -> Iterable[Finding]:
    fault = examined.stability.rig_fault
    if fault is not None:
        mend = examined.remedies(lambda: [fault.remedy])
        yield Finding("no-go", fault.reason, remedies=mend, name="stability of the rig alone", room=0.0)
