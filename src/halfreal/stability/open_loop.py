"""The open loop of the code that runs: cut at the command, and measured by perturbing the compiled loop.

The loop is built with the rig listening to a ``probe`` instead of to the guard's command (see ``probe``).  One tick is
then

    x⁺ = A x + B w        command = C x

with w the probe's value, all measured as in ``linearise``.  Closing it by w = command gives back the loop that runs, so
that L = −C (zI − A)⁻¹ B is its open loop in the sense of negative feedback, with every block as it will run.  Where
a block has a slower rate of its own, L is the response at the frequency of the probe itself (``periodic.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..contracts.state_space import StateSpace
from ..errors import HalfrealError
from ..kernels.block import Block, channels
from ..kernels.loop import Loop
from .condensed import Condensed, condensed
from .linearise import MARGINAL, Linearisation, perturbed
from .memory import find_memory
from .periodic import TickMap, mean_model, monodromy, tick_maps
from .pieces import taken_apart

PROBE = "probe"


def probe_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = s.value[i]
    return 0


def probe(axes: int, unit: str) -> Block:
    """The block that replaces the command where the loop is cut."""
    return Block(
        name=PROBE,
        step=probe_step,
        inputs=(),
        outputs=channels(PROBE, unit, axes, of="actuator"),
        state={"value": np.zeros(axes)},
        frozen=("value",),
    )


def open_loop(loop: Loop) -> StateSpace | Condensed:
    """L of a loop that was built with its rig on the probe."""
    return open_loop_and(loop, ())[0]


def open_loop_and(loop: Loop, names: Sequence[str]) -> tuple[StateSpace | Condensed, StateSpace]:
    """L, and what ``answer`` shows of channels, measured together."""
    commands = [name.replace(PROBE, "command", 1) for name in _probed(loop)]
    both, n = _measured(loop, [*commands, *names]), len(commands)
    if isinstance(both, list):
        opened = [TickMap(one.a, one.b, -one.c[:n], -one.d[:n]) for one in both]
        others = [TickMap(one.a, one.b, one.c[n:], one.d[n:]) for one in both]
        return mean_model(opened, loop.dt), mean_model(others, loop.dt)
    if isinstance(both, Condensed):
        return both.only(slice(0, n)).negative(), whole(both.only(slice(n, None)))
    a, b, c, d, dt = both.a, both.b, both.c, both.d, both.dt
    return StateSpace(a, b, -c[:n], -d[:n], dt), StateSpace(a, b, c[n:], d[n:], dt)


def opened(loop: Loop, inputs: np.ndarray, names: Sequence[str], period: int) -> StateSpace | Condensed | list[TickMap]:
    """L of a loop that is cut elsewhere: closed where channels give their values to entries ``inputs`` of its vector.

    If its ticks differ over a ``period``, one map for each of them.
    """
    found = _measured(loop, names, inputs, period)
    if isinstance(found, list):
        return [TickMap(one.a, one.b, -one.c, -one.d) for one in found]
    return (
        found.negative() if isinstance(found, Condensed) else StateSpace(found.a, found.b, -found.c, -found.d, found.dt)
    )


def answer(loop: Loop, names: Sequence[str]) -> StateSpace:
    """From the probe to channels at the end of the same tick, where those that the rig writes are of the next one."""
    found = _measured(loop, names)
    return mean_model(found, loop.dt) if isinstance(found, list) else whole(found)


def whole(found: StateSpace | Condensed) -> StateSpace:
    """One model; of a condensed loop its small part, if its outputs show nothing of the large one."""
    small = found.as_small() if isinstance(found, Condensed) else found
    return small.dense() if isinstance(small, Condensed) else small


def _measured(
    loop: Loop, names: Sequence[str], inputs: np.ndarray | None = None, period: int = 1
) -> StateSpace | Condensed | list[TickMap]:
    """From the probe, or other ``inputs``, to channels; of a loop whose ticks differ, one map for each tick of its
    period."""
    outputs = np.array([loop.index[name] for name in names], dtype=int)
    states = loop.dynamic_indices()
    inputs = loop.state_indices(PROBE, "value") if inputs is None else inputs
    if math.lcm(loop.period, period) > 1:
        return _of_each_tick(loop, states, inputs, outputs, math.lcm(loop.period, period))
    n, columns = states.size, np.concatenate([states, inputs])
    rows = np.concatenate([states, outputs])
    pieces = taken_apart(loop, columns, rows, perturbed)
    small = None if pieces is None else condensed(pieces, n, loop.dt)
    if pieces is not None and small is not None:
        if np.abs(small.poles()).max() < 1.0 - MARGINAL:
            return small
        places = pieces.columns[0][pieces.columns[0] < n]
        return small.without(*find_memory(loop, states).of(places, len(small.a)).bases())
    both = perturbed(loop, columns, rows) if pieces is None else pieces.together()
    a, b, c = both[:n, :n], both[:n, n:], both[n:, :n]
    if not Linearisation(a, loop.dt).stable:
        inner, outer = find_memory(loop, states).bases()
        a, b, c = outer @ a @ inner, outer @ b, c @ inner
    return StateSpace(a=a, b=b, c=c, d=both[n:, n:], dt=loop.dt)


def _of_each_tick(
    loop: Loop, states: np.ndarray, inputs: np.ndarray, outputs: np.ndarray, period: int
) -> list[TickMap]:
    ticks = tick_maps(loop, states, inputs, outputs, period)
    if Linearisation(monodromy(ticks), loop.dt, len(ticks)).stable:
        return ticks
    inner, outer = find_memory(loop, states).bases()
    return [TickMap(outer @ one.a @ inner, outer @ one.b, one.c @ inner, one.d) for one in ticks]


def _probed(loop: Loop) -> list[str]:
    found = [channel.name for block in loop.blocks if block.name == PROBE for channel in block.outputs]
    if not found:
        raise HalfrealError("this loop has no probe: build it with cut=True to obtain its open loop")
    return found
