"""Small blocks for tests of the loop."""

import numpy as np

from halfreal.kernels.block import Block, Channel, channels


def oscillator_step(p, s, t, u, y):
    v = s.x[1] + p.dt * (-(p.omega**2) * s.x[0] - u[0])
    s.x[0] += p.dt * v
    s.x[1] = v
    y[0] = s.x[0]
    return 0


def pass_step(p, s, t, u, y):
    for i in range(y.size):
        y[i] = u[i]
    return 0


def lag_step(p, s, t, u, y):
    s.x += p.a * (u[0] - s.x)
    y[0] = p.k * s.x
    return 0


def raising_step(p, s, t, u, y):
    if t > p.when:
        raise ValueError("not in the loop")
    return 0


def code_step(p, s, t, u, y):
    y[0] = t
    return 7 if t > p.when else 0


def clock_step(p, s, t, u, y):
    s.calls += 1.0
    y[0] = t
    y[1] = s.calls
    return 0


def oscillator() -> Block:
    return Block(
        "virtual",
        oscillator_step,
        ("force",),
        channels("target", "m", 1),
        {"dt": 1e-3, "omega": 30.0},
        {"x": np.array([1.0, 0.0])},
    )


def passing(name: str, source: str, output: str) -> Block:
    return Block(name, pass_step, (source,), (Channel(output, "m"),))


def lag() -> Block:
    return Block("rig", lag_step, ("command",), channels("force", "N", 1), {"a": 0.1, "k": 10.0}, {"x": 0.0})


def clock(name: str) -> Block:
    return Block(
        name,
        clock_step,
        (),
        (Channel(f"{name}.time", "s"), Channel(f"{name}.calls", "1")),
        state={"calls": 0.0},
        frozen=("calls",),
    )
