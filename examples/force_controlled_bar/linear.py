"""The paper's linear example: 0.5 kg on 0.39 N/mm, with a specimen of 0.39 N/mm; ω_0 = 39.4968 rad/s."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfreal.models import Baumgarte, Constrained, ForceMethod, IndexOne, IndexOneGeneralizedAlpha
from halfreal.stability import LinearSpecimen

MASS, SPRING, SPECIMEN = 0.5, 390.0, 390.0
OMEGA_0 = float(np.sqrt((SPRING + SPECIMEN) / MASS))
TABLEAUS = {"forward euler": "forward Euler", "heun": "RK2", "rk4": "RK4"}
ALPHAS = (22.0, 26.0, 30.0, 60.0)
"""α = β of Figs. 5 to 7; the paper does not print its own, and with 26 1/s its limits come out."""
PUBLISHED = 26.0
SOLVED = "B: loop solved"
READINGS: dict[str, tuple[float, dict[str, Any]]] = {
    SOLVED: (PUBLISHED, {"derivatives": "step end", "stiffness": SPECIMEN * np.eye(1)}),
    "loop lagged": (PUBLISHED, {"derivatives": "step end", "loop": "lagged"}),
    "loop lagged, fresh slopes": (PUBLISHED, {"derivatives": "step end", "loop": "lagged", "slopes": "measured"}),
    "D: one frame a step": (44.0, {"derivatives": "step start", "exchange": "step", "loop": "lagged"}),
}
"""How the paper can be read: α = β [1/s] with which its limits come out best, and settings of the method."""
CLOSER = 60.0
"""α = β of the bar's test; at stage time β must be above about 0.75 ω_0."""


def system(method: ForceMethod) -> Constrained:
    one = np.eye(1)
    return Constrained(
        mass=MASS * one, stiffness=SPRING * one, constraint=one, initial_displacement=np.array([1e-3]), method=method
    )


def specimen() -> LinearSpecimen:
    return LinearSpecimen.along_one_axis(SPECIMEN)


def published(alpha: float, scheme: str, reading: str = SOLVED) -> Constrained:
    """The paper's method, with α = β [1/s] and a tableau, as one of READINGS."""
    return system(Baumgarte(alpha=alpha, beta=alpha, velocity_weight=1.0, tableau=scheme, **READINGS[reading][1]))


def better(reckoned: float = 1.1) -> dict[str, Constrained]:
    """The other methods, with k̂ that many times the specimen's stiffness."""
    k = reckoned * SPECIMEN * np.eye(1)
    return {
        "stage time, RK4, loop solved": system(Baumgarte(alpha=CLOSER, beta=CLOSER, velocity_weight=1.0, stiffness=k)),
        "index 1, RK4": system(IndexOne(stiffness=k)),
        "index-1 generalised-α": system(IndexOneGeneralizedAlpha(stiffness=k)),
    }
