"""Feed-forward filters: each axis of the target through its own transfer function, and through a prediction.

    u_c = W_c(s) (P_c z_c),      (P_c z)(t) ≈ z(t + ρ_c)

W_c is usually the inverse of a model of how the rig follows on that axis, with a low-pass that makes it proper, as in
the paper of the DLR Institute of Aeroelasticity on its six-axis shaking table (section 4): the amplitude becomes flat,
and what is left is a delay.  P_c may make up for that: the least-squares polynomial through the last targets, evaluated
ρ_c ahead (``forward_prediction.py``).  W_c are products of sections (``transfer_function.py``), by Tustin's rule.

The states begin as if the target had always had its initial value.

======== =================================================================
z, u     target, asked command, for each axis
W_c      ``filters``: one for all axes, or one for each
ρ_c      ``prediction``: one for all axes, or one for each; none if 0
======== =================================================================
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..contracts.known import Known
from ..kernels.block import Block, channels
from ..settings import Vector, WholePerAxis, fault, faults
from .forward_prediction import MOST_POINTS, enough_points, weights
from .per_axis import WholeOrEachAxis
from .plain import PlainCoupling
from .transfer_function import Discrete, Sections, series, tustin


def axis_filters_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    order = s.x.shape[1]
    for c in range(y.size):
        if s.started == 0.0:
            for i in range(order):
                s.x[c, i] = p.start[c, i] * u[c]
        value = p.direct[c] * u[c]
        for i in range(order):
            value += p.output[c, i] * s.x[c, i]
        y[c] = value
        for i in range(order):
            s.before[i] = s.x[c, i]
            s.x[c, i] = p.input[c, i] * u[c]
        for j in range(order):
            for i in range(order):
                s.x[c, i] += p.transition[c, j, i] * s.before[j]
    s.started = 1.0
    return 0


class AxisFilters(PlainCoupling):
    """Feed-forward of the target by filters of its own on every axis."""

    kind: Literal["feed-forward filters"] = "feed-forward filters"
    filters: tuple[Sections, ...] = ((),)
    prediction: Annotated[np.ndarray, Vector("s", least=0)] = np.zeros(1)
    order: Annotated[WholeOrEachAxis, WholePerAxis(least=0, most=10)] = 3
    points: Annotated[WholeOrEachAxis, WholePerAxis(least=1, most=MOST_POINTS)] = 12
    together: ClassVar[bool] = True

    @field_validator("filters")
    @classmethod
    def _some(cls, filters: tuple[Sections, ...]) -> tuple[Sections, ...]:
        if not filters:
            raise fault("no filter; give one for all axes, or one for each (an empty one passes the target unchanged)")
        return filters

    @field_validator("filters")
    @classmethod
    def _stable(cls, filters: tuple[Sections, ...]) -> tuple[Sections, ...]:
        """Feed-forward has nothing that would hold a filter that grows; Tustin's rule keeps what is stable so."""
        found = []
        for axis, sections in enumerate(filters):
            for place, section in enumerate(sections):
                worst = max(np.roots(section.ratio()[1]), key=lambda pole: pole.real, default=-np.inf)
                if worst.real >= 0.0:
                    told = f"{worst.real:.4g}" if worst.imag == 0.0 else f"{worst.real:.4g} ± {abs(worst.imag):.4g}i"
                    message = f"a pole at {told} rad/s is not stable, and feed-forward cannot stabilise it; remove it, "
                    found.append(((axis, place), f"{message}or move it left of the imaginary axis"))
        if found:
            raise faults(found)
        return filters

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_points(points, info.data.get("order", 0))

    def check_axes(self, axes: int) -> None:
        """Raise a fault unless filters and predictions are those of so many axes."""
        for key, count in (("filters", len(self.filters)), ("prediction", len(self.prediction))):
            if count not in (1, axes):
                raise fault(f"{count} of them for {axes} axis(es); give one for all, or one for each", key)

    def discrete(self, axis: int, dt: float) -> Discrete:
        """From target to command on one axis (from 0)."""
        sections = self.filters[axis if len(self.filters) > 1 else 0]
        ahead = float(self.prediction[axis if len(self.prediction) > 1 else 0]) / dt
        order, points = (one[axis] if isinstance(one, tuple) else one for one in (self.order, self.points))
        w = weights(order, points, ahead) if ahead > 0.0 else np.ones(1)
        taps = len(w) - 1
        shift = np.eye(taps, k=-1), np.eye(taps, 1), w[None, 1:], w[:1][None]
        return series(shift, tustin(sections, dt))

    def response(self, axis: int, dt: float, frequency_hz: np.ndarray) -> np.ndarray:
        """From target to command on one axis (from 0), complex."""
        a, b, c, d = self.discrete(axis, dt)
        z = np.exp(2j * np.pi * np.atleast_1d(np.asarray(frequency_hz, dtype=float)) * dt)[:, None, None]
        return np.asarray((c @ np.linalg.solve(z * np.eye(len(a)) - a, b.astype(complex)) + d)[:, 0, 0])

    def fits(self, known: Known) -> None:
        super().fits(known)
        if known.virtual is not None:
            self.check_axes(known.coupled or 0)

    @property
    def predicts(self) -> bool:
        return bool(np.any(self.prediction))

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n = len(target)
        self.check_axes(n)
        parts = [self.discrete(axis, dt) for axis in range(n)]
        order = max(1, *(len(part[0]) for part in parts))
        transition, inputs = np.zeros((n, order, order)), np.zeros((n, order))
        output, direct, start = np.zeros((n, order)), np.zeros(n), np.zeros((n, order))
        for c, (a, b, row, d) in enumerate(parts):
            size = len(a)
            transition[c, :size, :size] = a.T
            inputs[c, :size], output[c, :size], direct[c] = b[:, 0], row[0], d[0, 0]
            start[c, :size] = np.linalg.solve(np.eye(size) - a, b)[:, 0]  # under a target of 1 that has stood for long
        return Block(
            name="coupling",
            step=axis_filters_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, n, of="actuator"),
            parameters={
                "transition": transition,
                "input": inputs,
                "output": output,
                "direct": direct,
                "start": start,
            },
            state={"x": np.zeros((n, order)), "before": np.zeros(order), "started": 0.0},
            frozen=("before", "started"),
            references=("dlr",),
        )
