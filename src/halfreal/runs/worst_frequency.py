"""A coupling that is tuned to one frequency after another: at which of them the loop is judged.

A narrow-band table is another coupling at each frequency of its test.  Each of them is linearised.  If one is unstable,
the loop is judged at the one that grows fastest; else at the one that bears the least further delay; and if each bears
any, at the one whose open loop L comes closest to 1.  The table is in series with the rest, so that

    L(jω) = P(jω) L₁(jω)

with its response P and the open loop L₁ without coupling gives them all, on a grid that is fine enough to rank them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..couplings.direct import Direct
from ..couplings.narrow_band_table import NarrowBandTable, given_frequency
from ..definition.definition import Definition
from ..stability.open_loop import open_loop
from .build import SETTLING_TICKS, build
from .compensation import with_model_data

MOST_LINES = 20
"""Frequencies of a table that are looked at if the frequency is tracked: it may come to any."""
GRID = 1000
SLOWEST = 0.05
"""Hz, from where on the grid goes up to half the sampling rate."""


def at_worst(definition: Definition, radius: Callable[[Definition], float]) -> tuple[Definition, str]:
    """The definition with its coupling tuned to the worst of its frequencies, and what to say of it.

    ``radius`` gives the spectral radius of a definition's loop.  Other couplings come back as they are.
    """
    frequencies = frequencies_of(definition)
    if len(frequencies) < 2:
        return definition, ""
    tuned = [tuned_to(definition, hz) for hz in frequencies]
    radii = np.array([radius(one) for one in tuned])
    if radii.max() >= 1.0:
        worst, why = int(np.argmax(radii)), "where it grows fastest"
    else:
        worst, why = least_margin(definition, frequencies)
    low, high = min(frequencies), max(frequencies)
    told = f"the coupling changes with the frequency: judged at {frequencies[worst]:g} Hz, {why}"
    return tuned[worst], f"{told}, of {len(frequencies)} from {low:g} to {high:g} Hz"


def frequencies_of(definition: Definition) -> tuple[float, ...]:
    """Those that a narrow-band table is tuned to in the test; empty for other couplings."""
    coupling, excitation = definition.coupling, definition.excitation
    if not isinstance(coupling, NarrowBandTable) or coupling.frequency is not None:
        return ()
    if coupling.track is not None:
        lines = coupling.lines
        picked = np.unique(np.linspace(0, len(lines) - 1, min(len(lines), MOST_LINES)).round().astype(int))
        return tuple(float(hz) for hz in lines[picked])
    given = given_frequency((excitation.specimen, excitation.virtual))
    return () if given is None else tuple(sorted(set(given.frequencies)))


def tuned_to(definition: Definition, hz: float) -> Definition:
    coupling = with_model_data(definition).model_copy(update={"frequency": hz, "track": None})
    return definition.model_copy(update={"coupling": coupling})


def least_margin(definition: Definition, frequencies: tuple[float, ...]) -> tuple[int, str]:
    """Which of stable loops has the least margin, and of what."""
    loop = build(definition.model_copy(update={"coupling": Direct()}), quiet=True, cut=True)
    loop.run(SETTLING_TICKS)
    step, coupling = definition.timing.step, with_model_data(definition)
    hz = np.geomspace(SLOWEST, 0.5 / step, GRID)
    rest = open_loop(loop).response(2 * np.pi * hz)[:, 0, 0]
    delays, gains = [], []
    for frequency in frequencies:
        gain = coupling.response(step, hz, frequency) * rest
        size = np.abs(gain)
        crossed = np.flatnonzero((size[:-1] < 1.0) != (size[1:] < 1.0))
        lag = np.mod(np.angle(gain[crossed]) + np.pi, 2 * np.pi)  # until L = −1
        delays.append(float(np.min(lag / (2 * np.pi * hz[crossed]), initial=np.inf)))
        gains.append(float(size.max()))
    if np.isfinite(delays).any():
        return int(np.argmin(delays)), "where it bears the least delay"
    return int(np.argmax(gains)), "where the loop gain is largest"
