"""Compiled steps of a constrained substructure: what its methods share, and one function for each family.

The numerical side, and what it asks of the specimen at its interface hq:

    M q¨ + C q˙ + K q + Σ_e b_e r_e(b_eᵀq) + hᵀf = excitation,    f = −r the force on the specimen, written as target

Every method finds the force of a stage from the same equation.  With the specimen's reply d to the last force f_d, and
an estimate F̂ of its compliance, its displacement under the next force f is foreseen as

    d̃ = e + F̂ f,    e = d − F̂ f_d                                                        (F̂ = 0: the lagged d itself)

and f follows, Γ and A being constants of the method, from

    f = base − Γ d̃   (Baumgarte)     or     hq = d̃   (index 1),   that is     f = S (base − Γ e),   S = (A + Γ F̂)⁻¹

============== ======================================================= ================ ===== ====================
method         base                                                    Γ                A     see
============== ======================================================= ================ ===== ====================
Baumgarte      m (hq¨_free + 2α hu + β² hq − Σ_p κ_p (hq_p, hu_p))     m (κ_d + β²)     1     ``baumgarte.py``
index 1        hq                                                      1                0     ``index_one.py``
generalised-α  hq without the force of this step                       1                (1)   ``index_one_gene…``
============== ======================================================= ================ ===== ====================

q¨_free is the acceleration without f, m = (hM⁻¹hᵀ)⁻¹, κ the weights of d¨ + 2α d˙ (``derivative_regression.py``),
and (1) the compliance that the numerical side has itself within a step.

Ticks.  The input d of a tick is the reply to the target of the tick before; the reply to this tick's target comes with
the next.  With one exchange a stage, tick n s + j belongs to stage j of step n: its target holds at t_n + c_j Δt.  With
one exchange a step, tick n requires the force of t_n and goes through all stages.  Displacements and responses hold at
t_n throughout.  The first tick is the first stage of the first step; what is read as d then is the specimen as it
stands, under the initial target.

Unless F̂ is given, the first ``probes`` ticks find it out (``stiffness_estimate.py``) while the substructure rests.
"""

from __future__ import annotations

import math

from ...kernels.compile import kernel
from ...kernels.history import push
from ...kernels.linear import copy_to, multiply_subtract, set_to
from ..materials.element_fields import along
from ..materials.resisting import add_forces, commit
from ..materials.uniaxial import uniaxial

NO_STIFFNESS, NOT_CONVERGED = 1, 2
PROBED, PROBING, FAILED = 0, 1, 2


# --- what all share ---------------------------------------------------------------------------------------------------


@kernel
def _add(a, x, y):  # type: ignore[no-untyped-def]
    """y += A x, in a form that is quickly compiled: most products here have few rows."""
    for j in range(x.shape[0]):
        factor = x[j]
        for i in range(y.shape[0]):
            y[i] += a[j, i] * factor


@kernel
def _solve_again(p, s):  # type: ignore[no-untyped-def]
    """S for a compliance that has just been estimated, which is that of a single axis."""
    for j in range(s.solver.shape[0]):
        s.solver[j, 0, 0] = 1.0 / (p.own[j, 0, 0] + p.gain[j, 0, 0] * s.compliance[0, 0])


@kernel
def _probe(p, s, d):  # type: ignore[no-untyped-def]
    """Count the reply to the last probe and set the next; with the last reply, estimate the compliance."""
    if s.probe > p.probes:
        return PROBED
    if s.probe > 0.0:
        on = s.target[0] != 0.0
        s.replies[0 if on else 1] += d
        s.replies[2] += d * d
    if s.probe < p.probes:
        s.target[0] = p.probe_force if s.probe % 2.0 == 0.0 else 0.0
        s.probe += 1.0
        return PROBING
    s.probe += 1.0
    half = 0.5 * p.probes
    on, off = s.replies[0] / half, s.replies[1] / half
    variance = max(s.replies[2] - half * (on * on + off * off), 0.0) / (p.probes - 2.0)
    compliance = (on - off) / p.probe_force
    doubt = p.confidence * math.sqrt(2.0 * variance / half) / abs(p.probe_force)
    # whatever the noise: k ≤ k̂ < 2k
    if not ((compliance + doubt) * p.factor < 2.0 * (compliance - doubt)):
        return FAILED
    s.compliance[0, 0] = (compliance - doubt) / p.factor
    _solve_again(p, s)
    return PROBED


@kernel
def _offset(s, u, first):  # type: ignore[no-untyped-def]
    """e = d − F̂ f_d, and the gap hq − d of the exchange that has just been answered."""
    for i in range(s.offset.shape[0]):
        s.gap[i] = s.asked[i] - u[first + i]
        s.offset[i] = u[first + i]
    multiply_subtract(s.compliance, s.target, s.offset)


@kernel
def _write(p, s, stage, y):  # type: ignore[no-untyped-def]
    axes, outputs = s.target.shape[0], p.displacement_outputs.shape[1]
    copy_to(s.target, y[:axes])
    set_to(0.0, y[axes : axes + outputs])
    _add(p.displacement_outputs, s.q, y[axes : axes + outputs])
    _add(p.velocity_outputs, s.v, y[axes : axes + outputs])
    _add(p.acceleration_outputs, s.a, y[axes : axes + outputs])
    copy_to(s.gap, y[axes + outputs : 2 * axes + outputs])
    y[2 * axes + outputs] = stage


# --- explicit Runge–Kutta ---------------------------------------------------------------------------------------------


@kernel
def _stage(p, s, u, stage):  # type: ignore[no-untyped-def]
    """State, force and slope of one stage; the force is in ``s.force``."""
    n = s.q.shape[0]
    copy_to(s.q, s.stage_q)
    copy_to(s.v, s.stage_v)
    for earlier in range(stage):
        factor = p.dt * p.tableau[stage, earlier]
        for i in range(n):
            s.stage_q[i] += factor * s.slope_q[earlier, i]
            s.stage_v[i] += factor * s.slope_v[earlier, i]
    copy_to(s.stage_v, s.slope_q[stage])
    set_to(0.0, s.slope_v[stage])
    _add(p.on_inputs, u[2 * stage : 2 * stage + 2], s.slope_v[stage])
    multiply_subtract(p.on_displacement, s.stage_q, s.slope_v[stage])
    multiply_subtract(p.on_velocity, s.stage_v, s.slope_v[stage])
    q, v, elapsed, slope = s.stage_q, s.stage_v, p.nodes[stage] * p.dt, s.slope_v[stage]
    add_forces(p.law, p.terms, p.elements, s.memory, s.tried, q, v, elapsed, p.action, -1.0, s.forces, slope)
    set_to(0.0, s.base)
    _add(p.base_acceleration, s.slope_v[stage], s.base)
    _add(p.base_velocity, s.stage_v, s.base)
    _add(p.base_displacement, s.stage_q, s.base)
    for point in range(s.history.shape[0]):
        multiply_subtract(p.base_history[stage, point], s.history[point], s.base)
    copy_to(s.base, s.right)
    multiply_subtract(p.gain[stage], s.offset, s.right)
    set_to(0.0, s.force)
    _add(s.solver[stage], s.right, s.force)
    multiply_subtract(p.on_force, s.force, s.slope_v[stage])


@kernel
def _finish(p, s):  # type: ignore[no-untyped-def]
    """From the slopes to the next step."""
    for stage in range(p.weights.shape[0]):
        factor = p.dt * p.weights[stage]
        for i in range(s.q.shape[0]):
            s.q[i] += factor * s.slope_q[stage, i]
            s.v[i] += factor * s.slope_v[stage, i]
    commit(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, p.dt)


@kernel
def _remember(p, s):  # type: ignore[no-untyped-def]
    """Put (hq, hu) of the step's beginning in front of the history."""
    axes = s.target.shape[0]
    set_to(0.0, s.newest)
    _add(p.constraint, s.q, s.newest[:axes])
    _add(p.constraint, s.v, s.newest[axes:])
    push(s.history, s.newest)


@kernel
def _exchange(p, s, u, first):  # type: ignore[no-untyped-def]
    """From the reply to the last force to the next force; ``first`` is where the replies stand in u."""
    stages, stage = p.weights.shape[0], int(s.stage)
    _offset(s, u, first)
    if s.started == 1.0:
        if p.measured_slopes == 1.0:
            # the slope that was taken with the force foreseen, once more with the displacement it gave
            before = stage - 1 if stage > 0 else stages - 1
            copy_to(s.base, s.right)
            for i in range(s.right.shape[0]):
                s.right[i] -= s.target[i]
            multiply_subtract(p.gain[before], u[first:], s.right)
            multiply_subtract(p.on_force, s.right, s.slope_v[before])
        if stage == 0:
            _finish(p, s)
    s.started = 1.0
    if stage == 0:
        _remember(p, s)
    for j in range(stage, stage + 1 if p.per_stage == 1.0 else stages):
        _stage(p, s, u, j)
        if j == stage:  # the one that is exchanged
            copy_to(s.force, s.target)
            set_to(0.0, s.asked)
            _add(p.constraint, s.stage_q, s.asked)
    if stage == 0:
        copy_to(s.slope_v[0], s.a)
    if p.per_stage == 1.0:
        s.stage = 0.0 if stage == stages - 1 else s.stage + 1.0


def exchange_runge_kutta_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    first, stage = 2 * p.weights.shape[0], s.stage
    probed = _probe(p, s, u[first])
    if probed == PROBED:
        _exchange(p, s, u, first)
    _write(p, s, stage, y)
    return NO_STIFFNESS if probed == FAILED else 0


# --- generalised-α ----------------------------------------------------------------------------------------------------


@kernel
def _free_interface(p, s):  # type: ignore[no-untyped-def]
    """Force of this step, and with it the new acceleration; ``s.next_a`` holds the one without this force."""
    set_to(0.0, s.right)
    for i in range(s.q.shape[0]):
        s.trial_q[i] = s.next_q[i] + p.dt * p.dt * p.beta * s.next_a[i]
    _add(p.constraint, s.trial_q, s.right)
    for i in range(s.right.shape[0]):
        s.right[i] -= s.offset[i]
    set_to(0.0, s.force)
    _add(s.solver[0], s.right, s.force)
    for i in range(s.force.shape[0]):
        for k in range(s.q.shape[0]):
            s.next_a[k] -= (1.0 - p.alpha_f) * p.on_force[i, k] * s.force[i]


@kernel
def _advance(p, s, u):  # type: ignore[no-untyped-def]
    """One step of generalised-α; the equations are those of ``generalized_alpha.py`` with the interface's force."""
    n, elements, status = s.q.shape[0], p.law.shape[0], 0
    for i in range(n):
        s.next_q[i] = s.q[i] + p.dt * s.v[i] + p.dt * p.dt * (0.5 - p.beta) * s.a[i]
    set_to(0.0, s.known)
    for j in range(2):
        weighted = (1.0 - p.alpha_f) * u[j] + p.alpha_f * s.u[j]
        for i in range(n):
            s.known[i] += p.on_inputs[j, i] * weighted
    multiply_subtract(p.on_displacement, s.q, s.known)
    multiply_subtract(p.on_velocity, s.v, s.known)
    multiply_subtract(p.on_acceleration, s.a, s.known)
    for i in range(s.target.shape[0]):
        for k in range(n):
            s.known[k] -= p.alpha_f * p.on_force[i, k] * s.target[i]
    scale = 0.0
    for e in range(elements):
        s.predicted[e] = along(p.terms[e], s.next_q)
        start, start_rate = along(p.terms[e], s.q), along(p.terms[e], s.v)
        s.predicted_rate[e] = start_rate + p.dt * (1.0 - p.gamma) * along(p.terms[e], s.a)
        s.trial[e], s.rate[e] = s.predicted[e], s.predicted_rate[e]
        force = p.alpha_f * uniaxial(p.law[e], p.elements[e], s.memory[e], start, start_rate, 0.0, s.tried[e])[0]
        for i in range(n):
            s.known[i] -= p.action[e, i] * force
    for i in range(n):
        scale = max(scale, abs(s.q[i]) + abs(s.next_q[i]) + p.dt * p.dt * p.beta * abs(s.known[i]))
    for _ in range(int(p.iterations) if elements > 0 else 1):
        copy_to(s.known, s.next_a)
        for e in range(elements):
            force = uniaxial(p.law[e], p.elements[e], s.memory[e], s.trial[e], s.rate[e], p.dt, s.tried[e])[0]
            as_initial = p.initial[e] * (s.trial[e] - s.predicted[e])
            as_initial += p.initial_damping[e] * (s.rate[e] - s.predicted_rate[e])
            force = (1.0 - p.alpha_f) * (as_initial - force)
            for i in range(n):
                s.next_a[i] += p.action[e, i] * force
        _free_interface(p, s)
        status = 0
        for e in range(elements):
            gained = along(p.terms[e], s.next_a)
            deformation = s.predicted[e] + p.dt * p.dt * p.beta * gained
            s.rate[e] = s.predicted_rate[e] + p.dt * p.gamma * gained
            if not (abs(deformation - s.trial[e]) <= p.tolerance * scale):  # NaN has not converged either
                status = NOT_CONVERGED
            s.trial[e] = deformation
        if status == 0:
            break
    for i in range(n):
        s.next_q[i] += p.dt * p.dt * p.beta * s.next_a[i]
        s.v[i] += p.dt * ((1.0 - p.gamma) * s.a[i] + p.gamma * s.next_a[i])
    commit(p.law, p.terms, p.elements, s.memory, s.tried, s.next_q, s.v, p.dt)
    copy_to(s.next_q, s.q)
    copy_to(s.next_a, s.a)
    return status


@kernel
def _begin(p, s, u):  # type: ignore[no-untyped-def]
    """Force and acceleration of the initial state."""
    set_to(0.0, s.right)
    _add(p.constraint, s.q, s.right)
    for i in range(s.right.shape[0]):
        s.right[i] -= s.offset[i]
    set_to(0.0, s.force)
    _add(s.solver[1], s.right, s.force)
    _add(p.at_start, u[:2], s.a)
    multiply_subtract(p.force_at_start, s.force, s.a)


def exchange_generalized_alpha_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    status = 0
    probed = _probe(p, s, u[2])
    if probed == PROBED:
        _offset(s, u, 2)
        if s.started == 0.0:
            s.started = 1.0
            _begin(p, s, u)
        else:
            status = _advance(p, s, u)
        copy_to(u[:2], s.u)
        copy_to(s.force, s.target)
        set_to(0.0, s.asked)
        _add(p.constraint, s.q, s.asked)
    _write(p, s, 0.0, y)
    return NO_STIFFNESS if probed == FAILED else status
