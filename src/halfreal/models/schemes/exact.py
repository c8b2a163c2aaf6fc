"""Exact integration of a linear system whose inputs are linear between their samples, or held.

    x˙ = A x + B u,    x_k = Φ x_{k−1} + Γ₀ u_{k−1} + Γ₁ u_k,    y_k = C x_k + D u_k

Φ, Γ₀, Γ₁ come from one matrix exponential (C. F. Van Loan, "Computing integrals involving the matrix exponential", IEEE
Trans. Autom. Control 23 (1978) 395–404), whose first rows are

    exp ⎡AΔt  BΔt  0⎤   ⎡Φ  Γ  Γ₁⎤
        ⎢ 0    0   I⎥ = ⎢.  .  . ⎥        x_k = Φ x_{k−1} + Γ u_{k−1} + Γ₁ (u_k − u_{k−1})
        ⎣ 0    0   0⎦   ⎣.  .  . ⎦

so that Γ₀ = Γ − Γ₁ if inputs are linear between samples (hold "first"), and Γ₀ = Γ, Γ₁ = 0 if u_{k−1} is held over
the step (hold "zero"; the state then does not depend on the inputs at t_k).

======== =============================================================================
x        state: displacements and velocities, or that of a state-space model
u, y     inputs and outputs
Φ        transition matrix over a step Δt
Γ₀, Γ₁   weights of the inputs at the step's beginning and end
======== =============================================================================
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ...contracts.massless import first_order_start
from ...contracts.quantities import Hold
from ...contracts.system import Method, System
from ...kernels.linear import copy_to, multiply_add, set_to, stored
from .recursion import Recursion, Stack, rows
from .scheme import Scheme

TAYLOR = 16
"""Order of the series: its remainder at ½ is 10⁻²⁰."""


def exact_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if s.started == 0.0:
        s.started = 1.0
    else:
        copy_to(s.x, s.before)
        set_to(0.0, s.x)
        multiply_add(p.transition, s.before, s.x)
        multiply_add(p.earlier, s.u, s.x)
        multiply_add(p.later, u, s.x)
    copy_to(u, s.u)
    set_to(0.0, y)
    multiply_add(p.outputs, s.x, y)
    multiply_add(p.direct, u, y)
    return 0


def discretise(a: np.ndarray, b: np.ndarray, dt: float, hold: Hold) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Φ, Γ₀, Γ₁ of x˙ = A x + B u over a step, of one model or of a stack of them."""
    import scipy.linalg

    n, nu = b.shape[-2:]
    augmented = np.zeros((*b.shape[:-2], n + 2 * nu, n + 2 * nu))
    augmented[..., :n, :n] = a * dt
    augmented[..., :n, n : n + nu] = b * dt
    augmented[..., n : n + nu, n + nu :] = np.eye(nu)
    exponential = (scipy.linalg.expm if augmented.ndim == 2 else exponentials)(augmented)[..., :n, :]
    transition, held, risen = exponential[..., :n], exponential[..., n : n + nu], exponential[..., n + nu :]
    if hold == "zero":
        return transition, held, np.zeros_like(held)
    return transition, held - risen, risen


def oscillators(a: np.ndarray, b: np.ndarray, dt: float, hold: Hold) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``discretise`` for many oscillators, x = (q, q˙), in units of time of their own, so that both are alike large."""
    rate = np.maximum(np.sqrt(np.abs(a[:, 1, 0])), np.maximum(np.abs(a[:, 1, 1]), 1e-3 / dt))
    scale = np.ones((len(a), 2))
    scale[:, 1] = 2.0 ** np.round(np.log2(rate))
    transition, earlier, later = discretise(a * scale[:, None] / scale[:, :, None], b / scale[:, :, None], dt, hold)
    return (
        transition / scale[:, None] * scale[:, :, None],
        earlier * scale[:, :, None],
        later * scale[:, :, None],
    )


def exponentials(matrices: np.ndarray) -> np.ndarray:
    """exp of many small matrices at once: Taylor's series of A/2ˢ, |A|/2ˢ ≤ ½, squared s times."""
    size = np.abs(matrices).sum(axis=-1).max(axis=-1)
    halvings = np.maximum(np.ceil(np.log2(np.maximum(size, 1e-300))) + 1.0, 0.0)
    scaled = matrices / 2.0 ** halvings[:, None, None]
    result = term = np.broadcast_to(np.eye(matrices.shape[-1]), matrices.shape)
    for order in range(1, TAYLOR + 1):
        term = term @ scaled / order
        result = result + term
    for done in range(int(halvings.max(initial=0.0))):
        again = halvings > done
        result[again] = result[again] @ result[again]
    return result


def exact_method(
    model: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], initial: np.ndarray, dt: float, hold: Hold
) -> Method:
    """The method of a state-space model A, B, C, D that starts at x = ``initial``."""
    a, b, c, d = model
    transition, earlier, later = discretise(a, b, dt, hold)
    start, at_start = np.array(initial, dtype=float), np.zeros(b.shape)
    found = Recursion(transition[None], earlier[None], later[None], c[None], d, start[None], at_start[None])
    return Method(
        step=exact_step,
        parameters={
            "transition": stored(transition),
            "earlier": stored(earlier),
            "later": stored(later),
            "outputs": stored(c),
            "direct": stored(d),
        },
        state={
            "x": start,
            "u": np.zeros(b.shape[1]),
            "started": 0.0,
            "before": np.zeros(len(a)),
        },
        frozen=("started", "before"),
        references=("vanloan1978",),
        jacobian=found.jacobian,
    )


class Exact(Scheme):
    """Exact integration of linear systems by the matrix exponential; stable at any step."""

    kind: Literal["exact"] = "exact"
    linear_only: ClassVar[bool] = True
    references = ("vanloan1978",)
    hold: Hold = "first"
    """Inputs between samples: linear ("first") or constant ("zero")."""

    @property
    def input_hold(self) -> Hold:
        return self.hold

    def plain(self, system: System, dt: float) -> Method:
        if not system.linear:
            raise ValueError(
                f"the exact scheme integrates linear systems only, but this one has {system.elements.count} nonlinear "
                "element(s); use another scheme, e.g. 'newmark' or 'kr-alpha'"
            )
        return exact_method(system.first_order(), first_order_start(system), dt, self.hold)

    def recursion(self, stack: Stack, dt: float) -> Recursion:
        """x = (q, v); with one degree of freedom in each part, the inputs act as one force."""
        now = np.broadcast_to(np.eye(stack.dofs), stack.mass.shape)
        by_q, by_v = -stack.over_mass(stack.stiffness), -stack.over_mass(stack.damping)
        pushed, none = stack.over_mass(stack.inputs), np.zeros_like(stack.inputs)
        if stack.dofs == 1:
            unit = np.zeros_like(stack.mass), stack.over_mass(np.ones_like(stack.mass))
            found = oscillators(rows((0.0 * now, now), (by_q, by_v)), rows((unit[0],), (unit[1],)), dt, self.hold)
            transition, earlier, later = found[0], found[1] @ stack.inputs, found[2] @ stack.inputs
        else:
            rates = rows((0.0 * now, now), (by_q, by_v)), rows((none,), (pushed,))
            transition, earlier, later = discretise(*rates, dt, self.hold)
        on_a = stack.acceleration_outputs
        return Recursion(
            transition,
            earlier,
            later,
            outputs=rows((stack.displacement_outputs + on_a @ by_q, stack.velocity_outputs + on_a @ by_v)),
            direct=stack.direct + (on_a @ pushed).sum(0),
            start=np.concatenate([stack.displacement, stack.velocity], axis=-1),
            at_start=np.zeros_like(later),
        )
