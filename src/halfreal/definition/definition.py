"""The test definition: one description that is analysed, rehearsed, run and reported.

Every section is the settings class of the part it describes, so that the file and Python speak of the same objects.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from ..couplings.adaptive_forward_prediction import AdaptiveForwardPrediction
from ..couplings.adaptive_model_based import AdaptiveModelBased
from ..couplings.adaptive_time_series import AdaptiveTimeSeries
from ..couplings.axis_filters import AxisFilters
from ..couplings.broad_band_inverse import BroadBandInverse
from ..couplings.direct import Direct
from ..couplings.forward_prediction import ForwardPrediction
from ..couplings.harmonic import Harmonic
from ..couplings.harmonic_excitation import with_harmonics
from ..couplings.harmonic_lms import HarmonicLms
from ..couplings.harmonic_rls import HarmonicRls
from ..couplings.linear_controller import LinearController
from ..couplings.model_inverse import ModelInverse
from ..couplings.narrow_band_table import NarrowBandTable
from ..couplings.start_up import Measured, Model, StartUp
from ..couplings.user import UserCoupling
from ..links.settings import Link
from ..models.beam import Beam
from ..models.constrained import Constrained
from ..models.excitation import Excitation
from ..models.modal import Modes
from ..models.partition import Partition
from ..models.schemes import ANSWERED_NEXT_TICK
from ..models.spring_damper import SpringDamper
from ..models.state_space import StateSpace
from ..models.structure import Structure
from ..models.user import UserModel
from ..rigs.actuator import Actuator, Delay
from ..rigs.assembled import AssembledRig
from ..rigs.electrodynamic import Electrodynamic
from ..rigs.flexible_specimen import FlexibleSpecimen
from ..rigs.force_actuated import ForceActuated
from ..rigs.force_controlled import ForceControlled
from ..rigs.sensors import Sensors
from ..rigs.servo_hydraulic import ServoHydraulic
from ..rigs.shaking_table import ShakingTable
from ..rigs.specimen import Specimen
from ..rigs.user import UserRig, UserSpecimen
from ..safety.limits import Commands, Limits
from ..safety.slow_motion import Slow
from ..settings import Number, Settings, fault
from .load import read
from .uncertainty import Uncertain, checked


def _default_kind(kind: str) -> BeforeValidator:
    """Let a table leave out ``kind`` where one kind is the usual one."""

    def fill(value: Any) -> Any:
        return {"kind": kind, **value} if isinstance(value, dict) and "kind" not in value else value

    return BeforeValidator(fill)


Virtual = Annotated[
    Structure | Constrained | Partition | Modes | Beam | SpringDamper | StateSpace | UserModel,
    Field(discriminator="kind"),
    _default_kind("structure"),
]
Coupling = Annotated[
    Direct
    | ForwardPrediction
    | AdaptiveForwardPrediction
    | LinearController
    | AxisFilters
    | ModelInverse
    | NarrowBandTable
    | BroadBandInverse
    | AdaptiveModelBased
    | AdaptiveTimeSeries
    | HarmonicLms
    | HarmonicRls
    | UserCoupling,
    Field(discriminator="kind"),
]
AnySpecimen = Annotated[
    Specimen | FlexibleSpecimen | UserSpecimen, Field(discriminator="kind"), _default_kind("specimen")
]


MOST_TICKS = 1e9
SPIN = 60e-6
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


Rig = Annotated[
    SimulatedRig
    | ForceActuated
    | ForceControlled
    | ServoHydraulic
    | Electrodynamic
    | ShakingTable
    | AssembledRig
    | UserRig,
    Field(discriminator="kind"),
    _default_kind("simulated"),
]


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
    spin: Annotated[float, Number("s", least=0)] = SPIN
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
    slow: Slow | None = Field(default=None, validate_default=True)
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

    @property
    def targets(self) -> Commands:
        """What the virtual substructure asks of the specimen."""
        return targets_of(self.virtual)

    @property
    def period(self) -> float:
        """Period of the rig's clock [s]: the test's step, unless the test is slow."""
        return self.timing.step if self.slow is None else self.slow.period

    # Checks that need two sections stand on the later one, so that all faults of a file come at once.

    @field_validator("virtual")
    @classmethod
    def _step_fits_scheme(cls, virtual: Any, info: ValidationInfo) -> Any:
        timing = info.data.get("timing")
        if timing is not None and isinstance(virtual, Structure | Modes | Beam):
            virtual.check_step(timing.step)
        if timing is not None and isinstance(virtual, Constrained):
            virtual.check_step(timing.step * virtual.ticks_per_step)
        return virtual

    @field_validator("excitation")
    @classmethod
    def _can_act(cls, excitation: Excitations, info: ValidationInfo) -> Excitations:
        virtual = info.data.get("virtual")
        if excitation.virtual is not None and virtual is not None:
            virtual.check_excitation(excitation.virtual.acts_as)
        return excitation

    @field_validator("coupling")
    @classmethod
    def _harmonics_fit(cls, coupling: Any, info: ValidationInfo) -> Any:
        timing, virtual, excitation = (info.data.get(name) for name in ("timing", "virtual", "excitation"))
        if isinstance(coupling, Harmonic) and timing is not None and excitation is not None:
            coupling.check_excitations(excitation.virtual is not None, excitation.specimen is not None)
            known = with_harmonics(coupling, (excitation.virtual, excitation.specimen), timing.step)
            known.check_step(timing.step)
            if virtual is not None:
                known.check_axes(virtual.axes, timing.step)
        return coupling

    @field_validator("rig")
    @classmethod
    def _coupling_commands_it(cls, rig: Any, info: ValidationInfo) -> Any:
        coupling, virtual = info.data.get("coupling"), info.data.get("virtual")
        if coupling is None or virtual is None or isinstance(coupling, UserCoupling):
            return rig
        gives: Commands = "force" if isinstance(coupling, Harmonic) else targets_of(virtual)
        takes = commands_of(rig)
        if gives == takes:
            return rig
        of = "commanded in force" if takes == "force" else "commanded in displacement"
        if isinstance(coupling, Harmonic):
            remedy = 'use a rig of kind "force actuated", or another coupling'
        elif gives == "force":
            remedy = 'use a rig of kind "force controlled", or a virtual substructure that gives displacements'
        else:
            remedy = (
                'use the coupling "harmonic rls" or "harmonic lms", a virtual substructure of kind "constrained", or '
            )
            remedy += "another rig"
        raise fault(
            f"a rig of kind '{rig.kind}' is {of}, and virtual substructure '{virtual.kind}' with coupling "
            f"'{coupling.kind}' gives {'forces' if gives == 'force' else 'displacements'}; {remedy}"
        )

    @field_validator("coupling")
    @classmethod
    def _compensator_reaches(cls, coupling: Any, info: ValidationInfo) -> Any:
        timing, excitation = info.data.get("timing"), info.data.get("excitation")
        if isinstance(coupling, NarrowBandTable) and excitation is not None:
            coupling.check_excitations((excitation.specimen, excitation.virtual))
        if isinstance(coupling, BroadBandInverse) and timing is not None:
            coupling.check_step(timing.step)
        return coupling

    @field_validator("coupling")
    @classmethod
    def _filters_fit(cls, coupling: Any, info: ValidationInfo) -> Any:
        virtual = info.data.get("virtual")
        if isinstance(coupling, AxisFilters) and virtual is not None:
            coupling.check_axes(virtual.axes)
        return coupling

    @field_validator("coupling")
    @classmethod
    def _follows_a_force(cls, coupling: Any, info: ValidationInfo) -> Any:
        virtual = info.data.get("virtual")
        if virtual is not None and targets_of(virtual) == "force" and not isinstance(coupling, Direct | UserCoupling):
            raise fault(
                f"'{coupling.kind}' couples displacements, and a virtual substructure of kind '{virtual.kind}' gives "
                'forces; use "none", or a coupling of your own'
            )
        return coupling

    @field_validator("slow")
    @classmethod
    def _can_be_slow(cls, slow: Slow | None, info: ValidationInfo) -> Slow | None:
        if slow is None:
            return slow
        coupling, timing, excitation = (info.data.get(name) for name in ("coupling", "timing", "excitation"))
        virtual, rig = info.data.get("virtual"), info.data.get("rig")
        if virtual is not None and rig is not None:
            slow.check(commands_of(rig), virtual.axes)
        if coupling is not None and not isinstance(coupling, Direct | UserCoupling):
            raise fault(
                f"in a slow test the rig settles before it is measured, and the coupling '{coupling.kind}' has nothing "
                'to make up for; use "none"'
            )
        if timing is not None and timing.soft_start > 0.0:
            raise fault("a slow test moves the rig to its first command within slow.ramp; leave timing.soft_start out")
        if excitation is not None and excitation.specimen is not None:
            raise fault("the test's time stands still while the rig moves: nothing can excite the specimen meanwhile")
        scheme = getattr(getattr(virtual, "scheme", None), "kind", None)
        if isinstance(virtual, StateSpace):
            raise fault(
                "a state space takes a measured force for that of the tick in which it comes, and in a slow test it is "
                "the answer to the target before; give the virtual substructure by its matrices, with virtual.scheme = "
                f"{' or '.join(map(repr, ANSWERED_NEXT_TICK))}"
            )
        if scheme is not None and scheme not in ANSWERED_NEXT_TICK:
            raise fault(
                f"'{scheme}' takes a measured force for that of the tick in which it comes, and in a slow test it is "
                f"the answer to the target before; give virtual.scheme = {' or '.join(map(repr, ANSWERED_NEXT_TICK))}"
            )
        shortest = min(slow.ramp, slow.average or slow.ramp)
        if slow.period > shortest:
            raise fault(
                f"{slow.period:g} s are longer than the shortest phase of a tick, {shortest:g} s; shorten it", "period"
            )
        return slow

    @field_validator("rig")
    @classmethod
    def _axes_agree(cls, rig: Any, info: ValidationInfo) -> Any:
        virtual = info.data.get("virtual")
        specimen = getattr(rig, "specimen", None)
        if virtual is not None and isinstance(specimen, Specimen):
            check_axes("rig.specimen", specimen, virtual.axes)
        if virtual is not None and isinstance(specimen, FlexibleSpecimen):
            specimen.check_axes(virtual.axes)
        if virtual is not None and isinstance(rig, ShakingTable | ForceControlled):
            rig.check_axes(virtual.axes)
        return rig

    @model_validator(mode="after")
    def _force_controller_stable(self) -> Definition:
        """Of the whole definition: the gain is at fault, and how often it acts stands in a later section."""
        if isinstance(self.rig, ForceControlled):
            self.rig.check_step(self.period, self.virtual.axes)
        return self

    @field_validator("rig")
    @classmethod
    def _drive_fits(cls, rig: Any, info: ValidationInfo) -> Any:
        timing, virtual = info.data.get("timing"), info.data.get("virtual")
        if timing is not None and virtual is not None and isinstance(rig, Electrodynamic):
            rig.check_step(timing.step, virtual.axes)
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
        slow = info.data.get("slow")
        step = slow.period if slow is not None else timing.step if timing is not None else 0.0
        if link is not None and link.lease < 3 * step:
            raise fault(
                f"{link.lease:g} s are less than three steps of {step:g} s: the rig would make itself safe "
                "between two commands; lengthen it",
                "lease",
            )
        return link

    @field_validator("real_time")
    @classmethod
    def _spin_fits(cls, real_time: RealTime, info: ValidationInfo) -> RealTime:
        timing, slow = info.data.get("timing"), info.data.get("slow")
        step = slow.period if slow is not None else timing.step if timing is not None else math.inf
        if real_time.spin not in (SPIN, 0.0) and real_time.spin > 0.5 * step:  # the usual one is cut to what fits
            raise fault(
                f"{real_time.spin:g} s are more than half a step of {step:g} s: the system throttles a loop "
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
        if rig is not None and virtual is not None:
            limits.check_commands(commands_of(rig), targets_of(virtual))
        timing, slow = info.data.get("timing"), info.data.get("slow")
        step = slow.period if slow is not None else timing.step if timing is not None else 0.0
        if limits.stale.trip is not None and limits.stale.trip < 2 * step:
            raise fault(
                f"{limits.stale.trip:g} s are less than two steps of {step:g} s, the time between two "
                "measurements; lengthen it",
                "stale",
                "trip",
            )
        return limits

    @field_validator("limits")
    @classmethod
    def _random_drive_bounded(cls, limits: Limits, info: ValidationInfo) -> Limits:
        coupling = info.data.get("coupling")
        if not isinstance(coupling, Harmonic) or coupling.identification_time == 0.0 or coupling.amplitude is not None:
            return limits
        if limits.drive.trip is None and limits.gap.trip is None:
            raise fault(
                "no limit bounds the random drive of the identification; give limits.drive.trip or limits.gap.trip, "
                "from which its amplitude is chosen, or coupling.amplitude",
                "drive",
            )
        return limits

    @field_validator("record")
    @classmethod
    def _can_be_resumed(cls, record: Recording, info: ValidationInfo) -> Recording:
        if info.data.get("slow") is not None and record.every != 1:
            raise fault(
                f"every {record.every} ticks are recorded, and only from a record of every tick can a slow test be "
                "resumed; leave it out",
                "every",
            )
        return record

    @field_validator("reference")
    @classmethod
    def _reference_known(cls, reference: Reference | None, info: ValidationInfo) -> Reference | None:
        virtual, rig = info.data.get("virtual"), info.data.get("rig")
        if reference is None or virtual is None or rig is None:
            return reference
        if not isinstance(virtual, Structure | Constrained | Modes | Beam):
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
    if isinstance(rig, AssembledRig):
        return rig.commands
    return "force" if isinstance(rig, ForceActuated | ForceControlled) else "displacement"


def targets_of(virtual: Any) -> Commands:
    """What a virtual substructure asks of the specimen."""
    return "force" if isinstance(virtual, Constrained) else "displacement"


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
