"""What an auxiliary channel of the rig measures: a signal generator, a push-button, another sensor.

    e(t_k) = gain · measured(t_k),    e˙(t_k) = (e(t_k) − e(t_{k−1})) / Δt,    0 at the first tick

Nothing is known of it beforehand.  The rate, which a moved support needs, is a backward difference: half a step late,
with the channel's noise over Δt in it.  The guard trips the test where |e| passes ``limit``, or the channel gives no
number.  In a rehearsal the channel measures what its simulated signal gives.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from ... import units
from ...contracts.excitation import Excitation
from ...kernels.block import Block, Channel
from ...settings import fault
from .amplitude import UNITS
from .record import record_step


def channel_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    value = p.gain * u[0]
    y[0], y[1] = value, 0.0
    if s.begun != 0.0 and t > s.time:
        y[1] = (value - s.last) / (t - s.time)
    s.last, s.time, s.begun = value, t, 1.0
    return 0


class FromChannel(Excitation):
    """``gain`` times what the auxiliary ``channel`` measures; beyond ``limit`` the test trips.

    The unit of the limit says how it acts: m moves the support, N is a force, m/s^2 shakes the ground.
    """

    kind: Literal["channel"] = "channel"
    channel: Annotated[str, Field(min_length=1)]
    """A name of ``[auxiliary]``."""
    gain: str | float
    """Physical value of one unit of the channel, e.g. "60 N/V"."""
    limit: str
    """Largest magnitude of the excitation, e.g. "400 N"."""

    @field_validator("limit")
    @classmethod
    def _acts_somehow(cls, limit: str) -> str:
        quantity = quantity_of(limit)
        if quantity is None:
            raise fault(
                f"'{limit}' is not a displacement, force or acceleration; its unit determines how "
                "the excitation acts, e.g. "
                "'5 mm', '400 N' or '2 m/s^2'"
            )
        if not units.parse(limit, UNITS[quantity]) > 0.0:
            raise fault(f"'{limit}' must be greater than 0 {UNITS[quantity]}")
        return limit

    @property
    def quantity(self) -> str:
        found = quantity_of(self.limit)
        assert found is not None  # as validated
        return found

    @property
    def reads(self) -> str:
        return self.channel

    @property
    def trip(self) -> str:
        return self.limit

    def on_channel(self, unit: str) -> Self:
        return self.unchecked_copy({"gain": units.given(self.gain, units.per(UNITS[self.quantity], unit))})

    def scaled(self, factor: float) -> Self:
        """Its limit grows with it, and does not shrink: what is too large is what a smaller one fixes."""
        limit = units.times(self.limit, max(factor, 1.0))
        return self.unchecked_copy({"gain": units.times(self.gain, factor), "limit": limit})

    def as_recorded(self, values: np.ndarray, step: float) -> Excitation:
        return Heard(channel=self.channel, gain=self.gain, limit=self.limit, values=values, step=step)

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        assert isinstance(self.gain, float) and shift == 0.0 and since is None, "settled on its channel before"
        return Block(
            name=name,
            step=channel_step,
            inputs=(f"measured.{self.channel}",),
            outputs=outputs(name, self.quantity),
            parameters={"gain": self.gain},
            state={"last": 0.0, "time": 0.0, "begun": 0.0},
        )


class Heard(FromChannel):
    """An excitation as it was recorded, linear between the samples."""

    values: np.ndarray
    step: float

    def on_channel(self, unit: str) -> Self:
        return self

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        count = len(self.values)
        padded = np.zeros(1 << max(count - 1, 1).bit_length())  # as records are
        padded[:count] = self.values
        return Block(
            name=name,
            step=record_step,
            inputs=(),
            outputs=outputs(name, self.quantity),
            parameters={
                "amplitude": 1.0,
                "ramp": 0.0,
                "shift": shift,
                "step": self.step,
                "count": float(count),
                "values": padded,
            },
        )


def outputs(name: str, quantity: str) -> tuple[Channel, Channel]:
    return Channel(name, UNITS[quantity]), Channel(f"{name}.rate", units.per(UNITS[quantity], "s"))


def quantity_of(limit: str) -> str | None:
    """Whether it is a displacement, a force or an acceleration; None if it is none of them."""
    for quantity, unit in UNITS.items():
        try:
            units.parse(limit, unit)
        except units.UnitError:
            continue
        return quantity
    return None
