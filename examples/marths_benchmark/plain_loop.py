"""The multi-axial benchmark with RoDeAC as a plain NumPy script: what the loop of halfreal is compared with.

A tick has the order of the published Simulink model (M. Quiroz, C. Gálmez, G. Fermandois, Front. Built Environ. (2024),
doi 10.3389/fbuil.2024.1394952): strokes are read, the pose and the force follow from them, Newmark's method gives the
target, RoDeAC the commands, and the actuators move on.  Nothing is late in it: the force of a tick acts on the target
of the same tick.

The values of RoDeAC that were recomputed elsewhere (``halfreal.marths.published``) come out of two changes:

``force_late``        the target of a tick is computed with the force of the tick before
``former_filter``     a command is formed with the coefficients before their update, and not with those after it

and of NumPy's ``default_rng(0).standard_normal((ticks, 2))`` as the noise of the two sensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal

SIGNALS = (
    *("target.stroke.a1", "target.stroke.a2", "sensor.stroke.a1", "sensor.stroke.a2", "target.x", "target.rz"),
    *("measured.displacement.x", "measured.displacement.rz"),
    *("virtual.x 2", "virtual.rz 2", "virtual.x 3", "virtual.rz 3"),
)
"""Columns of what ``rodeac`` returns, in m and rad."""
UPPER = (25, 21, 12, 2)
"""Degrees of freedom of floors 2 and 3, from 0."""


def rodeac(
    definition: Any,
    ground: np.ndarray,
    noise: np.ndarray | None = None,
    *,
    force_late: bool = False,
    former_filter: bool = False,
) -> np.ndarray:
    """``SIGNALS`` under a ground acceleration [m/s²] with the numbers of ``rodeac.toml``; ``noise`` of strokes [m]."""
    dt, ticks, at = definition.timing.step, len(ground), np.array(definition.virtual.interface) - 1
    noise = np.zeros((ticks, 2)) if noise is None else noise
    system = definition.virtual.system("ground")
    mass, damping, shaken = system.mass, system.damping, system.inputs[:, 0]
    a0, a1, a2 = 4.0 / dt**2, 2.0 / dt, 4.0 / dt
    inverse = np.linalg.inv(system.stiffness + a0 * mass + a1 * damping)
    u, v, a, load = (np.zeros(len(mass)) for _ in range(4))

    model = definition.rig.actuators.model()
    whole = scipy.linalg.expm(dt * np.block([[model.a, model.b], [np.zeros((2, model.states + 2))]]))
    phi, gamma = whole[: model.states, : model.states], whole[: model.states, model.states :]
    x = np.zeros(model.states)

    along, across = definition.kinematics.coupler.joints.T
    specimen = definition.rig.specimen
    k, c, m = specimen.stiffness, specimen.damping, specimen.mass
    follow = np.vstack([np.eye(2), -np.linalg.solve(k[2:, 2:], k[2:, :2])])
    q, rate = np.zeros(5), np.zeros(5)

    theta, p = definition.coupling.coefficients.copy(), np.array(definition.coupling.covariance)
    b, d = scipy.signal.butter(4, definition.coupling.cutoff, fs=1.0 / dt)
    sensed, sent, targets, strokes = (np.zeros((2, 4)) for _ in range(4))
    command, out = np.zeros(2), np.zeros((ticks, len(SIGNALS)))
    for tick in range(ticks):
        read = model.c @ x + noise[tick]
        turn = -np.arcsin((read[0] - read[1]) / (across[0] - across[1]))
        pose = np.array([read[0] - along[0] * (np.cos(turn) - 1) + across[0] * np.sin(turn), turn])
        before, q = q, follow @ pose
        former, rate = rate, (q - before) / dt
        force = k @ q + c @ rate + m @ (rate - former) / dt
        if not force_late:
            load[at] = force[:3]
        right = mass @ (a0 * u + a2 * v + a) + damping @ (a1 * u + v) - load + shaken * ground[tick]
        new = inverse @ right
        acceleration = a0 * (new - u) - a2 * v - a
        v, u, a = v + 0.5 * dt * (a + acceleration), new, acceleration
        load[at] = force[:3]
        wanted = u[at[0]] + along * (np.cos(u[at[1]]) - 1) - across * np.sin(u[at[1]])
        for i in range(2):
            targets[i] = [wanted[i], *targets[i, :3]]
            filtered, sensed[i] = _filtered(b, d, sensed[i], read[i])
            strokes[i] = [filtered, *strokes[i, :3]]
            gain = p[i] @ strokes[i]
            p[i] -= np.outer(gain, gain) / (1.0 + strokes[i] @ gain)
            gain = p[i] @ strokes[i]  # of the updated covariance: the same as dividing by 1 + φᵀPφ
            moves, known = 0.0 if former_filter else gain @ targets[i], theta[i] @ strokes[i]
            command[i] = (theta[i] @ targets[i] + moves * (sent[i, 0] - known)) / (1.0 - moves * b[0])
            late, sent[i] = _filtered(b, d, sent[i], command[i])
            theta[i] += gain * (late - known)
        x = phi @ x + gamma @ command
        out[tick] = [*wanted, *read, *u[at[:2]], *pose, *u[list(UPPER)]]
    return out


def _filtered(b: np.ndarray, a: np.ndarray, state: np.ndarray, value: float) -> tuple[float, np.ndarray]:
    y = b[0] * value + state[0]
    return y, np.append(state[1:], 0.0) + b[1:] * value - a[1:] * y
