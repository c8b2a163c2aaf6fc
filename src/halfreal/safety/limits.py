"""Warn and trip limits of the signals that the guard watches, and what it does on a trip."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..settings import Number, Settings, Vector, fault

UNLIMITED = float(np.finfo(np.float64).max)
"""Limit of a signal without one: infinite and undefined values are beyond it all the same."""


Commands = Literal["displacement", "force"]
"""What a rig is commanded in."""


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
    stale: TimeLimit = TimeLimit(trip=0.1)
    lateness: TimeLimit = TimeLimit()
    on_trip: Literal["hold", "return"] = "hold"
    return_time: Annotated[float, Number("s", above=0)] = 1.0
    after_trip: Annotated[float, Number("s", least=0)] = 0.5
    safe_position: Annotated[np.ndarray, Vector("m")] | None = None
    """Where to return to, on a trip or at the end of a test with a soft stop: where the test began if left out."""

    def ordered(
        self, commands: Commands = "displacement", targets: Commands = "displacement"
    ) -> tuple[tuple[str, Limit], ...]:
        """The limits of the loop's signals in the guard's order, with the signals' names."""
        by_force, to_force = commands == "force", targets == "force"
        return (
            ("command.asked", self.drive if by_force else self.command),
            ("command rate", self.drive_rate if by_force else self.command_rate),
            ("target", self.drive if to_force else self.target),
            ("measured.displacement", self.displacement),
            ("measured.force", self.force),
            ("gap", self.force_gap if to_force else self.gap),
            ("measured velocity", self.velocity),
            ("measured acceleration", self.acceleration),
            ("energy error", self.energy),
        )

    def check_axes(self, n: int) -> None:
        """Refuse limits of another number of axes than the interface has."""
        for key in (*(name for name in type(self).model_fields if isinstance(getattr(self, name), Limit)),):
            for which in ("warn", "trip"):
                given = getattr(getattr(self, key), which)
                if given is not None and given.size not in (1, n):
                    raise fault(f"{given.size} values for {n} axis(es); give one, or one for each", key, which)
        if self.safe_position is not None and self.safe_position.size not in (1, n):
            raise fault(f"{self.safe_position.size} values for {n} axis(es); give one for each", "safe_position")

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
                limit = getattr(self, key)
                if limit.warn is not None or limit.trip is not None:
                    unit = "N" if kind == "force" else "m"
                    raise fault(f"the {what} in {unit}; give limits.{right} instead", key)

    def used(
        self, peaks: np.ndarray, commands: Commands = "displacement", targets: Commands = "displacement"
    ) -> dict[str, float]:
        """Largest value of each limited signal, of any axis, as a share of its trip limit."""
        ordered = self.ordered(commands, targets)
        largest = peaks.reshape(len(ordered), -1)
        n = largest.shape[1]
        return {
            name: float((row / limit.values("trip", n)).max())
            for (name, limit), row in zip(ordered, largest, strict=True)
            if getattr(limit, "trip", None) is not None
        }

    def name_cause(self, cause: float, n: int) -> str:
        """The signal that caused a trip or a warning."""
        which, axis = divmod(int(cause) - 1, n)
        name = self.ordered()[which][0]
        return name if n == 1 else f"{name}.{axis + 1}"
