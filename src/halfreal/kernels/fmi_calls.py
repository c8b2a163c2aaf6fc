"""Calls of the FMI standard from compiled blocks; FMI 2.0 and 3.0 differ in names and arguments only.

``p`` are the parameters of a block that steps an FMU (``contracts/fmu.py``): addresses of the FMU's functions and of
memory that it shares with Python.  Every call gives FMI's status: 0 well, 1 a warning, from 2 on it has failed.
"""

from __future__ import annotations

from numba import int32

from .compile import kernel
from .foreign import byte_at, call_c, int32_at

MOST_ITERATIONS = 20
"""Of a model's discrete states at one event."""


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
        worst = max(worst, call_c(int(p.setup), (component, int32(0), 0.0, 0.0, int32(0), 0.0)))
        worst = max(worst, call_c(int(p.enter_initialization), (component,)))
    else:
        worst = max(worst, call_c(int(p.enter_initialization), (component, int32(0), 0.0, 0.0, int32(0), 0.0)))
    return max(worst, call_c(int(p.exit_initialization), (component,)))


@kernel
def do_step(p, t, h):  # type: ignore[no-untyped-def]
    """One communication step of co-simulation."""
    if p.version == 2.0:
        return call_c(int(p.do_step), (int(p.component), t, h, int32(1)))
    flags = int(p.scratch)
    return call_c(int(p.do_step), (int(p.component), t, h, int32(1), flags, flags + 8, flags + 16, flags + 24))


@kernel
def events(p):  # type: ignore[no-untyped-def]
    """Model exchange: from event mode, with its discrete states iterated, to continuous time."""
    component, info, worst = int(p.component), int(p.scratch), 0
    for _ in range(MOST_ITERATIONS):
        if p.version == 2.0:
            worst = max(worst, call_c(int(p.discrete), (component, info)))
            again = int32_at(info) != 0
        else:
            places = component, info, info + 8, info + 16, info + 24, info + 32, info + 40
            worst = max(worst, call_c(int(p.discrete), places))
            again = byte_at(info) != 0
        if not again or worst > 1:
            break
    return max(worst, call_c(int(p.continuous_time), (component,)))


@kernel
def completed_step(p):  # type: ignore[no-untyped-def]
    """Tell a model of model exchange that a step is done: status, and whether it wants its events."""
    flags = int(p.scratch)
    status = call_c(int(p.completed), (int(p.component), int32(1), flags, flags + 8))
    wants = int32_at(flags) != 0 if p.version == 2.0 else byte_at(flags) != 0
    return status, wants
