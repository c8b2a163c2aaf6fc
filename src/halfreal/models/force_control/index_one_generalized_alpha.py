"""Generalised-α with index-1 splitting: implicit, one exchange a step, for stiff specimens and long steps.

Index-1 splitting (``index_one.py``), f_{n+1} = K̂ (h q_{n+1} − e) with e from the reply to the last force, within the
generalised-α method of J. Chung, G. M. Hulbert, J. Appl. Mech. 60 (1993) 371–375 (``generalized_alpha.py``):

    M a_{n+1−α_m} + C v_{n+1−α_f} + K q_{n+1−α_f} + hᵀ f_{n+1−α_f} + … = F_{n+1−α_f}

All forces are weighted between the ends of the step; that of the step's beginning is the one that was sent.  The force
is eliminated by hand: with a* the new acceleration without f_{n+1}, q* = q̃ + β Δt² a*, and G as there, without K̂,

    f_{n+1} = (K̂⁻¹ + (1 − α_f) β Δt² h G⁻¹ hᵀ)⁻¹ (h q* − e),    a_{n+1} = a* − (1 − α_f) G⁻¹ hᵀ f_{n+1}

so that K̂ may be found out in the test, and nonlinear elements are iterated with the force already right.

With K ≤ K̂ ≤ 2K it is stable at any step that was tried; below K it is weakly unstable.  The first tick gives the force
of the initial state.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.system import Method, System
from ...kernels.linear import stored
from ...settings import Number
from ..materials.element_fields import HELD, moving
from ..schemes.scheme import initial_state, shared_parameters
from .constrained_steps import NO_STIFFNESS, NOT_CONVERGED, exchange_generalized_alpha_step
from .exchange import ExchangeMethod, initial_force, interface_state, solver_parts
from .stiffness_estimate import NO_STIFFNESS_FAULT, Estimate, Stiffness, exactly_one


class IndexOneGeneralizedAlpha(ExchangeMethod):
    """Generalised-α with index-1 splitting."""

    kind: Literal["index 1 generalized-alpha"] = "index 1 generalized-alpha"
    rho_inf: Annotated[float, Number("1", least=0, most=1)] = 0.8
    """Spectral radius at infinite frequency."""
    iterations: Annotated[int, Field(ge=1, le=1000)] = 20
    tolerance: Annotated[float, Number("1", above=0, most=1e-3)] = 1e-10
    stiffness: Stiffness | None = None
    """K̂, estimated stiffness of the specimen."""
    estimate: Annotated[Estimate | None, Field(validate_default=True)] = None

    @field_validator("estimate")
    @classmethod
    def _one_of_both(cls, estimate: Estimate | None, info: ValidationInfo) -> Estimate | None:
        return exactly_one(estimate, info)

    @property
    def ticks(self) -> int:
        return 1

    @property
    def nodes(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def reckoned_stiffness(self) -> np.ndarray | None:
        return self.stiffness

    @property
    def probing(self) -> Estimate | None:
        return self.estimate

    def with_stiffness(self, stiffness: np.ndarray) -> IndexOneGeneralizedAlpha:
        return self.unchecked_copy({"stiffness": np.asarray(stiffness, dtype=float), "estimate": None})

    def method(self, system: System, h: np.ndarray, dt: float) -> Method:
        alpha_m = (2.0 * self.rho_inf - 1.0) / (self.rho_inf + 1.0)
        alpha_f = self.rho_inf / (self.rho_inf + 1.0)
        beta, gamma = 0.25 * (1.0 - alpha_m + alpha_f) ** 2, 0.5 - alpha_m + alpha_f
        m, c, k, late = system.mass, system.damping, system.stiffness, 1.0 - alpha_f
        implicit = gamma * dt * system.tangent_damping + beta * dt**2 * system.tangent_stiffness
        inverse = np.linalg.inv((1.0 - alpha_m) * m + late * implicit)
        n, axes, e = system.dofs, len(h), system.elements.count
        own = np.array([late * beta * dt**2 * h @ inverse @ h.T, np.zeros((axes, axes))])
        known, solving = solver_parts(
            own, np.broadcast_to(np.eye(axes), (2, axes, axes)), self.stiffness, self.estimate
        )
        sent, work = interface_state(h, system, initial_force(h, system, self.stiffness))
        begin = initial_state(system)
        held = {
            "started": begin.pop("started"),
            **{name: begin.pop(name) for name in HELD},
            "u": np.zeros(2),
            "next_q": np.zeros(n),
            "next_a": np.zeros(n),
            "trial_q": np.zeros(n),
            "known": np.zeros(n),
            **{key: np.zeros(e) for key in ("predicted", "predicted_rate", "trial", "rate")},
            **work,
            **solving,
        }
        begin.pop("u")
        return Method(
            step=exchange_generalized_alpha_step,
            parameters={
                "dt": dt,
                "alpha_f": alpha_f,
                "beta": beta,
                "gamma": gamma,
                "iterations": float(self.iterations),
                "tolerance": self.tolerance,
                "at_start": stored(np.linalg.solve(m, system.inputs)),
                "force_at_start": stored(np.linalg.solve(m, h.T)),
                "on_inputs": stored(inverse @ system.inputs),
                "on_displacement": stored(inverse @ k),
                "on_velocity": stored(inverse @ (c + late * dt * k)),
                "on_acceleration": stored(
                    inverse @ (alpha_m * m + late * ((1.0 - gamma) * dt * c + (0.5 - beta) * dt**2 * k))
                ),
                "on_force": stored(inverse @ h.T),
                "action": stored(inverse @ system.elements.direction.T),
                "initial": system.elements.initial_stiffness,
                "initial_damping": system.elements.initial_damping,
                "constraint": stored(h),
                **known,
                **shared_parameters(system),
            },
            state={**begin, **sent, **held},
            frozen=tuple(held),
            moving=moving(system.elements),
            faults={
                NO_STIFFNESS: NO_STIFFNESS_FAULT,
                NOT_CONVERGED: f"its deformations still change by more than {self.tolerance:g} of the displacement "
                f"after {self.iterations} iterations; shorten the step, allow more iterations, or check the element's "
                f"stiffness",
            },
            references=("chung1993", "nordtorp"),
        )
