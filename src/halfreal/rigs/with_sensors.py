"""What the simulated rigs with a specimen and the usual sensors have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from ..contracts.context import Context
from ..contracts.known import Known
from ..contracts.rig import Rig, RigBlocks
from ..contracts.specimen import KnownSpecimen, RigSpecimen
from ..kernels.block import Block
from .sensors import Sensors, behind


class SensedRig(Rig):
    """A rig with the settings ``specimen`` and ``sensors``, which each kind puts where they belong among its own."""

    if TYPE_CHECKING:
        specimen: RigSpecimen
        sensors: Sensors

    def fits(self, known: Known) -> None:
        """Raise a fault unless specimen and sensors suit the interface."""
        if known.virtual is None:
            return
        self.specimen.check_axes(known.virtual.axes)
        self.check_axes(known.virtual.axes)
        interface = self.interface(known.virtual, known.named)
        self.sensors.check_axes(interface)
        if known.step is not None:
            self.sensors.check_filters(known.step, known.step / self.steps_per_tick)
        self.specimen.check_rotations(interface)

    def check_axes(self, axes: int) -> None:
        """Raise a fault unless the settings in addition to specimen and sensors suit an interface of so many axes."""

    def sensed(self, context: Context, inner: Sequence[Block], resting: np.ndarray) -> RigBlocks:
        """The rig's blocks and behind them its sensors, which have measured ``resting``, displacements first, before
        the first tick; their filters run on the rig's step."""
        axes, dt = context.axes, context.period
        sensors = self.sensors.block(axes, context.seed, resting, ideal=context.faultless, dt=dt)
        filters = self.sensors.filter_blocks(axes, sensors.inputs, resting, dt / self.steps_per_tick)
        return RigBlocks([*inner, *filters], [behind(filters, sensors)])

    @property
    def known_sensors(self) -> Sensors:
        return self.sensors

    def with_sensors(self, sensors: Sensors) -> Self:
        return self.unchecked_copy({"sensors": sensors})

    @property
    def known_specimen(self) -> KnownSpecimen | None:
        return self.specimen.known

    def specimen_impedance(self, axes: int, hz: np.ndarray) -> np.ndarray | None:
        return self.specimen.impedance(axes, hz)

    def with_share_of_specimen(self, share: float) -> Self | None:
        smaller = None if self.specimen.known is None else self.specimen.known.scaled(share)
        return None if smaller is None else self.unchecked_copy({"specimen": smaller})

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return tuple(f"rig.specimen: {one}" for one in self.specimen.nonlinearities)
