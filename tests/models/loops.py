"""A structure of two degrees of freedom, sources that drive it, and loops of the two."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.structures.structure import Structure

SOURCES = (Channel("excitation.virtual", "N"), Channel("excitation.virtual.rate", "N/s"), Channel("feedback", "N"))
RECORD = ("target", "virtual.q2", "virtual.v1", "virtual.a2")

MASS = np.array([[2.0, 0.3], [0.3, 1.0]])
DAMPING = np.array([[1.5, -0.4], [-0.4, 0.7]])  # not proportional
STIFFNESS = np.array([[300.0, -100.0], [-100.0, 100.0]])
FORCED = {"amplitude": 20.0, "omega": 9.0, "force": 8.0, "force_omega": 5.0}
SCHEMES: dict[str, dict[str, Any]] = {
    "exact": {"kind": "exact"},
    "exact, held": {"kind": "exact", "hold": "zero"},
    "newmark": {"kind": "newmark"},
    "hht": {"kind": "hht", "alpha": -0.1},
    "generalized-alpha": {"kind": "generalized-alpha", "rho_inf": 0.6},
    "central difference": {"kind": "central difference"},
    "kr-alpha": {"kind": "kr-alpha", "rho_inf": 0.6},
    "mkr-alpha": {"kind": "mkr-alpha", "rho_inf": 0.6},
    "rk2": {"kind": "rk2"},
    "rk4": {"kind": "rk4"},
}
NONLINEAR = [name for name in SCHEMES if not name.startswith("exact")]


def structure(scheme: str | dict[str, Any] = "exact", **changes: Any) -> Structure:
    """The structure with a scheme by its name above; an excitation force acts on degree of freedom 2."""
    fields: dict[str, Any] = {
        "mass": MASS,
        "damping": DAMPING,
        "stiffness": STIFFNESS,
        "force_dof": 2,
        "scheme": SCHEMES[scheme] if isinstance(scheme, str) else scheme,
        "responses": {
            "q2": {"dof": 2, "quantity": "displacement"},
            "v1": {"dof": 1, "quantity": "velocity"},
            "a2": {"dof": 2, "quantity": "acceleration"},
        },
    }
    return Structure(**{**fields, **changes})


def sine_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = p.amplitude * np.sin(p.omega * t)
    y[1] = p.amplitude * p.omega * np.cos(p.omega * t)
    y[2] = p.force * np.cos(p.force_omega * t)
    return 0


def sine(amplitude: float = 0.0, omega: float = 1.0, force: float = 0.0, force_omega: float = 1.0) -> Block:
    """Excitation a sin ωt with its rate, and feedback f cos ω_f t; silent by default."""
    fields = {"amplitude": amplitude, "omega": omega, "force": force, "force_omega": force_omega}
    return Block("source", sine_step, (), SOURCES, parameters=fields)


def table_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    row = int(s.tick)
    for i in range(y.shape[0]):
        y[i] = p.values[row, i]
    s.tick += 1.0
    return 0


def table(values: np.ndarray) -> Block:
    """Excitation, rate and feedback from the rows of an array."""
    return Block(
        "source", table_step, (), SOURCES, parameters={"values": values}, state={"tick": 0.0}, frozen=("tick",)
    )


def loop(virtual: Structure, dt: float, source: Block | None = None) -> Loop:
    return Loop([source or sine(), virtual.block(dt, "force", ("feedback",))], dt=dt)


def run(virtual: Structure, dt: float, ticks: int, source: Block | None = None) -> np.ndarray:
    """Recorded outputs, one row for each tick: target (q1), q2, v1, a2."""
    driven = loop(virtual, dt, source)
    log = driven.run(ticks, record=RECORD).log[:, 1:]
    assert driven.describe(driven.vector[driven.index["loop.fault"]]) == ""
    return log


def transition(virtual: Structure, dt: float) -> np.ndarray:
    """The matrix that takes the substructure's dynamic state over one tick without inputs."""
    driven = loop(virtual, dt)
    driven.run(1)
    indices = driven.dynamic_indices()
    rest = driven.vector.copy()
    rest[indices] = 0.0
    matrix = np.empty((indices.size, indices.size))
    for column, index in enumerate(indices):
        driven.vector[:] = rest
        driven.vector[index] = 1.0
        driven.run(1)
        matrix[:, column] = driven.vector[indices]
    return matrix


def every_scheme() -> dict[str, Loop]:
    """Loops of all schemes, with a nonlinear element where the scheme takes one; for counting allocations."""
    element = {"law": {"kind": "bouc-wen", "stiffness": 100.0, "yield_displacement": 0.02}, "between": [1, 2]}
    return {
        name: loop(structure(name, elements=[element] if name in NONLINEAR else []), 1e-3, sine(**FORCED))
        for name in SCHEMES
    }


def allocating_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = np.zeros(int(t) + 3).sum()
    return 0


def allocating() -> dict[str, Loop]:
    """A loop that allocates once a tick."""
    return {"allocating": Loop([Block("bad", allocating_step, (), (Channel("y", "1"),))], dt=1e-3)}
