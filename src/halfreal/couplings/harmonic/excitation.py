"""Which harmonics a coupling needs, given by the excitation: a sine's, odd multiples of a square wave's, all tones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ... import units
from ...contracts.excitation import Excitation, Harmonics
from ...settings import fault
from .phase import WIDEST

if TYPE_CHECKING:
    from .coupling import Harmonic

H = TypeVar("H", bound="Harmonic")
MULTIPLES = 5
"""Of the excitation's frequency that the response of a nonlinear structure is taken to have."""
SAME = 1e-9
"""Relative difference of frequencies that are one: multiples are rounded."""


def with_harmonics(coupling: H, excitations: Sequence[Excitation | None], dt: float, *, nonlinear: bool = False) -> H:
    """The coupling with the harmonics that its definition left to the excitation."""
    if coupling.known:
        return coupling
    told = [None if one is None else _harmonics(one, dt, coupling.following is not None) for one in excitations]
    _below_nyquist(told, dt, 1.0 if coupling.following is None else 1.0 + WIDEST)
    given = [one for one in told if one is not None]
    if not given:
        raise fault("the test has no excitation that defines the harmonics; give frequencies", "frequencies")
    if coupling.following is not None:
        first = given[0]
        return coupling.changed(base_frequency=first.frequency, harmonics=max(_orders(first, dt, nonlinear)))
    hz = np.sort([hz for one in given for hz in _tones(one, dt, nonlinear)])
    return coupling.changed(frequencies=hz[np.diff(hz, prepend=0.0) > SAME * hz])


def _below_nyquist(told: Sequence[Harmonics | None], dt: float, reach: float) -> None:
    """Raise a fault that names the excitation, ``reach`` times whose frequency is not below half the sampling rate."""
    for name, one in zip(("virtual", "specimen"), told, strict=False):
        highest = 0.0 if one is None else reach * max((one.frequency, *one.tones))
        if highest >= 0.5 / dt:
            beyond = "" if reach == 1.0 else f" and may be followed up to {units.text(highest, 'Hz')}"
            raise fault(
                f"excitation.{name} reaches {units.text(highest / reach, 'Hz')}{beyond}, not below half the "
                f"sampling rate, {units.text(0.5 / dt, 'Hz')}; lower it, or shorten timing.step"
            )


def _harmonics(excitation: Excitation, dt: float, followed: bool) -> Harmonics:
    """The harmonics of an excitation; a fault if it does not give them, or if its frequency runs too far."""
    found = excitation.harmonics(dt)
    if found is None:
        raise fault(
            f"an excitation of kind '{excitation.kind}' does not define the harmonics; give frequencies, or "
            "base_frequency and harmonics",
            "frequencies",
        )
    if followed and found.tones:
        raise fault(
            f"the excitation has {1 + len(found.tones)} tones, but only one frequency with its multiples can be "
            "followed; omit following, or give base_frequency and harmonics",
            "following",
        )
    if found.to is None:
        return found
    low, high = ((1.0 + sign * WIDEST) * found.frequency for sign in (-1, 1))
    if not followed:
        raise fault(
            f"the excitation's frequency varies from {units.text(found.frequency, 'Hz')} to "
            f"{units.text(found.to, 'Hz')}; give the bandwidth with which it is followed",
            "following",
        )
    if not low <= found.to <= high:
        raise fault(
            f"the excitation reaches {units.text(found.to, 'Hz')}, but from {units.text(found.frequency, 'Hz')} it is "
            f"followed between {units.text(low, 'Hz')} and {units.text(high, 'Hz')}; split the test",
            "following",
        )
    return found


def _tones(given: Harmonics, dt: float, nonlinear: bool) -> list[float]:
    """Frequencies of an excitation that matter [Hz]."""
    found = [order * given.frequency for order in _orders(given, dt, nonlinear)]
    return found + [hz for tone in given.tones for hz in _tones(Harmonics(tone), dt, nonlinear)]


def _orders(told: Harmonics, dt: float, nonlinear: bool) -> list[int]:
    """Multiples of the excitation's frequency that matter."""
    below = [order for order in range(1, MULTIPLES + 1) if nonlinear and order * told.frequency < 0.5 / dt]
    return sorted({*told.orders, *below})
