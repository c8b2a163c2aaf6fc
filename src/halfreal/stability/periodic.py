"""A loop that acts alike only every N ticks: the maps of its ticks, and its response at the frequency that drives it.

Where a drive samples at a rate of its own, tick j of a period is a map of its own, measured as in ``linearise``:

    x⁺ = A_j x + B_j u,    y = C_j x + D_j u,    j = 0 … N − 1,  again from 0

A sine u = e^{jωt} then makes outputs of the frequencies ω + 2πk/NΔt.  What a frequency response shows is the part at ω
itself, which is what a Fourier coefficient of a long record at ω gives.  It is the response of a system that does not
change with time (S. Bittanti, P. Colaneri, Periodic Systems, Springer 2009, section 6.3, the cyclic reformulation): of
N copies of the state, copy j + 1 comes from copy j, all are driven alike, and the output is the mean of theirs,

    x̂_{j+1}⁺ = A_j x̂_j + B_j u,       y = (1/N) Σ_j (C_j x̂_j + D_j u)                                 (``mean_model``)

Of states whose rows of A and B are the same in all ticks the mean of the copies is all that is needed, so that only
what changes, and what acts on it, is copied.  The model is exact; what it leaves out, the other frequencies, matters
where a loop is closed: poles are those of A_{N−1} … A_0, and margins are found on all frequencies together
(``lifted_margins.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..contracts.state_space import StateSpace
from ..errors import HalfrealError
from ..kernels.loop import Loop
from .linearise import derivative

SAME = 1e-9
"""Part of a row by which it may differ between ticks by rounding."""
MOST_STATES = 3000
"""Of the copies together."""


@dataclass(frozen=True)
class TickMap:
    """One tick of a period, linearised."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray


@dataclass(frozen=True)
class PeriodicModel(StateSpace):
    """The response at the frequency of what drives it, and the ticks that it is of."""

    ticks: tuple[TickMap, ...] = ()


def tick_maps(loop: Loop, states: np.ndarray, inputs: np.ndarray, outputs: np.ndarray, period: int) -> list[TickMap]:
    """The maps of the ticks of a period, by entries of the loop's vector; the loop is left as it was."""
    base, n, rows, maps = loop.vector.copy(), states.size, np.concatenate([states, outputs]), []
    for _ in range(period):
        by_state, by_input = derivative(loop, states, rows), derivative(loop, inputs, rows)
        maps.append(TickMap(by_state[:n], by_input[:n], by_state[n:], by_input[n:]))
        loop.run(1, event_room=0)
    loop.vector[:] = base
    return maps


def monodromy(ticks: Sequence[TickMap]) -> np.ndarray:
    """A_{N−1} … A_0, the map of a whole period."""
    whole = np.eye(len(ticks[0].a))
    for tick in ticks:
        whole = tick.a @ whole
    return whole


def mean_model(ticks: Sequence[TickMap], dt: float) -> StateSpace:
    """The response at the frequency of the input itself; a plain model if there is one tick in the period."""
    if len(ticks) == 1:
        return StateSpace(ticks[0].a, ticks[0].b, ticks[0].c, ticks[0].d, dt)
    a, b, c, d = (np.array([getattr(tick, name) for tick in ticks]) for name in "abcd")
    count, m = len(ticks), b.shape[2]
    copied = _changes(np.concatenate([a, b], axis=2)).any(axis=1) | _changes(c).any(axis=0)
    while True:  # and all that acts on it
        more = copied | np.any(a[:, copied] != 0.0, axis=(0, 1))
        if np.array_equal(more, copied):
            break
        copied = more
    kept, p = ~copied, int(copied.sum())
    size = count * p + int(kept.sum())
    if size > MOST_STATES:
        raise HalfrealError(
            f"the loop repeats only every {count} ticks, and its response would need {size} states where "
            f"{MOST_STATES} is the limit; choose rates whose common period with timing.step is shorter"
        )
    whole_a, whole_b, whole_c = np.zeros((size, size)), np.zeros((size, m)), np.zeros((c.shape[1], size))
    last = slice(count * p, size)
    for j in range(count):
        here, following = (slice(i * p, (i + 1) * p) for i in (j, (j + 1) % count))
        whole_a[following, here], whole_b[following] = a[j][np.ix_(copied, copied)], b[j][copied]
        whole_a[last, here] = a[j][np.ix_(kept, copied)] / count
        whole_c[:, here] = c[j][:, copied] / count
    whole_a[last, last], whole_b[last], whole_c[:, last] = a[0][np.ix_(kept, kept)], b[0][kept], c[0][:, kept]
    return PeriodicModel(whole_a, whole_b, whole_c, d.mean(axis=0), dt, tuple(ticks))


def _changes(matrices: np.ndarray) -> np.ndarray:
    """Which entries of matrices, (ticks, rows, columns), are others in other ticks."""
    size = np.abs(matrices).max(axis=(0, 2), initial=0.0)[:, None]
    return np.asarray(np.ptp(matrices, axis=0) > SAME * size)
