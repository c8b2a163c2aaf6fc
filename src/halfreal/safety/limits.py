"""Warn and trip limits of the signals that the guard watches, and what it does on a trip."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from .. import units
from ..contracts.axes import Axes, units_on
from ..contracts.quantities import UNLIMITED as UNLIMITED  # others take it from here
from ..contracts.quantities import Commands as Commands
from ..errors import HalfrealError
from ..kernels.block import Channel
from ..settings import Number, Settings, Vector, fault
from .watched import COMMAND, TABLE, Quantity, Watch, Watched

Which = Literal["warn", "trip"]
BOTH: tuple[Which, ...] = ("warn", "trip")
PER = {key: one.per for one in reversed(TABLE) for key in (one.force_key, one.key) if key and one.per is not None}
PER["braking"] = "actuator"
"""What each limit is for: all axes, those that are commanded, or actuators."""


class Limit(Settings):
    """Beyond ``warn`` is an event, beyond ``trip`` a trip; one value for all interface axes, or one for each."""

    unit: ClassVar[str]

    @field_validator("trip", check_fields=False)
    @classmethod
    def _above_warning(cls, trip: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        warn = info.data.get("warn")
        if trip is None or warn is None:
            return trip
        if trip.size > 1 and warn.size > 1 and trip.size != warn.size:
            raise fault(f"{trip.size} values, but {warn.size} of warn; give one, or one for each interface axis")
        low, high = np.broadcast_arrays(warn, trip)
        for below, above in zip(low, high, strict=True):
            if below >= above:
                raise fault(
                    f"warn ({below:g}) is not below trip ({above:g}), both in SI units; a warning must come first"
                )
        return trip

    def values(self, which: Which, n: int) -> np.ndarray:
        """The limit of each of n axes."""
        given: np.ndarray | None = getattr(self, which)
        return np.full(n, UNLIMITED) if given is None else np.broadcast_to(given, n)


class DisplacementLimit(Limit):
    """Warning and trip limit of a displacement: one for all axes, or one for each."""

    unit = "m"
    warn: Annotated[np.ndarray, Vector("m", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("m", above=0)] | None = None


class RateLimit(Limit):
    """Warning and trip limit of a velocity: one for all axes, or one for each."""

    unit = "m/s"
    warn: Annotated[np.ndarray, Vector("m/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("m/s", above=0)] | None = None


class AccelerationLimit(Limit):
    """Warning and trip limit of an acceleration: one for all axes, or one for each."""

    unit = "m/s^2"
    warn: Annotated[np.ndarray, Vector("m/s^2", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("m/s^2", above=0)] | None = None


class ForceRateLimit(Limit):
    """Warning and trip limit of the rate of a force: one for all axes, or one for each."""

    unit = "N/s"
    warn: Annotated[np.ndarray, Vector("N/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N/s", above=0)] | None = None


class ForceLimit(Limit):
    """Warning and trip limit of a force: one for all axes, or one for each."""

    unit = "N"
    warn: Annotated[np.ndarray, Vector("N", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N", above=0)] | None = None


class AngleLimit(Limit):
    """Warning and trip limit of a rotation: one for all axes, or one for each."""

    unit = "rad"
    warn: Annotated[np.ndarray, Vector("rad", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("rad", above=0)] | None = None


class AngularRateLimit(Limit):
    """Warning and trip limit of an angular velocity: one for all axes, or one for each."""

    unit = "rad/s"
    warn: Annotated[np.ndarray, Vector("rad/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("rad/s", above=0)] | None = None


class AngularAccelerationLimit(Limit):
    """Warning and trip limit of an angular acceleration: one for all axes, or one for each."""

    unit = "rad/s^2"
    warn: Annotated[np.ndarray, Vector("rad/s^2", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("rad/s^2", above=0)] | None = None


class MomentLimit(Limit):
    """Warning and trip limit of a moment: one for all axes, or one for each."""

    unit = "N m"
    warn: Annotated[np.ndarray, Vector("N m", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N m", above=0)] | None = None


class MomentRateLimit(Limit):
    """Warning and trip limit of the rate of a moment: one for all axes, or one for each."""

    unit = "N m/s"
    warn: Annotated[np.ndarray, Vector("N m/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N m/s", above=0)] | None = None


class EnergyLimit(Limit):
    """Of the energy error, as a share of the energy exchanged in ``window`` (``safety/energy_error.py``)."""

    unit = "1"
    warn: Annotated[np.ndarray, Vector("1", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("1", above=0)] | None = None
    window: Annotated[float, Number("s", above=0)] = 1.0
    floor: Annotated[float, Number("J", above=0)] = 1e-3


class TimeLimit(Settings):
    """Of a real-time run: how old a measurement, or how late a tick, may be."""

    warn: Annotated[float, Number("s", above=0)] | None = None
    trip: Annotated[float, Number("s", above=0)] | None = None

    @field_validator("trip")
    @classmethod
    def _above_warning(cls, trip: float | None, info: ValidationInfo) -> float | None:
        warn = info.data.get("warn")
        if trip is not None and warn is not None and warn >= trip:
            raise fault(f"warn ({warn:g} s) is not below trip ({trip:g} s); a warning must come first")
        return trip


class FrozenLimit(TimeLimit):
    """How long a sensor that is known to vary may repeat itself bit for bit."""

    unit: ClassVar[str] = "s"

    def values(self, which: Which, n: int) -> np.ndarray:
        """The limit of each of n axes."""
        given: float | None = getattr(self, which)
        return np.full(n, UNLIMITED if given is None else given)


class ChannelLimit(Settings):
    """Of any channel of the loop: a text with a unit of that channel's dimension, or a number where it has none."""

    warn: str | float | None = None
    trip: str | float | None = None

    def watched(self, channel: Channel) -> Watched:
        """The channel with this limit."""
        name, unit = channel.name, channel.unit
        key = f'channels."{name}"'
        warn, trip = self._read("warn", name, unit), self._read("trip", name, unit)
        if warn[0] >= trip[0] and warn[0] < UNLIMITED:
            raise HalfrealError(f"limits.{key}: warn is not below trip; a warning must come first")
        quantity = Quantity(name, "", key, None, sensor=name.startswith("measured."))
        return Watched(quantity, key, (name,), warn, trip, (unit,))

    def _read(self, which: Which, name: str, unit: str) -> np.ndarray:
        """The limit in the unit of its channel, (1,)."""
        given: str | float | None = getattr(self, which)
        if given is None:
            return np.array([UNLIMITED])
        place = f'limits.channels."{name}".{which}'
        try:
            found = units.given(given, unit)
        except units.UnitError as error:
            raise HalfrealError(f"{place}: {error}") from error
        if not found > 0.0:
            raise HalfrealError(f"{place} is {given}; a limit is above zero")
        return np.array([found])


class RotationLimits(Settings):
    """Of those axes of the interface that are rotations: what the limits of the same names are for the others."""

    command: AngleLimit = AngleLimit()
    command_rate: AngularRateLimit = AngularRateLimit()
    drive: MomentLimit = MomentLimit()
    drive_rate: MomentRateLimit = MomentRateLimit()
    target: AngleLimit = AngleLimit()
    displacement: AngleLimit = AngleLimit()
    force: MomentLimit = MomentLimit()
    gap: AngleLimit = AngleLimit()
    force_gap: MomentLimit = MomentLimit()
    velocity: AngularRateLimit = AngularRateLimit()
    acceleration: AngularAccelerationLimit = AngularAccelerationLimit()
    braking: Annotated[np.ndarray, Vector("rad/s^2", above=0)] | None = None
    safe_position: Annotated[np.ndarray, Vector("rad")] | None = None


class ActuatorLimits(Settings):
    """Of the actuators of [kinematics]: one value for all of them, or one for each."""

    stroke: DisplacementLimit = DisplacementLimit()
    rate: RateLimit = RateLimit()
    braking: Annotated[np.ndarray, Vector("m/s^2", above=0)] | None = None
    """Largest acceleration of the actuators in stops, holds and returns, instead of ``limits.braking``."""


class Limits(Settings):
    """Warn and trip limits of the watched signals, and what to do on a trip.  A signal left out has no limit."""

    command: DisplacementLimit = DisplacementLimit()
    command_rate: RateLimit = RateLimit()
    drive: ForceLimit = ForceLimit()
    """Limit of the command of a rig in force control, instead of ``command``."""
    drive_rate: ForceRateLimit = ForceRateLimit()
    target: DisplacementLimit = DisplacementLimit()
    displacement: DisplacementLimit = DisplacementLimit()
    force: ForceLimit = ForceLimit()
    gap: DisplacementLimit = DisplacementLimit()
    force_gap: ForceLimit = ForceLimit()
    """Limit of target minus measured force if the target is a force, instead of ``gap``."""
    velocity: RateLimit = RateLimit()
    acceleration: AccelerationLimit = AccelerationLimit()
    energy: EnergyLimit = EnergyLimit()
    smoothing: Annotated[float, Number("s", least=0)] = 0.0
    """Time constant of the low-pass on the measured velocity and acceleration, which are differences."""
    frozen: FrozenLimit = FrozenLimit(warn=0.1, trip=0.25)
    """Limit of the time for which a measured displacement or force has not changed at all; use it for sensors with
    noise.
    """
    stale: TimeLimit = TimeLimit(trip=0.1)
    lateness: TimeLimit = TimeLimit(trip=0.1)
    braking: Annotated[np.ndarray, Vector("m/s^2", above=0)] | None = None
    """Largest acceleration of the command in stops, holds and returns, also in an emergency stop; default: that of the
    test's motion until then, and an emergency stop is immediate.
    """
    on_trip: Literal["hold", "return"] = "hold"
    return_time: Annotated[float, Number("s", above=0)] = 1.0
    after_trip: Annotated[float, Number("s", least=0)] = 0.5
    safe_position: Annotated[np.ndarray, Vector("m")] | None = None
    """Safe position for a return after a trip or at the end of a test with a soft stop; default: the start position."""

    rotation: RotationLimits = RotationLimits()
    """Limits of the rotational axes; default: none."""
    actuator: ActuatorLimits = ActuatorLimits()
    """Limits of the actuators that move the interface, instead of ``command`` and ``command_rate``."""
    channels: dict[str, ChannelLimit] = Field(default_factory=dict)
    """Limits of other channels of the loop, by name, e.g. ``rig.stroke.3``."""

    def watched(
        self,
        axes: Axes,
        commands: Commands = "displacement",
        targets: Commands = "displacement",
        channels: Sequence[Channel] = (),
    ) -> Watch:
        """The quantities that the guard watches, with their limits; of others those that are among ``channels``."""
        found = [self._watched(one, one.key_of(commands, targets), axes) for one in TABLE]
        there = {channel.name: channel for channel in channels}
        found += [limit.watched(there[name]) for name, limit in self.channels.items() if name in there]
        return Watch(tuple(found))

    def widened(self, factor: float) -> Limits:
        """So many times these trip limits; those of times and of other channels as they are."""

        def wider(settings: Settings) -> Settings:
            given = {name: getattr(settings, name) for name in type(settings).model_fields}
            trips = {name: getattr(one, "trip", None) for name, one in given.items() if isinstance(one, Limit)}
            found = {
                name: given[name].unchecked_copy({"trip": factor * trip})
                for name, trip in trips.items()
                if trip is not None
            }
            return settings.unchecked_copy(found)

        inner = {name: wider(getattr(self, name)) for name in ("rotation", "actuator")}
        found = wider(self).unchecked_copy(inner)
        assert isinstance(found, Limits)
        return found

    def seen_by_sensors(
        self, axes: Axes, commands: Commands, auxiliary: Sequence[Channel]
    ) -> tuple[dict[str, float], list[float]]:
        """Trip limits of what sensors measure, by its channel, and those of the command of each actuator."""
        watch = self.watched(axes, commands, "displacement", auxiliary)
        trips = {one.name: one.trip for one in watch.entries if one.name.startswith("measured.")}
        return trips, [float(trip) for trip in watch[COMMAND].trip]

    def check_channels(self, channels: Sequence[Channel], *, linked: bool) -> None:
        """Refuse limits of channels that the loop does not have."""
        there = [channel.name for channel in channels]
        for name in self.channels:
            if name not in there:
                far = " (over a link, channels inside the rig are not available)" if linked else ""
                near = difflib.get_close_matches(name, there, n=1)
                hint = f"did you mean '{near[0]}'? Available:" if near else "available:"
                raise HalfrealError(
                    f"limits.channels has '{name}', which is not a channel of this loop{far}; {hint} {', '.join(there)}"
                )

    def _watched(self, quantity: Quantity, key: str, axes: Axes) -> Watched:
        assert quantity.per is not None
        of = axes.of(quantity.per)
        names = of.channels(quantity.name)
        if axes.moved_by is not None and quantity.actuator_key:
            limit: Limit = getattr(self.actuator, quantity.actuator_key)
            warn, trip = (limit.values(which, len(of)) for which in BOTH)
            return Watched(quantity, f"actuator.{quantity.actuator_key}", names, warn, trip, of.units(limit.unit))
        warn, trip = (self._values(key, which, of) for which in BOTH)
        return Watched(quantity, key, names, warn, trip, units_on(of.rotations, self.unit_of(key)))

    @staticmethod
    def unit_of(key: str) -> str:
        """Of a limit, on axes that are displacements."""
        return str(Limits.model_fields[key].default.unit)

    def values(self, key: str, which: Which, axes: Axes) -> np.ndarray:
        """A limit on each of those that it is for: all axes, those that are commanded, or actuators."""
        return self._values(key, which, axes.of(PER.get(key, "axis")))

    def _values(self, key: str, which: Which, of: Axes) -> np.ndarray:
        if key not in RotationLimits.model_fields:
            return np.array(getattr(self, key).values(which, len(of)))
        found, turns = np.empty(len(of)), of.rotations
        if not turns.any():
            return np.array(getattr(self, key).values(which, len(of)))
        found[~turns] = getattr(self, key).values(which, int((~turns).sum()))
        found[turns] = getattr(self.rotation, key).values(which, int(turns.sum()))
        return found

    def braking_of(self, axes: Axes, commands: Commands) -> np.ndarray:
        """Largest acceleration of each command in stops, holds and returns; a force has no velocity to lose."""
        found = np.full(len(axes.actuators), UNLIMITED)
        if commands == "force":
            return found
        if axes.moved_by is not None:
            given = self.actuator.braking
            return found if given is None else np.array(np.broadcast_to(given, found.shape))
        turns = axes.actuators.rotations
        for on, given in ((~turns, self.braking), (turns, self.rotation.braking)):
            if given is not None:
                found[on] = given
        return found

    def safe(self, axes: Axes, begins: np.ndarray) -> np.ndarray:
        """Where to return to on each axis, which is where the test ``begins`` if left out."""
        found, turns = np.array(begins, dtype=float), axes.rotations
        if self.safe_position is not None:
            found[~turns] = self.safe_position
        if self.rotation.safe_position is not None:
            found[turns] = self.rotation.safe_position
        return found

    def check_safe_position(self, axes: Axes) -> None:
        """Refuse a safe position beyond the limits of a rig commanded in displacement: it could not be reached."""
        plain = axes.moved_by is None and not axes.passive
        for key in ("command", "displacement") if plain else ("displacement",):
            trip, found = self.values(key, "trip", axes), units_on(axes.rotations, self.unit_of(key))
            for turns, given, within in (
                (False, self.safe_position, ()),
                (True, self.rotation.safe_position, ("rotation",)),
            ):
                on = np.flatnonzero(axes.rotations == turns)
                for i, position in zip(on, np.broadcast_to(np.nan if given is None else given, on.shape), strict=True):
                    if abs(position) > trip[i]:
                        place = ".".join(("limits", *within, key, "trip"))
                        raise fault(
                            f"{units.text(float(position), found[i])} on axis {axes.names[i]} is beyond {place}, "
                            f"{units.text(float(trip[i]), found[i])}: the rig would trip on the way there; move it "
                            "inside the limit",
                            *within,
                            "safe_position",
                        )

    def check_axes(self, axes: Axes) -> None:
        """Refuse limits of another number of axes than the interface has, or for one kind of its axes only."""
        for limits, within in ((self, ()), (self.rotation, ("rotation",))):
            for key in type(limits).model_fields:
                given, of = getattr(limits, key), axes.of(PER.get(key, "axis"))
                n = len(of) if key == "energy" else int((of.rotations == bool(within)).sum())
                if isinstance(given, Limit):
                    for which in ("warn", "trip"):
                        _check_count(getattr(given, which), n, axes, *within, key, which)
                elif key in ("braking", "safe_position"):
                    _check_count(given, n, axes, *within, key)
        for key in RotationLimits.model_fields:
            of = axes.of(PER.get(key, "axis"))
            if key not in ("braking", "safe_position") and of.rotations.any() and not of.rotations.all():
                self._check_both_kinds(key, of)

    def _check_both_kinds(self, key: str, axes: Axes) -> None:
        """Refuse a trip limit of displacements next to rotations that have none, or the other way round."""
        limits = {False: getattr(self, key).trip, True: getattr(self.rotation, key).trip}
        for turns, place in ((True, f"limits.rotation.{key}"), (False, f"limits.{key}")):
            if limits[turns] is None and limits[not turns] is not None:
                without = ", ".join(name for name, one in zip(axes.names, axes.rotations, strict=True) if one == turns)
                at = (key,) if turns else ("rotation", key)
                raise fault(f"it has a trip limit, but the axes {without} have none; also give {place}.trip", *at)

    def check_actuators(self, axes: Axes) -> None:
        """Refuse limits of strokes where no actuators have them, and limits of other commands where they do."""
        for key in ActuatorLimits.model_fields:
            limit = getattr(self.actuator, key)
            values = {(which,): getattr(limit, which) for which in BOTH} if isinstance(limit, Limit) else {(): limit}
            given = {at: value for at, value in values.items() if value is not None}
            if given and axes.moved_by is None:
                raise fault("the commands are those of axes; give limits.command, or a [kinematics]", "actuator", key)
            for at, value in given.items():
                _check_count(value, len(axes.actuators), axes.actuators, "actuator", key, *at)
        if axes.moved_by is not None and self.braking is not None:
            raise fault("the commands are strokes of actuators; give limits.actuator.braking instead", "braking")
        for one in TABLE:
            for limits, within in ((self, ()), (self.rotation, ("rotation",))):
                if axes.moved_by is None or not one.actuator_key:
                    continue
                if any(getattr(getattr(limits, one.key), which) is not None for which in BOTH):
                    place = f"limits.actuator.{one.actuator_key}"
                    raise fault(f"the commands are strokes of actuators; give {place} instead", *within, one.key)

    def check_commands(self, commands: Commands, targets: Commands = "displacement") -> None:
        """Refuse limits on commands or targets of another kind than the test has."""
        of_commands = {"command": "drive", "command_rate": "drive_rate"}
        of_targets = {"target": "drive", "gap": "force_gap"}
        if commands == "displacement":
            of_commands = {other: key for key, other in of_commands.items()}
        if targets == "displacement":
            of_targets = {"force_gap": "gap"}
        for braking, within in ((self.braking, ()), (self.rotation.braking, ("rotation",))):
            if braking is not None and commands == "force":
                raise fault("the rig is commanded in force, which has no velocity to lose; omit it", *within, "braking")
        for instead, what, kind in ((of_commands, "rig is commanded", commands), (of_targets, "targets are", targets)):
            for key, right in instead.items():
                for limits, within, unit in ((self, (), "mN"), (self.rotation, ("rotation",), ("rad", "N m"))):
                    limit = getattr(limits, key)
                    if limit.warn is not None or limit.trip is not None:
                        place = ".".join(("limits", *within, right))
                        raise fault(f"the {what} in {unit[kind == 'force']}; give {place} instead", *within, key)


def _check_count(given: np.ndarray | None, n: int, axes: Axes, *at: str) -> None:
    """Refuse values for another number than n of the axes."""
    if given is None or (given.size in (1, n) and n > 0):
        return
    kind = "rotation" if at[0] == "rotation" else "displacement"
    if n == 0 and at[-2 if at[-1] in ("warn", "trip") else -1] in ("drive", "drive_rate"):
        raise fault("the rig is driven by forces of its actuators; give limits.drive", *at)
    if n == 0:
        raise fault(f"of the axes {', '.join(axes.names)} none is a {kind}; omit it", *at)
    of = f"{n} {kind}(s)" if axes.rotations.any() else f"{n} axis(es)"
    raise fault(f"{given.size} values for {of}; give one, or one for each", *at)
