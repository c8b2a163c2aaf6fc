"""Whether a simulated rig feels its specimen: its force against what the specimen's matrices make of its motion.

Force and motion are sampled at the same times.  Where a fast actuator follows corners of its command, the
accelerations that belong to its motion come and go within a step, and the force of a mass is missing from the samples.
That is measured on the loop that runs, cut at the command w: with X and F the responses of displacement and force to w,

    ‖F − (K + jωC − ω²M) X‖ / ‖(K + jωC − ω²M) X‖

is zero for a rig that feels all of its specimen at ω.
"""

from __future__ import annotations

import numpy as np

from ..contracts.state_space import StateSpace

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]


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
        size = np.linalg.norm(due)
        shares.append(np.linalg.norm(both[n:] - due) / size if size > 0.0 else 0.0)
    return np.array(shares)
