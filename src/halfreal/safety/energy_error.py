"""The energy that the synchronisation error pumps into the loop: an indicator of instability, while the test runs.

A specimen that lags behind its target returns its force late, which acts like negative damping; before the loop
diverges, that shows as energy.  After G. Mosqueda, B. Stojadinović, S. A. Mahin, "Real-time error monitoring for hybrid
simulation. Part I: Methodology and experimental verification", J. Struct. Eng. 133 (2007) 1100–1108, the work of the
measured force along the synchronisation error is compared with the energy that goes to and fro at the interface.  Ours
is that both are taken over a fading window and axis by axis, so that the indicator follows the loop as it is now.

At tick k, of axis i, with Δ· = ·_k − ·_{k−1}, mean force f̄ = ½ (f_k + f_{k−1}) and fading λ = exp(−Δt/window)::

    E_i ← λ E_i + f̄_i Δ(x_i − z_i)          energy that the error puts into the virtual substructure [J]
    W   ← λ W + Σ_i |f̄_i Δx_i|              energy exchanged [J]
    e_i = E_i / (W + floor)

z   target            x   measured displacement            f   measured force (positive if it resists)

For a spring that follows a sine of angular frequency ω with a delay τ, e → ½ π sin ωτ in each whole cycle, regardless
of the amplitude: twice the negative damping ratio ½ sin ωτ that the delay amounts to, times π/2.  A lead makes it
negative.  ``floor`` keeps the noise of a rig at rest from counting.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.block import Block, Value, channels


def energy_error_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = y.size
    for i in range(n):
        target, measured, force = u[i], u[n + i], u[2 * n + i]
        if s.started == 0.0:
            s.target[i], s.measured[i], s.force[i] = target, measured, force
        mean = 0.5 * (force + s.force[i])
        moved = measured - s.measured[i]
        s.error[i] = p.fading * s.error[i] + mean * (moved - (target - s.target[i]))
        if i == 0:
            s.exchanged *= p.fading
        s.exchanged += abs(mean * moved)
        s.target[i], s.measured[i], s.force[i] = target, measured, force
    s.started = 1.0
    for i in range(n):
        y[i] = s.error[i] / (s.exchanged + p.floor)
    return 0


def energy_error(
    dt: float,
    window: float,
    floor: float,
    target: tuple[str, ...],
    displacement: tuple[str, ...],
    force: tuple[str, ...],
) -> Block:
    """Block "energy" with the channels ``energy.error``, as a share of the energy exchanged."""
    n = len(target)
    zeros = np.zeros(n)
    state: dict[str, Value] = {
        "started": 0.0,
        "exchanged": 0.0,
        "error": zeros,
        "target": zeros,
        "measured": zeros,
        "force": zeros,
    }
    return Block(
        name="energy",
        step=energy_error_step,
        inputs=(*target, *displacement, *force),
        outputs=channels("energy.error", "1", n, of="commanded"),
        parameters={"fading": math.exp(-dt / window), "floor": floor},
        state=state,
        frozen=tuple(state),
        references=("mosqueda2007",),
    )
