"""The test of this folder in pieces: rod, table, compensation, and what recorded decays tell.

python study.py            # identify the table, and print what is found at every delay
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

import halfreal
from halfreal.contracts import StateSpace
from halfreal.couplings import AxisFilters, Sections
from halfreal.identification import (
    Estimate,
    ModalError,
    Poles,
    delay_from_phase,
    estimate,
    inverse_filter,
    lsce_supported,
    lscf,
    measured,
    programme,
    vector_fit,
)
from halfreal.models import BaseExcited, Random, discretise
from halfreal.rigs import Pid, tune_controller
from halfreal.runs import linearised, measured_errors, worst
from halfreal.stability import Tracks, substructured_loop, track

HERE = Path(__file__).parent
ELEMENT_MASS, ELEMENT_STIFFNESS, ELEMENTS = 10.8003, 280_075.0, 10  # kg, N/m
MASS = 12.5  # kg
STEP = 1e-3  # s
PROCESSING = 2e-3  # s, of a command on its way to the table's controllers
BAND = 30.0  # Hz
FIT_BAND, POLES, LOW_PASS = 60.0, 3, 90.0  # Hz, of the rational fit, its poles, and the low-pass of its inverse
HIGHEST = 25.0  # Hz, of the motions looked for in decays
PULSE = 20e-3  # s, length of the impulse
DECAYED = 0.02  # part of the largest displacement below which a motion has decayed at the end of its record


# --- the rod and its loop ---------------------------------------------------------------------------------------------


def rod_matrices() -> tuple[np.ndarray, np.ndarray]:
    """Mass and stiffness of the rod, its fixed end left out; the tip is last."""
    n = ELEMENTS + 1
    mass, stiffness = np.zeros((n, n)), np.zeros((n, n))
    for e in range(ELEMENTS):
        mass[e : e + 2, e : e + 2] += ELEMENT_MASS / 6 * np.array([[2, 1], [1, 2]])
        stiffness[e : e + 2, e : e + 2] += ELEMENT_STIFFNESS * np.array([[1, -1], [-1, 1]])
    return mass[1:, 1:], stiffness[1:, 1:]


def rod_modes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and modal masses [kg], shapes being 1 at the tip: Table 1."""
    mass, stiffness = rod_matrices()
    squares, shapes = scipy.linalg.eigh(stiffness, mass)
    return np.sqrt(squares[:count]) / (2 * np.pi), 1.0 / shapes[-1, :count] ** 2


def rod_with_mass() -> np.ndarray:
    """Frequencies [Hz] of all of the rod with the mass at its tip."""
    mass, stiffness = rod_matrices()
    mass[-1, -1] += MASS
    return np.asarray(np.sqrt(scipy.linalg.eigh(stiffness, mass, eigvals_only=True)) / (2 * np.pi))


def definition(changes: dict[str, Any] | None = None) -> halfreal.Definition:
    return halfreal.load(HERE / "rod.toml").with_values(changes or {})


def open_loop(test: halfreal.Definition) -> StateSpace:
    """L of rod and mass without table, delay or sampling."""
    specimen = BaseExcited(np.array([[MASS]]), np.zeros((1, 1)), np.zeros((1, 1)), (0,))
    return substructured_loop(test.virtual.system("none"), specimen)


def coupled_poles() -> np.ndarray:
    """Poles s [1/s] of the modes that run with the mass, without delay, by frequency."""
    found = np.linalg.eigvals(open_loop(definition()).closed())
    upper = found[found.imag > 0]
    return np.asarray(upper[np.argsort(np.abs(upper))])


def tracks(samples: int = 40) -> Tracks:
    """Poles of the sampled loop against a pure delay, as the paper computes them."""
    loop = open_loop(definition())
    transition, held, _ = discretise(loop.a, loop.b, STEP, "zero")
    return track(StateSpace(transition, held, loop.c, loop.d, STEP), samples)


# --- the table --------------------------------------------------------------------------------------------------------


def response(test: halfreal.Definition) -> Estimate:
    """How the table follows a random target through the test's own coupling, from 0.5 to 70 Hz."""
    noise = Random.model_validate(
        {"displacement": 0.3e-3, "frequency": 0.5, "to": 70.0, "period": 8.0, "ramp": 0.5, "kind": "random"}
    )
    plan = programme(test, noise, 40.0).model_copy(update={"coupling": test.coupling})
    run = halfreal.rehearse(plan)
    measured(run, noise)  # refuses one that did not come to its end
    target, moved = run.vector("target"), run.vector("measured.displacement")
    assert target is not None and moved is not None
    kept = run.time >= 8.0
    return estimate(target[kept, 0], moved[kept, 0], STEP, window=8.0).between(0.5, 70.0)


def with_table(controller: Pid, filters: Sections | None) -> halfreal.Definition:
    coupling = halfreal.Definition.model_fields["coupling"].default
    if filters is not None:
        coupling = AxisFilters(kind="feed-forward filters", filters=(filters,))
    test = definition()
    return test.model_copy(update={"coupling": coupling, "rig": test.rig.model_copy(update={"controller": controller})})


@dataclass(frozen=True)
class Compensation:
    """The table before tuning, with tuned controllers, and behind the inverse of its fit (Fig. 8)."""

    initial: Estimate
    tuned: Estimate
    compensated: Estimate
    controller: Pid
    filters: Sections

    def delays(self) -> list[float]:
        """Slope of the phase of each up to 30 Hz [s]."""
        parts = [one.between(0.5, BAND) for one in (self.initial, self.tuned, self.compensated)]
        return [delay_from_phase(part.frequency_hz, part.response) for part in parts]


@cache
def compensation() -> Compensation:
    """Measure, tune, measure, fit, invert, measure."""
    gains = tune_controller(definition().rig, BAND)
    controller = Pid(proportional=float(f"{gains.proportional:.3g}"), derivative=float(f"{gains.derivative:.3g}"))
    initial, tuned = (response(with_table(one, None)) for one in (Pid(), controller))
    lines = tuned.between(0.5, FIT_BAND)
    fit = vector_fit(lines.frequency_hz, lines.response, POLES, constant=False)
    filters = inverse_filter(fit, FIT_BAND, LOW_PASS)
    return Compensation(initial, tuned, response(with_table(controller, filters)), controller, filters)


# --- decays at every delay --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decay:
    """A recorded free motion after the impulse, the poles in it, and those of the code that ran."""

    total_delay: float
    time: np.ndarray
    displacement: np.ndarray
    found: Poles | None
    """By least-squares complex exponentials; None where the record is too short before the motion meets limits."""
    from_response: Poles | None
    """By least-squares complex frequency, from the response to the impulse; None where it does not decay in time."""
    computed: np.ndarray
    """Slow oscillating poles s [1/s] of the linearised loop, the table with all its dynamics in it."""


def decay(artificial: float, modes: int, changes: dict[str, Any] | None = None) -> Decay:
    """Rehearse the test with an artificial delay [s] on top of the table's own, and look for poles in its decay."""
    test = definition({"rig.delay": PROCESSING + artificial, **(changes or {})})
    run = halfreal.rehearse(test)
    values = run.vector("measured.displacement")
    assert values is not None
    linear = np.cumsum(run.signals["rig.saturated"].values) == 0  # until a growing motion meets the valves' limit
    free = (run.time > PULSE + test.rig.delay) & linear
    try:
        found = lsce_supported(values[free, 0], STEP, modes, highest_hz=HIGHEST)
    except ModalError:
        found = None
    force = run.signals["excitation.virtual"].values
    from_response = None
    decayed = np.abs(values[-500:, 0]).max() < DECAYED * np.abs(values[:, 0]).max()
    if run.outcome == "completed" and decayed:
        hz = np.fft.rfftfreq(len(force), STEP)
        ratio = np.fft.rfft(values[:, 0])[hz < 40.0] / np.fft.rfft(force)[hz < 40.0]
        from_response = lscf(hz[hz < 40.0], ratio, lowest_hz=1.0, highest_hz=HIGHEST, order=20)
    poles = linearised(test).continuous
    slow = poles[(poles.imag > 0) & (np.abs(poles) < 2 * np.pi * 2 * HIGHEST) & (poles.real > -60.0)]
    return Decay(
        facility_delay() + artificial, run.time, values[:, 0], found, from_response, slow[np.argsort(np.abs(slow))]
    )


@cache
def facility_delay() -> float:
    """Delay of the compensated table as its phase tells it [s]."""
    return compensation().delays()[2]


ARTIFICIAL = (0.0, 4e-3, 8e-3, 12e-3, 16e-3, 20e-3, 23e-3, 25e-3, 27e-3, 28e-3, 29e-3, 30e-3)


def decays(artificial: Sequence[float] = ARTIFICIAL) -> list[Decay]:
    return [decay(extra, 2 if extra < 10e-3 else 3) for extra in artificial]


def errors(test: halfreal.Definition) -> tuple[float, float]:
    """Synchronisation and fidelity error of its rehearsal."""
    rows = measured_errors(halfreal.rehearse(test))
    found = [worst(rows, name) for name in ("synchronisation", "fidelity")]
    assert all(one is not None for one in found)
    return found[0].nrmse, found[1].nrmse  # type: ignore[union-attr]


def main() -> None:
    table = compensation()
    initial, tuned, left = (1e3 * delay for delay in table.delays())
    print(f"gains {table.controller.proportional:g} 1/s and {table.controller.derivative:g}")
    print(f"delay of the table up to {BAND:g} Hz: {initial:.2f} ms, tuned {tuned:.2f} ms, compensated {left:.2f} ms")
    print(f"inverse filter: {table.filters}")
    for one in decays():
        told = "none" if one.found is None else one.found.summary()
        own = ", ".join(f"{abs(s) / 2 / np.pi:.3f} Hz {-100 * s.real / abs(s):.2f} %" for s in one.computed)
        other = "none" if one.from_response is None else one.from_response.summary()
        print(f"{1e3 * one.total_delay:6.2f} ms  LSCE {told}\n           LSCF {other}\n       computed {own}")


if __name__ == "__main__":
    main()
