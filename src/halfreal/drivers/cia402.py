"""A drive of the profile CiA 402 (IEC 61800-7-201) in cyclic synchronous position: its power stage, step by step.

    status & 0x6F       state                       control word that leads on
    0x40 (& 0x4F)       switch on disabled          0x06
    0x21                ready to switch on          0x07
    0x23                switched on                 0x0F
    0x27                operation enabled           0x0F, it follows the target position
    bit 3               fault                       none: it is reported, and cleared by an operator

Until it is enabled its target is where it is, so that it does not jump when it is.
"""

from __future__ import annotations

import time

from ..contracts.driver import DriverError

CONTROL, STATUS, TARGET, ACTUAL, MODE, INTERPOLATION = 0x6040, 0x6041, 0x607A, 0x6064, 0x6060, 0x60C2
CYCLIC_POSITION = 8
SHUT_DOWN, SWITCH_ON, ENABLE, QUICK_STOP = 0x06, 0x07, 0x0F, 0x02
DISABLED, READY, SWITCHED_ON, ENABLED = 0x40, 0x21, 0x23, 0x27
FAULT = 0x08
PATIENCE = 2.0
"""Seconds in which a drive must be enabled."""


class PowerStage:
    """Of one drive: whether it is to be enabled, and the control word that leads there."""

    def __init__(self, slave: int) -> None:
        self.slave, self.wanted, self.follows, self._since = slave, False, False, 0.0

    def want(self, wanted: bool) -> None:
        if wanted and not self.wanted:
            self._since = time.monotonic()
        self.wanted = wanted

    def control(self, status: int) -> int:
        """The next control word; a ``DriverError`` if the drive does not do as it should."""
        enabled = status & 0x6F == ENABLED
        if not self.wanted:
            self.follows = False
            return SHUT_DOWN
        if status & FAULT:
            raise DriverError(
                f"the drive of slave {self.slave} reports a fault (status word 0x{status:04X}); see its display or "
                "object 0x603F, and clear it there"
            )
        if self.follows and not enabled:
            raise DriverError(f"the drive of slave {self.slave} is no longer enabled (status word 0x{status:04X})")
        self.follows = enabled
        if not enabled and time.monotonic() - self._since > PATIENCE:
            raise DriverError(
                f"the drive of slave {self.slave} was not enabled within {PATIENCE:g} s (status word 0x{status:04X}); "
                "check its supply, its safe-torque-off input and its limit switches"
            )
        if enabled or status & 0x6F == SWITCHED_ON:
            return ENABLE
        return SWITCH_ON if status & 0x6F == READY else SHUT_DOWN


def interpolation(period: float) -> tuple[int, int]:
    """Object 0x60C2 of a period [s]: a number from 1 to 255, and the power of ten of its unit."""
    for power in range(-3, -7, -1):
        value = period / 10.0**power
        if round(value) <= 255 and abs(value - round(value)) < 1e-6 and round(value) >= 1:
            return round(value), power
    raise DriverError(f"a period of {1e3 * period:g} ms cannot be set in a drive; use a whole number of microseconds")
