"""Base of every part of a test definition, and in one place the types of its values.

A part is a frozen pydantic model whose fields are SI floats, arrays, names and other parts::

    class Oscillator(Settings):
        mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="positive")]
        damping_ratio: Annotated[float, Number("1", least=0)] = 0.0

From a file a quantity must be text with a unit; from Python, and from the JSON of a run file, it is a float in SI units
or such a text.  Defaults are not read: they are SI floats or arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from .arrays import Matrix, Vector
from .values import ExistingFile, Number, fault, faults, folder, shown, stored

__all__ = ["ExistingFile", "Matrix", "Number", "Settings", "Vector", "fault", "faults", "folder", "shown", "stored"]


def _make_strict(node: Any) -> None:
    """Let "3" or true not pass for a whole number, nor 1 for true; lists may still stand for tuples."""
    if isinstance(node, dict):
        if node.get("type") in ("int", "float", "bool", "str"):
            node["strict"] = True
        for key in node.keys() - {"cls", "metadata", "config", "function", "serialization", "default"}:
            _make_strict(node[key])
    elif isinstance(node, list | tuple):
        for item in node:
            _make_strict(item)


class Settings(BaseModel):
    """A part of a test definition: immutable, closed to unknown keys, and equal to another if all its values are."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _make_strict(schema)
        return schema

    def __eq__(self, other: object) -> bool:
        return _comparable(self) == _comparable(other)

    def __hash__(self) -> int:
        return hash(_comparable(self))


def _comparable(value: Any) -> Any:
    """A hashable stand-in; pydantic's own comparison stumbles over arrays."""
    if isinstance(value, BaseModel):
        return (type(value), *(_comparable(getattr(value, name)) for name in type(value).model_fields))
    if isinstance(value, np.ndarray):
        return (value.shape, *value.ravel().tolist())
    if isinstance(value, list | tuple):
        return tuple(_comparable(item) for item in value)
    if isinstance(value, dict):
        return frozenset((key, _comparable(item)) for key, item in value.items())
    return value
