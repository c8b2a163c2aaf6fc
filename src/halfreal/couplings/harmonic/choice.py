"""What a harmonic coupling leaves open is chosen from its test and from the plant of the loop that runs.

The plant is that of the linearised loop with the *model* of its rig: a rig that is to be identified in the test is
known before it by its model only.

harmonics             those of the excitation (``excitation.py``)
transfer functions    those of the plant, if ``transfer = "model"``
first drive           that which closes the gap of plant and twin, if ``first_drive = "model"``
memories              by the rules of ``memory.py``; of sequential RLS τ/4, so that the drive settles before the
                      plant does; of an identification that is over before, a fifth of its time, so that its start
                      counts for less than 1 %
                      harmonics side by side of simultaneous RLS: tried out, and lengthened until the gap closes
                      (``trial.py``)
t_rand                4τ, if there is time for two random drives for each axis (and one more, if the excitation's gap is
                      identified), and memory for all of them
amplitude             half of what the limits of drive and gap allow at the worst phases
lever                 where axes are rotations: drives move displacements and rotations equally (``lever.py``)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ... import units
from ...contracts.quantities import UNLIMITED
from ...contracts.state_space import StateSpace
from ...errors import DefinitionError, Fault, HalfrealError
from ...models.remembered import remembered
from .excitation import with_harmonics
from .lever import Lever, balanced
from .memory import CLOSES, SETTLED, rounded, time_constant
from .trial import MOST_TICKS, closing_drive, try_out

if TYPE_CHECKING:
    from ...definition.definition import Definition
    from .coupling import Harmonic

FADED = 5.0
"""Memories, after which the start is forgotten."""
ROOM = 0.5
"""Part of a limit that the random drive may use."""
NUMERICAL = 1e-8
"""Part of the largest singular value that linearising leaves of one that is zero."""
Plant = Callable[[], StateSpace]
LONGER = (
    {"memory": 1.0, "identification_memory": 1.0},
    {"memory": 1.0, "identification_memory": 4.0},
    {"memory": 1.0, "identification_memory": 16.0},
    {"memory": 4.0, "identification_memory": 16.0},
)
"""Times the memories that harmonics would need one by one: what is tried, until the gap closes.  What leaks from one
harmonic into the others grows less with the memory of the identification."""
TRIED = 12.0
"""Memories for which the gap is watched."""
H = TypeVar("H", bound="Harmonic")


@dataclass(frozen=True)
class Choice:
    """A setting that was chosen: its key, its value as one would write it, and why."""

    key: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"chosen: coupling.{self.key} = {self.value}, {self.reason}"

    def without_rate(self) -> Choice:
        """The same without a rate at which the gap closes."""
        return replace(self, reason="from the model of the plant") if CLOSES in self.reason else self


@dataclass(frozen=True)
class Chosen(Generic[H]):
    """A coupling with everything known, and what of it was chosen."""

    coupling: H
    choices: tuple[Choice, ...]
    settings: H
    """The coupling as one would write it down: with what was chosen, but the model's transfer functions unnamed."""
    lever: Lever

    def judged(self, plant: Plant) -> H:
        """The coupling as it is judged before a test: without its identification, its result that of the model."""
        coupling = self.coupling
        if coupling.transfer is None:
            coupling = coupling.with_model(plant().response(2 * np.pi * coupling.hz))
        return coupling.adapting()

    def as_text(self, plant: Plant, step: float, *, closes: bool = True) -> list[str]:
        """What was chosen, and what the poles of a loop at rest do not give of the coupling; no rate at which the gap
        closes where a rehearsal shows that it does not."""
        coupling = self.coupling
        told = [str(choice if closes else choice.without_rate()) for choice in self.choices]
        if coupling.identification_time > 0.0:
            told += short_identification(coupling.identification_time, time_constant(plant()))
        by_rule = any(choice.key.endswith("memory") for choice in self.choices)
        scaled = coupling.in_metres(self.lever)
        remarks = scaled.adaption_remarks(lambda: self.lever.plant(plant()), step, by_rule)
        return told + [one for one in remarks if closes or CLOSES not in one]


def short_identification(time: float, slowest: float) -> list[str]:
    if time >= slowest:
        return []
    return [
        f"an identification of {units.text(time, 's')} is shorter than the model's slowest time constant, "
        f"{units.text(slowest, 's', 3)}: its result may be inaccurate; lengthen it"
    ]


# --- choosing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """Gives a test's plant when asked.  Which plant that is the test says: all are alike to what is remembered."""

    plant: Plant = field(compare=False)


def choice(test: Definition, coupling: H, plant: Plant) -> Chosen[H]:
    """The coupling of a test with everything known; ``plant`` gives the loop from command to gap."""
    found: Chosen[H] = _remembered(test, coupling, Asked(plant))
    return found


@remembered(maxsize=8)
def _remembered(test: Definition, coupling: Harmonic, asked: Asked) -> Any:
    return choose(test, coupling, asked.plant)


def is_nonlinear(test: Definition) -> bool:
    """Whether the structure is known to be nonlinear, on either side."""
    return bool(test.virtual.nonlinearities or test.rig.nonlinearities)


def choose(test: Definition, coupling: H, plant: Plant) -> Chosen[H]:
    """The coupling of a test with everything known, regenerated each time."""
    choosing = Choosing(test, coupling, plant)
    choosing.harmonics()
    choosing.find_lever()
    if choosing.coupling.given is None:
        transfer = choosing.lever.transfer(plant().response(2 * np.pi * choosing.coupling.hz))
        check_actuators(transfer, choosing.coupling.hz)
    choosing.memories()
    if choosing.coupling.identification_time > 0.0:
        choosing.random_interval()
        choosing.identification_memory()
        choosing.amplitude()
    settings = choosing.coupling
    known = settings
    if settings.transfer == "model":
        known = settings.with_model(plant().response(2 * np.pi * settings.hz))
    if settings.first_drive == "model":
        known = known.with_first_drive(closing_drive(test, settings.hz, plant()))
    return Chosen(known, tuple(choosing.choices), settings, choosing.lever)


def check_actuators(transfer: np.ndarray, hz: np.ndarray) -> None:
    """Raise an error if the model's drives cannot move every axis of the interface apart."""
    for h, one in zip(transfer, hz, strict=True):
        sizes = np.linalg.svd(h, compute_uv=False)
        moved = int(np.sum(sizes > NUMERICAL * sizes[0]))
        if moved < len(h):
            told = (
                f"its actuators move {moved} of the {len(h)} interface axes independently at "
                f"{units.text(float(one), 'Hz')}; provide an actuator for each axis, or use fewer axes"
            )
            raise DefinitionError([Fault("", "rig", told)])


class Choosing(Generic[H]):
    """A coupling on the way to where everything is known."""

    def __init__(self, test: Definition, coupling: H, plant: Plant) -> None:
        self.coupling = coupling
        self.choices: list[Choice] = []
        self.test, self.plant = test, plant
        self.step, self.axes = test.timing.step, test.virtual.axes
        self.lever = Lever.of(None, self.axes, None)

    def settle(self, reason: str, **values: float) -> None:
        self.coupling = self.coupling.changed(**values)
        for key, value in values.items():
            unit = {"amplitude": "N", "lever": "m"}.get(key, "s")
            self.choices.append(Choice(key, f'"{units.text(value, unit)}"', reason))

    def harmonics(self) -> None:
        if self.coupling.known:
            return
        excitation, nonlinear = self.test.excitation, is_nonlinear(self.test)
        excitations = (excitation.virtual, excitation.specimen)
        self.coupling = with_harmonics(self.coupling, excitations, self.step, nonlinear=nonlinear)
        if self.coupling.base_frequency is not None:
            base = f'"{units.text(self.coupling.base_frequency, "Hz")}"'
            self.choices.append(Choice("base_frequency", base, "that of the excitation"))
            return
        listed = ", ".join(f'"{units.text(float(hz), "Hz")}"' for hz in self.coupling.hz)
        why = "those of the excitation" + (" and multiples, because the structure is nonlinear" if nonlinear else "")
        self.choices.append(Choice("frequencies", f"[{listed}]", why))

    def find_lever(self) -> None:
        """Between rotations and displacements, if there are both."""
        axes, coupling = self.test.interface, self.coupling
        if not (axes.rotations.any() or axes.actuators.rotations.any()):
            return
        if coupling.lever is None:
            known = coupling.given
            transfer = (
                self.plant().response(2 * np.pi * coupling.hz)
                if known is None
                else np.array([part.matrix for part in known])
            )
            self.settle("drives move displacements and rotations equally", lever=rounded(balanced(transfer, axes)))
        self.lever = self.coupling.lever_of(axes, self.axes)

    def memories(self) -> None:
        """Of the adaption, and of an identification that continues next to it."""
        coupling = self.coupling
        identified = coupling.identification_time > 0.0
        known = "; from the model, because the rig is identified only in the test" if identified else ""
        why, lacking = coupling.chosen_memories(lambda: self.lever.plant(self.plant()), self.step)
        if lacking and coupling.needs_trial:
            why, lacking = self.tried(why, lacking)
        if lacking:
            self.settle(f"{why}{known}", **lacking)

    def tried(self, why: str, lacking: dict[str, float]) -> tuple[str, dict[str, float]]:
        """Memories with which the gap closes when they are tried: those that were computed, or longer ones."""
        plant = self.plant()
        slowest = time_constant(plant)
        for times in LONGER:
            longer = {name: rounded(times[name] * value) for name, value in lacking.items()}
            coupling = self.coupling.changed(**longer).with_model(plant.response(2 * np.pi * self.coupling.hz))
            span = TRIED * sum(coupling.memories(self.step).values()) + SETTLED * slowest
            trial = try_out(self.test, coupling, plant, min(span, MOST_TICKS * self.step))
            if trial is None:
                return why, lacking
            if trial.closes:
                why = "" if longer == lacking else "longer than each harmonic alone would need: "
                return f"{why}simulated with all together, {CLOSES} as exp({trial.rate:.2g} t/s)", longer
        return (
            "with which the gap does not close in a simulation with all harmonics: give the coupling fewer",
            longer,
        )

    def random_interval(self) -> None:
        time = self.coupling.identification_time
        if self.coupling.random_interval is not None:
            return
        slowest, drives = time_constant(self.plant()), self.coupling.drives(self.axes)
        longest = min(SETTLED * slowest, time / (2 * drives))
        if drives > 1:
            longest = min(longest, self.coupling.memories(self.step).get("identification_memory", time) / (drives - 1))
        interval = max(time / math.ceil(time / longest - 1e-9), self.step)  # whole ones
        times = f"{interval / slowest:.2g} times the model's slowest time constant, {units.text(slowest, 's', 3)}"
        self.settle(times, random_interval=interval)

    def identification_memory(self) -> None:
        if self.coupling.knows_identification(self.step):
            return
        remembered = (self.coupling.drives(self.axes) - 1) * float(self.coupling.random_interval or 0.0)
        memory = rounded(max(self.coupling.identification_time / FADED, 1.05 * remembered))
        self.settle("a fifth of the identification's time", identification_memory=memory)

    def amplitude(self) -> None:
        """All harmonics and axes at their worst are √2 of the bound each."""
        if self.coupling.amplitude is not None:
            return
        limits = self.test.limits
        drive, gap = (limits.values(key, "trip", self.test.interface) for key in ("drive", "gap"))
        if min(drive.min(), gap.min()) >= UNLIMITED:
            raise HalfrealError(
                "coupling.amplitude, that of the random drive of the identification, can only be derived from limits; "
                "give it, or limits.drive.trip, or limits.gap.trip"
            )
        hz = self.coupling.hz
        per_newton = np.abs(self.plant().response(2 * np.pi * hz) * self.lever.drives).sum(axis=(0, 2))
        by_axis = zip(gap.tolist(), per_newton.tolist(), strict=True)
        bounds = {
            "drive": float((drive / self.lever.drives).min()) / len(hz),
            "gap": min((limit / moved for limit, moved in by_axis if moved > 0.0), default=UNLIMITED),
        }
        name = min(bounds, key=lambda key: bounds[key])
        self.settle(f"half of limits.{name}", amplitude=rounded(ROOM * bounds[name] / math.sqrt(2.0)))
