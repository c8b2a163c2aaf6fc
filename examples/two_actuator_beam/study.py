"""The beam test varied and rehearsed, and what is read from its records.

    NMSE = gᵀg / (y_maxᵀ y_max)                                              (Eq. 34)

g is the gap at the two actuators and y_max the amplitudes of the assembled structure there.  What the hybrid test must
become once the gap is closed is known beforehand, ``emulated``: the virtual beam as its scheme integrates it, joined to
the specimen.  It differs from the assembled structure by the integration error, which no synchronisation can mend.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import rig
import scipy.signal

import halfreal
from halfreal.models import discretise

HERE = Path(__file__).parent
ENDS = ("1", "2")
RESPONSES = ("virtual.P", "virtual.B", "virtual.slope at B")
CHANNELS = ("excitation.virtual", *(f"{name}.{i}" for name in ("target", "measured.displacement") for i in ENDS))
NO_GAIN = dict.fromkeys(("coupling.forgetting", "coupling.identification_forgetting"))

Scheme = Literal["continuous", "exact", "newmark"]


# --- definitions ------------------------------------------------------------------------------------------------------


def changed(name: str, changes: Mapping[str, object]) -> halfreal.Definition:
    """The definition of a file with other values at some places; None leaves a key out."""
    data = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    for place, value in changes.items():
        *outer, key = place.split(".")
        table: dict[str, Any] = data
        for step in outer:
            table = table[step]
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return halfreal.Definition.model_validate(data, context={"folder": HERE})


def sine(hz: float, changes: Mapping[str, object] | None = None, name: str = "sine") -> halfreal.Definition:
    """The test with a sine of another frequency; ``name`` is "sine" or "flexible_plate"."""
    frequency = {
        "title": f"Two beams, sine at {hz:g} Hz",
        "excitation.virtual.frequency": f"{hz!r} Hz",
        "coupling.frequencies": [f"{hz!r} Hz"],
        "rig.parameters.frequencies": [hz],
    }
    return changed(name, {**frequency, **(changes or {})})


def square(harmonics: int, changes: Mapping[str, object] | None = None) -> halfreal.Definition:
    """The test with a square wave and another number of harmonics."""
    base = changed("square", {}).coupling.base_frequency
    number = {
        "coupling.harmonics": harmonics,
        "rig.parameters.frequencies": [base * k for k in range(1, harmonics + 1)],
    }
    return changed("square", {**number, **(changes or {})})


def rls(forgetting: float) -> dict[str, object]:
    """Changes to recursive least squares with this factor."""
    return {"coupling.forgetting": forgetting}


def lms(memory: str) -> dict[str, object]:
    """Changes to least mean squares with this time in which the gap is to close."""
    law = {"coupling.kind": "harmonic lms", "coupling.mode": None, "coupling.memory": memory}
    return {**NO_GAIN, **law, "coupling.identification_memory": "1 s"}


def automatic(law: Literal["LMS", "RLS"]) -> dict[str, object]:
    """Changes that leave all times of a law to be chosen from the model."""
    left_out = {**NO_GAIN, "coupling.random_interval": None}
    return left_out if law == "RLS" else {**left_out, "coupling.kind": "harmonic lms", "coupling.mode": None}


# --- records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """Signals of a rehearsal from its start to its end, or to its trip."""

    definition: halfreal.Definition
    time: np.ndarray
    signals: dict[str, np.ndarray]
    tripped: bool

    @property
    def adapting(self) -> np.ndarray:
        """Seconds since the adaption has begun."""
        return self.time - self.definition.coupling.identification_time

    @property
    def gap_square(self) -> np.ndarray:
        """gᵀg."""
        return sum((self.signals[f"measured.displacement.{i}"] - self.signals[f"target.{i}"]) ** 2 for i in ENDS)

    def amplitude(self, name: str, hz: float, seconds: float) -> complex:
        """X of a signal Re(X e^{jωt}) over the last seconds."""
        last = self.time > self.time[-1] - seconds
        angle = 2 * np.pi * hz * self.time[last]
        real, imaginary = np.linalg.lstsq(
            np.column_stack([np.cos(angle), -np.sin(angle)]), self.signals[name][last], rcond=None
        )[0]
        return complex(real, imaginary)

    def receptances(self, hz: float, seconds: float = 2.0) -> np.ndarray:
        """H_Pz, H_Bz [m/N], H_Bα [rad/N] over the last seconds."""
        force = self.amplitude("excitation.virtual", hz, seconds)
        return np.array([self.amplitude(name, hz, seconds) / force for name in RESPONSES])


def run(definition: halfreal.Definition, more: Sequence[str] = ()) -> Record:
    """Rehearse the test, once and without its analyses; ``more`` channels are recorded too."""
    loop = halfreal.build(definition)
    record = (*CHANNELS, *RESPONSES, "guard.mode", *more)
    log = loop.run(definition.timing.ticks, record=record).log
    signals = {name: log[:, 1 + i] for i, name in enumerate(record)}
    beyond = np.flatnonzero(signals["guard.mode"])
    end = beyond[0] if beyond.size else len(log)
    return Record(definition, log[:end, 0], {name: values[:end] for name, values in signals.items()}, bool(beyond.size))


def learning_curve(record: Record, largest: np.ndarray, window: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Envelope of the NMSE: its largest value in each window, over the seconds since the adaption has begun."""
    each = round(window / record.definition.timing.step)
    ratio = record.gap_square[record.adapting > -1e-9] / (largest @ largest)
    windows = ratio[: len(ratio) // each * each].reshape(-1, each)
    return window * np.arange(1, len(windows) + 1), windows.max(axis=1)


def nmse_at(record: Record, largest: np.ndarray, seconds: float) -> float:
    """The learning curve so many seconds after the adaption has begun."""
    time, curve = learning_curve(record, largest)
    return float(curve[np.argmin(np.abs(time - seconds))])


# --- a plate that bends -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flexible:
    """How well a plate that bends is taken off, relative errors."""

    force: float
    """Of the force as measured, against the specimen's own."""
    displacement: float
    """Of the displacement at the actuators' distance from B."""
    response: float
    """Largest of H_Pz, H_Bz, H_Bα, integration apart."""


def flexible(hz: float, height: float, modes: int) -> Flexible:
    """``flexible_plate.toml`` at a frequency, with a plate of some height [m] and some modes of its reduced model."""
    changes = {"rig.parameters.plate_height": height, "rig.parameters.plate_modes": modes}
    true = [f"rig.{what}.{i}" for what in ("force", "displacement") for i in ENDS]
    measured = [f"measured.{what}.{i}" for what in ("force", "displacement") for i in ENDS]
    record = run(sine(hz, changes, "flexible_plate"), [*true, *measured[:2]])
    known, found = (np.array([record.amplitude(name, hz, 2.0) for name in names]) for names in (true, measured))
    found = found / amplifier(hz)
    errors = [
        float(np.linalg.norm(found[part] - known[part]) / np.linalg.norm(known[part]))
        for part in (slice(0, 2), slice(2, 4))
    ]
    response = np.abs(record.receptances(hz) / emulated(hz, "exact")[0] - 1).max()
    return Flexible(errors[0], errors[1], float(response))


def amplifier(hz: float) -> complex:
    """What the amplifiers, which all sensors share, do at a frequency."""
    numerator, denominator = scipy.signal.butter(rig.ORDER, 2 * np.pi * rig.BANDWIDTH, analog=True)
    return complex(scipy.signal.freqs(numerator, denominator, [2 * np.pi * hz])[1][0])


# --- what must come out -----------------------------------------------------------------------------------------------


def assembled(hz: np.ndarray | float) -> np.ndarray:
    """H_Pz, H_Bz, H_Bα of both beams joined, (frequencies, 3)."""
    point = f"beam.{rig.P_NODE}.w"
    return rig.assembled().receptance(np.atleast_1d(hz), [point, *rig.PLATE], [point])[:, :, 0]


def virtual_alone(hz: np.ndarray | float, scheme: Scheme = "continuous", step: float = 2e-4) -> np.ndarray:
    """Ends, P, B and slope at B for the force at P and the specimen's two forces, (frequencies, 5, 3)."""
    system = rig.virtual().system("force")
    a, b, c, d = system.first_order()
    omega = 2 * np.pi * np.atleast_1d(hz)[:, None, None]
    eye = np.eye(len(a))
    if scheme == "exact":  # inputs are linear between samples
        z = np.exp(1j * omega * step)
        transition, earlier, later = discretise(a, b, step, "first")
        answer = c @ np.linalg.solve(z * eye - transition, earlier + z * later) + d
    else:  # Newmark's method with β = ¼, γ = ½ is the trapezoidal rule: it takes ω for (2/Δt) tan(ωΔt/2)
        warped = omega if scheme == "continuous" else 2 / step * np.tan(0.5 * omega * step)
        answer = c @ np.linalg.solve(1j * warped * eye - a, b) + d
    return np.delete(answer, 1, axis=2)  # the force's rate does not act


def emulated(hz: np.ndarray | float, scheme: Scheme, step: float = 2e-4, *, with_plate: bool = False) -> np.ndarray:
    """H_Pz, H_Bz, H_Bα of the hybrid test with a closed gap, (frequencies, 3).

    ``with_plate``: as it is if the plate's inertia is taken for the specimen's.
    """
    hz = np.atleast_1d(hz)
    stiffness = np.linalg.inv(rig.specimen().receptance(hz, rig.PLATE, rig.PLATE))
    if with_plate:
        stiffness = stiffness - (2 * np.pi * hz[:, None, None]) ** 2 * rig.transfer_system().mass
    back = np.linalg.inv(rig.ENDS)
    resisting = back.T @ stiffness @ back
    answer = virtual_alone(hz, scheme, step)
    to_force, to_feedback = answer[:, :, :1], answer[:, :, 1:]
    ends = np.linalg.solve(np.eye(2) - to_feedback[:, :2] @ resisting, to_force[:, :2])
    return (to_force + to_feedback @ resisting @ ends)[:, 2:, 0]


def largest_ends(definition: halfreal.Definition) -> np.ndarray:
    """y_max of a sine: amplitudes at the ends of the assembled structure [m]."""
    excitation = definition.excitation.virtual
    return np.abs(rig.ENDS @ assembled(excitation.frequency)[0, 1:]) * excitation.amplitude


def square_floor(definition: halfreal.Definition) -> tuple[np.ndarray, np.ndarray]:
    """y_max of a square wave, and the gap over a period that its harmonics beyond the coupling's leave, (samples, 2).

    There nothing is driven, and the virtual beam answers alone.
    """
    excitation, step = definition.excitation.virtual, definition.timing.step
    orders = np.arange(1, 2 * excitation.terms, 2)
    hz, size = excitation.frequency * orders, 4 / np.pi / orders * excitation.amplitude
    turning = np.exp(2j * np.pi * hz * np.arange(0.0, 1.0 / excitation.frequency - 0.5 * step, step)[:, None])
    whole = turning @ (size[:, None] * (assembled(hz)[:, 1:] @ rig.ENDS.T))
    beyond = orders > definition.coupling.harmonics
    left = (beyond * size)[:, None] * virtual_alone(hz, "exact", step)[:, :2, 0]
    return np.abs(whole.imag).max(axis=0), (turning @ left).imag
