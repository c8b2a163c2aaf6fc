"""Elements: a law, and the deformation δ = bᵀq that it resists.

``between`` names one degree of freedom, δ = q_a against the ground, or two, δ = q_b − q_a.  ``along`` gives any b, a
term for each degree of freedom, so that a hinge may turn with the drift of its storey: a column of the height h in
double curvature, whose foot turns by φ and whose head drifts by u, has a hinge of the rotation θ = φ − u/h,

    along = [{ dof = 2 }, { dof = 1, per_length = "-0.25 1/m" }]         # h = 4 m

and, where the foot cannot turn, the second term alone.  The element then acts with bM on the degrees of freedom.

A law says whether δ is a displacement (N, m) or a rotation (N m, rad: a hinge), a term what its degree of freedom
is: of the same sort (``factor``), a displacement that turns a hinge (``per_length``), or a rotation with a ``lever``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.system import Elements
from ...settings import Number, Settings, fault
from ..materials.kinds import AnyElementLaw
from ..materials.law import rows

SORT = ("displacement", "rotation")


class Term(Settings):
    """What one degree of freedom adds to the deformation of an element; as it is, if only ``dof`` is given."""

    dof: Annotated[int, Field(ge=1)]
    factor: Annotated[float, Number("1")] | None = None
    """Factor on a degree of freedom of the element's type: a displacement, or a rotation for a hinge."""
    per_length: Annotated[float, Number("1/m")] | None = None
    """For a displacement that rotates a hinge: the reciprocal of the storey height, with sign."""
    lever: Annotated[float, Number("m")] | None = Field(default=None, validate_default=True)
    """For a rotation that deforms a displacement element: its lever arm."""

    @field_validator("lever")
    @classmethod
    def _one_of_them(cls, lever: float | None, info: ValidationInfo) -> float | None:
        given = {**{key: info.data.get(key) for key in ("factor", "per_length")}, "lever": lever}
        named = [key for key, value in given.items() if value is not None]
        if len(named) > 1:
            raise fault(f"both {named[0]} and {named[1]} are given; keep one of them", named[1])
        if named and given[named[0]] == 0.0:
            raise fault(f"{named[0]} is 0, so the term has no effect; omit it", named[0])
        return lever

    @property
    def weight(self) -> float:
        """Its entry of b, in SI units."""
        given = [value for value in (self.factor, self.per_length, self.lever) if value is not None]
        return given[0] if given else 1.0

    def turns(self, rotational: bool) -> bool:
        """Whether the degree of freedom is a rotation, in an element whose law is or is not that of a rotation."""
        return self.lever is not None or (rotational and self.per_length is None)


class Element(Settings):
    """An element with a law, between two degrees of freedom, from one to ground, or along several."""

    law: AnyElementLaw
    between: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, max_length=2)] | None = None
    along: Annotated[tuple[Term, ...], Field(min_length=1)] | None = Field(default=None, validate_default=True)
    """General deformation instead of ``between``: one term per degree of freedom; the terms are added."""

    @field_validator("between")
    @classmethod
    def _different(cls, between: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if between is not None and len(set(between)) < len(between):
            raise fault(
                f"{list(between)} joins a degree of freedom to itself; name two, or one for an element to ground"
            )
        return between

    @field_validator("along")
    @classmethod
    def _one_place(cls, along: tuple[Term, ...] | None, info: ValidationInfo) -> tuple[Term, ...] | None:
        if "between" in info.data and (along is None) == (info.data["between"] is None):
            told = "the element has no location" if along is None else "both along and between are given"
            raise fault(f"{told}; give either between = [1, 2] or along = [{{ dof = 1 }}, …]")
        if along is None:
            return None
        named = [term.dof for term in along]
        if len(set(named)) < len(named):
            raise fault(f"{named} names a degree of freedom twice; give each one term")
        law = info.data.get("law")
        wrong, sort = ("lever", "displacements") if law is not None and law.rotational else ("per_length", "rotations")
        for i, term in enumerate(along):
            if law is not None and (term.lever if law.rotational else term.per_length) is not None:
                raise fault(
                    f"{wrong} belongs to elements of {sort}, but '{law.kind}' is one of {SORT[law.rotational]}s; "
                    f"use the law '{law.other}', or give factor or {'per_length' if law.rotational else 'lever'}",
                    i,
                    wrong,
                )
        return along

    @property
    def terms(self) -> tuple[Term, ...]:
        """The deformation, term by term."""
        if self.along is not None:
            return self.along
        *first, last = self.between or ()
        return (*(Term(dof=dof, factor=-1.0) for dof in first), Term(dof=last))

    @property
    def dofs(self) -> tuple[int, ...]:
        """The degrees of freedom that it joins, counted from 1."""
        return tuple(term.dof for term in self.terms)

    @property
    def sorts(self) -> dict[int, bool]:
        """Whether each of these is a rotation."""
        return {term.dof: term.turns(self.law.rotational) for term in self.terms}

    def direction(self, dofs: int) -> np.ndarray:
        """b of the deformation bᵀq, (n,)."""
        b = np.zeros(dofs)
        for term in self.terms:
            b[term.dof - 1] = term.weight
        return b


def assemble(elements: Sequence[Element], dofs: int) -> Elements:
    """Elements as the arrays that schemes and specimens compute with."""
    if not elements:
        return Elements.none(dofs)
    laws = [element.law for element in elements]
    codes, parameters, start = rows(laws)
    return Elements(
        codes,
        np.array([element.direction(dofs) for element in elements]),
        parameters,
        start,
        np.array([law.initial_stiffness for law in laws]),
        np.array([law.initial_damping for law in laws]),
        np.array([[i in law.flowing for i in range(start.shape[1])] for law in laws]),
    )


def contradiction(elements: Iterable[Element], known: dict[int, tuple[bool, str]]) -> str | None:
    """What is wrong if an element takes a degree of freedom for a rotation and another word says it is none.

    ``known``: whether degrees of freedom are rotations, and who says so.
    """
    known = dict(known)
    for number, element in enumerate(elements, start=1):
        for dof, turns in element.sorts.items():
            said, by = known.setdefault(dof, (turns, f"element {number} ('{element.law.kind}')"))
            if said != turns:
                return (
                    f"degree of freedom {dof} is a {SORT[said]} by {by} and a {SORT[turns]} by element {number} "
                    f"('{element.law.kind}'); make both the same: in along, per_length says that a hinge is turned by "
                    "a displacement, lever that a rotation deforms an element of displacements"
                )
    return None
