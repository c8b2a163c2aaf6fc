"""Whether a test is stable in motion, as it is defined and with what its acceptance promises (``motion.py``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .... import units
from ....contracts.finding import Finding, note, warning
from ..examined import Examined
from ..remedies import stabilising_motion
from .acceptance import below
from .gain import specimen_with

if TYPE_CHECKING:
    from ..motion import Motion, Promise

NOT_TRIED = (
    "not tried in motion, as a part in another process cannot be set back to its beginning: only the poles at rest and "
    "one rehearsal count"
)
EPISODE = 10.0
"""Growth of deviations for a while, as a factor, from which on a test is not a GO."""


def motion(examined: Examined) -> Iterable[Finding]:
    found = examined.motion
    if found is None:
        if examined.sound and not examined.stability.proven_linear:
            yield warning(NOT_TRIED)
        return
    unit = examined.definition.target_unit
    defined = found.defined
    if defined.fault:
        if examined.rehearsal.outcome == "completed":  # else the rehearsal has stated it
            text = f"in motion, {defined.summary(unit)}"
            yield Finding("no-go", text, name="fault in motion", room=0.0)
        return
    if defined.unstable:
        text = f"in motion, {defined.summary(unit)}: the test diverges as it is defined"
        mend = examined.remedies(lambda: stabilising_motion(examined))
        yield Finding("no-go", text, defined.exponent, 0.0, "1/s", remedies=mend, name="stability in motion", room=0.0)
        return
    broken = [one for one in found.promises if not one.kept]
    for place, promise in enumerate(broken):
        mend = examined.remedies(lambda: stabilising_motion(examined)) if place == 0 else ()
        yield of_promise(examined, found, promise, unit, mend)
    factor, begin, end = defined.episode
    if factor >= EPISODE and not found.trials.free:
        text = (
            f"small deviations from the motion grow {factor:.2g} times between {begin:.3g} and {end:.3g} s, and decay "
            "again: noise and disturbances are amplified there"
        )
        yield Finding("marginal", text, factor, EPISODE, name="stability in motion", room=0.0)
    if not broken:
        yield stable(found, unit)
    if found.worst is not None and found.worst.unstable:
        text = f"in the worst case of the stated uncertainty, {found.worst.summary(unit)}"
        yield Finding("no-go", text, found.worst.exponent, 0.0, "1/s", name="uncertainty in motion", room=0.0)


def of_promise(examined: Examined, found: Motion, promise: Promise, unit: str, mend: tuple[str, ...]) -> Finding:
    """A change that the acceptance promises to tolerate, and that makes the test unstable."""
    trial, margin = promise.trial, promise.margin
    least = examined.definition.acceptance.least(promise.name)
    if promise.name == "delay_margin":
        share = (trial.delay if margin is None else margin) / found.lag
        has = "less" if margin is None else f"{units.text(margin, 's', 3)}, {below(100 * share, 100 * least)} % of it"
        text = (
            f"delay margin in motion: {100 * least:g} % of the rig's lag of {units.text(found.lag, 's')} is required, "
            f"and the test tolerates {has}: with {units.text(trial.delay, 's', 3)} more, {trial.summary(unit)}"
        )
        return Finding("marginal", text, share, least, remedies=mend, name="delay margin in motion", room=0.0)
    size = least if margin is None else abs(20.0 * float(np.log10(margin))) if margin > 0.0 else 0.0
    is_at = "below" if margin is None else f"{below(size, least)} dB, required"
    lower = "lower " if trial.gain < 1.0 else ""
    what = specimen_with(examined.definition, trial.gain)
    text = f"{lower}gain margin in motion {is_at} {least:g} dB: with {what}, {trial.summary(unit)}"
    return Finding("marginal", text, size, least, "dB", remedies=mend, name="gain margin in motion", room=0.0)


def stable(found: Motion, unit: str) -> Finding:
    """A test that is stable in motion, with its margins there."""
    text = f"in motion, {found.defined.summary(unit)}"
    margins = found.margins
    if margins is None:
        tried = len(found.promises)
        return note(f"{text}; with the {tried} changes that [acceptance] promises to tolerate, too" if tried else text)
    told, left = [], []
    if not np.isnan(margins.delay):
        most = f"any additional delay up to {units.text(margins.searched_delay, 's', 3)}"
        some = f"{units.text(margins.delay, 's', 3)} of additional delay"
        told.append(most if np.isinf(margins.delay) else some)
        left.append(1.0 if np.isinf(margins.delay) else margins.delay / (margins.delay + found.lag))
    up, down = margins.gain_margin_db, -margins.gain_reduction_db
    told.append(f"gain margin {'above 20 dB' if np.isinf(up) else f'{up:.3g} dB'}")
    told.append(f"lower gain margin {'above 20 dB' if np.isinf(down) else f'{down:.3g} dB'}")
    left.append(1.0 - 10.0 ** (-min(up, down) / 20.0))
    return Finding(
        "note",
        f"{text}; there the test tolerates {', '.join(told)}",
        found.defined.exponent,
        0.0,
        "1/s",
        name="margins in motion",
        room=min(left),
    )
