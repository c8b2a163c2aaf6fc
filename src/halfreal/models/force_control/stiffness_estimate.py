"""Stiffness of the specimen, for methods that foresee its reply: given, or estimated from the first exchanges.

Methods that foresee what a force will do, d̃ = d + F̂ Δf, are stable only if the stiffness they use, k̂ = 1/F̂, is
not below the specimen's, and below twice that: k ≤ k̂ < 2k.  Below k they are weakly unstable; from 2k on the exchange
itself diverges, as each reply misses the foreseen one by 1 − k̂/k.

To find k̂ the block sends, before the test begins, N forces: ``force`` and none in turn, N/2 times each.  The
substructure rests meanwhile, and the excitation waits.  With the replies' means d_1 and d_0, and their scatter σ about
these,

    F = (d_1 − d_0)/f,    δ = z σ √(4/N)/|f|,    k̂ = factor/(F − δ)

held for the rest of the test.  It is refused, and nothing further is sent, unless factor (F + δ) < 2 (F − δ): then
k ≤ k̂ < 2k wherever within its doubt δ the compliance is.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...settings import Matrix, Number, Settings, fault

Stiffness = Annotated[np.ndarray, Matrix("N/m", symmetric=True, definite="positive")]
"""K̂, one row for each axis of the interface."""
TOO_LOW = 1.0 - 1e-12
"""K̂ over K below which the exchange is weakly unstable, but for rounding."""


class Estimate(Settings):
    """Probing forces at the beginning; they must be ones that the specimen bears without harm."""

    force: Annotated[float, Number("N")]
    exchanges: Annotated[int, Field(ge=4, le=1000)] = 8
    factor: Annotated[float, Number("1", least=1, most=1.8)] = 1.1
    """Factor by which k̂ is above the specimen's stiffness."""
    confidence: Annotated[float, Number("1", least=0, most=10)] = 3.0
    """Threshold z, in standard errors."""

    @field_validator("force")
    @classmethod
    def _some(cls, force: float) -> float:
        if force == 0.0:
            raise fault("a force of 0 N moves nothing; give one that moves the specimen well above the noise")
        return force

    @field_validator("exchanges")
    @classmethod
    def _even(cls, exchanges: int) -> int:
        if exchanges % 2:
            raise fault(
                f"{exchanges} exchanges cannot be split into half with and half without the force; give an even number"
            )
        return exchanges


NO_STIFFNESS_FAULT = (
    "the first exchanges do not determine the specimen's stiffness (its response to the probing force is not above "
    "the noise, or has the wrong sign); raise method.estimate.force or .exchanges, check the signs of force and "
    "displacement, or give method.stiffness"
)


def exactly_one(estimate: Estimate | None, info: ValidationInfo) -> Estimate | None:
    """Of ``stiffness``, which stands before, and ``estimate``."""
    if "stiffness" in info.data and (info.data["stiffness"] is None) == (estimate is None):
        which = "neither is" if estimate is None else "both are"
        raise fault(
            f"{which} given where exactly one of stiffness and estimate is expected; give the specimen's stiffness, "
            "not below the true one, or have it estimated in the first exchanges"
        )
    return estimate


def probe_parameters(estimate: Estimate | None) -> dict[str, float]:
    """Parameters of the probing forces; none if the stiffness is given."""
    if estimate is None:
        return {"probes": 0.0, "probe_force": 1.0, "factor": 1.0, "confidence": 0.0}
    return {
        "probes": float(estimate.exchanges),
        "probe_force": estimate.force,
        "factor": estimate.factor,
        "confidence": estimate.confidence,
    }


def stiffness_ratios(estimate: np.ndarray, specimen: np.ndarray) -> tuple[float, float]:
    """Least and largest ratio of a stiffness estimate to the specimen's stiffness, over all directions."""
    import scipy.linalg

    ratios = scipy.linalg.eigh(np.atleast_2d(estimate), np.atleast_2d(specimen), eigvals_only=True)
    return float(ratios[0]), float(ratios[-1])


def below_specimen(estimate: np.ndarray, specimen: np.ndarray) -> str:
    """What is wrong with a stiffness estimate K̂ next to the specimen's stiffness K; empty if K ≤ K̂ < 2K."""
    least, most = stiffness_ratios(estimate, specimen)
    if least < TOO_LOW:
        return (
            f"the stiffness estimate is {least:.3g} times that of the specimen: below 1 the exchange is weakly "
            "unstable; raise it to 1.1 times"
        )
    if most >= 2.0:
        return (
            f"the stiffness estimate is {most:.3g} times that of the specimen: above 2 the exchange diverges; lower "
            "it to 1.1 times"
        )
    return ""
