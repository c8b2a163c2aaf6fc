"""Memories of a harmonic coupling, from its plant: rules that ``choice.py`` follows.

The plant is the loop that runs, from command to gap, linearised; τ is the time in which its slowest mode decays.

LMS                   the memory with which the closed loop's slowest pole decays fastest, at half the largest stable
                      gain or less (``halfreal.couplings.harmonic.lti``)
RLS, simultaneous     the memories with which errors of the drive die out fastest, faster than τ not counting, that are
                      still stable if both are halved (``halfreal.couplings.harmonic.envelope``); of all that are nearly
                      as fast, the shortest
bounds of RLS         for the drive two periods and τ/16, for H half of that; for both twice the time it takes to
separate
                      the harmonics; if H is identified first, τ for every further drive; with several harmonics
                      of several axes, τ for the drive, and for H a settled drive (4τ) for each axis

The decay rates are computed; the bounds, and what counts as nearly as fast, are experience with the gallery's lumped
example and its beam.  Times are rounded to two digits.
"""

from __future__ import annotations

import math

import numpy as np

from ... import units
from ...contracts.state_space import StateSpace
from ...errors import HalfrealError
from ...stability.regulated_plant import closed_loop, growth
from .envelope import growth_rates
from .lti import gap_response, largest_stable_gain, resonator

CLOSES = "near the solution the gap closes"
"""Of every rate that holds for small errors alone."""
SAFETY = 2.0
"""Times the shortest stable memory."""
LONGEST = 4.0
"""Times τ, up to which memories of RLS are tried."""
SETTLED = 4.0
"""Times τ, after which transients have died."""
NEARLY = 0.95
"""Of the fastest decay: memories that reach so much are as good."""
PERIODS, PART = 2.0, 1.0 / 16.0
"""Of the lowest harmonic, and of τ, that the memory of the drive has at least."""


def rounded(value: float) -> float:
    """To two digits."""
    return float(f"{value:.2g}")


def time_constant(plant: StateSpace) -> float:
    """τ [s], in which the slowest mode of the plant decays by the factor e."""
    rate = -float(growth(plant.a, plant.dt))
    if not rate > 0.0:
        raise HalfrealError(
            f"the plant without its coupling is not stable: its slowest mode grows as exp({-rate:.3g} t/s), so "
            "no memory can be derived from it; give the coupling's memories, or damp rig and virtual substructure"
        )
    return 1.0 / rate


def shortest(hz: np.ndarray, slowest: float) -> tuple[float, float]:
    """Bounds of the memories of drive and H [s]: whole periods, part of τ, and time to separate the harmonics."""
    apart = float(np.diff(np.sort(hz)).min()) if len(hz) > 1 else math.inf
    told = 2.0 / (2 * math.pi * apart)
    least = max(PERIODS / float(hz.min()), PART * slowest)
    return max(least, told), max(0.5 * least, told)


def lms_memory(plant: StateSpace, hz: np.ndarray) -> tuple[float, float, float]:
    """T of normalised LMS [s], the rate of the slowest pole with it [1/s], and the shortest stable T [s]."""
    assert plant.dt is not None
    # the coupling answers a gap in its own tick: the resonator of paper, and a plant that is a step ahead
    ahead = StateSpace(plant.a, plant.b, plant.c @ plant.a, plant.c @ plant.b, plant.dt)
    transfer = gap_response(ahead, hz, plant.channels)
    normalised = transfer * (2 * plant.channels / np.linalg.norm(transfer, axis=(1, 2)) ** 2)[:, None, None]
    gain = largest_stable_gain(ahead, normalised, hz, relative=1e-3)
    if not gain > 0.0:
        raise HalfrealError("no memory of LMS is stable with this plant; use a coupling of kind 'harmonic rls'")
    limit = plant.dt / gain
    tried = SAFETY * limit * np.geomspace(1.0, 100.0, 41)
    rates = [
        float(growth(closed_loop(ahead, resonator(normalised, hz, plant.dt / memory, plant.dt)).a, plant.dt))
        for memory in tried
    ]
    best = int(np.argmin(rates))
    return rounded(float(tried[best])), rates[best], limit


def rls_memories(
    plant: StateSpace, hz: np.ndarray, given: dict[str, float], drives: int = 1
) -> tuple[float, float, float]:
    """T and T_id of simultaneous RLS [s], one of which may be given, and the rate of the slowest error [1/s].

    ``drives``: random ones that must be remembered together, τ long at least each.
    """
    slowest = time_constant(plant)
    bounds = shortest(hz, slowest)
    bounds = bounds[0], max(bounds[1], (drives - 1) * slowest)
    if plant.channels > 1 and len(hz) > 1:  # each drive tells of one direction of every H_i only
        bounds = max(bounds[0], slowest), max(bounds[1], SETTLED * plant.channels * slowest)
    tried = [
        np.array([given[name]])
        if name in given
        else bound * 2.0 ** np.arange(0.0, max(math.log2(LONGEST * slowest / bound), 0.0) + 1.0)
        for name, bound in zip(("memory", "identification_memory"), bounds, strict=True)
    ]
    memory, learning = np.meshgrid(*tried, indexing="ij")
    rates, halved = (
        np.max([growth_rates(plant, float(one), part * memory, part * learning) for one in hz], axis=0)
        for part in (1.0, 1.0 / SAFETY)
    )
    counted = np.where(halved < 0.0, np.maximum(rates, -1.0 / slowest), np.inf)
    if not counted.min() < 0.0:
        raise HalfrealError(
            f"no memories of RLS up to {units.text(LONGEST * slowest, 's', 3)} make simultaneous "
            "identification converge "
            'with this plant; use coupling.mode = "sequential"'
        )
    good = counted <= NEARLY * counted.min()
    # from wrong transfer functions, runs converged better with a short memory of the drive: it counts twice
    length = np.where(good, 2.0 * memory + learning, np.inf)
    best = np.unravel_index(int(np.argmin(length)), length.shape)
    return rounded(float(memory[best])), rounded(float(learning[best])), float(rates[best])
