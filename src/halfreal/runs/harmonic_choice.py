"""What a harmonic coupling leaves open is chosen from its definition and from the plant of the loop that runs.

The plant is that of the linearised loop with the *model* of its rig: a rig that is to be identified in the test is
known before it by its model only.

harmonics             those of the excitation (``halfreal.couplings.harmonic.excitation``)
transfer functions    those of the plant, if ``transfer = "model"``
memories              by the rules of ``harmonic_memory``; of sequential RLS τ/4, so that the drive settles before the
                      plant does; of an identification that is over before, a fifth of its time, so that its start
                      counts for less than 1 %
t_rand                4τ, if there is time for two random drives for each axis, and memory for all axes
amplitude             half of what the limits of drive and gap allow at the worst phases
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import units
from ..contracts.state_space import StateSpace
from ..couplings.harmonic.coupling import Harmonic, unpacked
from ..couplings.harmonic.envelope import growth_rates
from ..couplings.harmonic.excitation import with_harmonics
from ..couplings.harmonic.lms import GAIN_UNITS, HarmonicLms
from ..couplings.harmonic.memory import SETTLED, lms_memory, rls_memories, rounded, shortest, time_constant
from ..couplings.harmonic.rls import USUAL_IDENTIFICATION_MEMORY, USUAL_MEMORY, HarmonicRls
from ..definition.definition import Definition
from ..definition.faults import DefinitionError, Fault
from ..errors import HalfrealError
from ..models.structures.structure import Structure
from ..rigs.specimen import Specimen
from ..safety.limits import UNLIMITED

FADED = 5.0
"""Memories, after which the start is forgotten."""
ROOM = 0.5
"""Part of a limit that the random drive may use."""
NUMERICAL = 1e-8
"""Part of the largest singular value that linearising leaves of one that is zero."""
Plant = Callable[[], StateSpace]


@dataclass(frozen=True)
class Choice:
    """A setting that was chosen: its key, its value as one would write it, and why."""

    key: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"chosen: coupling.{self.key} = {self.value}, {self.reason}"


@dataclass(frozen=True)
class Chosen:
    """A coupling with everything known, and what of it was chosen."""

    coupling: Harmonic
    choices: tuple[Choice, ...]
    settings: Harmonic
    """The coupling as one would write it down: with what was chosen, but the model's transfer functions unnamed."""

    def judged(self, plant: Plant) -> Harmonic:
        """The coupling as it is judged before a test: without its identification, its result that of the model."""
        coupling = self.coupling
        if coupling.transfer is None:
            coupling = coupling.with_model(plant().response(2 * np.pi * coupling.hz))
        return coupling.adapting()

    def as_text(self, plant: Plant, step: float) -> list[str]:
        """What was chosen, and what the poles of a loop at rest do not tell of the coupling."""
        coupling = self.coupling
        told = [str(choice) for choice in self.choices]
        if coupling.identification_time > 0.0:
            told += short_identification(coupling.identification_time, time_constant(plant()))
        by_rule = any(choice.key.endswith("memory") for choice in self.choices)
        if isinstance(coupling, HarmonicRls) and coupling.mode == "simultaneous" and not by_rule:
            told += simultaneous(coupling, plant(), step)
        if isinstance(coupling, HarmonicLms) and len(coupling.hz) > 1:
            transfer = (
                plant().response(2 * np.pi * coupling.hz)
                if coupling.given is None
                else unpacked(coupling.start(len(coupling.given[0].real)))
            )
            told += too_close(coupling, transfer, step)
        return told


def too_close(coupling: HarmonicLms, transfer: np.ndarray, step: float) -> list[str]:
    """Harmonics that bare gains do not tell apart: their memories follow from H (n_ω, n, n), and from the drive."""
    order = np.argsort(coupling.hz)
    closest = int(np.argmin(np.diff(coupling.hz[order])))
    low, high = (float(hz) for hz in coupling.hz[order][closest : closest + 2])
    needed = 1 / (2 * math.pi * (high - low))
    told = []
    for name, memory in coupling.implied_memories(transfer[order][closest : closest + 2], step).items():
        if memory < needed:
            gain = memory / needed * getattr(coupling, name)
            told.append(
                f"warning: {units.text(low, 'Hz')} and {units.text(high, 'Hz')} cannot be told apart within "
                f"{units.text(memory, 's', 3)}, the memory that coupling.{name} gives; lower it below {gain:.3g} "
                f"{GAIN_UNITS[name]}, or leave one of them out"
            )
    return told


def short_identification(time: float, slowest: float) -> list[str]:
    if time >= slowest:
        return []
    return [
        f"an identification of {units.text(time, 's')} is shorter than the model's slowest time constant, "
        f"{units.text(slowest, 's', 3)}: what it finds may be far off; lengthen it"
    ]


def simultaneous(coupling: HarmonicRls, plant: StateSpace, step: float) -> list[str]:
    """How errors die out with the memories that are given."""
    usual = {"memory": USUAL_MEMORY, "identification_memory": USUAL_IDENTIFICATION_MEMORY}
    memory, learning = (usual | coupling.memories(step)).values()
    if math.isinf(memory) or math.isinf(learning):
        return ["a memory without end never forgets what it learnt first: the gap may not close; give a shorter one"]
    rate = max(float(growth_rates(plant, float(hz), np.array(memory), np.array(learning))) for hz in coupling.hz)
    if rate < 0.0:
        return [f"while it identifies and adapts at once, errors of the drive die out as exp({rate:.3g} t/s)"]
    return [
        f"while it identifies and adapts at once, errors of the drive grow as exp({rate:.3g} t/s), and the gap will "
        "not close; lengthen coupling.memory and coupling.identification_memory, or leave them out to have them chosen"
    ]


def is_nonlinear(definition: Definition) -> bool:
    """Whether the structure has nonlinear elements, on either side."""
    specimen = getattr(definition.rig, "specimen", None)
    elements = [
        *(definition.virtual.elements if isinstance(definition.virtual, Structure) else ()),
        *(specimen.elements if isinstance(specimen, Specimen) else ()),
    ]
    return any(element.law.kind != "linear" for element in elements)


# --- choosing ---------------------------------------------------------------------------------------------------------


def choose(definition: Definition, plant: Plant) -> Chosen:
    """The definition's coupling with everything known; ``plant`` gives the loop from command to gap."""
    choosing = Choosing(definition, plant)
    choosing.harmonics()
    if choosing.coupling.given is None:
        check_actuators(plant().response(2 * np.pi * choosing.coupling.hz), choosing.coupling.hz)
    choosing.memories()
    if choosing.coupling.identification_time > 0.0:
        choosing.random_interval()
        choosing.identification_memory()
        choosing.amplitude()
    settings = choosing.coupling
    known = settings
    if settings.transfer == "model":
        known = settings.with_model(plant().response(2 * np.pi * settings.hz))
    return Chosen(known, tuple(choosing.choices), settings)


def check_actuators(transfer: np.ndarray, hz: np.ndarray) -> None:
    """Raise an error if the model's drives cannot move every axis of the interface apart."""
    for h, one in zip(transfer, hz, strict=True):
        sizes = np.linalg.svd(h, compute_uv=False)
        moved = int(np.sum(sizes > NUMERICAL * sizes[0]))
        if moved < len(h):
            told = (
                f"its actuators move {moved} of the {len(h)} interface axes independently at "
                f"{units.text(float(one), 'Hz')}; place an actuator for each axis, or take fewer axes"
            )
            raise DefinitionError([Fault("", "rig", told)])


class Choosing:
    """A coupling on the way to where everything is known."""

    def __init__(self, definition: Definition, plant: Plant) -> None:
        assert isinstance(definition.coupling, Harmonic)
        self.coupling: Harmonic = definition.coupling
        self.choices: list[Choice] = []
        self.definition, self.plant = definition, plant
        self.step, self.axes = definition.timing.step, definition.virtual.axes

    def settle(self, reason: str, **values: float) -> None:
        self.coupling = self.coupling.changed(**values)
        for key, value in values.items():
            unit = "N" if key == "amplitude" else "s"
            self.choices.append(Choice(key, f'"{units.text(value, unit)}"', reason))

    def harmonics(self) -> None:
        if self.coupling.known:
            return
        excitation, nonlinear = self.definition.excitation, is_nonlinear(self.definition)
        excitations = (excitation.virtual, excitation.specimen)
        self.coupling = with_harmonics(self.coupling, excitations, self.step, nonlinear=nonlinear)
        if self.coupling.base_frequency is not None:
            base = f'"{units.text(self.coupling.base_frequency, "Hz")}"'
            self.choices.append(Choice("base_frequency", base, "that of the excitation"))
            return
        listed = ", ".join(f'"{units.text(float(hz), "Hz")}"' for hz in self.coupling.hz)
        why = "those of the excitation" + (" and multiples, as the structure is nonlinear" if nonlinear else "")
        self.choices.append(Choice("frequencies", f"[{listed}]", why))

    def memories(self) -> None:
        """Of the adaption, and of an identification that goes on beside it."""
        coupling = self.coupling
        identified = coupling.identification_time > 0.0
        known = "; by the model, as the rig is identified only in the test" if identified else ""
        given = coupling.memories(self.step)
        if isinstance(coupling, HarmonicLms) and coupling.gain is None and coupling.memory is None:
            memory, rate, limit = lms_memory(self.plant(), coupling.hz)
            stable = f"stable above {units.text(limit, 's', 3)}"
            self.settle(f"with which the slowest pole decays as exp({rate:.3g} t/s), {stable}{known}", memory=memory)
        elif isinstance(coupling, HarmonicRls) and coupling.mode == "simultaneous" and len(given) < 2:
            memory, learning, rate = rls_memories(self.plant(), coupling.hz, given, identified)
            found = {"memory": memory, "identification_memory": learning}
            lacking = {name: value for name, value in found.items() if name not in given}
            self.settle(f"with which errors of the drive die out as exp({rate:.3g} t/s){known}", **lacking)
        elif isinstance(coupling, HarmonicRls) and "memory" not in given:
            slowest = time_constant(self.plant())
            memory = rounded(max(0.25 * slowest, shortest(coupling.hz, slowest)[0]))
            self.settle(
                f"beside the plant's slowest time constant, {units.text(slowest, 's', 3)}{known}", memory=memory
            )

    def random_interval(self) -> None:
        time = self.coupling.identification_time
        if self.coupling.random_interval is not None:
            return
        slowest = time_constant(self.plant())
        longest = min(SETTLED * slowest, time / (2 * self.axes))
        if self.axes > 1:
            longest = min(
                longest, self.coupling.memories(self.step).get("identification_memory", time) / (self.axes - 1)
            )
        interval = max(time / math.ceil(time / longest - 1e-9), self.step)  # whole ones
        times = f"{interval / slowest:.2g} times the model's slowest time constant, {units.text(slowest, 's', 3)}"
        self.settle(times, random_interval=interval)

    def identification_memory(self) -> None:
        given = self.coupling.memories(self.step)
        if "identification_memory" in given or getattr(self.coupling, "identification_gain", None) is not None:
            return
        drives = (self.axes - 1) * float(self.coupling.random_interval or 0.0)
        memory = rounded(max(self.coupling.identification_time / FADED, 1.05 * drives))
        self.settle("a fifth of the identification's time", identification_memory=memory)

    def amplitude(self) -> None:
        """All harmonics and axes at their worst are √2 of the bound each."""
        if self.coupling.amplitude is not None:
            return
        limits = self.definition.limits
        drive, gap = (limits.values(key, "trip", self.definition.interface) for key in ("drive", "gap"))
        if min(drive.min(), gap.min()) >= UNLIMITED:
            raise HalfrealError(
                "coupling.amplitude, that of the random drive of the identification, can be chosen from limits only; "
                "give it, or limits.drive.trip, or limits.gap.trip"
            )
        hz = self.coupling.hz
        per_newton = np.abs(self.plant().response(2 * np.pi * hz)).sum(axis=(0, 2))
        by_axis = zip(gap.tolist(), per_newton.tolist(), strict=True)
        bounds = {
            "drive": float(drive.min()) / len(hz),
            "gap": min((limit / moved for limit, moved in by_axis if moved > 0.0), default=UNLIMITED),
        }
        name = min(bounds, key=lambda key: bounds[key])
        self.settle(f"half of what limits.{name} allows", amplitude=rounded(ROOM * bounds[name] / math.sqrt(2.0)))
