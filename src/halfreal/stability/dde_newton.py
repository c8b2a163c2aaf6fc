"""Newton's correction of approximate characteristic roots, and how far off they then are.

With w and v the singular vectors of the smallest singular value σ of Δ(s) (σ = wᴴΔv),

    s ← s − σ / wᴴΔ'(s)v

which converges quadratically also where several roots coincide, as long as each has an eigenvector of its own.  Δ is
taken in scaled variables.  What rounding leaves undecided is the backward error

    ε (|s| ‖E‖ + Σ ‖A_k‖ |e^{−sτ_k}| (1 + |s| τ_k))

the last factor for the rounded exponent; the same quotient turns it into an error of s, and the last step is added.
"""

from __future__ import annotations

import numpy as np

from .dde_system import DelaySystem

ITERATIONS = 30
ROUNDING = 4.0 * np.finfo(float).eps


def correct(system: DelaySystem, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Roots next to ``start`` and their errors [1/s]; a root that was not reached has a large error."""
    scaled = system.scaled
    s = start.astype(complex)
    unit = 1.0 / (system.longest or 1.0)
    fixed = np.linalg.norm(scaled.A, axis=(1, 2))
    moving = np.linalg.norm(scaled.E)
    errors = np.full(len(s), np.inf)
    active = np.arange(len(s))
    for _ in range(ITERATIONS):
        if not active.size:
            break
        z = s[active]
        step, gain = _step(scaled, z)
        late = np.exp(-z.real[:, None] * system.delays) * (1.0 + np.abs(z)[:, None] * system.delays)
        noise = ROUNDING * (np.abs(z) * moving + fixed[0] + late @ fixed[1:]) / gain
        longest = 0.5 * (np.abs(z) + unit)
        step *= np.minimum(1.0, longest / np.maximum(np.abs(step), 1e-300))
        # a root far to the left is of no interest, and its exponentials overflow
        z = np.maximum((z + step).real, -300.0 * unit) + 1j * (z + step).imag
        s[active] = z
        errors[active] = np.abs(step) + noise
        active = active[np.abs(step) > np.maximum(noise, ROUNDING * np.abs(z))]
    return s, errors


def _step(scaled: DelaySystem, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step and |wᴴΔ'v| (never zero)."""
    left, sizes, right = np.linalg.svd(scaled.matrix(s))
    w, v = left[:, :, -1], right[:, -1].conj()
    slope = np.einsum("ki,kij,kj->k", w.conj(), scaled.slope(s), v)
    gain = np.maximum(np.abs(slope), 1e-100)
    return -sizes[:, -1] * slope.conj() / gain / gain, gain
