"""The same loop as a home-made script has it: interpreted, step by step, with small NumPy arrays.

Vectors and matrices are NumPy's, single numbers are Python's own, which is the faster of the two ways to write it.  How
the virtual substructure takes one step is an argument: by ready matrices, or through a library called at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from halfreal.definition.definition import Definition
from halfreal.kernels.loop import Loop

Advance = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From the state and the inputs before to the state now: ``advance(x, u_before, u)``."""


def by_matrices(loop: Loop) -> Advance:
    """x = Φ x + Γ₀ u_before + Γ₁ u, with the matrices of the package's own block."""
    virtual = loop.parameter("virtual")
    transition, earlier, later = (np.ascontiguousarray(virtual[key].T) for key in ("transition", "earlier", "later"))
    return lambda x, before, u: transition @ x + earlier @ before + later @ u


def continuous(definition: Definition) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C, D of the virtual substructure."""
    excitation = definition.excitation.virtual
    return definition.virtual.system("none" if excitation is None else excitation.acts_as).first_order()


def by_scipy(definition: Definition) -> Advance:
    """``scipy.signal.lsim`` over one step."""
    from scipy.signal import StateSpace, lsim

    system, times = StateSpace(*continuous(definition)), np.array([0.0, definition.timing.step])
    return lambda x, before, u: lsim(system, np.stack([before, u]), times, X0=x)[2][-1]


def by_control(definition: Definition) -> Advance:
    """``control.forced_response`` over one step."""
    import control

    system, times = control.ss(*continuous(definition)), np.array([0.0, definition.timing.step])

    def advance(x: np.ndarray, before: np.ndarray, u: np.ndarray) -> np.ndarray:
        return control.forced_response(system, times, np.stack([before, u], axis=1), x).states[:, -1]

    return advance


def run(loop: Loop, ticks: int, advance: Advance) -> np.ndarray:
    """Log (ticks, 1 + channels) of the loop from rest, in the order of the package's channels."""
    dt = loop.dt
    amplitude, ramp, omega, phase = (float(loop.parameter("excitation.virtual")[key]) for key in
                                     ("amplitude", "ramp", "omega", "phase"))  # fmt: skip
    outputs, direct = (loop.parameter("virtual")[key][:, 0].copy() for key in ("outputs", "direct"))
    weights = loop.parameter("coupling")["weights"][:, 0].copy()
    fading, floor = (float(loop.parameter("energy")[key]) for key in ("fading", "floor"))
    trip, warn = (loop.parameter("guard")[key].copy() for key in ("trip", "warn"))
    smoothing = float(loop.parameter("guard")["smoothing"])
    first, taps = int(loop.parameter("actuator")["first"][0]), loop.parameter("actuator")["weights"][0].copy()
    stroke, travel = (float(loop.parameter("actuator")[key]) for key in ("stroke", "travel"))
    stiffness, damping, mass = (
        float(loop.parameter("specimen")[key][0, 0]) for key in ("stiffness", "damping", "mass")
    )
    excited = float(loop.parameter("specimen")["excited"][0])
    resolution, most = (loop.parameter("sensors")[key].tolist() for key in ("resolution", "range"))

    x, before = np.zeros(len(outputs)), np.zeros(len(direct))
    targets, commands = np.zeros(len(weights)), np.zeros(len(loop.state("actuator")["history"]))
    rig_command = position = speed = acceleration = force = pushed = measured = felt = applied = 0.0
    last_target = last_measured = last_felt = error = exchanged = moving = value = 0.0
    mode = cause = 0
    seen, repeats, varies = np.zeros(2), np.zeros(2), loop.state("guard")["varies"].copy()
    log = np.empty((ticks, 1 + len(loop.channels)))
    for tick in range(ticks):
        t = tick * dt
        if t < ramp:
            g, dg = 0.5 * (1 - math.cos(math.pi * t / ramp)), 0.5 * math.pi / ramp * math.sin(math.pi * t / ramp)
        else:
            g, dg = 1.0, 0.0
        a = omega * t + phase
        moved = amplitude * g * math.sin(a)
        rate = amplitude * (dg * math.sin(a) + g * omega * math.cos(a))

        u = np.array([moved, rate, felt])
        if tick > 0:
            x = advance(x, before, u)
        before = u
        target = outputs @ x + direct @ u

        if tick == 0:
            targets[:] = target
            last_target, last_measured, last_felt = target, measured, felt
        targets = np.roll(targets, 1)
        targets[0] = target
        asked = weights @ targets

        mean, went = 0.5 * (felt + last_felt), measured - last_measured
        error = fading * error + mean * (went - (target - last_target))
        exchanged = fading * exchanged + abs(mean * went)
        energy = error / (exchanged + floor)

        gap = target - measured
        now_moving = moving + smoothing * (went / dt - moving)
        rise = (now_moving - moving) / dt
        moving, last_target, last_measured, last_felt = now_moving, target, measured, felt
        repeats = np.where(seen == (measured, felt), repeats + 1.0, 0.0)
        seen = np.array([measured, felt])
        motion = (asked, (asked - applied) / dt, target, measured, felt, gap, moving, rise, energy)
        watched = np.array([*motion, *(varies * repeats * dt)])
        size = np.abs(watched)
        warned = ~(size <= warn)
        warning = 1 + int(np.argmax(warned)) if warned.any() else 0
        tripped = ~(size <= trip)
        if mode == 0 and tripped.any():
            mode, cause = 1, 1 + int(np.argmax(tripped))
            value = watched[cause - 1]
        if mode == 0:
            applied = asked

        log[tick] = (t, 0.0, 0.0, 0.0, moved, rate, felt, 0.0, target, asked, energy, applied, gap, mode, cause,
                     value, warning, 0.0, rig_command, position, speed, acceleration, pushed, 0.0, force, measured,
                     felt)  # fmt: skip

        commands = np.roll(commands, 1)
        commands[0] = applied
        rig_command, velocity, acceleration = taps @ commands[first : first + taps.shape[1]]
        reached = max(-stroke, min(stroke, max(position - travel, min(position + travel, rig_command))))
        if reached != rig_command:
            velocity = (reached - position) / dt
            acceleration = (velocity - speed) / dt
        position, speed = reached, velocity
        force = stiffness * position + damping * speed + mass * acceleration - excited * pushed
        measured, felt = (
            value if step == 0.0 else step * round(value / step)
            for value, step in zip(
                (max(-most[0], min(most[0], position)), max(-most[1], min(most[1], force))), resolution, strict=True
            )
        )
    return log
