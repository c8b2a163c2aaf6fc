"""A kind without blocks."""

from typing import Literal

from halfreal.contracts.coupling import Coupling


class Unfinished(Coupling):
    kind: Literal["unfinished"] = "unfinished"
