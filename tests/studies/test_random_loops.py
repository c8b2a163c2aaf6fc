"""Random loops: what ``check`` says of their stability, long rehearsals agree with, on both sides of the margin.

Virtual parts of one to three degrees of freedom, one or two axes; pure delays, first- and second-order actuators,
servo-hydraulic rigs; springs, dampers, masses and flexible specimens, of random numbers.  Each loop is taken as it is,
and with so much of its specimen that it is just inside and just beyond its gain margin; rigs with a delay also just
inside and just beyond their delay margin.  Every kind of rig with every specimen, on one axis and on two, is among the
first ``LOOPS``; ``soak/random_loops.py`` judges more, for docs/convergence.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halfreal
from halfreal.contracts.context import Purpose
from halfreal.runs.build import build
from halfreal.runs.loop_stability import linearised, loop_stability

LOOPS = 60
NEAR = 0.08
"""How far inside and beyond the margin, as a share of it."""
STEP = 2e-3
MOST_TICKS = 400_000
LONGEST = 0.06
"""Of the delays that are tried [s]: a loop is compiled for each length of its histories."""
RIGS = ("delay", "first order", "second order", "servo-hydraulic")
SPECIMENS = ("spring", "damper", "mass", "flexible")


def spd(random: np.random.Generator, n: int, low: float, high: float) -> np.ndarray:
    """A random symmetric matrix with eigenvalues between two bounds."""
    q = np.linalg.qr(random.standard_normal((n, n)))[0]
    return q @ np.diag(random.uniform(low, high, n)) @ q.T


def specimen_of(random: np.random.Generator, kind: str, axes: int, m: float, k: float) -> dict[str, Any]:
    ratio, size = random.uniform(0.05, 0.6), random.uniform(0.3, 1.0)
    if kind == "spring":
        return {"stiffness": ratio * k * spd(random, axes, 0.3, 1.0)}
    if kind == "damper":
        c = random.uniform(0.05, 0.6) * np.sqrt(k * m)
        return {"damping": c * spd(random, axes, 0.3, 1.0)}
    if kind == "mass":
        return {"mass": ratio * m * spd(random, axes, 0.3, 1.0)}
    # a mass on a spring on each axis
    added, hz = ratio * m, random.uniform(2.0, 12.0)
    spring = added * size * (2.0 * np.pi * hz) ** 2
    mass, stiffness = np.zeros((2 * axes, 2 * axes)), np.zeros((2 * axes, 2 * axes))
    for i in range(axes):
        mass[i, i], mass[axes + i, axes + i] = 0.2 * added, size * added
        stiffness[np.ix_([i, axes + i], [i, axes + i])] = spring * np.array([[1.0, -1.0], [-1.0, 1.0]])
    damping = stiffness * random.uniform(2e-4, 2e-3)
    return {"kind": "flexible", "mass": mass, "stiffness": stiffness, "damping": damping,
            "interface": list(range(1, axes + 1))}  # fmt: skip


def rig_of(random: np.random.Generator, kind: str, specimen: dict[str, Any], axes: int) -> dict[str, Any]:
    if kind == "servo-hydraulic":
        gain = random.uniform(0.5, 3.0) * 1e13
        actuator = {
            "valve_gain": gain,
            "valve_damping": 1e3,
            "valve_stiffness": 1e6,
            "interaction": 2e6,
            "leakage": 4.0,
        }
        piston = 0.02 * np.eye(axes)
        return {
            "kind": kind,
            "actuator": actuator,
            "specimen": {**specimen, "mass": specimen.get("mass", 0.0) + piston},
        }
    actuator = {"kind": kind, "delay": random.uniform(1.0, 6.0) * STEP}
    if kind == "first order":
        actuator["time_constant"] = random.uniform(2e-3, 15e-3)
    if kind == "second order":
        actuator |= {"frequency": random.uniform(10.0, 150.0), "damping": random.uniform(0.4, 1.2)}
    return {"actuator": actuator, "specimen": specimen}


def random_loop(number: int) -> halfreal.Definition:
    random = np.random.default_rng(number)
    rig, specimen = RIGS[number % 4], SPECIMENS[number // 4 % 4]
    if rig == "servo-hydraulic" and specimen == "flexible":  # which a servo-hydraulic rig does not move
        specimen = "spring"
    axes = 1 + number // 16 % 2
    dofs = axes + 1
    m, hz = 10.0 ** random.uniform(0.0, 3.0), random.uniform(0.5, 5.0)
    mass = m * spd(random, dofs, 0.6, 1.5)
    k = m * (2.0 * np.pi * hz) ** 2
    stiffness = k * spd(random, dofs, 0.5, 3.0)
    damping = 2.0 * random.uniform(0.005, 0.06) / (2.0 * np.pi * hz) * stiffness
    return halfreal.Definition(
        title=f"random loop {number}",
        timing={"step": STEP, "duration": 1.0},
        virtual={"mass": mass, "damping": damping, "stiffness": stiffness, "interface": list(range(1, axes + 1)),
                 "force_dof": 1},
        excitation={"virtual": {"kind": "pulse", "force": 10.0, "duration": 0.02}},
        rig=rig_of(random, rig, specimen_of(random, specimen, axes, m, k), axes),
    )  # fmt: skip


def grows(definition: halfreal.Definition, rate: float) -> bool:
    """Whether targets or forces after a pulse are larger at the end of a long rehearsal than in its middle.

    ``rate`` [1/s], of the slowest pole, says how long is long enough; it does not say which way.
    """
    ticks = int(np.clip(16.0 / abs(rate) / STEP, 2000, MOST_TICKS))
    longer = definition.with_values({"timing.duration": 2.0 * ticks * STEP})
    loop = build(longer, Purpose(ideal=True, endless=True))
    loop.run(ticks // 2)
    watched = [*definition.interface.channels("target"), *definition.interface.channels("measured.force")]
    middle, end = (np.abs(loop.run(ticks // 4, record=watched).log[:, 1:]).max(axis=0) for _ in range(2))
    return bool(np.any(~(end <= middle)))


def variants(definition: halfreal.Definition) -> list[halfreal.Definition]:
    """The loop itself, and on both sides of its margins."""
    found, stability = [definition], loop_stability(definition)
    margin = stability.margin
    assert margin is not None
    gains = margin.gains[np.isfinite(margin.gains) & (margin.gains > 0.0)]
    if gains.size:
        nearest = float(gains[np.argmin(np.abs(np.log(gains)))])
        for share in (nearest * (1.0 - NEAR), nearest * (1.0 + NEAR)):
            rig = definition.rig.with_share_of_specimen(share)
            if rig is not None:
                found.append(definition.unchecked_copy({"rig": rig}))
    further, own = margin.critical_delay, definition.rig.pure_delay
    if own > 0.0 and 0.0 < further < LONGEST:
        for delay in (own + (1.0 - NEAR) * further, own + (1.0 + NEAR) * further):
            found.append(definition.with_values({"rig.actuator.delay": delay}))
    return found


def judged(number: int) -> list[tuple[int, int, bool, bool | None]]:
    """Number, variant, what is said of its stability, and what a rehearsal shows; None if it is too close to tell."""
    found: list[tuple[int, int, bool, bool | None]] = []
    for i, variant in enumerate(variants(random_loop(number))):
        poles = linearised(variant)
        rate = float(poles.continuous[0].real)
        near = abs(rate) * STEP * MOST_TICKS < 6.0
        found.append((number, i, poles.stable, None if near else not grows(variant, rate)))
    return found


@pytest.mark.parametrize("first", range(0, LOOPS, 20))
def test_check_agrees_with_long_rehearsals_on_both_sides_of_the_margin(first):
    answers = [row for n in range(first, first + 20) for row in judged(n) if row[3] is not None]
    assert len(answers) > 40
    assert {stable for *_, stable, _ in answers} == {True, False}
    wrong = [(number, i) for number, i, told, seen in answers if told != seen]
    assert not wrong, f"told and seen differ for loops (number, variant) {wrong}"
