"""Fewer degrees of freedom for the linear parts of a frame: what yields, is measured or is driven stays.

    q = R r = ⎡ I   0⎤ ⎡q_b⎤        Ψ = −K_ii⁻¹ K_ib,      K_ii Φ = M_ii Φ diag(ω²)
              ⎣ Ψ   Φ⎦ ⎣ η ⎦

q_b are kept: degrees of freedom on which elements act that are not linear, dashpots, the interface, the excitation
force and responses; the interior i follows.

- *static* (R. J. Guyan, AIAA J. 3 (1965) 380): without Φ; all degrees of freedom with mass are kept, too, so that what
  goes has no inertia, and nothing is lost but its damping.
- *Craig–Bampton* (R. R. Craig, M. C. C. Bampton, AIAA J. 6 (1968) 1313–1319): with the lowest modes Φ of the interior
  while what is kept is at rest.

Both are exact in statics at what is kept.  How far dynamics are right is computed from both models (``quality``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg
from pydantic import Field, ValidationInfo, field_validator

from ...errors import HalfrealError
from ...settings import Number, Settings, fault
from .model import Model
from .modes import lowest_modes
from .numbering import Numbering

AGREED = 0.01
"""Deviation of the interface's dynamic flexibility up to which it counts as right."""
LOSS = 0.04
"""Loss factor of the stiffness with which these are compared: 2 % of damping, which keeps resonances finite."""
KEPT = 1e-9
"""Error of the static flexibility that is rounding."""
COMPARED = 20
POINTS = 80


class ReductionError(HalfrealError):
    """A reduction that cannot be made."""


class FrameReduction(Settings):
    """Which degrees of freedom of the linear parts are left out."""

    kind: Literal["static", "craig-bampton"]
    """"static" condenses degrees of freedom without mass; "craig-bampton" also the linear interior, except for some
    modes.
    """
    modes: Annotated[int, Field(ge=0)] | None = None
    """Craig–Bampton: number of interior modes that are kept,"""
    up_to: Annotated[Annotated[float, Number("Hz", above=0)] | None, Field(validate_default=True)] = None
    """Upper frequency limit of the kept modes, instead of their number."""

    @field_validator("up_to")
    @classmethod
    def _one_of_both(cls, up_to: float | None, info: ValidationInfo) -> float | None:
        reduced = info.data.get("kind") == "craig-bampton"
        given = [key for key in (info.data.get("modes"), up_to) if key is not None]
        if reduced and len(given) != 1:
            raise fault("a Craig–Bampton reduction needs either modes or up_to; give one of them")
        if not reduced and given:
            raise fault("a static reduction has no modes; omit modes and up_to, or use kind = 'craig-bampton'")
        return up_to


@dataclass(frozen=True)
class Quality:
    """How a reduced frame differs from the whole one, at rest without loads."""

    before: int
    after: int
    frequencies: np.ndarray
    """Lowest natural frequencies of the whole one [Hz]."""
    errors: np.ndarray
    """Of the reduced one, as parts."""
    static_error: float
    """Of the interface's static flexibility."""
    band: float
    """Frequency [Hz] up to which the interface's dynamic flexibility is right."""
    searched: float
    """Up to which it was compared [Hz]."""

    def summary(self) -> str:
        right = np.abs(self.errors) <= AGREED
        kept = len(right) if right.all() else int(np.argmin(right))
        to = f", up to {self.frequencies[kept - 1]:.3g} Hz," if kept else ""
        static = "kept" if self.static_error < KEPT else f"{100.0 * self.static_error:.1g} % wrong"
        beyond = "" if self.band < self.searched else " and beyond"
        return (
            f"virtual: reduced from {self.before} to {self.after} degrees of freedom. Of the {len(right)} lowest "
            f"natural frequencies compared the first {kept}{to} are kept to {100.0 * AGREED:g} %; at the interface the "
            f"static stiffness is {static}, and the dynamic stiffness within "
            f"{100.0 * AGREED:g} % up to {self.band:.3g} Hz{beyond}"
        )


def kept_of(model: Model, settings: FrameReduction, rows: Iterable[np.ndarray]) -> np.ndarray:
    """Places of the degrees of freedom that stay; ``rows`` are what is driven or read, each (n,)."""
    stays = np.zeros(model.dofs, dtype=bool)
    stays[model.arrays["dofs"].astype(int)] = True
    stays |= np.asarray(abs(model.damping).sum(axis=1)).ravel() > 0.0
    for row in rows:
        stays |= row != 0.0
    if settings.kind == "static":
        stays |= model.mass.diagonal() > 0.0
    return np.flatnonzero(stays)


def reduced_numbering(model: Model, settings: FrameReduction, kept: np.ndarray) -> Numbering:
    """Degrees of freedom of the reduced frame: those that are kept, then modes of the interior."""
    inner = np.setdiff1d(np.arange(model.dofs), kept)
    if not len(inner):
        mass = "mass, or " if settings.kind == "static" else ""
        raise ReductionError(
            f"reduction: each of the {model.dofs} degrees of freedom has {mass}an element that is not linear, or is "
            "driven or read; omit the reduction"
        )
    k, m = model.initial.tocsc(), model.mass.tocsc()
    stiff = k[inner][:, inner]
    follows = -scipy.sparse.linalg.splu(stiff.tocsc()).solve(k[inner][:, kept].toarray())
    shapes = _modes(m[inner][:, inner].tocsr(), stiff.tocsr(), settings)
    whole = sparse.lil_matrix((model.dofs, len(kept) + shapes.shape[1]))
    whole[kept, np.arange(len(kept))] = 1.0
    whole[inner, : len(kept)] = np.where(np.abs(follows) > 1e-15 * np.abs(follows).max(initial=0.0), follows, 0.0)
    whole[inner, len(kept) :] = shapes
    numbers = model.numbering
    free = (*(numbers.free[i] for i in kept), *(-1 - i for i in range(shapes.shape[1])))
    return replace(numbers, transformation=(numbers.transformation @ whole.tocsr()).tocsr(), free=free)


def _modes(mass: sparse.csr_matrix, stiffness: sparse.csr_matrix, settings: FrameReduction) -> np.ndarray:
    """Modes of the interior, (inner, count)."""
    heavy = int(np.sum(mass.diagonal() > 0.0))
    if settings.kind == "static" or heavy == 0:
        return np.zeros((mass.shape[0], 0))
    if settings.modes is not None:
        if settings.modes > heavy:
            raise ReductionError(
                f"reduction: modes = {settings.modes}, but the interior has {heavy} degrees of freedom with mass; give "
                "fewer"
            )
        return lowest_modes(mass, stiffness, settings.modes)[1] if settings.modes else np.zeros((mass.shape[0], 0))
    assert settings.up_to is not None
    squares, shapes = lowest_modes(mass, stiffness, heavy)
    return shapes[:, squares < (2.0 * np.pi * settings.up_to) ** 2]


def quality(whole: Model, interface: np.ndarray, reduced: Model, seen: np.ndarray) -> Quality:
    """Both models compared, with the rows of their interfaces (axes, n)."""
    masses = min(int(np.sum(one.mass.diagonal() > 0.0)) for one in (whole, reduced))
    count = min(COMPARED, masses)
    exact, near = (np.sqrt(np.maximum(lowest_modes(one.mass, one.initial, count)[0], 0.0)) for one in (whole, reduced))
    top = float(exact[-1])

    def flexibility(model: Model, rows: np.ndarray, omega: float, loss: complex) -> np.ndarray:
        dynamic = (model.initial * (1.0 + loss) - omega**2 * model.mass).tocsc()
        return np.asarray(rows @ scipy.sparse.linalg.splu(dynamic.astype(complex)).solve(rows.T.astype(complex)))

    def apart(omega: float, loss: complex) -> float:
        right = flexibility(whole, interface, omega, loss)
        return float(np.linalg.norm(flexibility(reduced, seen, omega, loss) - right) / np.linalg.norm(right))

    # a frame that only the specimen holds has no static flexibility
    static = apart(0.0, 0.0) if exact[0] > 1e-6 * top else apart(1e-3 * top, LOSS * 1j)
    grid = np.linspace(top / POINTS, top, POINTS)
    band = top
    for omega in grid:
        if apart(float(omega), LOSS * 1j) > AGREED:
            band = float(omega) - top / POINTS
            break
    hertz = 2.0 * np.pi
    errors = (near - exact) / np.where(exact > 0.0, exact, 1.0)
    return Quality(whole.dofs, reduced.dofs, exact / hertz, errors, static, band / hertz, top / hertz)
