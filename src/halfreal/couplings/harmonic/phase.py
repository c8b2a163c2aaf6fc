"""Phase and frequency of a harmonic excitation whose frequency varies slowly: a phase-locked loop.

An excitation e = A sin φ comes with its rate e˙ = A ω cos φ, so that its phase is read off at every tick,

    a = atan2(ω̂ e, e˙),    ε = a − φ̂ within ±π
    φ̂ ← φ̂ + ω̂ Δt + 2ζ ω_n Δt ε,    ω̂ ← ω̂ + ω_n² Δt ε

If ω̂ differs from ω, a ripples at 2ω, which the bandwidth ω_n averages out.  A frequency that changes at the rate α is
followed with the constant phase error α/ω_n², which the amplitudes of the drive absorb.

======== ==================================================
φ̂, ω̂     phase and frequency as followed
ω_n, ζ   bandwidth (``following``) and damping of the loop
======== ==================================================
"""

from __future__ import annotations

import math

from ...kernels.block import Block, Channel

DAMPING = 0.7
WIDEST = 0.25
"""Part of the frequency at the start by which the one that is followed may differ."""


def follower_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if s.started == 0.0:
        s.started = 1.0
        if u[0] != 0.0 or u[1] != 0.0:
            s.phase = math.atan2(s.omega * u[0], u[1])
    else:
        s.phase += s.omega * p.dt
        if u[0] != 0.0 or u[1] != 0.0:
            late = math.atan2(s.omega * u[0], u[1]) - s.phase
            late -= 2.0 * math.pi * math.floor(late / (2.0 * math.pi) + 0.5)
            s.phase += 2.0 * DAMPING * p.bandwidth * p.dt * late
            s.omega += p.bandwidth * p.bandwidth * p.dt * late
            s.omega = min(max(s.omega, (1.0 - WIDEST) * p.omega), (1.0 + WIDEST) * p.omega)
    y[0], y[1] = s.phase, s.omega / (2.0 * math.pi)
    return 0


def follower(dt: float, hz: float, bandwidth: float, excitation: tuple[str, str]) -> Block:
    """The block "phase", which reads an excitation and its rate and starts from the frequency ``hz``."""
    omega = 2 * math.pi * hz
    state = {"phase": 0.0, "omega": omega, "started": 0.0}
    return Block(
        name="phase",
        step=follower_step,
        inputs=excitation,
        outputs=(Channel("excitation.phase", "rad"), Channel("excitation.frequency", "Hz")),
        parameters={"dt": dt, "omega": omega, "bandwidth": 2 * math.pi * bandwidth},
        state=state,
        frozen=tuple(state),
        held="the frequency that the coupling follows is held",
    )
