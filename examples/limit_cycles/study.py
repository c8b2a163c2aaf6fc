"""Limit cycles of this folder's tests, beside long rehearsals and describing functions, and their diagrams.

python study.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

import halfreal
from halfreal.contracts import AT_REST
from halfreal.studies import PeriodicMotion

HERE = Path(__file__).parent
NAMES = ("saturating_late", "hardening", "hardening_yielding", "friction_late")
M, C, K = 2.2, 15.0, 2250.0
DELAY = "rig.actuator.delay"
PERIODS = 300


def critical(delay: float) -> tuple[float, float]:
    """Stiffness [N/m] with which m z¨ + c z˙ + k z + k_s z(t − τ) = 0 has the root iω, and its frequency [Hz]."""

    def phase(w: float) -> float:
        return (M * w * w - K) * np.sin(w * delay) - C * w * np.cos(w * delay)

    natural = np.sqrt(K / M)
    w = brentq(phase, 1.0001 * natural, 2.2 * natural)
    return float(C * w / np.sin(w * delay)), float(w / (2 * np.pi))


def bilinear(amplitude: float, limit: float, inside: float, outside: float) -> float:
    """Describing function of a bilinear law [N/m]."""
    r = min(limit / amplitude, 1.0)
    return outside + (inside - outside) * 2.0 / np.pi * (np.arcsin(r) + r * np.sqrt(1.0 - r * r))


def described(name: str, delay: float) -> tuple[float, float] | None:
    """Amplitude [m] and frequency [Hz] of the cycle of a bilinear specimen on a pure delay, by describing function."""
    laws = {"saturating_late": (4e-3, 2250.0, 0.0), "hardening": (4e-3, 1500.0, 4500.0)}
    if name not in laws:
        return None
    stiffness, hz = critical(delay)
    return float(brentq(lambda a: bilinear(a, *laws[name]) - stiffness, 4.0001e-3, 1.0)), hz


def rehearsed(test: halfreal.Definition, cycle: PeriodicMotion, factor: float) -> np.ndarray:
    """Peak of the target in each period of free motion from ``factor`` times the cycle on."""
    loop = halfreal.build(test.with_values({"limits": {}}), AT_REST)
    loop.run(4)
    rest, start = loop.vector.copy(), cycle.cycle.vector
    loop.vector[:] = rest + factor * (start - rest)
    loop.vector[0] = rest[0]
    values = np.abs(loop.run(int(PERIODS * cycle.cycle.ticks), record=("target",)).log[:, 1])
    period = int(np.ceil(cycle.cycle.ticks))
    return np.array([values[i : i + period].max() for i in range(0, values.size - period, period)])


def said(peak: float) -> str:
    """A peak [m] of free motion after a long time, for people."""
    return "at rest" if peak < 1e-9 else "diverged" if peak > 1.0 else f"{1e3 * peak:.3g} mm"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        test = halfreal.load(HERE / f"{name}.toml")
        judged = halfreal.check(test, remedies=False)
        print(f"{name}: {judged.verdict}")
        for cycle in halfreal.limit_cycles(test):
            print(f"  {cycle.summary()}")
            known = described(name, test.rig.actuator.delay)
            if known is not None:
                print(f"    describing function: {1e3 * known[0]:.3g} mm, {known[1]:.4g} Hz")
            below, above = (said(rehearsed(test, cycle, factor)[-1]) for factor in (0.97, 1.03))
            print(f"    after {PERIODS} periods from 0.97 times: {below}; from 1.03 times: {above}")
        response = halfreal.forced_response(test)
        print(f"  {response.summary()}")
        found = halfreal.continuation(test, DELAY, 3e-3, 15e-3, largest=30e-3)
        print("  " + found.summary().replace("\n", "\n  "))
        found.plot().savefig(folder / f"{name}.png")
        halfreal.limit_cycles(test)[0].plot().savefig(folder / f"{name}_cycle.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results")
