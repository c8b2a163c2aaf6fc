"""Auxiliary channels: what a rig measures in addition to displacement and force.

An accelerometer, a strain gauge, a pressure, a push-button, the output of a signal generator.  They are measured with
displacement and force, cross the link with them in the order of the definition, each in its own unit, and are recorded
as ``measured.NAME``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from .. import units
from ..contracts.excitation import Excitation
from ..kernels.block import Channel
from ..kernels.datagram import MOST_AUXILIARY
from ..settings import Settings, fault
from .kinds import OneOf

NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
TAKEN = ("displacement", "force")
"""Names that what is measured on every axis has."""


class Auxiliary(Settings):
    """A channel of the rig, and what a simulated rig measures on it: a signal, a channel of its own, or nothing (0)."""

    unit: str
    """Unit on the link, in the record and in displays; "1" if dimensionless."""
    signal: Annotated[Excitation, OneOf("excitation")] | None = None
    """Signal measured by a simulated rig: a kind of excitation, with its amplitude in ``value``."""
    reads: Annotated[str, Field(min_length=1)] | None = None
    """Instead of a signal: the measured channel of the simulated rig, e.g. ``rig.force``."""

    @field_validator("unit")
    @classmethod
    def _known(cls, unit: str) -> str:
        try:
            units.factor(unit, unit)
        except units.UnitError as error:
            raise fault(f"'{unit}' {error}") from error
        return unit

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.signal is not None and self.reads is not None:
            raise fault("both signal and reads are given; omit one", "reads")
        if self.signal is not None:
            if self.signal.reads is not None or self.signal.quantity != "value":
                raise fault(
                    f"an excitation of kind '{self.signal.kind}' without value cannot be the signal of a channel; "
                    f"give its amplitude as value, in {self.unit}",
                    "signal",
                )
            try:
                self.signal.on_channel(self.unit)
            except units.UnitError as error:
                raise fault(str(error), "signal", "value") from error
        return self


class ReleaseBy(Settings):
    """The auxiliary channel that releases the excitation, once, when it rises to the ``threshold``."""

    channel: Annotated[str, Field(min_length=1)]
    threshold: str | float

    def on_channel(self, unit: str) -> float:
        """The threshold on a channel of this unit; a ``UnitError`` if it does not fit."""
        return units.given(self.threshold, unit)


def check_names(auxiliary: Mapping[str, Auxiliary]) -> None:
    """Raise a fault where channels cannot have such names, or are too many."""
    if len(auxiliary) > MOST_AUXILIARY:
        raise fault(f"{len(auxiliary)} auxiliary channels; a link carries at most {MOST_AUXILIARY}; remove some")
    for name in auxiliary:
        if not NAME.fullmatch(name):
            raise fault(
                f"'{name}' is not a valid channel name; use letters, digits and _, starting with a letter", name
            )
        if name in TAKEN:
            raise fault(f"measured.{name} is a channel of every rig; choose another name", name)


def outside(auxiliary: Mapping[str, Auxiliary], name: str, *at: str) -> Auxiliary:
    """The channel of this name, by which the test is excited from outside; a fault at this place if there is none."""
    if name not in auxiliary:
        near = difflib.get_close_matches(name, auxiliary, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"available: {', '.join(auxiliary) or 'none'}."
        raise fault(
            f"'{name}' is not an auxiliary channel; {hint} Define it in [auxiliary.{name}] if it is a new one", *at
        )
    if auxiliary[name].reads is not None:
        raise fault(
            f"auxiliary.{name} reads {auxiliary[name].reads}: the rig's motion would excite the "
            "test, a feedback loop that the "
            "check does not include; use a channel with a signal",
            *at,
        )
    return auxiliary[name]


def channels_of(auxiliary: Mapping[str, Auxiliary]) -> tuple[Channel, ...]:
    """What is measured on them, in the order in which they cross the link."""
    return tuple(Channel(f"measured.{name}", one.unit) for name, one in auxiliary.items())
