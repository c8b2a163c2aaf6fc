"""A sensor that repeats itself bit for bit: a warning and a trip where it is known to vary, and nothing elsewhere."""

import numpy as np
import pytest

from halfreal.kernels.atomic import store_word
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.control import WAIT, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import RUNNING, TRIPPED
from halfreal.safety.guard import GuardPlan, Seen, guard
from halfreal.safety.limits import Limits

DT = 1e-3
NAMES = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")
DISPLACEMENT, FORCE = 10.0, 11.0
"""Causes."""


def sensors_step(p, s, t, u, y):
    """Values that change at every tick until they freeze, if they do; all else is zero."""
    s.count += 1.0
    for i in range(5):
        y[i] = 0.0
    for i in range(2):
        if s.count < p.freezes[i]:
            y[2 + i] = p.size[i] * (1.0 + 0.5 * (s.count % 7.0))
        else:
            y[2 + i] = p.size[i]
    return 0


def release_step(p, s, t, u, y):
    """Lets a waiting loop go after so many rounds."""
    s.count += 1.0
    y[0] = s.count
    if s.count == p.after:
        store_word(int(p.wait), 0)
    return 0


def parts(freezes, noisy=(1.0, 1.0), limits=None):
    """The sensors, and a guard that watches them."""
    outputs = tuple(Channel(name, "m") for name in NAMES)
    parameters = {"freezes": np.array(freezes, dtype=float), "size": np.array([1e-6, 1.0])}
    source = Block("source", sensors_step, (), outputs, parameters, {"count": 0.0})
    inputs = ((name,) for name in NAMES)
    return source, guard(limits or Limits(), GuardPlan(DT, Seen(*inputs), np.zeros(1), noisy=np.array(noisy)))


def loop_of(freezes, **more):
    return Loop(parts(freezes, **more), dt=DT)


@pytest.mark.parametrize(("freezes", "cause"), [((100, 1e9), DISPLACEMENT), ((1e9, 100), FORCE)])
def test_a_sensor_with_noise_that_freezes_warns_and_trips(freezes, cause):
    limits = Limits(frozen={"warn": 0.02, "trip": 0.05})
    log = loop_of(freezes, limits=limits).run(300, record=["guard.mode", "guard.cause", "guard.warning"]).log
    warned, tripped = (np.flatnonzero(log[:, column] != 0.0)[0] for column in (3, 2))
    # from its second equal value on it repeats itself; a limit is passed, not reached
    assert (warned, tripped) == (100 + 20, 100 + 50)
    assert log[tripped, 2] == cause and log[tripped, 1] == TRIPPED


def test_a_sensor_without_noise_may_stand_still():
    log = loop_of((0, 0), noisy=(0.0, 0.0)).run(1000, record=["guard.mode"]).log
    assert np.all(log[:, 1] == RUNNING)


def test_by_default_a_quarter_of_a_second_is_too_long():
    log = loop_of((100, 1e9)).run(1000, record=["guard.cause"]).log
    assert np.flatnonzero(log[:, 1])[0] == 100 + 250


@pytest.mark.parametrize(("seconds", "learnt"), [(0.6, True), (0.3, False)])
def test_that_a_sensor_varies_is_learnt_while_the_rig_waits(seconds, learnt):
    ticks = round(seconds / DT)
    source, watch = parts((ticks + 100, 1e9), noisy=(0.0, 0.0))
    words, log = np.zeros(WORDS, dtype=np.int64), np.zeros((1000, 2))
    words[WAIT] = 1
    wait = {"wait": float(words.ctypes.data + 8 * WAIT), "after": float(ticks)}
    release = Block("release", release_step, (), (Channel("rounds", "1"),), wait, {"count": 0.0})
    loop = Loop([watch], outer=[source, release], dt=DT)
    loop.drive(1000, log, ["guard.cause"], words)
    assert loop.state("guard")["rested"][0] == pytest.approx(seconds)
    assert bool(loop.state("guard")["varies"][0]) is learnt
    assert loop.state("guard")["cause"] == (DISPLACEMENT if learnt else 0.0)
