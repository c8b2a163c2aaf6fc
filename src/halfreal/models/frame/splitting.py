"""Frames by operator splitting and Newmark's explicit method, for pseudo-dynamic tests.

The method is that of ``halfreal.models.schemes.operator_splitting``, with banded factors: the elements are evaluated at
the predictor q̃, and corrected with their stiffness at rest.

    g = F − C v − K q̃ − (forces of the elements at q̃ beyond K) − B r̃
    (M + (1 + α) J) a = (1 + α) g_{n+1} − α g_n,    J = γΔt C + βΔt² (K + B K̂ Bᵀ),    g then becomes g − J a
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sparse

from ...contracts.massless import MasslessError
from ...contracts.system import Method
from ...kernels.band import band_multiply_add, band_solve, banded, factored
from ...kernels.block import Jacobian, Value
from ...kernels.linear import copy_to, set_to, three_products
from ..schemes.operator_splitting import EXCITATIONS
from ..schemes.scheme import Coefficients
from .evaluate import add_damping, commit_elements, evaluate, read_laws
from .loaded import Loaded, first_order, no_solution
from .low_rank import add_modes, prepared, solve_with_modes


def frame_splitting_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, status = s.q.shape[0], 0
    if s.started == 0.0:
        s.started = 1.0
    else:
        # complete the tick before: its excitation was kept, the force measured for its target has just come
        for j in range(int(p.excitations), u.shape[0]):
            s.u[j] = u[j]
        set_to(0.0, s.net)
        for j in range(u.shape[0]):
            for i in range(n):
                s.net[i] += p.on_inputs[j, i] * s.u[j]
        band_multiply_add(p.damping, -1.0, s.v, s.net)
        add_modes(p.modes, p.rates, -1.0, s.v, s.net)
        band_multiply_add(p.stiffness, -1.0, s.q, s.net)
        set_to(0.0, s.beyond)
        failed = evaluate(
            p.table, p.dofs, p.kinematics, p.rest, p.rest_f, p.initial, p.numbers, p.material, p.materials,
            s.memory, s.flowing, s.trial, s.strain, s.stress, s.inner, s.inner_trial, s.tangents, s.scratch,
            s.q, s.v, p.dt, 0.0, s.beyond,
        )  # fmt: skip
        if failed != 0:
            status = no_solution(failed)
        damped = s.held if p.committed != 0.0 else s.tangents
        add_damping(p.table, p.dofs, p.kinematics, p.initial, damped, p.shares, s.scratch, s.v, s.beyond)
        copy_to(s.tangents, s.held)
        commit_elements(s.memory, s.flowing, s.trial, s.inner, s.inner_trial)
        for i in range(n):
            s.net[i] -= s.beyond[i]
        if s.started == 1.0:  # the state at the start is given, and not corrected
            s.started = 2.0
            copy_to(s.net, s.a)
            band_solve(p.mass_factors, s.a)
        else:
            for i in range(n):
                s.a[i] = (1.0 + p.alpha) * s.net[i] - p.alpha * s.last_net[i]
            solve_with_modes(p.factors, p.modes, p.solved, p.small, s.a, s.in_modes)
            band_multiply_add(p.correction, -1.0, s.a, s.net)
            add_modes(p.modes, p.rates, -p.gamma * p.dt, s.a, s.net)
            for i in range(n):
                s.q[i] += p.dt * p.dt * p.beta * s.a[i]
                s.v[i] += p.dt * p.gamma * s.a[i]
        copy_to(s.net, s.last_net)
        for i in range(n):
            s.q[i] += p.dt * s.v[i] + p.dt * p.dt * (0.5 - p.beta) * s.a[i]
            s.v[i] += p.dt * (1.0 - p.gamma) * s.a[i]
    copy_to(u, s.u)
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.v, p.acceleration_outputs, s.a, s.outputs)
    read_laws(p.probes, s.strain, s.stress, s.outputs, y)
    return status


def splitting(loaded: Loaded, dt: float, by: Coefficients) -> Method:
    """The method of a frame for given coefficients."""
    loaded = replace(loaded, progress=False)
    model, n, alpha = loaded.model, loaded.model.dofs, -by.alpha_f
    heavy = model.mass.diagonal() > 0.0
    if not heavy.all():
        raise MasslessError(
            f"{model.numbering.named(int(np.argmin(heavy)))} has no mass, but a scheme for "
            "pseudo-dynamic tests needs mass "
            "everywhere; give the node inertia, or element_mass = 'consistent' with a mass per length"
        )
    damping, modes, rates = loaded.damping.constant, loaded.damping.modes, loaded.damping.rates
    correction = by.gamma * dt * damping + by.beta * dt**2 * model.stiffness
    if by.specimen is not None:
        interface = sparse.csr_matrix(-loaded.on_inputs[EXCITATIONS:])
        correction = correction + by.beta * dt**2 * (interface.T @ sparse.csr_matrix(by.specimen) @ interface)
    reach = correction.tocoo()
    width = max(model.width, int(np.max(np.abs(reach.row - reach.col), initial=0)))
    factors = factored(model.mass + (1.0 + alpha) * correction, width)
    mass_factors = factored(model.mass, loaded.mass_width)
    solved, small = prepared(factors, modes, rates, (1.0 + alpha) * by.gamma * dt)
    parameters, states = loaded.fields()
    numbers: dict[str, Value] = {
        "dt": dt,
        "alpha": alpha,
        "beta": by.beta,
        "gamma": by.gamma,
        "excitations": float(EXCITATIONS),
        "damping": banded(damping, model.width),
        "stiffness": banded(model.stiffness, model.width),
        "correction": banded(correction, width),
        "factors": factors,
        "solved": solved,
        "small": small,
        "mass_factors": mass_factors,
        **parameters,
    }
    work: dict[str, Value] = {"net": np.zeros(n), "beyond": np.zeros(n), "started": 0.0}
    work["in_modes"] = np.zeros(len(modes))
    work["outputs"] = np.zeros(len(loaded.displacement_outputs))
    state: dict[str, Value] = {
        "q": np.zeros(n),
        "v": np.zeros(n),
        "a": np.zeros(n),
        "last_net": np.zeros(n),
        "u": np.zeros(len(loaded.on_inputs)),
        **states,
        **work,
    }
    return Method(
        step=frame_splitting_step,
        parameters=numbers,
        state=state,
        frozen=(*(key for key in states if key != "flowing"), *work),
        faults=loaded.faults(),
        references=by.references,
        jacobian=None if len(model.states["flowing"]) else lambda *_: _at_rest(loaded, dt, by, correction.toarray()),
    )


def _at_rest(loaded: Loaded, dt: float, by: Coefficients, correction: np.ndarray) -> Jacobian:
    """One step to first order, every element at its stiffness at rest: of (q, v, a, net force, u) and the inputs."""
    n, inputs, alpha = loaded.model.dofs, len(loaded.on_inputs), -by.alpha_f
    m, c, k = loaded.model.mass.toarray(), loaded.damping.matrix(), loaded.model.stiffness.toarray()
    correction = correction + by.gamma * dt * (c - loaded.damping.constant.toarray())
    now = np.eye(n, 4 * n + 2 * inputs)
    old_q, old_v, last_net = now, np.roll(now, n, axis=1), np.roll(now, 3 * n, axis=1)
    net = -c @ old_v - k @ old_q
    push, kept = loaded.on_inputs.T, np.arange(inputs) < EXCITATIONS
    net[:, 4 * n : 4 * n + inputs] += push * kept
    net[:, 4 * n + inputs :] += push * ~kept
    a = np.linalg.solve(m + (1.0 + alpha) * correction, (1.0 + alpha) * net - alpha * last_net)
    v = old_v + dt * by.gamma * a
    q = old_q + dt**2 * by.beta * a + dt * v + dt**2 * (0.5 - by.beta) * a
    v = v + dt * (1.0 - by.gamma) * a
    u = np.hstack([np.zeros((inputs, 4 * n + inputs)), np.eye(inputs)])
    y = loaded.displacement_outputs @ q + loaded.velocity_outputs @ v + loaded.acceleration_outputs @ a
    y = np.vstack([y, loaded.probe_slopes() @ old_q])
    return first_order(np.vstack([q, v, a, net - correction @ a, u]), y)
