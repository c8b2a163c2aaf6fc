"""The test definition: one description that is analysed, rehearsed, run and reported.

Every section is the settings class of the part it describes, so that the file and Python speak of the same objects.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from ..couplings.adaptive_forward_prediction import AdaptiveForwardPrediction
from ..couplings.direct import Direct
from ..couplings.forward_prediction import ForwardPrediction
from ..couplings.start_up import Measured, Model, StartUp
from ..couplings.user import UserCoupling
from ..links.settings import Link
from ..models.beam import Beam
from ..models.excitation import Excitation
from ..models.modal import Modes
from ..models.state_space import StateSpace
from ..models.structure import Structure
from ..models.user import UserModel
from ..rigs.actuator import Actuator, Delay
from ..rigs.force_actuated import ForceActuated
from ..rigs.sensors import Sensors
from ..rigs.specimen import Specimen
from ..rigs.user import UserRig, UserSpecimen
from ..safety.limits import Commands, Limits
from ..settings import Number, Settings, fault
from .load import read
from .uncertainty import Uncertain, checked


def _default_kind(kind: str) -> BeforeValidator:
    """Let a table leave out ``kind`` where one kind is the usual one."""

    def fill(value: Any) -> Any:
        return {"kind": kind, **value} if isinstance(value, dict) and "kind" not in value else value

    return BeforeValidator(fill)


Virtual = Annotated[
    Structure | Modes | Beam | StateSpace | UserModel, Field(discriminator="kind"), _default_kind("structure")
]
Coupling = Annotated[Direct | ForwardPrediction | AdaptiveForwardPrediction | UserCoupling, Field(discriminator="kind")]
AnySpecimen = Annotated[Specimen | UserSpecimen, Field(discriminator="kind"), _default_kind("specimen")]


MOST_TICKS = 1e9
LONGEST_DELAY = 2000
"""In steps: the loop is linearised with every sample of it."""


class Timing(Settings):
    """Step of the loop, length of the test, soft start and stop, and the seed of everything random in it.

    Within ``soft_start``, before time 0, the rig is brought smoothly from where it stands to where the test begins;
    within ``soft_stop``, after ``duration``, to the safe position.
    """

    step: Annotated[float, Number("s", above=0)]
    duration: Annotated[float, Number("s", above=0)]
    soft_start: Annotated[float, Number("s", least=0)] = 0.0
    soft_stop: Annotated[float, Number("s", least=0)] = 0.0
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


class SimulatedRig(Settings):
    """Actuator, specimen and sensors simulated on their own step: the loop's step divided by ``substeps``."""

    kind: Literal["simulated"] = "simulated"
    actuator: Annotated[Actuator, _default_kind("delay")] = Delay()
    specimen: AnySpecimen
    sensors: Sensors = Sensors()
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1


Rig = Annotated[SimulatedRig | ForceActuated | UserRig, Field(discriminator="kind"), _default_kind("simulated")]


class RealTime(Settings):
    """How ``halfreal run`` keeps time.

    ``pacing``: by this machine's clock, or by the rig, one tick for each of its measurements.  ``overrun``, when a tick
    is not done before the next is due: "count" runs the ticks missed at once and keeps up with the clock; "hold" lets
    the test's time stand still while its command is held; "trip" ends the test.  The loop sleeps until ``spin`` before
    a tick is due, and watches the clock from there.  ``priority`` (of SCHED_FIFO) and ``cpu`` (its number) are used
    where the system permits.
    """

    pacing: Literal["clock", "rig"] = "clock"
    overrun: Literal["count", "hold", "trip"] = "count"
    spin: Annotated[float, Number("s", least=0)] = 60e-6
    priority: Annotated[int, Field(ge=1, le=99)] = 80
    cpu: Annotated[int, Field(ge=0)] | None = None


class Excitations(Settings):
    """What drives the test: an excitation of the virtual substructure, of the specimen, or of both."""

    virtual: Excitation | None = None
    specimen: Excitation | None = None

    @field_validator("specimen")
    @classmethod
    def _is_a_force(cls, excitation: Any) -> Any:
        if excitation is not None and excitation.quantity != "force":
            raise fault(f"{excitation.quantity} given where a force is expected; only a force acts on the specimen")
        return excitation


class Recording(Settings):
    """Channels to keep (all if left out) and how often: every tick, or every so many."""

    channels: tuple[str, ...] | None = None
    every: Annotated[int, Field(ge=1)] = 1


class Reference(Settings):
    """The emulated system: the virtual substructure with this specimen attached rigidly; the rig's own if left out."""

    specimen: Specimen | None = None
    substeps: Annotated[int, Field(ge=1, le=1000)] = 8


class Definition(Settings):
    """A hybrid test."""

    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    timing: Timing
    virtual: Virtual
    excitation: Excitations = Excitations()
    coupling: Coupling = Direct()
    rig: Rig
    link: Link | None = None
    real_time: RealTime = RealTime()
    start_up: Annotated[StartUp, _default_kind("measured")] = Measured()
    limits: Limits = Limits()
    record: Recording = Recording()
    reference: Reference | None = None
    uncertainty: dict[str, Uncertain] = Field(default_factory=dict)
    """Numbers that are not known exactly, by their place."""

    @field_validator("title", "description")
    @classmethod
    def _printable(cls, text: str) -> str:
        strange = [c for c in text if not (c.isprintable() or c in "\n\t")]
        if strange:
            raise fault(f"it holds the control character {strange[0]!r}; write plain text")
        return text

    @property
    def commands(self) -> Commands:
        """What the rig is commanded in."""
        return commands_of(self.rig)

    # Checks that need two sections stand on the later one, so that all faults of a file come at once.

    @field_validator("virtual")
    @classmethod
    def _step_fits_scheme(cls, virtual: Any, info: ValidationInfo) -> Any:
        timing = info.data.get("timing")
        if timing is not None and isinstance(virtual, Structure | Modes | Beam):
            virtual.check_step(timing.step)
        return virtual

    @field_validator("excitation")
    @classmethod
    def _can_act(cls, excitation: Excitations, info: ValidationInfo) -> Excitations:
        virtual = info.data.get("virtual")
        if excitation.virtual is not None and virtual is not None:
            virtual.check_excitation(excitation.virtual.acts_as)
        return excitation

    @field_validator("rig")
    @classmethod
    def _axes_agree(cls, rig: Any, info: ValidationInfo) -> Any:
        virtual = info.data.get("virtual")
        specimen = getattr(rig, "specimen", None)
        if virtual is not None and isinstance(specimen, Specimen):
            check_axes("rig.specimen", specimen, virtual.axes)
        return rig

    @field_validator("rig")
    @classmethod
    def _delay_is_bounded(cls, rig: Any, info: ValidationInfo) -> Any:
        timing = info.data.get("timing")
        if timing is not None and isinstance(rig, SimulatedRig) and rig.actuator.delay > LONGEST_DELAY * timing.step:
            raise fault(
                f"{rig.actuator.delay:g} s are {rig.actuator.delay / timing.step:.0f} steps, over {LONGEST_DELAY}; "
                "shorten the delay or lengthen timing.step",
                "actuator",
                "delay",
            )
        return rig

    @field_validator("start_up")
    @classmethod
    def _model_fits(cls, start_up: Any, info: ValidationInfo) -> Any:
        virtual = info.data.get("virtual")
        if virtual is not None and isinstance(start_up, Model) and len(start_up.stiffness) != virtual.axes:
            raise fault(
                f"the model's stiffness is {len(start_up.stiffness)}×{len(start_up.stiffness)} where the interface has "
                f"{virtual.axes} axis(es); give one row for each"
            )
        return start_up

    @field_validator("link")
    @classmethod
    def _lease_fits(cls, link: Any, info: ValidationInfo) -> Any:
        timing = info.data.get("timing")
        if link is not None and timing is not None and link.lease < 3 * timing.step:
            raise fault(
                f"{link.lease:g} s are less than three steps of {timing.step:g} s: the rig would make itself safe "
                "between two commands; lengthen it",
                "lease",
            )
        return link

    @field_validator("real_time")
    @classmethod
    def _spin_fits(cls, real_time: RealTime, info: ValidationInfo) -> RealTime:
        timing = info.data.get("timing")
        if timing is not None and "spin" in real_time.model_fields_set and real_time.spin > 0.5 * timing.step:
            raise fault(
                f"{real_time.spin:g} s are more than half a step of {timing.step:g} s: the system throttles a loop "
                "that never sleeps; shorten it",
                "spin",
            )
        return real_time

    @field_validator("limits")
    @classmethod
    def _limits_fit(cls, limits: Limits, info: ValidationInfo) -> Limits:
        virtual, rig = info.data.get("virtual"), info.data.get("rig")
        if virtual is not None:
            limits.check_axes(virtual.axes)
        if rig is not None:
            limits.check_commands(commands_of(rig))
        timing = info.data.get("timing")
        if timing is not None and limits.stale.trip is not None and limits.stale.trip < 2 * timing.step:
            raise fault(
                f"{limits.stale.trip:g} s are less than two steps of {timing.step:g} s, the time between two "
                "measurements; lengthen it",
                "stale",
                "trip",
            )
        return limits

    @field_validator("reference")
    @classmethod
    def _reference_known(cls, reference: Reference | None, info: ValidationInfo) -> Reference | None:
        virtual, rig = info.data.get("virtual"), info.data.get("rig")
        if reference is None or virtual is None or rig is None:
            return reference
        if not isinstance(virtual, Structure | Modes | Beam):
            raise fault(
                f"the emulated system of a virtual substructure of kind '{virtual.kind}' is not known; leave it out"
            )
        if reference.specimen is not None:
            check_axes("reference.specimen", reference.specimen, virtual.axes)
        elif not isinstance(getattr(rig, "specimen", None), Specimen):
            raise fault("the rig's specimen has no matrices; give reference.specimen, or leave the reference out")
        return reference

    @field_validator("uncertainty", mode="before")
    @classmethod
    def _places_known(cls, uncertainty: Any, info: ValidationInfo) -> Any:
        return checked(uncertainty, info.data, cls.model_fields, info)


def commands_of(rig: Any) -> Commands:
    """What a rig is commanded in."""
    return "force" if isinstance(rig, ForceActuated) else "displacement"


def check_axes(place: str, specimen: Specimen, axes: int) -> None:
    """A specimen's matrices and elements must fit the interface."""
    found = specimen.axes()
    if found is not None and found != axes:
        raise fault(
            f"{place} has {found}×{found} matrices where the interface has {axes} axis(es); give one row for each"
        )
    highest = max([specimen.excited_axis, *(dof for element in specimen.elements for dof in element.between)])
    if highest > axes:
        raise fault(f"{place} speaks of axis {highest} where the interface has {axes}; count axes from 1")


def read_definition(path: Path | str) -> tuple[Definition, str]:
    """A definition from its file, with the file's text; ``DefinitionError`` tells all its faults."""
    return read(path, Definition)


def load(path: Path | str) -> Definition:
    """A definition from its file; ``DefinitionError`` tells all its faults."""
    return read(path, Definition)[0]
