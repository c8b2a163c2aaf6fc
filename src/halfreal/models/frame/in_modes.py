"""One step of a frame to first order, in the frame's modes.

Degrees of freedom without mass (b) follow those with mass (h) at once: with S = −K_bb⁻¹ K_bh

    q_h = Φ z,   q_b = S Φ z + y,      ΦᵀM_hΦ = I,   Φᵀ(K_hh + K_hb S)Φ = diag(ω²)

Where they are damped, if at all, by a share c of the stiffness, C_b = c K_b, what they deviate by obeys
c y˙ + y = K_bb⁻¹ F_b, and the modes are not affected by it.  With damping that couples no modes either, a step of
``implicit.py`` falls apart into three states z, z˙, z¨ for each mode, and y, y˙ and an idle acceleration for each
degree of freedom without mass, which affects the rest of a loop only if it acts there.  A loop is then judged condensed
to its interface (``stability/condensed.py``), regardless of the number of degrees of freedom.

Damping that couples the modes, as dashpots do, or Rayleigh's on the stiffness without load of a frame that leans,
leaves z and z˙ of all modes in one part, whose eigenvalues are then computed.  With Newmark's method what z¨ deviates
by from the equation of motion vanishes after a step; it is the third state of a mode then, and idle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

from ...kernels.block import Basis, Jacobian
from ..schemes.scheme import Coefficients
from .loaded import Loaded
from .modes import Modes

COUPLED = 1e-9
"""Part of the damping forces that modes may put on each other."""


def in_modes(loaded: Loaded, dt: float, by: Coefficients) -> Jacobian | None:
    """Of (q, v, a, u) and the inputs, in modes; None if the step does not fall apart."""
    modes = loaded.model.modes
    if modes is None:
        return None
    share, damping = _share(loaded, modes.bare), _in_modes(loaded, modes)
    newmark = by.alpha_f == 0.0 and by.alpha_m == 0.0
    if share is None or (damping.ndim == 2 and not newmark):
        return None
    a, b = _step(loaded, dt, by, modes, damping, share)
    probes = loaded.probe_slopes()
    still = np.zeros_like(probes)
    read = [
        np.vstack([part, more])
        for part, more in (
            (loaded.displacement_outputs, probes),
            (loaded.velocity_outputs, still),
            (loaded.acceleration_outputs, still),
        )
    ]
    own = [_of_own(read[0], modes), _of_own(read[1], modes), read[2][:, modes.heavy] @ modes.shapes]
    seen = np.hstack([*own, *(part[:, modes.bare] for part in read), np.zeros((len(read[0]), len(loaded.on_inputs)))])
    seen = np.vstack([seen, np.zeros((2 * loaded.progress, seen.shape[1]))])
    basis = _basis(modes, len(loaded.on_inputs))
    if damping.ndim == 2:
        a, b, seen, basis = _without_acceleration(loaded, modes, damping, a, b, seen, basis)
    return Jacobian(a, b, np.asarray((a.T @ seen.T).T), seen @ b, basis)


def _of_own(read: np.ndarray, modes: Modes) -> np.ndarray:
    """Rows over displacements as rows over z."""
    return np.asarray(read[:, modes.heavy] @ modes.shapes + read[:, modes.bare] @ modes.follow)


def _step(
    loaded: Loaded, dt: float, by: Coefficients, modes: Modes, damping: np.ndarray, share: float
) -> tuple[Any, np.ndarray]:
    """New (z, z˙, z¨, y, y˙, idle, u) by these and by the inputs."""
    square, inputs, bare = modes.square, len(loaded.on_inputs), len(modes.bare)
    late, cv, ca = 1.0 - by.alpha_f, by.gamma / (by.beta * dt), 1.0 / (by.beta * dt**2)
    one: np.ndarray
    stiff: np.ndarray
    if damping.ndim == 2:
        one, stiff = np.eye(square.size), np.diag(square)
        inverse = np.linalg.inv((1.0 - by.alpha_m) * ca * one + late * (damping * cv + stiff))
    else:
        one, stiff = np.ones(square.size), square
        inverse = 1.0 / ((1.0 - by.alpha_m) * ca + late * (damping * cv + square))
    on_v = damping + late * dt * stiff
    on_a = one + late * (dt * damping + 0.5 * dt**2 * stiff)
    x = [_times(-inverse, part) for part in (stiff, on_v, on_a)]
    push = _times(inverse, _of_own(loaded.on_inputs, modes).T)
    # how q, v, a of the step before, the inputs then and those now change q, v and a
    ways = ((1.0, (1.0, dt, 0.5 * dt**2)), (cv, (0.0, 1.0, dt)), (ca, (0.0, 0.0, 1.0)))
    own = [[_sparse(kept * one + by_x * part) for kept, part in zip(keeps, x, strict=True)] for by_x, keeps in ways]
    motion = sparse.block_array(own).tocsr()
    moved = np.vstack([by_x * push for by_x, _ in ways])

    # y: c y˙ + y = w at the weighted time, y˙⁺ = cw y⁺ + rest
    cw = cv if share > 0.0 else 1.0 / dt
    idle, slip = 0.5 * cw * dt**2 - dt, cw - cv
    by_z = [slip * x[0], slip * x[1], slip * x[2] + idle * one]  # of S: what the modes' own rates differ by
    shifted = modes.follow @ (slip * push)
    held = modes.static(loaded.on_inputs[:, modes.bare].T) / late
    before = by.alpha_f / late
    scale = 1.0 / (1.0 + share * cw)
    of_z = sparse.csr_array((bare, 3 * square.size))
    if slip or idle:
        of_z = sparse.csr_array(np.hstack([modes.follow * z if z.ndim == 1 else modes.follow @ z for z in by_z]))
    each = sparse.eye_array(bare)
    rest = [of_z, -cw * each, (1.0 - cw * dt) * each, -idle * each]
    first = [scale * (-share * part) for part in rest]
    first[1] = first[1] - scale * before * each
    first[2] = first[2] - scale * before * share * each
    second = [cw * new + part for new, part in zip(first, rest, strict=True)]
    weights = by.alpha_f, late
    y_in = [scale * (held - share * shifted) * weight for weight in weights]
    v_in = [cw * new + shifted * weight for new, weight in zip(y_in, weights, strict=True)]
    none = np.zeros((bare, inputs))
    u_in = [np.vstack([moved * weight, y, v, none]) for weight, y, v in zip(weights, y_in, v_in, strict=True)]

    states = 3 * square.size + 3 * bare
    top = sparse.hstack([motion, sparse.csr_array((3 * square.size, 3 * bare))])
    grid = sparse.vstack([top, sparse.hstack(first), sparse.hstack(second), sparse.csr_array((bare, states))])
    a = sparse.vstack([sparse.hstack([grid, sparse.csr_array(u_in[0])]), sparse.csr_array((inputs, states + inputs))])
    return a.tocsr(), np.vstack([u_in[1], np.eye(inputs)])


def _share(loaded: Loaded, bare: np.ndarray) -> float | None:
    """c of C_b = c K_b; None if degrees of freedom without mass are damped in another way."""
    if not bare.size:
        return 0.0
    rows, stiff = loaded.damping.constant[bare], loaded.model.stiffness[bare]
    size = float(stiff.multiply(stiff).sum())
    share = max(float(rows.multiply(stiff).sum()) / size, 0.0)
    apart = float(np.sqrt(abs((rows - share * stiff).power(2).sum())))
    alike = apart <= COUPLED * share * np.sqrt(size) and not np.any(loaded.damping.modes[:, bare])
    return share if alike else None


def _in_modes(loaded: Loaded, modes: Modes) -> np.ndarray:
    """c of each mode, (modes,); all of ΦᵀCΦ if damping couples them."""
    damping, whole = loaded.damping, np.zeros((loaded.model.dofs, len(modes.heavy)))
    whole[modes.heavy], whole[modes.bare] = modes.shapes, modes.follow
    forces = damping.constant @ whole + damping.modes.T @ (damping.rates[:, None] * (damping.modes @ whole))
    own = np.einsum("ij,ij->j", whole, forces)
    some = np.random.default_rng(1).standard_normal(whole.shape[1])
    expected, found = own * some, whole.T @ (forces @ some)
    alike = np.linalg.norm(found - expected) <= COUPLED * np.linalg.norm(expected)
    return own if alike or not np.any(found) else np.asarray(whole.T @ forces)


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A matrix, or a diagonal one, times another."""
    if a.ndim == 2:
        return np.asarray(a @ b)
    return np.asarray(a * b if b.ndim == 1 else a[:, None] * b)


def _sparse(a: np.ndarray) -> Any:
    return sparse.diags_array(a) if a.ndim == 1 else sparse.csr_array(a)


def _without_acceleration(
    loaded: Loaded, modes: Modes, damping: np.ndarray, a: Any, b: np.ndarray, seen: np.ndarray, basis: Basis
) -> tuple[Any, np.ndarray, np.ndarray, Basis]:
    """With z¨ + C z˙ + ω² z − F in the place of z¨: nothing is left of it after a step of Newmark's method."""
    h, n = len(modes.heavy), a.shape[0]
    push = _of_own(loaded.on_inputs, modes).T
    row = np.zeros((h, n))
    row[:, :h], row[:, h : 2 * h], row[:, n - push.shape[1] :] = -np.diag(modes.square), -damping, push

    def put(columns: np.ndarray, sign: float) -> np.ndarray:
        found = columns.copy()
        found[2 * h : 3 * h] += sign * (row @ columns)
        return found

    def bound(sizes: np.ndarray) -> np.ndarray:
        found = sizes.copy()
        found[2 * h : 3 * h] += np.abs(row) @ sizes
        return basis.bound(found)

    third = a[:, 2 * h : 3 * h].toarray()
    turned = sparse.csr_array(a.toarray() + third @ row)
    keep = np.ones(n)
    keep[2 * h : 3 * h] = 0.0
    gone = sparse.diags_array(keep)
    seen = seen + seen[:, 2 * h : 3 * h] @ row
    other = Basis(
        state=lambda own: basis.state(put(own, 1.0)), own=lambda state: put(basis.own(state), -1.0), bound=bound
    )
    return (gone @ turned).tocsr(), keep[:, None] * b, seen, other


def _basis(modes: Modes, inputs: int) -> Basis:
    h, b = len(modes.heavy), len(modes.bare)
    n = h + b

    def state(own: np.ndarray) -> np.ndarray:
        found = np.empty((3 * n + inputs, own.shape[1]))
        for i in range(3):
            z, y = own[i * h : (i + 1) * h], own[3 * h + i * b : 3 * h + (i + 1) * b]
            found[i * n + modes.heavy] = modes.shapes @ z
            found[i * n + modes.bare] = y + modes.follow @ z if i < 2 else y
        found[3 * n :] = own[3 * n :]
        return found

    def own(state: np.ndarray) -> np.ndarray:
        found = np.empty((3 * n + inputs, state.shape[1]))
        for i in range(3):
            z = modes.weighted.T @ state[i * n + modes.heavy]
            found[i * h : (i + 1) * h] = z
            y = state[i * n + modes.bare]
            found[3 * h + i * b : 3 * h + (i + 1) * b] = y - modes.follow @ z if i < 2 else y
        found[3 * n :] = state[3 * n :]
        return found

    def bound(sizes: np.ndarray) -> np.ndarray:
        found = np.empty((3 * n + inputs, sizes.shape[1]))
        for i in range(3):
            z, y = sizes[i * h : (i + 1) * h], sizes[3 * h + i * b : 3 * h + (i + 1) * b]
            found[i * n + modes.heavy] = np.abs(modes.shapes) @ z
            found[i * n + modes.bare] = y + np.abs(modes.follow) @ z if i < 2 else y
        found[3 * n :] = sizes[3 * n :]
        return found

    return Basis(state=state, own=own, bound=bound)
