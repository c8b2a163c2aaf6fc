"""The periodic response of a test to its excitation, and whether it is stable.

The response is the fixed point of the loop's map over one period of the excitation, past its ramp, found by Newton's
method on the code that runs (``stability/limit_cycle.py``); its Floquet multipliers show what becomes of small
deviations from it.  An unstable one is found too, though no rehearsal would show it.
"""

from __future__ import annotations

import numpy as np

from ...definition.definition import Definition
from ...errors import HalfrealError
from ...kernels.tick import TICK
from ...runs.build import SETTLING_TICKS, build, ticks_alike
from ...runs.equivalent import UNDISTURBED
from ...safety.limits import Limits
from ...stability.limit_cycle import NoCycleError, refine
from ...stability.shooting import DivergedError, Shooting, shooting_of
from .periodic_motion import PeriodicMotion, kept

SETTLED = 20
"""Periods that the guess runs before Newton's method."""


def forced_response(definition: Definition) -> PeriodicMotion:
    """Compute the steady response to a periodic excitation, with ideal sensors and without limits.

    Parameters
    ----------
    definition
        The test.

    Returns
    -------
    PeriodicMotion
        The periodic motion and its Floquet multipliers.
    """
    if definition.slow is not None:
        raise HalfrealError("a slow test has no periodic response: its time is paused until the rig has settled")
    loop, dt = build(definition.unchecked_copy({"limits": Limits(after_trip=0.0)}), UNDISTURBED), definition.timing.step
    every = ticks_alike(definition, loop)
    ticks = period_of(definition) / (every * dt)
    channels, of = kept(definition)
    loop.run(SETTLING_TICKS * every)
    loop.vector[TICK] = float(every * (definition.timing.ticks // every))  # its ramp is over by its end
    begun = loop.vector.copy()
    try:
        loop.run(every * round(SETTLED * ticks), event_room=0)
        found = refine(_checked(shooting_of(loop, ticks, channels, every), ticks), ticks, free=False)
    except (DivergedError, NoCycleError):  # an unstable one: from the beginning of the motion
        loop.vector[:] = begun
        loop.run(every * round(ticks), event_room=0)
        found = refine(_checked(shooting_of(loop, ticks, channels, every), ticks), ticks, free=False)
    axis = int(np.argmax(found.amplitudes[: len(definition.interface)]))
    return PeriodicMotion(found, axis, channels, of, every * dt)


def _checked(shooting: Shooting, ticks: float) -> Shooting:
    shooting.run(shooting.start, ticks)
    return shooting


def period_of(definition: Definition) -> float:
    """Period of the excitation [s]."""
    given = [one for one in (definition.excitation.virtual, definition.excitation.specimen) if one is not None]
    if not given:
        raise HalfrealError(
            "the test has no excitation and therefore no forced response; compute its limit cycles instead"
        )
    periods = set()
    for one in given:
        dwells = one.dwells
        if dwells is None or len(dwells.frequencies) != 1:
            raise HalfrealError(f"the excitation '{one.kind}' is not periodic; use a periodic one, e.g. a sine")
        periods.add(1.0 / dwells.frequencies[0])
    longest = max(periods)
    if any(abs(longest / one - round(longest / one)) > 1e-9 for one in periods):
        raise HalfrealError(
            "the excitations of virtual part and specimen have no common period; give them one frequency"
        )
    return float(longest)
