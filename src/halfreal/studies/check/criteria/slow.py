"""Which forces of the specimen a slow test does not measure."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, warning
from ..examined import Examined


def slow(examined: Examined) -> Iterable[Finding]:
    definition = examined.definition
    specimen = definition.rig.known_specimen
    lost = () if definition.slow is None or specimen is None else specimen.felt_in_motion(definition.virtual.axes)
    if lost:
        yield warning(
            f"the specimen has {' and '.join(lost)}, whose forces are absent in a slow test; model them in the "
            "virtual substructure"
        )
