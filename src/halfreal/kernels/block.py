"""What a block is: a function, its parameters, its state, and the channels it reads and writes.

Contract for implementers
-------------------------
1. ``step(p, s, t, u, y)`` gets inputs ``u`` that hold at time ``t`` [s] and writes outputs ``y`` that hold at time
``t``.
   State carries what is needed from earlier ticks.
2. ``p`` and ``s`` have the fields of ``parameters`` and ``state``: floats (``p.k``) and float arrays (``s.x[i]``),
   nothing else.  Whole numbers, flags and counters are floats too.
3. It returns 0, or a code from 1 to 997 listed in ``faults``; the guard trips on any of them.
4. No allocation (it does not compile), no exceptions, no globals but other ``@kernel`` functions: limits, gains and the
   step are parameters.  Users' functions are checked (``kernels/checked.py``) and may take constants from around them.
5. Delay lines are shift registers, not rings: then one tick is the same map at every tick, and its eigenvalues are the
   loop's poles.
   A block that acts at a slower rate of its own says after how many calls it acts alike again (``repeats``): the
   loop is then linearised over the period of all its blocks.
6. Fields that are counters, adapted coefficients or statistics stand in ``frozen``: linearising the loop holds them.
7. A block with many states may offer its ``jacobian(p, s, t, u, after)``, a plain Python function of what ``step`` is
   given and of the state after it, which answers with a ``Jacobian``.  Perturbing such a block state by state takes
   long; where it has none, or where it does not agree with the code that runs, that is what is done
   (``stability/pieces.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

Value = float | np.ndarray
UNUSED = "unused"
"""The field of a block that has none."""
LARGEST_FAULT = 997
"""Code that a block may return; the loop has two of its own above."""
MOST_PASSES = 100_000_000
"""Of loops, in one call of a function: more than the LU factors of 600 unknowns take."""
OUT_OF_PASSES = 77
"""What compiled code returns in Numba's calling convention when it has made them all; Numba's own codes are below 2."""


Owner = Literal["axis", "commanded", "actuator"]
"""What channels may be counted along: all axes of the interface, those of them that are commanded, or actuators."""


@dataclass(frozen=True)
class Channel:
    """One float of the loop's bus, with its unit (``"1"`` where there is none).

    A channel ``of`` an axis or of an actuator is the entry with this ``number``, from 1 on, of a ``signal`` that all of
    them have.  Where a loop is put together it takes their name, and the unit of a rotation
    (``contracts/axes.py``); all others keep theirs.
    """

    name: str
    unit: str
    of: Owner | None = None
    number: int = 0
    signal: str = ""


@lru_cache(maxsize=512)
def channels(signal: str, unit: str, count: int, of: Owner | None = None) -> tuple[Channel, ...]:
    """Channels of a vector signal: ``signal`` alone if there is one, else ``signal.1``, ``signal.2``, …

    ``of`` says what they are counted along, if anything.
    """
    numbers = range(1, count + 1)
    return tuple(Channel(signal if count == 1 else f"{signal}.{i}", unit, of, i, signal) for i in numbers)


def names(signal: Sequence[Channel]) -> tuple[str, ...]:
    return tuple(channel.name for channel in signal)


@dataclass(frozen=True)
class Basis:
    """Coordinates z of a block's state s in which its Jacobian is given; both ways, of columns."""

    state: Callable[[np.ndarray], np.ndarray]
    """s of z."""
    own: Callable[[np.ndarray], np.ndarray]
    """z of s."""
    bound: Callable[[np.ndarray], np.ndarray]
    """How large s may be for sizes of z."""


@dataclass(frozen=True)
class Jacobian:
    """One call of a block to first order about where it stands: s⁺ = A s + B u, y = C s + D u.

    s are the fields of its state that are not frozen, in their order, arrays flattened in C order.
    """

    a: Any
    """(states, states): an array, or a SciPy sparse one, of which parts that do not act on each other are seen."""
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    basis: Basis | None = None
    """Coordinates of A, B and C, in which A may fall apart; the state itself if left out."""
    rough: float = 0.0
    """Part of its terms by which it may differ from the code, for something small that it leaves out."""
    uncounted: int = 0
    """Last outputs that have no derivative and that no block reads, such as a number of iterations: not compared."""

    def of_state(self) -> Jacobian:
        """In terms of the state itself."""
        if self.basis is None:
            return self
        own = self.basis.own(np.eye(self.a.shape[0]))
        a = self.basis.state(np.asarray(self.a @ own))
        return Jacobian(a, self.basis.state(self.b), np.asarray(self.c @ own), self.d)


@dataclass(frozen=True)
class Block:
    """A block of the loop: run-time function and data, and its wiring by channel names."""

    name: str
    step: Callable[..., int]
    inputs: tuple[str, ...]
    outputs: tuple[Channel, ...]
    parameters: Mapping[str, Value] = field(default_factory=dict)
    state: Mapping[str, Value] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    """Frozen fields that are hysteretic memory: held at rest, but part of the dynamics of a loop in motion."""
    moving: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Entries of frozen fields that are not held: of the flat field, by their places."""
    held: str = ""
    """What it means for people that the frozen fields are held: the caveat of a linearisation."""
    repeats: int = 1
    """Calls after which it acts alike again; more than one if it has a slower rate of its own."""
    faults: Mapping[int, str] = field(default_factory=dict)
    watched: tuple[str, ...] = ()
    """Output channels whose every change becomes an event in the record."""
    texts: Mapping[str, Mapping[float, str]] = field(default_factory=dict)
    """Words for the values of watched channels; an empty one for a change that says nothing new."""
    initial: tuple[float, ...] = ()
    """Values of the outputs before the first tick, where they matter (measurements); zeros if left out."""
    stand_in: Callable[[], Block] | None = field(default=None, compare=False, repr=False)
    """Gives the block that is linearised in its place, where it keeps a state to itself that no one can set."""
    by_experiment: bool = False
    """Whether its stand-in is a model found by experiment on the block, which can be driven alone to verify it; or it
    is that model."""
    stand_in_here: Callable[[Any], Block] | None = field(default=None, compare=False, repr=False)
    """The same about the state of the block in motion, if it can give it; called with its state."""
    keeps: Any = field(default=None, compare=False, repr=False)
    """What must live as long as the block, such as an opened library whose functions it calls."""
    said: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    """Gives the last message of a program that the block calls, such as an FMU's logger."""
    references: tuple[str, ...] = ()
    """The papers this block implements, for the report: keys of ``halfreal.citations``, or the texts themselves."""
    jacobian: Callable[[Any, Any, float, np.ndarray, Any], Jacobian] | None = None
    """Its derivatives, if it knows them: called with what ``step`` is called with (p, s, t, u), and with
    the state that it comes to by that."""
    two_slopes: bool = False
    """Whether it has another slope in each direction at rest, so that small blocks, too, are taken by their
    Jacobian."""

    @cached_property
    def state_layout(self) -> np.dtype:
        """Record layout of its state."""
        return layout(self.state)

    @cached_property
    def parameter_layout(self) -> np.dtype:
        """Record layout of its parameters."""
        return np.dtype((np.record, layout(self.parameters)))


def shape_of(value: Value) -> tuple[int, ...]:
    """``np.shape``, in a tenth of its time for a float."""
    return value.shape if isinstance(value, np.ndarray) else () if isinstance(value, float) else np.shape(value)


def layout(values: Mapping[str, Value]) -> np.dtype:
    """Record layout of named float64 fields (an empty block still gets one, unused, field)."""
    fields: list[Any] = [(key, np.float64, shape_of(value)) for key, value in values.items()]
    return np.dtype(fields or [(UNUSED, np.float64)])


def flatten(values: Mapping[str, Value]) -> np.ndarray:
    """The fields one after another as one float64 vector, arrays in C order."""
    if not values:
        return np.zeros(1)
    found = np.empty(sum(math.prod(shape_of(value)) for value in values.values()))
    fill(found, values)
    return found


def fill(vector: np.ndarray, values: Mapping[str, Value]) -> None:
    """Write the fields, if there are any, one after another into a vector of their whole size, arrays in C order."""
    at = 0
    for value in values.values():
        if isinstance(value, float):
            vector[at] = value
            at += 1
        else:
            flat = np.ravel(value)
            vector[at : at + flat.size] = flat
            at += flat.size
