"""The integration schemes to choose from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from .central_difference import CentralDifference
from .exact import Exact
from .explicit_newmark import ExplicitNewmark
from .generalized_alpha import GeneralizedAlpha
from .hht import HHT
from .kr_alpha import KRAlpha
from .newmark import Newmark
from .operator_splitting import OperatorSplitting
from .runge_kutta import Heun, RungeKutta4


def _named(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


_Table = Annotated[
    Exact
    | Newmark
    | HHT
    | GeneralizedAlpha
    | CentralDifference
    | KRAlpha
    | Heun
    | RungeKutta4
    | ExplicitNewmark
    | OperatorSplitting,
    Field(discriminator="kind"),
]
_Name = Literal[
    "exact", "newmark", "hht", "generalized-alpha", "central difference", "kr-alpha", "rk2", "rk4", "explicit newmark"
]  # for the JSON Schema

AnyScheme = Annotated[_Table, BeforeValidator(_named, json_schema_input_type=_Table | _Name)]
"""A scheme by its table, or by its kind alone where the defaults serve: ``scheme = "newmark"``."""

ANSWERED_NEXT_TICK = ("explicit newmark", "operator splitting")
"""Schemes that take a measured force for the answer to the target of the tick before: those for slow tests."""
