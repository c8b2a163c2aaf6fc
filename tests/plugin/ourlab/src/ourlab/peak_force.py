"""Criteria: the largest force that the specimen felt, and as a share of what the laboratory allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from halfreal.contracts.criteria import Criteria
from halfreal.settings import Number


class PeakForce(Criteria):
    """The largest measured force, and its share of an allowed one."""

    kind: Literal["peak force"] = "peak force"
    allowed: Annotated[float, Number("N", above=0)]
    """What the laboratory allows."""

    @property
    def units(self) -> Mapping[str, str]:
        return {"largest force": "N", "share of allowed": "%"}

    def score(self, run, reference):
        largest = float(abs(run.signals["measured.force"].values).max())
        return {"largest force": largest, "share of allowed": 100.0 * largest / self.allowed}
