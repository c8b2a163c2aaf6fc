"""Couplings of one block, which sees the target and the measurements: all but the harmonic ones."""

from __future__ import annotations

from ..contracts.context import Context
from ..contracts.coupling import Coupling
from ..kernels.block import Block


class PlainCoupling(Coupling):
    """A coupling of one block."""

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        """The block "coupling"; it reads targets, then measured displacements, then measured forces."""
        raise NotImplementedError

    def blocks(self, context: Context) -> list[Block]:
        known = self.with_model_data(context.test)
        return [known.block(context.step, context.unit, context.channels("target"), measured(context))]


def measured(context: Context) -> tuple[str, ...]:
    """Channels of what is measured at the interface, as plain couplings read them."""
    return (*context.channels("measured.displacement"), *context.channels("measured.force"))
