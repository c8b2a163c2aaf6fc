"""How long a delay rod and mass bear, by ways that do not depend on each other.

- *margins* of the continuous loop, and of the loop with its force held over a step (``delay_margin``);
- *shift register*: eigenvalues of the sampled loop with a delay of whole steps, as the paper computes them;
- *first order*: what a held force costs.  The resonant part of L is late by half a step, the direct term D = m Σ 1/m_r
  is not: L + δL with δL/L = −jω (Δt/2)(L − D)/L, from which the shift of the critical delay follows in closed form;
- *roots* of 1 + L(s) e^{−sτ} = 0 by Newton's method;
- *the code that runs*, on a rig that is nothing but a delay.

With |D| > 1 the equation is of neutral type and its roots near s = (ln|D| + jπ(2n + 1))/τ are unstable for any delay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import study

import halfreal
from halfreal.contracts import StateSpace
from halfreal.models import discretise
from halfreal.runs import margin_of
from halfreal.stability import delay_margin, delayed

STEPS = (1e-3, 0.5e-3, 0.1e-3)  # s


def with_modes(count: int, changes: dict[str, Any] | None = None) -> halfreal.Definition:
    """The test with so many modes of the rod."""
    hz, mass = study.rod_modes(count)
    ones = [1.0] * count
    virtual = {
        "virtual.frequency": list(hz),
        "virtual.mass": list(mass),
        "virtual.interface": [ones],
        "virtual.force_shape": ones,
        "virtual.responses": {"tip acceleration": {"shape": ones, "quantity": "acceleration"}},
    }
    return study.definition({**virtual, **(changes or {})})


def sampled(model: StateSpace, step: float) -> StateSpace:
    """The loop with its force held over a step."""
    transition, held, _ = discretise(model.a, model.b, step, "zero")
    return StateSpace(transition, held, model.c, model.d, step)


def shortest_unstable(count: int, step: float, begin: float = 0.0) -> float:
    """Shortest delay [s] of whole steps with which the shift register has an unstable eigenvalue."""
    loop = sampled(study.open_loop(with_modes(count)), step)
    n = max(round(begin / step), 1)
    while np.abs(np.linalg.eigvals(delayed(loop, n))).max() < 1.0:
        n += 1
    return n * step


def share_of_a_step(step: float) -> float:
    """Part of a step by which the loop with two modes bears less for holding its force, by margins."""
    loop = study.open_loop(with_modes(2))
    return (delay_margin(loop).critical_delay - delay_margin(sampled(loop, step)).critical_delay) / step


def share_of_a_short_step() -> float:
    """The same for a step that goes to zero, in closed form."""
    loop = study.open_loop(with_modes(2))
    margin = delay_margin(loop)
    omega = 2 * np.pi * margin.critical_frequency_hz
    near = omega * np.array([1.0 - 1e-6, 1.0, 1.0 + 1e-6])
    log = np.log(loop.response(near)[:, 0, 0])
    slope = (log[2] - log[0]) / (near[2] - near[0])  # of ln|L| and of its phase
    late = 1.0 - loop.d[0, 0] / np.exp(log[1])  # (L − D)/L
    return float(0.5 * (late.real + (slope.imag - margin.critical_delay) * late.imag / slope.real))


def fast_root(count: int, delay: float, wave: int = 50) -> complex:
    """A root s [1/s] of 1 + L(s) e^{−sτ} = 0, that near (ln|D| + jπ(2n + 1))/τ, by Newton's method."""
    loop = study.open_loop(with_modes(count))

    def value(s: complex) -> complex:
        inner = np.linalg.solve(s * np.eye(len(loop.a)) - loop.a, loop.b)
        return complex(1.0 + (loop.c @ inner + loop.d)[0, 0] * np.exp(-s * delay))

    s = complex(np.log(loop.d[0, 0]), np.pi * (2 * wave + 1)) / delay
    for _ in range(30):
        h = 1e-6 * abs(s)
        s -= value(s) * 2 * h / (value(s + h) - value(s - h))
    assert abs(value(s)) < 1e-9, value(s)
    return s


def borne_by_the_code(count: int, step: float) -> float:
    """Delay [s] that the loop that runs bears with a step, the rig being nothing but a delay, of two steps at least."""
    rig = {"actuator": {"delay": 2 * step}, "specimen": {"mass": study.MASS}}
    return (
        2 * step
        + margin_of(with_modes(count, {"coupling": {"kind": "none"}, "rig": rig, "timing.step": step})).critical_delay
    )
