"""The test of this folder in pieces: the table's axes, compensation, and modal analysis of the assembled structure.

python study.py            # prints the tables of the README
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import parts

import halfreal
from halfreal.couplings.axis_filters import AxisFilters
from halfreal.couplings.direct import Direct
from halfreal.couplings.transfer_function import Sections
from halfreal.identification.experiment import measured, programme
from halfreal.identification.feed_forward import delay_from_phase, inverse_filter
from halfreal.identification.frf import Estimate, estimate, stepped_sine
from halfreal.identification.lsce import lsce
from halfreal.identification.lscf import lscf
from halfreal.identification.poles import Poles
from halfreal.identification.vector_fitting import vector_fit
from halfreal.models.excitation import Pulse, Random, SteppedSine
from halfreal.records.exchange_formats import Contents, Modes, Place, Responses
from halfreal.records.universal_file import write_uff
from halfreal.rigs.interface_geometry import AXES
from halfreal.rigs.table_tuning import tune
from halfreal.runs.loop_stability import linearised

HERE = Path(__file__).parent
STEP = 1e-3  # s
BAND, FIT_BAND, FIT_POLES, LOW_PASS = 25.0, 50.0, 3, 90.0  # Hz
ORDER, POINTS = 3, 12  # of the prediction
HIGHEST = 26.0  # Hz, of the modes looked for
PERIOD, PERIODS = 16.0, 5  # s, of the random force, and how many are averaged
CHANNELS = (*(f"virtual.{name}" for name in parts.WING_RESPONSES), *(f"rig.{name}" for name in parts.STORE_RESPONSES))
DOFS = (*parts.WING_RESPONSES.values(), *parts.STORE_RESPONSES.values())


def definition() -> halfreal.Definition:
    return halfreal.load(HERE / "six_axes.toml")


# --- compensation of the table ----------------------------------------------------------------------------------------


def response(test: halfreal.Definition, axis: int) -> Estimate:
    """How one axis (from 1) follows a random target through the test's coupling."""
    noise = Random.model_validate(
        {"displacement": 0.2e-3, "frequency": 0.5, "to": 60.0, "period": 8.0, "ramp": 0.5, "kind": "random"}
    )
    run = halfreal.rehearse(programme(test, noise, 24.0, axis).model_copy(update={"coupling": test.coupling}))
    measured(run, noise, axis)  # refuses one that did not come to its end
    target, moved = run.vector("target"), run.vector("measured.displacement")
    assert target is not None and moved is not None
    kept = run.time >= 8.0
    found = estimate(target[kept, axis - 1], moved[kept, axis - 1], STEP, window=8.0)
    return found.between(0.5, FIT_BAND)


@dataclass(frozen=True)
class Axis:
    """An axis as it follows, its inverse filter, and the delay before and after [s]."""

    name: str
    before: Estimate
    after: Estimate
    filters: Sections

    def delays(self) -> tuple[float, float]:
        found = [one.between(0.5, BAND) for one in (self.before, self.after)]
        before, after = (delay_from_phase(one.frequency_hz, one.response) for one in found)
        return before, after


@cache
def axes() -> tuple[Axis, ...]:
    """Measure, fit and invert every axis."""
    test = definition().model_copy(update={"coupling": Direct()})
    before = [response(test, axis) for axis in range(1, 7)]
    fits = [vector_fit(one.frequency_hz, one.response, FIT_POLES, constant=False) for one in before]
    filters = tuple(inverse_filter(fit, FIT_BAND, LOW_PASS) for fit in fits)
    inverse = test.model_copy(update={"coupling": AxisFilters(kind="feed-forward filters", filters=filters)})
    after = [response(inverse, axis) for axis in range(1, 7)]
    return tuple(Axis(*one) for one in zip(AXES, before, after, filters, strict=True))


def couplings() -> dict[str, Any]:
    """Without compensation, with inverse filters, and with inverse filters and prediction: as in the definition."""
    whole = definition().coupling
    assert isinstance(whole, AxisFilters)
    return {
        "none": Direct(),
        "inverse": whole.model_copy(update={"prediction": np.zeros(1)}),
        "inverse and prediction": whole,
    }


# --- modal analysis ---------------------------------------------------------------------------------------------------


def rehearsed(coupling: Any, excitation: Any, duration: float) -> halfreal.Run:
    test = definition()
    timing = test.timing.model_copy(update={"duration": duration})
    driven = test.excitation.model_copy(update={"virtual": excitation})
    run = halfreal.rehearse(
        test.model_copy(update={"coupling": coupling, "excitation": driven, "timing": timing, "reference": None})
    )
    assert run.outcome == "completed", run.reason
    return run


def random_force() -> Random:
    return Random.model_validate(
        {"kind": "random", "force": 150.0, "frequency": 1.0, "to": 40.0, "period": PERIOD, "ramp": 1.0}
    )


def by_random(coupling: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lines [Hz] and responses of all channels over the virtual force, (channels, lines), from a random force.

    The force repeats: whole periods are averaged after the first, and need no window.
    """
    run = rehearsed(coupling, random_force(), (1 + PERIODS) * PERIOD)
    length = round(PERIOD / STEP)
    names = ("excitation.virtual", *CHANNELS)
    periods = np.array([run.signals[name].values[length : (1 + PERIODS) * length] for name in names])
    spectra = np.fft.rfft(periods.reshape(len(names), PERIODS, length).mean(axis=1))
    hz = np.fft.rfftfreq(length, STEP)
    driven = (hz >= 1.0) & (hz <= 40.0)
    return hz[driven], spectra[1:, driven] / spectra[0, driven]


def by_impulse(coupling: Any, duration: float = 24.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lines, responses and free decays, (channels, samples), from an impulse."""
    run = rehearsed(coupling, Pulse.model_validate({"kind": "pulse", "force": 3e3, "duration": 12e-3}), duration)
    force = run.signals["excitation.virtual"].values
    values = np.array([run.signals[name].values for name in CHANNELS])
    hz = np.fft.rfftfreq(force.size, STEP)
    inside = (hz > 0) & (hz < 40.0)
    ratio = np.fft.rfft(values)[:, inside] / np.fft.rfft(force)[inside]
    return hz[inside], ratio, values[:, run.time > 0.03]


def by_stepped_sine(coupling: Any, frequencies_hz: np.ndarray, dwell: float = 16.0) -> np.ndarray:
    """Responses at single frequencies, (channels, frequencies)."""
    sine = SteppedSine.model_validate(
        {"kind": "stepped sine", "force": 100.0, "frequencies": frequencies_hz, "dwell": dwell}
    )
    run = rehearsed(coupling, sine, dwell * len(frequencies_hz))
    force = run.signals["excitation.virtual"].values
    settle = 0.75 * dwell
    found = [
        stepped_sine(run.time, force, run.signals[name].values, frequencies_hz, dwell, settle=settle)
        for name in CHANNELS
    ]
    return np.array([one.response for one in found])


def true_response(frequency_hz: np.ndarray) -> np.ndarray:
    """Of the assembled structure, (channels, frequencies)."""
    whole = parts.assembled()
    found = whole.receptance(frequency_hz, DOFS, whole.dofs) @ parts.pushed(whole)
    return np.asarray(found.T)


def modal(hz: np.ndarray, responses: np.ndarray) -> Poles:
    return lscf(hz, responses, lowest_hz=2.0, highest_hz=HIGHEST, order=30)


@cache
def true_poles() -> tuple[np.ndarray, np.ndarray]:
    """Poles of the assembled structure, and their shapes at the channels."""
    whole = parts.assembled()
    poles, shapes = parts.poles(whole, HIGHEST)
    return poles, whole.selection(DOFS) @ shapes


def loop_poles(coupling: Any) -> np.ndarray:
    """Poles of the code that runs, one for each of the assembled structure: that which is nearest."""
    found = linearised(definition().model_copy(update={"coupling": coupling})).continuous
    return np.array([found[np.argmin(np.abs(found - pole))] for pole in true_poles()[0]])


def mac(one: np.ndarray, other: np.ndarray) -> float:
    """Modal assurance criterion of two shapes."""
    return float(abs(one.conj() @ other) ** 2 / ((one.conj() @ one).real * (other.conj() @ other).real))


def table(coupling: Any, found: Poles) -> list[tuple[float, ...]]:
    """For each true mode: its Hz and %, those of the code that ran, those identified, and the MAC of the shape."""
    rows = []
    poles, shapes = true_poles()
    for i, (true, own) in enumerate(zip(poles, loop_poles(coupling), strict=True)):
        k = int(np.argmin(np.abs(found.poles - own)))
        values = [value for s in (true, own, found.poles[k]) for value in (abs(s) / 2 / np.pi, -100 * s.real / abs(s))]
        rows.append((*values, mac(shapes[:, i], found.residues[:, k])))
    return rows


NODES = {f"wing.{i}": i for i in range(1, parts.WING_ELEMENTS + 2)} | {f"body.{i}": 100 + i for i in range(1, 6)}
"""Numbers of the nodes, for other programs."""


def place(dof: str) -> Place:
    node, direction = dof.rsplit(".", 1)
    return Place(NODES[node], direction)


def contents(coupling: Any) -> Contents:
    """Responses to the virtual force, modes and nodes, to be written as a universal file or a MAT file.

    The force acts on the tip, along x and z; as a reference it is named after its larger part.
    """
    hz, responses = by_random(coupling)
    found = modal(hz, responses)
    outputs = tuple(place(dof) for dof in DOFS)
    where = {NODES[node]: position for node, position in parts.positions().items()}
    given = Responses(hz, responses[:, None, :], outputs, (Place(parts.TIP, "z"),))
    return Contents(given, Modes(found.poles, found.residues, outputs), where)


def main() -> None:
    gains = tune(definition().rig, BAND)
    print(f"gains for {BAND:g} Hz: {gains.proportional:.4g} 1/s, {gains.derivative:.3g}")
    for one in axes():
        before, after = (1e3 * delay for delay in one.delays())
        size = np.abs(one.after.between(0.5, BAND).response)
        print(f"{one.name:>2}: {before:.2f} ms, behind the inverse {after:.2f} ms, {size.min():.3f} … {size.max():.3f}")
    for name, coupling in couplings().items():
        hz, responses = by_random(coupling)
        found = modal(hz, responses)
        print(f"\n{name}: {found.summary()}\n  true Hz   %    loop Hz   %    random Hz   %    MAC")
        for row in table(coupling, found):
            print("  {:7.3f} {:5.2f}  {:7.3f} {:5.2f}  {:7.3f} {:5.2f}  {:.3f}".format(*row))
        hz, responses, decays = by_impulse(coupling)
        print("  impulse, LSCF:", modal(hz, responses).summary())
        print("  impulse, LSCE:", lsce(decays, STEP, len(true_poles()[0]), highest_hz=HIGHEST).summary())
    write_uff("six_axes.uff", contents(couplings()["inverse and prediction"]), leave_out_rotations=True)
    print("\nresponses, modes and nodes: six_axes.uff")


if __name__ == "__main__":
    main()
