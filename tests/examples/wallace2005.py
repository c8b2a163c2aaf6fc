"""The spring–mass–damper test of Wallace et al. (2005): its definition with any setting changed, closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import halfreal
from halfreal.runs import loop_stability
from halfreal.stability.linearise import Linearisation

GALLERY = Path(__file__).parents[2] / "examples" / "spring_mass_damper"
M, C, K, KS = 2.2, 15.0, 2250.0, 2250.0
DELAY = 9.4e-3


def definition(*, step: float = 1e-3, delay: float = DELAY, coupling: dict[str, Any] | None = None, **more: Any) -> Any:
    """The test with a spring specimen; ``more`` replaces whole sections."""
    return halfreal.Definition(
        **{
            "title": "spring-mass-damper",
            "timing": {"step": step, "duration": 10.0},
            "virtual": {"mass": M, "damping": C, "stiffness": K, "support": {"stiffness": K, "damping": C}},
            "excitation": {"virtual": {"kind": "sine", "displacement": 0.01, "frequency": 1.5}},
            "coupling": coupling or {"kind": "none"},
            "rig": {
                "actuator": {"kind": "delay", "delay": delay, "reconstruction": "cubic"},
                "specimen": {"stiffness": KS},
            },
            "reference": {},
            **more,
        }
    )


def linearised(test: Any) -> Linearisation:
    """The loop of a test, linearised at rest; much cheaper than a whole check."""
    return loop_stability.linearised(test)


def radius(test: Any) -> float:
    return linearised(test).spectral_radius


def critical_delay(p: float = KS / K) -> float:
    """First branch of the paper's Eqs. 11 and 12 (with atan2 for arccot), in seconds."""
    omega_n, zeta = np.sqrt(K / M), C / (2 * np.sqrt(M * K))
    stiffness_ratio = lambda w: np.hypot(w**2 - 1, 2 * zeta * w)  # noqa: E731
    w = brentq(lambda w: stiffness_ratio(w) - p, 1.0, 10.0, xtol=1e-14)
    return float(np.arctan2(2 * zeta * w, w**2 - 1) / w / omega_n)


def characteristic(s: complex, weights: np.ndarray, delay: float, step: float) -> complex:
    """m s² + c s + k + k_s Σ_j w_j exp(−s (τ + jΔ)): the delay differential equation with its predictor (Eq. 14)."""
    late = np.exp(-s * (delay + step * np.arange(len(weights))))
    return M * s**2 + C * s + K + KS * complex(weights @ late)


def root(weights: np.ndarray, delay: float, start: complex, step: float = 1e-3) -> complex:
    """The characteristic root next to ``start``, by Newton with a complex-step-free difference."""
    s = start
    for _ in range(50):
        f = characteristic(s, weights, delay, step)
        d = (characteristic(s + 1e-6, weights, delay, step) - characteristic(s - 1e-6, weights, delay, step)) / 2e-6
        s -= f / d
        if abs(f / d) < 1e-12 * abs(s):
            break
    return s
