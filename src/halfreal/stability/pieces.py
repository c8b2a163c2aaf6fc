"""A loop decomposed for its linearisation: blocks that offer their own Jacobian, and the rest, which is perturbed.

A block with a thousand states costs a thousand perturbations of the whole loop, and each runs that block.  One that
offers its Jacobian (``kernels/block.py``) is replaced by a stand-in instead, which puts out values that are given and
keeps what it has read.  One tick of the loop is then, in its columns x and its rows y,

    rest            y = R x + E v,       u = F x + H v                  perturbed, as ever
    large blocks    b⁺ = A b + B u,      v = C b + D u                  from their Jacobians

with v what the large blocks put out and u what they read.  In a tick each is called once and reads what was written
before, so that I − D H has an inverse, and both put together are the derivative of the loop.

That a Jacobian is that of the code which runs is tried each time along one direction, with the block itself.  Where it
is not, as at a kink of a law, or where the block is too small to gain anything, there is nothing to take apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from ..kernels.block import Block, Jacobian
from ..kernels.loop import Loop
from .slopes import ROUNDING, first_size

LARGE = 40
"""States of a block from which on its Jacobian is required; fewer are perturbed in less time."""
ALIKE = 1e-6
"""Part of the terms by which a Jacobian may differ from what the block does."""

Derivative = Callable[[Loop, np.ndarray, np.ndarray], np.ndarray]
"""Of rows by columns of a loop's vector, by perturbing it."""


@dataclass(frozen=True)
class Pieces:
    """The derivative of a loop over one tick, decomposed."""

    rest: np.ndarray
    """R, (rows of the rest, columns of the rest)."""
    by_outputs: np.ndarray
    """E, (rows of the rest, outputs)."""
    inputs: np.ndarray
    """F, (inputs, columns of the rest)."""
    through: np.ndarray
    """H, (inputs, outputs)."""
    large: tuple[Jacobian, ...]
    columns: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Which of the columns are of the rest; which of the large blocks; and which of all their states these are."""
    rows: tuple[np.ndarray, np.ndarray, np.ndarray]

    def together(self) -> np.ndarray:
        """The derivative itself, (rows, columns)."""
        if not self.columns[1].size and not self.rows[1].size:  # no states of large blocks, only their pass-through
            return self._by_rest()
        rest, by_large, by_rest, own = replace(self, large=tuple(one.of_state() for one in self.large))._parts()
        (columns, large, _), (rows, large_rows, _) = self.columns, self.rows
        whole = np.zeros((rows.size + large_rows.size, columns.size + large.size))
        whole[np.ix_(rows, columns)] = rest
        whole[np.ix_(rows, large)] = by_large
        whole[np.ix_(large_rows, columns)] = by_rest
        whole[np.ix_(large_rows, large)] = own if isinstance(own, np.ndarray) else own.toarray()
        return whole

    def _by_rest(self) -> np.ndarray:
        """Of rows of the rest by columns of the rest."""
        d = _diagonal([one.d for one in self.large])
        v_rest = np.linalg.solve(np.eye(len(d)) - d @ self.through, d @ self.inputs)
        return np.asarray(self.rest + self.by_outputs @ v_rest)

    def sparse(self) -> Any:
        """The same as a sparse array, of a large block that is, with its states in its own coordinates."""
        from scipy.sparse import block_array, csr_array

        rest, by_large, by_rest, own = (csr_array(one) for one in self._parts())
        whole = block_array([[rest, by_large], [by_rest, own]]).tocsr()
        rows, columns = (np.argsort(np.concatenate(one[:2])) for one in (self.rows, self.columns))
        return whole[rows][:, columns]

    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Of rows of the rest and of the large blocks, by columns of the rest and of the large blocks."""
        b, c, d = (_diagonal([getattr(one, name) for one in self.large]) for name in "bcd")
        own = self.large[0].a if len(self.large) == 1 else _diagonal([one.a for one in self.large])
        answered = np.linalg.inv(np.eye(len(d)) - d @ self.through)
        v_rest, v_large = answered @ d @ self.inputs, answered @ c
        u_rest = self.inputs + self.through @ v_rest
        states, rows = self.columns[2], self.rows[2]
        if np.any(self.through):
            own = own + b @ (self.through @ v_large)
        return (
            self.rest + self.by_outputs @ v_rest,
            (self.by_outputs @ v_large)[:, states],
            (b @ u_rest)[rows],
            own[rows][:, states],
        )


def _diagonal(parts: list[np.ndarray]) -> np.ndarray:
    dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
    return dense[0] if len(dense) == 1 else np.asarray(block_diag(*dense))


def stand_in_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(u.size):
        s.inputs[i] = u[i]
    for i in range(y.size):
        y[i] = s.outputs[i]
    return 0


def taken_apart(loop: Loop, columns: np.ndarray, rows: np.ndarray, perturbed: Derivative) -> Pieces | None:
    """The derivative of ``rows`` by ``columns`` of a loop's vector; None if no large block offers its part of it.

    The loop is left as it was.
    """
    names = [block.name for block in loop.controller if is_large(block)]
    if not names:
        return None
    split = [_split(loop, names, where) for where in (columns, rows)]
    if None in split:
        return None
    alone = _with_stand_ins(loop, names)
    before = alone.vector.copy()
    alone.run(1, event_room=0)
    read = [alone.state(name)["inputs"].copy() for name in names]
    alone.vector[:] = before
    found = [_jacobian(loop, name, u) for name, u in zip(names, read, strict=True)]
    large = tuple(one for one in found if one is not None)
    if len(large) < len(names):
        return None
    put_out, taken_in = (
        np.concatenate([alone.state_indices(name, field) for name in names]) for field in ("outputs", "inputs")
    )
    places = [_moved(loop, alone, where[one[0]]) for where, one in zip((columns, rows), split, strict=True) if one]
    both = perturbed(alone, np.concatenate([places[0], put_out]), np.concatenate([places[1], taken_in]))
    n, m = places[1].size, places[0].size
    of_columns, of_rows = split
    assert of_columns is not None and of_rows is not None
    return Pieces(both[:n, :m], both[:n, m:], both[n:, :m], both[n:, m:], large, of_columns, of_rows)


def is_large(block: Block) -> bool:
    """Whether a block offers its Jacobian and has so many states that it is used, or shows no slope if perturbed."""
    if block.jacobian is None:
        return False
    states = sum(int(np.size(value)) for key, value in block.state.items() if key not in block.frozen)
    return states >= LARGE or block.two_slopes


def _split(loop: Loop, names: list[str], indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Positions among ``indices`` of the rest and of the large blocks, and of the latter which states they are.

    None if one of them is a frozen field of a large block, which its Jacobian does not cover.
    """
    places = [np.zeros(0, dtype=int)]
    for name in names:
        block = loop.blocks[loop.row(name)]
        places += [loop.state_indices(name, key) for key in block.state if key not in block.frozen]
    order = np.full(loop.vector.size, -1)
    told = np.concatenate(places)
    order[told] = np.arange(told.size)
    is_large = np.isin(loop.owners_of(indices), [loop.row(name) for name in names])
    states = order[indices[is_large]]
    if np.any(states < 0):
        return None
    return np.flatnonzero(~is_large), np.flatnonzero(is_large), states


def _with_stand_ins(loop: Loop, names: list[str]) -> Loop:
    """The loop with stand-ins that put out what the large blocks are about to."""
    before = loop.vector.copy()
    loop.run(1, event_room=0)
    others = {}
    for name in names:
        block = loop.blocks[loop.row(name)]
        outputs = loop.vector[[loop.index[one.name] for one in block.outputs]]
        state = {"outputs": outputs, "inputs": np.zeros(len(block.inputs))}
        bare = replace(block, step=stand_in_step, parameters={}, state=state, frozen=tuple(state), memory=())
        others[name] = replace(bare, jacobian=None, faults={})
    loop.vector[:] = before
    alone = loop.with_blocks(others)
    alone.go_on_from(loop)
    return alone


def _moved(loop: Loop, alone: Loop, indices: np.ndarray) -> np.ndarray:
    """Where entries of the loop's vector, of the rest, stand in that of the one with stand-ins."""
    names = [block.name for block in loop.blocks]
    shift = np.array([alone.state_begin(name) - loop.state_begin(name) for name in names] + [0])
    return np.asarray(indices + shift[loop.owners_of(indices)])  # the last for what is no state: -1


def _jacobian(loop: Loop, name: str, inputs: np.ndarray) -> Jacobian | None:
    """What a block offers at its present state and these inputs; None if it does not agree with what the block does."""
    block, state = loop.blocks[loop.row(name)], loop.state_of(name)
    assert block.jacobian is not None
    step = loop.call(name, state, inputs)
    if step is None:
        return None
    before, after = loop.fields_of(name, state.copy()), loop.fields_of(name, step[0])
    found = block.jacobian(loop.parameter(name), before, loop.time, inputs.copy(), after)
    kept = np.concatenate([np.full(int(np.size(value)), key not in block.frozen) for key, value in block.state.items()])
    random = np.random.default_rng(1)
    by_state = first_size(state) * random.standard_normal(state.size) * kept
    by_input = first_size(inputs) * random.standard_normal(inputs.size)
    ends = [loop.call(name, state + sign * by_state, inputs + sign * by_input) for sign in (1.0, -1.0)]
    if ends[0] is None or ends[1] is None:
        return None
    ahead, behind = (np.append(one[0][kept], one[1]) for one in ends if one is not None)
    x, u = by_state[kept], by_input
    if found.basis is not None:
        x = found.basis.own(x[:, None])[:, 0]
    moved = found.a @ x + found.b @ u
    sizes = abs(found.a) @ abs(x) + abs(found.b) @ abs(u)
    if found.basis is not None:
        moved, sizes = found.basis.state(moved[:, None])[:, 0], found.basis.bound(sizes[:, None])[:, 0]
    expected = 2.0 * np.append(moved, found.c @ x + found.d @ u)
    terms = np.append(sizes, abs(found.c) @ abs(x) + abs(found.d) @ abs(u))
    allowed = 2.0 * max(ALIKE, found.rough) * terms + ROUNDING * state.size * (np.abs(ahead) + np.abs(behind))
    alike = np.abs(ahead - behind - expected) <= allowed
    return found if np.all(alike[: alike.size - found.uncounted]) else None
