"""Substructures over named degrees of freedom, and how they are coupled.

    M u¨ + C u˙ + K u = f

Parts that name a degree of freedom alike share it.  Coupling them is primal assembly: with u_s = L_s q for every part
s, where L_s picks the part's degrees of freedom out of all of them,

    M = Σ_s L_sᵀ M_s L_s,   C = Σ_s L_sᵀ C_s L_s,   K = Σ_s L_sᵀ K_s L_s

(D. de Klerk, D. J. Rixen, S. N. Voormeeren, "General framework for dynamic substructuring: history, review and
classification of techniques", AIAA J. 46 (2008) 1169–1181).  Beams, joints, rigid bodies and reduced models are all
such parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import HalfrealError


class SubstructureError(HalfrealError):
    """Parts that do not fit together."""


@dataclass(frozen=True)
class Substructure:
    """M, C, K over named degrees of freedom."""

    dofs: tuple[str, ...]
    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.dofs)
        if len(set(self.dofs)) < n:
            twice = next(dof for dof in self.dofs if self.dofs.count(dof) > 1)
            raise SubstructureError(f"degree of freedom '{twice}' is named twice; give each a unique name")
        for key in ("mass", "damping", "stiffness"):
            shape = getattr(self, key).shape
            if shape != (n, n):
                raise SubstructureError(f"the {key} matrix has the shape {shape} for {n} degrees of freedom")

    def index(self, dofs: Iterable[str]) -> list[int]:
        """Where these degrees of freedom stand."""
        place = {dof: i for i, dof in enumerate(self.dofs)}
        wanted = list(dofs)
        unknown = [dof for dof in wanted if dof not in place]
        if unknown:
            shown = ", ".join(self.dofs[:4]) + (", …" if len(self.dofs) > 4 else "")
            raise SubstructureError(f"no degree of freedom '{unknown[0]}'; this part has {shown}")
        return [place[dof] for dof in wanted]

    def selection(self, dofs: Sequence[str]) -> np.ndarray:
        """Rows that pick degrees of freedom out of u, (len(dofs), n)."""
        return np.eye(len(self.dofs))[self.index(dofs)]

    def held(self, *dofs: str) -> Substructure:
        """The part with these degrees of freedom fixed to ground."""
        gone = set(self.index(dofs))
        kept = [i for i in range(len(self.dofs)) if i not in gone]
        pick = np.ix_(kept, kept)
        names = tuple(self.dofs[i] for i in kept)
        return Substructure(names, self.mass[pick], self.damping[pick], self.stiffness[pick])

    def renamed(self, names: Mapping[str, str]) -> Substructure:
        """The part with other names for some degrees of freedom: so parts are joined at what they share."""
        self.index(names)
        return Substructure(tuple(names.get(dof, dof) for dof in self.dofs), self.mass, self.damping, self.stiffness)

    def transformed(self, t: np.ndarray, dofs: Sequence[str]) -> Substructure:
        """The part in coordinates q with u = T q."""
        return Substructure(tuple(dofs), t.T @ self.mass @ t, t.T @ self.damping @ t, t.T @ self.stiffness @ t)

    def natural_frequencies_hz(self) -> np.ndarray:
        """Undamped, in rising order, 0 for rigid modes."""
        import scipy.linalg

        squares = scipy.linalg.eigh(self.stiffness, self.mass, eigvals_only=True)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / (2.0 * np.pi))

    def receptance(self, frequency_hz: np.ndarray, outputs: Sequence[str], inputs: Sequence[str]) -> np.ndarray:
        """Displacements for unit forces, (frequencies, outputs, inputs), complex."""
        rows, columns = self.index(outputs), self.index(inputs)
        forces = np.eye(len(self.dofs))[:, columns]
        omega = 2.0 * np.pi * np.atleast_1d(frequency_hz)[:, None, None]
        dynamic = self.stiffness + 1j * omega * self.damping - omega**2 * self.mass
        return np.asarray(np.linalg.solve(dynamic, np.broadcast_to(forces, (len(omega), *forces.shape)))[:, rows])


def couple(*parts: Substructure) -> Substructure:
    """The parts as one: degrees of freedom of the same name are shared."""
    dofs = tuple(dict.fromkeys(dof for part in parts for dof in part.dofs))
    place = {dof: i for i, dof in enumerate(dofs)}
    mass, damping, stiffness = (np.zeros((len(dofs), len(dofs))) for _ in range(3))
    for part in parts:
        at = [place[dof] for dof in part.dofs]
        pick = np.ix_(at, at)
        mass[pick] += part.mass
        damping[pick] += part.damping
        stiffness[pick] += part.stiffness
    return Substructure(dofs, mass, damping, stiffness)
