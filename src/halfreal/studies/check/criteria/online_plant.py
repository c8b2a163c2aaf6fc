"""Whether the rig, as it is identified while the rehearsal runs, stays within what was checked."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, note, warning
from ....runs.checked_plant import as_checked
from ..examined import Examined


def online_plant(examined: Examined) -> Iterable[Finding]:
    if examined.definition.online_identification is None or not examined.sound:
        return
    for text, well in as_checked(examined.definition, examined.rehearsal):
        yield note(text) if well else warning(text)
