"""What the answer on stability rests on."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, note
from ..examined import Examined


def caveats(examined: Examined) -> Iterable[Finding]:
    return [note(text) for text in examined.stability.caveats]
