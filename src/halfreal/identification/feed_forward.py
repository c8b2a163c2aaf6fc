"""From how a rig follows to a filter that makes up for it: rational fit, its inverse, and the delay that is left.

As in the paper of the DLR Institute of Aeroelasticity on its six-axis shaking table (section 4, Fig. 8): the measured
response of an axis is fitted by a ratio of polynomials, and its inverse, behind a low-pass, filters the target,

    H(s) ≈ e^{−sτ} B(s)/A(s),       W(s) = A(s)/B(s) · L(s)

so that W H ≈ e^{−sτ} L(s): within the band a delay of τ and that of the low-pass.  L is Butterworth's low-pass, of the
least order that makes W proper.

An inverse cannot have zeros of B in the right half plane for poles, and zeros far above the band only cost order: the
former above the band, and all from ``FAR`` times the highest line on, are replaced by their value at rest.

The delay left is the slope of the phase through the origin, −Σ ωφ/Σ ω².  A phase is known up to whole turns: those are
taken off that bring the straight line through the phases nearest to the origin.
"""

from __future__ import annotations

import numpy as np

from ..couplings.transfer_function import Roots, Sections
from ..errors import HalfrealError
from .vector_fitting import RationalFit

FAR = 1.5
LARGEST_OFFSET = 0.25
"""Turns by which the straight line through the phases may pass the origin; beyond, whole turns are in doubt."""


def delay_from_phase(frequency_hz: np.ndarray, response: np.ndarray) -> float:
    """Delay [s] that the phase of a response shows, in least squares over its lines, at least two.

    They may begin anywhere, but must not be far apart: from line to line the phase turns by less than half a turn.
    """
    omega = 2 * np.pi * np.asarray(frequency_hz, dtype=float)
    phase = np.unwrap(np.angle(np.asarray(response, dtype=complex).reshape(-1)))
    if omega.size < 2:
        raise HalfrealError(
            f"a delay from the phase at {omega.size} line(s) is ambiguous by whole turns; give two or more"
        )
    offset = np.polyfit(omega, phase, 1)[1] / (2 * np.pi)
    turns = np.round(offset)
    phase -= 2 * np.pi * turns
    if not abs(offset - turns) <= LARGEST_OFFSET:
        raise HalfrealError(
            f"the phase over {frequency_hz[0]:g} to {frequency_hz[-1]:g} Hz points {offset - turns:.2f} turns past "
            f"the origin, more than {LARGEST_OFFSET}: it is not the phase of a delay; start at "
            "lower frequencies, or change the sign"
        )
    return float(-(omega @ phase) / (omega @ omega))


def inverse_filter(fit: RationalFit, highest_hz: float, low_pass_hz: float) -> Sections:
    """W of a fit that holds up to ``highest_hz``, with a low-pass at ``low_pass_hz``."""
    model = fit.ratio()
    zeros, poles = np.roots(model.numerator), np.roots(model.denominator)
    size, highest = np.abs(zeros), 2 * np.pi * highest_hz
    near = zeros[np.where(zeros.real < 0.0, size < FAR * highest, size < highest)]
    wrong = near[near.real >= 0.0]
    if wrong.size:
        raise HalfrealError(
            f"the fit has a zero at {wrong[0].real:.4g} ± {abs(wrong[0].imag):.4g}i rad/s in the right half plane, "
            f"within the band up to {highest_hz:g} Hz: its inverse is unstable; fit fewer poles, separate a delay "
            "(longest_delay), or exclude the highest lines"
        )
    degree = len(poles) - len(near)
    angle = np.pi * (2 * np.arange(degree) + 1 + degree) / (2 * degree)
    cut = 2 * np.pi * low_pass_hz * np.exp(1j * angle)
    still = float(np.polyval(model.numerator, 0.0) / np.polyval(model.denominator, 0.0))
    if still <= 0.0:
        raise HalfrealError(f"the fit has a gain of {still:.4g} at zero frequency, but a rig has about 1; fit it again")
    # W(0) = 1/H(0)
    gain = np.real(np.prod(-near) * np.prod(-cut) / np.prod(-poles)) / still
    return (
        Roots.model_validate(
            {
                "kind": "zeros and poles",
                "gain": float(gain),
                **_split(poles, "zero"),
                **_split(np.r_[near, cut], "pole"),
            }
        ),
    )


def _split(roots: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """Real roots, and pairs as rows (a, b), as a section takes them."""
    size = np.maximum(np.abs(roots), 1e-300)
    real = np.real(roots[np.abs(roots.imag) <= 1e-9 * size])
    upper = roots[roots.imag > 1e-9 * size]
    found = {f"{name}s": real} if real.size else {}
    if upper.size:
        found[f"{name}_pairs"] = np.column_stack([upper.real, upper.imag])
    return found
