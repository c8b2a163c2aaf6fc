"""A virtual substructure written by the user: a function ``step(p, s, t, u, y)`` in a file of theirs.

Its inputs are u = (excitation, its rate, measured forces…), its outputs y = (interface displacements…, responses…),
all of time t (contract in ``halfreal.kernels.block``).  ``p`` and ``s`` have the fields of ``parameters`` and
``state``; ``p.dt`` is the step [s] without being named.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema, field_validator

from ...contracts.system import Method
from ...kernels.block import Block
from ...kernels.closed_over import closed_over
from ...kernels.user import ARGUMENTS, UserFunctionError, check_function, load_function, split, try_out
from ...kernels.user_import import import_file
from ...settings import Settings, fault, folder, shown, stored
from . import virtual_block as virtual
from .virtual_block import ActsAs


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


class UserCode(Settings):
    """A function in a user's file, and the numbers it is given."""

    arguments: ClassVar[tuple[str, ...]]
    function: str
    """File, from the definition's folder, and function: ``"model.py:step"``."""
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

    def load(self) -> Callable[..., Any]:
        """The function itself: from here on the user's file is run."""
        file, name = split(self.function)
        return load_function(Path(file), name, self.arguments)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file that the user's code has read so far, itself included."""
        self.load()
        return import_file(Path(split(self.function)[0])).hashes()


class UserFunction(UserCode):
    """A user's function as a block: the base of user-written models, couplings, specimens and rigs."""

    arguments = ARGUMENTS
    state: dict[FieldName, FieldValue] = Field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    """Fields of the state that are held when the loop is linearised: counters, statistics, adapted coefficients."""

    @field_validator("frozen")
    @classmethod
    def _fields_of_the_state(cls, frozen: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for name in frozen:
            if "state" in info.data and name not in info.data["state"]:
                raise fault(f"'{name}' is no field of the state, which has {', '.join(info.data['state']) or 'none'}")
        return frozen

    def hashes(self) -> dict[str, str]:
        """Also of the constants that go into compiled code, which need not come from files."""
        return {**super().hashes(), self.function: closed_over(self.load())}


class UserModel(UserFunction):
    """A virtual substructure written by the user."""

    kind: Literal["user"]
    interface: Annotated[int, Field(ge=1)] = 1
    """Number of interface axes."""
    responses: dict[Annotated[str, Field(min_length=1)], str] = Field(default_factory=dict)
    """Names and units of the outputs that follow the interface displacements."""

    def check_excitation(self, excitation: ActsAs) -> None:
        """Any excitation may act: the function says how."""

    @property
    def axes(self) -> int:
        """Number of interface axes."""
        return self.interface

    def initial_target(self) -> np.ndarray:
        """Interface displacements at the start: a user's model starts at rest."""
        return np.zeros(self.axes)

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", tried out."""
        block = virtual.virtual_block(
            Method(self.load(), {"dt": dt, **self.parameters}, self.state, self.frozen),
            axes=self.axes,
            excitation=virtual.EXCITATION,
            feedback=feedback,
            responses=self.responses,
        )
        try_out(block)
        return block
