"""The test definition: one description that is analysed, rehearsed, run and reported.

Every section is the settings class of the part it describes, so that the file and Python speak of the same objects.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..contracts.axes import Axes, is_doubtful, is_rotation
from ..couplings.axis_filters import AxisFilters
from ..couplings.broad_band_inverse import BroadBandInverse
from ..couplings.direct import Direct
from ..couplings.harmonic.coupling import Harmonic
from ..couplings.harmonic.excitation import with_harmonics
from ..couplings.narrow_band_table import NarrowBandTable
from ..couplings.start_up import Measured, Model, StartUp
from ..couplings.user import UserCoupling
from ..links.settings import Link
from ..models.force_control.constrained import Constrained
from ..models.schemes.any_scheme import ANSWERED_NEXT_TICK
from ..models.structures.beam import Beam
from ..models.structures.modal import Modes
from ..models.structures.state_space import StateSpaceModel
from ..models.structures.structure import Structure
from ..rigs.assembled import AssembledRig
from ..rigs.electrodynamic import Electrodynamic
from ..rigs.flexible_specimen import FlexibleSpecimen
from ..rigs.force_actuated import ForceActuated
from ..rigs.force_controlled import ForceControlled
from ..rigs.sensors import Sensors
from ..rigs.shaking_table import ShakingTable
from ..rigs.specimen import Specimen
from ..safety.limits import Commands, Limits
from ..safety.slow_motion import Slow
from ..settings import Settings, fault
from .load import read
from .sections import (
    LONGEST_DELAY,
    SPIN,
    Coupling,
    Excitations,
    RealTime,
    RecordSettings,
    Reference,
    Rig,
    SimulatedRig,
    Timing,
    Virtual,
    default_kind,
)
from .uncertainty import Uncertain, checked


class Definition(Settings):
    """A hybrid test."""

    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    axes: tuple[Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$")], ...] | None = None
    """What the axes of the interface are called; rx, ry and rz are rotations.  A shaking table has its own."""
    timing: Timing
    virtual: Virtual
    excitation: Excitations = Excitations()
    coupling: Coupling = Direct()
    rig: Rig
    slow: Slow | None = Field(default=None, validate_default=True)
    link: Link | None = None
    real_time: RealTime = RealTime()
    start_up: Annotated[StartUp, default_kind("measured")] = Measured()
    limits: Limits = Limits()
    record: RecordSettings = RecordSettings()
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
    def interface(self) -> Axes:
        """The axes of the interface."""
        return axes_of(self.axes, self.virtual, self.rig)

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

    @field_validator("axes")
    @classmethod
    def _each_once(cls, axes: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if axes is not None and len(set(axes)) < len(axes):
            raise fault(f"{list(axes)} names an axis twice; name each once")
        for name in axes or ():
            if is_doubtful(name):
                raise fault(
                    f"'{name}' looks like a rotation, and these are rx, ry, rz, or such as rz_left; write it so, or "
                    "choose another name"
                )
        return axes

    @field_validator("virtual")
    @classmethod
    def _has_these_axes(cls, virtual: Any, info: ValidationInfo) -> Any:
        axes = info.data.get("axes")
        if axes is not None and virtual.axes != len(axes):
            raise fault(
                f"an interface of {virtual.axes} axis(es) where axes names {len(axes)} ({', '.join(axes)}); name as "
                "many as there are"
            )
        for name, turns in zip(axes or (), turning(virtual) or (), strict=False):
            if is_rotation(name) != turns:
                raise fault(
                    f"the axis '{name}' is a {'slope' if turns else 'deflection'}; rx, ry, rz, or such as rz_left, are "
                    "names of rotations, and no others"
                )
        return virtual

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
            slow.check(commands_of(rig), axes_of(info.data.get("axes"), virtual, rig))
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
        if isinstance(virtual, StateSpaceModel):
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
        axes = info.data.get("axes")
        if axes is not None and isinstance(rig, ShakingTable) and axes != rig.axes:
            raise fault(
                f"the table is commanded in {', '.join(rig.axes)}, and axes says {', '.join(axes)}; leave axes out",
                "axes",
            )
        sensors = getattr(rig, "sensors", None)
        if virtual is not None and isinstance(sensors, Sensors):
            sensors.check_axes(axes_of(axes, virtual, rig))
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
        if rig is not None and virtual is not None:
            limits.check_commands(commands_of(rig), targets_of(virtual))
            limits.check_axes(axes_of(info.data.get("axes"), virtual, rig))
            if commands_of(rig) == "displacement":
                limits.check_safe_position(axes_of(info.data.get("axes"), virtual, rig))
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
        if all(limit.trip is None for limit in (limits.drive, limits.gap, limits.rotation.drive, limits.rotation.gap)):
            raise fault(
                "no limit bounds the random drive of the identification; give limits.drive.trip or limits.gap.trip, "
                "from which its amplitude is chosen, or coupling.amplitude",
                "drive",
            )
        return limits

    @field_validator("record")
    @classmethod
    def _can_be_resumed(cls, record: RecordSettings, info: ValidationInfo) -> RecordSettings:
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
        if isinstance(reference.specimen, FlexibleSpecimen):
            reference.specimen.check_axes(virtual.axes, "reference.specimen")
        elif reference.specimen is not None:
            check_axes("reference.specimen", reference.specimen, virtual.axes)
        elif not isinstance(getattr(rig, "specimen", None), Specimen | FlexibleSpecimen):
            raise fault("the rig's specimen has no matrices; give reference.specimen, or leave the reference out")
        return reference

    @field_validator("uncertainty", mode="before")
    @classmethod
    def _places_known(cls, uncertainty: Any, info: ValidationInfo) -> Any:
        return checked(uncertainty, info.data, cls.model_fields, info)


def axes_of(named: tuple[str, ...] | None, virtual: Any, rig: Any) -> Axes:
    """The axes of an interface, by the names that they were given, those of a shaking table, or their numbers."""
    names = rig.axes if isinstance(rig, ShakingTable) else named
    drives = isinstance(rig, AssembledRig) and rig.commands == "force" and targets_of(virtual) == "displacement"
    return Axes.numbered(virtual.axes, drives, turning(virtual)) if names is None else Axes(names, drives)


def turning(virtual: Any) -> tuple[bool, ...] | None:
    """Which axes are rotations, where the virtual substructure knows."""
    if not isinstance(virtual, Beam):
        return None
    return tuple(place.direction == "slope" for place in virtual.interface)


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
