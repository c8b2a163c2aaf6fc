"""Adaptive forward prediction: ρ, the amplitude and the order follow the synchronisation error during the test.

M. I. Wallace, D. J. Wagg, S. A. Neild, "An adaptive polynomial based forward prediction algorithm for multi-actuator
real-time dynamic substructuring", Proc. R. Soc. A 461 (2005) 3807–3826, doi 10.1098/rspa.2005.1532; start-up and
over-compensation as in M. I. Wallace et al., Earthquake Engng Struct. Dyn. 34 (2005) 1817–1832.

    z'(t) = κ (P_{N,n,Δ}[z])(t + ρ)                                    the asked command, per interface axis

The synchronisation error e = z − x of a rig that is still late by δ is δ z˙ to first order, so that its sign relative
to the velocity gives the direction of the change of ρ.  Papers and laboratories differ in how they estimate δ; here by
regression of e on z˙ over an exponentially fading window of length T, which needs no zero crossings:

    δ = ⟨e z˙⟩ / ⟨z˙²⟩           ρ˙ = (δ + δ₀)/T_ρ,   ρ within [0, ρ_max]

δ₀ is the over-compensation: the synchronisation origin is moved so that the rig leads by δ₀, which adds damping.  The
amplitude follows the peaks of each half cycle of the target, a half cycle being the time between two zero crossings:

    κ ← κ (1 + μ (max|z| / max|x| − 1)),   κ within 1 ± its range

Both stand still while the rms target velocity in the window is below ``least_velocity``.  A low order N tolerates a far
too large ρ, a high order predicts better: N starts at ``order`` and rises by one, fading over over T, whenever
|δ + δ₀| has stayed below ``converged`` for ``hold``, up to ``highest_order``.  An order that cannot take the ρ it has
makes the loop grow at a high frequency, long before anything trips, and the predictions of this order and of the next
lower one move apart.  Their distance d_N, as a share of the target (rms in the window), is known before the order
rises; with the reach r from the middle of the samples it goes as r^N:

    d_N = ‖P_N[z] − P_{N−1}[z]‖ / ‖z‖,    r = ρ + (n − 1)Δ/2
    N falls by one, within T/10, where d_N / r^N exceeds 3 times what it was when N rose

and does not rise again unless ρ falls to less than 0.9 of what it was there.  This rule is ours.

======== ============================================================
z, x, e  target, measured displacement, synchronisation error
ρ, κ, N  prediction, amplitude factor, order: what is adapted
δ, δ₀    remaining delay, wanted lead (``over_compensation``)
T, T_ρ   ``window``, ``adaption_time``; μ ``amplitude_gain``
======== ============================================================
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..contracts.coupling import Predictor
from ..contracts.quantities import UNLIMITED
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.compile import kernel
from ..kernels.history import fill, push
from ..settings import PerAxis, WholePerAxis, fault
from .forward_prediction import MOST_POINTS, coefficient_map, enough_points, weights
from .per_axis import OneOrEach, WholeOrEachAxis, common, in_ms, on_axes, on_both, single, whole
from .plain import PlainCoupling


@kernel
def predict(maps, row, history, axis, ahead):  # type: ignore[no-untyped-def]
    """The polynomial of order-row ``row`` through the history of one axis, ``ahead`` steps on (Horner)."""
    value = 0.0
    for i in range(maps.shape[1] - 1, -1, -1):
        coefficient = 0.0
        for j in range(maps.shape[2]):
            coefficient += maps[row, i, j] * history[j, axis]
        value = value * ahead + coefficient
    return value


GROWN, SOONER, SHORTER = 3.0, 10.0, 0.9
"""Factor on d_N/r^N at which the order falls; how much sooner than it rises; part of ρ then at which it may rise."""


@kernel
def apart_by(apart, size, row, reach, order):  # type: ignore[no-untyped-def]
    """d_N / r^N of an order-row, on the axis where d_N is largest."""
    most = 0.0
    for c in range(size.shape[0]):
        if size[c] > 0.0:
            most = max(most, math.sqrt(apart[row, c] / size[c]))
    return most / reach**order


def adaptive_forward_prediction_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.rho.size
    rows = p.maps.shape[0]
    if s.started == 0.0:  # as if the target had always stood where it starts
        fill(s.history, u)
        s.started = 1.0
    push(s.history, u)

    synchronised = True
    for c in range(n):
        z, x = u[c], u[n + c]
        velocity = (z - s.history[2, c]) / (2.0 * p.dt)  # at the previous tick, as is the error it is compared with
        s.error_velocity[c] = p.fade * s.error_velocity[c] + (1.0 - p.fade) * s.error[c] * velocity
        s.velocity_square[c] = p.fade * s.velocity_square[c] + (1.0 - p.fade) * velocity * velocity
        s.error[c] = z - x
        s.peak_target[c] = max(s.peak_target[c], abs(z))
        s.peak_measured[c] = max(s.peak_measured[c], abs(x))

        excited = s.velocity_square[c] > p.least_velocity * p.least_velocity
        s.delay[c] = s.error_velocity[c] / s.velocity_square[c] if excited else 0.0
        if excited:
            s.rho[c] += p.dt / p.adaption_time * (s.delay[c] + p.lead)
            s.rho[c] = min(max(s.rho[c], 0.0), p.longest)
        if z * s.history[1, c] < 0.0:  # a half cycle of the target ends
            if excited and s.half_cycles[c] >= 1.0 and s.peak_measured[c] > 0.0:
                s.kappa[c] *= 1.0 + p.amplitude_gain * (s.peak_target[c] / s.peak_measured[c] - 1.0)
                s.kappa[c] = min(max(s.kappa[c], 1.0 - p.amplitude_range), 1.0 + p.amplitude_range)
            s.peak_target[c] = s.peak_measured[c] = 0.0
            s.half_cycles[c] += 1.0
        synchronised = synchronised and excited and abs(s.delay[c] + p.lead) < p.converged

    longest = 0.0
    for c in range(n):
        longest = max(longest, s.rho[c])
        s.size[c] = p.fade * s.size[c] + (1.0 - p.fade) * u[c] * u[c]
        for i in range(rows):
            s.predicted[i, c] = predict(p.maps, i, s.history, c, s.rho[c] / p.dt)
            if i > 0:
                between = s.predicted[i, c] - s.predicted[i - 1, c]
                s.apart[i, c] = p.fade * s.apart[i, c] + (1.0 - p.fade) * between * between

    row = int(s.order)
    reach, order = longest / p.dt + 0.5 * (s.history.shape[0] - 1.0), p.lowest_order + s.order
    if row > 0 and s.falling == 0.0 and apart_by(s.apart, s.size, row, reach, order) > p.grown * s.known[row]:
        s.falling, s.calm, s.left_at = 1.0, 0.0, longest
    s.calm = s.calm + p.dt if synchronised else 0.0
    if s.falling == 1.0:
        s.blend -= p.sooner * p.dt / p.window
        if s.blend <= 0.0:
            s.order, s.blend, s.falling, s.calm = s.order - 1.0, 1.0, 0.0, 0.0
    elif row < rows - 1 and s.blend >= 1.0 and s.calm >= p.hold and longest < p.shorter * s.left_at:
        s.order, s.blend, s.calm = s.order + 1.0, 0.0, 0.0
        s.known[row + 1] = apart_by(s.apart, s.size, row + 1, reach, order + 1.0)
    else:
        s.blend = min(s.blend + p.dt / p.window, 1.0)

    row = int(s.order)
    for c in range(n):
        value = s.predicted[row, c]
        if s.blend < 1.0 and row > 0:
            value = s.blend * value + (1.0 - s.blend) * s.predicted[row - 1, c]
        y[c] = s.kappa[c] * value
        y[n + c], y[2 * n + c], y[3 * n + c] = s.rho[c], s.kappa[c], s.delay[c]
    y[4 * n] = p.lowest_order + s.order
    return 0


class AdaptiveForwardPrediction(PlainCoupling):
    """Forward prediction that finds the rig's delay and amplitude by itself, from any starting value."""

    kind: Literal["adaptive forward prediction"] = "adaptive forward prediction"
    prediction: Annotated[OneOrEach, PerAxis("s", least=0)]
    """ρ at the start; an over-estimate is safer than an under-estimate."""
    order: Annotated[WholeOrEachAxis, WholePerAxis(least=0, most=10)] = 2
    highest_order: Annotated[WholeOrEachAxis, WholePerAxis(least=0, most=10)] = 3
    points: Annotated[WholeOrEachAxis, WholePerAxis(least=3, most=MOST_POINTS)] = 12
    longest_prediction: Annotated[OneOrEach, PerAxis("s", above=0)] = 0.05
    over_compensation: Annotated[OneOrEach, PerAxis("s", least=0)] = 0.0
    window: Annotated[OneOrEach, PerAxis("s", above=0)] = 0.5
    adaption_time: Annotated[OneOrEach, PerAxis("s", above=0)] = 0.5
    amplitude_gain: Annotated[OneOrEach, PerAxis("1", least=0, most=1)] = 0.1
    amplitude_range: Annotated[OneOrEach, PerAxis("1", least=0, most=0.9)] = 0.2
    least_velocity: Annotated[OneOrEach, PerAxis("m/s", above=0, of_rotations="rad/s")] = 1e-4
    converged: Annotated[OneOrEach, PerAxis("s", above=0)] = 2e-4
    hold: Annotated[OneOrEach, PerAxis("s", above=0)] = 1.0
    apart: ClassVar[bool] = True

    @field_validator("highest_order")
    @classmethod
    def _not_below(cls, highest: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        for one, order in on_both(highest, info.data.get("order", 0)):
            if one < order:
                raise fault(f"{one} is below the starting order {order}; raise it or lower order")
        return highest

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_points(points, info.data.get("highest_order", 0))

    @field_validator("longest_prediction")
    @classmethod
    def _not_shorter(cls, longest: OneOrEach, info: ValidationInfo) -> OneOrEach:
        for one, starting in on_both(longest, info.data.get("prediction", 0.0)):
            if one < starting:
                raise fault(f"{one:g} s is shorter than the starting prediction {starting:g} s")
        return longest

    @property
    def predicts(self) -> bool:
        return bool(np.any(self.prediction))

    def predictor(self, step: float) -> Predictor | None:
        order, points, ahead = common(self.order), common(self.points), common(self.prediction)
        if order is None or points is None or ahead is None:
            return None
        told = f"the coupling adapts: ρ = {in_ms(ahead)} and order {int(order)}, its initial values"
        return Predictor(weights(int(order), int(points), ahead / step), told)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n, points, lowest, highest = len(target), whole(self.points), whole(self.order), whole(self.highest_order)
        orders = range(lowest, highest + 1)
        maps = np.zeros((len(orders), highest + 1, points))
        for row, order in enumerate(orders):
            maps[row, : order + 1] = coefficient_map(order, points)
        zeros = np.zeros(n)
        adapted: dict[str, Value] = {
            "rho": on_axes(self.prediction, n),
            "kappa": np.ones(n),
            "delay": zeros,
            "order": 0.0,
            "blend": 1.0,
            "calm": 0.0,
            "error_velocity": zeros,
            "velocity_square": zeros,
            "error": zeros,
            "peak_target": zeros,
            "peak_measured": zeros,
            "half_cycles": zeros,
            "size": zeros,
            "predicted": np.zeros((len(orders), n)),
            "apart": np.zeros((len(orders), n)),
            "known": np.zeros(len(orders)),
            "falling": 0.0,
            "left_at": UNLIMITED,
            "started": 0.0,
        }
        return Block(
            name="coupling",
            step=adaptive_forward_prediction_step,
            inputs=(*target, *measured),
            outputs=(
                *channels("command.asked", unit, n, of="actuator"),
                *channels("coupling.prediction", "s", n, of="axis"),
                *channels("coupling.amplitude", "1", n, of="axis"),
                *channels("coupling.delay", "s", n, of="axis"),
                Channel("coupling.order", "1"),
            ),
            parameters={
                "maps": maps,
                "dt": dt,
                "lowest_order": float(lowest),
                "longest": single(self.longest_prediction),
                "lead": single(self.over_compensation),
                "fade": math.exp(-dt / single(self.window)),
                "window": single(self.window),
                "adaption_time": single(self.adaption_time),
                "amplitude_gain": single(self.amplitude_gain),
                "amplitude_range": single(self.amplitude_range),
                "least_velocity": single(self.least_velocity),
                "converged": single(self.converged),
                "hold": single(self.hold),
                "grown": GROWN,
                "sooner": SOONER,
                "shorter": SHORTER,
            },
            state={"history": np.zeros((points, n)), **adapted},
            frozen=tuple(adapted),
            held=(
                "the coupling adapts: assessed with its initial values, ρ = "
                f"{in_ms(self.prediction)} and order {lowest}"
            ),
            watched=("coupling.order",),
            texts={"coupling.order": {float(order): f"prediction order {order}" for order in range(10)}},
            references=("wallace2005adaptive", "wallace2005stability"),
        )
