"""Base of every part of a test definition, and in one place the types of its values.

A part is a frozen pydantic model whose fields are SI floats, arrays, names and other parts::

    class Oscillator(Settings):
        mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="positive")]
        damping_ratio: Annotated[float, Number("1", least=0)] = 0.0

From a file a quantity must be text with a unit; from Python, and from the JSON of a run file, it is a float in SI units
or such a text.  Defaults are not read: they are SI floats or arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Self, Union, get_args

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, SchemaValidator, core_schema

from .arrays import Matrix, PerAxis, RowPerAxis, Vector, WholePerAxis
from .errors import DefinitionError
from .places import found
from .values import ExistingFile, Number, fault, faults, folder, shown, stored

__all__ = [
    "ByKind",
    "ExistingFile",
    "Matrix",
    "Number",
    "OneAt",
    "PerAxis",
    "RowPerAxis",
    "Settings",
    "Vector",
    "WholePerAxis",
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
    return BeforeValidator(partial(with_kind, kind))


def with_kind(kind: str, value: Any) -> Any:
    """A table with its ``kind``, if it has none."""
    return {"kind": kind, **value} if isinstance(value, dict) and "kind" not in value else value


def union_of(parts: Iterable[type[BaseModel]], usual: str | None = None) -> Any:
    """The type of one of several parts, selected by its ``kind``; ``usual`` if that is left out."""
    choice: Any = Annotated[Union[tuple(parts)], Field(discriminator="kind")]  # noqa: UP007 (made of a list)
    return choice if usual is None else Annotated[choice, default_kind(usual)]


class Choices(Mapping[str, CoreSchema]):
    """What is expected of each kind that may stand in a field; a part is imported when its kind is looked up."""

    def __init__(self, field: ByKind) -> None:
        self._field = field

    def __getitem__(self, kind: str) -> CoreSchema:
        if kind not in self._field.names:
            raise KeyError(kind)
        return _whole(self._field.part(kind))

    def __iter__(self) -> Iterator[str]:
        return iter(self._field.names)

    def __len__(self) -> int:
        return len(self._field.names)


class ByKind:
    """Annotation of a field that holds one of several parts, selected by its ``kind``.

    Parts take long to be imported, and a definition has few of them: each is imported when its kind is met.
    """

    usual: str | None
    """The kind if none is given."""

    @property
    def names(self) -> tuple[str, ...]:
        """All kinds that may stand here, in the order in which they are listed."""
        raise NotImplementedError

    def part(self, kind: str) -> type[Settings]:
        """The part of a kind."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[type[Settings], ...]:
        return tuple(self.part(kind) for kind in self.names)

    @property
    def choices(self) -> Choices:
        return Choices(self)

    def read(self, value: Any, info: ValidationInfo) -> Any:
        """Read a part as a union of all of them would, with the same errors at the same places."""
        if isinstance(value, Mapping):
            kind = value.get("kind", self.usual)
            value = {**value, "kind": kind}
        elif isinstance(value, BaseModel):
            kind = getattr(value, "kind", None)
        else:
            raise PydanticKnownError("model_attributes_type")
        if kind is None:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
        if kind not in self.names:
            expected = ", ".join(repr(name) for name in self.names)
            raise PydanticKnownError(
                "union_tag_invalid", {"discriminator": "'kind'", "tag": str(kind), "expected_tags": expected}
            )
        return _reader(self.part(kind), kind).validate_python(value, context=info.context)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        every: TypeAdapter[Any] = TypeAdapter(union_of(self.parts, self.usual))
        return handler(every.core_schema)


def _whole(part: type[Settings]) -> CoreSchema:
    """What a part expects; it is worked out when it is first needed."""
    part.model_rebuild()
    return part.__pydantic_core_schema__


@cache
def _reader(part: type[Settings], kind: str) -> SchemaValidator:
    """Reads a part, and shows its kind among the steps to a fault, as a union does."""
    return SchemaValidator(core_schema.tagged_union_schema({kind: _whole(part)}, discriminator="kind"))


@dataclass(frozen=True, eq=False)
class OneAt(ByKind):
    """One of the parts at these places of a package, by their kinds.

    A new part of this sort is its file and a line in the list of places.
    """

    package: str
    places: Mapping[str, str]
    usual: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.places)

    def part(self, kind: str) -> type[Settings]:
        return found(self.package, [self.places[kind]])[0]  # type: ignore[no-any-return]


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


MESSAGES = "halfreal.definition.faults"
"""The module that describes what is wrong with values."""


@contextmanager
def described(part: type[BaseModel]) -> Iterator[None]:
    """Raise ``DefinitionError`` for invalid values, with the messages that a file gets, instead of pydantic's error."""
    try:
        yield
    except ValidationError as error:
        translate = import_module(MESSAGES).translate  # the one import from above: nothing here needs it to work
        raise DefinitionError(translate(error, part)) from None  # a traceback would show pydantic's error first


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as Described
else:

    class Described(type(BaseModel)):
        """Makes parts in Python, with the error messages that a file gets."""

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            kind = cls.model_fields.get("kind")
            if kind is not None and kind.is_required() and len(get_args(kind.annotation)) == 1:
                kwargs.setdefault("kind", *get_args(kind.annotation))  # in Python the class states the kind
            with described(cls):
                return super().__call__(*args, **kwargs)


class Settings(BaseModel, metaclass=Described):
    """A part of a test definition: immutable, closed to unknown keys, and equal to another if all its values are."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False, defer_build=True
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _make_strict(schema)
        return schema

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Validate a table, or a part, as when it is read from a file; its numbers are in SI units.

        Parameters
        ----------
        obj
            Table with the settings, such as ``{"step": "1 ms"}``, or a part.
        options
            Options of pydantic, such as ``context={"folder": …}`` for the folder of the files that it names.

        Returns
        -------
        Settings
            The validated part.

        Raises
        ------
        DefinitionError
            With every error, its key and the remedy.
        """
        with described(cls):
            return super().model_validate(obj, **options)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Validate JSON text, as ``model_dump_json`` writes it; its numbers are in SI units.

        Parameters
        ----------
        json_data
            The text.
        options
            Options of pydantic.

        Returns
        -------
        Settings
            The validated part.

        Raises
        ------
        DefinitionError
            With every error, its key and the remedy.
        """
        with described(cls):
            return super().model_validate_json(json_data, **options)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with some fields replaced; these are validated, as when the part is made."""
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**given, **update})

    def unchecked_copy(self, update: Mapping[str, Any]) -> Self:
        """A copy with fields replaced that are known to be good: nothing is validated.

        As pydantic's ``model_copy``, in a fifth of its time: studies make thousands.
        """
        made = object.__new__(type(self))
        private, extra = self.__pydantic_private__, self.__pydantic_extra__
        object.__setattr__(made, "__dict__", {**self.__dict__, **update})
        object.__setattr__(made, "__pydantic_fields_set__", self.__pydantic_fields_set__ | update.keys())
        object.__setattr__(made, "__pydantic_extra__", None if extra is None else dict(extra))
        object.__setattr__(made, "__pydantic_private__", None if private is None else dict(private))
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            raise AttributeError(
                f"{name} cannot be assigned: a test and its parts are immutable; create a changed test with "
                f'test.with_values({{"{name}": …}}), for a key of a part use its full key, e.g. "rig.actuator.delay", '
                f'or a changed part with model_copy(update={{"{name}": …}})'
            )
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return bool(_comparable(self) == _comparable(other))

    def __hash__(self) -> int:
        return hash(_comparable(self))


def _comparable(value: Any) -> Any:
    """A hashable stand-in; pydantic's own comparison stumbles over arrays."""
    if isinstance(value, BaseModel):
        return (value.__class__, *(_comparable(getattr(value, name)) for name in value.__class__.model_fields))
    if isinstance(value, np.ndarray):
        return (value.shape, *value.ravel().tolist())
    if isinstance(value, list | tuple):
        return tuple(_comparable(item) for item in value)
    if isinstance(value, dict):
        return frozenset((key, _comparable(item)) for key, item in value.items())
    return value
