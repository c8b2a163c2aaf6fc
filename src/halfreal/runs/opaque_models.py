"""Whether the linear model of a part that keeps its state to itself may be used: tried on fresh experiments.

An FMU is linearised with a model found by experiment on it at rest.  Poles and margins that follow from a model that
does not match are worth nothing.  So the part and its model are driven alone by histories that the model was not made
from: a step, pulses of one tick and longer, a chirp and noise, of 1 % of what the part reads in the test and of all of
it, and the motion of the test itself.  Where the largest difference is more than 1 % of the largest value of an output,
in any shape and size, poles and margins at rest are not known, and trials in motion alone count.

A user's function keeps its state in its fields, and is linearised by them.  What would be left out is what it writes to
its parameters, what a library keeps in memory of its own, fields that are frozen although they act, and what it does
otherwise in other ticks, such as a ring buffer.  The first two are seen if a history gives other outputs when it is
played again, and no trial can be made with them.  The others are seen in small motion, where the part is compared with
itself with these fields held, and, if its response is linear, with its own slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..contracts.context import AT_REST
from ..definition.definition import Definition
from ..definition.user_code import remembered, user_files
from ..errors import HalfrealError
from ..kernels.block import Block
from ..kernels.loop import Loop
from ..kernels.native import is_own
from ..kernels.played import PlayedError, played
from ..kernels.prepared import RanAwayError
from ..stability.linearise import UNKNOWN
from ..stability.memory import block_slopes
from .build import SETTLING_TICKS, build
from .run_away import RunAway
from .trial_loop import trial_loop

ALLOWED = 0.01
"""Difference of a model from its part, as a share of the largest value in an experiment."""
SMALL, LARGE = 0.01, 1.0
"""Sizes of experiments, in those of what the part reads in the test."""
TICKS = 1500
"""Of each shape."""
SHAPES = ("a step", "pulses", "a chirp", "noise")
RESTING = 1e-6
"""Size of experiments of a part that reads nothing in the test [m, N]."""
STRETCH, MOST_TICKS = 1000, 60_000
"""Of the test."""
QUIET = 0.01
"""Share of an output's largest value in an experiment by which it is measured in a shape in which it hardly moves."""


@dataclass(frozen=True)
class OpaqueParts:
    """What is not known of the parts of a loop."""

    unknown: str = ""
    """Why poles and margins at rest are not known; empty if they are."""
    untried: str = ""
    """Why no trial in motion can be made either."""


@remembered(maxsize=32)
def opaque_parts(definition: Definition) -> OpaqueParts:
    """What is not known of the parts of a loop that are a user's, or keep a state to themselves."""
    if not user_files(definition):
        return OpaqueParts()
    loop = trial_loop(definition)
    judged = [one for one in loop.blocks if one.by_experiment or (one.stand_in is None and is_foreign(one))]
    if not judged:
        return OpaqueParts()
    names = list(dict.fromkeys(name for block in judged for name in block.inputs))
    motion = read_channels(loop, names, min(definition.timing.ticks, MOST_TICKS))
    found: list[str] = []
    for block in judged:
        if not block.inputs:
            continue
        history = motion[:, [names.index(name) for name in block.inputs]]
        if block.by_experiment:
            found.append(missed(block, history))
            continue
        hidden = hidden_state(block, history)
        if hidden:
            return OpaqueParts(hidden, hidden)
        found.append(frozen_dynamics(block, history) or changing_dynamics(definition, block, history))
    return OpaqueParts("; ".join(text for text in found if text))


def check_known(definition: Definition) -> None:
    """Raise an error if the poles of a loop are not known."""
    found = opaque_parts(definition)
    if found.unknown:
        raise HalfrealError(f"{UNKNOWN}: {found.unknown}; 'halfreal check' tries the loop in motion")


def is_foreign(block: Block) -> bool:
    """Whether a block runs code of the user's: a function, or one of a library."""
    return not is_own(block.step) or block.keeps is not None


def read_channels(loop: Loop, names: Sequence[str], ticks: int) -> np.ndarray:
    """Channels in each tick of a loop from where it is, up to where it runs away, (ticks, channels)."""
    units_of = {channel.name: channel.unit for channel in loop.channels}
    watching, rows = RunAway(names, [units_of[name] for name in names]), [np.zeros((0, len(names)))]
    for done in range(0, ticks if names else 0, STRETCH):
        try:
            log = loop.run(min(STRETCH, ticks - done), record=names).log[:, 1:]
        except RanAwayError:  # a block whose loops do not end: the rehearsal states it
            break
        beyond = watching.find(log)
        log = log if beyond is None else log[: beyond[0]]
        well = np.isfinite(log).all(axis=1)
        rows.append(log if well.all() else log[: int(np.argmin(well))])
        if beyond is not None or not well.all():
            break
    return np.vstack(rows)


def experiment(sizes: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """The shapes one after another in all inputs, about where they begin, (ticks, inputs)."""
    random, n = np.random.default_rng(1), sizes.size
    time = np.arange(TICKS) / TICKS
    signs = np.where(random.random(n) < 0.5, -1.0, 1.0)
    step = np.where(time[:, None] > 0.05, 1.0, 0.0) * signs
    pulses = np.zeros((TICKS, n))
    for i in range(n):
        for width in (1, 1, 2, 3, 7, 20):
            at = random.integers(0, TICKS - width)
            pulses[at : at + width, i] = random.uniform(-1.0, 1.0)
    chirp = np.sin(2.0 * np.pi * (0.5 * TICKS * time**3 / 3.0)[:, None] + 2.0 * np.pi * random.random(n))
    noise = random.uniform(-1.0, 1.0, (TICKS, n))
    return np.asarray(begin + sizes * np.vstack([step, pulses, chirp, noise]))


def missed(block: Block, history: np.ndarray) -> str:
    """Where the model of a block does not reproduce it; empty if it does everywhere."""
    assert block.stand_in is not None
    model = block.stand_in()
    begin, sizes = reads(history)
    tried: list[tuple[np.ndarray, str, tuple[str, ...]]] = [
        (experiment(size * sizes, begin), f"of {100 * size:g} % of", SHAPES) for size in (SMALL, LARGE)
    ]
    tried += [(history, "", ("",))] if len(history) else []
    worst, where, moved = 0.0, "", False
    for inputs, size, shapes in tried:
        try:
            true = respond(block, inputs)
            off = differences(true, respond(model, inputs), len(shapes))
        except PlayedError as error:
            return f"block '{block.name}' cannot be driven by {size[3:]} what it reads in the test: it {error}"
        moved = moved or bool(true.any())
        if max(off) > worst:
            worst, where = max(off), " ".join(text for text in (shapes[int(np.argmax(off))], size) if text)
    if not moved:
        return f"block '{block.name}' does not respond to what it reads in the test within {len(SHAPES) * TICKS} ticks"
    if worst <= ALLOWED:
        return ""
    return (
        f"block '{block.name}' does not expose its state, and the linear model found by experiment does not reproduce "
        f"it: the response to {f'{where} ' if where else ''}what it reads in the test differs by {percent(worst)}, "
        f"up to {100 * ALLOWED:g} % is allowed"
    )


def percent(share: float) -> str:
    """A difference as a share of a response, for people."""
    return f"{100 * share:.3g} %" if share < 10.0 else "more than ten times the response itself"


def reads(history: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where inputs begin, and how far they move from there."""
    if not len(history):
        return np.zeros(history.shape[1]), np.full(history.shape[1], RESTING)
    sizes = np.abs(history - history[0]).max(axis=0)
    return history[0], np.where(sizes > 0.0, sizes, 0.0 if sizes.any() else RESTING)


def respond(block: Block, inputs: np.ndarray, *, held: bool = False) -> np.ndarray:
    """The response of a block to inputs, beyond that to no change of them."""
    dt = float(np.asarray(block.parameters.get("dt", 0.0)))
    still = np.repeat(inputs[:1], len(inputs), axis=0)
    return np.asarray(played(block, inputs, dt, held=held) - played(block, still, dt, held=held))


def differences(true: np.ndarray, model: np.ndarray, parts: int = len(SHAPES)) -> list[float]:
    """The largest difference of any output in each part of an experiment, as a share of the largest value."""
    whole = np.abs(true).max(axis=0, initial=0.0)
    found = []
    for one, other in zip(np.array_split(true, parts), np.array_split(model, parts), strict=True):
        largest = np.maximum(np.abs(one).max(axis=0, initial=0.0), QUIET * whole)
        error = np.abs(one - other).max(axis=0, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(error > 0.0, error / largest, 0.0)
        found.append(float(np.nan_to_num(share, nan=np.inf).max(initial=0.0)))
    return found


def hidden_state(block: Block, history: np.ndarray) -> str:
    """Whether a user's block remembers what is not in its state; empty if it does not."""
    begin, sizes = reads(history)
    inputs, dt = experiment(LARGE * sizes, begin), float(np.asarray(block.parameters.get("dt", 0.0)))
    try:
        first = played(block, inputs, dt)
        again = played(block, inputs, dt)
    except PlayedError as error:
        return f"block '{block.name}' {error}" if error.wrote else ""
    if np.array_equal(first, again, equal_nan=True):
        return ""
    return (
        f"block '{block.name}' remembers what is not in the fields of its state: from the same state it gives other "
        "outputs when it is called again; keep all that it remembers in its state"
    )


def frozen_dynamics(block: Block, history: np.ndarray) -> str:
    """Whether the frozen fields of a user's block act in small motion; empty if they do not."""
    if not block.frozen or block.held:
        return ""
    begin, sizes = reads(history)
    inputs = experiment(SMALL * sizes, begin)
    try:
        off = max(differences(respond(block, inputs), respond(block, inputs, held=True)))
    except PlayedError:
        return ""
    if off <= ALLOWED:
        return ""
    return (
        f"block '{block.name}' has frozen fields ({', '.join(block.frozen)}) that act in small motion: with them held, "
        f"as it is linearised, its response differs by {percent(off)}, up to {100 * ALLOWED:g} % is allowed; leave "
        "those that carry its motion out of 'frozen'"
    )


def changing_dynamics(definition: Definition, block: Block, history: np.ndarray) -> str:
    """Whether a user's block whose response is linear is not what its slopes in one tick say; empty if it is."""
    loop = build(definition, AT_REST)
    loop.run(SETTLING_TICKS)
    fields = [loop.state_indices(block.name, key) for key in block.state if key not in block.frozen]
    begin, sizes = reads(history)
    if not fields or block.held or block.repeats > 1:
        return ""
    inputs, half = (experiment(size * sizes, begin) for size in (SMALL, 0.5 * SMALL))
    try:
        true = respond(block, inputs)
        if max(differences(true, 2.0 * respond(block, half))) > ALLOWED:
            return ""
    except PlayedError:
        return ""
    slopes = block_slopes(loop, block.name, np.concatenate(fields) - loop.state_begin(block.name))
    whole, n = slopes.values.T, sum(one.size for one in fields)
    off = np.inf
    if not slopes.without.any() and np.all(np.isfinite(whole)):
        moved, x, found = inputs - inputs[0], np.zeros(n), np.empty_like(true)
        with np.errstate(over="ignore", invalid="ignore"):
            for tick, u in enumerate(moved):
                found[tick] = whole[n:, :n] @ x + whole[n:, n:] @ u
                x = whole[:n, :n] @ x + whole[:n, n:] @ u
            off = max(differences(true, found))
    if off <= ALLOWED:
        return ""
    return (
        f"block '{block.name}' treats its state differently from tick to tick, as with a ring buffer, so one tick does "
        f"not determine its poles: its response differs by {percent(off)} from that of its slopes, up to "
        f"{100 * ALLOWED:g} % is allowed; make it act in the same way in every tick, e.g. by shifting its entries"
    )
