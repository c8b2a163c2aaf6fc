"""The operator-splitting method (α-OS) for pseudo-dynamic tests: implicit in what is known, explicit in the specimen.

D. Combescure, P. Pegon, "α-operator splitting time integration technique for pseudodynamic testing: error propagation
analysis", Soil Dyn. Earthquake Engng 16 (1997) 427–443, after M. Nakashima, H. Kato, E. Takaoka, Earthquake Engng
Struct. Dyn. 21 (1992) 79–92.  The specimen is moved to the *predictor* q̃, its force r̃ is measured there, and the step
is completed with the stiffness K̂ that the specimen is calculated to have:

    q̃_{n+1} = q_n + Δt v_n + Δt² (½ − β) a_n,    ṽ_{n+1} = v_n + Δt (1 − γ) a_n
    q_{n+1} = q̃_{n+1} + Δt² β a_{n+1},           v_{n+1} = ṽ_{n+1} + Δt γ a_{n+1}
    M a_{n+1} = (1 + α) g_{n+1} − α g_n
    g = F − C v − K q − f(q̃) − B r̃ − (Σ b_e k_e b_eᵀ + B K̂ Bᵀ) (q − q̃)

g is linear in a_{n+1}: one constant matrix G = M + (1 + α)(γ Δt C + β Δt² (K + Σ b_e k_e b_eᵀ + B K̂ Bᵀ)) is inverted
before the test.  Nonlinear elements of the structure are treated as the specimen is, with their initial stiffness k_e.

*When what holds.*  The target of a tick is q̃ at its time.  The force measured for it comes with the inputs of the
*next* tick, where it completes the step: other schemes take a measured force for that of the tick in which it comes.  A
slow test has no other delay, and in real time a rig of one step of delay is coupled as if it had none.  Velocities are
predictors too, and accelerations those of the tick before.

α = 0 … −⅓ dissipates high frequencies; β = (1 − α)²/4, γ = ½ − α.  For specimens not stiffer than K̂ the method is
stable at any step; with α = 0 it is so for any up to K̂ + 4 M/Δt².

======== ======================================================================
q, v, a  displacement, velocity, acceleration; ~ marks predictors
F, g     force of the excitation; all forces but inertia
f, b_e   forces of nonlinear elements, and the directions in which they act
B, K̂     interface, and stiffness of the specimen (``specimen_stiffness``)
======== ======================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

import numpy as np

from ...contracts.finding import Finding
from ...contracts.massless import MasslessError, condensed
from ...contracts.system import Method, System
from ...kernels.linear import copy_to, multiply_add, multiply_subtract, set_to, stored, three_products
from ...settings import Matrix, Number, fault
from ..materials.element_fields import HELD, keep, moving
from ..materials.resisting import add_forces_along
from .scheme import Coefficients, Scheme, initial_state, shared_parameters

EXCITATIONS = 2
"""Inputs of a system before the measured forces: the excitation and its rate."""


def operator_splitting_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.q.shape[0]
    if s.started == 0.0:
        s.started = 1.0
    else:
        # complete the tick before: its excitation was kept, the force measured for its target has just come
        for j in range(EXCITATIONS, u.shape[0]):
            s.u[j] = u[j]
        set_to(0.0, s.net)
        multiply_add(p.on_inputs, s.u, s.net)
        multiply_subtract(p.on_velocity, s.v, s.net)
        multiply_subtract(p.on_displacement, s.q, s.net)
        elapsed = 0.0 if s.started == 1.0 else p.dt
        add_forces_along(p.law, p.terms, p.elements, s.memory, s.tried, s.q, s.v, elapsed, -1.0, s.net)
        keep(s.memory, s.tried)
        set_to(0.0, s.a)
        if s.started == 1.0:  # the state at the start is given, and not corrected
            s.started = 2.0
            multiply_add(p.at_start, s.net, s.a)
        else:
            for i in range(n):
                s.work[i] = (1.0 + p.alpha) * s.net[i] - p.alpha * s.last_net[i]
            multiply_add(p.inverse, s.work, s.a)
            multiply_subtract(p.correction, s.a, s.net)
            for i in range(n):
                s.q[i] += p.dt * p.dt * p.beta * s.a[i]
                s.v[i] += p.dt * p.gamma * s.a[i]
        copy_to(s.net, s.last_net)
        for i in range(n):
            s.q[i] += p.dt * s.v[i] + p.dt * p.dt * (0.5 - p.beta) * s.a[i]
            s.v[i] += p.dt * (1.0 - p.gamma) * s.a[i]
    copy_to(u, s.u)
    three_products(p.displacement_outputs, s.q, p.velocity_outputs, s.v, p.acceleration_outputs, s.a, y)
    multiply_add(p.direct, u, y)
    return 0


def splitting(
    kind: str,
    system: System,
    dt: float,
    stiffness: np.ndarray,
    alpha: float,
    beta: float,
    gamma: float,
    references: tuple[str, ...],
) -> Method:
    """The method for given parameters; ``stiffness`` is K̂, (axes, axes)."""
    system = condensed(system, kind)
    if np.any(system.feedthrough[:, EXCITATIONS:]):
        raise MasslessError(
            "the interface is at a degree of freedom without mass, which responds instantly to the "
            "measured force, but "
            f"'{kind}' moves the specimen before its force is known; give the interface mass"
        )
    m, c = system.mass, system.damping
    interface = -system.inputs[:, EXCITATIONS:]
    completed = system.tangent_stiffness + interface @ stiffness @ interface.T
    correction = gamma * dt * system.tangent_damping + beta * dt**2 * completed
    initial = initial_state(system)
    n = system.dofs
    carried = {"a": initial.pop("a"), "last_net": np.zeros(n)}
    work = {"net": np.zeros(n), "work": np.zeros(n)}
    return Method(
        step=operator_splitting_step,
        parameters={
            "dt": dt,
            "alpha": alpha,
            "beta": beta,
            "gamma": gamma,
            "on_inputs": stored(system.inputs),
            "on_velocity": stored(c),
            "on_displacement": stored(system.stiffness),
            "at_start": stored(np.linalg.inv(m)),
            "inverse": stored(np.linalg.inv(m + (1.0 + alpha) * correction)),
            "correction": stored(correction),
            **shared_parameters(system),
        },
        state={**initial, **carried, **work},
        frozen=("started", *HELD, *work),
        moving=moving(system.elements),
        references=references,
    )


class OperatorSplitting(Scheme):
    """α-OS, for pseudo-dynamic tests."""

    kind: Literal["operator splitting"] = "operator splitting"
    answered_next_tick: ClassVar[bool] = True
    specimen_stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)]
    """K̂: the specimen's initial stiffness, one row for each interface axis."""
    alpha: Annotated[float, Number("1", least=-1 / 3, most=0)] = 0.0

    def critical_step(self, system: System) -> float | None:
        """None: any step is stable.  What does not fit the system is refused here, where definitions ask."""
        axes = system.inputs.shape[1] - EXCITATIONS
        if len(self.specimen_stiffness) != axes:
            raise fault(
                f"scheme.specimen_stiffness has {len(self.specimen_stiffness)} row(s) where the interface has {axes} "
                "axis(es); give one for each"
            )
        return None

    def findings(self, specimen: np.ndarray) -> Iterable[Finding]:
        """A warning if less stiffness is calculated with than the specimen has at first."""
        missing, directions = np.linalg.eigh(specimen - self.specimen_stiffness)
        if missing[-1] <= 1e-9 * np.abs(specimen).max():
            return
        along = directions[:, -1]
        ratio = (along @ self.specimen_stiffness @ along) / (along @ specimen @ along)
        text = (
            f"virtual.scheme.specimen_stiffness is {ratio:.3g} times that of the specimen: below 1 operator "
            "splitting is not unconditionally stable, and less accurate; raise it to that of the specimen or above"
        )
        yield Finding("warning", text, float(ratio), 1.0)

    def coefficients(self) -> Coefficients:
        beta, gamma = 0.25 * (1.0 - self.alpha) ** 2, 0.5 - self.alpha
        references = ("combescure1997", "nakashima1992")
        return Coefficients("splitting", 0.0, -self.alpha, beta, gamma, references, specimen=self.specimen_stiffness)

    def plain(self, system: System, dt: float) -> Method:
        beta, gamma = 0.25 * (1.0 - self.alpha) ** 2, 0.5 - self.alpha
        references = ("combescure1997", "nakashima1992")
        return splitting(self.kind, system, dt, self.specimen_stiffness, self.alpha, beta, gamma, references)
