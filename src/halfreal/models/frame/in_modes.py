"""One step of a frame at rest to first order, in the frame's modes.

With ΦᵀMΦ = I, ΦᵀKΦ = diag(ω²) and damping that couples no modes, ΦᵀCΦ = diag(c), a step of ``implicit.py`` falls apart
into one of three states for each mode: q, v, a = Φ times their modal ones.  A loop is then judged condensed to its
interface (``stability/condensed.py``), whatever the number of degrees of freedom.  Where one of them has no mass, or
dashpots couple the modes, there is no such form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

from ...kernels.block import Basis, Jacobian
from ..schemes.scheme import Coefficients
from .loaded import Loaded

COUPLED = 1e-9
"""Part of the damping forces that modes may put on each other."""


def in_modes(loaded: Loaded, dt: float, by: Coefficients) -> Jacobian | None:
    """Of (q, v, a, u) and the inputs, in modes; None if the step does not fall apart."""
    model = loaded.model
    if not np.all(model.mass.diagonal() > 0.0):
        return None
    square, shapes = model.modes
    moved = model.mass @ shapes
    damping = _ratios(loaded, shapes, moved)
    if damping is None:
        return None
    n, inputs, late = model.dofs, len(loaded.on_inputs), 1.0 - by.alpha_f
    v_by_q, a_by_q = by.gamma / (by.beta * dt), 1.0 / (by.beta * dt**2)
    stiff = (1.0 - by.alpha_m) * a_by_q + late * (damping * v_by_q + square)
    on_v = damping + late * dt * square
    on_a = 1.0 + late * (dt * damping + 0.5 * dt**2 * square)
    x = [-square / stiff, -on_v / stiff, -on_a / stiff]
    push = (shapes.T @ loaded.on_inputs.T) / stiff[:, None]
    # how q, v, a of the step before, the inputs then and those now change q, v and a
    ways = ((1.0, (1.0, dt, 0.5 * dt**2)), (v_by_q, (0.0, 1.0, dt)), (a_by_q, (0.0, 0.0, 1.0)))
    own = [[sparse.diags_array(kept + by_x * one) for kept, one in zip(keeps, x, strict=True)] for by_x, keeps in ways]
    before = np.vstack([by_x * by.alpha_f * push for by_x, _ in ways])
    now = np.vstack([by_x * late * push for by_x, _ in ways])
    motion = sparse.block_array(own).tocsr()
    a = sparse.block_array([[motion, sparse.csr_array(before)], [None, sparse.csr_array((inputs, inputs))]]).tocsr()
    b = np.vstack([now, np.eye(inputs)])
    read = np.hstack([loaded.displacement_outputs, loaded.velocity_outputs, loaded.acceleration_outputs])
    progress = np.zeros((2 * loaded.progress, 3 * n))
    read = np.vstack([read, np.pad(loaded.probe_slopes(), ((0, 0), (0, 2 * n))), progress])
    read = np.hstack([read[:, i * n : (i + 1) * n] @ shapes for i in range(3)])
    c = np.hstack([(motion.T @ read.T).T, read @ before])
    return Jacobian(a, b, c, read @ now, _basis(shapes, moved, inputs))


def _ratios(loaded: Loaded, shapes: np.ndarray, moved: np.ndarray) -> np.ndarray | None:
    """c of each mode; None if damping couples them."""
    damping = loaded.damping

    def forces(motion: np.ndarray) -> Any:
        found = damping.constant @ motion
        return found + damping.modes.T @ (damping.rates[:, None] * (damping.modes @ motion))

    own = np.einsum("ij,ij->j", shapes, forces(shapes))
    some = np.random.default_rng(1).standard_normal(shapes.shape[1])
    expected, found = moved @ (own * some), forces((shapes @ some)[:, None])[:, 0]
    size = float(np.linalg.norm(expected))
    return own if np.linalg.norm(found - expected) <= COUPLED * size or not np.any(found) else None


def _basis(shapes: np.ndarray, moved: np.ndarray, inputs: int) -> Basis:
    n = len(shapes)

    def each(by: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.vstack([*(by @ columns[i * n : (i + 1) * n] for i in range(3)), columns[3 * n : 3 * n + inputs]])

    return Basis(
        state=lambda own: each(shapes, own),
        own=lambda state: each(moved.T, state),
        bound=lambda sizes: each(np.abs(shapes), sizes),
    )
