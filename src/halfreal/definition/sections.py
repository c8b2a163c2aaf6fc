"""The sections of a definition: the kinds of parts that there are, and the settings that belong to no part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from .. import units
from ..contracts.excitation import Excitation
from ..contracts.virtual import Virtual
from ..errors import HalfrealError
from ..rigs.any_specimen import MatrixSpecimen
from ..settings import Number, Settings, Vector, fault
from .auxiliary import Auxiliary, ReleaseBy, outside
from .kinds import OneOf

MOST_TICKS = 1e9
SPIN = 60e-6
LONGEST_SOFT = 600.0
"""Seconds of a soft start or stop: every tick of it is rehearsed and recorded."""


def printable(text: str) -> str:
    """The text, unless it holds control characters."""
    strange = [c for c in text if not (c.isprintable() or c in "\n\t")]
    if strange:
        raise fault(f"it contains the control character {strange[0]!r}; write plain text")
    return text


class Timing(Settings):
    """Step of the loop, length of the test, soft start and stop, and the seed of everything random in it.

    Within ``soft_start``, before time 0, the rig is brought smoothly from where it stands to where the test begins;
    within ``soft_stop``, after ``duration``, to the safe position.
    """

    step: Annotated[float, Number("s", above=0)]
    duration: Annotated[float, Number("s", above=0)]
    soft_start: Annotated[float, Number("s", least=0, most=LONGEST_SOFT)] = 0.0
    soft_stop: Annotated[float, Number("s", least=0, most=LONGEST_SOFT)] = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1

    @field_validator("duration")
    @classmethod
    def _at_least_a_tick(cls, duration: float, info: ValidationInfo) -> float:
        step = info.data.get("step")
        if step and duration < step:
            raise fault(f"{duration:g} s is shorter than one step of {step:g} s; make it longer")
        if step and duration / step > MOST_TICKS:
            raise fault(
                f"{duration / step:.3g} ticks, more than {MOST_TICKS:.0e}; shorten the test or lengthen the step"
            )
        return duration

    @property
    def ticks(self) -> int:
        return round(self.duration / self.step)

    @property
    def ticks_before(self) -> int:
        """Ticks of the soft start."""
        return math.ceil(self.soft_start / self.step - 1e-9)


class RealTime(Settings):
    """How ``halfreal run`` keeps time.

    ``pacing``: by this machine's clock, or by the rig, one tick for each of its measurements.  ``overrun``, when a tick
    is not done before the next is due: "hold" lets the test's time stand still while its command is held; "trip" ends
    the test.  Lost time is never made up for.  The loop sleeps until ``spin`` before a tick is due, and watches the
    clock from there.  ``priority`` (of SCHED_FIFO) and ``cpu`` (its number) are used where the system permits.
    ``unattended``, of a test with a page when no operator's view is left, neither a terminal nor a browser: "go on", or
    "stop" smoothly.  ``viewers_stop``: which viewers of the page may use EMERGENCY STOP, those on the "same computer",
    "all" or "none".
    """

    pacing: Literal["clock", "rig"] = "clock"
    overrun: Literal["hold", "trip"] = "hold"
    spin: Annotated[float, Number("s", least=0)] = SPIN
    priority: Annotated[int, Field(ge=1, le=99)] = 80
    cpu: Annotated[int, Field(ge=0)] | None = None
    unattended: Literal["go on", "stop"] = "go on"
    viewers_stop: Literal["same computer", "all", "none"] = "same computer"


class Excitations(Settings):
    """What drives the test: an excitation of the virtual substructure, of the specimen, or of both."""

    virtual: Annotated[Excitation, OneOf("excitation")] | None = None
    specimen: Annotated[Excitation, OneOf("excitation")] | None = None
    release_at: Annotated[np.ndarray, Vector("s", least=0)] | None = None
    """The operator releases the excitation (key e); in a rehearsal it is released at these times. Its time starts at
    the last release.
    """
    release_by: ReleaseBy | None = None
    """Auxiliary channel that releases the excitation, e.g. a push-button; the operator can release it, too."""

    @field_validator("virtual", "specimen")
    @classmethod
    def _acts_on_a_structure(cls, excitation: Excitation | None) -> Excitation | None:
        if excitation is not None and excitation.quantity == "value":
            raise fault(
                "value is the amplitude of a signal in [auxiliary]; give displacement, force or acceleration: the key "
                "determines how the excitation acts",
                "value",
            )
        return excitation

    @field_validator("specimen")
    @classmethod
    def _is_a_force(cls, excitation: Excitation | None) -> Excitation | None:
        if excitation is not None and excitation.quantity != "force":
            raise fault(
                f"{excitation.quantity} given where a force is expected; the specimen can only be excited by a force"
            )
        if excitation is not None and excitation.reads is not None:
            raise fault("a channel of the rig cannot excite its specimen; omit it")
        return excitation

    @model_validator(mode="after")
    def _can_be_released(self) -> Self:
        if not self.waits:
            return self
        key = "release_by" if self.release_at is None else "release_at"
        if self.virtual is None:
            raise fault("nothing to release; give excitation.virtual, or omit it", key)
        if not self.virtual.can_be_released:
            raise fault(f"an excitation of kind '{self.virtual.kind}' cannot be released; omit it", key)
        if self.release_at is not None and np.any(np.diff(self.release_at) <= 0.0):
            raise fault("the times do not increase; list them in order, each once", "release_at")
        return self

    @property
    def waits(self) -> bool:
        """Whether it waits until it is released."""
        return self.release_at is not None or self.release_by is not None

    def check_channels(self, auxiliary: Mapping[str, Auxiliary], virtual: Virtual) -> None:
        """Raise a fault if it reads a channel that is not there, is part of the loop, or does not fit."""
        if self.release_by is not None:
            one = outside(auxiliary, self.release_by.channel, "release_by", "channel")
            try:
                self.release_by.on_channel(one.unit)
            except units.UnitError as error:
                raise fault(str(error), "release_by", "threshold") from error
        reads = None if self.virtual is None else self.virtual.reads
        if self.virtual is None or reads is None:
            return
        one = outside(auxiliary, reads, "virtual", "channel")
        if virtual.targets == "force":
            raise fault(
                f"a virtual substructure of kind '{virtual.kind}' needs its excitation within the step, but a channel "
                "is measured once per step; use another excitation",
                "virtual",
                "kind",
            )
        try:
            self.virtual.on_channel(one.unit)
        except units.UnitError as error:
            raise fault(str(error), "virtual", "gain") from error

    def check_release(self, timing: Timing, probing: int) -> None:
        """Raise a fault if the releases do not fit the test."""
        if self.waits and probing:
            key = "release_by" if self.release_at is None else "release_at"
            raise fault(
                "the test first estimates the specimen's stiffness, and its excitation follows at once; give the "
                f"stiffness (omit virtual.estimate), or omit {key}",
                key,
            )
        if self.release_at is None:
            return
        if self.release_at[-1] >= timing.duration:
            raise fault(
                f"{units.text(self.release_at[-1], 's')} is not before the end of the test, "
                f"{units.text(timing.duration, 's')}: it would not be rehearsed",
                "release_at",
            )


ABOUT = ("operator", "specimen", "calibration", "notes")
"""What people say of a test."""


def also_said(about: Mapping[str, str], besides: Mapping[str, str]) -> dict[str, str]:
    """What is said of a test, with what is said in addition to in its place; further notes stand below the others."""
    notes = "\n".join(one["notes"] for one in (about, besides) if one.get("notes"))
    told = {**about, **{key: text for key, text in besides.items() if text}, "notes": notes}
    for key, text in told.items():
        strange = [c for c in text if not (c.isprintable() or c in "\n\t")]
        if key not in ABOUT or strange:
            raise HalfrealError(
                f"{key} = {text!r}: plain text is expected, of {', '.join(ABOUT)}; remove control characters"
            )
    return {key: told[key] for key in ABOUT if told.get(key)}


class RecordSettings(Settings):
    """Channels to keep (all if left out) and how often, and what else a record should contain.

    ``operator``, ``specimen``, ``calibration`` and ``notes`` are free text for the run file and its report; options of
    ``halfreal run``, ``resume`` and ``rehearse`` take the place of the first three, and add to the notes.
    """

    channels: tuple[str, ...] | None = None
    every: Annotated[int, Field(ge=1)] = 1
    """Record every n-th tick."""
    operator: str = ""
    """Operator of the test."""
    specimen: str = ""
    """Specimen: name, serial number, condition."""
    calibration: str = ""
    """Calibration date or certificate of the sensors."""
    notes: str = ""

    @field_validator("operator", "specimen", "calibration", "notes")
    @classmethod
    def _printable(cls, text: str) -> str:
        return printable(text)

    def about(self) -> dict[str, str]:
        """What people say of the test, as far as they do."""
        return {key: text for key in ABOUT if (text := str(getattr(self, key)))}


class Reference(Settings):
    """The emulated system: the virtual substructure with this specimen attached rigidly; the rig's own if left out."""

    specimen: MatrixSpecimen | None = None
    substeps: Annotated[int, Field(ge=1, le=1000)] = 8
