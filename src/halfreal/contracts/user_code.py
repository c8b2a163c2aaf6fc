"""What users bring in addition to the definition's text, and is run: functions in files of theirs, compiled
libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema, field_validator

from ..kernels.block import Block
from ..kernels.closed_over import closed_over
from ..kernels.user import ARGUMENTS, UserFunctionError, check_function, load_function, split, try_out
from ..kernels.user_import import import_file
from ..settings import fault, folder, shown, stored
from .foreign_code import ForeignCode
from .system import Method


def _field(value: Any) -> float | np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray("ragged")
    if array.dtype.kind not in "iuf" or array.size == 0:
        raise fault(f"{shown(value)} where a number or an array of numbers is expected; give plain numbers in SI units")
    if not np.all(np.isfinite(array)):
        raise fault(f"{shown(value)} is not finite; give finite numbers")
    return float(array) if array.ndim == 0 else array.astype(float)


FieldName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
FieldValue = Annotated[
    Any,
    BeforeValidator(_field),
    PlainSerializer(lambda value: np.asarray(value).tolist(), when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "array"}], "description": "number or array in SI units"}),
]


def fields_of_the_state(frozen: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Fields that are frozen, if the state has them all."""
    for name in frozen:
        if "state" in info.data and name not in info.data["state"]:
            raise fault(f"'{name}' is not a field of the state, which has {', '.join(info.data['state']) or 'none'}")
    return frozen


class Programmed(ForeignCode):
    """Code that a block is made of."""

    foreign: ClassVar[str]
    """What it is, for people."""

    def method(self, dt: float) -> Method:
        """Its compiled function, parameters and state, for a block that is called every ``dt`` seconds."""
        raise NotImplementedError

    def tried(self, block: Block) -> Block:
        """The block, after a trial outside of any loop."""
        try_out(block)
        return block


class UserCode(ForeignCode):
    """A function in a user's file, and the numbers it is given."""

    arguments: ClassVar[tuple[str, ...]]
    function: str
    """File, relative to the definition's folder, and function: ``"model.py:step"``."""
    parameters: dict[FieldName, FieldValue] = Field(default_factory=dict)

    @field_validator("function")
    @classmethod
    def _found(cls, reference: str, info: ValidationInfo) -> str:
        if stored(info):  # a definition out of a run file, whose user function may be gone
            return reference
        try:
            file, name = split(reference)
            path = (folder(info) / file).resolve()
            check_function(path, name, cls.arguments)
        except UserFunctionError as error:
            raise fault(str(error)) from error
        return f"{path}:{name}"

    @property
    def file(self) -> Path:
        return Path(split(self.function)[0])

    def load(self) -> Callable[..., Any]:
        """The function itself: from here on the user's file is run."""
        file, name = split(self.function)
        return load_function(Path(file), name, self.arguments)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file that the user's code has read so far, itself included."""
        self.load()
        return import_file(Path(split(self.function)[0])).hashes()


class UserFunction(UserCode, Programmed):
    """A user's function as a block: the base of user-written models, couplings, specimens and rigs."""

    foreign = "a user's function"
    arguments = ARGUMENTS
    state: dict[FieldName, FieldValue] = Field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    """State fields that are frozen when the loop is linearised: counters, statistics, adapted coefficients."""

    @field_validator("frozen")
    @classmethod
    def _fields_of_the_state(cls, frozen: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return fields_of_the_state(frozen, info)

    def method(self, dt: float) -> Method:
        return Method(self.load(), {"dt": dt, **self.parameters}, self.state, self.frozen)

    def hashes(self) -> dict[str, str]:
        """Also of the constants that go into compiled code, which need not come from files."""
        return {**super().hashes(), self.function: closed_over(self.load())}
