"""What the linear model says of a coupling's error, before anything is rehearsed.

The loop is cut at its command, and all is measured from its probe w (``stability/open_loop.py``), at frequencies z =
e^{jωΔt}: what is measured x = G w, the target T w, and the command C w.  A target z then becomes the motion

    x = G C T⁻¹ z        error of axis i = √(Σ_ω |(z − x)_i|²/Σ_ω |z_i|²)

with the spectrum of the motion that the test is about, so that what one axis does to another is in it.  Noise, limits
and all that is not linear, or adapts, make the difference to what a rehearsal achieves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...definition.definition import Definition
from ...errors import HalfrealError
from ...runs.loop_stability import cut_loop
from ...runs.rig_lag import followed
from ...stability.linearise import NoSlopeError
from ...stability.open_loop import answer

COUNTS = 1e-6
"""Power, as a part of the largest, below which a frequency is left out."""
MOST = 2000
"""Frequencies, those with most power."""


def predicted_error(definition: Definition, motion: np.ndarray, counted: Sequence[int]) -> float:
    """Error of the rig behind its target, of the worst axis that counts; NaN where the model does not give it."""
    axes = definition.interface
    if definition.commands != definition.targets:
        return math.nan
    at = axes.commanded_at
    measured, target = followed(definition), [axes.channels("target")[i] for i in at]
    command = list(axes.actuators.channels("command.asked"))
    spectra = np.fft.rfft(motion[:, list(at)] - motion[:, list(at)].mean(axis=0), axis=0)
    size = np.abs(spectra).max(axis=0)
    power = np.sum(np.abs(spectra / np.where(size > 0.0, size, 1.0)) ** 2, axis=1)
    kept = np.flatnonzero(power > COUNTS * power.max())
    kept = kept[np.argsort(power[kept])[-MOST:]]
    kept = kept[kept > 0]
    omega = 2.0 * np.pi * kept / (len(motion) * definition.timing.step)
    try:
        try:
            model = answer(cut_loop(definition), [*measured, *target, *command])
        except NoSlopeError:
            model = answer(cut_loop(definition, smooth=True), [*measured, *target, *command])
        found = model.response(omega)
        m = len(measured)
        # what is measured is of the next tick; target and command are of this one
        rig = found[:, :m] * np.exp(-1j * omega * definition.timing.step)[:, None, None]
        per_target = np.linalg.solve(
            np.swapaxes(found[:, m : 2 * m], 1, 2), np.swapaxes(found[:, 2 * m :], 1, 2)
        )  # (C T⁻¹)ᵀ, of rigs with a command for each axis
        followed_by = rig @ np.swapaxes(per_target, 1, 2)
    except (HalfrealError, np.linalg.LinAlgError, ValueError):
        return math.nan
    wanted = spectra[kept]
    left = np.abs(wanted - np.einsum("wij,wj->wi", followed_by, wanted)) ** 2
    worst = 0.0
    for i in (at.index(one) for one in counted):
        due = float(np.sum(np.abs(wanted[:, i]) ** 2))
        if due > 0.0:
            worst = max(worst, math.sqrt(float(np.sum(left[:, i])) / due))
    return worst if math.isfinite(worst) else math.nan
