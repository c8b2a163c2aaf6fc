"""Explicit Runge–Kutta methods for the first-order form of the equation of motion.

    x = (q, v),    x˙ = f(x, u)
    k_i = f(x_n + Δt Σ_{j<i} a_ij k_j, u(t_n + c_i Δt)),    x_{n+1} = x_n + Δt Σ_i b_i k_i

with f = (v, M⁻¹ (U u − C v − K q − Σ b_e r_e)) and inputs linear between their samples, which limits the order to two
where inputs vary; without inputs the classical method has its order four (E. Hairer, S. P. Nørsett, G. Wanner,
Solving Ordinary Differential Equations I, Springer 1993, section II.1).  Nonlinear elements are evaluated at the
stages' deformations and committed once a step.

The step is limited by |R(λΔt)| ≤ 1 for every eigenvalue λ of the system, R(z) = 1 + z bᵀ 1 + z² bᵀA 1 + …

============= =======================================================
q, v          displacement and velocity of the degrees of freedom
a_ij, b, c    tableau of the method (A, b, c)
k_i           slopes at the stages
R             stability polynomial
============= =======================================================
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ...contracts.massless import condensed
from ...contracts.system import Method, System
from ...kernels.compile import kernel
from ...kernels.linear import copy_to, multiply_add, multiply_subtract, set_to, stored, three_products
from ..materials.element_fields import HELD, moving
from ..materials.resisting import add_forces, commit
from .recursion import Recursion, Stack, rows
from .scheme import Scheme, initial_state, shared_parameters


@kernel
def _acceleration(p, s, q, v, u, elapsed, a):  # type: ignore[no-untyped-def]
    set_to(0.0, a)
    multiply_add(p.on_inputs, u, a)
    multiply_subtract(p.on_displacement, q, a)
    multiply_subtract(p.on_velocity, v, a)
    add_forces(p.law, p.terms, p.elements, s.memory, s.tried, q, v, elapsed, p.action, -1.0, s.forces, a)


def runge_kutta_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, stages = s.q.shape[0], p.weights.shape[0]
    if s.started == 0.0:
        s.started = 1.0
    else:
        for stage in range(stages):
            copy_to(s.q, s.stage_q)
            copy_to(s.v, s.stage_v)
            for earlier in range(stage):
                factor = p.dt * p.tableau[stage, earlier]
                for i in range(n):
                    s.stage_q[i] += factor * s.slope_q[earlier, i]
                    s.stage_v[i] += factor * s.slope_v[earlier, i]
            for j in range(u.shape[0]):
                s.stage_u[j] = (1.0 - p.nodes[stage]) * s.u[j] + p.nodes[stage] * u[j]
            copy_to(s.stage_v, s.slope_q[stage])
            _acceleration(p, s, s.stage_q, s.stage_v, s.stage_u, p.nodes[stage] * p.dt, s.slope_v[stage])
        for stage in range(stages):
            factor = p.dt * p.weights[stage]
            for i in range(n):
                s.q[i] += factor * s.slope_q[stage, i]
                s.v[i] += factor * s.slope_v[stage, i]
        commit(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, p.dt)
    copy_to(u, s.u)
    _acceleration(p, s, s.q, s.v, u, 0.0, s.a)
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.v, p.acceleration_outputs, s.a, y)
    multiply_add(p.direct, u, y)
    return 0


def stability_limit(tableau: np.ndarray, weights: np.ndarray, eigenvalues: np.ndarray) -> float:
    """Longest step for which |R(λΔt)| ≤ 1 at all decaying or oscillating eigenvalues; 0 if there is none, ∞ if any is.

    Growing eigenvalues do not count: what grows by itself grows under any method.
    """
    coefficients = np.array([1.0, *(weights @ np.linalg.matrix_power(tableau, j).sum(1) for j in range(len(weights)))])
    size = np.abs(eigenvalues)
    limit = np.inf
    for value in eigenvalues[size > 1e-6 * size.max(initial=0.0)]:
        if value.real > 1e-9 * abs(value):
            continue
        direction = value / abs(value)
        if abs(direction.real) <= 1e-9:  # an undamped mode, up to rounding
            direction = 1j * np.sign(direction.imag)
        along = coefficients * direction ** np.arange(len(coefficients))  # R along the ray, in powers of |λ|Δt
        growth = np.polynomial.Polynomial(along.real) ** 2 + np.polynomial.Polynomial(along.imag) ** 2 - 1.0
        # |R|² − 1 has several roots at zero; without its rounding errors they do not scatter
        growth.coef[np.abs(growth.coef) < 1e-12] = 0.0
        lowest = int(np.flatnonzero(growth.coef)[0])
        growth = np.polynomial.Polynomial(growth.coef[lowest:])
        roots = growth.roots()
        crossings = np.sort(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0)])
        ends = [*crossings, np.inf]
        inside = 0.0
        for end in ends:
            if growth(0.5 * (inside + end) if np.isfinite(end) else 2.0 * inside + 1.0) > 0.0:
                break
            inside = end
        limit = min(limit, inside / abs(value))
    return float(limit)


class _RungeKutta(Scheme):
    tableau: ClassVar[tuple[tuple[float, ...], ...]]
    weights: ClassVar[tuple[float, ...]]

    def plain(self, system: System, dt: float) -> Method:
        system = condensed(system, self.kind)
        tableau, n, nu = np.array(self.tableau), system.dofs, system.inputs.shape[1]
        stages = len(tableau)
        initial = initial_state(system)
        work = {
            "a": initial.pop("a"),
            "stage_q": np.zeros(n),
            "stage_v": np.zeros(n),
            "stage_u": np.zeros(nu),
            "slope_q": np.zeros((stages, n)),
            "slope_v": np.zeros((stages, n)),
            "forces": np.zeros(system.elements.count),
        }
        inverse = np.linalg.inv(system.mass)
        return Method(
            step=runge_kutta_step,
            parameters={
                "dt": dt,
                "tableau": tableau,
                "weights": np.array(self.weights),
                "nodes": tableau.sum(1),
                "on_inputs": stored(inverse @ system.inputs),
                "on_displacement": stored(inverse @ system.stiffness),
                "on_velocity": stored(inverse @ system.damping),
                "action": stored(inverse @ system.elements.direction.T),
                **shared_parameters(system),
            },
            state={**initial, **work},
            frozen=("started", *HELD, *work),
            moving=moving(system.elements),
            jacobian=(lambda *_: self.recursion(Stack.of(system), dt).jacobian()) if system.linear else None,
        )

    def recursion(self, stack: Stack, dt: float) -> Recursion:
        """x = (q, v); every slope as a linear map of x and of the inputs at the step's beginning and end."""
        now = np.broadcast_to(np.eye(stack.dofs), stack.mass.shape)
        by_q, by_v = -stack.over_mass(stack.stiffness), -stack.over_mass(stack.damping)
        pushed, none = stack.over_mass(stack.inputs), np.zeros_like(stack.inputs)
        rate, forced = rows((0.0 * now, now), (by_q, by_v)), rows((none,), (pushed,))
        size, nu = 2 * stack.dofs, stack.inputs.shape[-1]
        # columns: by x, by the earlier inputs, by the later ones
        before = np.broadcast_to(np.eye(size, size + 2 * nu), (len(now), size, size + 2 * nu))
        slopes: list[np.ndarray] = []
        for row in np.array(self.tableau):
            place = before + dt * sum((a * slope for a, slope in zip(row, slopes, strict=False)), 0.0 * before)
            node = row.sum()
            slopes.append(rate @ place + rows((0.0 * rate, (1.0 - node) * forced, node * forced)))
        after = before + dt * sum((b * slope for b, slope in zip(self.weights, slopes, strict=True)), 0.0 * before)
        on_a = stack.acceleration_outputs
        return Recursion(
            transition=after[..., :size],
            earlier=after[..., size : size + nu],
            later=after[..., size + nu :],
            outputs=rows((stack.displacement_outputs + on_a @ by_q, stack.velocity_outputs + on_a @ by_v)),
            direct=stack.direct + (on_a @ pushed).sum(0),
            start=np.concatenate([stack.displacement, stack.velocity], axis=-1),
            at_start=rows((none,), (none,)),
        )

    def critical_step(self, system: System) -> float | None:
        import scipy.linalg

        eigenvalues = scipy.linalg.eigvals(system.first_order()[0]).astype(complex)
        limit = stability_limit(np.array(self.tableau), np.array(self.weights), eigenvalues)
        return None if np.isinf(limit) else limit


class Heun(_RungeKutta):
    """Second order, two stages: the explicit trapezoidal rule.  Without damping it grows at any step."""

    kind: Literal["rk2"] = "rk2"
    tableau = ((0.0, 0.0), (1.0, 0.0))
    weights = (0.5, 0.5)


class RungeKutta4(_RungeKutta):
    """The classical method of order four."""

    kind: Literal["rk4"] = "rk4"
    tableau = ((0.0, 0.0, 0.0, 0.0), (0.5, 0.0, 0.0, 0.0), (0.0, 0.5, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
    weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
