"""Linear structures integrated in parts that do not act on each other: their modes, or blocks of two states.

A linear scheme of n degrees of freedom multiplies matrices of n² entries in every tick.  The same recursion
(``recursion.py``) in coordinates in which its transition is block-diagonal costs a few products for each of n parts.

*Damping that follows the modes*, ΦᵀCΦ diagonal with Φ the undamped modes (ΦᵀMΦ = I), as Rayleigh's and modal damping
do: the structure is n oscillators, and each is integrated by the same scheme,

    η¨_i + c_i η˙_i + ω_i² η_i = φ_iᵀ U u,    y = Σ_i (Y_d φ_i η_i + Y_v φ_i η˙_i + Y_a φ_i η¨_i) + Y_u u

*Any other damping*: the transition A of the whole scheme has eigenvectors V; a pair a ± jb of them for λ = α ± jβ
spans two states with

    A (a  b) = (a  b) ⎡ α  β⎤
                      ⎣−β  α⎦

Both are the scheme itself in other coordinates, nothing is left out, and results differ by rounding alone.  Where they
would not, because eigenvectors are nearly parallel, and for small structures, the plain method stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.by_content import by_content
from ...contracts.massless import Staged, staged
from ...contracts.system import Method, System
from ...kernels.linear import copy_to
from .recursion import Recursion, Stack

if TYPE_CHECKING:
    from .scheme import Scheme

FEW = 16
"""Degrees of freedom below which the plain method is as fast."""
FOLLOWS = 1e-13
"""Part of two modes' damping up to which what couples them is rounding."""
MOST_SKEWED = 1e4
"""Condition number of eigenvectors up to which their coordinates cost no digits that matter."""
REPEATED = 1e-11
"""Part of a transition matrix up to which its blocks must give it back."""


def parts_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    w, parts = s.x.shape
    if s.started == 0.0:
        s.started = 1.0
        for j in range(u.shape[0]):
            for i in range(w):
                for m in range(parts):
                    s.x[i, m] += p.at_start[j, i, m] * u[j]
    else:
        if w == 2:
            for m in range(parts):
                a, b = s.x[0, m], s.x[1, m]
                s.x[0, m] = p.transition[0, 0, m] * a + p.transition[0, 1, m] * b
                s.x[1, m] = p.transition[1, 0, m] * a + p.transition[1, 1, m] * b
        else:
            for m in range(parts):
                a, b, c = s.x[0, m], s.x[1, m], s.x[2, m]
                s.x[0, m] = p.transition[0, 0, m] * a + p.transition[0, 1, m] * b + p.transition[0, 2, m] * c
                s.x[1, m] = p.transition[1, 0, m] * a + p.transition[1, 1, m] * b + p.transition[1, 2, m] * c
                s.x[2, m] = p.transition[2, 0, m] * a + p.transition[2, 1, m] * b + p.transition[2, 2, m] * c
        for j in range(p.earlier.shape[0]):
            if s.u[j] != 0.0:
                for i in range(w):
                    for m in range(parts):
                        s.x[i, m] += p.earlier[j, i, m] * s.u[j]
        for j in range(u.shape[0]):
            if u[j] != 0.0:
                for i in range(w):
                    for m in range(parts):
                        s.x[i, m] += p.later[j, i, m] * u[j]
    copy_to(u, s.u)
    for k in range(y.shape[0]):
        total = 0.0
        for j in range(u.shape[0]):
            total += p.direct[k, j] * u[j]
        for i in range(w):
            if p.read[k, i] != 0.0:
                # eight sums that do not wait for each other
                a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                m = 0
                while m + 8 <= parts:
                    a += p.outputs[k, i, m] * s.x[i, m]
                    b += p.outputs[k, i, m + 1] * s.x[i, m + 1]
                    c += p.outputs[k, i, m + 2] * s.x[i, m + 2]
                    d += p.outputs[k, i, m + 3] * s.x[i, m + 3]
                    e += p.outputs[k, i, m + 4] * s.x[i, m + 4]
                    f += p.outputs[k, i, m + 5] * s.x[i, m + 5]
                    g += p.outputs[k, i, m + 6] * s.x[i, m + 6]
                    h += p.outputs[k, i, m + 7] * s.x[i, m + 7]
                    m += 8
                while m < parts:
                    a += p.outputs[k, i, m] * s.x[i, m]
                    m += 1
                total += ((a + b) + (c + d)) + ((e + f) + (g + h))
        y[k] = total
    return 0


def in_parts(scheme: Scheme, system: System, dt: float) -> Method | None:
    """The scheme of a linear structure in parts; None if it is to be integrated plainly."""
    if not system.linear or system.dofs < FEW or staged(system).bare:
        return None
    found = staged(system)
    modes = in_modes(found)
    if modes is not None:
        recursion = scheme.recursion(modes, dt)
        form = f"{system.dofs} degrees of freedom in {len(modes.mass)} modes, integrated separately"
    else:
        whole = scheme.recursion(Stack.of(found.system), dt)
        recursion = None if whole is None else in_blocks(whole)
        form = f"{system.dofs} degrees of freedom, whose damping couples the modes, in blocks of two states"
    return None if recursion is None else method_of(recursion, form)


def method_of(recursion: Recursion, form: str) -> Method:
    """The method of a recursion in many parts."""
    nu = recursion.later.shape[2]
    last = (recursion.earlier, recursion.later, recursion.at_start)
    earlier, later, at_start = (np.ascontiguousarray(one.transpose(2, 1, 0)) for one in last)
    outputs = np.ascontiguousarray(recursion.outputs.transpose(1, 2, 0))
    return Method(
        step=parts_step,
        parameters={
            "transition": np.ascontiguousarray(recursion.transition.transpose(1, 2, 0)),
            "earlier": earlier if np.any(earlier) else earlier[:0],
            "later": later,
            "at_start": at_start,
            "outputs": outputs,
            "read": np.any(outputs, axis=2).astype(float),
            "direct": np.ascontiguousarray(recursion.direct),
        },
        state={
            "x": np.ascontiguousarray(recursion.start.T),
            "u": np.zeros(nu),
            "started": 0.0,
        },
        frozen=("started",),
        jacobian=recursion.jacobian,
        form=form,
    )


# --- modes ------------------------------------------------------------------------------------------------------------


def in_modes(found: Staged) -> Stack | None:
    """A structure whose masses are regular as a stack of its modes; None if its damping couples them."""
    system = found.system
    matrices = (system.mass, system.damping, system.stiffness)
    if all(np.count_nonzero(one) == np.count_nonzero(np.diagonal(one)) for one in matrices):
        shapes: np.ndarray | None = None
        mass, damping, stiffness = (np.diagonal(one) for one in matrices)
    else:
        stiffness, shapes = system.undamped_modes()
        mass = np.ones(len(stiffness))
        following = modal_part(system.damping, shapes)
        if following is None:
            return None
        damping = following

    def turned(rows: np.ndarray) -> np.ndarray:
        return rows if shapes is None else np.asarray(rows @ shapes)

    outputs = (system.displacement_outputs, system.velocity_outputs, system.acceleration_outputs)
    start = (turned(one @ system.mass) / mass for one in (system.displacement, system.velocity))
    by_place, by_speed, by_acceleration = (turned(one).T[:, :, None] for one in outputs)
    place, speed = (one[:, None] for one in start)
    return Stack(
        mass=mass[:, None, None],
        damping=damping[:, None, None],
        stiffness=stiffness[:, None, None],
        inputs=turned(system.inputs.T).T[:, None],
        displacement_outputs=by_place,
        velocity_outputs=by_speed,
        acceleration_outputs=by_acceleration,
        direct=system.feedthrough,
        displacement=place,
        velocity=speed,
    )


@by_content(kept=4)
def modal_part(damping: np.ndarray, shapes: np.ndarray) -> np.ndarray | None:
    """Damping of each mode; None if some couples them, beyond what rounding of the products makes of none."""
    coupled = shapes.T @ damping @ shapes
    own = np.diagonal(coupled).copy()
    terms = np.abs(shapes).T @ np.abs(damping) @ np.abs(shapes)
    rounding = len(own) * np.finfo(float).eps * terms + FOLLOWS * np.sqrt(np.abs(np.outer(own, own)))
    return None if np.any(np.abs(coupled - np.diag(own)) > rounding) else own


# --- blocks of two states ---------------------------------------------------------------------------------------------


def in_blocks(whole: Recursion) -> Recursion | None:
    """A recursion of one part in parts of two states; None if its eigenvectors are too skewed for that."""
    (a,) = whole.transition
    found = decomposed(a)
    if found is None:
        return None
    blocks, basis, inverse = found

    def each(matrix: np.ndarray) -> np.ndarray:
        return np.asarray((inverse @ matrix).reshape(len(blocks), 2, -1))

    return replace(
        whole,
        transition=blocks,
        earlier=each(whole.earlier[0]),
        later=each(whole.later[0]),
        outputs=(whole.outputs[0] @ basis).reshape(len(whole.direct), -1, 2).transpose(1, 0, 2),
        start=each(whole.start[0][:, None])[..., 0],
        at_start=each(whole.at_start[0]),
    )


@by_content(kept=4)
def decomposed(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Blocks (parts, 2, 2), T and T⁻¹ with A = T diag(blocks) T⁻¹; None if T is too skewed."""
    from scipy.linalg import eig, matrix_balance

    balanced, scale = matrix_balance(a, permute=False)
    values, vectors = eig(balanced)
    above, real = np.flatnonzero(values.imag > 0.0), np.flatnonzero(values.imag == 0.0)
    pairs = np.empty((len(above), 2, 2))
    pairs[:, 0, 0] = pairs[:, 1, 1] = values[above].real
    pairs[:, 0, 1], pairs[:, 1, 0] = values[above].imag, -values[above].imag
    twos = np.stack([vectors[:, above].real, vectors[:, above].imag], axis=2).reshape(len(a), -1)
    basis = np.hstack([twos, vectors[:, real].real])
    if not np.linalg.cond(basis) <= MOST_SKEWED:
        return None
    inverse = np.linalg.inv(basis)
    alone = np.append(values[real].real, np.zeros(real.size % 2)).reshape(-1, 2)
    blocks = np.concatenate([pairs, alone[:, :, None] * np.eye(2)])
    if real.size % 2:  # a state that nothing moves makes the last pair full
        basis, inverse = np.pad(basis, ((0, 0), (0, 1))), np.pad(inverse, ((0, 1), (0, 0)))
    again = (basis.reshape(len(a), -1, 2).transpose(1, 0, 2) @ blocks).transpose(1, 0, 2).reshape(len(a), -1) @ inverse
    if np.abs(again - balanced).max() > REPEATED * np.abs(balanced).max():
        return None
    scales = np.diagonal(scale)
    return blocks, scales[:, None] * basis, inverse / scales
