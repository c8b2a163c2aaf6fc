"""How far a gain must be lowered for a rig to be stable on its own."""

from __future__ import annotations

from collections.abc import Callable


def largest(stable: Callable[[float], bool], high: float) -> float | None:
    """The largest value below ``high``, which is not stable, up to which one is; None if none down to a millionth."""
    low = high
    while not stable(low):
        low *= 0.5
        if low <= 1e-6 * high:
            return None
    high = 2.0 * low
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low
