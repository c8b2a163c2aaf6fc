"""The strut-braced wing's tests: what the figures and the tests of this folder share.

D_a is the measured displacement of the actuator, D_n the target of the virtual device, F_m the force on the device; all
are phasors at the frequency of the gusts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import halfreal
from halfreal.contracts import Device
from halfreal.models import polynomials
from halfreal.runs import LoopStability, linearised
from halfreal.stability import Follower

HERE = Path(__file__).parent
SETTLED = 0.5
"""Part of a dwell after which the response is steady."""


@dataclass(frozen=True)
class Stepped:
    """A stepped gust train: at each frequency D_a, D_n [m] and F_m [N]."""

    frequency_hz: np.ndarray
    actuator: np.ndarray
    device: np.ndarray
    force: np.ndarray
    run: halfreal.Run

    @property
    def ratio(self) -> np.ndarray:
        """D_a/D_n: 1 if the interface were perfect."""
        return self.actuator / self.device

    @property
    def emulated(self) -> np.ndarray:
        """N as the specimen feels it, D_a/F_m [m/N]."""
        return self.actuator / self.force


def stepped(name: str) -> Stepped:
    """Rehearse a stepped test of this folder and read off the phasors."""
    definition = halfreal.load(HERE / f"{name}.toml")
    gusts = definition.excitation.specimen
    run = rehearsed(definition)
    assert run.outcome == "completed", run.reason
    rows = []
    for i, hz in enumerate(gusts.frequencies):
        kept = (run.time >= (i + SETTLED) * gusts.dwell) & (run.time < (i + 1) * gusts.dwell)
        t = run.time[kept]
        basis = np.column_stack([np.cos(2 * np.pi * hz * t), np.sin(2 * np.pi * hz * t), np.ones_like(t), t - t[0]])
        signals = [run.signals[name].values[kept] for name in ("measured.displacement", "target", "measured.force")]
        weights = np.linalg.lstsq(basis, np.column_stack(signals), rcond=None)[0]
        rows.append(weights[0] - 1j * weights[1])
    actuator, device, resisting = np.array(rows).T
    return Stepped(np.asarray(gusts.frequencies), actuator, device, -resisting, run)


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


def rehearsed(definition: halfreal.Definition) -> halfreal.Run:
    """Without the margins, which take longer than the test."""
    return halfreal.rehearse(definition, stability=LoopStability(linearised(definition), None, None, ()))
