"""Which harmonics a coupling needs, told by the excitation: f of a sine, odd multiples of it of a square wave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import units
from ...models.excitations.excitation import Chirp, Excitation, Sine, Square
from ...settings import fault
from .coupling import Harmonic
from .phase import WIDEST

NEGLIGIBLE = 0.05
"""Part of the first harmonic's amplitude; a square wave's k-th has 1/k."""
MULTIPLES = 5
"""Of the excitation's frequency that the response of a nonlinear structure is taken to have."""


def with_harmonics(
    coupling: Harmonic, excitations: Sequence[Excitation | None], dt: float, *, nonlinear: bool = False
) -> Harmonic:
    """The coupling with the harmonics that its definition left to the excitation."""
    if coupling.known:
        return coupling
    given = [one for one in excitations if one is not None]
    orders = {id(one): _orders(one, dt, nonlinear, coupling.following is not None) for one in given}
    _below_nyquist(excitations, dt, 1.0 if coupling.following is None else 1.0 + WIDEST)
    if not given:
        raise fault("nothing excites the test that would tell the harmonics; give frequencies", "frequencies")
    if coupling.following is not None:
        first = given[0]
        assert isinstance(first, Sine | Square | Chirp)
        return coupling.changed(base_frequency=first.frequency, harmonics=max(orders[id(first)]))
    hz = {order * one.frequency for one in given for order in orders[id(one)]}  # type: ignore[union-attr]
    return coupling.changed(frequencies=np.array(sorted(hz)))


def _below_nyquist(excitations: Sequence[Excitation | None], dt: float, reach: float) -> None:
    """Raise a fault that names the excitation, ``reach`` times whose frequency is not below half the sampling rate."""
    for name, one in zip(("virtual", "specimen"), excitations, strict=False):
        highest = reach * getattr(one, "frequency", 0.0)
        if highest >= 0.5 / dt:
            told = "" if reach == 1.0 else f", which may be followed up to {units.text(highest, 'Hz')},"
            raise fault(
                f"excitation.{name}.frequency = {units.text(highest / reach, 'Hz')}{told} is not below half the "
                f"sampling rate, {units.text(0.5 / dt, 'Hz')}; lower it, or shorten timing.step"
            )


def _orders(excitation: Excitation, dt: float, nonlinear: bool, followed: bool) -> list[int]:
    """Multiples of the excitation's frequency that matter."""
    if isinstance(excitation, Chirp):
        low, high = ((1.0 + sign * WIDEST) * excitation.frequency for sign in (-1, 1))
        if not followed:
            raise fault(
                f"the excitation's frequency varies from {units.text(excitation.frequency, 'Hz')} to "
                f"{units.text(excitation.to, 'Hz')}; give the bandwidth with which it is followed",
                "following",
            )
        if not low <= excitation.to <= high:
            raise fault(
                f"the excitation runs to {units.text(excitation.to, 'Hz')}, and from "
                f"{units.text(excitation.frequency, 'Hz')} it is followed between {units.text(low, 'Hz')} and "
                f"{units.text(high, 'Hz')}; run it in parts",
                "following",
            )
    elif not isinstance(excitation, Sine | Square):
        raise fault(
            f"an excitation of kind '{excitation.kind}' does not tell the harmonics; give frequencies, or "
            "base_frequency and harmonics",
            "frequencies",
        )
    orders = [1]
    if isinstance(excitation, Square):
        count = excitation.terms or int((1 / NEGLIGIBLE + 1) / 2)
        below = [order for order in range(1, 2 * count, 2) if order * excitation.frequency < 0.5 / dt]
        orders = below or [1]
    if nonlinear:
        below = [order for order in range(1, MULTIPLES + 1) if order * excitation.frequency < 0.5 / dt]
        orders = sorted({*orders, *below})
    return orders
