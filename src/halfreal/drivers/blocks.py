"""The blocks of a rig that a driver reads and writes, called from the compiled loop.

    driver.write     commands, states → raw outputs → the driver
    driver.read      the driver → raw inputs
    channels         raw inputs → what they measure; range, stuck-at and interlocks are looked at here

``write`` is called when it is its turn (``kernels/spacing.py``), counted from when it returned the last time: one that
was held up in there, as a driver in Python that waited for the interpreter's lock, may have acted as late as that.

A failure of the driver, a raw value beyond its range, one that stays the same, and an interlock that opens are faults
of these blocks, on which the guard trips, or the rig's end makes itself safe.  On a failure and on an emergency stop
``safe()`` is called from here, in the same tick, and nothing is written any more.
"""

from __future__ import annotations

import math
import time

import numpy as np

from .. import units
from ..contracts.quantities import UNLIMITED
from ..kernels.atomic import load_word, store_word
from ..kernels.block import Block, Channel, Value
from ..kernels.clock import now
from ..kernels.compile import kernel
from ..kernels.datagram import ARMED_RIG, OWN_FAULT, OWN_STOP, SAFE
from ..kernels.foreign import as_field, call_c, place, put_real, real_at
from ..kernels.modes import ARMED, FINISHED, RAMP_DOWN, RAMPING, RUNNING, STOPPED_AT_REST, TRIPPED
from ..kernels.spacing import FIRST_TURN, await_turn, take_turn
from .host import TOO_SILENT, Host
from .table import STATES, Wired, share
from .words import BY_LOOP, BY_WATCHDOG, CALLING, HEART, MADE_SAFE, NOTHING, READING, RESULT, SAFE_DONE, WRITING

FAILED, BLOCKED, BEYOND = 1, 2, 3
NO_NUMBER, OUT_OF_RANGE, STUCK, INTERLOCK = 1, 2, 3, 4
KINDS = 4
FINE, FAULTY, EMERGENCY = 0.0, 1.0, 2.0
COUNT, IS_SAFE = len(STATES), STATES.index("safe")
CHANNELS_STATE = "channels.state"
STATE_OF_MODE = np.zeros(7)
"""Of each mode of the guard, which of STATES it is."""
for _mode, _state in (
    (RUNNING, "running"),
    (TRIPPED, "tripped"),
    (FINISHED, "tripped"),
    (ARMED, "armed"),
    (RAMPING, "ramping"),
    (RAMP_DOWN, "ramp-down"),
    (STOPPED_AT_REST, "stopped"),
):
    STATE_OF_MODE[int(_mode)] = STATES.index(_state)


def _of_driver(host: Host) -> dict[str, float]:
    return {
        "words": place(host.words),
        "safe": as_field(host.driver.addresses["safe"]),
        "inputs": place(host.driver.inputs),
        "outputs": place(host.driver.outputs),
    }


@kernel
def make_driver_safe(p):  # type: ignore[no-untyped-def]
    words = int(p.words)
    if load_word(words + 8 * MADE_SAFE) == 0:
        store_word(words + 8 * MADE_SAFE, BY_LOOP)
        if call_c(int(p.safe), (int(p.outputs),)) == 0:
            store_word(words + 8 * SAFE_DONE, 1)


def read_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    count = y.size - 1
    words, began = int(p.words), now()
    status = 0
    if s.failed == 0.0:
        if load_word(words + 8 * MADE_SAFE) == BY_WATCHDOG:
            status = BLOCKED
        else:
            store_word(words + 8 * CALLING, READING)
            result = call_c(int(p.read), (int(p.inputs),))
            if result != 0:
                store_word(words + 8 * RESULT, result)
                status = FAILED
            elif load_word(words + 8 * MADE_SAFE) == BY_WATCHDOG:
                status = BLOCKED
            else:
                store_word(words + 8 * CALLING, NOTHING)
                store_word(words + 8 * HEART, now())
        if status != 0:
            s.failed = status
            make_driver_safe(p)
    for i in range(count):
        y[i] = real_at(int(p.inputs) + 8 * i) if s.failed == 0.0 else math.nan
    y[count] = 1e-9 * float(now() - began)
    return int(s.failed)


def channels_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    count = u.size
    status = 0
    worst = FINE
    for i in range(count):
        raw, code = u[i], 0
        if raw == s.last[i]:
            s.still[i] += p.dt
        else:
            s.still[i] = 0.0
        s.last[i] = raw
        if not math.isfinite(raw):
            code = NO_NUMBER
        elif p.healthy[i] >= 0.0:
            if (raw >= 0.5) != (p.healthy[i] >= 0.5):
                code = INTERLOCK
        elif not (p.low[i] < raw < p.high[i]):
            code = OUT_OF_RANGE
        if code == 0 and s.still[i] >= p.stuck[i]:
            code = STUCK
        if math.isfinite(raw):
            value = p.factor[i] * (raw - p.zero[i])
            if s.begun == 0.0 or p.share[i] == 1.0:
                s.value[i] = value
            else:
                s.value[i] += p.share[i] * (value - s.value[i])
            y[i] = s.value[i]
        else:
            y[i] = math.nan
        if code != 0:
            if status == 0:
                status = KINDS * i + code
            worst = max(worst, EMERGENCY if p.emergency[i] != 0.0 else FAULTY)  # one that cannot be read is pressed
    s.begun = 1.0
    y[count] = worst
    return status


def write_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = p.factor.size
    digital = y.size - n - 1
    y[n + digital] = 0.0
    mode, rig, code, channels = u[n], u[n + 1], u[n + 2], u[n + 3]
    words = int(p.words)
    state = 0
    if rig == SAFE:
        state = IS_SAFE
    elif rig == ARMED_RIG:
        state = int(p.of_mode[min(max(int(mode), 0), p.of_mode.size - 1)])
    if channels == EMERGENCY or (rig == SAFE and code in (OWN_STOP, OWN_FAULT)):
        make_driver_safe(p)
    if s.failed == 0.0 and load_word(words + 8 * MADE_SAFE) == 0:
        for i in range(n):
            raw = p.zero[i] + u[i] / p.factor[i]
            if not (p.low[i] <= raw <= p.high[i]):
                s.failed = BEYOND + i
            y[i] = raw
        if s.failed == 0.0:
            for i in range(n):
                put_real(int(p.outputs) + 8 * i, y[i])
            for i in range(digital):
                y[n + i] = p.on[COUNT * i + state]
                put_real(int(p.outputs) + 8 * (n + i), y[n + i])
            origin, needed, asked = int(p.origin), 0.0, now()
            for i in range(n):
                needed = max(needed, 1e9 * abs(u[i] - s.last[i]) / p.rate[i])
                s.last[i] = u[i]
            turn = await_turn(s.turn, p.period, needed, origin, int(p.spin), asked)
            y[n + digital] = 1e-9 * float(turn - asked)
            store_word(words + 8 * CALLING, WRITING)
            result = call_c(int(p.write), (int(p.outputs),))
            take_turn(s.turn, p.period, float(now() - origin))
            if result != 0:
                store_word(words + 8 * RESULT, result)
                s.failed = FAILED
            elif load_word(words + 8 * MADE_SAFE) == 0:
                store_word(words + 8 * CALLING, NOTHING)
        if s.failed != 0.0:
            make_driver_safe(p)
    if load_word(words + 8 * MADE_SAFE) != 0:  # the outputs are what safe() has made of them
        for i in range(n + digital):
            y[i] = math.nan
    return int(s.failed)


def read_block(host: Host, wired: Wired, first: np.ndarray) -> Block:
    """Block "driver.read"; ``first`` are raw values before the first tick."""
    raw = tuple(Channel(f"raw.{name}", one.raw) for name, one in wired.inputs.items())
    return Block(
        name="driver.read",
        step=read_step,
        inputs=(),
        outputs=(*raw, Channel("driver.read_time", "s")),
        parameters={**_of_driver(host), "read": as_field(host.driver.addresses["read"])},
        state={"failed": 0.0},
        frozen=("failed",),
        faults={FAILED: "the driver failed to read", BLOCKED: TOO_SILENT},
        initial=tuple(first),
        said=host.why,
        keeps=host,
    )


def channels_block(wired: Wired, dt: float, first: np.ndarray, outputs: tuple[Channel, ...]) -> Block:
    """Block "channels"; ``outputs`` are the channels of what is measured."""
    inputs = list(wired.inputs.values())
    bounds = np.array([one.bounds for one in inputs]).reshape(-1, 2)
    state: dict[str, Value] = {
        "last": np.full(len(inputs), np.nan),
        "still": np.zeros(len(inputs)),
        "value": np.zeros(len(inputs)),
        "begun": 0.0,
    }
    return Block(
        name="channels",
        step=channels_step,
        inputs=tuple(f"raw.{name}" for name in wired.inputs),
        outputs=(*outputs, Channel(CHANNELS_STATE, "1")),
        parameters={
            "dt": dt,
            "factor": np.array([one.factor(unit) for one, unit in zip(inputs, wired.units, strict=True)]),
            "zero": np.array([one.zero for one in inputs]),
            "low": bounds[:, 0],
            "high": bounds[:, 1],
            "share": np.array([share(one.filter, dt) for one in inputs]),
            "stuck": np.array([UNLIMITED if one.stuck is None else one.stuck for one in inputs]),
            "healthy": np.array([-1.0 if one.healthy is None else float(one.healthy) for one in inputs]),
            "emergency": np.array([float(one.emergency) for one in inputs]),
        },
        state=state,
        frozen=tuple(state),
        faults=_faults(wired),
        initial=tuple(wired.values(first)),
    )


def _faults(wired: Wired) -> dict[int, str]:
    found: dict[int, str] = {}
    for i, (name, one) in enumerate(wired.inputs.items()):
        what = f"channel {name} ({one.terminal})"
        low, high = (units.text(bound, one.raw) for bound in one.bounds)
        found[KINDS * i + NO_NUMBER] = f"{what} did not read a finite number"
        found[KINDS * i + OUT_OF_RANGE] = f"{what} is at or beyond its range of {low} to {high}"
        found[KINDS * i + STUCK] = f"{what} has not changed at all for {one.stuck or 0.0:g} s"
        found[KINDS * i + INTERLOCK] = (
            f"emergency stop: {what} is open" if one.emergency else f"interlock: {what} is open"
        )
    return found


def write_block(
    host: Host,
    wired: Wired,
    commands: tuple[str, ...],
    mode: str,
    rig: str,
    code: str,
    stands: np.ndarray,
    *,
    period: float,
    rate: np.ndarray | None = None,
    spin: float = 0.0,
) -> Block:
    """Block "driver.write": gives ``commands`` and follows the channels of the test's ``mode`` and the ``rig``'s.

    ``stands`` is the command under which the rig stands; ``rate`` the limit of each command's rate.
    """
    outs = list(wired.outputs.values())
    bounds = np.array([one.bounds for one in outs]).reshape(-1, 2)
    both = (*wired.outputs.items(), *wired.digital.items())
    on = [float(state in (one.on or ())) for one in wired.digital.values() for state in STATES]
    return Block(
        name="driver.write",
        step=write_step,
        inputs=(*commands, mode, rig, code, CHANNELS_STATE),
        outputs=(
            *(Channel(f"raw.{name}", "1" if one.on is not None else one.raw) for name, one in both),
            Channel("link.held", "s"),
        ),
        parameters={
            **_of_driver(host),
            "write": as_field(host.driver.addresses["write"]),
            "factor": np.array([one.factor(unit) for one, unit in zip(outs, wired.command_units, strict=True)]),
            "zero": np.array([one.zero for one in outs]),
            "low": bounds[:, 0],
            "high": bounds[:, 1],
            "of_mode": STATE_OF_MODE,
            "on": np.array(on or [0.0]),
            "period": 1e9 * period,
            "rate": np.full(len(commands), UNLIMITED) if rate is None else np.asarray(rate, dtype=float),
            "spin": 1e9 * min(spin, 0.5 * period),
            "origin": float(time.monotonic_ns()),
        },
        state={"failed": 0.0, "turn": FIRST_TURN, "last": np.array(stands, dtype=float)},
        frozen=("failed", "turn", "last"),
        faults={
            FAILED: "the driver failed to write",
            **{
                BEYOND + i: f"output {name} ({one.terminal}) would leave its range of "
                f"{units.text(one.bounds[0], one.raw)} to {units.text(one.bounds[1], one.raw)}"
                for i, (name, one) in enumerate(wired.outputs.items())
            },
        },
        initial=(*wired.resting(stands), 0.0),
        said=host.why,
        keeps=host,
    )
