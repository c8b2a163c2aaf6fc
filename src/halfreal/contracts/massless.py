"""Degrees of freedom without mass, as finite-element programs export them: rotations without inertia, bare nodes.

The null space N of the mass matrix, with R for the rest, q = R r + N s, has no inertia:

    Nᵀ (C q˙ + K q + Σ b_e r_e) = Nᵀ U u                                                    (1)

*Without damping* s follows r and the loads at once,  q = T r + H u,

    T = R − N K_ss⁻¹ K_sr,    H = N K_ss⁻¹ Nᵀ U,    K_ss = Nᵀ K N,  K_sr = Nᵀ K R

which is exact (R. J. Guyan, "Reduction of stiffness and mass matrices", AIAA J. 3 (1965) 380), leaves a system in r
with TᵀKT, TᵀU and a regular mass, and lets a load on s be felt in the displacements of the same instant: H u.
Velocities there need the rate of a load, which is known of an excitation and not of a measured force.

*Damping that follows the stiffness* there (NᵀC T = 0, such as Rayleigh's) changes nothing as long as no load acts on s:
what s is off its static place obeys C_ss z˙ + K_ss z = 0, and is nothing.

*Other damping*, as of a damper in series with a spring, makes (1) an equation of first order in s, with a state of its
own.  *Nonlinear elements* on s make it an equation that has to be solved in every step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import HalfrealError
from .by_content import by_content

if TYPE_CHECKING:
    from .system import System

RANK = 1e-10
"""Eigenvalue of a mass matrix scaled to a diagonal of ones, as a part of the largest, up to which it counts as zero."""
ZERO = 1e-10
"""Part of what cancels in a product up to which the product counts as zero."""


class MasslessError(HalfrealError):
    """Degrees of freedom without mass that cannot be integrated so."""


@dataclass(frozen=True)
class Staged:
    """A system with as few massless coordinates as can be: q = T z + H u."""

    system: System
    """In coordinates z: those with mass, then ``damped`` ones, then ``algebraic`` ones."""
    transformation: np.ndarray
    """T, (n, len(z))."""
    damped: int = 0
    """Coordinates without mass that have damping: each an equation of first order."""
    algebraic: int = 0
    """Coordinates without mass and damping on which nonlinear elements act."""

    @property
    def heavy(self) -> int:
        """Coordinates with mass."""
        return self.system.dofs - self.bare

    @property
    def bare(self) -> int:
        """Coordinates without."""
        return self.damped + self.algebraic


@by_content(kept=4)
def split(mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R and N: bases of what has mass and of what has none; unit vectors where single degrees of freedom have none."""
    unit, diagonal = np.eye(len(mass)), np.diag(mass)
    heavy = np.flatnonzero(diagonal > 0.0)
    bare = unit[:, diagonal <= 0.0]
    scaled = unit[:, heavy] / np.sqrt(diagonal[heavy])
    values, shapes = np.linalg.eigh(scaled.T @ mass @ scaled)
    light = values <= RANK * np.max(values, initial=0.0)
    if not light.any():
        return unit[:, heavy], bare
    return scaled @ shapes[:, ~light], np.hstack([bare, scaled @ shapes[:, light]])


def is_regular(mass: np.ndarray) -> bool:
    """Whether every degree of freedom has mass."""
    return not split(mass)[1].size


def condensed(system: System, scheme: str) -> System:
    """The system without its massless degrees of freedom, for a scheme that cannot integrate those."""
    found = staged(system)
    if found.bare:
        why = "damping" if found.damped else "a nonlinear element"
        other = "'exact' or 'newmark'" if system.linear else "'newmark'"
        raise MasslessError(
            f"degree of freedom {_bare_dof(system)} has no mass, but {why} acts on it, which '{scheme}' cannot "
            f"integrate; use the scheme {other}, or give it mass"
        )
    return found.system


def linear(system: System) -> System:
    """The system with its elements at their initial stiffness and damping."""
    if system.linear:
        return system
    none = type(system.elements).none(system.dofs)
    return replace(system, damping=system.tangent_damping, stiffness=system.tangent_stiffness, elements=none)


def settled(system: System) -> np.ndarray:
    """The initial displacement, with massless degrees of freedom where equilibrium puts them, (n,)."""
    found = staged(system)
    return np.asarray(found.transformation @ found.system.displacement)


def staged(system: System) -> Staged:
    """The system with those massless coordinates condensed for which that is exact."""
    heavy, bare = split(system.mass)
    if not bare.shape[1]:
        return Staged(system, np.eye(system.dofs))
    damping, stiffness, directions = system.damping, system.stiffness, system.elements.direction
    if not _acts(directions, bare) and _unheld(bare.T @ stiffness @ bare) is None:
        static = heavy - bare @ np.linalg.solve(bare.T @ stiffness @ bare, bare.T @ stiffness @ heavy)
        loaded = _acts(bare.T, system.inputs)
        follows = not loaded and not _acts(bare.T @ damping, static, np.abs(bare.T) @ np.abs(damping) @ np.abs(static))
        if follows or not (_acts(damping, bare) or _acts(damping.T, bare)):
            return Staged(*_condense(system, heavy, bare))
    # what neither damping nor elements act on follows at once, the rest stays
    free = _null(np.vstack([damping @ bare, damping.T @ bare, directions @ bare]))
    rest, loose = bare @ _complement(free), bare @ free
    small, first = (
        _condense(system, np.hstack([heavy, rest]), loose) if loose.shape[1] else _turned(system, heavy, rest)
    )
    count = heavy.shape[1]
    resisted = small.damping[count:, count:]
    undamped = _null(np.vstack([resisted, resisted.T]))
    damped = _complement(undamped)
    keep = np.eye(small.dofs)
    basis = np.hstack([keep[:, :count], keep[:, count:] @ damped, keep[:, count:] @ undamped])
    ordered, second = _turned(small, basis[:, :count], basis[:, count:])
    found = Staged(ordered, first @ second, damped.shape[1], undamped.shape[1])
    _check_staged(system, found)
    return found


def first_order(system: System) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C, D of x˙ = A x + B u, y = C x + D u with x = (r, r˙, s), elements taken at their initial stiffness.

    Without massless degrees of freedom x = (q, q˙); s are those that have damping.
    """
    found = staged(linear(system))
    small, n, m = found.system, found.heavy, found.damped
    nu = small.inputs.shape[1]
    # rates of s, then accelerations of r, both by (r, r˙, s | u)
    k, c = small.stiffness, small.damping
    forces = np.hstack([-k[:, :n], -c[:, :n], -k[:, n:], small.inputs])
    rate = np.linalg.solve(c[n:, n:], forces[n:])
    acceleration = np.linalg.solve(small.mass[:n, :n], forces[:n] - c[:n, n:] @ rate)
    size = 2 * n + m
    now = np.eye(size, size + nu)
    speed = np.vstack([now[n : 2 * n], rate])
    whole = np.vstack([speed[:n], acceleration, rate])
    place = np.vstack([now[:n], now[2 * n :]])
    y = small.displacement_outputs @ place + small.velocity_outputs @ speed
    y += small.acceleration_outputs[:, :n] @ acceleration
    if np.any(small.acceleration_outputs[:, n:]):
        loads = small.acceleration_outputs[:, n:] @ rate[:, size:]
        y += small.acceleration_outputs[:, n:] @ rate[:, :size] @ whole
        y[:, size:] += _by_rates(loads, "the acceleration")
    y[:, size:] += small.feedthrough
    return whole[:, :size], whole[:, size:], y[:, :size], y[:, size:]


def first_order_start(system: System) -> np.ndarray:
    """x at the start."""
    found = staged(linear(system))
    q, v, n = found.system.displacement, found.system.velocity, found.heavy
    return np.concatenate([q[:n], v[:n], q[n:]])


@by_content(kept=4)
def undamped_modes(mass: np.ndarray, stiffness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ω² in rising order and shapes (n, modes) with ΦᵀMΦ = I; as many as there are degrees of freedom with mass."""
    import scipy.linalg

    heavy, bare = split(mass)
    if bare.shape[1]:
        own = bare.T @ stiffness @ bare
        _check_held(bare, own)
        heavy = heavy - bare @ np.linalg.solve(own, bare.T @ stiffness @ heavy)
    squares, shapes = scipy.linalg.eigh(heavy.T @ stiffness @ heavy, heavy.T @ mass @ heavy)
    return squares, heavy @ shapes


# --- help -------------------------------------------------------------------------------------------------------------


def _condense(system: System, kept: np.ndarray, loose: np.ndarray) -> tuple[System, np.ndarray]:
    """The system in coordinates of ``kept``, what is ``loose`` following at once; and T."""
    own = loose.T @ system.stiffness @ loose
    _check_held(loose, own)
    t = kept - loose @ np.linalg.solve(own, loose.T @ system.stiffness @ kept)
    follow = loose @ np.linalg.solve(own, loose.T @ system.inputs)
    direct = system.displacement_outputs @ follow
    direct = direct + _by_rates(system.velocity_outputs @ follow, "the velocity")
    if _acts(system.acceleration_outputs, follow):
        raise MasslessError(_not_known("the acceleration"))
    small, _ = _turned(system, t, np.zeros((system.dofs, 0)), kept, loose)
    return replace(small, direct=direct), t


def _turned(
    system: System,
    first: np.ndarray,
    second: np.ndarray,
    kept: np.ndarray | None = None,
    loose: np.ndarray | None = None,
) -> tuple[System, np.ndarray]:
    """The system in coordinates z with q = T z, T = (first, second); and T."""
    t = np.hstack([first, second])
    inverse = np.linalg.inv(np.hstack([t if kept is None else kept, t[:, :0] if loose is None else loose]))[
        : t.shape[1]
    ]
    elements = system.elements.along(system.elements.direction @ t)
    return (
        replace(
            system,
            mass=t.T @ system.mass @ t,
            damping=t.T @ system.damping @ t,
            stiffness=t.T @ system.stiffness @ t,
            inputs=t.T @ system.inputs,
            displacement_outputs=system.displacement_outputs @ t,
            velocity_outputs=system.velocity_outputs @ t,
            acceleration_outputs=system.acceleration_outputs @ t,
            elements=elements,
            displacement=inverse @ system.displacement,
            velocity=inverse @ system.velocity,
        ),
        t,
    )


def _by_rates(by_rate: np.ndarray, what: str) -> np.ndarray:
    """Factors of the rates of the inputs as factors of the inputs: of the excitation alone is the rate an input."""
    found = np.zeros_like(by_rate)
    size = np.max(np.abs(by_rate), initial=0.0)
    if size > 0.0:
        if np.any(np.abs(by_rate[:, 1:]) > ZERO * size):
            raise MasslessError(_not_known(what))
        found[:, 1] = by_rate[:, 0]
    return found


def _not_known(what: str) -> str:
    return (
        f"{what} of a degree of freedom without mass is requested, on which a load acts: it responds instantly, "
        "and the rate of the load is not known; request its displacement, or give it mass"
    )


def _acts(left: np.ndarray, right: np.ndarray, size: np.ndarray | None = None) -> bool:
    """Whether a product is not zero, to rounding."""
    within = np.abs(left) @ np.abs(right) if size is None else size
    return bool(np.any(np.abs(left @ right) > ZERO * within))


def _null(matrix: np.ndarray) -> np.ndarray:
    """Basis of what a matrix takes to zero, its columns scaled."""
    size = np.max(np.abs(matrix), axis=0, initial=0.0)
    if not size.any():
        return np.eye(matrix.shape[1])
    full = np.flatnonzero(size > ZERO * size.max())
    _, values, rows = np.linalg.svd(matrix[:, full] / size[full], full_matrices=True)
    values = np.concatenate([values, np.zeros(len(full) - len(values))])
    unit = np.eye(matrix.shape[1])
    inside = (rows[values <= ZERO * values[0]] / size[full]).T
    return np.hstack([unit[:, size <= ZERO * size.max()], unit[:, full] @ inside])


def _complement(basis: np.ndarray) -> np.ndarray:
    """Basis of what is at right angles to all columns; unit vectors if these are."""
    n, count = basis.shape
    empty = ~np.any(basis, axis=1)
    if empty.sum() == n - count:
        return np.eye(n)[:, empty]
    return np.asarray(np.linalg.svd(basis, full_matrices=True)[0][:, count:])


def _bare_dof(system: System) -> int:
    """A degree of freedom without mass, counted from 1."""
    return int(np.argmax(np.abs(split(system.mass)[1][:, 0]))) + 1


def _unheld(own: np.ndarray) -> np.ndarray | None:
    """A motion that a stiffness does not resist; None if it resists all."""
    size = np.sqrt(np.max(np.abs(own), axis=1, initial=0.0))
    if not np.all(size > 0.0):
        return np.asarray(np.eye(len(own))[int(np.argmin(size))])
    scaled = own / np.outer(size, size)
    values, shapes = np.linalg.eigh((scaled + scaled.T) / 2)
    least = int(np.argmin(np.abs(values)))
    motion: np.ndarray = shapes[:, least] / size
    return motion if abs(values[least]) <= ZERO else None


def _check_held(bare: np.ndarray, own: np.ndarray) -> None:
    """Refuse what has neither mass nor stiffness."""
    motion = _unheld(own)
    if motion is not None:
        dof = int(np.argmax(np.abs(bare @ motion))) + 1
        raise MasslessError(
            f"degree of freedom {dof} has neither mass nor a stiffness that holds it; give it one of them, or leave it "
            "out"
        )


def _check_staged(system: System, found: Staged) -> None:
    small, n = found.system, found.heavy
    at = slice(n + found.damped, None)
    if found.algebraic:
        _check_held(found.transformation[:, at], small.tangent_stiffness[at, at])
        if np.any(np.abs(small.damping[at]) > ZERO * np.max(np.abs(small.damping))):
            raise MasslessError(
                f"degree of freedom {_bare_dof(system)} has no mass, and damping that couples it to others without "
                "damping it; give it mass, or a damping matrix without negative damping"
            )
