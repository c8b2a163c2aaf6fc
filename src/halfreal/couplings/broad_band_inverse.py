"""Broad-band compensation: the realisable filter that comes nearest to the ideal compensator in a band.

The ideal compensator P_id of V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech.
(2020), doi 10.1007/s40799-020-00394-5 (``halfreal.stability.ideal_compensator``) is improper, may lead and may be
unstable.  Here it is realised by weights w on samples of the target that are ``spacing`` ticks apart, which is stable
and proper for any P_id:

    u = z̄ + Σ_j w_j (z − z̄)(t − j m Δt) + k_p (z − x) + k_i ∫ (z − x) dt

    min_w  Σ_ω |G_c(jω)|² |P(jω) − P_id(jω)|² / lines + ν² Σ_j w_j²,        P = M + (1 − M) Σ_j w_j e^{−jω j m Δt}

The first sum is the error of D_a/D_n over the band, Σ|D_a/D_n − 1|²; the second, the power that noise in the target has
in the command, is what bounds the filter outside the band.  A lead that P_id requires is thereby a prediction: weights
on the last samples that extrapolate everything within the band.  ν trades one for the other.  The mean z̄ = M z
passes as it is, as in ``narrow_band_table.py``.

With k_p or k_i this is feed-forward plus feedback: what the model gets wrong is fed back, at frequencies well below
those at which the rig is late.

======== =================================================================================
z, x, u  target, measured displacement, asked command
w, m     weights (``taps`` of them), ``spacing``
ν        ``noise_weight``; the band goes from ``lowest`` to ``highest``
k_p, k_i ``proportional``, ``integral``
======== =================================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.device import Device
from ..contracts.known import Known
from ..errors import HalfrealError
from ..kernels.block import Block, channels
from ..kernels.history import push
from ..models.shaker import Shaker
from ..settings import Number, PerAxis, RowPerAxis, fault
from ..stability.ideal_compensator import Following, ideal_from
from .narrow_band_table import mean_response
from .per_axis import OneOrEach, single
from .plain import PlainCoupling

if TYPE_CHECKING:
    from ..definition.definition import Definition

LINES = 200
"""Frequencies at which the band is fitted."""


def broad_band_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    z, x = u[0], u[1]
    if s.started == 0.0:
        s.mean, s.started = z, 1.0
    s.mean += p.fading_mean * (z - s.mean)
    s.now[0] = z - s.mean
    push(s.history, s.now)
    value = s.mean
    for j in range(p.weights.size):
        value += p.weights[j] * s.history[j * int(p.spacing), 0]
    s.sum += p.integral * (z - x)
    y[0] = value + p.proportional * (z - x) + s.sum
    return 0


class BroadBandInverse(PlainCoupling):
    """The ideal compensator within a band by weights on past targets, with feedback if wished.

    ``weights``, one row for all axes or one for each, come from the rig's actuator (``shaker`` in its place, if that
    was identified) and the virtual substructure of the definition if they are left out, where these have one axis.
    """

    kind: Literal["broad band inverse"] = "broad band inverse"
    lowest: Annotated[float, Number("Hz", above=0)] = 0.25
    highest: Annotated[float, Number("Hz", above=0)] = 15.0
    taps: Annotated[int, Field(ge=2, le=64)] = 12
    spacing: Annotated[int, Field(ge=1, le=32)] = 8
    noise_weight: Annotated[float, Number("1", above=0)] = 1e-3
    mean_time: Annotated[OneOrEach, PerAxis("s", above=0)] = 2.0
    proportional: Annotated[OneOrEach, PerAxis("1", least=0)] = 0.0
    integral: Annotated[OneOrEach, PerAxis("1/s", least=0)] = 0.0
    weights: Annotated[np.ndarray, RowPerAxis("1")] | None = None
    shaker: Shaker | None = None
    apart: ClassVar[bool] = True

    @field_validator("highest")
    @classmethod
    def _a_band(cls, highest: float, info: ValidationInfo) -> float:
        if highest <= info.data.get("lowest", 0.0):
            raise fault(
                f"{highest:g} Hz is not above lowest, {info.data['lowest']:g} Hz; the upper end must be above the lower"
            )
        return highest

    @field_validator("weights")
    @classmethod
    def _as_many(cls, weights: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        count = 0 if weights is None else weights.shape[-1]
        if weights is not None and count != info.data.get("taps", count):
            raise fault(f"{count} weights for {info.data['taps']} taps; give one for each")
        return weights

    @property
    def has_table(self) -> bool:
        return self.weights is not None

    def _not_shown(self, dt: float) -> str:
        if self.highest * self.spacing * dt < 0.5:
            return ""
        return (
            f"{self.highest:g} Hz cannot be resolved by samples {self.spacing} ticks of {dt:g} s apart; lower it below "
            f"{0.5 / (self.spacing * dt):g} Hz, or reduce coupling.spacing"
        )

    def check_step(self, dt: float) -> None:
        """Refuse a band that the samples of the weights do not show."""
        if not self.has_table and (told := self._not_shown(dt)):
            raise fault(told, "highest")

    def fits(self, known: Known) -> None:
        super().fits(known)
        if known.step is not None:
            self.check_step(known.step)

    def with_model_data(self, test: Definition) -> Self:
        if self.has_table:
            return self
        step = test.timing.step
        return self.with_table(test.rig.follower(step, self.shaker), test.virtual.device(step), step)

    def with_table(self, actuator: Following, device: Device, dt: float) -> Self:
        """With the weights for this actuator and device, the delays of the sampled loop in them."""
        if told := self._not_shown(dt):
            raise HalfrealError(f"coupling.highest: {told}")
        omega = 2 * np.pi * np.linspace(self.lowest, self.highest, LINES)
        mean, responses = mean_response(single(self.mean_time), dt, omega), actuator.responses(omega)
        weight = np.abs(responses[0]) / math.sqrt(LINES)
        columns = ((1.0 - mean) * weight)[:, None] * self._basis(omega, dt)
        wanted = (ideal_from(responses, device, omega) - mean) * weight
        above = np.vstack([columns.real, columns.imag, self.noise_weight * np.eye(self.taps)])
        right = np.concatenate([wanted.real, wanted.imag, np.zeros(self.taps)])
        return self.unchecked_copy({"weights": np.linalg.lstsq(above, right, rcond=None)[0]})

    def response(self, dt: float, frequency_hz: np.ndarray) -> np.ndarray:
        """P(jω) of the feed-forward."""
        omega = 2 * np.pi * np.atleast_1d(np.asarray(frequency_hz, dtype=float))
        mean = mean_response(single(self.mean_time), dt, omega)
        return np.asarray(mean + (1.0 - mean) * (self._basis(omega, dt) @ self._weights()))

    @property
    def noise(self) -> float:
        """RMS of the command over that of white noise in the target."""
        return float(np.linalg.norm(self._weights()))

    def _basis(self, omega: np.ndarray, dt: float) -> np.ndarray:
        return np.asarray(np.exp(-1j * np.outer(omega, self.spacing * dt * np.arange(self.taps))))

    def _weights(self) -> np.ndarray:
        if self.weights is None:
            raise HalfrealError("the weights are not known: use the coupling in a definition whose rig has a model")
        return self.weights

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        moving: dict[str, np.ndarray | float] = {"now": np.zeros(1), "started": 0.0}
        state: dict[str, np.ndarray | float] = {
            "history": np.zeros((1 + (self.taps - 1) * self.spacing, 1)),
            "mean": 0.0,
            "sum": 0.0,
        }
        return Block(
            name="coupling",
            step=broad_band_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, 1, of="actuator"),
            parameters={
                "weights": self._weights(),
                "spacing": float(self.spacing),
                "fading_mean": 1.0 - math.exp(-dt / single(self.mean_time)),
                "proportional": single(self.proportional),
                "integral": single(self.integral) * dt,
            },
            state={**state, **moving},
            frozen=(*moving, *(("sum",) if single(self.integral) == 0.0 else ())),
            references=("ruffini2020",),
        )
