"""The integration schemes to choose from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from ...settings import OneAt
from .scheme import Scheme

SCHEMES = (
    "exact:Exact",
    "newmark:Newmark",
    "hht:HHT",
    "generalized_alpha:GeneralizedAlpha",
    "central_difference:CentralDifference",
    "kr_alpha:KRAlpha",
    "mkr_alpha:MKRAlpha",
    "runge_kutta:Heun",
    "runge_kutta:RungeKutta4",
    "explicit_newmark:ExplicitNewmark",
    "operator_splitting:OperatorSplitting",
)
"""Their places in this package."""


def _named(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


_table = OneAt(__package__, SCHEMES)
_parts: tuple[type[Scheme], ...] = _table.parts  # type: ignore[assignment]
_kinds = {part: str(part.model_fields["kind"].default) for part in _parts}
_names = [kind for part, kind in _kinds.items() if not any(field.is_required() for field in part.model_fields.values())]
_input: Any = Annotated[Scheme, _table] | Literal[tuple(_names)]  # for the JSON Schema

AnyScheme = Annotated[Scheme, _table, BeforeValidator(_named, json_schema_input_type=_input)]
"""A scheme by its table, or by its kind alone where the defaults serve: ``scheme = "newmark"``."""

ANSWERED_NEXT_TICK = tuple(kind for part, kind in _kinds.items() if part.answered_next_tick)
"""Schemes that take a measured force for the answer to the target of the tick before: those for slow tests."""
