"""A shaking table as a linear system: how its axes follow, and PID gains for a bandwidth.

With s* = C u* and continuous controllers, the table of ``shaking_table`` is linear from target pose u* to pose u:

    c = k_p C (u* − u) + k_i ∫ C (u* − u) dt + k_d C (u˙* − u˙)

The derivative of the target is moved behind the valve: with w = v˙ − ω_v² k_d C u* no rate of the target is needed, and
the model is proper.  Delays of commands and the sampling of the controllers are left out.

Tuning, as the paper of the DLR on its table tells it: proportional and derivative gain are raised until the amplitude
is flat within the bandwidth; what is left is a phase that falls like that of a delay.
"""

from __future__ import annotations

import numpy as np

from ..errors import HalfrealError
from ..stability.state_space import StateSpace
from .interface_geometry import AXES, Axis
from .shaking_table import POSE, ShakingTable
from .table_parts import Pid

FLAT = 0.1
"""Departure of the amplitude from 1 within the bandwidth that still counts as flat."""
LARGEST_PEAK = 1.1
"""Of the amplitude beyond the bandwidth."""
LINES = 24
"""Frequencies looked at within the bandwidth, and beyond it."""
UNSTABLE = 10.0
"""Cost of gains that are, and more."""


def closed_loop(rig: ShakingTable, controller: Pid | None = None) -> StateSpace:
    """From target pose to pose, all six axes, with the definition's controllers or others."""
    gains = rig.controller if controller is None else controller
    a, b, _, _ = rig.plant()
    m, n = len(rig.actuators), len(a)
    size = (n - 3 * m) // 2
    drive = b[:, :m]
    modal = rig.kinematics.modal
    pose, rate = np.zeros((m, n)), np.zeros((m, n))
    pose[:, 3 * m : 3 * m + POSE] = modal
    rate[:, 3 * m + size : 3 * m + size + POSE] = modal
    total = np.zeros((n + m, n + m))
    total[:n, :n] = a - drive @ (gains.proportional * pose + gains.derivative * rate)
    total[:n, n:] = gains.integral * drive
    total[n:, :n] = -pose
    by_target = np.zeros((n + m, POSE))
    by_target[:n] = gains.proportional * drive @ modal
    by_target[n:] = modal
    # u˙* enters v¨ through k_d: shift it into the state that is integrated once before
    shift = np.vstack([gains.derivative * drive @ modal, np.zeros((m, POSE))])
    outputs = np.zeros((POSE, n + m))
    outputs[:, 3 * m : 3 * m + POSE] = np.eye(POSE)
    if gains.integral == 0.0:
        total, by_target, shift, outputs = total[:n, :n], by_target[:n], shift[:n], outputs[:, :n]
    return StateSpace(total, by_target + total @ shift, outputs, np.zeros((POSE, POSE)))


def axis_response(rig: ShakingTable, axis: Axis, frequency_hz: np.ndarray, controller: Pid | None = None) -> np.ndarray:
    """How one axis follows its own target, complex, with the delay of the command."""
    i = AXES.index(axis)
    omega = 2 * np.pi * np.atleast_1d(np.asarray(frequency_hz, dtype=float))
    return np.asarray(closed_loop(rig, controller).response(omega)[:, i, i] * np.exp(-1j * omega * rig.delay))


def slow_lag(rig: ShakingTable) -> float:
    """Lag [s] of the slowest commanded axis in slow motion, −G'(0)/G(0), with delays of command and force sensor."""
    model, index = closed_loop(rig), rig.index()
    once = np.linalg.solve(model.a, model.b)
    still, slope = model.c @ once, model.c @ np.linalg.solve(model.a, once)
    lags = [-slope[i, i] / still[i, i] for i in index]
    return float(max(lags)) + rig.delay + rig.sensors.force.delay


def tune(rig: ShakingTable, bandwidth_hz: float) -> Pid:
    """Proportional and derivative gain that keep the amplitude of all commanded axes flat up to ``bandwidth_hz``.

    The worst departure from 1 within the bandwidth, and peaks beyond it, are made as small as they can be.
    """
    from scipy.optimize import minimize

    within = np.linspace(0.04, 1.0, LINES) * bandwidth_hz
    omega = 2 * np.pi * np.concatenate([within, np.geomspace(1.05, 20.0, LINES) * bandwidth_hz])
    index = rig.index()

    def cost(gains: np.ndarray) -> float:
        loop = closed_loop(rig, _pid(rig, gains))
        growth = float(loop.poles().real.max())
        if growth >= 0.0:
            return UNSTABLE + growth
        amplitude = np.abs(loop.response(omega)[:, index, index])
        uneven = float(np.abs(amplitude[:LINES] - 1.0).max())
        return uneven + max(float(amplitude[LINES:].max()) - LARGEST_PEAK, 0.0)

    start = np.array([2.0 * np.pi * bandwidth_hz, 0.1])
    while cost(start) >= UNSTABLE and start[0] > 1.0:
        start = np.array([0.7 * start[0], 0.0])
    found = minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-2, "fatol": 1e-4, "maxiter": 120})
    if found.fun > FLAT:
        raise HalfrealError(
            f"no gains keep the amplitude within {100 * FLAT:.0f} % up to {bandwidth_hz:g} Hz: the best leave "
            f"{100 * found.fun:.0f} %; ask for less bandwidth, or use faster valves or stiffer actuators"
        )
    return _pid(rig, found.x)


def _pid(rig: ShakingTable, gains: np.ndarray) -> Pid:
    proportional, derivative = (max(float(value), low) for value, low in zip(gains, (1e-3, 0.0), strict=True))
    return Pid(proportional=proportional, integral=rig.controller.integral, derivative=derivative)
