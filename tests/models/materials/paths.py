"""Strain histories, and a law followed along one."""

import itertools

import numpy as np
from pydantic import TypeAdapter

from halfreal.models.materials.kinds import AnyLaw
from halfreal.models.materials.law import Law, rows
from halfreal.models.materials.uniaxial import uniaxial


def law(fields) -> Law:
    return fields if isinstance(fields, Law) else TypeAdapter(AnyLaw).validate_python(fields)


def along(corners, points: int = 25) -> np.ndarray:
    """From zero to each corner in turn, in equal increments."""
    legs = itertools.pairwise([0.0, *corners])
    return np.concatenate([np.linspace(a, b, points + 1)[1:] for a, b in legs])


def follow(fields, path, dt: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Stresses and tangents along a path from zero, committed at every point; rates are backward differences."""
    chosen = law(fields)
    (code,), (p,), (s,) = rows([chosen])
    trial, before, found = np.zeros_like(s), 0.0, []
    for strain in path:
        rate = (strain - before) / dt if dt > 0.0 else 0.0
        stress, tangent, _ = uniaxial(code, p, s, strain, rate, dt, trial)
        s[: chosen.states] = trial[: chosen.states]
        before = strain
        found.append((stress, tangent))
    return tuple(np.array(found).T)


CYCLES = np.array([1.5, -1.2, 3.0, 2.4, 2.9, -0.5, 4.0, -4.0, -3.1, -3.9, 0.2, -1.0, 6.0, 5.9, 6.5, -6.0, 0.0])
"""Corners with partial reversals, in terms of a strain that matters."""
