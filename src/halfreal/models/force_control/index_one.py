"""Interface forces by index-1 splitting: the specimen's stiffness is calculated with, and its reply corrects the rest.

The specimen is taken for a spring of stiffness K̂ with an offset e that takes up the difference to what it really does,

    f = K̂ (hq − e),    e = d − K̂⁻¹ f_d

where d is its reply to the last force f_d.  The constraint hq = d is then met by a force that follows from q itself:
the system is of index 1, an ordinary differential equation with a slowly varying input e, and no derivative of d is
needed.  It is the limit β → ∞ of the stabilised constraint with a solved loop (``baumgarte.py``; the problem is that of
F. Nordtorp, G. Abbiati, "A DAE solver for coordination of force-controlled hybrid testing", engrXiv preprint).

With K̂ = K the offset is zero and the Runge–Kutta method has the order and the stability limit of the coupled system
(classical method: Ω = 2√2).  With K ≤ K̂ < 2K the offset, wrong by the part 1 − K̂⁻¹K of the reply, follows one exchange
late.  Keep K̂ ≥ K: below, the splitting is weakly unstable; from 2K on the exchange itself diverges.

============= ===============================================================
f, d          force on the specimen (f = −r of the paper) and its displacement
K̂             stiffness calculated with, (axes, axes)
e             offset, (axes,)
============= ===============================================================
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.system import Method, System
from ..schemes.runge_kutta import stability_limit
from ..schemes.tableaus import RK4, AnyTableau, nodes, stages
from .exchange import Exchange, ExchangeMethod, runge_kutta_exchange
from .stiffness_estimate import Estimate, Stiffness, exactly_one

UNUSED_POINTS = 3
"""As many as the regression of ``baumgarte.py`` usually has: both methods are then one compiled block."""


class IndexOne(ExchangeMethod):
    """Explicit Runge–Kutta with index-1 splitting."""

    kind: Literal["index 1"] = "index 1"
    tableau: AnyTableau = RK4
    exchange: Exchange = "stage"
    stiffness: Stiffness | None = None
    """K̂, estimated stiffness of the specimen."""
    estimate: Annotated[Estimate | None, Field(validate_default=True)] = None

    @field_validator("estimate")
    @classmethod
    def _one_of_both(cls, estimate: Estimate | None, info: ValidationInfo) -> Estimate | None:
        return exactly_one(estimate, info)

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

    def with_stiffness(self, stiffness: np.ndarray) -> IndexOne:
        return self.unchecked_copy({"stiffness": np.asarray(stiffness, dtype=float), "estimate": None})

    def method(self, system: System, h: np.ndarray, dt: float) -> Method:
        axes, n = h.shape
        count, nothing = stages(self.tableau), np.zeros((axes, n))
        return runge_kutta_exchange(
            system,
            h,
            dt,
            self.tableau,
            base=(nothing, nothing, h),
            history=np.zeros((count, UNUSED_POINTS, axes, 2 * axes)),
            gain=np.broadcast_to(np.eye(axes), (count, axes, axes)),
            own=np.zeros((count, axes, axes)),
            stiffness=self.stiffness,
            estimate=self.estimate,
            exchange=self.exchange,
            references=("nordtorp",),
        )

    def critical_step(self, system: System, h: np.ndarray) -> float | None:
        import scipy.linalg

        if self.stiffness is None:
            return None
        coupled = replace(system, stiffness=system.stiffness + h.T @ self.stiffness @ h)
        eigenvalues = scipy.linalg.eigvals(coupled.first_order()[0]).astype(complex)
        limit = stability_limit(self.tableau.a, self.tableau.b, eigenvalues)
        return None if np.isinf(limit) else limit
