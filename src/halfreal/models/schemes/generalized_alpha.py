"""Generalised-α, and with it Newmark, HHT-α and the central difference method, which are choices of its parameters.

J. Chung, G. M. Hulbert, "A time integration algorithm for structural dynamics with improved numerical dissipation: the
generalized-α method", J. Appl. Mech. 60 (1993) 371–375:

    M a_{n+1−α_m} + C v_{n+1−α_f} + K q_{n+1−α_f} + f_{n+1−α_f} = F_{n+1−α_f},    x_{n+1−α} = (1 − α) x_{n+1} + α x_n
    q_{n+1} = q_n + Δt v_n + Δt² ((½ − β) a_n + β a_{n+1})
    v_{n+1} = v_n + Δt ((1 − γ) a_n + γ a_{n+1})

Forces of nonlinear elements f = Σ b_e r_e, like those of inputs, are weighted between the ends of the step.  With

    G = (1 − α_m) M + (1 − α_f) (γ Δt C + β Δt² K_0),    K_0 = K + Σ b_e k_e b_eᵀ
    δ̃_e = b_eᵀ (q_n + Δt v_n + Δt² (½ − β) a_n)

(k_e the elements' initial stiffness), modified Newton iteration on the constant matrix G reduces to

    a_{n+1} = G⁻¹ [F_{n+1−α_f} − K q_n − (C + (1 − α_f) Δt K) v_n
                   − (α_m M + (1 − α_f) ((1 − γ) Δt C + (½ − β) Δt² K)) a_n]
              + Σ_e G⁻¹ b_e [(1 − α_f) (k_e (δ_e − δ̃_e) − r_e(δ_e)) − α_f r_e(δ_e,n)]

where only the deformations δ_e = b_eᵀ q_{n+1} on the right have to be iterated; all products with G⁻¹ are formed before
the test.  Without elements one evaluation is exact, and with β = 0 too.

============= ========================================================================
q, v, a       displacement, velocity, acceleration of the degrees of freedom
F = U u       force of the inputs, linear between their samples
α_m, α_f      weights of the step's beginning: of inertia, and of all other forces
β, γ          Newmark's parameters
ρ_∞           spectral radius at infinite frequency: α_m = (2ρ_∞ − 1)/(ρ_∞ + 1), α_f = ρ_∞/(ρ_∞ + 1),
              γ = ½ − α_m + α_f, β = ¼ (1 − α_m + α_f)²
============= ========================================================================
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ...contracts.system import Method, System
from ...kernels.linear import copy_to, dot, multiply_add, multiply_subtract, set_to, stored, three_products
from ...kernels.restoring import commit, restoring_force
from ...settings import Number
from .scheme import Scheme, initial_state, shared_parameters

NOT_CONVERGED = 1


def generalized_alpha_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    status = 0
    if s.started == 0.0:
        s.started = 1.0
        multiply_add(p.at_start, u, s.a)
    else:
        n, elements = s.q.shape[0], p.law.shape[0]
        for i in range(n):
            s.next_q[i] = s.q[i] + p.dt * s.v[i] + p.dt * p.dt * (0.5 - p.beta) * s.a[i]
        # the part of the new acceleration that needs no iteration
        set_to(0.0, s.known)
        for j in range(u.shape[0]):
            weighted = (1.0 - p.alpha_f) * u[j] + p.alpha_f * s.u[j]
            for i in range(n):
                s.known[i] += p.on_inputs[j, i] * weighted
        multiply_subtract(p.on_displacement, s.q, s.known)
        multiply_subtract(p.on_velocity, s.v, s.known)
        multiply_subtract(p.on_acceleration, s.a, s.known)
        for e in range(elements):
            s.predicted[e] = dot(p.direction[e], s.next_q)
            s.start[e] = dot(p.direction[e], s.q)
            s.trial[e] = s.predicted[e]
            force = p.alpha_f * restoring_force(p.law[e], p.elements[e], s.permanent[e], s.start[e], s.start[e])
            for i in range(n):
                s.known[i] -= p.action[e, i] * force
        copy_to(s.known, s.next_a)
        if elements > 0:
            scale = 0.0
            for i in range(n):
                scale = max(scale, abs(s.q[i]) + abs(s.next_q[i]) + p.dt * p.dt * p.beta * abs(s.known[i]))
            for _ in range(int(p.iterations)):
                copy_to(s.known, s.next_a)
                for e in range(elements):
                    force = restoring_force(p.law[e], p.elements[e], s.permanent[e], s.start[e], s.trial[e])
                    force = (1.0 - p.alpha_f) * (p.initial[e] * (s.trial[e] - s.predicted[e]) - force)
                    for i in range(n):
                        s.next_a[i] += p.action[e, i] * force
                status = 0
                for e in range(elements):
                    deformation = s.predicted[e] + p.dt * p.dt * p.beta * dot(p.direction[e], s.next_a)
                    if not (abs(deformation - s.trial[e]) <= p.tolerance * scale):  # NaN has not converged either
                        status = NOT_CONVERGED
                    s.trial[e] = deformation
                if status == 0:
                    break
        for i in range(n):
            s.next_q[i] += p.dt * p.dt * p.beta * s.next_a[i]
            s.v[i] += p.dt * ((1.0 - p.gamma) * s.a[i] + p.gamma * s.next_a[i])
        commit(p.law, p.direction, p.elements, s.permanent, s.q, s.next_q)
        copy_to(s.next_q, s.q)
        copy_to(s.next_a, s.a)
    copy_to(u, s.u)
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.v, p.acceleration_outputs, s.a, y)
    return status


def generalized_alpha(
    system: System,
    dt: float,
    *,
    alpha_m: float,
    alpha_f: float,
    beta: float,
    gamma: float,
    iterations: int,
    tolerance: float,
    references: tuple[str, ...],
) -> Method:
    """The method for given parameters; the schemes of this family choose them."""
    m, c, k = system.mass, system.damping, system.stiffness
    late = 1.0 - alpha_f
    effective = (1.0 - alpha_m) * m + late * (gamma * dt * c + beta * dt**2 * system.tangent_stiffness)
    inverse = np.linalg.inv(effective)
    n, e = system.dofs, system.elements.count
    parameters = {
        "dt": dt,
        "alpha_f": alpha_f,
        "beta": beta,
        "gamma": gamma,
        "iterations": float(iterations),
        "tolerance": tolerance,
        "at_start": stored(np.linalg.solve(m, system.inputs)),
        "on_inputs": stored(inverse @ system.inputs),
        "on_displacement": stored(inverse @ k),
        "on_velocity": stored(inverse @ (c + late * dt * k)),
        "on_acceleration": stored(inverse @ (alpha_m * m + late * ((1.0 - gamma) * dt * c + (0.5 - beta) * dt**2 * k))),
        "action": stored(inverse @ system.elements.direction.T),
        "initial": system.elements.initial_stiffness,
        **shared_parameters(system),
    }
    work = {
        "next_q": np.zeros(n),
        "next_a": np.zeros(n),
        "known": np.zeros(n),
        "predicted": np.zeros(e),
        "start": np.zeros(e),
        "trial": np.zeros(e),
    }
    return Method(
        step=generalized_alpha_step,
        parameters=parameters,
        state={**initial_state(system), **work},
        frozen=("started", "permanent", *work),
        faults={
            NOT_CONVERGED: f"its deformations still change by more than {tolerance:g} of the displacement after "
            f"{iterations} iterations; shorten the step, allow more iterations, or check the element's stiffness"
        },
        references=references,
    )


def newmark_limit(system: System, beta: float, gamma: float) -> float | None:
    """Longest stable step [s] of Newmark's method, 1/(ω_max √(γ/2 − β)) without damping, which never shortens it."""
    highest = float(system.natural_frequencies()[-1])
    if 2.0 * beta >= gamma or highest == 0.0:
        return None
    return float(1.0 / (highest * np.sqrt(0.5 * gamma - beta)))


class ImplicitScheme(Scheme):
    """Settings of the iteration, used only where there are nonlinear elements."""

    iterations: Annotated[int, Field(ge=1, le=1000)] = 20
    tolerance: Annotated[float, Number("1", above=0, most=1e-3)] = 1e-10
    """Largest change of a deformation in the last iteration, relative to the displacements."""


class GeneralizedAlpha(ImplicitScheme):
    """Generalised-α by its spectral radius at infinite frequency: 1 dissipates nothing, 0 annihilates in one step."""

    kind: Literal["generalized-alpha"] = "generalized-alpha"
    rho_inf: Annotated[float, Number("1", least=0, most=1)] = 0.8

    def method(self, system: System, dt: float) -> Method:
        alpha_m = (2.0 * self.rho_inf - 1.0) / (self.rho_inf + 1.0)
        alpha_f = self.rho_inf / (self.rho_inf + 1.0)
        return generalized_alpha(
            system,
            dt,
            alpha_m=alpha_m,
            alpha_f=alpha_f,
            beta=0.25 * (1.0 - alpha_m + alpha_f) ** 2,
            gamma=0.5 - alpha_m + alpha_f,
            iterations=self.iterations,
            tolerance=self.tolerance,
            references=("chung1993",),
        )
