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
from ...kernels.any_size import with_sizes
from ...kernels.band import band_factor, band_multiply_add, band_solve, banded
from ...kernels.block import Value
from ...kernels.linear import copy_to, multiply_add, set_to, three_products
from ..schemes.scheme import Coefficients
from .evaluate import commit_elements, evaluate, read_laws
from .loaded import Loaded, no_solution


def frame_explicit_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, late, status = s.q.shape[0], 1.0 - p.alpha_f, 0
    if s.started[0] == 0.0:
        s.started[0] = 1.0
        multiply_add(p.at_start, u, s.a)
        set_to(0.0, s.x)
        band_multiply_add(p.mass, 1.0, s.a, s.x)
        band_solve(p.whole_factors, s.x)
        for i in range(n):
            s.v[i] -= p.gamma * p.dt * s.x[i]
    else:
        set_to(0.0, s.x)
        band_multiply_add(p.mass, 1.0, s.a, s.x)
        band_solve(p.whole_factors, s.x)
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
        for i in range(n):
            s.load[i] -= late * s.beyond[i]
        band_solve(p.mass_factors, s.load)
        set_to(0.0, s.work)
        band_multiply_add(p.whole, 1.0, s.load, s.work)
        band_multiply_add(p.before, -1.0, s.a, s.work)
        band_solve(p.after_factors, s.work)
        copy_to(s.work, s.a)
        copy_to(s.next_q, s.q)
        copy_to(s.next_v, s.v)
        commit_elements(s.memory, s.flowing, s.trial, s.inner, s.inner_trial)
        set_to(0.0, s.x)
        band_multiply_add(p.mass, 1.0, s.a, s.x)
        band_solve(p.whole_factors, s.x)
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
            f"{model.numbering.named(int(np.argmin(heavy)))} has no mass, and 'kr-alpha' asks for some everywhere; "
            "give the node inertia, element_mass = 'consistent' with a mass per length, or take the scheme 'newmark'"
        )
    implicit = by.gamma * dt * loaded.damping + by.beta * dt**2 * model.stiffness
    whole = model.mass + implicit
    width = model.width
    parameters, states = loaded.fields()

    def factors(matrix: object, wide: int) -> np.ndarray:
        band = banded(matrix, wide)  # type: ignore[arg-type]
        band_factor(band)
        return band

    work = {key: np.zeros(n) for key in ("next_q", "next_v", "load", "work", "x")}
    numbers: dict[str, Value] = {
        "dt": dt,
        "alpha_f": by.alpha_f,
        "gamma": by.gamma,
        "mass": banded(model.mass, loaded.mass_width),
        "damping": banded(loaded.damping, width),
        "stiffness": banded(model.stiffness, width),
        "whole": banded(whole, width),
        "before": banded(by.alpha_m * model.mass + by.alpha_f * implicit, width),
        "mass_factors": factors(model.mass, loaded.mass_width),
        "whole_factors": factors(whole, width),
        "after_factors": factors((1.0 - by.alpha_m) * model.mass + (1.0 - by.alpha_f) * implicit, width),
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
        "outputs": np.zeros(len(loaded.displacement_outputs)),
        **states,
        **work,
    }
    return Method(
        step=frame_explicit_step,
        parameters=with_sizes(numbers, state, len(loaded.on_inputs), loaded.outputs),
        state=state,
        frozen=("started", "beyond", "outputs", *(key for key in states if key != "flowing"), *work),
        faults=loaded.faults(),
        references=by.references,
    )
