"""A specimen with nonlinear elements, as a block: apart, as it needs every law."""

from __future__ import annotations

from ..models.materials.element_fields import keep
from ..models.materials.resisting import add_forces_along
from .specimen import linear_forces


def specimen_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    linear_forces(p.stiffness, p.damping, p.mass, p.excited, s.x, s.v, u, y)
    add_forces_along(p.law, p.terms, p.elements, s.memory, s.tried, s.x, s.v, p.dt, 1.0, y)
    keep(s.memory, s.tried)
    return 0
