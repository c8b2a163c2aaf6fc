"""Frames by generalised-α and its relatives (Newmark, HHT-α), with Newton iterations that are counted.

The method is that of ``halfreal.models.schemes.generalized_alpha``, with a displacement x as its unknown:

    R = F_{n+1−α_f} − M a_{n+1−α_m} − C v_{n+1−α_f} − K q_{n+1−α_f} − g_{n+1−α_f} = 0
    q_{n+1} = q_n + Δt v_n + ½Δt² a_n + x,    v_{n+1} = v_n + Δt a_n + c_v x,    a_{n+1} = a_n + c_a x
    c_v = γ/(βΔt),    c_a = 1/(βΔt²)
    E dx = R,        E = (1 − α_m) c_a M + (1 − α_f) (c_v C + K + Σ Aᵀ (k_t − k_rest) A)

K is the stiffness of the frame at rest, g what the elements resist with beyond it.
The iteration starts from x = 0, where R is F − K q_n − (C + (1 − α_f)Δt K) v_n − (M + (1 − α_f)(Δt C + ½Δt² K)) a_n − g
(weighted), and ends when √(Σ R²/D), D the diagonal of E at the
start of the test, is below ``tolerance`` times √(Σ D (q² + Δq²)), and no tangent has changed with the last
correction: when the displacements are right to this part.  One
correction is always made, so that a linear frame is solved exactly.  What is left, and how many corrections there were,
are channels of their own; more than ``tolerance`` after ``iterations`` is a fault.

At x = 0, g is foreseen by the elements' tangents at q_n, as long as they depend on nothing but q and are as the last
step has left them; else they are evaluated there.  A correction by what was foreseen has to leave less than
``FORESEEN`` of the tolerance, else there is another: where nothing yields in a step, elements are evaluated once in it.

E is banded, and its factors are kept as long as no tangent has changed by more than ``REUSE``: between events a frame
with bilinear hinges factors nothing, and one with curved laws seldom.

Degrees of freedom without mass have no acceleration, c_a = 0; where they are not damped either, v is the difference of
displacements, c_v = 1/Δt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sparse

from ...contracts.massless import MasslessError
from ...contracts.system import Method
from ...kernels.any_size import with_sizes
from ...kernels.band import band_factor, band_multiply_add, band_solve, banded
from ...kernels.block import Jacobian, Value
from ...kernels.compile import kernel
from ...kernels.linear import copy_to, multiply_add, set_to, three_products
from ..schemes.scheme import Coefficients
from .evaluate import add_foreseen, add_tangents, commit_elements, evaluate, read_laws, untouched
from .law import depends_on_rate
from .loaded import Loaded, no_solution

NOT_CONVERGED = 1
ROUNDING = 1e-11
"""Part of the displacements below which nothing is left to tell."""
FORESEEN = 0.1
"""Part of the tolerance that a correction by foreseen forces may leave."""
REUSE = 1e-2
"""Change of a tangent, as a part of what is typical of its element, up to which old factors serve."""
FLOOR = 1e-13
"""Part of the elements' forces at rest that counts as rounding."""


@kernel
def _stale(p, s):  # type: ignore[no-untyped-def]
    """Whether a tangent has changed since the factors were made."""
    for i in range(s.tangents.shape[0]):
        if abs(s.tangents[i] - s.used[i]) > p.reuse * (abs(s.tangents[i]) + p.typical[i]):
            return True
    return s.factored[0] == 0.0


@kernel
def _factor(p, s):  # type: ignore[no-untyped-def]
    """Factors of E with the present tangents."""
    s.factored[0] = 1.0
    for i in range(s.factors.shape[0]):
        copy_to(p.linear[i], s.factors[i])
    add_tangents(p.table, p.dofs, p.kinematics, p.initial, s.tangents, 1.0 - p.alpha_f, s.factors)
    copy_to(s.tangents, s.used)
    band_factor(s.factors)


@kernel
def _elements(p, s):  # type: ignore[no-untyped-def]
    """Forces of the elements on trial at the new displacements, beyond their stiffness at rest."""
    set_to(0.0, s.beyond)
    return evaluate(
        p.table, p.dofs, p.kinematics, p.rest, p.rest_f, p.initial, p.numbers, p.material, p.materials,
        s.memory, s.flowing, s.trial, s.strain, s.stress, s.inner, s.inner_trial, s.tangents, s.scratch,
            s.next_q, s.next_v, p.dt, p.factor, s.beyond,
    )  # fmt: skip


@kernel
def _foreseen(p, s):  # type: ignore[no-untyped-def]
    """Forces of the elements at the new displacements by their tangents, where these are known; whether they are."""
    known = p.foresee != 0.0 and s.factored[0] != 0.0
    for i in range(s.q.shape[0]):
        known = known and s.q[i] == s.seen[i] and s.beyond[i] == s.resisted[i]
    if not known or not untouched(s.memory, s.trial, s.inner, s.inner_trial):
        return False
    add_foreseen(p.table, p.dofs, p.kinematics, p.initial, s.tangents, s.scratch, s.next_q, s.q, s.beyond)
    return True


def frame_implicit_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    status, n, late = 0, s.q.shape[0], 1.0 - p.alpha_f
    left, count = 0.0, 0
    if s.started[0] == 0.0:
        s.started[0] = 1.0
        multiply_add(p.at_start, u, s.a)
    else:
        set_to(0.0, s.known)
        for j in range(u.shape[0]):
            weighted = late * u[j] + p.alpha_f * s.u[j]
            for i in range(n):
                s.known[i] += p.on_inputs[j, i] * weighted
        # all forces where the step leads with the acceleration as it is
        for i in range(n):
            s.next_q[i] = s.q[i] + p.dt * s.v[i] + 0.5 * p.dt * p.dt * s.a[i]
            s.next_v[i] = s.v[i] + p.dt * s.a[i]
            s.next_a[i] = s.a[i]
            s.known[i] -= p.alpha_f * s.beyond[i]
        band_multiply_add(p.on_q, -1.0, s.q, s.known)
        band_multiply_add(p.on_v, -1.0, s.v, s.known)
        band_multiply_add(p.on_a, -1.0, s.a, s.known)
        foreseen, failed = _foreseen(p, s), 0
        if not foreseen:
            failed = _elements(p, s)
        stale = _stale(p, s)
        status = NOT_CONVERGED
        for iteration in range(int(p.iterations)):
            count = iteration + 1
            if stale:
                _factor(p, s)
            for i in range(n):
                s.change[i] = s.known[i] - late * s.beyond[i]
            band_solve(s.factors, s.change)
            for i in range(n):
                s.next_q[i] += s.change[i]
                s.next_v[i] += p.v_by_q[i] * s.change[i]
                s.next_a[i] += p.a_by_q[i] * s.change[i]
            band_multiply_add(p.linear, -1.0, s.change, s.known)
            failed = _elements(p, s)
            stale = _stale(p, s)
            left, size = 0.0, 0.0
            for i in range(n):
                force = s.known[i] - late * s.beyond[i]
                moved = s.next_q[i] - s.q[i]
                left += force * force / p.diagonal[i]
                size += p.diagonal[i] * (s.next_q[i] * s.next_q[i] + moved * moved)
            left, size = np.sqrt(left), np.sqrt(size)
            enough = p.tolerance * (FORESEEN if foreseen and iteration == 0 and p.iterations > 1.0 else 1.0)
            if left <= enough * size + p.floor:
                status = 0
            left = left / size if left > ROUNDING * size + p.floor else 0.0
            if status == 0 and not stale:
                break
        if failed != 0:
            status = no_solution(failed)
        copy_to(s.next_q, s.q)
        copy_to(s.next_v, s.v)
        copy_to(s.next_q, s.seen)
        copy_to(s.beyond, s.resisted)
        for i in range(n):
            s.a[i] = s.next_a[i] if p.a_by_q[i] > 0.0 else 0.0
        commit_elements(s.memory, s.flowing, s.trial, s.inner, s.inner_trial)
    copy_to(u, s.u)
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.v, p.acceleration_outputs, s.a, s.outputs)
    read_laws(p.probes, s.strain, s.stress, s.outputs, y)
    if y.shape[0] > s.outputs.shape[0] + p.probes.shape[0]:
        y[y.shape[0] - 2] = left
        y[y.shape[0] - 1] = float(count)
    return status


def implicit(loaded: Loaded, dt: float, by: Coefficients) -> Method:
    """The method of a frame for given coefficients."""
    model, n = loaded.model, loaded.model.dofs
    heavy = model.mass.diagonal() > 0.0
    damped = np.asarray(abs(loaded.damping).sum(axis=1)).ravel() > 0.0
    if by.alpha_f >= 0.5 and not heavy.all():
        raise MasslessError(
            f"{model.numbering.named(int(np.argmin(heavy)))} has no mass, and with rho_inf = 1 its error would "
            "alternate from step to step without end; take rho_inf = 0.9 or less, or the scheme 'newmark'"
        )

    beta, gamma = by.beta, by.gamma
    a_by_q = np.where(heavy, 1.0 / (beta * dt**2), 0.0)
    v_by_q = np.where(heavy | damped, gamma / (beta * dt), 1.0 / dt)
    late = 1.0 - by.alpha_f
    linear = (1.0 - by.alpha_m) * model.mass @ sparse.diags(a_by_q)
    linear = linear + late * (loaded.damping @ sparse.diags(v_by_q) + model.stiffness)
    on_v = loaded.damping + late * dt * model.stiffness
    on_a = model.mass + late * (dt * loaded.damping + 0.5 * dt**2 * model.stiffness)
    width, diagonal = model.width, linear.diagonal()
    parameters, states = loaded.fields()
    work: dict[str, Value] = {key: np.zeros(n) for key in ("next_q", "next_v", "next_a", "known", "change", "seen")}
    work |= {
        "factors": np.zeros((n, width + 1)),
        "used": np.zeros(len(model.states["tangents"])),
        "factored": np.zeros(1),
        "resisted": np.zeros(n),
    }
    rows = len(loaded.displacement_outputs)
    numbers: dict[str, Value] = {
        "dt": dt,
        "alpha_f": by.alpha_f,
        "iterations": float(by.iterations),
        "tolerance": by.tolerance,
        "floor": FLOOR * float(np.sqrt(np.sum(loaded.rest_size**2 / diagonal))),
        "reuse": REUSE,
        "foresee": float(not any(map(depends_on_rate, dict.fromkeys(model.laws)))),
        "typical": np.concatenate([np.zeros(0), *(_typical(piece.stiffness) for piece in model.pieces)]),
        "factor": gamma / (beta * dt),
        "a_by_q": a_by_q,
        "v_by_q": v_by_q,
        "on_q": banded(model.stiffness, width),
        "on_v": banded(on_v, width),
        "on_a": banded(on_a, width),
        "linear": banded(linear, width),
        "diagonal": diagonal,
        "at_start": loaded.at_start(),
        **parameters,
    }
    state: dict[str, Value] = {
        "q": np.zeros(n),
        "v": np.zeros(n),
        "a": np.zeros(n),
        "u": np.zeros(len(loaded.on_inputs)),
        "started": np.zeros(1),
        "beyond": np.zeros(n),
        "outputs": np.zeros(rows),
        **states,
        **work,
    }
    return Method(
        step=frame_implicit_step,
        parameters=with_sizes(numbers, state, len(loaded.on_inputs), loaded.outputs),
        state=state,
        frozen=("started", "beyond", "outputs", *(key for key in states if key != "flowing"), *work),
        faults={
            NOT_CONVERGED: f"the displacements of the frame are not known to {by.tolerance:g} of their size after "
            f"{by.iterations} iterations; shorten the step, allow more iterations, or look for an element that softens "
            "faster than the step can follow",
            **loaded.faults(),
        },
        references=by.references,
        jacobian=None
        if len(model.states["flowing"])
        else lambda *_: _at_rest(loaded, dt, by, linear, on_v, on_a, numbers),
    )


def _at_rest(
    loaded: Loaded, dt: float, by: Coefficients, linear: Any, on_v: Any, on_a: Any, numbers: Mapping[str, Any]
) -> Jacobian:
    """One step to first order, with every element at its stiffness at rest: of (q, v, a, u) and the inputs."""
    n, late, inputs = loaded.model.dofs, 1.0 - by.alpha_f, len(loaded.on_inputs)
    stiffness, now, none = loaded.model.stiffness.toarray(), np.eye(n), np.zeros((n, n))
    push = loaded.on_inputs.T
    known = np.hstack([-stiffness, -on_v.toarray(), -on_a.toarray(), by.alpha_f * push, late * push])
    x = np.linalg.solve(linear.toarray(), known)
    nothing = np.zeros((n, 2 * inputs))
    q = np.hstack([now, dt * now, 0.5 * dt**2 * now, nothing]) + x
    v = np.hstack([none, now, dt * now, nothing]) + numbers["v_by_q"][:, None] * x
    a = np.hstack([none, none, np.diag(numbers["a_by_q"] > 0.0), nothing]) + numbers["a_by_q"][:, None] * x
    u = np.hstack([np.zeros((inputs, 3 * n + inputs)), np.eye(inputs)])
    y = loaded.displacement_outputs @ q + loaded.velocity_outputs @ v + loaded.acceleration_outputs @ a
    y = np.vstack([y, loaded.probe_slopes() @ q, np.zeros((2 * loaded.progress, q.shape[1]))])
    whole, states = np.vstack([q, v, a, u]), 3 * n + inputs
    return Jacobian(whole[:, :states], whole[:, states:], y[:, :states], y[:, states:])


def _typical(stiffness: np.ndarray) -> np.ndarray:
    """Size of each entry of an element's tangent that would matter, row by row: by its diagonal, or what there is."""
    diagonal = np.abs(np.diag(stiffness))
    some = diagonal[diagonal > 0.0].min(initial=np.inf)
    each = np.maximum(diagonal, some if np.isfinite(some) else 0.0)
    return np.ravel(np.sqrt(np.outer(each, each)))
