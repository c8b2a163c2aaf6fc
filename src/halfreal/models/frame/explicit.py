"""Frames by KR-α: explicit, stable at any step, one evaluation of the elements in a step.

The method is that of ``halfreal.models.schemes.kr_alpha``, with banded factors in the place of its inverses.  With
Ĝ = M + J, J = γΔt C + βΔt² K_0, G = (1 − α_m) M + (1 − α_f) J, H = α_m M + α_f J (Ĝ = G + H) and x = Ĝ⁻¹M a,

    v_{n+1} = v_n + Δt x_n,    q_{n+1} = q_n + Δt v_n + Δt² (½ + γ) x_n
    G a_{n+1} = Ĝ M⁻¹ (F_{n+1−α_f} − C v_{n+1−α_f} − K q_{n+1−α_f} − g_{n+1−α_f}) − H a_n

with K the stiffness at rest and g what the elements resist with beyond it; the velocity that is given out is v + γΔt x.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...contracts.massless import MasslessError
from ...contracts.system import Method
from ...kernels.band import band_multiply_add, band_solve, banded, factored
from ...kernels.block import Jacobian, Value
from ...kernels.linear import copy_to, multiply_add, set_to, three_products
from ..schemes.scheme import Coefficients
from .evaluate import add_damping, commit_elements, evaluate, read_laws
from .loaded import Loaded, first_order, no_solution
from .low_rank import add_modes, prepared, solve_with_modes


def frame_explicit_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, late, status = s.q.shape[0], 1.0 - p.alpha_f, 0
    if s.started == 0.0:
        s.started = 1.0
        multiply_add(p.at_start, u, s.a)
        set_to(0.0, s.x)
        band_multiply_add(p.mass, 1.0, s.a, s.x)
        solve_with_modes(p.whole_factors, p.modes, p.whole_solved, p.whole_small, s.x, s.in_modes)
        for i in range(n):
            s.v[i] -= p.gamma * p.dt * s.x[i]
    else:
        set_to(0.0, s.x)
        band_multiply_add(p.mass, 1.0, s.a, s.x)
        solve_with_modes(p.whole_factors, p.modes, p.whole_solved, p.whole_small, s.x, s.in_modes)
        set_to(0.0, s.load)
        for j in range(u.shape[0]):
            weighted = late * u[j] + p.alpha_f * s.u[j]
            for i in range(n):
                s.load[i] += p.on_inputs[j, i] * weighted
        for i in range(n):
            s.next_q[i] = s.q[i] + p.dt * s.v[i] + p.dt * p.dt * (0.5 + p.gamma) * s.x[i]
            s.next_v[i] = s.v[i] + p.dt * s.x[i]
            s.work[i] = late * s.next_v[i] + p.alpha_f * s.v[i]
            s.load[i] -= p.alpha_f * s.beyond[i]
        band_multiply_add(p.damping, -1.0, s.work, s.load)
        add_modes(p.modes, p.rates, -1.0, s.work, s.load)
        for i in range(n):
            s.work[i] = late * s.next_q[i] + p.alpha_f * s.q[i]
        band_multiply_add(p.stiffness, -1.0, s.work, s.load)
        set_to(0.0, s.beyond)
        failed = evaluate(
            p.table, p.dofs, p.kinematics, p.rest, p.rest_f, p.initial, p.numbers, p.material, p.materials,
            s.memory, s.flowing, s.trial, s.strain, s.stress, s.inner, s.inner_trial, s.tangents, s.scratch,
            s.next_q, s.next_v, p.dt, 0.0, s.beyond,
        )  # fmt: skip
        if failed != 0:
            status = no_solution(failed)
        damped = s.held if p.committed != 0.0 else s.tangents
        add_damping(p.table, p.dofs, p.kinematics, p.initial, damped, p.shares, s.scratch, s.next_v, s.beyond)
        copy_to(s.tangents, s.held)
        for i in range(n):
            s.load[i] -= late * s.beyond[i]
        band_solve(p.mass_factors, s.load)
        set_to(0.0, s.work)
        band_multiply_add(p.whole, 1.0, s.load, s.work)
        band_multiply_add(p.before, -1.0, s.a, s.work)
        add_modes(p.modes, p.rates, p.gamma * p.dt, s.load, s.work)
        add_modes(p.modes, p.rates, -p.alpha_f * p.gamma * p.dt, s.a, s.work)
        solve_with_modes(p.after_factors, p.modes, p.after_solved, p.after_small, s.work, s.in_modes)
        copy_to(s.work, s.a)
        copy_to(s.next_q, s.q)
        copy_to(s.next_v, s.v)
        commit_elements(s.memory, s.flowing, s.trial, s.inner, s.inner_trial)
        set_to(0.0, s.x)
        band_multiply_add(p.mass, 1.0, s.a, s.x)
        solve_with_modes(p.whole_factors, p.modes, p.whole_solved, p.whole_small, s.x, s.in_modes)
    copy_to(u, s.u)
    for i in range(n):
        s.work[i] = s.v[i] + p.gamma * p.dt * s.x[i]
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.work, p.acceleration_outputs, s.a, s.outputs)
    read_laws(p.probes, s.strain, s.stress, s.outputs, y)
    return status


def explicit(loaded: Loaded, dt: float, by: Coefficients) -> Method:
    """The method of a frame for given coefficients."""
    loaded = replace(loaded, progress=False)
    model, n = loaded.model, loaded.model.dofs
    heavy = model.mass.diagonal() > 0.0
    if not heavy.all():
        raise MasslessError(
            f"{model.numbering.named(int(np.argmin(heavy)))} has no mass, but an explicit scheme needs mass "
            "everywhere; give the node inertia, element_mass = 'consistent' with a mass per length, or use the "
            "scheme 'newmark'"
        )
    damping, modes, rates = loaded.damping.constant, loaded.damping.modes, loaded.damping.rates
    implicit = by.gamma * dt * damping + by.beta * dt**2 * model.stiffness
    whole = model.mass + implicit
    width = model.width
    parameters, states = loaded.fields()

    work = {key: np.zeros(n) for key in ("next_q", "next_v", "load", "work", "x")}
    work["in_modes"] = np.zeros(len(modes))
    whole_factors = factored(whole, width)
    after_factors = factored((1.0 - by.alpha_m) * model.mass + (1.0 - by.alpha_f) * implicit, width)
    whole_solved, whole_small = prepared(whole_factors, modes, rates, by.gamma * dt)
    after_solved, after_small = prepared(after_factors, modes, rates, (1.0 - by.alpha_f) * by.gamma * dt)
    numbers: dict[str, Value] = {
        "dt": dt,
        "alpha_f": by.alpha_f,
        "gamma": by.gamma,
        "mass": banded(model.mass, loaded.mass_width),
        "damping": banded(damping, width),
        "stiffness": banded(model.stiffness, width),
        "whole": banded(whole, width),
        "before": banded(by.alpha_m * model.mass + by.alpha_f * implicit, width),
        "mass_factors": factored(model.mass, loaded.mass_width),
        "whole_factors": whole_factors,
        "whole_solved": whole_solved,
        "whole_small": whole_small,
        "after_factors": after_factors,
        "after_solved": after_solved,
        "after_small": after_small,
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
        "outputs": np.zeros(len(loaded.displacement_outputs)),
        **states,
        **work,
    }
    return Method(
        step=frame_explicit_step,
        parameters=numbers,
        state=state,
        frozen=("started", "beyond", "outputs", *(key for key in states if key != "flowing"), *work),
        faults=loaded.faults(),
        references=by.references,
        jacobian=None if len(model.states["flowing"]) else lambda *_: _at_rest(loaded, dt, by),
    )


def _at_rest(loaded: Loaded, dt: float, by: Coefficients) -> Jacobian:
    """One step to first order, with every element at its stiffness at rest: of (q, v, a, u) and the inputs."""
    n, late, inputs, gamma = loaded.model.dofs, 1.0 - by.alpha_f, len(loaded.on_inputs), by.gamma
    m, c, k = loaded.model.mass.toarray(), loaded.damping.matrix(), loaded.model.stiffness.toarray()
    implicit = gamma * dt * c + by.beta * dt**2 * k
    now = np.eye(n, 3 * n + 2 * inputs)
    then = {"q": now, "v": np.roll(now, n, axis=1), "a": np.roll(now, 2 * n, axis=1)}
    to_x = np.linalg.solve(m + implicit, m)
    x = to_x @ then["a"]
    q = then["q"] + dt * then["v"] + dt**2 * (0.5 + gamma) * x
    v = then["v"] + dt * x
    net = -c @ (late * v + by.alpha_f * then["v"]) - k @ (late * q + by.alpha_f * then["q"])
    net[:, 3 * n : 3 * n + inputs] += by.alpha_f * loaded.on_inputs.T
    net[:, 3 * n + inputs :] += late * loaded.on_inputs.T
    right = (m + implicit) @ np.linalg.solve(m, net) - (by.alpha_m * m + by.alpha_f * implicit) @ then["a"]
    a = np.linalg.solve((1.0 - by.alpha_m) * m + late * implicit, right)
    u = np.hstack([np.zeros((inputs, 3 * n + inputs)), np.eye(inputs)])
    speed = v + gamma * dt * (to_x @ a)
    y = loaded.displacement_outputs @ q + loaded.velocity_outputs @ speed + loaded.acceleration_outputs @ a
    y = np.vstack([y, loaded.probe_slopes() @ q])
    return first_order(np.vstack([q, v, a, u]), y)
