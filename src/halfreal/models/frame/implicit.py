"""Frames by generalised-α and its relatives (Newmark, HHT-α), with Newton iterations that are counted.

The method is that of ``halfreal.models.schemes.generalized_alpha``, with a displacement x as its unknown:

    R = F_{n+1−α_f} − M a_{n+1−α_m} − C v_{n+1−α_f} − K q_{n+1−α_f} − g_{n+1−α_f} = 0
    q_{n+1} = q_n + Δt v_n + ½Δt² a_n + x,    v_{n+1} = v_n + Δt a_n + c_v x,    a_{n+1} = a_n + c_a x
    c_v = γ/(βΔt),    c_a = 1/(βΔt²)
    E dx = R,        E = (1 − α_m) c_a M + (1 − α_f) (c_v C + K + Σ Aᵀ (k_t − k_rest) A)

K is the stiffness of the frame at rest, g what the elements resist with beyond it.
The iteration starts from x = 0, the motion that continues with a_n: there R is F − K q_{n+1−α_f} − C v_{n+1−α_f} − M
a_n − g, and g is what the elements come to along their last tangents: Newton's method from q_n makes the same first
step.  Elements are evaluated after each correction, and so once in a step without events.  With laws of the rate, which
is no part of the tangents, they are evaluated at x = 0 too.

It ends when √(Σ R²/D), D the diagonal of E at the start of the test, is below ``tolerance`` times √(Σ D Δq²): when the
displacements are right to this part of the way that they go.  A part of the displacements themselves would not do: with
short steps the errors of many steps, which may point the same way, add up.  If tangents have changed with the last
correction, another is made, with factors of the new ones.  One correction is always made, so that a linear frame is
solved exactly.  From ``CYCLE`` on, corrections after which more than half is left are followed by half corrections:
hinges that yield in one iteration and unload in the next would else do so for ever.  What is left, and how many
corrections there were, are channels of their own; more than ``tolerance`` after ``iterations`` is a fault.

E is banded, and its factors are kept as long as no tangent has changed by more than ``REUSE``, and then renewed from
the first column on that has changed: between events a frame with bilinear hinges factors nothing, and one with curved
laws seldom.

Degrees of freedom without mass have no acceleration, c_a = 0; where they are not damped either, v is the difference of
displacements, c_v = 1/Δt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from ...contracts.massless import MasslessError
from ...contracts.system import Method
from ...kernels.band import band_factor, band_multiply_add, banded, half_bandwidth
from ...kernels.block import Jacobian, Value
from ...kernels.compile import kernel
from ...kernels.linear import copy_to, multiply_add, set_to, three_products
from ..schemes.scheme import Coefficients
from .evaluate import (
    AT_DOF,
    AT_K,
    COUNT,
    DOFS,
    add_along_tangents,
    add_damping,
    add_tangents,
    commit_elements,
    evaluate,
    read_laws,
)
from .in_modes import in_modes
from .law import depends_on_rate
from .loaded import NEAR, Loaded, first_order, no_solution
from .low_rank import add_modes, prepare_modes, solve_with_modes

NOT_CONVERGED = 1
ROUNDING = 1e-12
"""Part of the displacements below which nothing is left to correct."""
REUSE = 1e-2
"""Change of a tangent, as a part of what is typical of its element, up to which old factors serve."""
WORK = ("next_q", "next_v", "next_a", "between_q", "between_v", "known", "change")
CYCLE = 6
"""Iterations after which a correction that does not bring much is followed by half of one."""
LEFT_OUT = 1e-3
"""Part of a step's terms that symmetric tangents may leave out in motion: axial forces that change, times the lean."""
UNSETTLED = 1e-5
"""The same of exact tangents: what an iteration that ends at its tolerance leaves of a small perturbation."""
MOST_DENSE = 200
"""Degrees of freedom up to which a frame that leans is linearised in motion as it is, without symmetry."""
FLOOR = 1e-13
"""Part of the elements' forces at rest that counts as rounding."""


@kernel
def _lowest(p, e):  # type: ignore[no-untyped-def]
    """First degree of freedom of an element."""
    return int(p.dofs[np.uint64(int(p.table[e, AT_DOF]))]) if p.table[e, DOFS] > 0.0 else p.linear.shape[0]


@kernel
def _outdated(p, s):  # type: ignore[no-untyped-def]
    """First column of E with an element whose tangent has changed since the factors were made; n if there is none."""
    first = s.factors.shape[0]
    for e in range(p.table.shape[0]):
        lowest = _lowest(p, e)
        if lowest < first:
            at, count = np.uint64(int(p.table[e, AT_K])), np.uint64(int(p.table[e, COUNT]))
            for i in range(at, at + count * count):
                if abs(s.tangents[i] - s.used[i]) > p.reuse * (abs(s.tangents[i]) + p.typical[i]):
                    first = lowest
    return first


@kernel
def _factor(p, s, first):  # type: ignore[no-untyped-def]
    """Factors of E with the present tangents, from a column on."""
    for e in range(p.table.shape[0]):
        if _lowest(p, e) >= first:
            at, count = np.uint64(int(p.table[e, AT_K])), np.uint64(int(p.table[e, COUNT]))
            for i in range(at, at + count * count):
                s.used[i] = s.tangents[i]
    for i in range(first, s.factors.shape[0]):
        copy_to(p.linear[i], s.factors[i])
    late = 1.0 - p.alpha_f
    damped = s.held if p.committed != 0.0 else s.used
    add_tangents(
        p.table, p.dofs, p.kinematics, p.initial, s.used, late, damped, p.shares, late * p.factor, first, s.scratch,
        s.factors,
    )  # fmt: skip
    band_factor(s.factors, first)
    prepare_modes(s.factors, p.modes, p.rates, late * p.factor, s.solved, s.small)


@kernel
def _elements(p, s):  # type: ignore[no-untyped-def]
    """Forces of the elements on trial at the new displacements, beyond their stiffness at rest."""
    set_to(0.0, s.beyond)
    failed = evaluate(
        p.table, p.dofs, p.kinematics, p.rest, p.rest_f, p.initial, p.numbers, p.material, p.materials,
        s.memory, s.flowing, s.trial, s.strain, s.stress, s.inner, s.inner_trial, s.tangents, s.scratch,
            s.next_q, s.next_v, p.dt, p.factor, s.beyond,
    )  # fmt: skip
    damped = s.held if p.committed != 0.0 else s.tangents
    add_damping(p.table, p.dofs, p.kinematics, p.initial, damped, p.shares, s.scratch, s.next_v, s.beyond)
    return failed


@kernel
def _commit(p, s):  # type: ignore[no-untyped-def]
    """What is on trial becomes the state; factors with another damping no longer serve."""
    commit_elements(s.memory, s.flowing, s.trial, s.inner, s.inner_trial)
    if p.committed != 0.0:
        for i in range(s.tangents.shape[0]):
            if abs(s.tangents[i] - s.held[i]) > p.reuse * (abs(s.tangents[i]) + p.typical[i]):
                s.outdated = 0.0
        copy_to(s.tangents, s.held)


def frame_implicit_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    status, n, late = 0, s.q.shape[0], 1.0 - p.alpha_f
    left, count = 0.0, 0
    if s.started == 0.0:
        s.started = 1.0
        multiply_add(p.at_start, u, s.a)
    else:
        set_to(0.0, s.known)
        for j in range(u.shape[0]):
            weighted = late * u[j] + p.alpha_f * s.u[j]
            for i in range(n):
                s.known[i] += p.on_inputs[j, i] * weighted
        # all forces where the step leads with the acceleration as it is
        for i in range(n):
            s.change[i] = p.dt * s.v[i] + 0.5 * p.dt * p.dt * s.a[i]
            s.next_q[i] = s.q[i] + s.change[i]
            s.next_v[i] = s.v[i] + p.dt * s.a[i]
            s.next_a[i] = s.a[i]
            s.known[i] -= p.alpha_f * s.beyond[i]
            s.between_q[i] = s.q[i] + late * s.change[i]
            s.between_v[i] = s.v[i] + late * p.dt * s.a[i]
        band_multiply_add(p.stiffness, -1.0, s.between_q, s.known)
        band_multiply_add(p.damping, -1.0, s.between_v, s.known)
        add_modes(p.modes, p.rates, -1.0, s.between_v, s.known)
        band_multiply_add(p.mass, -1.0, s.a, s.known)
        outdated = int(s.outdated)
        if p.guessed == 1.0:
            add_along_tangents(p.table, p.dofs, p.kinematics, p.initial, s.tangents, s.change, s.scratch, s.beyond)
        else:
            _elements(p, s)
            outdated = min(outdated, _outdated(p, s))
        failed, share, before = 0, 1.0, np.inf
        status = NOT_CONVERGED
        for iteration in range(int(p.iterations)):
            count = iteration + 1
            if outdated < n:
                _factor(p, s, outdated)
            for i in range(n):
                s.change[i] = s.known[i] - late * s.beyond[i]
            solve_with_modes(s.factors, p.modes, s.solved, s.small, s.change, s.in_modes)
            for i in range(n):
                s.change[i] *= share
                s.next_q[i] += s.change[i]
                s.next_v[i] += p.v_by_q[i] * s.change[i]
                s.next_a[i] += p.a_by_q[i] * s.change[i]
            band_multiply_add(p.linear, -1.0, s.change, s.known)
            add_modes(p.modes, p.rates, -late * p.factor, s.change, s.known)
            failed = _elements(p, s)
            outdated = _outdated(p, s)
            left, way, size = 0.0, 0.0, 0.0
            for i in range(n):
                force = s.known[i] - late * s.beyond[i]
                moved = s.next_q[i] - s.q[i]
                left += force * force * p.inverse[i]
                way += p.diagonal[i] * moved * moved
                size += p.diagonal[i] * s.next_q[i] * s.next_q[i]
            left, way, size = np.sqrt(left), np.sqrt(way), np.sqrt(size + way)
            enough = p.tolerance * way + min(p.tolerance, ROUNDING) * size + p.floor
            share = 0.5 if count >= CYCLE and left > 0.5 * before else 1.0
            before = left
            left = left / size if left > ROUNDING * size + p.floor else 0.0
            settled = status == 0  # of the iteration before
            status = 0 if before <= enough else NOT_CONVERGED
            if status == 0 and (settled or outdated == n):
                break
        s.outdated = outdated
        if failed != 0:
            status = no_solution(failed)
        copy_to(s.next_q, s.q)
        copy_to(s.next_v, s.v)
        for i in range(n):
            s.a[i] = s.next_a[i] if p.a_by_q[i] > 0.0 else 0.0
        _commit(p, s)
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
    damping = loaded.damping.constant
    damped = np.asarray(abs(damping).sum(axis=1)).ravel() > 0.0
    if by.alpha_f >= 0.5 and not heavy.all():
        raise MasslessError(
            f"{model.numbering.named(int(np.argmin(heavy)))} has no mass, but with rho_inf = 1 its error would "
            "alternate from step to step without decay; use rho_inf = 0.9 or less, or the scheme 'newmark'"
        )

    beta, gamma = by.beta, by.gamma
    a_by_q = np.where(heavy, 1.0 / (beta * dt**2), 0.0)
    v_by_q = np.where(heavy | damped, gamma / (beta * dt), 1.0 / dt)
    late = 1.0 - by.alpha_f

    def without_pieces(one: Loaded) -> Any:
        inertia = (1.0 - by.alpha_m) * one.model.mass @ sparse.diags(a_by_q)
        return inertia + late * (one.damping.constant @ sparse.diags(v_by_q) + one.model.stiffness)

    def offered(p: Any, s: Mapping[str, Any], t: float, u: np.ndarray, after: Mapping[str, Any]) -> Jacobian:
        now = loaded.present(s, after)
        kink = loaded.two_slopes if np.abs(after["q"]).max() < NEAR else 0.0
        uncounted = 2 if kink and loaded.progress else 0  # an iteration more where a law has another slope
        if now is not loaded and n <= MOST_DENSE and any(piece.leans for piece in model.pieces):
            now = now.not_symmetric(after)
            return replace(
                _dense(now, dt, by, without_pieces(now), numbers), rough=max(UNSETTLED, kink), uncounted=uncounted
            )
        found = in_modes(now, dt, by) or _dense(now, dt, by, without_pieces(now), numbers)
        left_out = 0.0 if now is loaded else LEFT_OUT
        return replace(found, rough=max(left_out, kink), uncounted=uncounted)

    linear = without_pieces(loaded)
    width, diagonal = model.width, linear.diagonal()
    parameters, states = loaded.fields()
    work: dict[str, Value] = {key: np.zeros(n) for key in WORK}
    work |= {
        "factors": np.zeros((n, width + 1)),
        "used": np.zeros(len(model.states["tangents"])),
        "outdated": 0.0,
        "solved": np.zeros_like(loaded.damping.modes),
        "small": np.zeros((len(loaded.damping.modes), len(loaded.damping.modes))),
        "in_modes": np.zeros(len(loaded.damping.modes)),
    }
    rows = len(loaded.displacement_outputs)
    numbers: dict[str, Value] = {
        "dt": dt,
        "alpha_f": by.alpha_f,
        "iterations": float(by.iterations),
        "tolerance": by.tolerance,
        "floor": FLOOR * float(np.sqrt(np.sum(loaded.rest_size**2 / diagonal))),
        "reuse": REUSE,
        "typical": np.concatenate([np.zeros(0), *(_typical(piece.stiffness) for piece in model.pieces)]),
        "factor": gamma / (beta * dt),
        "a_by_q": a_by_q,
        "v_by_q": v_by_q,
        "guessed": float(not any(map(depends_on_rate, dict.fromkeys(model.laws))) and not loaded.damping.shares.any()),
        "stiffness": banded(model.stiffness, half_bandwidth(model.stiffness)),
        "damping": banded(damping, half_bandwidth(damping)),
        "mass": banded(model.mass, half_bandwidth(model.mass)),
        "linear": banded(linear, width),
        "diagonal": diagonal,
        "inverse": 1.0 / diagonal,
        "at_start": loaded.at_start(),
        **parameters,
    }
    state: dict[str, Value] = {
        "q": np.zeros(n),
        "v": np.zeros(n),
        "a": np.zeros(n),
        "u": np.zeros(len(loaded.on_inputs)),
        "started": 0.0,
        "beyond": np.zeros(n),
        "outputs": np.zeros(rows),
        **states,
        **work,
    }
    return Method(
        step=frame_implicit_step,
        parameters=numbers,
        state=state,
        frozen=("started", "beyond", "outputs", *(key for key in states if key != "flowing"), *work),
        faults={
            NOT_CONVERGED: f"the displacements of the frame have not converged to {by.tolerance:g} of their increment "
            f"after {by.iterations} iterations; shorten the step, allow more iterations, or check for an element that "
            "softens faster than the step can follow",
            **loaded.faults(),
        },
        references=by.references,
        jacobian=None if len(model.states["flowing"]) else offered,
    )


def _dense(loaded: Loaded, dt: float, by: Coefficients, linear: Any, numbers: Mapping[str, Any]) -> Jacobian:
    """One step to first order, with every element at its tangent: of (q, v, a, u) and the inputs."""
    n, late, inputs = loaded.model.dofs, 1.0 - by.alpha_f, len(loaded.on_inputs)
    stiffness, now, none = loaded.model.stiffness.toarray(), np.eye(n), np.zeros((n, n))
    push = loaded.on_inputs.T
    modal = (loaded.damping.modes.T * loaded.damping.rates) @ loaded.damping.modes
    damping = loaded.damping.constant.toarray() + modal
    on_v = damping + late * dt * stiffness
    on_a = loaded.model.mass.toarray() + late * (dt * damping + 0.5 * dt**2 * stiffness)
    known = np.hstack([-stiffness, -on_v, -on_a, by.alpha_f * push, late * push])
    x = np.linalg.solve(linear.toarray() + late * numbers["factor"] * modal, known)
    nothing = np.zeros((n, 2 * inputs))
    q = np.hstack([now, dt * now, 0.5 * dt**2 * now, nothing]) + x
    v = np.hstack([none, now, dt * now, nothing]) + numbers["v_by_q"][:, None] * x
    a = np.hstack([none, none, np.diag(numbers["a_by_q"] > 0.0), nothing]) + numbers["a_by_q"][:, None] * x
    u = np.hstack([np.zeros((inputs, 3 * n + inputs)), np.eye(inputs)])
    y = loaded.displacement_outputs @ q + loaded.velocity_outputs @ v + loaded.acceleration_outputs @ a
    y = np.vstack([y, loaded.probe_slopes() @ q, np.zeros((2 * loaded.progress, q.shape[1]))])
    return first_order(np.vstack([q, v, a, u]), y)


def _typical(stiffness: np.ndarray) -> np.ndarray:
    """Size of each entry of an element's tangent that would matter, row by row: by its diagonal, or what there is."""
    diagonal = np.abs(np.diag(stiffness))
    some = diagonal[diagonal > 0.0].min(initial=np.inf)
    each = np.maximum(diagonal, some if np.isfinite(some) else 0.0)
    return np.ravel(np.sqrt(np.outer(each, each)))
