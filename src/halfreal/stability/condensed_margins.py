"""Margins of a condensed loop: the same as ``margins`` shows, with arcs and their bounds in the place of pencils.

Arcs of the unit circle on which the loop may cross (``arcs.py``) take the place of eigenvalues that split the axis;
what is inside them is found by the same code.  Unstable poles are counted by ``condensed_poles``.
"""

from __future__ import annotations

import numpy as np

from .arcs import Arcs
from .condensed import Condensed
from .condensed_poles import all_poles
from .crossings import POLE, Response, _root, at_top, unit_moduli
from .gain_search import SMALL, searched_gains

Found = tuple[np.ndarray, np.ndarray, np.ndarray]
"""ω, lag and direction of crossings."""


def crossings_and_gains(loop: Condensed, response: Response) -> tuple[Found, np.ndarray, np.ndarray, np.ndarray] | None:
    """Crossings, factors on the gain and their ω, and the poles of the closed loop; None if they cannot be determined
    so."""
    if not loop.cascade or np.any(loop.d):
        return None
    closed = all_poles(loop.closed())
    if closed is None:
        return None
    least = SMALL * min(1.0, _largest(loop))
    arcs = Arcs(loop).crossed(least)
    if arcs is None:
        return None
    found = unit_moduli(response, np.unique(arcs.circle) / loop.dt)
    top = np.pi / loop.dt
    gains = _gains(loop, arcs.axis / loop.dt, top, least) if loop.channels == 1 else searched_gains(loop, top)
    return found, *gains, closed


def _largest(loop: Condensed) -> float:
    """|L|, about as large as it becomes: at its poles' frequencies."""
    theta = np.abs(np.angle(loop.modes))
    omega = np.append(theta[(theta > 0.0) & (theta < np.pi)], 1e-3) / loop.dt
    return float(np.linalg.norm(loop.response(omega), axis=(1, 2)).max())


def _gains(loop: Condensed, arcs: np.ndarray, top: float, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Factors k > 0 with 1 + k L = 0 and their ω: L is real at both ends of the axis, and where it passes it."""
    found = [(complex(value), top) for value in at_top(loop)]
    if not loop.integrates():
        found.append((complex(loop.response(np.zeros(1))[0, 0, 0]), 0.0))
    ends = loop.response(arcs.ravel())[:, 0, 0].imag.reshape(-1, 2)
    for (low, high), (below, above) in zip(arcs, ends, strict=True):
        if below * above <= 0.0:
            root = _root(lambda w: float(loop.response(np.array([w]))[0, 0, 0].imag), low, high)
            value = complex(loop.response(np.array([root]))[0, 0, 0])
            if abs(value) < POLE:
                found.append((value, root))
    rows = sorted({(float(-1.0 / value.real), float(omega)) for value, omega in found if value.real < -least})
    ordered = np.array(rows).reshape(-1, 2)
    return ordered[:, 0], ordered[:, 1]
