"""Poles from frequency responses: the least-squares complex frequency estimator, by sdypy-EMA.

P. Guillaume, P. Verboven, S. Vanlanduit, H. Van der Auweraer, B. Peeters, "A poly-reference implementation of the
least-squares complex frequency-domain estimator", IMAC XXI (2003); here with one reference.  All responses share one
denominator, a polynomial in z = e^{−jωΔ}:

    H_o(ω) ≈ B_o(z)/A(z),      least squares for A, of one order after another

each response divided by its noise, so that units do not matter and noisy ones count less.  The noise is given by fourth
differences from line to line, in which the response itself is small away from its peaks: their median.

Poles of noise come out unstable or wander as the order rises; those that stay are kept (``poles.stabilised``).  Shapes
follow by least squares in the frequency domain, with terms for the modes below and above the band,

    H_o(ω) ≈ Σ_r (R_or/(jω − s_r) + R*_or/(jω − s*_r)) + L_o/ω² + U_o

The estimator of the poles is that of sdypy-EMA (MIT licence; ``pip install sdypy-EMA``, or halfreal's extra "modal").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import HalfrealError
from .poles import ModalError, Poles, part_left, stabilised

LEAST_LINES_PER_ORDER = 4
LEAST_NOISE = 1e-3
"""Part of a response's RMS below which its noise counts no less, as models leave that much anyway."""
LEAST_ORDER = 5
"""A pole that stays is found by four orders after the first that has it."""


def lscf(frequency_hz: np.ndarray, responses: np.ndarray, *, lowest_hz: float, highest_hz: float, order: int) -> Poles:
    """Poles within a band that responses to one input, (outputs, lines) or (lines,), have in common.

    Parameters
    ----------
    frequency_hz
        Lines, equally far apart and multiples of that distance.
    lowest_hz
        Not below the first line after 0 Hz.
    order
        The highest number of modes tried, at least five; several times those expected.
    """
    orders = candidates(frequency_hz, responses, lowest_hz=lowest_hz, highest_hz=highest_hz, order=order)
    return chosen(orders, frequency_hz, responses, lowest_hz=lowest_hz, highest_hz=highest_hz)


def chosen(
    orders: Sequence[np.ndarray],
    frequency_hz: np.ndarray,
    responses: np.ndarray,
    *,
    lowest_hz: float,
    highest_hz: float,
) -> Poles:
    """Those ``candidates`` of responses that stay, with their shapes."""
    found = stabilised(orders)
    if not found.size:
        raise ModalError(
            f"no pole is stable up to order {len(orders)}: the responses are too noisy, or contain no mode "
            f"from {lowest_hz:g} to {highest_hz:g} Hz; average more, or choose another band"
        )
    return with_shapes(found, frequency_hz, responses, lowest_hz, highest_hz)


def with_shapes(
    poles: np.ndarray, frequency_hz: np.ndarray, responses: np.ndarray, lowest_hz: float, highest_hz: float
) -> Poles:
    """Poles with the shapes that fit the responses within a band best."""
    hz, values = np.asarray(frequency_hz, dtype=float), np.atleast_2d(np.asarray(responses, dtype=complex))
    used = (hz >= lowest_hz) & (hz <= highest_hz)
    residues, misfit = _shapes(hz[used], values[:, used], poles)
    return Poles(poles, residues, misfit)


def candidates(
    frequency_hz: np.ndarray, responses: np.ndarray, *, lowest_hz: float, highest_hz: float, order: int
) -> list[np.ndarray]:
    """Stable poles of the upper half plane within the band, of one order after another: those ``lscf`` chooses from."""
    hz, values = np.asarray(frequency_hz, dtype=float), np.atleast_2d(np.asarray(responses, dtype=complex))
    step = float(hz[-1] - hz[0]) / (hz.size - 1) if hz.size > 1 else 0.0
    if hz.size != values.shape[1] or step <= 0.0 or np.abs(np.diff(hz) / step - 1.0).max() > 1e-6:
        raise ModalError(f"{hz.size} lines for responses of shape {values.shape}; give equally spaced ones, rising")
    if abs(hz[0] / step - round(hz[0] / step)) > 0.01:
        raise ModalError(
            f"lines from {hz[0]:g} Hz, {step:g} Hz apart, are not multiples of that distance; use lines of one period"
        )
    if order < LEAST_ORDER:
        raise ModalError(
            f"order {order}; poles are distinguished from noise with {LEAST_ORDER} orders or more; raise it"
        )
    if not lowest_hz >= step * (1 - 1e-6):
        raise ModalError(f"a band from {lowest_hz:g} Hz; begin at the first line after 0, {step:g} Hz, or above")
    if not np.all(np.isfinite(values)):
        raise ModalError("a response is not finite; remove that line or that output")
    kept = (hz > 0.5 * step) & (hz < highest_hz + 1.5 * step)
    within = int(((hz >= lowest_hz) & (hz <= highest_hz)).sum())
    if within < LEAST_LINES_PER_ORDER * order:
        raise ModalError(
            f"{within} lines from {lowest_hz:g} to {highest_hz:g} Hz for order {order}, which takes "
            f"{LEAST_LINES_PER_ORDER * order}; record longer for finer lines, widen the band, or lower the order"
        )
    lines, whole = _from_zero(hz[kept], values[:, kept], step)
    whole /= _noise(values[:, (hz >= lowest_hz) & (hz <= highest_hz)])[:, None]
    model = _estimator()(whole, lines, lower=lowest_hz, upper=highest_hz, pol_order_high=order, frf_form="receptance")
    model.get_poles(method="lscf", show_progress=False)
    return [_within(np.asarray(poles), lowest_hz, highest_hz) for poles in model.all_poles]


def _from_zero(hz: np.ndarray, values: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Lines from 0 Hz on, exact multiples, with zeros below those given.

    sdypy-EMA fills up itself what is given from another line on, but by one line too many where the first divided by
    the distance rounds up, which moves all poles by one line.
    """
    first = round(hz[0] / step)
    whole = np.hstack([np.zeros((len(values), first)), values])
    return step * np.arange(whole.shape[1]), whole


def _noise(values: np.ndarray) -> np.ndarray:
    """Of each response, up to a common factor; 1 of one that is zero."""
    size = np.sqrt(np.mean(np.abs(values) ** 2, axis=1))
    noise = np.maximum(np.median(np.abs(np.diff(values, 4, axis=1)), axis=1), LEAST_NOISE * size)
    return np.where(size > 0.0, noise, 1.0)


def _within(poles: np.ndarray, lowest_hz: float, highest_hz: float) -> np.ndarray:
    """Stable poles of the upper half plane in the band."""
    hz = np.abs(poles) / (2 * np.pi)
    return np.asarray(poles[(poles.imag > 0) & (poles.real < 0) & (hz >= lowest_hz) & (hz <= highest_hz)])


def synthesised(frequency_hz: np.ndarray, responses: np.ndarray, poles: np.ndarray) -> np.ndarray:
    """Responses (outputs, lines) as these poles, and terms for the modes below and above the band, fit them best."""
    columns, found, _ = _fitted(np.asarray(frequency_hz, dtype=float), np.asarray(responses, dtype=complex), poles)
    return np.asarray((columns @ found).T)


def _shapes(hz: np.ndarray, values: np.ndarray, poles: np.ndarray) -> tuple[np.ndarray, float]:
    _, found, left = _fitted(hz, values, poles)
    n = len(poles)
    return (found[:n] + 1j * found[n : 2 * n]).T, left


def _fitted(hz: np.ndarray, values: np.ndarray, poles: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Columns of R, L and U for each line, their real factors in least squares, and what these leave."""
    s = 2j * np.pi * hz[:, None]
    first, second = 1.0 / (s - poles), 1.0 / (s - poles.conj())
    columns = np.hstack(
        [first + second, 1j * (first - second), 1.0 / s**2, np.ones_like(s), 1j / s**2, 1j * np.ones_like(s)]
    )
    size = np.linalg.norm(columns, axis=0)
    real = np.vstack([columns.real, columns.imag]) / size
    wanted = np.vstack([values.T.real, values.T.imag])
    found = np.linalg.lstsq(real, wanted, rcond=None)[0]
    return columns, found / size[:, None], part_left((wanted - real @ found).T, wanted.T, wanted.T)


def _estimator() -> Any:
    try:
        from sdypy.EMA import Model
    except ImportError as error:
        raise HalfrealError(
            "poles from frequency responses are estimated by sdypy-EMA, which is not installed; run 'pip install "
            "sdypy-EMA'"
        ) from error
    return Model
