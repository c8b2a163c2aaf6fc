"""The strut-braced wing's tests: what the figures and the tests of this folder share.

D_a is the measured displacement of the actuator, D_n the target of the virtual device, F_m the force on the device; all
are phasors at the frequency of the gusts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import halfreal
from halfreal.contracts import Device
from halfreal.models import polynomials
from halfreal.runs import LoopStability, linearised
from halfreal.stability import Follower, Following
from halfreal.studies import SHAKER_RANGES, CompensatorBands, compensator_bands

HERE = Path(__file__).parent
SETTLED = 0.5
"""Part of a dwell after which the response is steady."""
LINES = np.linspace(0.25, 15.0, 119)
LIFT, RISE = 40.0, 20.0
"""Of the wing at full airspeed [N], and how long the airspeed rises [s]: ours."""


@dataclass(frozen=True)
class Stepped:
    """A stepped gust train: at each frequency D_a, D_n, D_c [m], F_m [N] and where the actuator truly is [m]."""

    frequency_hz: np.ndarray
    actuator: np.ndarray
    device: np.ndarray
    command: np.ndarray
    force: np.ndarray
    true: np.ndarray
    run: halfreal.Run

    @property
    def ratio(self) -> np.ndarray:
        """D_a/D_n: 1 if the interface were perfect."""
        return self.actuator / self.device

    @property
    def true_ratio(self) -> np.ndarray:
        """The same without the noise and the resolution of the displacement sensor."""
        return self.true / self.device

    @property
    def compensator(self) -> np.ndarray:
        """P = D_c/D_n."""
        return self.command / self.device

    @property
    def emulated(self) -> np.ndarray:
        """N as the specimen feels it, D_a/F_m [m/N]."""
        return self.actuator / self.force


def stepped(name: str) -> Stepped:
    """Rehearse a stepped test of this folder and read off the phasors."""
    return measured(halfreal.load(HERE / f"{name}.toml"))


def measured(definition: halfreal.Definition) -> Stepped:
    """Rehearse a stepped test and read off the phasors."""
    gusts = definition.excitation.specimen
    run = rehearsed(definition)
    assert run.outcome == "completed", run.reason
    names = ("measured.displacement", "target", "command", "measured.force", "rig.displacement")
    rows = []
    for i, hz in enumerate(gusts.frequencies):
        kept = (run.time >= (i + SETTLED) * gusts.dwell) & (run.time < (i + 1) * gusts.dwell)
        t = run.time[kept]
        basis = np.column_stack([np.cos(2 * np.pi * hz * t), np.sin(2 * np.pi * hz * t), np.ones_like(t), t - t[0]])
        signals = [run.signals[name].values[kept] for name in names]
        weights = np.linalg.lstsq(basis, np.column_stack(signals), rcond=None)[0]
        rows.append(weights[0] - 1j * weights[1])
    actuator, device, command, resisting, true = np.array(rows).T
    return Stepped(np.asarray(gusts.frequencies), actuator, device, command, -resisting, true, run)


def on_the_rig(definition: halfreal.Definition, seed: int = 1) -> Stepped:
    """A test whose model is that of a continuous drive, on the rig, whose drive is sampled: the model does not know."""
    rig = halfreal.load(HERE / "stepped_sampled.toml").rig
    known = definition.coupling.with_model_data(definition)
    return measured(definition.with_values({"timing.seed": seed}).model_copy(update={"rig": rig, "coupling": known}))


def tuned_on_the_rig() -> tuple[Stepped, Stepped, Stepped, Stepped]:
    """The table of the continuous model on the sampled drive; corrected by its record, by two records, and that again
    with other noise."""
    definition = halfreal.load(HERE / "stepped_narrow.toml")
    first = on_the_rig(definition)
    once = halfreal.tune_from_runs(definition, [first.run]).best
    assert once is not None
    second = on_the_rig(once)
    twice = halfreal.tune_from_runs(once, [first.run, second.run]).best
    assert twice is not None
    return first, second, on_the_rig(twice), on_the_rig(twice, seed=2)


def sampled_models() -> tuple[Following, Device]:
    """The same with the drive as it is sampled, and the device as it is integrated."""
    test = halfreal.load(HERE / "stepped_sampled.toml")
    return test.rig.follower(test.timing.step), test.virtual.device(test.timing.step)


def models(stiffness: float = 8000.0, damping: float = 800.0) -> tuple[Follower, Device]:
    """The shaker with its drive, and the device, as the paper writes them: without the delays of a sampled loop."""
    rig = halfreal.load(HERE / "stepped_bare.toml").rig
    return Follower(*polynomials(rig.shaker, rig.drive)), Device(np.ones(1), np.array([damping, stiffness]))


def single_gust(stiffness: float, damping: float, coupling: str = "single_gust") -> halfreal.Run:
    """One gust of 5 Hz on the wing with this device (Fig. 12)."""
    definition = halfreal.load(HERE / "single_gust.toml")
    changed = definition.with_values({"virtual.stiffness": stiffness, "virtual.damping": damping})
    if coupling != "single_gust":
        other = halfreal.load(HERE / f"{coupling}.toml").coupling
        changed = changed.model_copy(update={"coupling": other})
    return rehearsed(changed)


def with_airspeed(definition: halfreal.Definition, folder: Path, lift: float, rise: float) -> halfreal.Definition:
    """The same gusts behind ``rise`` seconds in which the airspeed goes from 0 to its value: lift [N] as its square."""
    gusts, step = definition.excitation.specimen, 1e-3
    t = np.arange(0.0, rise + definition.timing.duration + step, step)
    speed = np.clip(t / rise, 0.0, 1.0)
    dwell = np.clip(((t - rise) / gusts.dwell).astype(int), 0, len(gusts.frequencies) - 1)
    whole = np.concatenate([[0.0], np.cumsum(gusts.frequencies)])[dwell] * gusts.dwell
    cycles = whole + np.asarray(gusts.frequencies)[dwell] * (t - rise - dwell * gusts.dwell)
    grown = np.clip((t - rise) / gusts.ramp, 0.0, 1.0)
    force = lift * speed**2 + 0.5 * gusts.force * grown * (1.0 - np.cos(2 * np.pi * cycles)) * (t > rise)
    file = folder / "airspeed.txt"
    np.savetxt(file, force, fmt="%.6g")
    drive = {"kind": "record", "file": str(file), "time_step": step, "force": 1.0}
    return definition.with_values({"excitation.specimen": drive, "timing.duration": rise + definition.timing.duration})


def rehearsed(definition: halfreal.Definition) -> halfreal.Run:
    """Without the margins, which take longer than the test."""
    return halfreal.rehearse(definition, stability=LoopStability(linearised(definition), None, None, ()))


@cache
def bands(factor: float, rig: str = "nominal") -> CompensatorBands:
    """Of an uncertain shaker, each range so many times the printed one."""
    nominal = halfreal.load(HERE / "stepped_bare.toml").rig
    ranges = {name: factor * part for name, part in SHAKER_RANGES.items()}
    return compensator_bands(nominal.shaker, nominal.drive, models()[1], LINES, ranges=ranges, rig=rig)  # type: ignore[arg-type]


def errors(ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Amplitude error, and phase error [deg]."""
    return np.abs(np.abs(ratio) - 1.0), np.abs(np.degrees(np.angle(ratio)))
