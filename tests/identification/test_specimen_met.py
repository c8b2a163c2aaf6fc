"""Stiffness, damping and mass of the specimen that a record has met, against specimens that are known."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from halfreal.contracts.axes import Axes
from halfreal.identification.felt_specimen import Felt, felt
from halfreal.identification.specimen_met import specimen_met
from halfreal.presentation.specimen import headline, table
from halfreal.runs.run import Run, Signal

STEP, DURATION = 4e-3, 8.0
TIME = np.arange(0.0, DURATION, STEP)
K, C, M = np.array([[1e5, 1e4], [1e4, 6e4]]), np.diag([300.0, 200.0]), np.diag([20.0, 30.0])


def motion(rng: np.random.Generator, axes: int, slowest: float = 0.5, fastest: float = 6.0) -> list[np.ndarray]:
    """Displacement, velocity and acceleration of many sines, (samples, axes) each."""
    omega = 2 * np.pi * rng.uniform(slowest, fastest, (25, axes))
    size, phase = rng.normal(scale=1e-3, size=(25, axes)), rng.uniform(0, 2 * np.pi, (25, axes))
    angle = omega * TIME[:, None, None] + phase
    parts = size * np.sin(angle), size * omega * np.cos(angle), -size * omega**2 * np.sin(angle)
    return [part.sum(axis=1) for part in parts]


def forces(moved: list[np.ndarray], stiffness: np.ndarray, damping: np.ndarray, mass: np.ndarray) -> np.ndarray:
    return np.asarray(moved[0] @ stiffness.T + moved[1] @ damping.T + moved[2] @ mass.T + 7.0)


def coloured(rng: np.random.Generator, shape: tuple[int, ...], memory: float) -> np.ndarray:
    """Noise of unit size with a memory from sample to sample."""
    return np.asarray(lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], rng.normal(size=shape), axis=0))


@pytest.mark.parametrize(("axes", "memory", "repeats"), [(1, 0.0, 150), (2, 0.0, 80), (1, 0.95, 120)])
def test_ninety_five_per_cent_intervals_hold_the_truth_as_often_as_they_say(axes, memory, repeats):
    rng = np.random.default_rng(1)
    truth = np.array([part[:axes, :axes] for part in (K, C, M)])
    held = []
    for _ in range(repeats):
        moved = motion(rng, axes)
        force = forces(moved, *truth) + 3.0 * coloured(rng, moved[0].shape, memory)
        target = np.roll(moved[0], -2, axis=0)  # the rig is late, and its sensor's noise is not in it
        found = felt(STEP, moved[0] + 1e-5 * rng.normal(size=moved[0].shape), force, target)
        assert isinstance(found, Felt) and found.window.with_mass
        held.append(np.abs(found.values - truth) < found.spreads)
    share = np.mean(held, axis=0)
    assert 0.90 <= share.mean() <= 0.98
    assert share.min() > 0.85 and np.median(share) > 0.90  # of each, within what so few repeats tell


def test_without_noise_the_figures_are_the_specimens_own():
    moved = motion(np.random.default_rng(2), 2)
    found = felt(STEP, moved[0], forces(moved, K, C, M))
    assert isinstance(found, Felt)
    np.testing.assert_allclose(found.values, [K, C, M], atol=1e-3 * np.max([K[0, 0], C[0, 0]]), rtol=1e-3)


def test_noise_of_the_displacement_does_not_make_the_stiffness_smaller():
    rng = np.random.default_rng(3)
    moved = [0.02 * part for part in motion(rng, 1)]  # 0.1 mm, and 10 µm of noise
    force = forces(moved, K[:1, :1], C[:1, :1], 0 * M[:1, :1])
    found = felt(STEP, moved[0] + 1e-5 * rng.normal(size=moved[0].shape), force, moved[0])
    assert isinstance(found, Felt)
    assert abs(found.values[0, 0, 0] - 1e5) < found.spreads[0, 0, 0] < 0.05 * 1e5


def test_of_one_frequency_the_stiffness_is_that_which_is_felt():
    omega = 2 * np.pi * 2.0
    x = 1e-3 * np.sin(omega * TIME)[:, None]
    moved = [x, 1e-3 * omega * np.cos(omega * TIME)[:, None], -(omega**2) * x]
    found = felt(STEP, x, forces(moved, K[:1, :1], C[:1, :1], M[:1, :1]))
    assert isinstance(found, Felt) and not found.window.with_mass
    assert found.values[0, 0, 0] == pytest.approx(1e5 - 20.0 * omega**2, rel=1e-4)
    assert found.omega[0] == pytest.approx(omega, rel=0.02)


def recorded(seed: int, stiffness=K, damping=C, mass=M, noise: float = 1.0, law=None, size: float = 1.0) -> Run:
    """A run on both axes with a specimen; ``law`` is a further force of the first axis' displacement and velocity."""
    moved = [size * part for part in motion(np.random.default_rng(7), 2)]
    rng = np.random.default_rng(seed)
    force = forces(moved, stiffness, damping, mass) + noise * rng.normal(size=moved[0].shape)
    if law is not None:
        force[:, 0] += law(moved[0][:, 0], moved[1][:, 0])
    measured = moved[0] + 2e-6 * rng.normal(size=moved[0].shape)
    signals = {}
    for i, axis in enumerate(("x", "y")):
        signals[f"target.{axis}"] = Signal("m", moved[0][:, i])
        signals[f"measured.displacement.{axis}"] = Signal("m", measured[:, i])
        signals[f"measured.force.{axis}"] = Signal("N", force[:, i])
    return Run(
        title="two axes", kind="run", definition={"timing": {"duration": DURATION}}, definition_text="", step=STEP,
        time=TIME, signals=signals, events=(), outcome="completed", reason="", seed=1, started="",
        interface=Axes(("x", "y")), rig={"nature": "real"},
    )  # fmt: skip


MODEL = recorded(0)


def met(run: Run) -> Run:
    return replace(run, specimen_met=specimen_met(run, MODEL))


def test_the_specimen_of_the_model_is_never_told_to_differ():
    for seed in range(1, 16):
        run = met(recorded(seed))
        assert not run.specimen_met.differs
        assert "agrees with its model" in headline(run)


@pytest.mark.parametrize(
    ("changes", "words", "row"),
    [
        ({"stiffness": K * [[1.23, 1.0], [1.0, 1.0]]}, r"23.0 ± 0.\d % stiffer than .* axis x", "stiffness, axis x"),
        ({"stiffness": K * [[1.0, 1.0], [1.0, 0.9]]}, r"10.0 ± 0.\d % softer than .* axis y", "stiffness, axis y"),
        ({"damping": 3 * C}, r"% more damped than the model on axis", "damping, axis y"),
        ({"mass": M * [[1.0, 0.0], [0.0, 1.5]]}, r"(49.9|50.0|50.1) ± 0.\d % heavier than .* axis y", "mass, axis y"),
        ({"stiffness": K * [[1.0, 2.0], [1.0, 1.0]]}, "coupled differently from the model between axes x and y", None),
    ],
    ids=["stiffer", "softer", "damped", "heavier", "coupled"],
)  # fmt: skip
def test_another_specimen_is_told_with_its_interval(changes, words, row):
    run = met(recorded(1, **changes))
    said = headline(run)
    assert re.search(words, said) and said.endswith("the fidelity error relative to the model is of little use.")
    assert row is None or next(one for one in table(run) if one.name == row).differs


def test_hysteresis_is_told_as_energy_and_equivalent_damping():
    run = met(recorded(1, law=lambda x, v: 100.0 * np.tanh(v / 1e-3)))  # friction: 400 N times the amplitude a cycle
    rows = {one.name: one for one in run.specimen_met.properties if one.axes == ("x",)}
    assert rows["damping"].differs and rows["damping"].met > rows["damping"].model + 300.0
    assert rows["equivalent damping"].met - rows["equivalent damping"].model > 0.02
    assert rows["energy per cycle"].met > 1.5 * rows["energy per cycle"].model
    assert rows["not linear"].met > 5 * rows["not linear"].model


def test_too_small_a_motion_tells_nothing():
    still = met(recorded(1, size=1e-4))  # 0.1 µm, and 2 µm of noise
    assert "is not known: no axis moved by more than its noise" in headline(still)
    short = replace(MODEL, time=TIME[:40], signals={k: Signal(s.unit, s.values[:40]) for k, s in MODEL.signals.items()})
    assert "is not known" in headline(met(short))
    silent = met(replace(MODEL, signals={}))
    assert "record them" in headline(silent)


def test_a_model_that_could_not_be_rehearsed_is_said():
    run = replace(MODEL, specimen_met=specimen_met(MODEL, replace(MODEL, signals={})))
    assert "is not known: the model could not be identified in the same way" in headline(run)
    assert table(run)[0].met != "not known" and table(run)[0].model == "not known"
