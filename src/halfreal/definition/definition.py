"""The test definition: one description that is analysed, rehearsed, run and reported.

Every section is the settings class of the part it describes, so that the file and Python speak of the same objects.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..contracts.axes import Axes, is_doubtful, is_rotation
from ..contracts.coupling import Coupling
from ..contracts.criteria import Criteria
from ..contracts.known import Known, interface
from ..contracts.link import Link
from ..contracts.quantities import Commands
from ..contracts.rig import Rig
from ..contracts.virtual import Virtual
from ..couplings.direct import Direct
from ..couplings.start_up import Measured, StartUp
from ..drivers.kinds import DriverChoice
from ..drivers.table import ChannelTable, Wired
from ..errors import HalfrealError
from ..kernels.block import Channel
from ..rigs.kinematics import Kinematics
from ..safety.limits import ChannelLimit, Limits
from ..safety.online_plant import OUTSIDE, USED, WARN_OUTSIDE, WARN_USED, OnlineIdentification
from ..safety.slow_motion import Slow
from ..settings import Settings, default_kind, fault
from .acceptance import Acceptance
from .auxiliary import Auxiliary, channels_of, check_names
from .kinds import OneOf
from .load import read
from .sections import SPIN, Excitations, RealTime, RecordSettings, Reference, Timing, printable
from .uncertainty import Uncertain, checked

EXCITATION = "excitation.virtual"
"""The channel of the virtual substructure's excitation."""


class Definition(Settings):
    """A hybrid test."""

    title: Annotated[str, Field(min_length=1)]
    """Title of the test in record and report."""
    description: str = ""
    """Description of the test."""
    axes: tuple[Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$")], ...] | None = None
    """Names of the interface axes; rx, ry and rz are rotations. A shaking table has its own names."""
    passive: tuple[str, ...] = ()
    """Axes that are fed back but not commanded."""
    timing: Timing
    """Step, duration, and motion to and from the test."""
    virtual: Annotated[Virtual, OneOf("virtual", usual="structure")]
    """The simulated part of the structure."""
    auxiliary: dict[str, Auxiliary] = Field(default_factory=dict)
    """Auxiliary channels of the rig, in addition to displacement and force, by name."""
    excitation: Excitations = Excitations()
    """Excitation of the virtual substructure and the specimen."""
    kinematics: Kinematics | None = None
    """Kinematics between actuators and interface, if there is not one actuator per axis."""
    coupling: Annotated[Coupling, OneOf("coupling")] = Direct()
    """Coupling: computes the command from the target."""
    rig: Annotated[Rig, OneOf("rig", usual="simulated")]
    """The rig as it is simulated: actuators, specimen and sensors."""
    slow: Slow | None = Field(default=None, validate_default=True)
    """Slow (pseudo-dynamic) test: how the rig is moved, settles and is measured."""
    link: Annotated[Link, OneOf("link")] | None = None
    """Link to the real rig, for ``halfreal run``."""
    real_time: RealTime = RealTime()
    """Timing of the real-time loop."""
    start_up: Annotated[StartUp, default_kind("measured")] = Measured()
    """Force feedback at the start of the test."""
    online_identification: OnlineIdentification | None = None
    """Identification of the rig's delay and gain during the test; default: off."""
    limits: Limits = Limits()
    """Warning and trip limits of the guard."""
    driver: DriverChoice | None = None
    """Driver of the rig's raw channels, for 'halfreal serve' and a link of kind "driver"."""
    channels: ChannelTable = ChannelTable()
    """Channel table: raw channels in V or counts, and their physical quantities."""
    criteria: Annotated[Criteria, OneOf("criteria", usual="user")] | None = None
    """Criteria for the whole test, in addition to the standard error measures."""
    acceptance: Acceptance = Acceptance()
    """Required margins and largest errors for a GO and for an accepted run."""
    record: RecordSettings = RecordSettings()
    """Recording, and information on the test."""
    reference: Reference | None = None
    """Emulated system (virtual part and specimen in one simulation) for comparison."""
    uncertainty: dict[str, Uncertain] = Field(default_factory=dict)
    """Uncertain numbers, by key."""

    @field_validator("title", "description")
    @classmethod
    def _printable(cls, text: str) -> str:
        return printable(text)

    @property
    def interface(self) -> Axes:
        """The axes of the interface."""
        return interface(self.rig, self.virtual, self.axes, self.passive, self.kinematics)

    @property
    def commands(self) -> Commands:
        """What the rig is commanded in."""
        return self.rig.commanded_in

    @property
    def targets(self) -> Commands:
        """What the virtual substructure asks of the specimen."""
        return self.virtual.targets

    @property
    def target_unit(self) -> str:
        """Unit of the target of the first axis."""
        return self.interface.units("N" if self.targets == "force" else "m")[0]

    @property
    def period(self) -> float:
        """Period of the rig's clock [s]: the test's step, unless the test is slow."""
        return self.timing.step if self.slow is None else self.slow.period

    @property
    def auxiliary_channels(self) -> tuple[Channel, ...]:
        """What the rig measures in addition to displacement and force, in the order in which it crosses the link."""
        return channels_of(self.auxiliary)

    @property
    def guarded(self) -> Limits:
        """The limits, with all that comes from outside: auxiliary channels, and an excitation that is read from one."""
        driven = self.excitation.virtual
        watched = {channel.name: ChannelLimit() for channel in self.auxiliary_channels}
        if self.online_identification is not None:
            outside = self.interface.commanded.channels(OUTSIDE)
            watched |= {
                **{name: ChannelLimit(warn=WARN_OUTSIDE) for name in outside},
                USED: ChannelLimit(warn=WARN_USED),
            }
        watched |= self.limits.channels
        if driven is not None and driven.trip is not None:
            watched[EXCITATION] = ChannelLimit(trip=driven.trip)
        return self.limits.unchecked_copy({"channels": watched})

    def to_toml(self) -> str:
        """The definition as a TOML file has it, with units and every default written out."""
        from .write import to_toml

        return to_toml(self)

    def __repr__(self) -> str:
        parts = ", ".join(f"{family} '{getattr(self, family).kind}'" for family in ("virtual", "coupling", "rig"))
        return f"<Definition '{self.title}': {parts}; {self.timing.duration:g} s in steps of {self.timing.step:g} s>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<details><summary>{escape(repr(self))}</summary><pre>{escape(self.to_toml())}</pre></details>"

    def with_values(self, values: Mapping[str, Any]) -> Definition:
        """Return the test with other values, validated like a file.

        Parameters
        ----------
        values
            New values by their keys, ``{"rig.actuator.delay": "3 ms"}``: texts with a unit, numbers in SI units, names,
            arrays, tables or complete parts.

        Returns
        -------
        Definition
            The modified test; this one is not changed.

        Raises
        ------
        DefinitionError
            With all errors, if the modified test is not valid.
        """
        from .paths import with_values

        return with_values(self, values)

    # Checks that need two sections stand on the later one, so that all faults of a file come at once.

    @field_validator("axes")
    @classmethod
    def _each_once(cls, axes: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if axes is not None and len(set(axes)) < len(axes):
            raise fault(f"{list(axes)} lists an axis twice; list each once")
        for name in axes or ():
            if is_doubtful(name):
                raise fault(
                    f"'{name}' looks like a rotation; rotations are named rx, ry, rz or e.g. rz_left; rename it so, or "
                    "choose another name"
                )
        return axes

    @field_validator("passive")
    @classmethod
    def _passive_axes(cls, passive: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        axes = info.data.get("axes") or ()
        strange = [name for name in passive if name not in axes]
        if strange:
            raise fault(
                f"'{strange[0]}' is not one of the axes ({', '.join(axes) or 'none is listed'}); add it to axes"
            )
        if passive and set(passive) == set(axes):
            raise fault("all axes are passive, so nothing is commanded; make one active")
        return passive

    @field_validator("kinematics")
    @classmethod
    def _moves_the_interface(cls, kinematics: Kinematics | None, info: ValidationInfo) -> Kinematics | None:
        virtual = info.data.get("virtual")
        if kinematics is not None and virtual is not None:
            kinematics.check_axes(virtual.axes - len(info.data.get("passive") or ()))
        return kinematics

    @field_validator("virtual")
    @classmethod
    def _has_these_axes(cls, virtual: Virtual, info: ValidationInfo) -> Virtual:
        axes = info.data.get("axes")
        if axes is not None and virtual.axes != len(axes):
            raise fault(
                f"an interface of {virtual.axes} axis(es), but axes lists {len(axes)} ({', '.join(axes)}); list as "
                "many as there are"
            )
        for name, turns in zip(axes or (), virtual.turning or (), strict=False):
            if is_rotation(name) != turns:
                raise fault(
                    f"the axis '{name}' is a {'slope' if turns else 'deflection'}; rx, ry, rz or e.g. rz_left are "
                    "names of rotations only"
                )
        virtual.fits(Known.of(info.data))
        return virtual

    @field_validator("auxiliary")
    @classmethod
    def _can_be_named(cls, auxiliary: dict[str, Auxiliary]) -> dict[str, Auxiliary]:
        check_names(auxiliary)
        return auxiliary

    @field_validator("excitation")
    @classmethod
    def _can_act(cls, excitation: Excitations, info: ValidationInfo) -> Excitations:
        virtual = info.data.get("virtual")
        if excitation.virtual is not None and virtual is not None:
            virtual.check_excitation(excitation.virtual.acts_as)
        auxiliary = info.data.get("auxiliary")
        if auxiliary is not None and virtual is not None:
            excitation.check_channels(auxiliary, virtual)
        timing = info.data.get("timing")
        if timing is not None and virtual is not None:
            excitation.check_release(timing, virtual.probing_ticks)
        return excitation

    @field_validator("coupling")
    @classmethod
    def _couples(cls, coupling: Coupling, info: ValidationInfo) -> Coupling:
        known = Known.of(info.data)
        coupling.fits(known)
        in_actuators = known.kinematics is not None and known.kinematics.coupling_in == "actuators"
        if coupling.sees_interface and (known.passive or in_actuators):
            raise fault(
                f"'{coupling.kind}' works in the coordinates of the virtual substructure's interface; "
                f"{'omit kinematics.coupling_in' if in_actuators else 'no axis may be passive'}"
            )
        if known.virtual is not None and known.virtual.targets == "force" and not coupling.follows_forces:
            raise fault(
                f"'{coupling.kind}' couples displacements, but a virtual substructure of kind '{known.virtual.kind}' "
                'gives forces; use "none", or a custom coupling'
            )
        return coupling

    @field_validator("rig")
    @classmethod
    def _coupling_commands_it(cls, rig: Rig, info: ValidationInfo) -> Rig:
        coupling, virtual = info.data.get("coupling"), info.data.get("virtual")
        if coupling is None or virtual is None:
            return rig
        gives, takes = coupling.gives(virtual.targets), rig.commanded_in
        if gives is None or gives == takes:
            return rig
        if gives == "force" and virtual.targets == "displacement":
            remedy = 'use a rig of kind "force actuated", or another coupling'
        elif gives == "force":
            remedy = 'use a rig of kind "force controlled", or a virtual substructure that gives displacements'
        else:
            remedy = (
                'use the coupling "harmonic rls" or "harmonic lms", a virtual substructure of kind "constrained", or '
                "another rig"
            )
        raise fault(
            f"a rig of kind '{rig.kind}' is commanded in {takes}, but virtual substructure '{virtual.kind}' with "
            f"coupling '{coupling.kind}' gives {gives}s; {remedy}"
        )

    @field_validator("rig")
    @classmethod
    def _rig_fits(cls, rig: Rig, info: ValidationInfo) -> Rig:
        known = Known.of(info.data, rig=rig)
        if known.axes is not None:
            rig.check_served(known.axes)
            if known.kinematics is not None and rig.commanded_in == "force":
                raise fault("it is commanded in force, but [kinematics] is for strokes; remove that section")
        rig.fits(known)
        return rig

    @model_validator(mode="after")
    def _rig_fits_test(self) -> Definition:
        """Of the whole definition: an error may be in a section before the one that reveals it."""
        self.rig.fits_test(self)
        if self.link is not None:
            self.link.fits_test(self)
        return self

    @field_validator("slow")
    @classmethod
    def _can_be_slow(cls, slow: Slow | None, info: ValidationInfo) -> Slow | None:
        if slow is None:
            return slow
        known = Known.of(info.data)
        _check_plain(known, "a slow test")
        coupling, timing, excitation = known.coupling, known.timing, known.excitation
        if known.rig is not None and known.axes is not None:
            slow.check(known.rig.commanded_in, known.axes)
        if coupling is not None and not coupling.serves_slow_tests:
            raise fault(
                f"in a slow test the rig settles before it is measured, so the coupling '{coupling.kind}' has nothing "
                'to compensate for; use "none"'
            )
        if timing is not None and timing.soft_start > 0.0:
            raise fault("a slow test moves the rig to its first command within slow.ramp; omit timing.soft_start")
        if excitation is not None and excitation.specimen is not None:
            raise fault(
                "the test time is paused while the rig moves: the specimen cannot be excited in a slow test; omit it"
            )
        if excitation is not None and excitation.waits:
            key = "release_by" if excitation.release_at is None else "release_at"
            raise fault(f"the excitation of a slow test cannot be released by the operator; omit {key}")
        if excitation is not None and excitation.virtual is not None and excitation.virtual.reads is not None:
            raise fault("the test time is paused while the rig moves: a channel of the rig cannot be the excitation")
        if known.virtual is not None:
            known.virtual.check_slow()
        shortest = min(slow.ramp, slow.average or slow.ramp)
        if slow.period > shortest:
            raise fault(
                f"{slow.period:g} s is longer than the shortest phase of a tick, {shortest:g} s; shorten it", "period"
            )
        return slow

    @field_validator("start_up")
    @classmethod
    def _model_fits(cls, start_up: StartUp, info: ValidationInfo) -> StartUp:
        virtual = info.data.get("virtual")
        if virtual is not None:
            start_up.check_axes(virtual.axes)
        return start_up

    @field_validator("link")
    @classmethod
    def _lease_fits(cls, link: Link | None, info: ValidationInfo) -> Link | None:
        known = Known.of(info.data)
        step = known.period or 0.0
        if link is not None:
            _check_plain(known, "a link")
        if link is not None and link.lease < 3 * step:
            raise fault(
                f"{link.lease:g} s is less than three steps of {step:g} s: the rig would go to its safe state "
                "between two commands; lengthen it",
                "lease",
            )
        return link

    @field_validator("real_time")
    @classmethod
    def _spin_fits(cls, real_time: RealTime, info: ValidationInfo) -> RealTime:
        step = Known.of(info.data).period or math.inf
        link = info.data.get("link")
        if real_time.pacing == "rig" and link is not None and not link.paces:
            raise fault(
                'the driver\'s read does not wait for a clock of the rig; use pacing = "clock", or link.clocked = true '
                "if it does",
                "pacing",
            )
        if real_time.spin not in (SPIN, 0.0) and real_time.spin > 0.5 * step:  # the usual one is cut to what fits
            raise fault(
                f"{real_time.spin:g} s is more than half a step of {step:g} s: the system throttles a loop "
                "that never sleeps; shorten it",
                "spin",
            )
        return real_time

    @field_validator("online_identification")
    @classmethod
    def _can_identify(cls, asked: OnlineIdentification | None, info: ValidationInfo) -> OnlineIdentification | None:
        if asked is None:
            return asked
        known, slow = Known.of(info.data), info.data.get("slow")
        if slow is not None:
            raise fault("a slow test waits until its rig has settled: there is no delay to identify; omit it")
        if known.rig is not None and known.virtual is not None and known.rig.commanded_in != known.virtual.targets:
            raise fault(
                "the rig is not commanded in the quantity of the target, so it has no delay of its own; omit it"
            )
        if known.virtual is not None and known.virtual.ticks_per_step > 1:
            raise fault("a step has several exchanges, for which margins are not computed; omit it")
        if known.kinematics is not None and known.kinematics.coupling_in == "actuators":
            raise fault("it works on the axes of the interface; omit kinematics.coupling_in, or this section")
        if known.step is not None:
            asked.check_step(known.step)
        return asked

    @field_validator("limits")
    @classmethod
    def _limits_fit(cls, limits: Limits, info: ValidationInfo) -> Limits:
        known = Known.of(info.data)
        if known.rig is not None and known.virtual is not None and known.axes is not None:
            limits.check_commands(known.rig.commanded_in, known.virtual.targets)
            limits.check_actuators(known.axes)
            limits.check_axes(known.axes)
            if known.rig.commanded_in == "displacement":
                limits.check_safe_position(known.axes)
        step = known.period or 0.0
        if limits.stale.trip is not None and limits.stale.trip < 2 * step:
            raise fault(
                f"{limits.stale.trip:g} s is less than two steps of {step:g} s, the time between two "
                "measurements; lengthen it",
                "stale",
                "trip",
            )
        return limits

    @field_validator("limits")
    @classmethod
    def _auxiliary_limits_fit(cls, limits: Limits, info: ValidationInfo) -> Limits:
        for channel in channels_of(info.data.get("auxiliary") or {}):
            try:
                limits.channels.get(channel.name, ChannelLimit()).watched(channel)
            except HalfrealError as error:
                raise fault(str(error), "channels", channel.name) from error
        return limits

    @field_validator("limits")
    @classmethod
    def _excitation_limited_once(cls, limits: Limits, info: ValidationInfo) -> Limits:
        driven = getattr(info.data.get("excitation"), "virtual", None)
        if driven is not None and driven.trip is not None and EXCITATION in limits.channels:
            raise fault("excitation.virtual.limit is its limit; omit this one", "channels", EXCITATION)
        return limits

    @field_validator("limits")
    @classmethod
    def _random_drive_bounded(cls, limits: Limits, info: ValidationInfo) -> Limits:
        coupling = info.data.get("coupling")
        if coupling is None or not coupling.drive_needs_limits:
            return limits
        if all(limit.trip is None for limit in (limits.drive, limits.gap, limits.rotation.drive, limits.rotation.gap)):
            raise fault(
                "no limit bounds the random drive of the identification; give limits.drive.trip or limits.gap.trip, "
                "from which its amplitude is chosen, or coupling.amplitude",
                "drive",
            )
        return limits

    @field_validator("channels")
    @classmethod
    def _channels_fit(cls, table: ChannelTable, info: ValidationInfo) -> ChannelTable:
        known, link = Known.of(info.data), info.data.get("link")
        if link is not None and link.needs_driver and not (table.inputs and info.data.get("driver") is not None):
            raise fault(
                f"a link of kind '{link.kind}' needs [driver] and a channel table; add [channels.inputs.NAME] and "
                "[channels.outputs.NAME] (docs/drivers.md)"
            )
        if known.period is not None:
            table.check_step(known.period)
        limits, auxiliary = info.data.get("limits"), info.data.get("auxiliary")
        if not (table.inputs or table.outputs) or known.axes is None or known.rig is None or auxiliary is None:
            return table
        wired = Wired.of(table, known.axes, {name: one.unit for name, one in auxiliary.items()}, known.rig.commanded_in)
        if limits is not None and known.virtual is not None:
            with suppress(HalfrealError):  # limits of channels that cannot be read are reported where the loop is built
                wired.check_limits(*limits.seen_by_sensors(known.axes, known.rig.commanded_in, channels_of(auxiliary)))
        return table

    @field_validator("criteria")
    @classmethod
    def _names_known(cls, criteria: Criteria | None) -> Criteria | None:
        if criteria is not None:
            criteria.check()
        return criteria

    @field_validator("acceptance")
    @classmethod
    def _criteria_accepted(cls, acceptance: Acceptance, info: ValidationInfo) -> Acceptance:
        if "criteria" in info.data:
            acceptance.check_criteria(info.data["criteria"])
        return acceptance

    @field_validator("record")
    @classmethod
    def _can_be_resumed(cls, record: RecordSettings, info: ValidationInfo) -> RecordSettings:
        if info.data.get("slow") is not None and record.every != 1:
            raise fault(
                f"every {record.every} ticks are recorded, but a slow test can only be resumed from "
                "a record of every tick; "
                "omit it",
                "every",
            )
        return record

    @field_validator("reference")
    @classmethod
    def _reference_known(cls, reference: Reference | None, info: ValidationInfo) -> Reference | None:
        virtual, rig = info.data.get("virtual"), info.data.get("rig")
        if reference is None or virtual is None or rig is None:
            return reference
        virtual.check_reference()
        if virtual.brings_reference:
            return reference
        if reference.specimen is not None:
            reference.specimen.check_axes(virtual.axes, "reference.specimen")
        elif rig.known_specimen is None:
            raise fault("the rig's specimen has no matrices; give reference.specimen, or omit the reference")
        return reference

    @field_validator("uncertainty", mode="before")
    @classmethod
    def _places_known(cls, uncertainty: Any, info: ValidationInfo) -> Any:
        return checked(uncertainty, info.data, cls.model_fields, info)


def _check_plain(known: Known, where: str) -> None:
    """Raise a fault where commands are not along the axes, each of them, of which only rehearsals know yet."""
    if known.passive or known.kinematics is not None:
        which = "[kinematics]" if known.kinematics is not None else "passive axes"
        raise fault(f"{where} has one command, displacement and force per axis, and no {which} yet; omit it")


def read_definition(path: Path | str) -> tuple[Definition, str]:
    """A definition from its file, with the file's text; ``DefinitionError`` lists all its errors."""
    return read(path, Definition)


def load(path: Path | str) -> Definition:
    """Read a definition from its file.

    Parameters
    ----------
    path
        A TOML file.

    Returns
    -------
    Definition
        The validated test.

    Raises
    ------
    DefinitionError
        With every error in the file, its line and the remedy.
    """
    return read(path, Definition)[0]
