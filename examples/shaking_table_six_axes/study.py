"""The test of this folder in pieces: the table's axes, compensation, and modal analysis of the assembled structure.

python study.py            # prints the tables of the README
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import parts

import halfreal
from halfreal.couplings import AxisFilters, Direct
from halfreal.identification import AssembledFRF, Estimate, Poles, frf_of_run, lsce, lscf, modes_of
from halfreal.models import Pulse, Random, SteppedSine
from halfreal.records import SCALAR, Contents, Modes, Place, Responses, write_uff
from halfreal.rigs import tune_controller
from halfreal.runs import linearised
from halfreal.studies import AxisFollowing, TableTuning, follows, tune_table

HERE = Path(__file__).parent
STEP = 1e-3  # s
BAND, FIT_BAND = 25.0, 50.0  # Hz
LOWEST, HIGHEST = 2.0, 26.0  # Hz, of the modes looked for
PERIOD, PERIODS = 16.0, 5  # s, of the random force, and how many are averaged
CHANNELS = (*(f"virtual.{name}" for name in parts.WING_RESPONSES), *(f"rig.{name}" for name in parts.STORE_RESPONSES))
DOFS = (*parts.WING_RESPONSES.values(), *parts.STORE_RESPONSES.values())


def definition() -> halfreal.Definition:
    return halfreal.load(HERE / "six_axes.toml")


# --- compensation of the table ----------------------------------------------------------------------------------------


def response(test: halfreal.Definition, axis: int) -> Estimate:
    """How one axis (from 1) follows a random target through the test's coupling."""
    return follows(test, axis, FIT_BAND)


@cache
def tuning() -> TableTuning:
    """Every axis measured, fitted and inverted, and predictions tried, as ``halfreal tune`` does it."""
    return tune_table(definition())


def axes() -> tuple[AxisFollowing, ...]:
    return tuning().axes


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


def noise(times: float, seed: int) -> dict[str, Any]:
    """Noise of the sensors as so many times that of the rod's test, 2 µm and 0.5 N, and its seed."""
    of_motion, of_force = ("displacement", "rotation"), ("force", "moment")
    told = {f"rig.sensors.{name}.noise": 2e-6 * times for name in of_motion}
    return {**told, **{f"rig.sensors.{name}.noise": 0.5 * times for name in of_force}, "timing.seed": seed}


def rehearsed(coupling: Any, excitation: Any, duration: float, changes: dict[str, Any] | None = None) -> halfreal.Run:
    test = definition().with_values(changes or {})
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


def from_random(coupling: Any, changes: dict[str, Any] | None = None) -> AssembledFRF:
    """Responses of all channels to a random virtual force: whole periods are averaged after the first."""
    return frf_of_run(rehearsed(coupling, random_force(), (1 + PERIODS) * PERIOD, changes), CHANNELS)


def by_random(coupling: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lines [Hz] and responses, (channels, lines)."""
    found = from_random(coupling)
    return found.frequency_hz, found.values


def by_impulse(coupling: Any, duration: float = 24.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lines, responses and free decays, (channels, samples), from an impulse."""
    run = rehearsed(coupling, Pulse.model_validate({"kind": "pulse", "force": 3e3, "duration": 12e-3}), duration)
    found = frf_of_run(run, CHANNELS).between(0.0, 40.0)
    assert found.decays is not None
    return found.frequency_hz, found.values, found.decays


def by_stepped_sine(coupling: Any, frequencies_hz: np.ndarray, dwell: float = 16.0) -> np.ndarray:
    """Responses at single frequencies, (channels, frequencies)."""
    sine = SteppedSine.model_validate(
        {"kind": "stepped sine", "force": 100.0, "frequencies": frequencies_hz, "dwell": dwell}
    )
    return frf_of_run(rehearsed(coupling, sine, dwell * len(frequencies_hz)), CHANNELS).values


def true_response(frequency_hz: np.ndarray) -> np.ndarray:
    """Of the assembled structure, (channels, frequencies)."""
    whole = parts.assembled()
    found = whole.receptance(frequency_hz, DOFS, whole.dofs) @ parts.pushed(whole)
    return np.asarray(found.T)


def modal(hz: np.ndarray, responses: np.ndarray) -> Poles:
    return lscf(hz, responses, lowest_hz=LOWEST, highest_hz=HIGHEST, order=30)


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


def reference() -> Place:
    """The virtual force, which acts on a node along two axes, as other programs are told it: a scalar with a name."""
    (node,) = {dof.rsplit(".", 1)[0] for dof in parts.FORCE}
    name = " + ".join(f"{share:g} {dof.rsplit('.', 1)[1]}" for dof, share in parts.FORCE.items())
    return Place(NODES[node], SCALAR, name)


def contents(coupling: Any) -> Contents:
    """Responses to the virtual force, modes and nodes, to be written as a universal file or a MAT file."""
    found = from_random(coupling)
    modes = modes_of(found, lowest_hz=LOWEST, highest_hz=HIGHEST)
    outputs = tuple(place(dof) for dof in DOFS)
    where = {NODES[node]: position for node, position in parts.positions().items()}
    given = Responses(found.frequency_hz, found.values[:, None, :], outputs, (reference(),))
    return Contents(given, Modes(modes.poles, modes.residues, outputs), where)


def main() -> None:
    gains = tune_controller(definition().rig, BAND)
    print(f"gains for {BAND:g} Hz: {gains.proportional:.4g} 1/s, {gains.derivative:.3g}")
    for one in axes():
        before, behind, after = (1e3 * delay for delay in one.delays)
        low, high = one.amplitudes
        delays = f"{before:.2f} ms, behind the inverse {behind:.2f} ms, with prediction {after:.2f} ms"
        print(f"{one.name:>2}: {delays}, {low:.3f} … {high:.3f}")
    for name, coupling in couplings().items():
        hz, responses = by_random(coupling)
        found = modal(hz, responses)
        print(f"\n{name}: {found.summary()}\n  true Hz   %    loop Hz   %    random Hz   %    MAC")
        for row in table(coupling, found):
            print("  {:7.3f} {:5.2f}  {:7.3f} {:5.2f}  {:7.3f} {:5.2f}  {:.3f}".format(*row))
        hz, responses, decays = by_impulse(coupling)
        print("  impulse, LSCF:", modal(hz, responses).summary())
        print("  impulse, LSCE:", lsce(decays, STEP, len(true_poles()[0]), highest_hz=HIGHEST).summary())
    write_uff("six_axes.uff", contents(couplings()["inverse and prediction"]))
    print("\nresponses, modes and nodes: six_axes.uff")


if __name__ == "__main__":
    main()
