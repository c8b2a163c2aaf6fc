"""A shaking table as a linear system: how its axes follow, and PID gains for a bandwidth.

With s* = C u* and continuous controllers, the table of ``shaking_table`` is linear from target pose u* to pose u:

    c = k_p C (u* − u) + k_i ∫ C (u* − u) dt + k_d C (u˙* − u˙)

The derivative of the target is moved behind the valve: with w = v˙ − ω_v² k_d C u* no rate of the target is needed, and
the model is proper.  Delays of commands and the sampling of the controllers are left out.

Whether the controllers are stable as they are sampled, on the rig's step h with x⁺ = Φ x + Γ c, is given by

    x⁺ = (Φ − Γ C (k_p P + k_d P˙)) x + k_i Γ σ,      σ⁺ = σ − h C P x

with P x the pose, P˙ x its rate and σ the sums of the integral action.

Tuning, as the paper of the DLR on its table gives it: proportional and derivative gain are raised until the amplitude
is flat within the bandwidth; what is left is a phase that falls like that of a delay.
"""

from __future__ import annotations

import numpy as np

from ..contracts.axes import Axes
from ..contracts.state_space import StateSpace
from ..errors import HalfrealError
from ..models.schemes.exact import discretise
from .interface_geometry import AXES, Axis
from .largest_stable import largest
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

UNITS = {"proportional": " 1/s", "integral": " 1/s^2", "derivative": ""}
"""Of the gains."""


def closed_loop(rig: ShakingTable, controller: Pid | None = None) -> StateSpace:
    """From target pose to pose, all six axes, with the definition's controllers or others."""
    gains = rig.controller if controller is None else controller
    a, b, _, _ = rig.plant()
    m, n = len(rig.actuators), len(a)
    drive = b[:, :m]
    modal = rig.kinematics.modal
    pose, rate = _strokes_and_speeds(rig, n)
    seen = _unstrained(rig) if gains.integral else np.zeros((m, 0))
    sums = seen.shape[1]
    total = np.zeros((n + sums, n + sums))
    total[:n, :n] = a - drive @ (gains.proportional * pose + gains.derivative * rate)
    total[:n, n:] = gains.integral * drive @ seen
    total[n:, :n] = -seen.T @ pose
    by_target = np.vstack([gains.proportional * drive @ modal, seen.T @ modal])
    # u˙* enters v¨ through k_d: shift it into the state that is integrated once before
    shift = np.vstack([gains.derivative * drive @ modal, np.zeros((sums, POSE))])
    outputs = np.zeros((POSE, n + sums))
    outputs[:, 3 * m : 3 * m + POSE] = np.eye(POSE)
    return StateSpace(total, by_target + total @ shift, outputs, np.zeros((POSE, POSE)))


def sampled_radius(rig: ShakingTable, h: float, controller: Pid | None = None) -> float:
    """Spectral radius, over one step of the rig, of the table held by its controllers, sampled as they are."""
    gains = rig.controller if controller is None else controller
    a, b, _, _ = rig.plant()
    m, n = len(rig.actuators), len(a)
    transition, held, _ = discretise(a, b[:, :m], h, "zero")
    strokes, speeds = _strokes_and_speeds(rig, n)
    seen = _unstrained(rig) if gains.integral else np.zeros((m, 0))
    total = np.eye(n + seen.shape[1])
    total[:n, :n] = transition - held @ (gains.proportional * strokes + gains.derivative * speeds)
    total[:n, n:] = gains.integral * held @ seen
    total[n:, :n] = -h * seen.T @ strokes
    return float(np.abs(np.linalg.eigvals(total)).max())


def largest_stable(rig: ShakingTable, h: float) -> tuple[str, float] | None:
    """The gain whose lowering alone makes the controllers stable, and up to which value; None if none does."""
    for key in ("proportional", "derivative", "integral"):
        high = float(getattr(rig.controller, key))
        bound = largest(lambda value, key=key: sampled_radius(rig, h, _with(rig, key, value)) < 1.0, high)  # type: ignore[misc]
        if bound is not None:
            return key, bound
    return None


def remedy(rig: ShakingTable, h: float) -> str:
    """Which gain of a table's controllers that are not stable to lower, and how far."""
    found = largest_stable(rig, h)
    if found is None:
        return "lower gains of rig.controller, all of them, or another rig.specimen: no single gain makes it stable"
    key, bound = found
    value, unit = getattr(rig.controller, key), UNITS[key]
    return (
        f"a lower rig.controller.{key}: it is {value:.4g}{unit}, but the table's controllers are stable below "
        f"{bound:.4g}{unit}; half of that leaves 6 dB"
    )


def _with(rig: ShakingTable, key: str, value: float) -> Pid:
    return rig.controller.unchecked_copy({key: value})


def _strokes_and_speeds(rig: ShakingTable, states: int) -> tuple[np.ndarray, np.ndarray]:
    """C P and C P˙, (m, states): strokes and their rates for small motions, out of the plant's state."""
    m = len(rig.actuators)
    size = (states - 3 * m) // 2
    pose, rate = np.zeros((m, states)), np.zeros((m, states))
    pose[:, 3 * m : 3 * m + POSE] = rig.kinematics.modal
    rate[:, 3 * m + size : 3 * m + size + POSE] = rig.kinematics.modal
    return pose, rate


def _unstrained(rig: ShakingTable) -> np.ndarray:
    """Sums of the integral action that do not only strain the table, (m, 6): an orthonormal basis of the range of C."""
    return np.asarray(np.linalg.svd(rig.kinematics.modal)[0][:, :POSE])


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
    sensors = rig.sensors.of_force(Axes(rig.axes))
    lags = [-slope[i, i] / still[i, i] + sensor.delay for i, sensor in zip(index, sensors, strict=True)]
    return float(max(lags)) + rig.delay


def tune_controller(rig: ShakingTable, bandwidth_hz: float) -> Pid:
    """Proportional and derivative gain that keep the amplitude of all commanded axes flat up to ``bandwidth_hz``.

    The worst departure from 1 within the bandwidth, and peaks beyond it, are made as small as they can be.
    """
    from scipy.optimize import minimize

    if not (0.0 < bandwidth_hz < np.inf):
        raise HalfrealError(f"a bandwidth of {bandwidth_hz:g} Hz; give one above 0 Hz, such as 30 Hz")
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
            f"{100 * found.fun:.0f} %; request less bandwidth, or use faster valves or stiffer actuators"
        )
    return _pid(rig, found.x)


def _pid(rig: ShakingTable, gains: np.ndarray) -> Pid:
    proportional, derivative = (max(float(value), low) for value, low in zip(gains, (1e-3, 0.0), strict=True))
    return Pid(proportional=proportional, integral=rig.controller.integral, derivative=derivative)
