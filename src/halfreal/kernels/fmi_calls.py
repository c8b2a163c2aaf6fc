"""Calls of the FMI standard from compiled blocks; FMI 2.0 and 3.0 differ in names and arguments only.

``p`` are the parameters of a block that steps an FMU (``contracts/fmu.py``): addresses of the FMU's functions and of
memory that it shares with Python.  Every call gives FMI's status: 0 well, 1 a warning, from 2 on it has failed.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel
from .foreign import byte_at, call_c, int32_at, real_at

MOST_ITERATIONS = 20
"""Of a model's discrete states at one event."""
ASKS_TO_END = 7
"""Status of a call in which the model asked to end the simulation: beyond all that FMI has."""
NEVER = 1e300
"""Time of the next event [s] where there is none."""


@kernel
def set_numbers(p, where, count, values):  # type: ignore[no-untyped-def]
    """Numbers of the model, by the address of their references."""
    if count == 0:
        return 0
    if p.version == 2.0:
        return call_c(int(p.set_numbers), (int(p.component), where, count, values))
    return call_c(int(p.set_numbers), (int(p.component), where, count, values, count))


@kernel
def get_numbers(p, where, count, values):  # type: ignore[no-untyped-def]
    if p.version == 2.0:
        return call_c(int(p.get_numbers), (int(p.component), where, count, values))
    return call_c(int(p.get_numbers), (int(p.component), where, count, values, count))


@kernel
def restart(p):  # type: ignore[no-untyped-def]
    """Bring an instance that has been used back to where it began."""
    component = int(p.component)
    worst = call_c(int(p.reset), (component,))
    worst = max(worst, set_numbers(p, int(p.tunable_references), int(p.tunable), int(p.tunable_values)))
    if p.version == 2.0:
        worst = max(worst, call_c(int(p.setup), (component, np.int32(0), 0.0, 0.0, np.int32(0), 0.0)))
        worst = max(worst, call_c(int(p.enter_initialization), (component,)))
    else:
        worst = max(worst, call_c(int(p.enter_initialization), (component, np.int32(0), 0.0, 0.0, np.int32(0), 0.0)))
    return max(worst, call_c(int(p.exit_initialization), (component,)))


@kernel
def do_step(p, t, h):  # type: ignore[no-untyped-def]
    """One communication step of co-simulation."""
    if p.version == 2.0:
        return call_c(int(p.do_step), (int(p.component), t, h, np.int32(1)))
    flags = int(p.scratch)
    places = int(p.component), t, h, np.int32(1), flags, flags + 8, flags + 16, flags + 24
    status = call_c(int(p.do_step), places)
    return status if byte_at(flags + 8) == 0 else max(status, ASKS_TO_END)


@kernel
def events(p):  # type: ignore[no-untyped-def]
    """Model exchange: from event mode, with its discrete states iterated, to continuous time.

    Status, and the time of the next event [s], ``NEVER`` if none is known.
    """
    component, info, worst, then = int(p.component), int(p.scratch), 0, NEVER
    for _ in range(MOST_ITERATIONS):
        if p.version == 2.0:  # a structure of five int32 and a double
            worst = max(worst, call_c(int(p.discrete), (component, info)))
            again, ends, known, at = int32_at(info), int32_at(info + 4), int32_at(info + 16), info + 24
        else:
            places = component, info, info + 8, info + 16, info + 24, info + 32, info + 40
            worst = max(worst, call_c(int(p.discrete), places))
            again, ends, known = np.int32(byte_at(info)), np.int32(byte_at(info + 8)), np.int32(byte_at(info + 32))
            at = info + 40
        then = real_at(at) if known != 0 else NEVER
        if ends != 0:
            worst = max(worst, ASKS_TO_END)
        if again == 0 or worst > 1:
            break
    return max(worst, call_c(int(p.continuous_time), (component,))), then


@kernel
def completed_step(p):  # type: ignore[no-untyped-def]
    """Notify a model of model exchange that a step is done: status, and whether it wants its events."""
    flags = int(p.scratch)
    status = call_c(int(p.completed), (int(p.component), np.int32(1), flags, flags + 8))
    if p.version == 2.0:
        wants, ends = int32_at(flags), int32_at(flags + 8)
    else:
        wants, ends = np.int32(byte_at(flags)), np.int32(byte_at(flags + 8))
    return (status if ends == 0 else max(status, ASKS_TO_END)), wants != 0
