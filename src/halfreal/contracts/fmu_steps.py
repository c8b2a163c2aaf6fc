"""A part of a test that is an FMU, stepped by the compiled loop through the FMU's own C functions, without Python.

*Co-simulation*: the FMU integrates by itself.  From tick to tick it is given the mean of the inputs at both ends, which
is second-order accurate, and then those of the tick before its outputs are read:

    set (u_{k−1} + u_k)/2,  doStep from t_{k−1} to t_k,  set u_k,  get y_k

A whole rig is given the command of a tick for the whole step that follows it, as its controller holds it: u_k in place
of the mean.

Its state stays inside.  The loop is linearised with a stand-in, a linear model from the FMU's own directional
derivatives (``fmu_derivatives.py``) or, where it has none, realised from pulse responses (``realisation.py``).

*Model exchange*: x˙ = f(x, u, t) of the FMU is integrated by the classical Runge–Kutta method with inputs linear
between ticks.  x is part of the loop's own state, and linearised like any other.  Events (changes of sign of event
indicators, times that the FMU has named, or steps after which it requires them) are handled at the end of the tick in
which they occur, so that they are late by up to a tick.  What they change stays inside of the FMU: one that has
indicators, or names a time at rest, is linearised with a stand-in too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.block import Block
from ..kernels.compile import kernel
from ..kernels.fmi_calls import ASKS_TO_END, NEVER, completed_step, do_step, events, get_numbers, restart, set_numbers
from ..kernels.foreign import address_of, call_c, put_real, real_at
from ..kernels.linear import copy_to, multiply_add, set_to, stored
from .state_space import StateSpace

FAULTS = {
    1: "the FMU refused an input, an output or its restart",
    2: "the FMU could not make its step",
    3: "the FMU is at another time than the loop: its state cannot be reset",
    4: "the FMU could not handle an event",
    5: "the FMU requested the end of the simulation",
}


@kernel
def give_inputs(p, s, u, share):  # type: ignore[no-untyped-def]
    """Inputs between those of the tick before (share 0) and those of this one (1), which is all that is held."""
    if p.holds != 0.0:
        share = 1.0
    for i in range(int(p.inputs)):
        now = u[int(p.wires[i])]
        s.values[i] = p.into[i] * (s.last[i] + share * (now - s.last[i]))
    return set_numbers(p, int(p.input_references), int(p.inputs), address_of(s.values))


@kernel
def take_outputs(p, s, u, y):  # type: ignore[no-untyped-def]
    """Outputs for the inputs of this tick, which are then those of the tick before."""
    for i in range(int(p.inputs)):
        s.last[i] = u[int(p.wires[i])]
    worst = give_inputs(p, s, u, 1.0)
    worst = max(worst, get_numbers(p, int(p.output_references), y.shape[0], address_of(s.results)))
    for i in range(y.shape[0]):
        y[i] = p.out[i] * s.results[i]
    return worst


def co_simulation_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if s.begun == 0.0:
        if real_at(int(p.used)) != 0.0 and restart(p) > 1:
            return 1
        s.begun, s.time = 1.0, 0.0
        put_real(int(p.used), 1.0)
        put_real(int(p.stands_at), 0.0)
    else:
        if real_at(int(p.stands_at)) != s.time:
            return 3
        if give_inputs(p, s, u, 0.5) > 1:
            return 1
        status = do_step(p, s.time, p.dt)
        if status > 1:
            return 5 if status == ASKS_TO_END else 2
        s.time += p.dt
        put_real(int(p.stands_at), s.time)
    return 1 if take_outputs(p, s, u, y) > 1 else 0


@kernel
def slope(p, s, u, t, share, k):  # type: ignore[no-untyped-def]
    """Derivatives of the states s.trial at a time within the tick, into s.slopes[k]."""
    component, n = int(p.component), int(p.states)
    worst = call_c(int(p.set_time), (component, t))
    worst = max(worst, call_c(int(p.set_states), (component, address_of(s.trial), n)))
    worst = max(worst, give_inputs(p, s, u, share))
    return max(worst, call_c(int(p.derivatives), (component, address_of(s.slopes[k]), n)))


def model_exchange_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    component, n, m = int(p.component), int(p.states), int(p.indicators)
    if s.begun == 0.0:
        if real_at(int(p.used)) != 0.0 and restart(p) > 1:
            return 1
        put_real(int(p.used), 1.0)
        worst, s.next_event = events(p)
        if worst > 1 or call_c(int(p.get_states), (component, address_of(s.x), n)) > 1:
            return 4
        s.begun, s.time = 1.0, 0.0
        put_real(int(p.stands_at), 0.0)
    else:
        if (m > 0 or s.next_event < NEVER) and real_at(int(p.stands_at)) != s.time:
            return 3
        h, worst = p.dt / p.substeps, 0
        for part in range(int(p.substeps)):
            copy_to(s.x, s.trial)
            for k in range(4):
                if k > 0:
                    for i in range(n):
                        s.trial[i] = s.x[i] + h * p.stages[k] * s.slopes[k - 1, i]
                share = part + p.stages[k]
                worst = max(worst, slope(p, s, u, s.time + share * h, share / p.substeps, k))
            for k in range(4):
                for i in range(n):
                    s.x[i] += h * p.weights[k] * s.slopes[k, i]
        s.time += p.dt
        put_real(int(p.stands_at), s.time)
        worst = max(worst, call_c(int(p.set_time), (component, s.time)))
        worst = max(worst, call_c(int(p.set_states), (component, address_of(s.x), n)))
        worst = max(worst, give_inputs(p, s, u, 1.0))
        status, wanted = completed_step(p)
        wanted = wanted or s.time >= s.next_event - 1e-6 * p.dt
        if m > 0:
            worst = max(worst, call_c(int(p.get_indicators), (component, address_of(s.crossing), m)))
            for i in range(m):
                wanted = wanted or (s.crossing[i] > 0.0) != (s.sign[i] > 0.0)
        if max(worst, status) > 1:
            return 5 if status == ASKS_TO_END else 2
        if wanted:
            worst = call_c(int(p.event_mode), (component,))
            status, s.next_event = events(p)
            worst = max(worst, status)
            if max(worst, call_c(int(p.get_states), (component, address_of(s.x), n))) > 1:
                return 5 if worst == ASKS_TO_END else 4
    if take_outputs(p, s, u, y) > 1:
        return 1
    if m > 0 and call_c(int(p.get_indicators), (component, address_of(s.sign), m)) > 1:
        return 1
    return 0


def stand_in_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    copy_to(p.rest, y)
    multiply_add(p.c, s.x, y)
    multiply_add(p.d, u, y)
    set_to(0.0, s.next)
    multiply_add(p.a, s.x, s.next)
    multiply_add(p.b, u, s.next)
    copy_to(s.next, s.x)
    return 0


def linear_block(block: Block, model: StateSpace, rest: np.ndarray, told: str, begins: Any = 0.0) -> Block:
    """A linear model in the place of a block, with outputs beyond ``rest``."""
    states, inputs = max(model.states, 1), len(block.inputs)
    a, b, c = np.zeros((states, states)), np.zeros((states, inputs)), np.zeros((len(block.outputs), states))
    if model.states:
        a, b, c = model.a, model.b, model.c
    return Block(
        name=block.name,
        step=stand_in_step,
        inputs=block.inputs,
        outputs=block.outputs,
        parameters={"a": stored(a), "b": stored(b), "c": stored(c), "d": stored(model.d), "rest": rest},
        state={"x": np.zeros(states) + begins, "next": np.zeros(states)},
        frozen=("next",),
        held=told,
        by_experiment=True,
    )
