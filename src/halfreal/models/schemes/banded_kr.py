"""KR-α and MKR-α of structures with banded matrices (``in_band.py``).

The equations are those of ``kr_alpha.py``.  With Ĝ = M + J, J = γΔt C_0 + βΔt² K_0, G = (1 − α_m) M + (1 − α_f) J and
x = Ĝ⁻¹M a, which is α₁ a, they need banded products and factors alone:

    v_{n+1} = v_n + Δt x_n,    q_{n+1} = q_n + Δt v_n + Δt² (½ + γ) x_n
    G a_{n+1} = Ĝ M⁻¹ (F_{n+1−α_f} − C v_{n+1−α_f} − K q_{n+1−α_f} − f_{n+1−α_f}) − (α_m M + α_f J) a_n

The velocity that is given out is v + γΔt x.
"""

from __future__ import annotations

import numpy as np

from ...contracts.system import Method, System
from ...kernels.band import band_multiply_add, band_solve
from ...kernels.block import Value
from ...kernels.compile import kernel
from ...kernels.linear import copy_to, multiply_add, set_to, stored
from ..materials.element_fields import HELD, keep, moving
from ..materials.resisting import add_forces_along
from .in_band import add_inputs, band_of, factors_of, outputs_and_elements, read_outputs
from .scheme import initial_state


@kernel
def _reduced(p, s):  # type: ignore[no-untyped-def]
    """x of the acceleration."""
    set_to(0.0, s.x)
    band_multiply_add(p.mass, 1.0, s.a, s.x)
    band_solve(p.whole_factors, s.x)


def banded_kr_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, late = s.q.shape[0], 1.0 - p.alpha_f
    if s.started == 0.0:
        s.started = 1.0
        multiply_add(p.at_start, u, s.a)
        _reduced(p, s)
        for i in range(n):
            s.v[i] -= p.lag * s.x[i]
    else:
        _reduced(p, s)
        set_to(0.0, s.force)
        add_inputs(p.inputs, p.alpha_f, s.u, u, s.force)
        add_forces_along(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, 0.0, -p.alpha_f, s.force)
        for i in range(n):
            s.work[i] = s.v[i] + late * p.dt * s.x[i]
        band_multiply_add(p.damping, -1.0, s.work, s.force)
        for i in range(n):
            moved = p.dt * s.v[i] + p.to_displacement * s.x[i]
            s.work[i] = s.q[i] + late * moved
            s.q[i] += moved
            s.v[i] += p.dt * s.x[i]
        band_multiply_add(p.stiffness, -1.0, s.work, s.force)
        add_forces_along(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, p.dt, -late, s.force)
        keep(s.memory, s.tried)
        band_solve(p.mass_factors, s.force)
        set_to(0.0, s.work)
        band_multiply_add(p.whole, 1.0, s.force, s.work)
        band_multiply_add(p.before, -1.0, s.a, s.work)
        band_solve(p.after_factors, s.work)
        copy_to(s.work, s.a)
        if p.reads_velocity != 0.0:
            _reduced(p, s)
    copy_to(u, s.u)
    for i in range(n):
        s.work[i] = s.v[i] + p.lag * s.x[i]
    read_outputs(p, s.q, s.work, s.a, u, y)
    return 0


def banded_kr(
    system: System, dt: float, parameters: tuple[float, float, float, float], references: tuple[str, ...]
) -> Method | None:
    """The method for α_m, α_f, β and γ; None if a matrix of a step is not positive definite."""
    alpha_m, alpha_f, beta, gamma = parameters
    mass = system.mass
    implicit = gamma * dt * system.tangent_damping + beta * dt**2 * system.tangent_stiffness
    needed = (mass, mass + implicit, (1.0 - alpha_m) * mass + (1.0 - alpha_f) * implicit)
    mass_factors, whole_factors, after_factors = (factors_of(one) for one in needed)
    if mass_factors is None or whole_factors is None or after_factors is None:
        return None
    fields: dict[str, Value] = {
        "dt": dt,
        "alpha_f": alpha_f,
        "to_displacement": dt**2 * (0.5 + gamma),
        "lag": gamma * dt,
        "reads_velocity": float(np.any(system.velocity_outputs)),
        "at_start": stored(np.linalg.solve(mass, system.inputs)),
        "mass": band_of(mass),
        "damping": band_of(system.damping),
        "stiffness": band_of(system.stiffness),
        "whole": band_of(mass + implicit),
        "before": band_of(alpha_m * mass + alpha_f * implicit),
        "mass_factors": mass_factors,
        "whole_factors": whole_factors,
        "after_factors": after_factors,
        **outputs_and_elements(system),
    }
    work = {key: np.zeros(system.dofs) for key in ("x", "force", "work")}
    state = {**initial_state(system), **work, "started": 0.0}
    return Method(
        step=banded_kr_step,
        parameters=fields,
        state=state,
        frozen=("started", *HELD, *work),
        moving=moving(system.elements),
        references=references,
    )
