"""Base of every part of a test definition, and in one place the types of its values.

A part is a frozen pydantic model whose fields are SI floats, arrays, names and other parts::

    class Oscillator(Settings):
        mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="positive")]
        damping_ratio: Annotated[float, Number("1", least=0)] = 0.0

From a file a quantity must be text with a unit; from Python, and from the JSON of a run file, it is a float in SI units
or such a text.  Defaults are not read: they are SI floats or arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Self, Union

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema

from .arrays import Matrix, PerAxis, RowPerAxis, Vector
from .errors import DefinitionError
from .places import found
from .values import ExistingFile, Number, fault, faults, folder, shown, stored

__all__ = [
    "ExistingFile",
    "Matrix",
    "Number",
    "OneAt",
    "PerAxis",
    "RowPerAxis",
    "Settings",
    "Vector",
    "default_kind",
    "fault",
    "faults",
    "folder",
    "shown",
    "stored",
    "union_of",
]


def default_kind(kind: str) -> BeforeValidator:
    """Let a table leave out ``kind`` where one kind is the usual one."""

    def fill(value: Any) -> Any:
        return {"kind": kind, **value} if isinstance(value, dict) and "kind" not in value else value

    return BeforeValidator(fill)


def union_of(parts: Iterable[type[BaseModel]], usual: str | None = None) -> Any:
    """The type of one of several parts, told by its ``kind``; ``usual`` if that is left out."""
    choice: Any = Annotated[Union[tuple(parts)], Field(discriminator="kind")]  # noqa: UP007 (made of a list)
    return choice if usual is None else Annotated[choice, default_kind(usual)]


@dataclass(frozen=True)
class OneAt:
    """Annotation of a field that holds one of the parts at these places of a package, told by its ``kind``.

    A new part of this sort is its file and a line in the list of places.
    """

    package: str
    places: tuple[str, ...]
    usual: str | None = None

    @property
    def parts(self) -> tuple[type[Settings], ...]:
        return found(self.package, self.places)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(union_of(self.parts, self.usual))


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


WORDS = "halfreal.definition.faults"
"""Puts into words what is wrong with values."""


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as Worded
else:

    class Worded(type(BaseModel)):
        """Makes parts in Python, and words what is wrong with them as in a file."""

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            try:
                return super().__call__(*args, **kwargs)
            except ValidationError as error:
                in_words = import_module(WORDS).translate  # the one step up: nothing here needs it to work
                raise DefinitionError(in_words(error, cls)) from error


class Settings(BaseModel, metaclass=Worded):
    """A part of a test definition: immutable, closed to unknown keys, and equal to another if all its values are."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _make_strict(schema)
        return schema

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with some fields replaced; these are validated, as when the part is made."""
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**given, **update})

    def unchecked_copy(self, update: Mapping[str, Any]) -> Self:
        """A copy with fields replaced that are known to be good: nothing is validated."""
        return super().model_copy(update=update)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            raise AttributeError(
                f"{name} cannot be assigned: a test and its parts stay as they are; make a changed test by "
                f'test.with_values({{"{name}": …}}), for a key of a part with its place, as in "rig.actuator.delay", '
                f'or a changed part by model_copy(update={{"{name}": …}})'
            )
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return bool(_comparable(self) == _comparable(other))

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
