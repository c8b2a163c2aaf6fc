"""What all uniaxial laws have in common: a stress over a strain, or a force over a displacement, or a moment over a
rotation.

A law is a compiled function and its settings, in one file.  As settings it gives a code, a row of parameters and the
row of states from which it starts; as code (``uniaxial.py``) it is

    stress, tangent, damping = uniaxial(code, p, s, strain, rate, elapsed, trial)

which reads the committed state s, writes the state after ``strain`` into ``trial``, and changes nothing else: a scheme
may try any number of strains, and commits one by copying ``trial`` to s.  ``tangent`` is ∂stress/∂strain, ``damping``
∂stress/∂rate; ``elapsed`` is the time since the committed state, which only laws that flow in time ask for.

A law keeps no states that it does not need.  They are hysteretic memory: held where a loop is linearised at rest, so
that the law is there what it is at first.  States that are ``flowing`` move in time by themselves, such as the force of
a Maxwell element: they are part of the linearised loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ... import units
from ...settings import Number, Settings, fault

Of = Literal["displacement", "rotation", "strain"]

OF_ROTATIONS = {
    "N/m": "N m/rad",
    "N/m^3": "N m/rad^3",
    "N": "N m",
    "m": "rad",
    "N s/m": "N m s/rad",
    "m/s": "rad/s",
}
"""Units of a law's numbers over a rotation, in place of those over a displacement."""

QUANTITIES = (
    *("stiffness", "cubic", "limit", "outer_stiffness", "yield_force", "yield_moment"),
    *("yield_displacement", "yield_rotation", "strength_capacity", "capping_capacity", "unloading_capacity"),
    *("plastic_displacement", "post_capping_displacement", "ultimate_displacement"),
    *("plastic_rotation", "post_capping_rotation", "ultimate_rotation"),
)
"""Settings in such units, of all laws."""

WIDTHS = (2, 4, 8, 16, 32)
"""Of rows: few, so that blocks with other laws need not be compiled again."""
FEWEST = 8
"""Parameters in a row."""


class Law(Settings):
    """What resists a deformation."""

    kind: str
    code: ClassVar[float]
    of: ClassVar[Of] = "displacement"
    other: ClassVar[str] = ""
    """The kind of the same law over a rotation, or of a law over a rotation that over a displacement."""
    states: ClassVar[int] = 0
    linear: ClassVar[bool] = False
    """Whether its force is in proportion to the deformation."""
    curved: ClassVar[bool] = False
    """Whether it leaves this proportion from the outset, as concrete does, long before it is damaged."""
    references: ClassVar[tuple[str, ...]] = ()

    @field_validator(*QUANTITIES, mode="before", check_fields=False)
    @classmethod
    def _in_its_units(cls, value: Any, info: ValidationInfo) -> Any:
        """Distinguish a rotation's units in a law of displacements, and the other way round, from other mistakes."""
        found = [one for one in cls.model_fields[str(info.field_name)].metadata if isinstance(one, Number)]
        turns = cls.of == "rotation"
        pairs = {turned: unit for unit, turned in OF_ROTATIONS.items()} if turns else OF_ROTATIONS
        if not cls.other or not isinstance(value, str) or not found or found[0].unit not in pairs:
            return value
        wanted, given = found[0].unit, pairs[found[0].unit]
        if not _reads(value, wanted) and _reads(value, given):
            of = ("a displacement", "a rotation")
            raise fault(
                f"'{value}' is in {given}, a unit of {of[not turns]}, but this law is one of {of[turns]}, "
                f"in {wanted}; give it in {wanted}, or the law kind = '{cls.other}'"
            )
        return value

    @property
    def rotational(self) -> bool:
        """Whether it is a moment over a rotation."""
        return self.of == "rotation"

    def values(self) -> tuple[float, ...]:
        """Parameters in the order of its compiled function."""
        raise NotImplementedError

    @property
    def row(self) -> np.ndarray:
        """Parameters, as an array."""
        return np.array(self.values(), dtype=float)

    @property
    def start(self) -> np.ndarray:
        """States of the law as it has not been loaded yet."""
        return np.zeros(self.states)

    @property
    def flowing(self) -> tuple[int, ...]:
        """States that move in time by themselves; the others are hysteretic memory."""
        return ()

    @property
    def initial_stiffness(self) -> float:
        """∂stress/∂strain at rest, before any load."""
        raise NotImplementedError

    @property
    def steepest_fall(self) -> float:
        """How fast the stress may fall with a growing strain, as a stiffness; 0 if the law does not soften."""
        return 0.0

    @property
    def initial_damping(self) -> float:
        """∂stress/∂rate at rest."""
        return 0.0


def widths(laws: Sequence[Law]) -> tuple[int, int]:
    """Widths of rows that hold parameters and states of all these laws."""
    parameters = max([FEWEST, *(len(law.values()) for law in laws)])
    states = max([0, *(law.states for law in laws)])
    return next(w for w in WIDTHS if w >= parameters), next(w for w in WIDTHS if w >= states)


def rows(laws: Sequence[Law]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes (e,), parameters (e, ·) and initial states (e, ·) of laws, with zeros beyond what each needs."""
    wide, deep = widths(laws)
    parameters, states = np.zeros((len(laws), wide)), np.zeros((len(laws), deep))
    for e, law in enumerate(laws):
        parameters[e, : len(law.row)] = law.row
        states[e, : law.states] = law.start
    return np.array([law.code for law in laws]), parameters, states


def _reads(text: str, unit: str) -> bool:
    try:
        units.parse(text, unit)
    except units.UnitError:
        return False
    return True
