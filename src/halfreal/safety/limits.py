"""Warn and trip limits of the signals that the guard watches, and what it does on a trip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from .. import units
from ..contracts.axes import Axes, units_on
from ..settings import Number, Settings, Vector, fault

UNLIMITED = float(np.finfo(np.float64).max)
"""Limit of a signal without one: infinite and undefined values are beyond it all the same."""


Commands = Literal["displacement", "force"]
"""What a rig is commanded in."""
UNITS = {
    "command": "m",
    "command_rate": "m/s",
    "drive": "N",
    "drive_rate": "N/s",
    "target": "m",
    "displacement": "m",
    "force": "N",
    "gap": "m",
    "force_gap": "N",
    "velocity": "m/s",
    "acceleration": "m/s^2",
    "energy": "1",
    "frozen": "s",
}
"""Of the limits, on axes that are displacements."""


class Limit(Settings):
    """Beyond ``warn`` is an event, beyond ``trip`` a trip; one value for all interface axes, or one for each."""

    @field_validator("trip", check_fields=False)
    @classmethod
    def _above_warning(cls, trip: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        warn = info.data.get("warn")
        if trip is None or warn is None:
            return trip
        if trip.size > 1 and warn.size > 1 and trip.size != warn.size:
            raise fault(f"{trip.size} values beside {warn.size} of warn; give one, or one for each interface axis")
        low, high = np.broadcast_arrays(warn, trip)
        for below, above in zip(low, high, strict=True):
            if below >= above:
                raise fault(
                    f"warn ({below:g}) is not below trip ({above:g}), both in SI units; a warning must come first"
                )
        return trip

    def values(self, which: Literal["warn", "trip"], n: int) -> np.ndarray:
        """The limit of each of n axes."""
        given: np.ndarray | None = getattr(self, which)
        return np.full(n, UNLIMITED) if given is None else np.broadcast_to(given, n)


class DisplacementLimit(Limit):
    warn: Annotated[np.ndarray, Vector("m", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("m", above=0)] | None = None


class RateLimit(Limit):
    warn: Annotated[np.ndarray, Vector("m/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("m/s", above=0)] | None = None


class AccelerationLimit(Limit):
    warn: Annotated[np.ndarray, Vector("m/s^2", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("m/s^2", above=0)] | None = None


class ForceRateLimit(Limit):
    warn: Annotated[np.ndarray, Vector("N/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N/s", above=0)] | None = None


class ForceLimit(Limit):
    warn: Annotated[np.ndarray, Vector("N", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N", above=0)] | None = None


class AngleLimit(Limit):
    warn: Annotated[np.ndarray, Vector("rad", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("rad", above=0)] | None = None


class AngularRateLimit(Limit):
    warn: Annotated[np.ndarray, Vector("rad/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("rad/s", above=0)] | None = None


class AngularAccelerationLimit(Limit):
    warn: Annotated[np.ndarray, Vector("rad/s^2", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("rad/s^2", above=0)] | None = None


class MomentLimit(Limit):
    warn: Annotated[np.ndarray, Vector("N m", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N m", above=0)] | None = None


class MomentRateLimit(Limit):
    warn: Annotated[np.ndarray, Vector("N m/s", above=0)] | None = None
    trip: Annotated[np.ndarray, Vector("N m/s", above=0)] | None = None


class EnergyLimit(Limit):
    """Of the energy error, as a share of the energy exchanged in ``window`` (``safety/energy_error.py``)."""

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

    def values(self, which: Literal["warn", "trip"], n: int) -> np.ndarray:
        """The limit of each of n axes."""
        given: float | None = getattr(self, which)
        return np.full(n, UNLIMITED if given is None else given)


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
    safe_position: Annotated[np.ndarray, Vector("rad")] | None = None


@dataclass(frozen=True)
class Watched:
    """A signal that the guard watches: its limits on each axis, ``UNLIMITED`` where there is none, and their units."""

    name: str
    warn: np.ndarray
    trip: np.ndarray
    units: tuple[str, ...]


class Limits(Settings):
    """Warn and trip limits of the watched signals, and what to do on a trip.  A signal left out has no limit."""

    command: DisplacementLimit = DisplacementLimit()
    command_rate: RateLimit = RateLimit()
    drive: ForceLimit = ForceLimit()
    """Of the command of a rig that is commanded in force, in place of ``command``; its rate likewise."""
    drive_rate: ForceRateLimit = ForceRateLimit()
    target: DisplacementLimit = DisplacementLimit()
    displacement: DisplacementLimit = DisplacementLimit()
    force: ForceLimit = ForceLimit()
    gap: DisplacementLimit = DisplacementLimit()
    force_gap: ForceLimit = ForceLimit()
    """Of target − measured force where the target is a force, in place of ``gap``."""
    velocity: RateLimit = RateLimit()
    acceleration: AccelerationLimit = AccelerationLimit()
    energy: EnergyLimit = EnergyLimit()
    smoothing: Annotated[float, Number("s", least=0)] = 0.0
    """Time constant of the low-pass on the measured velocity and acceleration, which are differences."""
    frozen: FrozenLimit = FrozenLimit(warn=0.1, trip=0.25)
    """Of the time for which a measured displacement or force has not changed by a bit, if its sensor has noise."""
    stale: TimeLimit = TimeLimit(trip=0.1)
    lateness: TimeLimit = TimeLimit(trip=0.1)
    on_trip: Literal["hold", "return"] = "hold"
    return_time: Annotated[float, Number("s", above=0)] = 1.0
    after_trip: Annotated[float, Number("s", least=0)] = 0.5
    safe_position: Annotated[np.ndarray, Vector("m")] | None = None
    """Where to return to, on a trip or at the end of a test with a soft stop: where the test began if left out."""

    rotation: RotationLimits = RotationLimits()
    """Limits of those axes that are rotations; without them, these have none."""

    def watched(
        self, axes: Axes, commands: Commands = "displacement", targets: Commands = "displacement"
    ) -> tuple[Watched, ...]:
        """The signals that the guard watches, in its order."""
        by_force, to_force = commands == "force", targets == "force"
        found = (
            ("command.asked", "drive" if by_force else "command"),
            ("command rate", "drive_rate" if by_force else "command_rate"),
            ("target", "drive" if to_force else "target"),
            ("measured.displacement", "displacement"),
            ("measured.force", "force"),
            ("gap", "force_gap" if to_force else "gap"),
            ("measured velocity", "velocity"),
            ("measured acceleration", "acceleration"),
            ("energy error", "energy"),
            ("time without change of measured.displacement", "frozen"),
            ("time without change of measured.force", "frozen"),
        )
        return tuple(
            Watched(
                name,
                self.values(key, "warn", axes),
                self.values(key, "trip", axes),
                units_on(self.turns(key, axes), UNITS[key]),
            )
            for name, key in found
        )

    def values(self, key: str, which: Literal["warn", "trip"], axes: Axes) -> np.ndarray:
        """A limit on each axis."""
        if key not in RotationLimits.model_fields:
            return np.array(getattr(self, key).values(which, len(axes)))
        turns = self.turns(key, axes)
        found = np.empty(len(axes))
        found[~turns] = getattr(self, key).values(which, int((~turns).sum()))
        found[turns] = getattr(self.rotation, key).values(which, int(turns.sum()))
        return found

    def turns(self, key: str, axes: Axes) -> np.ndarray:
        """On which axes the limits are those of rotations; drives of actuators are forces on all of them."""
        return axes.rotations & (not (axes.drives and key in ("drive", "drive_rate")))

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
        for key in ("command", "displacement"):
            trip, found = self.values(key, "trip", axes), units_on(axes.rotations, UNITS[key])
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
                            f"{units.text(float(trip[i]), found[i])}: the rig would trip on its way there; move it "
                            "inside the limit",
                            *within,
                            "safe_position",
                        )

    def check_axes(self, axes: Axes) -> None:
        """Refuse limits of another number of axes than the interface has, or for one kind of its axes only."""
        for limits, within in ((self, ()), (self.rotation, ("rotation",))):
            for key in type(limits).model_fields:
                given = getattr(limits, key)
                n = len(axes) if key == "energy" else int((self.turns(key, axes) == bool(within)).sum())
                if isinstance(given, Limit):
                    for which in ("warn", "trip"):
                        _check_count(getattr(given, which), n, axes, *within, key, which)
                elif key == "safe_position":
                    _check_count(given, n, axes, *within, key)
        for key in RotationLimits.model_fields:
            turns = self.turns(key, axes)
            if key != "safe_position" and turns.any() and not turns.all():
                self._check_both_kinds(key, axes)

    def _check_both_kinds(self, key: str, axes: Axes) -> None:
        """Refuse a trip limit of displacements beside rotations that have none, or the other way round."""
        limits = {False: getattr(self, key).trip, True: getattr(self.rotation, key).trip}
        for turns, place in ((True, f"limits.rotation.{key}"), (False, f"limits.{key}")):
            if limits[turns] is None and limits[not turns] is not None:
                without = ", ".join(name for name, one in zip(axes.names, axes.rotations, strict=True) if one == turns)
                at = (key,) if turns else ("rotation", key)
                raise fault(f"it has a trip limit, and the axes {without} have none; give {place}.trip too", *at)

    def check_commands(self, commands: Commands, targets: Commands = "displacement") -> None:
        """Refuse limits on commands or targets of another kind than the test has."""
        of_commands = {"command": "drive", "command_rate": "drive_rate"}
        of_targets = {"target": "drive", "gap": "force_gap"}
        if commands == "displacement":
            of_commands = {other: key for key, other in of_commands.items()}
        if targets == "displacement":
            of_targets = {"force_gap": "gap"}
        for instead, what, kind in ((of_commands, "rig is commanded", commands), (of_targets, "targets are", targets)):
            for key, right in instead.items():
                for limits, within, unit in ((self, (), "mN"), (self.rotation, ("rotation",), ("rad", "N m"))):
                    limit = getattr(limits, key)
                    if limit.warn is not None or limit.trip is not None:
                        place = ".".join(("limits", *within, right))
                        raise fault(f"the {what} in {unit[kind == 'force']}; give {place} instead", *within, key)

    def used(
        self, axes: Axes, peaks: np.ndarray, commands: Commands = "displacement", targets: Commands = "displacement"
    ) -> dict[str, float]:
        """Largest value of each limited signal, of any axis, as a share of its trip limit."""
        watched = self.watched(axes, commands, targets)
        largest = peaks.reshape(len(watched), -1)
        return {
            one.name: float((row / one.trip).max())
            for one, row in zip(watched, largest, strict=True)
            if (one.trip < UNLIMITED).any() and not (one.units[0] == "s" and row.max() == 0.0)
        }


def _check_count(given: np.ndarray | None, n: int, axes: Axes, *at: str) -> None:
    """Refuse values for another number than n of the axes."""
    if given is None or (given.size in (1, n) and n > 0):
        return
    kind = "rotation" if at[0] == "rotation" else "displacement"
    if n == 0 and at[-2 if at[-1] in ("warn", "trip") else -1] in ("drive", "drive_rate"):
        raise fault("the rig is driven by forces of its actuators, whatever its axes; give limits.drive", *at)
    if n == 0:
        raise fault(f"of the axes {', '.join(axes.names)} none is a {kind}; leave it out", *at)
    of = f"{n} {kind}(s)" if axes.rotations.any() else f"{n} axis(es)"
    raise fault(f"{given.size} values for {of}; give one, or one for each", *at)
