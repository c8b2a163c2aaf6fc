"""Random tests of families, near the limit of stability often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .force import STAGES, series
from .harmonic import transfer
from .laws import BILINEAR, BOUC_WEN, CUBIC, DAMPER, ELASTOPLASTIC, FRICTION, GAP
from .simulate import Drive, Element, ForceControl, Test
from .ticks import FIRST_ORDER, SECOND_ORDER

Random = np.random.Generator
NEAR = (-0.3, 1.6)
"""Of the delay left after prediction that takes up all damping."""


def matrix(value: float) -> np.ndarray:
    return np.array([[value]])


def log(random: Random, low: float, high: float) -> float:
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def oscillator(random: Random) -> tuple[Test, float, float]:
    """A test of one degree of freedom without specimen and delay, its stiffness and a motion it makes [m]."""
    step = float(random.choice([1e-3, 2e-3]))
    m, hz, ratio = log(random, 1.0, 1e3), random.uniform(0.6, 4.0), log(random, 0.004, 0.06)
    w = 2.0 * np.pi * hz
    k, size = m * w * w, log(random, 3e-4, 1e-2)
    r = random.uniform(0.3, 1.7)
    r = r if abs(r - 1.0) > 0.1 else 0.8
    excited = 1.0 / (round(1.0 / (r * hz * step)) * step)
    push = k * size * max(abs(1.0 - r * r), 0.15)
    test = Test(
        step, matrix(m), matrix(2.0 * ratio * m * w), matrix(k),
        excitation=(push, excited, float(random.choice([0.0, 1.0])), 0.0),
    )  # fmt: skip
    if random.uniform() < 0.15:
        test = test.but(excitation=(k * size, 0.0, 0.0, 0.5 / hz))
    return test, k, size


def late(random: Random, test: Test, stiffness: float, damping: float = 0.0) -> Test:
    """With a delay of which what prediction leaves is near the limit for a specimen of such a stiffness in motion."""
    c = float(np.trace(test.damping)) + damping
    left = random.uniform(*NEAR) * c / stiffness
    if random.uniform() < 0.7:
        ahead = random.uniform(4.0, 15.0) * test.step
        order = int(random.integers(1, 4))
        points = int(random.integers(order + 3, 17))
        delay = float(np.clip(ahead + left, test.step, 30.0 * test.step))
        return test.but(predicts=(ahead, order, points), delay=delay)
    delay = float(random.uniform(1.0, 8.0)) * test.step
    scale = delay * stiffness / max(c, 1e-9) / random.uniform(0.4, NEAR[1])
    return test.but(delay=delay, damping=scale * test.damping)


def clearance(random: Random) -> Test:
    test, k, size = oscillator(random)
    contact, gap = k * log(random, 0.1, 8.0), size * log(random, 2e-3, 0.8)
    below = Element(GAP, (contact, -gap, np.inf))
    above = Element(GAP, (contact, -np.inf, gap * random.choice([1.0, 1.0, 0.5])))
    both = random.uniform() < 0.7
    return late(random, test.but(specimen=(below, above) if both else (below,)), contact * random.uniform(0.3, 1.0))


def soft_core(random: Random) -> Test:
    test, k, size = oscillator(random)
    outer = k * log(random, 0.1, 8.0)
    inner, limit = outer * log(random, 0.01, 0.5), size * log(random, 2e-3, 0.8)
    return late(
        random, test.but(specimen=(Element(BILINEAR, (inner, limit, outer)),)), outer * random.uniform(0.3, 1.0)
    )


def softening(random: Random) -> Test:
    test, k, size = oscillator(random)
    inner = k * log(random, 0.1, 3.0)
    outer, limit = inner * random.choice([0.0, random.uniform(0.0, 0.6)]), size * log(random, 0.05, 1.5)
    return late(
        random, test.but(specimen=(Element(BILINEAR, (inner, limit, outer)),)), inner * random.uniform(0.3, 1.0)
    )


def hardening(random: Random) -> Test:
    test, k, size = oscillator(random)
    own = k * log(random, 0.05, 1.0)
    cubic = own / size**2 * log(random, 0.1, 10.0)
    stiff = own + 0.75 * cubic * size**2
    return late(random, test.but(specimen=(Element(CUBIC, (own, cubic)),)), stiff * random.uniform(0.6, 1.5))


def elastoplastic(random: Random) -> Test:
    test, k, size = oscillator(random)
    own = k * log(random, 0.1, 2.0)
    law = Element(ELASTOPLASTIC, (own, own * size * log(random, 0.1, 1.5), random.choice([0.0, 0.02, 0.1])))
    return late(random, test.but(specimen=(law,)), own)


def bouc_wen(random: Random) -> Test:
    test, k, size = oscillator(random)
    own = k * log(random, 0.1, 2.0)
    n, beta = float(random.integers(1, 3)), random.uniform(0.5, 0.9)
    law = Element(BOUC_WEN, (own, random.uniform(0.0, 0.3), size * log(random, 0.1, 1.5), n, beta, 1.0 - beta))
    return late(random, test.but(specimen=(law,)), own)


def friction(random: Random) -> Test:
    test, k, size = oscillator(random)
    stick = k * log(random, 0.5, 10.0)
    slider = Element(FRICTION, (stick, k * size * log(random, 0.01, 0.3)))
    own = k * random.uniform(0.1, 1.0)
    return late(
        random, test.but(specimen=(slider,), specimen_stiffness=matrix(own)), own + stick * random.uniform(0.0, 0.5)
    )


def power_damper(random: Random) -> Test:
    test, k, size = oscillator(random)
    w = np.sqrt(k / test.mass[0, 0])
    speed, power = w * size, random.choice([0.3, 0.5, 0.7, 1.5])
    most = k * size * log(random, 0.02, 0.2)
    own = k * random.uniform(0.1, 1.0)
    law = Element(DAMPER, (most / speed**power, power, speed * log(random, 0.02, 0.2)))
    damping = most / speed
    return late(random, test.but(specimen=(law,), specimen_stiffness=matrix(own)), own, damping)


def backlash(random: Random) -> Test:
    test, k, size = oscillator(random)
    own = k * random.uniform(0.1, 1.2)
    return late(random, test.but(backlash=size * log(random, 0.003, 0.3), specimen_stiffness=matrix(own)), own)


def sticking_actuator(random: Random) -> Test:
    test, k, size = oscillator(random)
    own = k * random.uniform(0.1, 1.2)
    test = late(random, test.but(friction=size * log(random, 0.003, 0.2), specimen_stiffness=matrix(own)), own)
    if random.uniform() < 0.7 and test.delay > 3.0 * test.step:
        share = test.delay * random.uniform(0.2, 0.6)
        test = test.but(actuator=FIRST_ORDER, dynamics=(share, 0.0), delay=test.delay - share)
    return test


def saturation(random: Random) -> Test:
    test, k, size = oscillator(random)
    own = k * random.uniform(0.1, 1.2)
    test = late(random, test.but(specimen_stiffness=matrix(own)), own)
    if random.uniform() < 0.5:
        return test.but(stroke=size * log(random, 0.5, 3.0))
    return test.but(speed=size * np.sqrt(k / test.mass[0, 0]) * log(random, 0.5, 3.0))


def sensor_range(random: Random) -> Test:
    test, k, size = oscillator(random)
    if random.uniform() < 0.5:  # a structure that its specimen holds
        test = test.but(stiffness=matrix(-k * random.uniform(0.02, 0.5)))
        own = k * random.uniform(0.6, 1.5)
    else:
        own = k * random.uniform(0.1, 1.2)
    test = late(random, test.but(specimen_stiffness=matrix(own)), own)
    return test.but(force_range=own * size * log(random, 0.5, 3.0))


def p_delta(random: Random) -> Test:
    """A structure that falls over, but for its yielding columns and its specimen."""
    test, k, size = oscillator(random)
    falls = -k * random.uniform(0.02, 0.3)
    column = Element(ELASTOPLASTIC, (k, k * size * random.uniform(0.3, 3.0), random.choice([0.0, 0.05, 0.2])))
    own = k * random.uniform(0.05, 0.6)
    return late(random, test.but(stiffness=matrix(falls), virtual=(column,), specimen_stiffness=matrix(own)), own)


def frame(random: Random) -> Test:
    """A yielding shear frame of two or three storeys, its first storey's brace as specimen."""
    test, k, size = oscillator(random)
    dofs, m = int(random.integers(2, 4)), float(test.mass[0, 0])
    columns = []
    stiffness = np.zeros((dofs, dofs))
    for i in range(dofs):
        along = np.zeros(dofs)
        along[i] = 1.0
        if i:
            along[i - 1] = -1.0
        columns.append(Element(ELASTOPLASTIC, (k, k * size * random.uniform(0.3, 2.0), 0.03), tuple(along)))
        stiffness += k * np.outer(along, along)
    damping = 2.0 * log(random, 0.005, 0.05) / np.sqrt(k / m) * stiffness
    own = k * random.uniform(0.1, 1.0)
    found = late(random, test.but(damping=test.damping, specimen_stiffness=matrix(own)), own)
    share = float(found.damping[0, 0] / test.damping[0, 0])
    return found.but(
        mass=m * np.eye(dofs),
        damping=share * damping,
        stiffness=1e-3 * stiffness,
        virtual=tuple(columns),
        pushed=dofs - 1,
    )


def adaptive(random: Random) -> Test:
    """A prediction that finds the delay by itself, from a wrong one."""
    test, k, size = oscillator(random)
    own = k * random.uniform(0.1, 1.0)
    delay = random.uniform(4.0, 15.0) * test.step
    order = int(random.integers(1, 4))
    lead = random.choice([0.0, random.uniform(0.0, 2e-3)])
    speed = size * np.sqrt(k / test.mass[0, 0])
    learns = (random.uniform(0.3, 1.0), log(random, 0.2, 3.0), 0.05, 0.1, 0.2, 1e-3 * speed, lead)
    test = test.but(
        adapts=learns, predicts=(delay * random.uniform(0.4, 1.5), order, int(random.integers(order + 3, 17)))
    )
    kind = random.integers(3)
    if kind == 0:
        return test.but(delay=delay, specimen_stiffness=matrix(own))
    law = Element(CUBIC, (own, own / size**2 * log(random, 0.03, 1.0)))
    if kind == 1:
        law = Element(ELASTOPLASTIC, (own, own * size * log(random, 0.2, 1.5), 0.05))
    return test.but(delay=delay, specimen=(law,))


def slow(random: Random) -> Test:
    """A slow test, near the limit of its step, or with a rig that counts as settled before it has arrived."""
    test, k, size = oscillator(random)
    settles, step, r = random.uniform() < 0.5, float(random.choice([0.01, 0.02])), random.uniform(0.3, 1.7)
    # the frequency in motion times the step, of which 2 is the limit
    w = (random.uniform(0.1, 0.5) if settles or random.uniform() < 0.3 else random.uniform(1.3, 2.05)) / step
    m, ramp, pulse = k / w**2, test.excitation[2], test.excitation[3]
    hz = 0.0 if pulse else 1.0 / (max(round(2.0 * np.pi / (r * w * step)), 4) * step)
    own = k * random.uniform(0.3, 1.0)
    test = test.but(
        step=step, mass=matrix(m), damping=matrix(2.0 * log(random, 0.002, 0.06) * m * w), stiffness=matrix(k - own),
        excitation=(test.excitation[0], hz, ramp, 5.0 * step if pulse else 0.0),
    )  # fmt: skip
    kind = random.integers(3)
    if kind == 0:
        test = test.but(specimen_stiffness=matrix(own))
    elif kind == 1:
        test = test.but(specimen=(Element(CUBIC, (0.8 * own, 0.2 * own / size**2 * log(random, 0.2, 2.0))),))
    else:
        test = test.but(specimen=(Element(ELASTOPLASTIC, (own, own * size * log(random, 0.2, 1.5), 0.02)),))
    if not settles:
        return test.but(slow=(1e-3, 0.01, 0.01 * size, 0.003))
    lag, tolerance = log(random, 2e-3, 2e-2), size * log(random, 1e-4, 0.1)
    return test.but(slow=(1e-3, 0.01, tolerance, 1e-3), actuator=FIRST_ORDER, dynamics=(lag, 0.0))


def force_control(random: Random) -> Test:
    """A structure, yielding often, with a stiff specimen in force control: in real time, or a slow test."""
    test, k, size = oscillator(random)
    slow = random.uniform() < 0.4
    step, r = float(random.choice([5e-3, 1e-2] if slow else [1e-3, 2e-3])), random.uniform(0.3, 1.7)
    m, own = float(test.mass[0, 0]), k * log(random, 0.2, 5.0)
    w = float(np.sqrt((k + own) / m))
    hz = 1.0 / (max(round(2.0 * np.pi / (r * w * STAGES * step)), 4) * STAGES * step)
    push = (k + own) * size * max(abs(1.0 - r * r), 0.15)
    pulse = 0.0 if test.excitation[1] else np.pi / w
    kind = random.integers(4)
    laws = (
        Element(CUBIC, (0.0, k / size**2 * log(random, 0.1, 3.0))),
        Element(ELASTOPLASTIC, (k, k * size * log(random, 0.2, 1.5), 0.05)),
        Element(BILINEAR, (0.3 * k, size * log(random, 0.1, 1.0), k)),
    )
    test = test.but(
        step=step, damping=matrix(2.0 * log(random, 0.01, 0.3) * m * w), specimen_stiffness=matrix(own),
        excitation=(push, 0.0 if pulse else hz, test.excitation[2], pulse),
        virtual=() if kind == 3 else (laws[kind],), stiffness=matrix(0.1 * k if kind in (1, 2) else k),
    )  # fmt: skip
    kind, gain, beta = random.integers(3), random.uniform(0.3, 1.2), w * log(random, 0.3, 3.0)
    control = ForceControl(own * log(random, 0.9, 2.1), gain, own * log(random, 2.0, 30.0), int(random.integers(1, 5)))
    if kind:  # Baumgarte's stabilisation, with an assumed stiffness or none
        assumed = own * log(random, 0.7, 1.5) if kind == 1 else 0.0
        stabilised = {"alpha": beta * random.uniform(0.5, 2.0), "beta": beta, "weight": log(random, step, 1.0)}
        control = replace(control, assumed=assumed, at_stage=bool(random.uniform() < 0.5), **stabilised)
    if slow:
        tolerance = own * size * log(random, 1e-4, 1e-2)
        test = test.but(slow=(1e-3, 0.01, tolerance, 0.003))
        control = replace(control, gain=0.5 * gain, substeps=1)
    test = test.but(force=control)
    period = 1e-3 if slow else step / control.substeps
    return test.but(force=replace(control, gain=control.gain / series(test) / period))


def harmonic(random: Random) -> Test:
    """A drive of one or two harmonics that is adapted with a transfer function that is not quite that of the rig."""
    test, k, size = oscillator(random)
    m, w, step = float(test.mass[0, 0]), float(np.sqrt(k / test.mass[0, 0])), float(random.choice([2e-3, 4e-3]))
    damping = log(random, 0.02, 0.2)
    hz = 1.0 / (round(1.0 / ((test.excitation[1] or 0.13 * w) * step)) * step)
    own, moved = k * log(random, 0.05, 1.0), k * log(random, 0.05, 1.0)
    mass, moving = m * log(random, 0.01, 0.3), m * log(random, 0.1, 1.0)
    drag = 2.0 * log(random, 0.05, 0.4) * np.sqrt((own + moved) * (mass + moving))
    time = 1.0 / min(damping * w, 0.5 * drag / (mass + moving))
    tones = (hz,) if random.uniform() < 0.5 else (hz, 3.0 * hz)
    least = 1.0 / hz
    learning = 0.0 if random.uniform() < 0.5 else max(time * log(random, 0.05, 2.0), least)
    drive = Drive(tones, (), max(time * log(random, 0.05, 2.0), least), learning, (moving, drag, moved))
    test = test.but(
        step=step, damping=matrix(2.0 * damping * m * w), excitation=(test.excitation[0], hz, 1.0, 0.0), drive=drive,
        specimen_mass=matrix(mass), specimen_stiffness=matrix(own), specimen_damping=matrix(0.02 * drag),
    )  # fmt: skip
    wrong = [log(random, 0.6, 1.7) * np.exp(1j * random.uniform(-1.8, 1.8)) for _ in tones]
    test = test.but(
        drive=replace(drive, transfer=tuple(transfer(test, f) * e for f, e in zip(tones, wrong, strict=True)))
    )
    if random.uniform() < 0.5:
        test = test.but(virtual=(Element(CUBIC, (0.0, k / size**2 * log(random, 0.03, 1.0))),))
    return test


def two_axes(random: Random) -> Test:
    """Two axes, a nonlinear element along each or between them."""
    test, k, size = oscillator(random)
    m, dofs = float(test.mass[0, 0]), 2 + int(random.uniform() < 0.3)
    own, along = k * log(random, 0.1, 1.5), random.standard_normal(2)
    along /= np.linalg.norm(along)
    laws = (
        Element(CUBIC, (0.5 * own, own / size**2 * log(random, 0.1, 3.0))),
        Element(ELASTOPLASTIC, (own, own * size * log(random, 0.1, 1.0), 0.05)),
        Element(BILINEAR, (0.1 * own, size * log(random, 0.01, 0.5), own)),
        Element(BOUC_WEN, (own, 0.1, size * log(random, 0.1, 1.0), 1.0, 0.5, 0.5)),
    )
    first = laws[random.integers(4)]
    law = Element(first.code, first.values, tuple(float(one) for one in along))
    weak = 0.3 * own * spd(random, 2, 0.3, 1.0)
    found = late(random, test.but(specimen_stiffness=weak, specimen=(law,)), own * random.uniform(0.5, 1.2))
    scale = float(found.damping[0, 0])
    return found.but(
        mass=m * spd(random, dofs, 0.8, 1.3), damping=scale * spd(random, dofs, 0.7, 1.5),
        stiffness=k * spd(random, dofs, 0.6, 2.5), interface=(0, 1), pushed=int(random.integers(dofs)),
    )  # fmt: skip


def fmu(random: Random) -> Test:
    """A rig that comes as an FMU, with its delay."""
    test, k, size = oscillator(random)
    own = k * random.uniform(0.2, 1.2)
    test = late(random, test.but(rig_as_fmu=True, specimen_stiffness=matrix(own)), own)
    if random.uniform() < 0.5:
        law = Element(CUBIC, (own, own / size**2 * log(random, 0.03, 1.0)))
        return test.but(specimen_stiffness=None, specimen=(law,))
    return test


def linear(random: Random) -> Test:
    test, k, _ = oscillator(random)
    m = float(test.mass[0, 0])
    axes = 1 + int(random.uniform() < 0.35)
    dofs = axes + int(random.integers(0, 2))
    if dofs > 1:
        test = test.but(
            mass=m * spd(random, dofs, 0.6, 1.5), damping=test.damping[0, 0] * spd(random, dofs, 0.5, 2.0),
            stiffness=k * spd(random, dofs, 0.5, 3.0), interface=tuple(range(axes)), pushed=int(random.integers(dofs)),
        )  # fmt: skip
    own = k * random.uniform(0.1, 1.5)
    test = late(random, test.but(specimen_stiffness=own * spd(random, axes, 0.4, 1.0)), own)
    kind = random.integers(4)
    if kind == 1:
        test = test.but(
            specimen_damping=log(random, 0.1, 3.0) * np.trace(test.damping) / dofs * spd(random, axes, 0.4, 1.0)
        )
    if kind == 2 and not test.predicts[0]:
        test = test.but(specimen_mass=m * log(random, 0.01, 0.3) * spd(random, axes, 0.4, 1.0))
    if random.uniform() < 0.4 and test.delay > 3.0 * test.step:
        share = test.delay * random.uniform(0.2, 0.6)
        if random.uniform() < 0.5:
            test = test.but(actuator=FIRST_ORDER, dynamics=(share, 0.0), delay=test.delay - share)
        else:
            damping = random.uniform(0.5, 1.0)
            hz = damping / (np.pi * share)
            test = test.but(actuator=SECOND_ORDER, dynamics=(hz, damping), delay=test.delay - share)
    return test


def spd(random: Random, n: int, low: float, high: float) -> np.ndarray:
    """A symmetric matrix with eigenvalues between two bounds."""
    q = np.linalg.qr(random.standard_normal((n, n)))[0]
    found = q @ np.diag(random.uniform(low, high, n)) @ q.T
    return 0.5 * (found + found.T)


FAMILIES: dict[str, Callable[[Random], Test]] = {
    "clearance": clearance,
    "soft core": soft_core,
    "hardening": hardening,
    "softening": softening,
    "elastoplastic": elastoplastic,
    "Bouc-Wen": bouc_wen,
    "friction": friction,
    "power damper": power_damper,
    "backlash": backlash,
    "actuator with friction": sticking_actuator,
    "stroke and speed": saturation,
    "sensor range": sensor_range,
    "P-Delta": p_delta,
    "shear frame": frame,
    "two axes": two_axes,
    "adaptive prediction": adaptive,
    "slow": slow,
}
RARER: dict[str, Callable[[Random], Test]] = {
    "linear": linear,
    "FMU": fmu,
    "force control": force_control,
    "harmonic": harmonic,
}
SLOTS = 20
"""Families take turns; the last places are those of families that take long, and of others again where they rest."""
RARE = {17: ("FMU", 3, "clearance"), 18: ("force control", 1, ""), 19: ("harmonic", 1, "")}
"""Place: a family, one in how many turns it has, and the family that has the others."""


def family_of(number: int) -> str:
    """Of a test: every second one is linear."""
    if number % 2:
        return "linear"
    turn, place = divmod(number // 2, SLOTS)
    if place < len(FAMILIES):
        return list(FAMILIES)[place]
    name, share, other = RARE[place]
    return name if turn % share == 0 else other


def draw(number: int) -> tuple[str, Test]:
    """Family and test of a number."""
    name = family_of(number)
    return name, {**FAMILIES, **RARER}[name](np.random.default_rng([number, 38]))
