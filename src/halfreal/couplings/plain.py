"""Couplings of one block, which sees the target and the measurements: all but the harmonic and the matrix ones."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.coupling import Coupling
from ..contracts.known import Known
from ..kernels.block import Block
from .per_axis import as_axis, check_axes, given_each, of_axis


class PlainCoupling(Coupling):
    """A coupling of one block, or of one for each axis where their settings differ (``per_axis.py``)."""

    apart: ClassVar[bool] = False
    """Whether every axis has a block of its own even where all have the same settings: its states are one axis's."""
    together: ClassVar[bool] = False
    """Whether its block takes settings that differ between axes."""
    of_others: ClassVar[tuple[str, ...]] = ()
    """Settings that are counted along other axes than those that are commanded."""

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        """The block "coupling"; it reads targets, then measured displacements, then measured forces."""
        raise NotImplementedError

    def fits(self, known: Known) -> None:
        for at, count in given_each(self, self.of_others).items():
            check_axes(known, count, *at)

    def blocks(self, context: Context) -> list[Block]:
        if len(context.axes) == 1 or not self.is_split:
            return self.blocks_together(context)
        found = []
        for i, name in enumerate(context.axes.names):
            alone = replace(context, along=Axes((name,), turning=(bool(context.axes.rotations[i]),)))
            found += as_axis(self.on_axis(i).blocks_together(alone), i, len(context.axes), name)
        return found

    @property
    def is_split(self) -> bool:
        """Whether every axis of several has a block of its own."""
        return self.apart or (not self.together and bool(given_each(self, self.of_others)))

    def on_axis(self, axis: int) -> PlainCoupling:
        """The coupling with the settings of one axis (from 0)."""
        return of_axis(self, axis, self.of_others)

    def blocks_together(self, context: Context) -> list[Block]:
        """Its blocks with the same settings on all axes of a context."""
        known = self.with_model_data(context.test)
        return [known.block(context.step, context.unit, context.channels("target"), measured(context))]


def measured(context: Context) -> tuple[str, ...]:
    """Channels of what is measured at the interface, as plain couplings read them."""
    return (*context.channels("measured.displacement"), *context.channels("measured.force"))
