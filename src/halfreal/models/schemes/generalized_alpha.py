"""Generalised-α, and with it Newmark, HHT-α and the central difference method, which are choices of its parameters.

J. Chung, G. M. Hulbert, "A time integration algorithm for structural dynamics with improved numerical dissipation: the
generalized-α method", J. Appl. Mech. 60 (1993) 371–375:

    M a_{n+1−α_m} + C v_{n+1−α_f} + K q_{n+1−α_f} + f_{n+1−α_f} = F_{n+1−α_f},    x_{n+1−α} = (1 − α) x_{n+1} + α x_n
    q_{n+1} = q_n + Δt v_n + Δt² ((½ − β) a_n + β a_{n+1})
    v_{n+1} = v_n + Δt ((1 − γ) a_n + γ a_{n+1})

Forces of nonlinear elements f = Σ b_e r_e, like those of inputs, are weighted between the ends of the step.  With

    G = (1 − α_m) M + (1 − α_f) (γ Δt C_0 + β Δt² K_0),    K_0 = K + Σ b_e k_e b_eᵀ,    C_0 = C + Σ b_e c_e b_eᵀ
    δ̃_e = b_eᵀ (q_n + Δt v_n + Δt² (½ − β) a_n),    δ̃˙_e = b_eᵀ (v_n + Δt (1 − γ) a_n)

(k_e, c_e the elements' initial stiffness and damping), modified Newton iteration on the constant matrix G reduces to

    a_{n+1} = G⁻¹ [F_{n+1−α_f} − K q_n − (C + (1 − α_f) Δt K) v_n
                   − (α_m M + (1 − α_f) ((1 − γ) Δt C + (½ − β) Δt² K)) a_n]
              + Σ_e G⁻¹ b_e [(1 − α_f) (k_e (δ_e − δ̃_e) + c_e (δ˙_e − δ̃˙_e) − r_e(δ_e, δ˙_e)) − α_f r_e(δ_e,n)]

where only the deformations δ_e = b_eᵀ q_{n+1} on the right, with their rates, have to be iterated; all products with
G⁻¹ are formed before the test.  Without elements one evaluation is exact, and with β = 0 too.

*Degrees of freedom without mass* that cannot be condensed (``halfreal.contracts.massless``) have no acceleration to go
on from, and a_n must not enter their step: it would alternate forever, a pole at half the sampling rate.  In the place
of β, γ and the weights of a_n they have

    with damping           v_{n+1} = v_n + Δt a_{n+1},    q_{n+1} = q_n + ½Δt (v_n + v_{n+1})     (trapezoidal rule)
    with elements alone    v_{n+1} = v_n + Δt a_{n+1},    q_{n+1} = q_n + Δt v_{n+1}

where a_{n+1} is the unknown of the step and no more.  Deformations that rest on the latter do not contract
under the constant matrix, and are found by Newton's method with the elements' tangents k_t, of

    δ_e = δ̃_e + Σ_f W_ef (k_f (δ_f − δ̃_f) − r_f(δ_f)) + …,    W_ef = (1 − α_f) b_eᵀ ∂q/∂a G⁻¹ b_f

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

from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ...contracts.massless import MasslessError, Staged, linear, staged, undamped_modes
from ...contracts.system import Method, System
from ...kernels.block import Value
from ...kernels.compile import kernel
from ...kernels.linear import (
    copy_to,
    multiply_add,
    multiply_subtract,
    set_to,
    solve_in_place,
    stored,
    three_products,
)
from ...settings import Number
from ..materials.element_fields import HELD, along, element_states, loaded, moving
from ..materials.resisting import commit
from ..materials.uniaxial import uniaxial
from .banded_alpha import NOT_CONVERGED, banded_alpha
from .recursion import Recursion, Stack, rows
from .scheme import Coefficients, Scheme, initial_state, shared_parameters


@kernel
def _newton(p, s):  # type: ignore[no-untyped-def]
    """Newton's change of the deformations in the place of ``s.change``, that of the constant matrix."""
    elements = s.trial.shape[0]
    for f in range(elements):
        softer = p.initial[f] - s.tangent[f]
        for e in range(elements):
            s.jacobian[e, f] = (1.0 if e == f else 0.0) - p.coupling[e, f] * softer
    solve_in_place(s.jacobian, s.change)


def generalized_alpha_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    status = 0
    if s.started == 0.0:
        s.started = 1.0
        multiply_add(p.at_start, u, s.a)
        multiply_add(p.velocity_at_start, u, s.v)
    else:
        n, elements = s.q.shape[0], p.law.shape[0]
        for i in range(n):
            s.next_q[i] = s.q[i] + p.dt * s.v[i] + p.displacement_before[i] * s.a[i]
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
            s.predicted[e] = along(p.terms[e], s.next_q)
            start, start_rate = along(p.terms[e], s.q), along(p.terms[e], s.v)
            s.predicted_rate[e] = start_rate
            for k in range(int(p.terms[e, 0])):
                at = np.uint64(int(p.terms[e, 1 + 2 * k]))
                s.predicted_rate[e] += p.terms[e, 2 + 2 * k] * p.velocity_before[at] * s.a[at]
            s.trial[e] = start if p.newton > 0.0 else s.predicted[e]
            s.rate[e] = start_rate if p.newton > 0.0 else s.predicted_rate[e]
            if p.alpha_f != 0.0:
                found, _, _ = uniaxial(p.law[e], p.elements[e], s.memory[e], start, start_rate, 0.0, s.tried[e])
                s.force[e] = p.alpha_f * found
        if p.alpha_f != 0.0:
            multiply_subtract(p.action, s.force, s.known)
        copy_to(s.known, s.next_a)
        if elements > 0:
            scale = 0.0
            for i in range(n):
                scale = max(scale, abs(s.q[i]) + abs(s.next_q[i]) + p.displacement_after[i] * abs(s.known[i]))
            for iteration in range(int(p.iterations)):
                copy_to(s.known, s.next_a)
                for e in range(elements):
                    force, s.tangent[e], _ = uniaxial(
                        p.law[e], p.elements[e], s.memory[e], s.trial[e], s.rate[e], p.dt, s.tried[e]
                    )
                    as_initial = p.initial[e] * (s.trial[e] - s.predicted[e])
                    as_initial += p.initial_damping[e] * (s.rate[e] - s.predicted_rate[e])
                    s.force[e] = (1.0 - p.alpha_f) * (as_initial - force)
                multiply_add(p.action, s.force, s.next_a)
                status = 0
                for e in range(elements):
                    deformation, s.rate[e] = s.predicted[e], s.predicted_rate[e]
                    for k in range(int(p.terms[e, 0])):
                        at = np.uint64(int(p.terms[e, 1 + 2 * k]))
                        deformation += p.terms[e, 2 + 2 * k] * p.displacement_after[at] * s.next_a[at]
                        s.rate[e] += p.terms[e, 2 + 2 * k] * p.velocity_after[at] * s.next_a[at]
                    s.change[e] = deformation - s.trial[e]
                    if not (abs(s.change[e]) <= p.tolerance * scale):  # NaN has not converged either
                        status = NOT_CONVERGED
                if status != 0 and p.newton > 0.0 and 0 < iteration < 0.5 * p.iterations:
                    # else, as in the first step along the unloaded branch, the constant matrix is the safe one
                    _newton(p, s)
                for e in range(elements):
                    s.trial[e] += s.change[e]
                if status == 0:
                    break
        for i in range(n):
            s.next_q[i] += p.displacement_after[i] * s.next_a[i]
            s.v[i] += p.velocity_before[i] * s.a[i] + p.velocity_after[i] * s.next_a[i]
        commit(p.law, p.terms, p.elements, s.memory, s.tried, s.next_q, s.v, p.dt)
        copy_to(s.next_q, s.q)
        copy_to(s.next_a, s.a)
    copy_to(u, s.u)
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.v, p.acceleration_outputs, s.a, y)
    multiply_add(p.direct, u, y)
    return status


class Parameters(NamedTuple):
    """What the schemes of this family choose."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


def generalized_alpha(
    system: System,
    dt: float,
    parameters: Parameters,
    iterations: int,
    tolerance: float,
    references: tuple[str, ...],
) -> Method:
    """The method for given parameters."""
    alpha_m, alpha_f, beta, gamma = parameters
    found = staged(system)
    system = found.system
    m, c, k = system.mass, system.damping, system.stiffness
    n, e, late = system.dofs, system.elements.count, 1.0 - alpha_f
    on_bare = bool(np.any(system.elements.direction[:, found.heavy :]))
    if on_bare and iterations == 1:
        raise MasslessError(
            "a nonlinear element acts on a degree of freedom without mass, whose position requires iteration, "
            "which this scheme does not do; use 'newmark' with iterations, or give it mass"
        )
    if np.any(system.acceleration_outputs[:, found.heavy :]):
        raise MasslessError(
            "the acceleration of a degree of freedom without mass is requested, which has damping or a nonlinear "
            "element and is integrated without one; request its displacement or velocity, or give it mass"
        )
    if found.bare and alpha_f >= 0.5:
        raise MasslessError(
            "a degree of freedom without mass has damping or a nonlinear element, and with rho_inf = 1 its error would "
            "alternate from step to step without decay; use rho_inf = 0.9 or less, or the scheme 'newmark'"
        )
    # weights of a_n and a_{n+1} in the displacements and velocities at the end of a step
    many = (found.heavy, found.damped, found.algebraic)
    q_before, q_after, v_before, v_after = (
        np.repeat([mass, *bare], many)
        for mass, bare in (
            ((0.5 - beta) * dt**2, (0.0, 0.0)),
            (beta * dt**2, (0.5 * dt**2, dt**2)),
            ((1.0 - gamma) * dt, (0.0, 0.0)),
            (gamma * dt, (dt, dt)),
        )
    )
    effective = (1.0 - alpha_m) * m + late * (system.tangent_damping * v_after + system.tangent_stiffness * q_after)
    inverse = np.linalg.inv(effective)
    action = inverse @ system.elements.direction.T
    state, at_start, velocity_at_start = _start(found)
    fields = {
        "dt": dt,
        "alpha_f": alpha_f,
        "displacement_before": q_before,
        "displacement_after": q_after,
        "velocity_before": v_before,
        "velocity_after": v_after,
        "iterations": float(iterations),
        "tolerance": tolerance,
        "newton": float(on_bare),
        "coupling": late * (system.elements.direction * q_after) @ action,
        "at_start": stored(at_start),
        "velocity_at_start": stored(velocity_at_start),
        "on_inputs": stored(inverse @ system.inputs),
        "on_displacement": stored(inverse @ k),
        "on_velocity": stored(inverse @ (c + late * dt * k)),
        "on_acceleration": stored(inverse @ (alpha_m * m + late * (c * v_before + k * q_before))),
        "action": stored(action),
        "initial": system.elements.initial_stiffness,
        "initial_damping": system.elements.initial_damping,
        **shared_parameters(system),
    }
    work = {
        "next_q": np.zeros(n),
        "next_a": np.zeros(n),
        "known": np.zeros(n),
        **{key: np.zeros(e) for key in ("predicted", "predicted_rate", "trial", "rate", "tangent", "force")},
        "change": np.zeros(e),
        "jacobian": np.zeros((e, e)),
    }
    return Method(
        step=generalized_alpha_step,
        parameters=fields,
        state={**state, **work},
        frozen=("started", *HELD, *work),
        moving=moving(system.elements),
        faults=not_converged(iterations, tolerance),
        references=references,
        jacobian=None if found.bare or e else lambda *_: recursion(Stack.of(system), dt, parameters).jacobian(),
    )


def not_converged(iterations: int, tolerance: float) -> dict[int, str]:
    """Message of the fault that the iteration may end with."""
    return {
        NOT_CONVERGED: f"its deformations still change by more than {tolerance:g} of the displacement after "
        f"{iterations} iterations; shorten the step, allow more iterations, or check the element's stiffness"
    }


def recursion(stack: Stack, dt: float, parameters: Parameters) -> Recursion:
    """The same step of a linear system, x = (q, v, a)."""
    alpha_m, alpha_f, beta, gamma = parameters
    m, c, k, late = stack.mass, stack.damping, stack.stiffness, 1.0 - alpha_f
    inverse = np.linalg.inv((1.0 - alpha_m) * m + late * (gamma * dt * c + beta * dt**2 * k))
    before = alpha_m * m + late * ((1.0 - gamma) * dt * c + (0.5 - beta) * dt**2 * k)
    now = np.broadcast_to(np.eye(stack.dofs), m.shape)
    # the new acceleration by q, v, a and by the inputs; then what it adds to displacements and velocities
    new = rows((-inverse @ k, -inverse @ (c + late * dt * k), -inverse @ before))
    forced = inverse @ stack.inputs
    kept = rows((now, dt * now, (0.5 - beta) * dt**2 * now), (0.0 * now, now, (1.0 - gamma) * dt * now))
    enters = rows((beta * dt**2 * now,), (gamma * dt * now,), (now,))
    at_start = np.zeros((len(m), 3 * stack.dofs, stack.inputs.shape[-1]))
    at_start[:, 2 * stack.dofs :] = stack.over_mass(stack.inputs)
    return Recursion(
        transition=rows((kept,), (0.0 * new,)) + enters @ new,
        earlier=alpha_f * enters @ forced,
        later=late * enters @ forced,
        outputs=rows((stack.displacement_outputs, stack.velocity_outputs, stack.acceleration_outputs)),
        direct=stack.direct,
        start=np.concatenate([stack.displacement, stack.velocity, stack.acceleration()], axis=-1),
        at_start=at_start,
    )


def _start(found: Staged) -> tuple[dict[str, Value], np.ndarray, np.ndarray]:
    """The state before the first inputs, and what these add to accelerations and to velocities of what has no mass."""
    system, n = found.system, found.heavy
    if not found.bare:
        return initial_state(system), np.linalg.solve(system.mass, system.inputs), np.zeros_like(system.inputs)
    rates_known = np.where(np.arange(system.dofs) < n, system.velocity, 0.0)
    resisting = system.damping @ rates_known + system.stiffness @ system.displacement
    forces, states = loaded(system.elements, system.displacement, rates_known)
    resisting += forces @ system.elements.direction
    # unknown are the accelerations of what has mass and the velocities of what has damping
    m = n + found.damped
    unknown = system.mass[:m, :m] + np.where(np.arange(m) < n, 0.0, system.damping[:m, :m])
    solved = np.linalg.solve(unknown, np.column_stack([system.inputs, -resisting])[:m])
    rates = np.vstack([solved, np.zeros((found.algebraic, solved.shape[1]))])
    a, v = rates.copy(), rates.copy()
    a[n:], v[:n] = 0.0, 0.0
    state: dict[str, Value] = {
        "q": system.displacement.astype(float),
        "v": rates_known + v[:, -1],
        "a": a[:, -1].copy(),
        **element_states(states),
        "u": np.zeros(system.inputs.shape[1]),
        "started": 0.0,
    }
    return state, a[:, :-1], v[:, :-1]


def newmark_limit(system: System, beta: float, gamma: float) -> float | None:
    """Longest stable step [s] of Newmark's method, 1/(ω_max √(γ/2 − β)) without damping, which never shortens it.

    Dampers in series with springs hold those at high frequency: ω_max is that of the structure with them locked.
    """
    if 2.0 * beta >= gamma:
        return None
    found = staged(linear(system))
    n = found.heavy
    squares = undamped_modes(found.system.mass[:n, :n], found.system.stiffness[:n, :n])[0]
    highest = float(np.sqrt(max(squares[-1], 0.0)))
    if highest == 0.0:
        return None
    return float(1.0 / (highest * np.sqrt(0.5 * gamma - beta)))


class Family(Scheme):
    """A scheme that is a choice of α_m, α_f, β and γ."""

    banded_from: ClassVar[int | None] = 128

    def parameters(self) -> Parameters:
        raise NotImplementedError

    def iteration(self) -> tuple[int, float]:
        """Most iterations in a step, and their tolerance."""
        return 1, 0.0

    def plain(self, system: System, dt: float) -> Method:
        return generalized_alpha(system, dt, self.parameters(), *self.iteration(), self.references)

    def banded(self, system: System, dt: float) -> Method | None:
        faults = not_converged(*self.iteration())
        return banded_alpha(system, dt, self.parameters(), *self.iteration(), faults, self.references)

    def recursion(self, stack: Stack, dt: float) -> Recursion | None:
        return recursion(stack, dt, self.parameters())


class ImplicitScheme(Family):
    """Settings of the iteration, used only where there are nonlinear elements."""

    iterations: Annotated[int, Field(ge=1, le=1000)] = 20
    tolerance: Annotated[float, Number("1", above=0, most=1e-3)] = 1e-10
    """Largest change of a deformation in the last iteration, relative to the displacements."""

    def iteration(self) -> tuple[int, float]:
        return self.iterations, self.tolerance

    def coefficients(self) -> Coefficients | None:
        by = self.parameters()
        return Coefficients("implicit", *by, self.references, *self.iteration()) if by.beta > 0.0 else None


class GeneralizedAlpha(ImplicitScheme):
    """Generalised-α by its spectral radius at infinite frequency: 1 dissipates nothing, 0 annihilates in one step."""

    kind: Literal["generalized-alpha"] = "generalized-alpha"
    rho_inf: Annotated[float, Number("1", least=0, most=1)] = 0.8
    references = ("chung1993",)

    def parameters(self) -> Parameters:
        alpha_m = (2.0 * self.rho_inf - 1.0) / (self.rho_inf + 1.0)
        alpha_f = self.rho_inf / (self.rho_inf + 1.0)
        return Parameters(alpha_m, alpha_f, 0.25 * (1.0 - alpha_m + alpha_f) ** 2, 0.5 - alpha_m + alpha_f)
