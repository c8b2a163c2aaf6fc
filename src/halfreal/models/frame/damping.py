"""Damping of frames.

    Rayleigh   C = a M + b K,                     K initial, committed at the end of the step before, or the tangent
    modal      C = Σ_k 2 ζ_k ω_k M φ_k φ_kᵀ M,    K φ_k = ω_k² M φ_k at rest under the loads,  φ_kᵀ M φ_k = 1

On the tangent, hinges that have yielded damp no more than they are stiff, and no moments arise from damping that no
hinge could carry (F. A. Charney, "Unintended consequences of modeling damping in structures", J. Struct. Eng. 134
(2008) 581–592).  As matrices of the frame at rest are constant parts of every scheme, what is added in motion are the
forces b Aᵀ (k − k_rest) A q˙ of each element.  An element whose law depends on the rate keeps its share at rest: the
slope of such a law is no stiffness.

Modes couple all degrees of freedom; ``low_rank.py`` keeps the algebra banded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sparse
from pydantic import Field, ValidationInfo, field_validator

from ...errors import HalfrealError
from ...settings import PerAxis, Settings, fault
from ..structures.damping import Rayleigh
from .law import depends_on_rate
from .model import Model
from .modes import lowest_modes


class DampingError(HalfrealError):
    """Damping that does not fit the frame."""


class FrameRayleigh(Rayleigh):
    """Damping in proportion to mass and stiffness."""

    on: Literal["initial", "committed", "tangent"] = "initial"
    """Stiffness used: initial, committed (end of the previous step), or tangent."""


class ModalDamping(Settings):
    """Damping ratios of modes; modes that are not named are not damped."""

    ratio: Annotated[float | np.ndarray, PerAxis("1", least=0, most=1)]
    """ζ, one for all these modes or one per mode."""
    modes: Annotated[int, Field(ge=1)] | tuple[Annotated[int, Field(ge=1)], ...] | None = None
    """Number of modes from the lowest, or a list of mode numbers from 1; default: as many as there are ratios, or
    all.
    """

    @field_validator("modes")
    @classmethod
    def _as_many(cls, modes: Any, info: ValidationInfo) -> Any:
        ratio = info.data.get("ratio")
        if isinstance(modes, tuple) and len(set(modes)) < max(1, len(modes)):
            raise fault("a mode is listed twice, or none is; list each once")
        count = modes if isinstance(modes, int) or modes is None else len(modes)
        if isinstance(ratio, np.ndarray) and count is not None and len(ratio) != count:
            raise fault(f"{len(ratio)} ratios for {count} modes; give one for all, or one each")
        return modes

    def numbers(self, available: int) -> np.ndarray:
        """Which modes, from 0 on."""
        if isinstance(self.modes, tuple):
            return np.array(self.modes) - 1
        given = len(self.ratio) if isinstance(self.ratio, np.ndarray) else available
        return np.arange(given if self.modes is None else self.modes)


@dataclass(frozen=True)
class Damping:
    """What damps a frame at rest, and how that changes."""

    constant: sparse.csr_matrix
    """Dashpots and Rayleigh's, with the frame as it is at rest."""
    modes: np.ndarray
    """M φ of the damped modes, (k, n)."""
    rates: np.ndarray
    """2 ζ ω, (k,)."""
    shares: np.ndarray
    """b of each piece that is not linear, on its present stiffness; else zero, (pieces,)."""
    committed: bool = False
    """Whether that is the one at the end of the step before."""

    def matrix(self) -> np.ndarray:
        """C at rest, (n, n)."""
        return np.asarray(self.constant.toarray() + (self.modes.T * self.rates) @ self.modes)


def damping_of(model: Model, rayleigh: FrameRayleigh | None, modal: ModalDamping | None) -> Damping:
    """Damping of a model at rest under its loads."""
    constant, shares, committed = model.damping, np.zeros(len(model.pieces)), False
    if rayleigh is not None:
        stiffness = model.initial if rayleigh.on == "initial" else model.stiffness
        constant = constant + rayleigh.mass * model.mass + rayleigh.stiffness * stiffness
        committed = rayleigh.on == "committed"
        if rayleigh.on != "initial":
            steady = [not any(map(depends_on_rate, piece.laws)) for piece in model.pieces]
            shares = rayleigh.stiffness * np.array(steady, dtype=float)
    modes, rates = np.zeros((0, model.dofs)), np.zeros(0)
    if modal is not None:
        modes, rates = _modes(model, modal)
    return Damping(constant.tocsr(), modes, rates, shares, committed)


def _modes(model: Model, given: ModalDamping) -> tuple[np.ndarray, np.ndarray]:
    available = int(np.sum(model.mass.diagonal() > 0.0))
    numbers = given.numbers(available)
    most = int(numbers.max()) + 1
    if most > available:
        raise DampingError(
            f"modal_damping: mode {most} is requested, but the frame has {available} degrees of freedom with mass, so "
            "as many modes; request fewer"
        )
    squares, shapes = lowest_modes(model.mass, model.stiffness, most)
    if most > len(squares):
        raise DampingError(f"modal_damping: mode {most} is requested, but the frame has {len(squares)}; request fewer")
    ratios = np.broadcast_to(given.ratio, numbers.shape)
    rates = 2.0 * ratios * np.sqrt(np.maximum(squares[numbers], 0.0))
    used = rates > 0.0
    return np.ascontiguousarray((model.mass @ shapes[:, numbers[used]]).T), rates[used]
