"""Damping matrices from few numbers.

    Rayleigh  C = a M + b K,                      ζ_i = (a/ω_i + b ω_i)/2
    modal     C = M Φ diag(2 ζ_i ω_i) Φᵀ M,       K Φ = M Φ diag(ω_i²),  Φᵀ M Φ = I

ω_i are the undamped natural frequencies and ζ_i the damping ratios.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...contracts.by_content import by_content
from ...contracts.massless import undamped_modes
from ...settings import Number, Settings


class Rayleigh(Settings):
    """Damping in proportion to mass and stiffness."""

    mass: Annotated[float, Number("1/s", least=0)] = 0.0
    """a, factor on the mass matrix."""
    stiffness: Annotated[float, Number("s", least=0)] = 0.0
    """b, factor on the stiffness matrix."""

    def matrix(self, mass: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        return np.asarray(self.mass * mass + self.stiffness * stiffness)


@by_content(kept=2)
def modal_damping(mass: np.ndarray, stiffness: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """C with the given damping ratio in every mode (one for all, or one each in order of frequency).

    There are as many modes as degrees of freedom with mass; those without follow at once, and are not damped.
    """
    squares, shapes = undamped_modes(mass, stiffness)
    rates = 2.0 * np.broadcast_to(ratios, squares.shape) * np.sqrt(np.maximum(squares, 0.0))
    left = mass @ shapes
    return np.asarray(left * rates @ left.T)
