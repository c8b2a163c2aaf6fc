"""Explicit Runge–Kutta tableaus, by name or by the user's own coefficients.

    x_j = x_n + Δt Σ_{i<j} a_ji k_i,    k_j = f(x_j, t_n + c_j Δt),    x_{n+1} = x_n + Δt Σ_j b_j k_j

with c_j = Σ_i a_ji.  A method is consistent if Σ b_j = 1, and explicit if a_ji = 0 for i ≥ j.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from ...settings import Matrix, Settings, Vector, fault

CONSISTENT = 1e-9
"""Largest |Σ b − 1| that passes for rounded digits."""
TABLEAUS: dict[str, tuple[list[list[float]], list[float]]] = {
    "forward euler": ([[0.0]], [1.0]),
    "heun": ([[0.0, 0.0], [1.0, 0.0]], [0.5, 0.5]),
    "midpoint": ([[0.0, 0.0], [0.5, 0.0]], [0.0, 1.0]),
    "rk4": (
        [[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
        [1 / 6, 1 / 3, 1 / 3, 1 / 6],
    ),
}
Name = Literal["forward euler", "heun", "midpoint", "rk4"]


class NamedTableau(Settings):
    """A method that everyone knows."""

    kind: Name

    @property
    def a(self) -> np.ndarray:
        return np.array(TABLEAUS[self.kind][0])

    @property
    def b(self) -> np.ndarray:
        return np.array(TABLEAUS[self.kind][1])


class UserTableau(Settings):
    """Coefficients a and b of an explicit method."""

    kind: Literal["tableau"] = "tableau"
    a: Annotated[np.ndarray, Matrix("1")]
    b: Annotated[np.ndarray, Vector("1")]

    @field_validator("a")
    @classmethod
    def _explicit(cls, a: np.ndarray) -> np.ndarray:
        if a.shape[0] != a.shape[1]:
            raise fault(f"a is {a.shape[0]} × {a.shape[1]}; give one row and one column for each stage")
        late = np.argwhere(np.triu(a) != 0.0)
        if late.size:
            j, i = (int(index) for index in late[0])
            raise fault(
                f"a({j + 1}, {i + 1}) is {a[j, i]:g}: stage {j + 1} would need a slope that is not yet known; give an "
                "explicit method, with zeros on the diagonal and above it"
            )
        return a

    @field_validator("b")
    @classmethod
    def _consistent(cls, b: np.ndarray, info: ValidationInfo) -> np.ndarray:
        a = info.data.get("a")
        if a is not None and len(b) != len(a):
            raise fault(f"{len(b)} weight(s) for {len(a)} stage(s); give one for each")
        if abs(b.sum() - 1.0) > CONSISTENT:
            raise fault(f"the weights b add up to {b.sum():.12g}; a consistent method needs 1; check them")
        return b


def _named(value: Any) -> Any:
    if isinstance(value, str):
        if value not in TABLEAUS:
            raise fault(f"no tableau '{value}'; name one of {', '.join(TABLEAUS)}, or give a table with a and b")
        return {"kind": value}
    return {"kind": "tableau", **value} if isinstance(value, dict) and "kind" not in value else value


_Table = Annotated[NamedTableau | UserTableau, Field(discriminator="kind")]
AnyTableau = Annotated[_Table, BeforeValidator(_named, json_schema_input_type=_Table | Name)]
"""A tableau by its name, ``tableau = "rk4"``, or as a table of coefficients a and b."""
RK4 = NamedTableau(kind="rk4")


def stages(tableau: NamedTableau | UserTableau) -> int:
    return len(tableau.b)


def nodes(tableau: NamedTableau | UserTableau) -> np.ndarray:
    """c, times of the stages in steps."""
    return np.asarray(tableau.a.sum(axis=1))
