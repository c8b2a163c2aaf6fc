"""A linear block in place of one that has no slope at rest, equivalent to it in the motion of a rehearsal.

A damper of F = c |v|^0.4, or friction, answers small motions out of all proportion: its differences at rest tend to
infinity, and a linearisation there would say nothing of the test.  What such a block does in a motion of a given size
is approximated by the linear map that leaves the least mean square of error along it (T. K. Caughey, "Equivalent
linearization techniques", J. Acoust. Soc. Am. 35 (1963) 1706–1711).  With x = (state, inputs) away from rest, and F the
next state and the outputs,

    F(x) ≈ A x + E x_s,    E = argmin Σ_k |F(φ x_k) − A φ x_k − E φ x_s,k|²

A are the slopes by all that has one, x_s the inputs and states by which there is none, x_k samples of the rehearsal on
the code that runs, and φ a factor on its amplitudes.  For a damper E is the viscous one that takes out the same energy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels.block import Block
from ..kernels.linear import multiply_add, stored
from ..kernels.loop import Loop
from .memory import block_slopes


def equivalent_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = p.states
    for i in range(s.x.shape[0]):
        s.z[i] = s.x[i] - p.rest_state[i]
    for i in range(u.shape[0]):
        s.z[s.x.shape[0] + i] = u[i] - p.rest_input[i]
    for i in range(s.out.shape[0]):
        s.out[i] = p.rest[i]
    multiply_add(p.map, s.z, s.out)
    for i in range(s.x.shape[0]):
        if i < n:
            s.x[i] = s.out[i]
    for i in range(y.shape[0]):
        y[i] = s.out[s.x.shape[0] + i]
    return 0


@dataclass(frozen=True)
class Steep:
    """A block without slopes at rest: what it does there, and what it is known to do along a rehearsal."""

    name: str
    fields: np.ndarray
    """Entries of its state that carry dynamics."""
    state: np.ndarray
    inputs: np.ndarray
    rest: np.ndarray
    """Next fields and outputs at rest."""
    slopes: np.ndarray
    """By fields, then inputs; zero where there is none."""
    without: np.ndarray
    """Which columns have none."""


def steep_blocks(loop: Loop) -> list[Steep]:
    """The blocks of a loop at rest that have no slope there."""
    moving = set(loop.dynamic_indices().tolist())
    found = []
    for block in loop.blocks:
        begin = loop.state_begin(block.name)
        size = int(sum(np.size(value) for value in block.state.values()))
        fields = np.array([i for i in range(size) if begin + i in moving], dtype=int)
        state, inputs = loop.state_of(block.name), loop.inputs_of(block.name)
        answer = loop.call(block.name, state, inputs)
        if answer is None:
            continue
        slopes = block_slopes(loop, block.name, fields)
        without = np.asarray(slopes.without.any(axis=1))
        if without.any():
            columns = np.where(without[:, None], 0.0, slopes.values)
            rest = np.append(answer[0][fields], answer[1])
            found.append(Steep(block.name, fields, state, inputs, rest, columns.T, without))
    return found


def equivalent(loop: Loop, steep: Steep, motion: np.ndarray, factor: float = 1.0) -> Block | None:
    """The linear block for ``factor`` times a motion (samples, fields and inputs) away from rest; None if it rests."""
    block = loop.blocks[loop.row(steep.name)]
    moved = factor * motion
    n, chosen = steep.fields.size, moved[:, steep.without]
    rms = np.sqrt(np.mean(chosen**2, axis=0))
    if not np.all(rms > 0.0):
        return None
    states = np.tile(steep.state, (len(moved), 1))
    states[:, steep.fields] += moved[:, :n]
    after, outputs, well = loop.calls(steep.name, states, steep.inputs + moved[:, n:])
    if not well.all():
        return None
    left = np.hstack([after[:, steep.fields], outputs]) - steep.rest - moved @ steep.slopes.T
    gains = np.linalg.lstsq(chosen / rms, left, rcond=1e-6)[0].T / rms
    whole = steep.slopes.copy()
    whole[:, steep.without] = gains
    return linear_block(block, steep, whole)


def linear_block(block: Block, steep: Steep, whole: np.ndarray) -> Block:
    """A block of the same name and wiring that is this map, (fields and outputs) × (fields and inputs)."""
    n, inputs = steep.fields.size, steep.inputs.size
    room = max(n, 1)  # a field of a record is not empty
    rows, columns = room + len(block.outputs), room + inputs
    matrix, rest = np.zeros((rows, columns)), np.zeros(rows)
    matrix[:n, :n], matrix[:n, room:] = whole[:n, :n], whole[:n, n:]
    matrix[room:, :n], matrix[room:, room:] = whole[n:, :n], whole[n:, n:]
    rest[:n], rest[room:] = steep.rest[:n], steep.rest[n:]
    state = np.zeros(room)
    state[:n] = steep.state[steep.fields]
    return replace(
        block,
        step=equivalent_step,
        parameters={
            "map": stored(matrix),
            "rest": rest,
            "rest_state": state,
            "rest_input": np.append(steep.inputs, np.zeros(1 if not inputs else 0)),
            "states": float(n),
        },
        state={"x": state, "z": np.zeros(columns), "out": np.zeros(rows)},
        frozen=("z", "out") if n else ("x", "z", "out"),
        memory=(),
        jacobian=None,  # it was that of the code that is replaced
        faults={},
    )
