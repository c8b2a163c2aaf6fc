"""Runs made by formula, so that every number of a report is known beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfreal.contracts.axes import Axes
from halfreal.presentation import html
from halfreal.runs.run import Event, Run, Signal, Stability

STEP = 1e-3


def oscillator_poles(frequency_hz: float = 5.0, damping: float = 0.1) -> Stability:
    """The two poles of one oscillator, and one of a delay line that empties itself."""
    omega = 2 * np.pi * frequency_hz
    size = np.exp(-damping * omega * STEP)
    return Stability(
        spectral_radius=float(size),
        stable=bool(size < 1),
        text=f"{'stable' if size < 1 else 'unstable'}: spectral radius {size:.6f}",
        frequency_hz=np.array([frequency_hz, frequency_hz, 1e5]),
        damping=np.array([damping, damping, 1.0]),
        magnitude=np.array([size, size, 0.0]),
    )


@pytest.fixture(scope="session")
def steady() -> Run:
    """A sine of 5 mm at 2 Hz, measured 2 ms late; the reference is 1 % larger."""
    time = STEP * np.arange(5000)

    def wave(t: np.ndarray) -> np.ndarray:
        return 5e-3 * np.sin(2 * np.pi * 2.0 * t)

    x = wave(time - 2e-3)
    return Run(
        title="steady sine",
        kind="rehearsal",
        definition={
            "title": "steady sine",
            "virtual": {"mass": [[2.2]], "interface": [1]},
            "limits": {"command": {"trip": 0.02}},
        },
        definition_text='title = "steady sine"\n[virtual]\nmass = "2.2 kg"\n',
        step=STEP,
        time=time,
        signals={
            "excitation.virtual": Signal("m", 2 * wave(time)),
            "excitation.virtual.rate": Signal("m/s", 0 * time),
            "target": Signal("m", wave(time)),
            "command.asked": Signal("m", wave(time)),
            "command": Signal("m", wave(time)),
            "measured.displacement": Signal("m", x),
            "measured.force": Signal("N", 2250 * x),
            "reference": Signal("m", 1.01 * wave(time)),
        },
        events=(Event(1.0, "start_up.mode", "measured force"),),
        outcome="completed",
        verdict="GO",
        reasons=("stable, as it seems",),
        limits_used={"gap": 0.25},
        reason="",
        seed=7,
        started="2026-11-15T12:00:00+00:00",
        stability=oscillator_poles(),
        references=("newmark1959",),
        versions={"halfreal": "0.1.0"},
        host={"system": "Linux"},
    )


@pytest.fixture(scope="session")
def tripped(steady: Run) -> Run:
    """A growing oscillation that trips at 3 s and is not a number from 4 s on."""
    time = steady.time
    grown = np.where(time < 4, 1e-4 * np.exp(2 * time) * np.sin(2 * np.pi * 5 * time), np.nan)
    held = np.where(time < 3, grown, 0.0)
    return replace(
        steady,
        title="growing",
        signals={
            "target": Signal("m", grown),
            "command": Signal("m", held),
            "measured.displacement": Signal("m", held),
            "measured.force": Signal("N", np.where(time < 4.5, 2250 * held, np.inf)),
        },
        events=(Event(2.5, "guard.warning", "warning"), Event(3.0, "guard.cause", "trip: gap beyond its limit")),
        outcome="tripped",
        verdict="NO-GO",
        remedies=("a shorter delay",),
        reason="gap was 0.006 m, beyond its limit of 0.005 m",
        stability=oscillator_poles(damping=-0.06),
    )


@pytest.fixture(scope="session")
def two_axes(steady: Run) -> Run:
    """The steady run on both of two axes, the second half as large and on time."""
    signals = {}
    for name, signal in steady.signals.items():
        if name.startswith("excitation"):
            signals[name] = signal
        else:
            signals[f"{name}.1"] = signal
            signals[f"{name}.2"] = replace(signal, values=0.5 * steady.signals["target"].values)
    return replace(steady, signals=signals, interface=Axes.numbered(2))


@pytest.fixture(scope="session")
def steady_page(steady: Run) -> str:
    """The steady run's report; making one takes most of a second."""
    return html.render(steady)


BEFORE, AFTER = 1000, 1500
"""Ticks of the approach and of the way home of ``real``."""


@pytest.fixture(scope="session")
def rehearsed(steady: Run) -> Run:
    """The steady run, with a definition that says how long it is."""
    return replace(steady, definition={**steady.definition, "timing": {"step": STEP, "duration": 5.0}})


@pytest.fixture(scope="session")
def real(rehearsed: Run) -> Run:
    """The same in real time: the test itself to the bit, between an approach from 8 mm and a way home."""
    time = STEP * np.arange(-BEFORE, 5000 + AFTER)
    still = {"target": 0.0, "command": 8e-3, "measured.displacement": 8e-3, "measured.force": 18.0}
    signals = {
        name: Signal(
            signal.unit,
            np.concatenate([np.full(BEFORE, still.get(name, np.nan)), signal.values, np.full(AFTER, 3e-3)]),
        )
        for name, signal in rehearsed.signals.items()
    }
    mode = np.select([time < -0.75, time < -STEP / 2, time < 5.0 - STEP / 2, time < 6.0], [3.0, 4.0, 0.0, 5.0], 6.0)
    ticks = np.arange(len(time), dtype=float)
    return replace(
        rehearsed,
        kind="run",
        started="2026-11-16T08:00:00+00:00",
        time=time,
        signals={
            **signals,
            "guard.mode": Signal("1", mode),
            "energy.error": Signal("1", np.where((time >= 0) & (time < 5), 0.04 * np.sin(time), 0.9)),
            "pace.lateness": Signal("s", 1e-7 * (ticks % 1001)),
            "pace.execution": Signal("s", np.full(len(time), 8e-6)),
            "pace.overruns": Signal("1", ticks // 2500),
            "link.lost": Signal("1", ticks // 1000),
            "link.lag": Signal("1", 1.0 + (ticks == 7)),
        },
        definition={
            **rehearsed.definition,
            "limits": {"command": {"trip": [0.02]}, "energy": {"warn": [0.05], "trip": [0.2]}},
        },
        events=(Event(-1.0, "guard.mode", "armed"), Event(1.0, "start_up.mode", "measured force")),
        limits_used={"gap": 0.75, "energy error": 0.2},
        host={"system": "Linux", "realtime scheduling": "SCHED_FIFO, priority 80"},
    )


@pytest.fixture(scope="session")
def stopped(real: Run) -> Run:
    """The run that its operator stops at 2 s, on its way home until 3 s."""
    kept = real.time < 3.0
    signals = {name: Signal(signal.unit, signal.values[kept].copy()) for name, signal in real.signals.items()}
    signals["guard.mode"].values[real.time[kept] > 2.0 - STEP / 2] = 5.0
    signals["measured.displacement"].values[real.time[kept] > 2.0 + STEP / 2] = 1.0
    return replace(
        real, time=real.time[kept], signals=signals, outcome="stopped", reason="by the operator at 3 s", verdict=""
    )
