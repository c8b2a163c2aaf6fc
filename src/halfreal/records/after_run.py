"""What is found out of a run after its end, as text for the run file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..runs.run import Accepted, Computer, Property, Scored, SpecimenMet, Stalls


def written(found: SpecimenMet | Accepted) -> str:
    """As JSON, which has no NaN: null in its place."""
    return json.dumps(_without_nan(asdict(found)), ensure_ascii=False, allow_nan=False)


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def specimen(text: str) -> SpecimenMet:
    found = json.loads(text)
    rows = []
    for row in found["properties"]:
        values: dict[str, Any] = {key: math.nan if one is None else one for key, one in row.items()}
        rows.append(Property(**(values | {"axes": tuple(row["axes"])})))
    return SpecimenMet(tuple(rows), found["reason"])


def judgement(text: str) -> Accepted:
    found = json.loads(text)
    of = found.get("computer")
    computer = None
    if of is not None:
        stalls = tuple(Stalls(**one) for one in of["stalls"])
        computer = Computer(of["fit"], of["text"], tuple(of["details"]), stalls)
    return Accepted(found["word"], tuple(found["reasons"]), found.get("test", ""), computer)


def written_scores(found: Mapping[str, Scored]) -> str:
    """Criteria as JSON: their values with units, by name."""
    return json.dumps(
        {name: [one.value if math.isfinite(one.value) else None, one.unit] for name, one in found.items()},
        ensure_ascii=False,
        allow_nan=False,
    )


def scores(text: str) -> dict[str, Scored]:
    return {
        name: Scored(math.nan if value is None else float(value), unit)
        for name, (value, unit) in json.loads(text).items()
    }
