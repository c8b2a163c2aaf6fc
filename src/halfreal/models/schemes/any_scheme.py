"""The integration schemes to choose from."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ...settings import OneAt
from .scheme import Scheme

SCHEMES = {
    "exact": "exact:Exact",
    "newmark": "newmark:Newmark",
    "hht": "hht:HHT",
    "generalized-alpha": "generalized_alpha:GeneralizedAlpha",
    "central difference": "central_difference:CentralDifference",
    "kr-alpha": "kr_alpha:KRAlpha",
    "mkr-alpha": "mkr_alpha:MKRAlpha",
    "rk2": "runge_kutta:Heun",
    "rk4": "runge_kutta:RungeKutta4",
    "explicit newmark": "explicit_newmark:ExplicitNewmark",
    "operator splitting": "operator_splitting:OperatorSplitting",
}
"""Their kinds, and their places in this package."""


class _Schemes(OneAt):
    """A scheme by its table, or by its kind alone."""

    def read(self, value: Any, info: ValidationInfo) -> Any:
        return super().read({"kind": value} if isinstance(value, str) else value, info)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        with_defaults = [
            kind
            for kind, part in zip(self.names, self.parts, strict=True)
            if not any(field.is_required() for field in part.model_fields.values())
        ]
        tables = super().__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [*tables.get("anyOf", [tables]), {"enum": with_defaults, "type": "string"}]}


_schemes = _Schemes(__package__, SCHEMES)
AnyScheme = Annotated[Scheme, _schemes]
"""A scheme by its table, or by its kind alone where the defaults serve: ``scheme = "newmark"``."""


def answered_next_tick() -> tuple[str, ...]:
    """Schemes that take a measured force for the answer to the target of the tick before: those for slow tests."""
    pairs = zip(_schemes.names, _schemes.parts, strict=True)
    return tuple(kind for kind, part in pairs if issubclass(part, Scheme) and part.answered_next_tick)
