"""A servo-hydraulic rig whose specimen has nonlinear elements: valve, chamber and specimen integrated together.

With the state x = (w, w˙, f, q, q˙) of ``servo_hydraulic.py``, its matrices with all elements at their initial
stiffness k_e and damping c_e, and the directions b_e in which they act,

    x˙ = A x + B (u, e) + Σ_e G_e g_e,    G_e = (0, 0, 0, 0, M⁻¹ b_e),    g_e = k_e δ_e + c_e δ˙_e − r_e(δ_e, δ˙_e)

A step is divided into ``substeps``.  Over each, the linear part is exact (C. F. Van Loan, IEEE Trans. Autom. Control
23 (1978) 395–404) for a command that is held and for g_e that go linearly from the beginning of the part to its end,
so that the error is of the second order in the part, and only in what the elements differ from linear ones.  g at the
end is found by Newton's method with the laws' tangents, in at most ``ITERATIONS``: until all are known to
``TOLERANCE`` of the forces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts.system import Elements
from ..kernels.compile import kernel
from ..kernels.linear import copy_to, dot, multiply_add, set_to, solve_in_place, stored
from ..models.materials.element_fields import HELD, element_states, keep, loaded
from ..models.materials.uniaxial import uniaxial
from ..models.schemes.exact import discretise

NOT_CONVERGED = 1
ITERATIONS, TOLERANCE = 20, 1e-12


@kernel
def _differences(p, s, elapsed):  # type: ignore[no-untyped-def]
    """What the elements' forces lack to linear ones, at the motion in ``s.x``."""
    n = p.direction.shape[1]
    for e in range(p.law.shape[0]):
        deformation, rate = dot(p.direction[e], s.x[3 * n : 4 * n]), dot(p.direction[e], s.x[4 * n :])
        force, s.tangent[e], s.slope[e] = uniaxial(
            p.law[e], p.elements[e], s.memory[e], deformation, rate, elapsed, s.tried[e]
        )
        as_initial = p.initial[e] * deformation + p.initial_damping[e] * rate
        s.wanted[e] = as_initial - force
        s.scale[e] = abs(as_initial) + abs(force)


@kernel
def _part(p, s):  # type: ignore[no-untyped-def]
    elements, status = p.law.shape[0], NOT_CONVERGED
    _differences(p, s, 0.0)
    copy_to(s.wanted, s.g)
    copy_to(s.x, s.before)
    set_to(0.0, s.known)
    multiply_add(p.transition, s.before, s.known)
    multiply_add(p.held, s.u, s.known)
    multiply_add(p.earlier, s.g, s.known)
    for _ in range(ITERATIONS):
        copy_to(s.known, s.x)
        multiply_add(p.later, s.g, s.x)
        _differences(p, s, p.dt)
        status = 0
        for e in range(elements):
            s.wanted[e] -= s.g[e]
            if not (abs(s.wanted[e]) <= TOLERANCE * s.scale[e]):  # NaN has not converged either
                status = NOT_CONVERGED
            for f in range(elements):
                softer = (p.initial[e] - s.tangent[e]) * p.moved[e, f]
                softer += (p.initial_damping[e] - s.slope[e]) * p.speeded[e, f]
                s.jacobian[e, f] = (1.0 if e == f else 0.0) - softer
        if status == 0:
            break
        solve_in_place(s.jacobian, s.wanted)
        for e in range(elements):
            s.g[e] += s.wanted[e]
    keep(s.memory, s.tried)
    return status


def servo_hydraulic_elements_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, status = u.size - 1, 0
    for i in range(n):
        command = min(max(u[i], -p.range), p.range)
        if p.resolution > 0.0:
            command = p.resolution * np.rint(command / p.resolution)
        s.u[i] = command
    s.u[n] = u[n]
    for _ in range(int(p.substeps)):
        status = max(status, _part(p, s))
    set_to(0.0, y)
    multiply_add(p.outputs, s.x, y)
    return status


def parts(
    elements: Elements, matrices: tuple[np.ndarray, np.ndarray], mass: np.ndarray, step: float, substeps: int
) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    """Parameters, state, and what of it a linearisation at rest holds; ``matrices`` are A and B."""
    a, b = matrices
    n, e, dt = len(mass), elements.count, step / substeps
    acting = np.zeros((5 * n, e))
    acting[4 * n :] = np.linalg.solve(mass, elements.direction.T)
    transition, held_command, _ = discretise(a, b, dt, "zero")
    _, earlier, later = discretise(a, acting, dt, "first")
    parameters = {
        "transition": stored(transition),
        "held": stored(held_command),
        "earlier": stored(earlier),
        "later": stored(later),
        "moved": elements.direction @ later[3 * n : 4 * n],
        "speeded": elements.direction @ later[4 * n :],
        "law": elements.law,
        "direction": elements.direction,
        "elements": elements.parameters,
        "initial": elements.initial_stiffness,
        "initial_damping": elements.initial_damping,
        "dt": dt,
        "substeps": float(substeps),
    }
    work = {name: np.zeros(e) for name in ("g", "wanted", "tangent", "slope", "scale")}
    work |= {"known": np.zeros(5 * n), "jacobian": np.zeros((e, e))}
    return parameters, work, (*work, *HELD)


def standing(elements: Elements, x0: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Force of the elements on each axis, and their states, at rest at x0."""
    forces, states = loaded(elements, x0, np.zeros(len(x0)))
    return forces @ elements.direction, element_states(states)
