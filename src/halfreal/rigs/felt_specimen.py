"""Whether a simulated rig reacts to its specimen: its force against what the specimen's matrices make of its motion.

Force and motion are sampled at the same times.  Where a fast actuator follows corners of its command, the
accelerations that belong to its motion come and go within a step, and the force of a mass is missing from the samples.
That is measured on the loop that runs, cut at the command w: with X and F the responses of displacement and force to w,

    |F − D| / |D|,    D = (K + jωC − ω²M) X

is zero for a rig that reacts to all of its specimen at ω.  Entries are compared one by one, as axes and commands differ
in their units; the largest counts of those that matter, |D_oc D_co| > 10⁻⁶ |D_oo D_cc|.
"""

from __future__ import annotations

import numpy as np

from ..contracts.state_space import StateSpace

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]
MATTERS = 1e-6


def missing_share(response: StateSpace, matrices: Matrices, hz: np.ndarray) -> np.ndarray:
    """Share of the specimen's force that is missing or wrong at each frequency; ``response`` is that of displacements,
    then forces."""
    mass, damping, stiffness = matrices
    omega = 2.0 * np.pi * np.asarray(hz, dtype=float)
    found = response.response(omega)
    n = len(mass)
    shares = []
    for w, both in zip(omega, found, strict=True):
        due = (stiffness + 1j * w * damping - w**2 * mass) @ both[:n]
        size, own = np.abs(due), np.abs(np.diag(due))
        counts = (size > 0.0) & ((size * size.T > MATTERS * np.outer(own, own)) | np.eye(n, dtype=bool))
        shares.append(float(np.max(np.abs(both[n:] - due)[counts] / size[counts], initial=0.0)))
    return np.array(shares)
