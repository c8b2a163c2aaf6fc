"""What others found for the multi-axial benchmark problem, in the order of its criteria.

RoDeAC of M. Quiroz, C. Gálmez, G. Fermandois, Front. Built Environ. (2024), doi 10.3389/fbuil.2024.1394952, recomputed
from its published code with nominal actuators and one draw of the sensors' noise; J₉ and J₁₀ were not kept.  The
recomputation differs from the published model in the order of a tick: the force acts on the target one tick late, and a
command is formed with the coefficients before their update.  ``examples/marths_benchmark/plain_loop.py`` has both, and
gives these values.
"""

from __future__ import annotations

import math

from ..benchmark.problem import Criteria
from .criteria import NAMES

RODEAC = "RoDeAC"
"""The coupling here that is that of the source."""

RECOMPUTED: dict[str, dict[str, tuple[float, ...]]] = {
    "El Centro": {
        "J1": (0, 0),
        "J2": (3.4, 1.8),
        "J3": (6.8, 2.4),
        "J5": (1.7, 5.0),
        "J6": (2.5, 7.4),
        "J7": (9.4, 8.5),
        "J8": (6.5, 5.9, 6.2, 5.9),
    },
    "Kobe": {
        "J1": (0, 0),
        "J2": (3.7, 2.2),
        "J3": (3.6, 2.2),
        "J5": (2.0, 5.8),
        "J6": (1.8, 5.6),
        "J7": (9.3, 8.5),
        "J8": (5.9, 5.0, 5.5, 5.1),
    },
    "Morgan Hill": {
        "J1": (1, 0),
        "J2": (6.3, 2.8),
        "J3": (9.5, 3.0),
        "J5": (2.9, 8.4),
        "J6": (3.5, 13),
        "J7": (10.3, 11.1),
        "J8": (7.6, 7.0, 7.3, 7.0),
    },
}


def in_order(known: dict[str, tuple[float, ...]]) -> Criteria:
    """Values of all criteria, NaN where none is known; J₄ is J₁ in the problem's code."""
    whole = {**known, "J4": known["J1"]}
    left = {key: list(values) for key, values in whole.items()}
    return tuple(left[name.split()[0]].pop(0) if left.get(name.split()[0]) else math.nan for name in NAMES)


def other_results(case: int, motion: str, coupling: str) -> dict[str, Criteria]:
    """What is known for a nominal run, by its source."""
    known = RECOMPUTED.get(motion) if coupling == RODEAC else None
    return {} if known is None else {"recomputed by others": in_order(known)}
