"""Craig–Bampton reduction: boundary degrees of freedom are kept, the interior follows in a few modes.

R. R. Craig, M. C. C. Bampton, "Coupling of substructures for dynamic analyses", AIAA J. 6 (1968) 1313–1319.  As used in
hybrid testing with adaptive feed-forward filters and harmonic basis functions (Eqs. 28–30 of that paper; see A. Bartl,
J. Mayet, M. K. Mahdiabadi, D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14):

    u = ⎡u_b⎤ = ⎡ Φ_b    0⎤ ⎡q_b⎤ = T q,       Ψ = −K_ii⁻¹ K_ib,     K_ii Φ = M_ii Φ diag(ω²),  Φᵀ M_ii Φ = I
        ⎣u_i⎦   ⎣Ψ Φ_b   Φ⎦ ⎣q_i⎦
    M̄ = Tᵀ M T,   D̄ = Tᵀ D T,   K̄ = Tᵀ K T,   B̄ = Tᵀ B

The print of Eq. 30 has Ψ where Ψ Φ_b must stand: the interior follows the *reduced* boundary.  Statics are exact at the
boundary if Φ_b = I, and natural frequencies come down on the exact ones as modes are added.

======== ==========================================================================================
u_b, u_i boundary and interior degrees of freedom
q_b, q_i their reduced coordinates
Ψ        constraint modes: the interior's static answer to the boundary
Φ        fixed-interface modes, the lowest few
Φ_b      boundary reduction basis; I if left out
======== ==========================================================================================

For Φ_b the shapes of a model of the whole may serve, or the characteristic constraint modes of the part itself
(M. P. Castanier, Y.-C. Tan, C. Pierre, AIAA J. 39 (2001) 1182–1187): modes of the boundary with the interior following
statically, ``boundary_modes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import HalfrealError
from .substructure import Substructure


class ReductionError(HalfrealError):
    """A reduction that cannot be made."""


@dataclass(frozen=True)
class Reduction:
    """T of u = T q, with q = (boundary…, modes…), and the fixed-interface natural frequencies."""

    transformation: np.ndarray
    """T, (n, r)."""
    boundary: int
    """Number of boundary coordinates q_b."""
    fixed_interface_hz: np.ndarray

    def of(self, matrix: np.ndarray) -> np.ndarray:
        """Tᵀ A T of a matrix."""
        return np.asarray(self.transformation.T @ matrix @ self.transformation)


def craig_bampton(
    mass: np.ndarray,
    stiffness: np.ndarray,
    boundary: Sequence[int],
    modes: int,
    basis: np.ndarray | None = None,
) -> Reduction:
    """Keep the boundary (positions in u, in this order) and a number of fixed-interface modes.

    ``basis`` is Φ_b, with a row for each boundary degree of freedom.
    """
    kept, interior = _split(len(mass), boundary)
    if not 0 <= modes <= len(interior):
        raise ReductionError(
            f"{modes} fixed-interface modes requested of {len(interior)} interior degrees of freedom; request at most "
            f"{len(interior)}"
        )
    basis = _checked_basis(basis, len(kept))
    t = np.zeros((len(mass), basis.shape[1] + modes))
    t[kept, : basis.shape[1]] = basis
    frequencies = np.zeros(0)
    if len(interior):
        import scipy.linalg

        squares, shapes = scipy.linalg.eigh(stiffness[np.ix_(interior, interior)], mass[np.ix_(interior, interior)])
        if squares[0] <= 10 * np.finfo(float).eps * squares[-1]:
            raise ReductionError(
                "the interior can move freely while the boundary is held (its lowest natural frequency is zero); hold "
                "it by supports or joints, or add degrees of freedom to the boundary"
            )
        t[interior, : basis.shape[1]] = _constraint_modes(stiffness, kept, interior) @ basis
        t[interior, basis.shape[1] :] = shapes[:, :modes]
        frequencies = np.sqrt(squares[:modes]) / (2.0 * np.pi)
    return Reduction(t, basis.shape[1], frequencies)


def boundary_modes(mass: np.ndarray, stiffness: np.ndarray, boundary: Sequence[int], count: int) -> np.ndarray:
    """Φ_b, (boundary, count): the lowest modes of the boundary, the interior following statically."""
    kept, _ = _split(len(mass), boundary)
    if not 1 <= count <= len(kept):
        raise ReductionError(
            f"{count} modes requested of {len(kept)} boundary degrees of freedom; request 1 to {len(kept)}"
        )
    import scipy.linalg

    static = craig_bampton(mass, stiffness, boundary, 0)
    return np.asarray(scipy.linalg.eigh(static.of(stiffness), static.of(mass))[1][:, :count])


def reduced(
    part: Substructure, name: str, boundary: Sequence[str], modes: int, basis: np.ndarray | None = None
) -> tuple[Substructure, Reduction]:
    """A substructure reduced to named boundary degrees of freedom, ready to be coupled.

    They keep their names, or become ``name.boundary.1`` … with a basis; modes are ``name.mode.1`` ….
    """
    reduction = craig_bampton(part.mass, part.stiffness, part.index(boundary), modes, basis)
    ends = list(boundary) if basis is None else [f"{name}.boundary.{i + 1}" for i in range(reduction.boundary)]
    dofs = (*ends, *(f"{name}.mode.{i + 1}" for i in range(modes)))
    return part.transformed(reduction.transformation, dofs), reduction


def _split(n: int, boundary: Sequence[int]) -> tuple[list[int], list[int]]:
    kept, named = list(boundary), set(boundary)
    if len(named) < len(kept) or not all(0 <= i < n for i in kept):
        raise ReductionError(f"the boundary {kept} must name positions from 0 to {n - 1}, each once")
    return kept, [i for i in range(n) if i not in named]


def _checked_basis(basis: np.ndarray | None, count: int) -> np.ndarray:
    if basis is None:
        return np.eye(count)
    if basis.ndim != 2 or len(basis) != count:
        raise ReductionError(
            f"a boundary basis of shape {basis.shape} for {count} boundary degrees of freedom; give a row for each"
        )
    if np.linalg.matrix_rank(basis) < basis.shape[1]:
        raise ReductionError(
            f"the {basis.shape[1]} columns of the boundary basis are not independent (rank "
            f"{np.linalg.matrix_rank(basis)}); remove those that the others contain"
        )
    return basis


def _constraint_modes(stiffness: np.ndarray, kept: list[int], interior: list[int]) -> np.ndarray:
    import scipy.linalg

    held = scipy.linalg.cho_factor(stiffness[np.ix_(interior, interior)])
    return np.asarray(-scipy.linalg.cho_solve(held, stiffness[np.ix_(interior, kept)]))
