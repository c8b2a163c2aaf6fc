"""Numbers and sentences for people."""

from __future__ import annotations

import datetime

import numpy as np

from .series import display

NONE = "—"
SMALLEST_PERCENT = 0.001


def number(value: float, digits: int = 4) -> str:
    """A number with a true minus sign; a dash if it is none."""
    return f"{value:.{digits}g}".replace("-", "−") if np.isfinite(value) else NONE


def percent(value: float, sign: bool = False) -> str:
    """A fraction in per cent, to three digits and no finer than a thousandth."""
    share = 100 * value
    if not np.isfinite(share):
        return NONE
    if 0 < abs(share) < SMALLEST_PERCENT:
        return f"< {SMALLEST_PERCENT} %"
    decimals = 3 if abs(share) < 0.1 else 2 if abs(share) < 10 else 1 if abs(share) < 100 else 0
    return f"{share:{'+' if sign and share else ''}.{decimals}f} %".replace("-", "−")


def in_unit(value: float, unit: str) -> str:
    """An SI value in an engineer's unit."""
    shown = display(unit, abs(value))
    return f"{number(shown.factor * value, 3)} {shown.label}" if np.isfinite(value) else NONE


def scored(value: float, unit: str) -> str:
    """A criterion's value in the unit in which it is shown."""
    return NONE if not np.isfinite(value) else f"{number(value)}{'' if unit == '1' else f' {unit}'}"


def in_time(value: float) -> str:
    """A duration or a delay [s]."""
    if np.isfinite(value) and 0 < abs(value) < 1e-6:
        return "< 0.001 ms"
    return in_unit(value, "s")


def sentence(text: str) -> str:
    """The text with a full stop, if it has no end of its own."""
    text = text.strip()
    return text if not text or text[-1] in ".!?" else text + "."


def date(text: str) -> str:
    """An ISO 8601 time without its letters; any other text as it is."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    zone = " UTC" if moment.utcoffset() == datetime.timedelta(0) else f" {moment:%z}"
    return f"{moment:%Y-%m-%d %H:%M:%S}{zone.rstrip()}"
