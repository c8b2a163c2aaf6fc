"""A structure whose interface is moved: its relative motion, the constraint force, and its dynamic stiffness.

The physical substructure of hardware-in-the-loop tests on the six-axis shaking table MAVIS, as the DLR Institute of
Aeroelasticity describes it (section 2.2 of that paper).  With a = free and b = interface degrees of freedom:

    u_a = T_G u_b + q,    T_G = −K_aa⁻¹ K_ab                                                    (16, 17)
    M_aa q¨ + D_aa q˙ + K_aa q = f_a − (M_ab + M_aa T_G) u¨_b − (D_ab + D_aa T_G) u˙_b          (20)
    f_b = M_ba q¨ + D_ba q˙ + K_ba q + (M_ba T_G + M_bb) u¨_b + (D_ba T_G + D_bb) u˙_b          (26)

An interface is *statically determined* if moving it moves the structure as a rigid body, K_ba T_G + K_bb = 0 (25):
then f_b does not depend on u_b itself.  A rigid body moved by a table has at most six such degrees of freedom.

The paper's simplifications, to choose and to compare:

"none"           Eqs. 20 and 26; the dynamic stiffness is then that of Eq. 37
"uncoupled"      M_ab and D_ab left out of the effective force: Eqs. 21 and 26
"inertia only"   all damping of the base motion left out too: Eqs. 22, 23, 27, 28, the state space of Eqs. 29–33

What they cost: without M_ab the effective mass at the base in slow motion, T_GᵀM_aaT_G + T_GᵀM_ab + M_baT_G + M_bb,
lacks T_GᵀM_ab, so that they want lumped masses.  D_ab + D_aa T_G is zero where damping resists deformation only:
leaving out both ("inertia only") is then exact, and leaving out one of them ("uncoupled") damps the motion against the
ground.

======== ====================================================================================
u, q     displacements; of the free degrees of freedom relative to the quasi-static ones
T_G      what the free degrees of freedom do when the interface is moved slowly
f_a      forces on free degrees of freedom
f_b      constraint force: what the interface needs to be moved so (the resisting force)
======== ====================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ...errors import HalfrealError
from .substructure import Substructure

Simplification = Literal["none", "uncoupled", "inertia only"]
MOST_AXES = 6
INDETERMINATE = 1e-8
"""Force on the interface that moves a structure slowly, as a part of the forces that cancel in it: beyond, it is held
elsewhere.  Matrices written with ten digits pass."""


class InterfaceError(HalfrealError):
    """An interface that does not move its structure as a rigid body."""


@dataclass(frozen=True)
class BaseExcited:
    """M, D, K (n, n) and the positions (from 0) of the interface degrees of freedom, in the interface's order."""

    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    interface: tuple[int, ...]

    def __post_init__(self) -> None:
        n = len(self.mass)
        for key in ("mass", "damping", "stiffness"):
            matrix = np.asarray(getattr(self, key), dtype=float)
            if matrix.shape != (n, n):
                raise InterfaceError(f"the {key} matrix has the shape {matrix.shape}, but the mass matrix is {n} × {n}")
            object.__setattr__(self, key, matrix)
        object.__setattr__(self, "interface", tuple(int(i) for i in self.interface))
        b = self.interface
        if not b or len(set(b)) < len(b) or not all(0 <= i < n for i in b):
            raise InterfaceError(f"the interface {list(b)} must name positions from 0 to {n - 1}, each once")
        if len(b) > MOST_AXES:
            raise InterfaceError(
                f"an interface of {len(b)} degrees of freedom where a rigid base has {MOST_AXES}; a statically "
                "determined interface has at most six: three displacements and three rotations of one point"
            )
        self._check_free()
        self._check_determined()

    def _check_free(self) -> None:
        """The structure is at rest while its interface is held, and every free motion of it has mass."""
        if not self.free:
            return
        squares = np.linalg.eigvalsh(self._aa(self.stiffness))
        if squares[0] <= 10 * len(squares) * np.finfo(float).eps * squares[-1]:
            raise InterfaceError(
                "the structure can move while its interface is held (K_aa is singular); it has more rigid degrees of "
                f"freedom than the {len(self.interface)} of its interface: add them to the interface, or hold them"
            )
        masses = np.linalg.eigvalsh(self._aa(self.mass))
        if masses[0] <= 10 * len(masses) * np.finfo(float).eps * masses[-1]:
            raise InterfaceError(
                "some free motion of the structure has no mass (M_aa is singular); give every free degree of freedom "
                "one, or condense those without"
            )

    def _check_determined(self) -> None:
        held = self._bb(self.stiffness) + self._ba(self.stiffness) @ self.transmission
        size = np.abs(self._bb(self.stiffness)) + np.abs(self._ba(self.stiffness)) @ np.abs(self.transmission)
        scale = np.sqrt(np.maximum(np.diag(size), np.finfo(float).tiny))
        share = np.abs(held) / np.outer(scale, scale)
        if share.max() > INDETERMINATE:
            row, column = np.unravel_index(int(np.argmax(share)), share.shape)
            raise InterfaceError(
                f"the interface is statically indeterminate: moving its degree of freedom {column + 1} slowly by one "
                f"unit takes {held[row, column]:.4g} (SI units) at its degree of freedom {row + 1}, where a structure "
                "that follows as a rigid body takes nothing; free it from ground, or choose the interface as the "
                "motion of one point"
            )

    @classmethod
    def of(cls, part: Substructure, interface: Sequence[str]) -> BaseExcited:
        """A substructure moved at named degrees of freedom."""
        return cls(part.mass, part.damping, part.stiffness, tuple(part.index(interface)))

    # --- partitions -------------------------------------------------------------------------------------------------

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Positions of the free degrees of freedom; none if the structure is a rigid body."""
        return tuple(i for i in range(len(self.mass)) if i not in self.interface)

    def _aa(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[np.ix_(self.free, self.free)]

    def _ab(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[np.ix_(self.free, self.interface)]

    def _ba(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[np.ix_(self.interface, self.free)]

    def _bb(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[np.ix_(self.interface, self.interface)]

    @cached_property
    def transmission(self) -> np.ndarray:
        """T_G, (free, interface)."""
        return -np.linalg.solve(self._aa(self.stiffness), self._ab(self.stiffness))

    @property
    def rigid_mass(self) -> np.ndarray:
        """Effective mass at the base in slow motion, (interface, interface)."""
        follow = np.eye(len(self.mass))[:, list(self.interface)]
        follow[list(self.free)] = self.transmission
        return np.asarray(follow.T @ self.mass @ follow)

    @property
    def fast_mass(self) -> np.ndarray:
        """Effective mass at the base at high frequency, M_bb − M_ba M_aa⁻¹ M_ab."""
        return np.asarray(
            self._bb(self.mass) - self._ba(self.mass) @ np.linalg.solve(self._aa(self.mass), self._ab(self.mass))
        )

    @property
    def fixed_base_hz(self) -> np.ndarray:
        """Undamped natural frequencies with the interface held, in rising order."""
        import scipy.linalg

        if not self.free:
            return np.zeros(0)
        squares = scipy.linalg.eigh(self._aa(self.stiffness), self._aa(self.mass), eigvals_only=True)
        return np.asarray(np.sqrt(squares) / (2.0 * np.pi))

    def _effective(self, simplification: Simplification) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass and damping of the base motion in the effective force, and its damping in the constraint force."""
        t = self.transmission
        mass, damping = self._aa(self.mass) @ t, self._aa(self.damping) @ t
        felt = self._ba(self.damping) @ t + self._bb(self.damping)
        if simplification == "none":
            return mass + self._ab(self.mass), damping + self._ab(self.damping), felt
        if simplification == "uncoupled":
            return mass, damping, felt
        return mass, np.zeros_like(damping), np.zeros_like(felt)

    # --- what it answers --------------------------------------------------------------------------------------------

    def dynamic_stiffness(self, frequency_hz: np.ndarray, simplification: Simplification = "none") -> np.ndarray:
        """G_p: constraint forces for unit interface displacements, (frequencies, interface, interface), complex."""
        s = 2j * np.pi * np.atleast_1d(np.asarray(frequency_hz, dtype=float))[:, None, None]
        mass, damping, felt = self._effective(simplification)
        own = s**2 * self._aa(self.mass) + s * self._aa(self.damping) + self._aa(self.stiffness)
        q = -np.linalg.solve(own, s**2 * mass + s * damping)
        coupled = s**2 * self._ba(self.mass) + s * self._ba(self.damping) + self._ba(self.stiffness)
        base = self._ba(self.mass) @ self.transmission + self._bb(self.mass)
        return np.asarray(coupled @ q + s**2 * base + s * felt)

    def first_order(
        self, simplification: Simplification = "none", forces: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C, D with x = (q, q˙), u = (u˙_b…, u¨_b…, forces…) and y = f_b….

        ``forces``, (n, k), is how k further inputs push the degrees of freedom.
        """
        mass, damping, felt = self._effective(simplification)
        m, pushed = self._aa(self.mass), np.zeros((len(self.mass), 0)) if forces is None else np.asarray(forces)
        na, nb = len(self.free), len(self.interface)
        free = -np.linalg.solve(m, np.hstack([self._aa(self.stiffness), self._aa(self.damping)]))
        driven = np.linalg.solve(m, np.hstack([-damping, -mass, pushed[list(self.free)]]))
        a = np.vstack([np.hstack([np.zeros((na, na)), np.eye(na)]), free])
        b = np.vstack([np.zeros((na, driven.shape[1])), driven])
        coupling = self._ba(self.mass)
        c = np.hstack([self._ba(self.stiffness), self._ba(self.damping)]) + coupling @ free
        base = coupling @ self.transmission + self._bb(self.mass)
        d = coupling @ driven + np.hstack([felt, base, -pushed[list(self.interface)]])
        assert d.shape == (nb, 2 * nb + pushed.shape[1])
        return a, b, c, d
