"""Whether the step carries the excitations, and they repeat on it."""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.excitation import Excitation
from ....contracts.finding import Finding
from ..examined import Examined

WHOLE = 1e-9
"""Departure of a period from whole steps, as a part of it, with which ``halfreal modes`` still takes it."""


def sampling(examined: Examined) -> Iterable[Finding]:
    excitation, step = examined.definition.excitation, examined.definition.timing.step
    for name, part in (("virtual", excitation.virtual), ("specimen", excitation.specimen)):
        if part is not None:
            yield from on_step(f"excitation.{name}", part, step)


def on_step(name: str, excitation: Excitation, step: float) -> Iterable[Finding]:
    """Warnings for an excitation that the step does not carry, or that does not repeat on it."""
    highest, half, period = excitation.highest_frequency, 0.5 / step, excitation.averaged_period
    if highest is not None and highest >= half:
        text = (
            f"{name} reaches {highest:.6g} Hz, but a step of {units.text(step, 's')} resolves less than {half:.6g} "
            "Hz, half the sampling rate: higher frequencies are aliased; choose a lower frequency, or a shorter "
            "timing.step"
        )
        yield Finding("warning", text, highest, half, "Hz")
    if period is not None:
        count = round(period / step)
        if abs(count * step / period - 1.0) > WHOLE:
            near = units.text(max(count, 1) * step, "s", 9)
            text = (
                f"{name} repeats every {units.text(period, 's', 9)}, i.e. {period / step:.9g} steps: 'halfreal "
                "modes' rejects such a record, because periods cannot be averaged; choose a whole "
                "number of steps, e.g. "
                f"{near}"
            )
            yield Finding("warning", text, period, unit="s")
