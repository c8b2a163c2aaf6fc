"""What the parts of a test have to say of it themselves."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..examined import Examined


def of_rig(examined: Examined) -> Iterable[Finding]:
    return examined.definition.rig.findings(examined)


def of_virtual(examined: Examined) -> Iterable[Finding]:
    return examined.definition.virtual.findings(examined)


def of_coupling(examined: Examined) -> Iterable[Finding]:
    return examined.definition.coupling.findings(examined)
