"""States that are memory: found out by experiment on each block that could have some.

A pole at λ = 1 may be an integrator that drifts, or nothing at all: the offset of an elastoplastic law that does not
yield, a stored peak, a counter, a field that no one uses.  Which it is can be seen on the block alone, at the loop's
present state.  One call of it is, to first order,

    s⁺ = A s + B u,    y = C s + D u

with its inputs u, wherever they come from.  Two kinds of poles on the unit circle do not belong to the loop:

held    a combination w·s with wB = 0 that no input changes (the part of A that cannot be controlled by u).  Regardless
        of what the test does in small motion, w·s stays what it is; the loop rests at every value of it, and moves
        about each in the same way.  It is a parameter there, like a stiffness.  A law that adds up increments of force,
        f ← f + k (u − u₀), u₀ ← u, has one too: f − k u₀.  It must not continue by itself: s⁺ = s at rest.
unread  a combination that no output depends on, now or later (the part of A that cannot be observed in y): a counter,
        a sum of energies.  It may continue for ever, and nothing is affected by it.

Both must hold over many calls, as a block may act in every tenth tick only; one that says so (``Block.repeats``) is
not looked at, and keeps all its poles.

An integrator that is fed by the loop and acts on it is neither, and its pole stays: a loop that drifts is not stable.
The loop's own state is then restricted to where nothing of what is held differs from its value at rest, and what is
unread is left out; both leave all other poles exactly as they are.

A held quantity with a large effect is still only that: by how much it comes to move the loop in large motion, as a
specimen that yields does, is determined by the rehearsal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space, schur

from ..kernels.loop import Loop
from .pieces import is_large
from .slopes import Slopes, first_size, slopes_along

ON_CIRCLE = 1e-7
"""Distance of |λ| from one within which a pole of a block alone neither grows nor decays."""
WATCHED, STILL = 200, 1e-6
"""Calls over which memory must stay as it is, and the part of its terms up to which it may seem to change."""
RANK = 1e-9
"""Part of a direction that is left when it counts as new, in states that are scaled to what drives them."""


@dataclass(frozen=True)
class Memory:
    """What of a loop's states ``indices`` is memory."""

    held: np.ndarray
    """Rows w over the states: combinations that stay as they are, (held, states)."""
    unread: np.ndarray
    """Columns over the states: combinations that nothing depends on, (states, unread)."""
    names: tuple[str, ...] = ()
    """The fields that are memory, for people."""
    changing: tuple[str, ...] = ()
    """Blocks that leave alone in one call what they change in others, as one with a ring buffer does."""

    def of(self, places: np.ndarray, count: int) -> Memory:
        """Of the states at ``places`` alone, and with others behind them, ``count`` in all, that are none."""
        more = count - places.size
        held, unread = (
            np.pad(self.held[:, places], ((0, 0), (0, more))),
            np.pad(self.unread[places], ((0, more), (0, 0))),
        )
        return Memory(held, unread, self.names, self.changing)

    def bases(self) -> tuple[np.ndarray, np.ndarray]:
        """Q, P with which x⁺ = A x + B u, y = C x becomes z⁺ = P A Q z + P B u, y = C Q z, without the memory.

        Each takes one state out and leaves the others as they are, so that their units are not mixed.
        """
        inner = outer = np.eye(self.held.shape[1])
        for row in self.held:
            now = row @ inner
            pivot = int(np.argmax(np.abs(now)))
            if abs(now[pivot]) > RANK:  # what is held stays at zero: the pivot follows from the others
                others = np.delete(np.eye(now.size), pivot, axis=0)
                follow = others.T.copy()
                follow[pivot] = -np.delete(now, pivot) / now[pivot]
                inner, outer = inner @ follow, others @ outer
        # what is held is gone already: of a pole that is both, one state is taken out, and not two
        left = self.unread
        if len(self.held) and left.size:
            left = left @ null_space(self.held @ left, rcond=RANK)
        for column in left.T:
            now = outer @ column
            pivot = int(np.argmax(np.abs(now))) if now.size else 0
            if now.size and abs(now[pivot]) > RANK:  # all states that differ by it are one
                others = np.delete(np.eye(now.size), pivot, axis=0)
                alike = others.copy()
                alike[:, pivot] = -np.delete(now, pivot) / now[pivot]
                inner, outer = inner @ others.T, alike @ outer
        return inner, outer


def find_memory(loop: Loop, indices: np.ndarray) -> Memory:
    """The memory among the states of a loop that is at the ``indices`` of its vector."""
    place = {int(index): i for i, index in enumerate(indices)}
    held: list[np.ndarray] = []
    unread: list[np.ndarray] = []
    names: list[str] = []
    changing: list[str] = []
    for block in loop.blocks:
        fields = [i for key in block.state for i in loop.state_indices(block.name, key) if int(i) in place]
        if not fields or block.repeats > 1:  # one call does not tell what the others of its period leave alone
            continue
        if is_large(block):  # a block that offers its Jacobian moves all the states that it gives one for
            continue
        *both, changes = _of_block(loop, block.name, np.array(fields))
        changing += [block.name] if changes else []
        for kind, found in zip((held, unread), both, strict=True):
            for direction in found:
                whole = np.zeros(indices.size)
                whole[[place[int(i)] for i in fields]] = direction
                kind.append(whole)
                large = np.abs(direction) > 1e-6 * np.abs(direction).max()
                names += [loop.name_of(int(i)).split("[")[0] for i, one in zip(fields, large, strict=True) if one]
    rows = np.array(held).reshape(-1, indices.size)
    columns = np.array(unread).reshape(-1, indices.size).T
    return Memory(rows, columns, tuple(dict.fromkeys(names)), tuple(changing))


def _of_block(loop: Loop, name: str, fields: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Combinations of a block's fields, a row each, that are held, and that are unread; and whether what one call
    leaves alone is changed by others."""
    nothing = np.zeros((0, fields.size))
    state, inputs = loop.state_of(name), loop.inputs_of(name)
    mine = fields - loop.state_begin(name)
    rest = loop.call(name, state, inputs)
    if rest is None:
        return nothing, nothing, False

    slopes = block_slopes(loop, name, mine)
    whole = np.where(slopes.without, np.inf, slopes.values).T
    if not np.all(np.isfinite(whole[:, : mine.size])):
        return nothing, nothing, False
    whole = np.where(np.isfinite(whole), whole, 1.0)  # an input that acts in whatever way does act
    n = mine.size
    a, b, c = whole[:n, :n], whole[:n, n:], whole[n:, :n]
    drifts = rest[0][mine] - state[mine]
    held, unread = _unreached(a, b, drifts), _unreached(a.T, c.T, None)
    changes = len(held) > 0 and not _stays(loop, name, mine, held)
    return (
        nothing if changes else held,
        unread if len(unread) and _stays_unread(loop, name, mine, unread) else nothing,
        changes,
    )


Side = tuple[np.ndarray, np.ndarray]
"""State and inputs of a block."""


def _apart(loop: Loop, name: str, sides: tuple[Side, Side]) -> tuple[np.ndarray, np.ndarray]:
    """By how much two sides' states and outputs differ after each of ``WATCHED`` calls, up to the first fault."""
    ends = [
        loop.calls(name, *(np.tile(one, (WATCHED, 1)) for one in (state, inputs)), carried=True)
        for state, inputs in sides
    ]
    well = ends[0][2] & ends[1][2]
    return (ends[0][0] - ends[1][0])[well], (ends[0][1] - ends[1][1])[well]


def _stays(loop: Loop, name: str, mine: np.ndarray, held: np.ndarray) -> bool:
    """Whether what one call leaves alone is left alone by many: a block may act in some of its ticks only."""
    state, inputs = loop.state_of(name), loop.inputs_of(name)
    for i in range(inputs.size):
        by = np.zeros(inputs.size)
        by[i] = first_size(inputs[i])
        moved = _apart(loop, name, ((state, inputs + by), (state, inputs - by)))[0][:, mine].T
        if np.any(np.abs(held @ moved) > STILL * (np.abs(held) @ np.abs(moved))):
            return False
    return True


def _stays_unread(loop: Loop, name: str, mine: np.ndarray, unread: np.ndarray) -> bool:
    """Whether no output of many calls depends on what none of one call does."""
    state, inputs = loop.state_of(name), loop.inputs_of(name)
    for direction in unread:
        by = np.zeros(state.size)
        by[mine] = first_size(float(np.abs(state[mine]).max())) * direction
        if np.any(_apart(loop, name, ((state + by, inputs), (state - by, inputs)))[1] != 0.0):
            return False
    return True


def block_slopes(loop: Loop, name: str, fields: np.ndarray) -> Slopes:
    """Slopes of a block's next ``fields`` of its state, then of its outputs: by each of the fields, then by each input.

    The block is called alone, at the loop's present state and with what it has read last.
    """
    state, inputs = loop.state_of(name), loop.inputs_of(name)
    here, n = np.concatenate([state, inputs]), state.size
    places = np.concatenate([fields, n + np.arange(inputs.size)])

    def images(which: np.ndarray, by: np.ndarray) -> np.ndarray:
        changed = np.tile(here, (by.size, 1))
        changed[np.arange(by.size), places[which]] += by
        after, outputs, well = loop.calls(name, changed[:, :n], changed[:, n:])
        return np.where(well[:, None], np.hstack([after[:, fields], outputs]), np.nan)

    entries = fields.size + len(loop.blocks[loop.row(name)].outputs)
    return slopes_along(images, first_size(here[places]), entries)


def _unreached(a: np.ndarray, b: np.ndarray, drifts: np.ndarray | None) -> np.ndarray:
    """Left directions, a row each, that b never reaches through a and whose poles are on the unit circle.

    With ``drifts``, what a state does at rest by itself, those at λ = 1 that drift are left out.
    """
    n = len(a)
    scale = _scales(a, b)
    a, b = a / scale[:, None] * scale, b / scale[:, None]
    room, known = np.zeros((n, n)), 0  # orthonormal, a column each: a line of a thousand delays has as many
    new = b / np.maximum(np.linalg.norm(b, axis=0), np.finfo(float).tiny) if b.size else np.zeros((n, 0))
    while new.shape[1] and known < n:
        reached = room[:, :known]
        basis, sizes, _ = np.linalg.svd(new - reached @ (reached.T @ new), full_matrices=False)
        fresh = basis[:, sizes > RANK][:, : n - known]
        if not fresh.shape[1]:
            break
        # once more: what was small holds the rounding of what was taken off
        fresh, _ = np.linalg.qr(fresh - reached @ (reached.T @ fresh))
        room[:, known : known + fresh.shape[1]] = fresh
        known += fresh.shape[1]
        new = a @ fresh
        new = new / np.maximum(np.linalg.norm(new, axis=0), np.finfo(float).tiny)
    reached = room[:, :known]
    left = null_space(reached.T).T if reached.shape[1] else np.eye(n)
    if not len(left):
        return np.zeros((0, n))
    part = left @ a @ left.T  # W A = part W
    found = [_chosen(part, left, scale, _at_one), _chosen(part, left, scale, _elsewhere_on_circle)]
    if drifts is not None and len(found[0]):
        going = found[0] @ drifts
        found[0] = null_space(going[None]).T @ found[0] if np.any(going != 0.0) else found[0]
    return np.vstack(found)


def _chosen(part: np.ndarray, left: np.ndarray, scale: np.ndarray, which: Callable[..., bool]) -> np.ndarray:
    """Left directions of the poles that ``which`` chooses, in the states' own units."""
    try:
        _, basis, count = schur(part.T, output="real", sort=which)
        chosen = basis[:, :count]
    except np.linalg.LinAlgError:  # put in order, poles at the very limit of what is chosen have passed it
        chosen = _by_eigenvectors(part.T, which)
    found = (chosen.T @ left) / scale
    if not len(found):
        return np.zeros((0, len(scale)))
    found /= np.maximum(np.abs(found).max(axis=1, keepdims=True), np.finfo(float).tiny)
    found[np.abs(found) < RANK] = 0.0
    return np.asarray(found)


def _by_eigenvectors(matrix: np.ndarray, which: Callable[..., bool]) -> np.ndarray:
    """Orthonormal real columns that span the eigenvectors of the chosen poles."""
    values, vectors = np.linalg.eig(matrix)
    some = vectors[:, [which(value.real, value.imag) for value in values]]
    basis, sizes, _ = np.linalg.svd(np.hstack([some.real, some.imag]), full_matrices=False)
    return np.asarray(basis[:, sizes > RANK * max(sizes.max(initial=0.0), np.finfo(float).tiny)])


def _at_one(real: float, imaginary: float = 0.0) -> bool:
    return bool(abs(complex(real, imaginary) - 1.0) < ON_CIRCLE)


def _elsewhere_on_circle(real: float, imaginary: float = 0.0) -> bool:
    return not _at_one(real, imaginary) and bool(abs(abs(complex(real, imaginary)) - 1.0) < ON_CIRCLE)


def _scales(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How large each state becomes under inputs of one, so that small ones are not taken for undriven."""
    scale = np.abs(b).max(axis=1) if b.size else np.zeros(len(a))
    for _ in range(len(a)):
        through = np.abs(a) @ scale
        scale = np.where(scale > 0.0, scale, through)
    return np.asarray(np.where(scale > 0.0, scale, 1.0))
