"""What halfreal's own excitations have in common: amplitude and ramp.

The key that carries the amplitude says how it acts: ``displacement`` moves the support, ``force`` pushes a degree of
freedom, ``acceleration`` shakes the ground; the signal of a simulated auxiliary channel has ``value``.  Every
excitation gives its value and its rate, and rises over ``ramp`` seconds along g(t) = ½ (1 − cos πt/ramp).  A
block with a ``shift`` gives the value of so much later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Self

from pydantic import model_validator

from ... import units
from ...contracts.excitation import Excitation
from ...kernels.block import Block, Channel, Value
from ...kernels.compile import kernel
from ...settings import Number, fault

UNITS = {"displacement": "m", "force": "N", "acceleration": "m/s^2"}
KEYS = (*UNITS, "value")


class WithAmplitude(Excitation):
    """An excitation of one amplitude, whose key says how it acts."""

    displacement: Annotated[float, Number("m")] | None = None
    force: Annotated[float, Number("N")] | None = None
    acceleration: Annotated[float, Number("m/s^2")] | None = None
    value: str | float | None = None
    """Amplitude of the signal of an auxiliary channel, in a unit of that channel, instead of the three above."""
    ramp: Annotated[float, Number("s", least=0)] = 0.0

    @model_validator(mode="after")
    def _one_amplitude(self) -> Self:
        given = [key for key in KEYS if getattr(self, key) is not None]
        if len(given) != 1:
            raise fault(
                f"{' and '.join(given) if given else 'no amplitude'} given where exactly one of displacement, force, "
                "acceleration is expected; the key determines how the excitation acts"
            )
        return self

    @property
    def quantity(self) -> str:
        return next(key for key in KEYS if getattr(self, key) is not None)

    @property
    def amplitude(self) -> float:
        return float(getattr(self, self.quantity))

    def scaled(self, factor: float) -> Self:
        return self.unchecked_copy({self.quantity: factor * self.amplitude})

    def on_channel(self, unit: str) -> Self:
        assert self.value is not None  # as whoever has it as a signal has seen to
        return self.unchecked_copy({"value": units.given(self.value, unit)})

    @property
    def can_be_released(self) -> bool:
        return True

    def made(
        self, name: str, step: Callable[..., int], shift: float, since: str | None, parameters: Mapping[str, Value]
    ) -> Block:
        """The block ``name`` of this step function, with these parameters next to amplitude, ramp and shift."""
        unit = UNITS.get(self.quantity, "1")  # whose signal it is knows the unit of its value
        return Block(
            name=name,
            step=step,
            inputs=() if since is None else (since,),
            outputs=(Channel(name, unit), Channel(f"{name}.rate", f"{unit}/s" if unit != "m/s^2" else "m/s^3")),
            parameters={"amplitude": self.amplitude, "ramp": self.ramp, "shift": shift, **parameters},
        )


@kernel
def own_time(t, shift, u):  # type: ignore[no-untyped-def]
    """The excitation's time: the test's, or that since its release, which is the block's only input; below 0 before."""
    if u.size > 0:
        if u[0] < 0.0:
            return u[0]
        t = u[0]
    return t + shift


@kernel
def rise(t, ramp):  # type: ignore[no-untyped-def]
    """g(t) and its rate; nothing before the test begins."""
    if t < 0.0:
        return 0.0, 0.0
    if t >= ramp:
        return 1.0, 0.0
    w = math.pi / ramp
    return 0.5 * (1.0 - math.cos(w * t)), 0.5 * w * math.sin(w * t)
