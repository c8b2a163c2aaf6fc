"""Criteria of a user: a Python function, and the units of what it gives.

    UNITS = {"overshoot": "%", "drift": "mm"}

    def score(run, reference):
        top, due = run.signals["virtual.top"].values, reference.signals["virtual.top"].values
        return {
            "overshoot": 100.0 * (abs(top).max() / abs(due).max() - 1.0),
            "drift": 1e3 * abs(top - run.signals["target"].values).max(),
        }

``function`` names file and function, ``parameters`` are given to it if it has an argument of that name.  The file is
plain Python that is not compiled; ``UNITS`` is a table written out in it, which is read without running it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import ValidationInfo, model_validator

from .. import units as known_units
from ..kernels.user import BY_NAME, UserFunctionError, split
from ..settings import fault, stored
from .criteria import Criteria
from .user_code import UserCode

if TYPE_CHECKING:
    from ..runs.run import Run

TABLE = "UNITS"


class UserCriteria(UserCode, Criteria):
    """Criteria by a function in a file of yours: ``score(run, reference)``."""

    kind: Literal["user"] = "user"
    arguments = ("run", "reference", BY_NAME, "parameters")

    @model_validator(mode="after")
    def _tells_units(self, info: ValidationInfo) -> Self:
        if stored(info):  # out of a run file: the user's file may be gone, or another one
            return self
        try:
            for name, unit in units_in(self.file).items():
                try:
                    known_units.factor(unit, unit)
                except known_units.UnitError as error:
                    told = f"{TABLE} in {self.file.name}: the unit '{unit}' of '{name}' {error}"
                    raise UserFunctionError(told) from error
        except UserFunctionError as error:
            raise fault(str(error), "function") from error
        return self

    @property
    def units(self) -> Mapping[str, str]:
        return units_in(self.file) if self.file.exists() else {}

    def score(self, run: Run, reference: Run | None) -> Mapping[str, float]:
        function = self.load()
        code = getattr(function, "__code__", None)
        takes: tuple[str, ...] = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given: dict[str, Any] = {"parameters": dict(self.parameters)} if "parameters" in takes else {}
        found = function(run, reference, **given)
        if not isinstance(found, Mapping):
            name = split(self.function)[1]
            raise UserFunctionError(f"'{name}' returned {type(found).__name__}; it must return a dict {{name: value}}")
        return found


def units_in(path: Path) -> dict[str, str]:
    """The table of units that a file has written out, without running the file."""
    how = f'write {TABLE} = {{"overshoot": "%"}} in it, a name and a unit per criterion ("1" if dimensionless)'
    for node in ast.parse(path.read_bytes(), filename=str(path)).body:
        if isinstance(node, ast.Assign) and [ast.unparse(one) for one in node.targets] == [TABLE]:
            try:
                found = ast.literal_eval(node.value)
            except ValueError:
                found = None
            if (
                isinstance(found, dict)
                and found
                and all(isinstance(one, str) and one for pair in found.items() for one in pair)
            ):
                return found
            raise UserFunctionError(
                f"{TABLE} in {path.name}, line {node.lineno}, is not a table of names and units; {how}"
            )
    raise UserFunctionError(f"{path.name} does not state the units of its criteria; {how}")
