"""Interface forces by Baumgarte's stabilisation, as in the paper this follows.

F. Nordtorp, G. Abbiati, "A DAE solver for coordination of force-controlled hybrid testing", engrXiv preprint; J.
Baumgarte, "Stabilization of constraints and integrals of motion in dynamical systems", Comput. Methods Appl. Mech.
Engrg 1 (1972) 1–16.  The constraint g = hq − d = 0 is replaced by

    g¨ + 2α g˙ + β² g = 0

from which the force follows (Eq. 6 of the paper, with f = −r; its Eq. 7 prints d˙ where d¨ is meant, and its Eq. 13
lacks the minus sign of d = −r/k):

    f = (hM⁻¹hᵀ)⁻¹ (hq¨_free + 2α hu + β² hq − (d¨ + 2α d˙ + β² d))

d˙ and d¨ come from a cubic regression (``derivative_regression.py``) over d and the last states.  An explicit
Runge–Kutta method advances q, u.  The paper leaves open what the following choices name:

=================== ===============================================================================================
``derivatives``     time at which d is taken to hold and is differentiated: "step end", t_{n+1}; "step start", t_n;
                    "stage", t_n + c_j Δt
``exchange``        with the specimen, once a "stage" or once a "step", at its beginning
``loop``            the displacement in the equation of a force is not yet measured when the force is computed.
                    "lagged": the last one measured represents it.  "solved": the equation is solved together with
                    d = d_last + F̂ (f − f_last); with F̂ that of the specimen this is the exact solution
``slopes``          of a stage: those under the force that was sent ("commanded"), or under the force that the
                    displacement measured afterwards would give ("measured", line 9 of the paper's Algorithm 1)
=================== ===============================================================================================

The paper's stability limits come out with ("step end", "stage", "solved", "commanded") and an exact F̂, and nearly so
with ("step start", "step", "lagged", "commanded").  "stage" is more accurate than either: the others differentiate at
the wrong time and are of first order, regardless of the Runge–Kutta method.  With a solved loop it needs F̂ a tenth
below the specimen's compliance: with just that compliance it is weakly unstable (ρ − 1 of 10⁻⁶ to 10⁻⁵ in the published
test).

============= ===============================================================
α, β          of the stabilisation [1/s]
w, n          velocity weight [s] and number of states in the regression
m             (hM⁻¹hᵀ)⁻¹, mass at the interface
κ             weights of d¨ + 2α d˙ in what the regression is fitted to
G = β² m/k    gain of the exchange
============= ===============================================================
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.system import Method, System
from ...settings import Number, fault
from ..schemes.tableaus import RK4, AnyTableau, nodes, stages
from .derivative_regression import derivative_weights, determined
from .exchange import Exchange, ExchangeMethod, interface_mass, runge_kutta_exchange
from .stiffness_estimate import TOO_LOW, Estimate, Stiffness, stiffness_ratios


class Baumgarte(ExchangeMethod):
    """Explicit Runge–Kutta with the constraint stabilised by α and β."""

    kind: Literal["baumgarte"] = "baumgarte"
    alpha: Annotated[float, Number("1/s", above=0)]
    beta: Annotated[float, Number("1/s", above=0)]
    velocity_weight: Annotated[float, Number("s", least=0)]
    """w; the paper's is 1 s."""
    tableau: AnyTableau = RK4
    exchange: Exchange = "stage"
    derivatives: Literal["step end", "step start", "stage"] = "stage"
    points: Annotated[int, Field(ge=1, le=50)] = 3
    """Number of states in the regression."""
    slopes: Literal["commanded", "measured"] = "commanded"
    loop: Literal["solved", "lagged"] = "solved"
    stiffness: Stiffness | None = None
    """K̂ of the solved loop."""
    estimate: Annotated[Estimate | None, Field(validate_default=True)] = None

    @field_validator("points")
    @classmethod
    def _enough(cls, points: int, info: ValidationInfo) -> int:
        weight, derivatives = info.data.get("velocity_weight"), info.data.get("derivatives")
        if weight is None or derivatives is None:
            return points
        # at the beginning of a step the measured displacement is no new point in time
        at = 1.0 if derivatives == "step end" else 0.0
        if not determined(1.0, at, points, float(weight > 0.0)):
            least = next(n for n in range(1, 5) if determined(1.0, at, n, float(weight > 0.0)))
            raise fault(
                f"a cubic is not determined by {points} state(s) with a velocity weight of {weight:g} s; use at least "
                f"{least} points" + ("" if weight > 0.0 else ", or give the velocities a weight")
            )
        return points

    @field_validator("slopes")
    @classmethod
    def _exchanged(cls, slopes: str, info: ValidationInfo) -> str:
        if slopes == "measured" and info.data.get("exchange") == "step":
            raise fault(
                "slopes 'measured' need a measurement at every stage, but exchange is 'step'; use exchange = 'stage', "
                "or slopes = 'commanded'"
            )
        return slopes

    @field_validator("estimate")
    @classmethod
    def _as_the_loop_needs(cls, estimate: Estimate | None, info: ValidationInfo) -> Estimate | None:
        loop, given = info.data.get("loop"), "stiffness" in info.data and info.data["stiffness"] is not None
        if loop == "solved" and given == (estimate is not None) and "stiffness" in info.data:
            raise fault(
                "a solved loop uses the specimen's stiffness; give exactly one of stiffness and estimate, or "
                "use loop = 'lagged'"
            )
        if loop == "lagged" and (given or estimate is not None):
            raise fault("a lagged loop does not use a stiffness; omit it, or use loop = 'solved'")
        return estimate

    @property
    def ticks(self) -> int:
        return stages(self.tableau) if self.exchange == "stage" else 1

    @property
    def nodes(self) -> tuple[float, ...]:
        return tuple(float(c) for c in nodes(self.tableau))

    @property
    def reckoned_stiffness(self) -> np.ndarray | None:
        return self.stiffness

    @property
    def probing(self) -> Estimate | None:
        return self.estimate

    def with_stabilisation(self, alpha: float, beta: float) -> Baumgarte:
        return self.unchecked_copy({"alpha": alpha, "beta": beta})

    def with_stiffness(self, stiffness: np.ndarray) -> Baumgarte:
        if self.loop == "lagged":
            return self
        return self.unchecked_copy({"stiffness": np.asarray(stiffness, dtype=float), "estimate": None})

    def wrong_stiffness(self, specimen: np.ndarray, stable: bool) -> str:
        """A solved loop may bear K̂ < K, and bears K̂ > 2K: it is named where it is low and the loop unstable."""
        low = self.stiffness is not None and stiffness_ratios(self.stiffness, specimen)[0] < TOO_LOW
        return super().wrong_stiffness(specimen, stable) if low and not stable else ""

    def regression(self, dt: float) -> np.ndarray:
        """κ of d¨ + 2α d˙ at every stage, (stages, 1 + 2 points): of d, of the displacements, of the velocities."""
        found: dict[tuple[float, float], np.ndarray] = {}
        rows = []
        for node in self.nodes:
            at = {"step end": 1.0, "step start": 0.0, "stage": node}[self.derivatives]
            # a displacement that is measured once a step, and not foreseen, is that of the step's beginning
            measured_at = 0.0 if self.exchange == "step" and self.loop == "lagged" else at
            if (measured_at, at) not in found:
                velocity, acceleration = derivative_weights(dt, measured_at, at, self.points, self.velocity_weight)
                found[measured_at, at] = acceleration + 2.0 * self.alpha * velocity
            rows.append(found[measured_at, at])
        return np.array(rows)

    def method(self, system: System, h: np.ndarray, dt: float) -> Method:
        m, axes, points = interface_mass(system.mass, h), len(h), self.points
        weights = self.regression(dt)
        by_state = np.stack([weights[:, 1 : 1 + points], weights[:, 1 + points :]], axis=2)
        return runge_kutta_exchange(
            system,
            h,
            dt,
            self.tableau,
            base=(m @ h, 2.0 * self.alpha * m @ h, self.beta**2 * m @ h),
            history=np.einsum("spk,ij->spikj", by_state, m).reshape(len(weights), points, axes, 2 * axes),
            gain=(weights[:, 0] + self.beta**2)[:, None, None] * m,
            own=np.broadcast_to(np.eye(axes), (len(weights), axes, axes)),
            stiffness=self.stiffness,
            estimate=self.estimate,
            exchange=self.exchange,
            measured_slopes=self.slopes == "measured",
            references=("nordtorp", "baumgarte1972"),
        )
