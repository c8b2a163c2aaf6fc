"""What play at a reversal does to a loop, by its describing function.

A sine of amplitude A through a play of ± b comes out with the fundamental N(A) A.  With k = b/A ≤ 1,

    N = (1/π) [π/2 + arcsin(1 − 2k) + 2 (1 − 2k) √(k (1 − k))] − j 4k (1 − k)/π

(A. Gelb, W. E. Vander Velde, Multiple-Input Describing Functions and Nonlinear System Design, McGraw-Hill 1968).
Small motions come out late by up to 90°, and |N| ≤ 1: a loop whose gain stays below 1 does not mind, any other has an
amplitude at which the lag has used up its phase margin.  There it may keep moving in a limit cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .. import units
from ..contracts.finding import Finding

if TYPE_CHECKING:
    from ..studies.check.examined import Examined


def describing_function(ratio: float) -> complex:
    """N of a play whose half is this part of the amplitude; 0 from 1 on."""
    k = min(ratio, 1.0)
    real = np.pi / 2 + np.arcsin(1 - 2 * k) + 2 * (1 - 2 * k) * np.sqrt(k * (1 - k))
    return complex(real / np.pi, -4 * k * (1 - k) / np.pi)


def lag_deg(ratio: float) -> float:
    """How late the fundamental comes out [°]."""
    return 90.0 if ratio >= 1.0 else float(-np.degrees(np.angle(describing_function(ratio))))


def ratio_of_lag(degrees: float) -> float:
    """The part of the amplitude that the half of a play is where it is late by so much; 1 if it never is."""
    from scipy.optimize import brentq  # takes long to import, and few tests come here

    return 1.0 if degrees >= 90.0 else float(brentq(lambda ratio: lag_deg(ratio) - degrees, 0.0, 1.0 - 1e-9))


def judged(examined: Examined, half: float) -> Iterable[Finding]:
    """Whether a play of ± ``half`` [m] uses up the phase margin of a loop, which is that without play."""
    axes = examined.definition.interface
    moved = [examined.rehearsal.signals.get(name) for name in axes.actuators.channels("command")]
    if half == 0.0 or any(one is None for one in moved):
        return
    amplitude = min(float(np.sqrt(2) * np.std(one.values)) for one in moved if one is not None)
    of, margin = (
        f"friction and backlash of the actuator, ± {units.text(half, 'm')} at a reversal",
        examined.stability.margin,
    )
    spare = np.inf if margin is None else margin.phase_margin_deg
    left_out = "poles and margins are those of the actuator without them"
    if margin is None or len(axes.actuators) > 1:
        yield Finding(
            "warning", f"{of}: {left_out}, and their effect on the margins is not known; rely on the rehearsal only"
        )
        return
    if not np.isfinite(spare):
        yield Finding("note", f"{of}: {left_out}; because the loop gain never reaches 1, they cannot make it unstable")
        return
    lag = lag_deg(half / amplitude) if amplitude > 0.0 else 90.0
    least = half / ratio_of_lag(spare)
    text = (
        f"{of}: {left_out}; by their describing function they delay a motion of "
        f"{units.text(amplitude, 'm')}, as in the "
        f"rehearsal, by {lag:.3g}°, and consume the phase margin of {spare:.3g}° at about {units.text(least, 'm')}"
    )
    if lag >= spare:
        yield Finding("marginal", f"{text}: the test may end in a limit cycle", lag, spare, "deg")
    else:
        yield Finding("note", f"{text}, below which the test may not come to rest", lag, spare, "deg")
