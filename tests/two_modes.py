"""A record made by hand: a structure of two modes under a periodic random force, its responses known in closed form."""

import numpy as np

from halfreal.runs.run import Run, Signal, Stability

STEP, PERIOD, PERIODS = 2e-3, 8.0, 4  # s
FREQUENCY, DAMPING = np.array([5.0, 12.0]), np.array([0.02, 0.03])
SHAPES = np.array([[1.0, 1.0], [0.6, -0.8], [0.2, 0.9]])  # outputs, modes; the force acts with the first of them
MASS = 40.0  # kg, modal
OUTPUTS = ("virtual.tip", "virtual.mid", "rig.nose")
FIRST, LAST = 1.0, 20.0  # Hz, of the force


def poles() -> np.ndarray:
    omega = 2 * np.pi * FREQUENCY
    return -DAMPING * omega + 1j * omega * np.sqrt(1 - DAMPING**2)


def receptance(hz: np.ndarray) -> np.ndarray:
    """Outputs over the force, (outputs, lines)."""
    s, omega = 2j * np.pi * hz, 2 * np.pi * FREQUENCY
    modal = 1.0 / (s[:, None] ** 2 + 2 * DAMPING * omega * s[:, None] + omega**2) / MASS
    return (SHAPES * SHAPES[0]) @ modal.T


def recorded(noise: float = 0.0, seed: int = 3) -> Run:
    """The record, with noise as a part of each response's rms; the first period is as settled as the others."""
    rng = np.random.default_rng(seed)
    length = round(PERIOD / STEP)
    hz = np.fft.rfftfreq(length, STEP)
    driven = (hz >= FIRST) & (hz <= LAST)
    spectrum = np.where(driven, np.exp(2j * np.pi * rng.random(hz.size)), 0.0)
    force = 50.0 * length / np.sqrt(2 * driven.sum()) * np.fft.irfft(spectrum, length)
    moved = np.fft.irfft(receptance(hz) * np.fft.rfft(force), length)
    moved = np.tile(moved, PERIODS)
    moved += noise * np.sqrt(np.mean(moved**2, axis=1, keepdims=True)) * rng.normal(size=moved.shape)
    signals = {"excitation.virtual": Signal("N", np.tile(force, PERIODS))}
    signals |= {name: Signal("m", values) for name, values in zip(OUTPUTS, moved, strict=True)}
    excitation = {"kind": "random", "force": 50.0, "frequency": FIRST, "to": LAST, "period": PERIOD, "ramp": 0.0}
    definition = {
        "timing": {"duration": PERIODS * PERIOD},
        "excitation": {"virtual": excitation},
        "virtual": {"responses": {"tip": {}, "mid": {}}},
        "rig": {"specimen": {"responses": {"nose": {}}}},
    }
    # of the loop: the first mode as it is, one that is far from the second
    of_loop = {"frequency_hz": np.array([5.0, 14.0]), "damping": np.array([0.02, 0.03]), "magnitude": np.full(2, 0.99)}
    return Run(
        title="Two modes",
        kind="rehearsal",
        definition=definition,
        definition_text="",
        step=STEP,
        time=STEP * np.arange(PERIODS * length),
        signals=signals,
        events=(),
        outcome="completed",
        reason="",
        seed=0,
        started="2026-01-01T00:00:00+00:00",
        stability=Stability(0.99, True, "stable", **of_loop),
    )
