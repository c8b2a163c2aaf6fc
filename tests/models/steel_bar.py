"""The published force-controlled test: a Duffing oscillator of two masses, joined by a steel bar that is the specimen.

F. Nordtorp, G. Abbiati, "A DAE solver for coordination of force-controlled hybrid testing", engrXiv preprint, with a
pulse f = 200 N sin²(πt/0.2 s), of which the paper gives peak and time of the peak only.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.kernels.random import normal
from halfreal.models.excitations import Pulse
from halfreal.models.force_control.constrained import Constrained

MASS, STIFFNESS, CUBIC, BAR = 1000.0, 2.33e6, 3.66e13, 2.9e6
STEP, STEPS = 0.5e-3, 2000
PULSE = Pulse(force=200.0, duration=0.2)
PAPER: dict[str, Any] = {"kind": "baumgarte", "alpha": 60.0, "beta": 60.0, "velocity_weight": 1.0}

METHODS: dict[str, dict[str, Any]] = {
    "baumgarte": {**PAPER, "loop": "lagged", "slopes": "measured"},
    "index 1": {"kind": "index 1", "estimate": {"force": 500.0}},
    "generalized-alpha": {"kind": "index 1 generalized-alpha", "stiffness": [[1.1 * BAR]]},
}


def structure(method: dict[str, Any], **changes: Any) -> Constrained:
    return Constrained(
        **{
            "mass": np.diag([MASS, MASS]),
            "stiffness": np.zeros((2, 2)),
            "elements": [{"law": {"kind": "cubic", "stiffness": STIFFNESS, "cubic": CUBIC}, "between": [1]}],
            "constraint": [[-1.0, 1.0]],
            "force_dof": 2,
            "method": method,
            **changes,
        }
    )


def bar_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = u[0] / p.stiffness + p.noise * normal(p.seed, 0.0, s.count)
    s.count += 1.0
    return 0


def loop(virtual: Constrained, noise: float = 0.0, seed: int = 0, step: float = STEP, bar: float = BAR) -> Loop:
    """The substructure, its pulse, and a bar that answers every force at once, with a noisy camera."""
    excitations = [PULSE.block(f"excitation.{i + 1}", shift=shift) for i, shift in enumerate(virtual.shifts(step))]
    pairs = tuple(channel.name for block in excitations for channel in block.outputs)
    camera = Block(
        "bar",
        bar_step,
        ("target",),
        (Channel("measured", "m"),),
        parameters={"stiffness": bar, "noise": noise, "seed": float(seed)},
        state={"count": 0.0},
        frozen=("count",),
    )
    block = virtual.block(step, "force", ("measured",), pairs)
    return Loop([*excitations, block], outer=[camera], dt=step / virtual.ticks_per_step)


@cache
def reference() -> np.ndarray:
    """q1, q2 of the whole structure at every step, (STEPS + 1, 2)."""

    def rates(t: float, x: np.ndarray) -> list[float]:
        force = PULSE.amplitude * np.sin(np.pi * t / PULSE.duration) ** 2 if t < PULSE.duration else 0.0
        bar = BAR * (x[1] - x[0])
        return [x[2], x[3], (bar - STIFFNESS * x[0] - CUBIC * x[0] ** 3) / MASS, (force - bar) / MASS]

    def solved(begin: float, end: float, x: np.ndarray) -> Any:
        return solve_ivp(rates, (begin, end), x, "DOP853", dense_output=True, rtol=1e-11, atol=1e-16)

    times = np.arange(STEPS + 1) * STEP
    pushed = solved(0.0, PULSE.duration, np.zeros(4))  # the pulse's end is a kink
    free = solved(PULSE.duration, times[-1], pushed.y[:, -1])
    return np.where(times < PULSE.duration, pushed.sol(times), free.sol(times))[:2].T


def indices(method: dict[str, Any], noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """J1, J2, J3 of the paper's Eqs. 26 to 28 in per cent; d(t_i) in J1 is the reply to the force of t_i."""
    virtual = structure(method)
    driven, ticks = loop(virtual, noise, seed), virtual.ticks_per_step
    first = virtual.probing_ticks
    record = ("virtual.displacement.1", "virtual.displacement.2", "measured", "virtual.gap")
    log = driven.run(first + (STEPS + 1) * ticks + 1, record=record).log[:, 1:]
    assert driven.describe(driven.vector[driven.index["loop.fault"]]) == ""
    q = log[first::ticks, :2][: STEPS + 1]
    reply, gap = log[first + 1 :: ticks, 2:][: STEPS + 1].T  # comes a tick later
    errors = np.linalg.norm(q - reference(), axis=0) / np.linalg.norm(reference(), axis=0)
    return 100.0 * np.array([np.linalg.norm(gap) / np.linalg.norm(reply), *errors])


def every_method() -> dict[str, Loop]:
    """For counting allocations."""
    return {name: loop(structure(method)) for name, method in METHODS.items()}
