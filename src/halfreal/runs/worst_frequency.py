"""A coupling that is tuned to one frequency after another: at which of them the loop is judged.

A coupling that is looked up in a table is another one at each frequency of its test.  Each of them is linearised.  If
one is unstable, the loop is judged at the one that grows fastest; else at the one that tolerates the least delay;
and if each tolerates any, at the one whose open loop L comes closest to 1.  The coupling is in series with the rest, so
that

    L(jω) = P(jω) L₁(jω)

with its response P and the open loop L₁ without coupling gives them all, on a grid that is fine enough to rank them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..contracts.context import OPEN_LOOP
from ..couplings.direct import Direct
from ..definition.definition import Definition
from ..stability.open_loop import open_loop
from .build import SETTLING_TICKS, build

GRID = 1000
SLOWEST = 0.05
"""Hz, from where on the grid goes up to half the sampling rate."""


def at_worst(definition: Definition, radius: Callable[[Definition], float]) -> tuple[Definition, str]:
    """The definition with its coupling tuned to the worst of its frequencies, and what to say of it.

    ``radius`` gives the spectral radius of a definition's loop.  Other couplings come back as they are.
    """
    frequencies = definition.coupling.frequencies_to_judge(definition)
    if len(frequencies) < 2:
        return definition, ""
    tuned = [tuned_to(definition, hz) for hz in frequencies]
    radii = np.array([radius(one) for one in tuned])
    if radii.max() >= 1.0:
        worst, why = int(np.argmax(radii)), "where it grows fastest"
    else:
        worst, why = least_margin(definition, frequencies)
    low, high = min(frequencies), max(frequencies)
    told = f"the coupling changes with the frequency: assessed at {frequencies[worst]:g} Hz, {why}"
    return tuned[worst], f"{told}, of {len(frequencies)} from {low:g} to {high:g} Hz"


def tuned_to(definition: Definition, hz: float) -> Definition:
    return definition.unchecked_copy({"coupling": definition.coupling.tuned_to(definition, hz)})


def least_margin(definition: Definition, frequencies: tuple[float, ...]) -> tuple[int, str]:
    """Which of stable loops has the least margin, and of what."""
    loop = build(definition.unchecked_copy({"coupling": Direct()}), OPEN_LOOP)
    loop.run(SETTLING_TICKS)
    coupling = definition.coupling.with_model_data(definition)
    hz = np.geomspace(SLOWEST, 0.5 / definition.timing.step, GRID)
    rest = open_loop(loop).response(2 * np.pi * hz)[:, 0, 0]
    delays, gains = [], []
    for frequency in frequencies:
        gain = coupling.tuned_response(definition, hz, frequency) * rest
        size = np.abs(gain)
        crossed = np.flatnonzero((size[:-1] < 1.0) != (size[1:] < 1.0))
        lag = np.mod(np.angle(gain[crossed]) + np.pi, 2 * np.pi)  # until L = −1
        delays.append(float(np.min(lag / (2 * np.pi * hz[crossed]), initial=np.inf)))
        gains.append(float(size.max()))
    if np.isfinite(delays).any():
        return int(np.argmin(delays)), "where its delay margin is smallest"
    return int(np.argmax(gains)), "where the loop gain is largest"
