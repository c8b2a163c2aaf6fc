"""KR-α: explicit, and stable at any step.

C. Kolay, J. M. Ricles, "Development of a family of unconditionally stable explicit direct integration algorithms with
controllable numerical energy dissipation", Earthquake Engng Struct. Dyn. 43 (2014) 1361–1380:

    v_{n+1} = v_n + Δt α₁ a_n,    q_{n+1} = q_n + Δt v_n + Δt² α₂ a_n
    M ((I − α₃) a_{n+1} + α₃ a_n) + C v_{n+1−α_f} + K q_{n+1−α_f} + f_{n+1−α_f} = F_{n+1−α_f}

    α₁ = Ĝ⁻¹ M,    α₂ = (½ + γ) α₁,    α₃ = Ĝ⁻¹ (α_m M + α_f γ Δt C + α_f β Δt² K_0),    Ĝ = M + γ Δt C + β Δt² K_0

with x_{n+1−α_f} = (1 − α_f) x_{n+1} + α_f x_n.  The matrices are chosen such that the poles of a linear system are
those of the generalised-α method with the same ρ_∞; ρ_∞ = 1 is the CR method of Chen and Ricles (2008).  The
displacement at t_{n+1} does not depend on the inputs at t_{n+1}.  Solved for a_{n+1} with H = (M (I − α₃))⁻¹, all
products formed before the test:

    a_{n+1} = H [F_{n+1−α_f} − K q_n − (C + (1 − α_f) Δt K) v_n
                 − (M α₃ + (1 − α_f) (Δt C α₁ + Δt² K α₂)) a_n − f_{n+1−α_f}]

Expanding the second equation shows that v lags the velocity: q˙(t_n) = v_n + γ Δt α₁ a_n up to O(Δt²).  This is what
is given out as velocity, and v_0 = q˙_0 − γ Δt α₁ a_0 what is started from: with v_0 = q˙_0 the first step alone would
lower the order to one wherever a_0 is not zero.  a itself is accurate to first order.

============= ========================================================================
q, v, a       displacement, velocity, acceleration of the degrees of freedom
F = U u       force of the inputs, linear between their samples
f             force of nonlinear elements, weighted like F
K_0           stiffness with the elements' initial stiffness
ρ_∞           spectral radius at infinite frequency: α_m = (2ρ_∞ − 1)/(ρ_∞ + 1), α_f = ρ_∞/(ρ_∞ + 1),
              γ = ½ − α_m + α_f, β = ¼ (½ + γ)²
============= ========================================================================

Stability at any step holds for linear systems and for elements that soften; an element that stiffens beyond K_0
limits the step.  Elements that depend on the rate are given v, as C is; where their damping differs from that at
rest, with which α₁ … α₃ are formed, the order is one.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np

from ...contracts.massless import condensed, linear
from ...contracts.system import Method, System
from ...kernels.linear import copy_to, multiply_add, multiply_subtract, set_to, stored, three_products
from ...settings import Number
from ..materials.element_fields import HELD, keep, moving
from ..materials.resisting import add_forces
from .banded_kr import banded_kr
from .recursion import Recursion, Stack, rows
from .scheme import Coefficients, Scheme, initial_state, shared_parameters


def kr_alpha_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if s.started == 0.0:
        s.started = 1.0
        multiply_add(p.at_start, u, s.a)
        multiply_subtract(p.lag, s.a, s.v)
    else:
        n = s.q.shape[0]
        for i in range(n):
            s.next_q[i] = s.q[i] + p.dt * s.v[i]
        multiply_add(p.to_displacement, s.a, s.next_q)
        set_to(0.0, s.next_a)
        for j in range(u.shape[0]):
            weighted = (1.0 - p.alpha_f) * u[j] + p.alpha_f * s.u[j]
            for i in range(n):
                s.next_a[i] += p.on_inputs[j, i] * weighted
        multiply_subtract(p.on_displacement, s.q, s.next_a)
        multiply_subtract(p.on_velocity, s.v, s.next_a)
        multiply_subtract(p.on_acceleration, s.a, s.next_a)
        early, late = -p.alpha_f, p.alpha_f - 1.0
        add_forces(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, 0.0, p.action, early, s.forces, s.next_a)
        multiply_add(p.to_velocity, s.a, s.v)
        add_forces(
            p.law, p.terms, p.elements, s.memory, s.tried, s.next_q, s.v, p.dt, p.action, late, s.forces, s.next_a
        )
        keep(s.memory, s.tried)
        copy_to(s.next_q, s.q)
        copy_to(s.next_a, s.a)
    copy_to(u, s.u)
    copy_to(s.v, s.velocity)
    multiply_add(p.lag, s.a, s.velocity)
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.velocity, p.acceleration_outputs, s.a, y)
    multiply_add(p.direct, u, y)
    return 0


class KRAlpha(Scheme):
    """KR-α by its spectral radius at infinite frequency; 1 dissipates nothing."""

    kind: Literal["kr-alpha"] = "kr-alpha"
    rho_inf: Annotated[float, Number("1", least=0, most=1)] = 0.75
    references = ("kolay2014",)
    banded_from: ClassVar[int | None] = 24

    def _parameters(self) -> tuple[float, float, float, float]:
        """α_m, α_f, β, γ."""
        alpha_m = (2.0 * self.rho_inf - 1.0) / (self.rho_inf + 1.0)
        alpha_f = self.rho_inf / (self.rho_inf + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return alpha_m, alpha_f, 0.25 * (0.5 + gamma) ** 2, gamma

    def coefficients(self) -> Coefficients:
        return Coefficients("kr", *self._parameters(), self.references)

    def plain(self, system: System, dt: float) -> Method:
        system = condensed(system, self.kind)
        alpha_f, stack = self._parameters()[1], Stack.of(linear(system))
        to_velocity, to_displacement, lag, inverse, before = (one[0] for one in self._matrices(stack, dt))
        m, c, k = system.mass, system.damping, system.stiffness
        late = 1.0 - alpha_f
        work = {key: np.zeros(system.dofs) for key in ("next_q", "next_a", "velocity")}
        work["forces"] = np.zeros(system.elements.count)
        return Method(
            step=kr_alpha_step,
            parameters={
                "dt": dt,
                "alpha_f": alpha_f,
                "at_start": stored(np.linalg.solve(m, system.inputs)),
                "to_displacement": stored(to_displacement),
                "to_velocity": stored(to_velocity),
                "lag": stored(lag),
                "on_inputs": stored(inverse @ system.inputs),
                "on_displacement": stored(inverse @ k),
                "on_velocity": stored(inverse @ (c + late * dt * k)),
                "on_acceleration": stored(inverse @ (before + late * (c @ to_velocity + k @ to_displacement))),
                "action": stored(inverse @ system.elements.direction.T),
                **shared_parameters(system),
            },
            state={**initial_state(system), **work},
            frozen=("started", *HELD, *work),
            moving=moving(system.elements),
            references=self.references,
            jacobian=(lambda *_: self.recursion(Stack.of(system), dt).jacobian()) if system.linear else None,
        )

    def banded(self, system: System, dt: float) -> Method | None:
        return banded_kr(system, dt, self._parameters(), self.references)

    def _matrices(self, stack: Stack, dt: float) -> tuple[np.ndarray, ...]:
        """Δt α₁, Δt² α₂, γ Δt α₁, H and M α₃, with the stiffness K_0."""
        alpha_m, alpha_f, beta, gamma = self._parameters()
        m = stack.mass
        implicit = gamma * dt * stack.damping + beta * dt**2 * stack.stiffness
        alpha_1 = np.linalg.solve(m + implicit, m)
        alpha_3 = np.linalg.solve(m + implicit, alpha_m * m + alpha_f * implicit)
        inverse = np.linalg.inv(m @ (np.eye(stack.dofs) - alpha_3))
        return dt * alpha_1, dt**2 * (0.5 + gamma) * alpha_1, gamma * dt * alpha_1, inverse, m @ alpha_3

    def recursion(self, stack: Stack, dt: float) -> Recursion:
        """x = (q, v, a)."""
        alpha_f, c, k = self._parameters()[1], stack.damping, stack.stiffness
        to_velocity, to_displacement, lag, inverse, before = self._matrices(stack, dt)
        late, now = 1.0 - alpha_f, np.broadcast_to(np.eye(stack.dofs), c.shape)
        on_velocity = inverse @ (c + late * dt * k)
        on_acceleration = inverse @ (before + late * (c @ to_velocity + k @ to_displacement))
        pushed, none = stack.over_mass(stack.inputs), np.zeros_like(stack.inputs)
        forced = rows((none,), (none,), (inverse @ stack.inputs,))
        a = stack.acceleration()
        return Recursion(
            transition=rows(
                (now, dt * now, to_displacement),
                (0.0 * now, now, to_velocity),
                (-inverse @ k, -on_velocity, -on_acceleration),
            ),
            earlier=alpha_f * forced,
            later=late * forced,
            outputs=rows(
                (
                    stack.displacement_outputs,
                    stack.velocity_outputs,
                    stack.acceleration_outputs + stack.velocity_outputs @ lag,
                )
            ),
            direct=stack.direct,
            start=np.concatenate([stack.displacement, stack.velocity - (lag @ a[..., None])[..., 0], a], axis=-1),
            at_start=rows((none,), (-lag @ pushed,), (pushed,)),
        )
