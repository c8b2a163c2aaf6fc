"""A harmonic coupling tried out on the model of its plant before it is believed: does the gap close, and how fast.

The rates of ``envelope.py`` take harmonics one by one.  Where transfer functions differ by orders of magnitude they do
not stay apart: the ringing of a mode near one harmonic leaks into what is identified at the others, as 1/(T_id Δω) of
it, and that is much for the weak ones.  What comes of it is not linear in any amplitude, so that it is tried: the code
of the coupling runs with the excitation's twin and the linear plant,

    x⁺ = A x + B u,    y_e − y_v = C x − twin

which is the whole test, if it is linear and its sensors are ideal.  What is reported as a rate is that of this run.
The gap is looked at where the coupling has harmonics: what an excitation has in addition to them it cannot close.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.context import Context
from ...contracts.state_space import StateSpace
from ...kernels.block import Block, channels
from ...kernels.linear import copy_to, multiply_add, set_to, stored
from ...kernels.loop import Loop
from ...models.excitations import silence
from .memory import time_constant
from .twin import twin

if TYPE_CHECKING:
    from ...definition.definition import Definition
    from .coupling import Harmonic

STRETCHES = 24
CLOSED = 0.02
"""Of its largest size, which the gap has come below when it has closed."""
CLOSING, ENDED = 0.5, 1e-6
"""The same where the excitation ends before, below this part of its peak."""
REBOUND = 0.5
"""Of the largest in the second third, above which that of the last third means that it does not stay closed."""
RUNG_OUT, MOST_TICKS = 20.0, 300_000
"""Times τ, after which the twin's ringing has died; and ticks at most."""
DONE = 1e-6
"""Of its largest size: what is below is not looked at."""


@dataclass(frozen=True)
class Trial:
    """How the gap went."""

    closes: bool
    rate: float
    """At which it fell from its peak on [1/s]: negative if it fell."""


def plant_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    set_to(0.0, s.next)
    multiply_add(p.a, s.x, s.next)
    multiply_add(p.b, u, s.next)
    copy_to(s.next, s.x)
    set_to(0.0, y)
    multiply_add(p.c, s.x, y)
    return 0


def plant_block(plant: StateSpace, drive: tuple[str, ...]) -> Block:
    """The answer of the plant to the drive of a tick, for the next one."""
    zeros = np.zeros(plant.states)
    outputs = channels("answer", "m", plant.c.shape[0])
    parameters = {"a": stored(plant.a), "b": stored(plant.b), "c": stored(plant.c)}
    return Block("plant", plant_step, drive, outputs, parameters, {"x": zeros, "next": zeros})


def try_out(test: Definition, coupling: Harmonic, plant: StateSpace, duration: float) -> Trial | None:
    """The coupling, everything of it known, in a run of ``duration`` [s] at most; None where there is nothing to try.

    An excitation that ends before ends it too.
    """
    driven = test.excitation.virtual
    nothing_known = driven is None or driven.reads is not None or test.excitation.specimen is not None
    if nothing_known or coupling.following is not None:
        return None
    context = context_of(test)
    twins = context.channels("twin")
    answers = tuple(channel.name for channel in channels("answer", "m", len(twins)))
    step, ticks = test.timing.step, max(round(duration / test.timing.step / STRETCHES), 1)
    block = coupling.adapting().block(step, context.unit, twins, answers, twins, axes=test.interface)
    lengths = coupling.lever_of(test.interface, len(twins)).axes
    drive = tuple(channel.name for channel in block.outputs[: len(twins)])
    loop = Loop([*twin_alone(context), block], outer=[plant_block(plant, drive)], dt=step)
    sizes: list[float] = []
    loudest, closed = 0.0, CLOSED
    waves = np.linalg.pinv(harmonic_waves(coupling.hz, ticks, step))
    for _ in range(STRETCHES):
        log = loop.run(ticks, record=("excitation.virtual", *answers, *twins)).log[:, 1:]
        gap = lengths * (log[:, 1 : 1 + len(twins)] - log[:, 1 + len(twins) :])
        if not np.all(np.isfinite(gap)):
            return Trial(False, np.inf)
        size = float(np.linalg.norm(waves @ gap))
        loudest = max(loudest, float(np.abs(log[:, 0]).max()))
        if np.abs(log[-max(ticks // 10, 1) :, 0]).max() < ENDED * loudest:
            closed = CLOSING
            break
        sizes.append(size)
        if size < DONE * max(sizes):
            break
    return judged(np.array(sizes), ticks * step, closed)


def closing_drive(test: Definition, hz: np.ndarray, plant: StateSpace) -> np.ndarray:
    """ψ, (n_ω, n), with which plant and twin leave no gap in steady state: H⁻¹ times the twin's amplitudes.

    These are read from a run of excitation and twin alone, as long as the test or its ringing, over its last third.  An
    excitation of the specimen is not seen, and one that ends before shows nothing: the drive is then that of zero.
    """
    context, step = context_of(test), test.timing.step
    span = max(test.timing.duration, RUNG_OUT * time_constant(plant))
    ticks = min(round(span / step), MOST_TICKS)
    last = max(ticks // 3, 1)
    loop = Loop(twin_alone(context), dt=step)
    loop.run(ticks - last)
    log = loop.run(last, record=context.channels("twin")).log
    phase = 2.0 * np.pi * np.outer(log[:, 0], hz)
    found = np.linalg.lstsq(np.hstack([np.cos(phase), -np.sin(phase)]), log[:, 1:], rcond=None)[0]
    amplitudes = found[: len(hz)] + 1j * found[len(hz) :]
    return np.linalg.solve(plant.response(2 * np.pi * hz), amplitudes[:, :, None])[:, :, 0]


def context_of(test: Definition) -> Context:
    return Context(test, test.virtual, np.asarray(test.virtual.initial_target(), dtype=float))


def twin_alone(context: Context) -> list[Block]:
    """Blocks of the excitation and of the twin that is subjected to it."""
    driven = context.test.excitation.virtual
    excitation = silence("excitation.virtual") if driven is None else driven.block("excitation.virtual", 0.0)
    *before, virtual = context.virtual.blocks(context)
    return [excitation, silence("nothing"), *before, twin(virtual, context.channels("feedback"), "nothing")]


def harmonic_waves(hz: np.ndarray, ticks: int, step: float) -> np.ndarray:
    """Cosine and sine of each harmonic, (ticks, 2 harmonics)."""
    phase = 2.0 * np.pi * np.outer(np.arange(ticks) * step, hz)
    return np.hstack([np.cos(phase), np.sin(phase)])


def judged(sizes: np.ndarray, stretch: float, closed: float = CLOSED) -> Trial | None:
    """What the gap's sizes in stretches of time say; None if they are too few."""
    if len(sizes) < 3:
        return None
    largest = int(np.argmax(sizes))
    falling = sizes[largest + (len(sizes) - largest) // 3 :]  # past what is still building up
    third = len(sizes) // 3
    stays = sizes[-third:].max() <= REBOUND * sizes[-2 * third : -third].max()
    closes = bool(stays and sizes[-1] < closed * sizes[largest])
    if len(falling) < 2:
        return Trial(False, 0.0)
    rate = float(np.polyfit(np.arange(len(falling)) * stretch, np.log(falling), 1)[0])
    return Trial(closes, rate)
