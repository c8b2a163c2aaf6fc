"""Poles of sampled loops against the exact roots of their (neutral) delay differential equations.

    (M s² + C s + K) x + G(s) e^{−sτ} Z(s) x = 0

M, C, K are the virtual part, G(s) the actuator behind its delay τ, Z(s) the specimen's dynamic stiffness.  Roots are
found by Newton's method on the determinant: nothing of the package takes part.  Run as a script it prints the table of
``docs/convergence.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import halfreal
from halfreal.runs.loop_stability import linearised

Function = Callable[[complex], Any]
STEPS = (2e-3, 1e-3, 5e-4)
DELAY = 8e-3
SPECIMENS: dict[str, dict[str, Any]] = {
    "spring": {"stiffness": 3000.0},
    "damper": {"damping": 30.0},
    "mass": {"mass": 2.0},
    "mass, damper, spring": {"mass": 1.0, "damping": 10.0, "stiffness": 2000.0},
}
SECOND = 2.0 * np.pi * 40.0
ACTUATORS: dict[str, tuple[dict[str, Any], Function]] = {
    "delay": ({"kind": "delay"}, lambda s: 1.0),
    "first order, 5 ms": ({"kind": "first order", "time_constant": 5e-3}, lambda s: 1.0 / (1.0 + 5e-3 * s)),
    "second order, 40 Hz": (
        {"kind": "second order", "frequency": 40.0, "damping": 0.7},
        lambda s: 1.0 / (s**2 / SECOND**2 + 1.4 * s / SECOND + 1.0),
    ),
}
VALVE = {"valve_gain": 2e13, "valve_damping": 1e3, "valve_stiffness": 1e6, "interaction": 2e6, "leakage": 4.0}


class Case(NamedTuple):
    """A rig with its specimen, and what its roots are."""

    name: str
    rig: dict[str, Any]
    virtual: dict[str, Any]
    axes: int
    force: Callable[[complex, float], np.ndarray]
    """From the displacement that is asked for to the force, (axes, axes), at s and a step."""


def newton(characteristic: Function, guess: complex) -> complex:
    s = guess
    for _ in range(100):
        h = 1e-6 * abs(s)
        change = characteristic(s) / ((characteristic(s + h) - characteristic(s - h)) / (2.0 * h))
        s -= change
        if abs(change) < 1e-13 * abs(s):
            return s
    raise AssertionError("Newton's method did not converge")


def virtual_stiffness(virtual: dict[str, Any], s: complex) -> np.ndarray:
    m, c, k = (np.atleast_2d(virtual[key]) for key in ("mass", "damping", "stiffness"))
    return np.asarray(m * s**2 + c * s + k)


def roots(case: Case, step: float) -> np.ndarray:
    """The roots that begin at the virtual part's own modes, one for each axis."""
    m, k = (np.atleast_2d(case.virtual[key]) for key in ("mass", "stiffness"))
    own = np.sqrt(np.linalg.eigvals(np.linalg.solve(m, k)).real)
    scale = np.abs(np.linalg.det(k))
    return np.array(
        [
            newton(lambda s: np.linalg.det(virtual_stiffness(case.virtual, s) + case.force(s, step)) / scale, 1j * w)
            for w in own
        ]
    )


def definition(case: Case, step: float) -> halfreal.Definition:
    return halfreal.Definition(
        title=case.name,
        timing={"step": step, "duration": 1.0},
        virtual={**case.virtual, "interface": list(range(1, case.axes + 1)), "force_dof": 1},
        excitation={"virtual": {"kind": "sine", "force": 1.0, "frequency": 2.0}},
        rig=case.rig,
    )


def errors(case: Case, steps: tuple[float, ...] = STEPS) -> np.ndarray:
    """Largest relative error of the loop's poles, for each step."""
    found = []
    for step in steps:
        poles = linearised(definition(case, step)).continuous
        found.append(max(np.abs(poles - root).min() / abs(root) for root in roots(case, step)))
    return np.array(found)


def single(actuator: str, specimen: str, substeps: int = 1, delay: float = DELAY, **further: Any) -> Case:
    """One axis on an actuator of a simulated rig; a ``delay`` of 0 is one step."""
    settings, follows = ACTUATORS[actuator]
    given = SPECIMENS[specimen]

    def force(s: complex, step: float) -> np.ndarray:
        felt = given.get("mass", 0.0) * s**2 + given.get("damping", 0.0) * s + given.get("stiffness", 0.0)
        return np.atleast_2d(follows(s) * np.exp(-s * max(delay, step)) * felt)

    rig = {"actuator": {**settings, "delay": delay, **further}, "specimen": given, "substeps": substeps}
    return Case(f"{actuator}, {specimen}", rig, {"mass": 10.0, "damping": 20.0, "stiffness": 9577.6}, 1, force)


def tower() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, C, K of a mast on a rigid base: x, z and rotation of the base, four masses that sway and one that bounces."""
    heights, n = np.array([0.5, 1.0, 1.5, 2.0]), 8
    mass = np.diag([1.5, 1.5, 0.8, 0.6, 0.5, 0.4, 0.3, 0.8])
    stretch = np.zeros((5, n))  # of each spring, for unit displacements
    for i, height in enumerate(heights):
        stretch[i, 3 + i] = 1.0
        stretch[i, 2] = -(height - (heights[i - 1] if i else 0.0))
        stretch[i, 3 + i - 1 if i else 0] = -1.0
    stretch[4, 7], stretch[4, 1] = 1.0, -1.0
    stiffness = stretch.T @ np.diag([9e3, 8e3, 7e3, 6e3, 2e4]) @ stretch
    return mass, 1e-3 * stiffness, stiffness


def flexible(actuator: str, substeps: int = 1) -> Case:
    """Three axes, and a specimen of eight degrees of freedom."""
    mass, damping, stiffness = tower()
    settings, follows = ACTUATORS[actuator]

    def force(s: complex, step: float) -> np.ndarray:
        whole = mass * s**2 + damping * s + stiffness
        own = whole[:3, :3] - whole[:3, 3:] @ np.linalg.solve(whole[3:, 3:], whole[3:, :3])
        return np.asarray(follows(s) * np.exp(-s * DELAY) * own)

    virtual = {
        "mass": np.array([[40.0, 0.0, 4.0], [0.0, 40.0, 0.0], [4.0, 0.0, 25.0]]),
        "damping": np.diag([60.0, 80.0, 50.0]),
        "stiffness": np.array([[2.4e4, 0.0, 3e3], [0.0, 6e4, 0.0], [3e3, 0.0, 3e4]]),
    }
    specimen = {"kind": "flexible", "mass": mass, "damping": damping, "stiffness": stiffness, "interface": [1, 2, 3]}
    rig = {"actuator": {**settings, "delay": DELAY}, "specimen": specimen, "substeps": substeps}
    return Case(f"{actuator}, 8 degrees of freedom on 3 axes", rig, virtual, 3, force)


def servo(specimen: dict[str, Any]) -> Case:
    """A servo-hydraulic actuator, whose command is held over a step: late by half of one."""
    m, c, k = (specimen.get(key, 0.0) for key in ("mass", "damping", "stiffness"))

    def force(s: complex, step: float) -> np.ndarray:
        load = m * s**2 + c * s + k
        valve = s**2 + VALVE["valve_damping"] * s + VALVE["valve_stiffness"]
        chamber = (s + VALVE["leakage"]) * load + VALVE["interaction"] * s  # w = chamber · x
        x = VALVE["valve_gain"] / (valve * chamber + VALVE["valve_gain"])
        return np.atleast_2d(load * x * np.exp(-0.5 * s * step))

    rig = {"kind": "servo-hydraulic", "actuator": VALVE, "specimen": specimen}
    named = "spring" if k else "damper" if c else "mass"
    virtual = {"mass": 10.0, "damping": 20.0, "stiffness": 9577.6}
    return Case(f"servo-hydraulic, {named}", rig, virtual, 1, force)


def cases(substeps: int = 1) -> list[Case]:
    return [
        *(single(actuator, specimen, substeps) for actuator in ACTUATORS for specimen in SPECIMENS),
        *(flexible(actuator, substeps) for actuator in ACTUATORS),
    ]


def servo_cases() -> list[Case]:
    return [
        servo({"mass": 0.5, "stiffness": 3000.0}),
        servo({"mass": 0.5, "damping": 30.0}),
        servo({"mass": 2.0}),
    ]


def row(case: Case) -> str:
    found = errors(case)
    orders = np.log2(found[:-1] / found[1:])
    return f"| {case.name} | " + " | ".join(f"{e:.1e}" for e in found) + f" | {orders[0]:.2f}, {orders[1]:.2f} |"


if __name__ == "__main__":
    print("| rig and specimen | " + " | ".join(f"{1e3 * step:g} ms" for step in STEPS) + " | order |")
    print("|---|---|---|---|---|")
    for one in (*cases(), *servo_cases()):
        print(row(one), flush=True)
