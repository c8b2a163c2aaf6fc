"""Whether the force of a rig is that of its specimen: against what the specimen makes of its motion.

Force and motion are sampled at the same times.  Where a fast actuator follows corners of its command, the
accelerations that belong to its motion come and go within a step, and the samples show another force: that of a mass
is missing, or comes with damping that it does not have.  Filters and delays of sensors change it too.  Both are
measured on the loop that runs, cut at the command w: with X, F and F_m the responses of displacement, force and
measured force to w, and Z the impedance of the specimen,

    D = Z X,    false impedance (F_m − D) X⁻¹ = ΔK + jω ΔC,    share |F − D| / |D|

A share of zero is a rig that reacts to all of its specimen at ω.  Entries of it are compared one by one, as axes and
commands differ in their units; the largest counts of those that matter, |D_oc D_co| > 10⁻⁶ |D_oo D_cc|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MATTERS = 1e-6


@dataclass(frozen=True)
class ForceError:
    """What of the force is not the specimen's, at each frequency [Hz]."""

    hz: np.ndarray
    share: np.ndarray
    """Of the specimen's force."""
    damping: np.ndarray
    """False damping of each axis [N s/m], (frequencies, axes)."""
    stiffness: np.ndarray
    """False stiffness of each axis [N/m], (frequencies, axes)."""

    @property
    def worst(self) -> int:
        """The frequency with the largest share."""
        return int(np.argmax(self.share))


def force_error(hz: np.ndarray, motion: np.ndarray, force: np.ndarray, impedance: np.ndarray) -> ForceError:
    """The error of a force for a motion, both (frequencies, axes, commands), of a specimen with an impedance."""
    omega = 2.0 * np.pi * np.asarray(hz, dtype=float)
    due = impedance @ motion
    shares, false = [], []
    for x, found, wanted in zip(motion, force, due, strict=True):
        size, own = np.abs(wanted), np.abs(np.diag(wanted))
        counts = (size > 0.0) & ((size * size.T > MATTERS * np.outer(own, own)) | np.eye(len(own), dtype=bool))
        shares.append(float(np.max(np.abs(found - wanted)[counts] / size[counts], initial=0.0)))
        false.append(np.diag((found - wanted) @ np.linalg.pinv(x)))
    false_impedance = np.array(false)
    return ForceError(
        np.asarray(hz, dtype=float), np.array(shares), false_impedance.imag / omega[:, None], false_impedance.real
    )
