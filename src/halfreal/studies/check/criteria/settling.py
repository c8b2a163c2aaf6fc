"""Energy that a slow test's settling tolerance feeds into the structure, against what its damping dissipates.

A rig that has come within e of each target, from where it was before, stops short of it by up to e.  The measured force
then lags behind the motion, which for a specimen of stiffness k and a motion of amplitude A adds the energy

    ∮ k e sign(ż) dz = 4 k e A   per cycle,   where a damper c dissipates   π c ω A²

so that below A* = 4 k e/(π c ω) free motion grows, and above it decays no further than to A*.  In any loop the
describing function of z − e sign(ż) is 1 − j 4e/(πA): a lag φ with tan φ = 4e/(πA) (A. Gelb, W. E. Vander Velde,
Multiple-Input Describing Functions and Nonlinear System Design, McGraw-Hill 1968).  It uses up the lag φ* that the loop
tolerates at its feedback (``stability/gain_margins.py``) at

    A* = 4e/(π tan φ*)

and takes away the share A*/A of the damping at larger amplitudes.  How far the rig of the definition stops short is
taken from the rehearsal, weighted by the path, as the energy is: e = Σ (z − x) Δz / Σ |Δz|; a rig that uses the whole
tolerance is reported as well.

z target, x measured motion; both are forces in force control, where a softer specimen has the larger gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .... import units
from ....contracts.finding import Finding, Severity
from ....definition.definition import Definition
from ....definition.paths import with_values
from ....errors import HalfrealError
from ....safety.slow_motion import TOLERANCES
from ..examined import Examined

MOST = 0.1
"""Share of the damping that may be lost where [acceptance] has no limit for the error of fidelity."""
LEAST = 1e-3
"""Share of the damping up to which nothing is reported."""


@dataclass(frozen=True)
class Settling:
    """How far a rig stops short of its targets on one axis, and what that does to free motion."""

    channel: str
    unit: str
    undershoot: float
    """e, in the rehearsal [unit]."""
    tolerance: float
    """Within which the rig counts as settled [unit]."""
    lag: float
    """Of the feedback, up to which the loop is stable [rad]."""
    amplitude: float
    """Of the motion in the rehearsal, √2 times its root mean square [unit]."""

    def balance(self, undershoot: float) -> float:
        """Amplitude at which the energy added is that dissipated [unit]."""
        return 4.0 * undershoot / (np.pi * math.tan(min(self.lag, 0.5 * math.pi)))

    def share(self, undershoot: float) -> float:
        """Share of the damping that is lost at the amplitude of the rehearsal."""
        return self.balance(undershoot) / self.amplitude

    def allowed(self, share: float) -> float:
        """Undershoot that takes away this share of the damping [unit]."""
        return share * self.amplitude / self.balance(1.0)


def settling(examined: Examined) -> Iterable[Finding]:
    found = worst(examined)
    if found is None:
        return
    fidelity = examined.definition.acceptance.most("fidelity")
    most = fidelity if np.isfinite(fidelity) else MOST
    lost, lost_at_most = found.share(found.undershoot), found.share(found.tolerance)
    severity: Severity = "no-go" if lost >= 1.0 else "marginal" if lost > most else "note"
    if lost > LEAST:
        mend = examined.remedies(lambda: remedies(examined, found, most)) if lost > most else ()
        text, limit = describe(found, lost, most), 1.0 if lost >= 1.0 else most
        left = max(1.0 - lost / most, 0.0)
        yield Finding(severity, text, lost, limit, remedies=mend, name="settling of the rig", room=left)
    if lost <= most < lost_at_most:
        yield Finding("warning", describe_tolerance(found, lost_at_most, most), lost_at_most, most)


def describe(found: Settling, lost: float, most: float) -> str:
    """What the undershoot in the rehearsal does, for people."""
    short, tolerance, balance, amplitude = (
        units.text(one, found.unit, 3)
        for one in (found.undershoot, found.tolerance, found.balance(found.undershoot), found.amplitude)
    )
    cause = f"the rig stops short of its targets by {short} (settling tolerance {tolerance}), so the feedback lags"
    if lost >= 1.0:
        return (
            f"{cause}: the energy that this adds per cycle exceeds what the damping dissipates up to an amplitude of "
            f"{balance}, to which free motion grows; the motion of the rehearsal has {amplitude}"
        )
    text = f"{cause}: at the {amplitude} of the rehearsal this takes away {100 * lost:.2g} % of the damping"
    text += f", and free motion that stops as short does not decay below {balance}"
    allowed = units.text(found.allowed(most), found.unit, 2)
    return text if lost <= most else f"{text}; accepted {100 * most:g} % (acceptance.fidelity), which is {allowed}"


def describe_tolerance(found: Settling, lost: float, most: float) -> str:
    """What a rig would do that uses the whole tolerance, for people."""
    tolerance, amplitude, allowed, short = (
        units.text(one, found.unit, 2)
        for one in (found.tolerance, found.amplitude, found.allowed(most), max(found.undershoot, 0.0))
    )
    share = f"{100 * lost:.2g} % of" if lost < 1.0 else "all of"
    return (
        f"a rig that stops short of its targets by the whole settling tolerance of {tolerance} takes away {share} the "
        f"damping at the {amplitude} of the rehearsal, where that of the definition stops short by {short}; lower the "
        f"tolerance to {allowed}, which takes away {100 * most:g} %"
    )


def worst(examined: Examined) -> Settling | None:
    """The axis whose damping suffers most from the tolerance; None if the test has none, or its effect is not known."""
    definition, margins = examined.definition, examined.stability.at_feedback
    if not examined.sound or definition.slow is None or margins is None or not 0.0 < margins.lag < np.inf:
        return None
    if definition.commands != definition.targets or not definition.slow.waits(definition.commands):
        return None
    axes, run = definition.interface, examined.rehearsal
    measured = axes.channels("measured.force" if definition.commands == "force" else "measured.displacement")
    tolerances = definition.slow.tolerance(definition.commands, axes)
    found = []
    for i, (target, channel) in enumerate(zip(axes.channels("target"), measured, strict=True)):
        z, x = run.signals[target].values, run.signals[channel].values
        known = np.isfinite(z) & np.isfinite(x)
        z, x = z[known], x[known]
        path, amplitude = float(np.sum(np.abs(np.diff(z)))), float(np.sqrt(2.0) * np.std(z))
        if path > 0.0 and amplitude > 0.0:
            short = float(np.sum((z - x)[1:] * np.diff(z))) / path
            found.append(
                Settling(target, run.signals[target].unit, short, float(tolerances[i]), margins.lag, amplitude)
            )
    return max(found, key=lambda one: one.share(one.undershoot), default=None)


def remedies(examined: Examined, found: Settling, most: float) -> list[str]:
    """A tolerance with which the test is a GO, where it is."""
    from ..remedies import trial

    definition = examined.definition
    smaller = smaller_tolerance(definition, float(f"{0.5 * min(found.allowed(most), found.tolerance):.1g}"))
    if smaller is None:
        return []
    variant, text = smaller
    return [f"{text}: the test is a GO with it"] if trial(variant, variant.coupling) == "GO" else []


def smaller_tolerance(definition: Definition, tolerance: float) -> tuple[Definition, str] | None:
    """A test with this settling tolerance, and how it is written; None if it has tolerances of two kinds."""
    assert definition.slow is not None
    keys = [key for key in TOLERANCES[definition.commands] if getattr(definition.slow.settle, key) is not None]
    if len(keys) != 1:
        return None
    unit = "N" if definition.commands == "force" else "m"
    try:
        variant = with_values(definition, {f"slow.settle.{keys[0]}": [tolerance]})
    except HalfrealError:
        return None
    return variant, f'slow.settle.{keys[0]} = "{units.text(tolerance, unit)}"'
