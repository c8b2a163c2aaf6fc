"""Generalised-α, Newmark, HHT-α and central differences of structures with banded matrices (``in_band.py``).

The equations and the iteration are those of ``generalized_alpha.py``.  In the place of products with G⁻¹ there are
products with M, C and K at the weighted motion, and solutions with the factors of G:

    q̃ = q_n + Δt v_n + Δt² (½ − β) a_n,    ṽ = v_n + Δt (1 − γ) a_n
    G a_known = F_{n+1−α_f} − α_m M a_n − C ((1 − α_f) ṽ + α_f v_n) − K ((1 − α_f) q̃ + α_f q_n) − α_f Σ_e b_e r_e(δ_e,n)
    G (a_{n+1} − a_known) = (1 − α_f) Σ_e b_e [k_e (δ_e − δ̃_e) + c_e (δ˙_e − δ̃˙_e) − r_e(δ_e, δ˙_e)]
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...contracts.system import Method, System
from ...kernels.band import band_multiply_add, band_solve
from ...kernels.block import Value
from ...kernels.linear import copy_to, multiply_add, set_to, stored
from ..materials.element_fields import HELD, add_along, along, moving
from ..materials.resisting import add_forces_along, commit
from ..materials.uniaxial import uniaxial
from .in_band import add_inputs, band_of, factors_of, outputs_and_elements, read_outputs
from .scheme import initial_state

NOT_CONVERGED = 1


def banded_alpha_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    status, n, elements, late = 0, s.q.shape[0], p.law.shape[0], 1.0 - p.alpha_f
    if s.started == 0.0:
        s.started = 1.0
        multiply_add(p.at_start, u, s.a)
    else:
        set_to(0.0, s.known)
        add_inputs(p.inputs, p.alpha_f, s.u, u, s.known)
        for i in range(n):
            s.next_q[i] = s.q[i] + p.dt * s.v[i] + p.displacement_before * s.a[i]
            s.next_v[i] = s.v[i] + p.velocity_before * s.a[i]
            s.work[i] = late * s.next_q[i] + p.alpha_f * s.q[i]
        band_multiply_add(p.stiffness, -1.0, s.work, s.known)
        for i in range(n):
            s.work[i] = late * s.next_v[i] + p.alpha_f * s.v[i]
        band_multiply_add(p.damping, -1.0, s.work, s.known)
        if p.alpha_m != 0.0:
            band_multiply_add(p.mass, -p.alpha_m, s.a, s.known)
        if p.alpha_f != 0.0:
            add_forces_along(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, 0.0, -p.alpha_f, s.known)
        band_solve(p.factors, s.known)
        scale = 0.0
        for i in range(n):
            scale = max(scale, abs(s.q[i]) + abs(s.next_q[i]) + p.displacement_after * abs(s.known[i]))
        for e in range(elements):
            s.predicted[e] = s.trial[e] = along(p.terms[e], s.next_q)
            s.predicted_rate[e] = s.rate[e] = along(p.terms[e], s.next_v)
        for _ in range(int(p.iterations)):
            set_to(0.0, s.next_a)
            for e in range(elements):
                force, _, _ = uniaxial(p.law[e], p.elements[e], s.memory[e], s.trial[e], s.rate[e], p.dt, s.tried[e])
                as_initial = p.initial[e] * (s.trial[e] - s.predicted[e])
                as_initial += p.initial_damping[e] * (s.rate[e] - s.predicted_rate[e])
                add_along(p.terms[e], late * (as_initial - force), s.next_a)
            band_solve(p.factors, s.next_a)
            for i in range(n):
                s.next_a[i] += s.known[i]
            status = 0
            for e in range(elements):
                gained = along(p.terms[e], s.next_a)
                deformation = s.predicted[e] + p.displacement_after * gained
                if not (abs(deformation - s.trial[e]) <= p.tolerance * scale):  # NaN has not converged either
                    status = NOT_CONVERGED
                s.trial[e] = deformation
                s.rate[e] = s.predicted_rate[e] + p.velocity_after * gained
            if status == 0:
                break
        for i in range(n):
            s.q[i] = s.next_q[i] + p.displacement_after * s.next_a[i]
            s.v[i] = s.next_v[i] + p.velocity_after * s.next_a[i]
        commit(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, p.dt)
        copy_to(s.next_a, s.a)
    copy_to(u, s.u)
    read_outputs(p, s.q, s.v, s.a, u, y)
    return status


def banded_alpha(
    system: System,
    dt: float,
    parameters: tuple[float, float, float, float],
    iterations: int,
    tolerance: float,
    faults: Mapping[int, str],
    references: tuple[str, ...],
) -> Method | None:
    """The method for α_m, α_f, β and γ; None if the matrix of a step is not positive definite."""
    alpha_m, alpha_f, beta, gamma = parameters
    implicit = gamma * dt * system.tangent_damping + beta * dt**2 * system.tangent_stiffness
    factors = factors_of((1.0 - alpha_m) * system.mass + (1.0 - alpha_f) * implicit)
    if factors is None:
        return None
    elements = system.elements
    fields: dict[str, Value] = {
        "dt": dt,
        "alpha_m": alpha_m,
        "alpha_f": alpha_f,
        "displacement_before": (0.5 - beta) * dt**2,
        "displacement_after": beta * dt**2,
        "velocity_before": (1.0 - gamma) * dt,
        "velocity_after": gamma * dt,
        "iterations": float(iterations),
        "tolerance": tolerance,
        "at_start": stored(np.linalg.solve(system.mass, system.inputs)),
        "mass": band_of(system.mass),
        "damping": band_of(system.damping),
        "stiffness": band_of(system.stiffness),
        "factors": factors,
        "initial": elements.initial_stiffness,
        "initial_damping": elements.initial_damping,
        **outputs_and_elements(system),
    }
    work = {
        **{key: np.zeros(system.dofs) for key in ("next_q", "next_v", "next_a", "known", "work")},
        **{key: np.zeros(elements.count) for key in ("predicted", "predicted_rate", "trial", "rate")},
    }
    state = {**initial_state(system), **work, "started": 0.0}
    return Method(
        step=banded_alpha_step,
        parameters=fields,
        state=state,
        frozen=("started", *HELD, *work),
        moving=moving(elements),
        faults=faults,
        references=references,
    )
