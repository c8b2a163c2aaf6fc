"""The integration schemes to choose from."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from .central_difference import CentralDifference
from .exact import Exact
from .generalized_alpha import GeneralizedAlpha
from .hht import HHT
from .kr_alpha import KRAlpha
from .newmark import Newmark
from .runge_kutta import Heun, RungeKutta4


def _named(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


AnyScheme = Annotated[
    Exact | Newmark | HHT | GeneralizedAlpha | CentralDifference | KRAlpha | Heun | RungeKutta4,
    Field(discriminator="kind"),
    BeforeValidator(_named),
]
"""A scheme by its table, or by its kind alone where the defaults serve: ``scheme = "newmark"``."""
