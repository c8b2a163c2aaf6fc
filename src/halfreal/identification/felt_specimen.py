"""Stiffness, damping and mass of a specimen as a record has felt them, with their uncertainty.

The measured force is taken for that of a linear specimen, f = K x + C ẋ + M ẍ + constant, on all axes that move.  A
record has noise in x too, and derivatives of it would be worse.  So force and displacement are both weighted with a
Gaussian g that slides along the record, and derivatives are moved to g by partial integration:

    g ∗ f  =  K (g ∗ x) + C (g' ∗ x) + M (g'' ∗ x) + constant

which holds exactly, regardless of the width of g; it is as wide as the fastest motion allows.  Noise of x still
correlates with itself, and would make all of them too small; products are therefore taken with the target in place of
x, an instrument that knows nothing of the sensors' noise (L. Ljung, System Identification: Theory for the User, 2nd
ed., Prentice Hall 1999, section 7.6).

What is left over is no white noise: it is weighted, and a specimen that is not linear leaves parts of every cycle.  The
covariance is that of W. K. Newey, K. D. West, Econometrica 55 (1987) 703–708, with Parzen's weights over two cycles,
and with Student's t for as many degrees of freedom as such a window leaves (N. M. Kiefer, T. J. Vogelsang, Econometric
Theory 21 (2005) 1130–1164).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

REACH = 5.0
"""Of the Gaussian to either side, in its widths."""
APART = 0.7
"""Distance of two places of the Gaussian, in its widths: closer ones say nothing new."""
MOST_OF_MOTION = 0.99
"""Share of the power of the velocity that is slower than the fastest motion that counts."""
FEWEST_CYCLES = 3.0
WINDOW_CYCLES, WINDOW_WIDTHS = 2.0, 10.0
"""Length of Parzen's window: cycles of the motion, and widths of the Gaussian at least."""
PARZEN = 0.539
"""Integral of the squares of Parzen's weights: a window of b records leaves 1 / (0.539 b) degrees of freedom."""
ALIKE = "the motions of its axes cannot be distinguished, or are too few"
MOSTLY_MOTION = 0.9
"""Share of the power of an axis that must exceed its noise, or it determines nothing."""
SINGULAR = 1e5
"""Condition number beyond which motions cannot be distinguished."""
OBSERVABLE = 0.1
"""Share of the dynamic stiffness within which a mass must be known, or it is left in the stiffness."""


@dataclass(frozen=True)
class Window:
    """How a record is weighted: the same for a record and the one it is compared with."""

    width: float
    """Of the Gaussian [s]."""
    with_mass: bool


@dataclass(frozen=True)
class Felt:
    """What a record shows of a linear specimen, between the axes that move."""

    axes: tuple[int, ...]
    """Which of the axes move, counted from 0."""
    values: np.ndarray
    """K, C and, if it can be distinguished, M: (2 or 3, axes that move, axes that move) [SI]."""
    spreads: np.ndarray
    """Half-widths of their 95 % intervals."""
    omega: np.ndarray
    """Frequency of the motion of each axis [rad/s]: √(∫ẋ² / ∫x²)."""
    cycles: np.ndarray
    travelled: np.ndarray
    """∫ẋ² dt of each axis [m²/s]: times C it is the energy that was taken up."""
    unexplained: np.ndarray
    """RMS of the force that no linear specimen explains, over that of the force."""
    window: Window


def felt(
    step: float,
    displacement: np.ndarray,
    force: np.ndarray,
    target: np.ndarray | None = None,
    others: np.ndarray | None = None,
    *,
    window: Window | None = None,
    axes: tuple[int, ...] | None = None,
    inertia: bool = True,
) -> Felt | str:
    """What a record, (samples, axes), shows of its specimen; as text why it determines nothing.

    ``target`` has the columns of the displacement; ``others`` are known forces on the specimen.  ``axes`` are those to
    look at; with the ``window`` of a record to be compared with they are taken as they are.  ``inertia`` is False where
    time is at rest between samples.
    """
    from scipy.special import stdtrit  # far lighter than scipy.stats: a run is waited for by its operator

    displacement, force = displacement - displacement.mean(axis=0), force - force.mean(axis=0)
    moving = np.arange(displacement.shape[1]) if axes is None else np.array(axes, dtype=int)
    if window is None:
        spectrum, above = above_noise(displacement[:, moving])
        moving = moving[above.sum(axis=0) > MOSTLY_MOTION * spectrum.sum(axis=0)]
    if not moving.size:
        return "no axis moved by more than its noise"
    x, f = displacement[:, moving], force[:, moving]
    z = x if target is None else np.where(np.isfinite(target[:, moving]), target[:, moving], x)
    width = fastest(step, x) if window is None else window.width
    reach = int(np.ceil(REACH * width / step))
    if len(x) < 4 * reach:
        return f"the record of {len(x) * step:.3g} s is too short compared with its slowest motion"
    every = max(1, int(APART * width / step))
    weighted, instruments = weigh(x, step, width, every), weigh(z - z.mean(axis=0), step, width, every)
    f_g = weigh(f, step, width, every)[0]
    known_g = f_g[:, :0] if others is None else weigh(others - others.mean(axis=0), step, width, every)[0]
    spent, apart = len(f_g) * every * step, every * step
    travelled = np.sum(weighted[1] ** 2, axis=0) * apart
    omega = np.sqrt(travelled / (np.sum(weighted[0] ** 2, axis=0) * apart))
    cycles = omega * spent / (2 * np.pi)
    if not np.all(np.isfinite(omega)) or cycles.min() < FEWEST_CYCLES:
        return f"there are {np.nanmin(cycles):.1f} cycles of motion, and at least {FEWEST_CYCLES:g} are needed"

    lags = max(WINDOW_CYCLES * 2 * np.pi / omega.min(), WINDOW_WIDTHS * width) / apart

    def solved(parts: int) -> Felt | None:
        columns = np.hstack([*weighted[:parts], known_g, np.ones((len(f_g), 1))])
        with_these = np.hstack([*instruments[:parts], known_g, np.ones((len(f_g), 1))])
        scale, scale_z = (np.sqrt(np.mean(one**2, axis=0)) for one in (columns, with_these))
        if not (scale.all() and scale_z.all()):
            return None
        columns, with_these = columns / scale, with_these / scale_z
        product = with_these.T @ columns / len(f_g)
        if not np.linalg.cond(product) < SINGULAR:
            return None
        inverse = np.linalg.inv(product)
        found = inverse @ (with_these.T @ f_g) / len(f_g)
        left = f_g - columns @ found
        weight = np.sum(columns[:, : len(moving)] ** 2, axis=1)
        counted = min(1.5 * weight.sum() ** 2 / np.sum(weight**2), float(len(f_g)))
        freedom = counted / (PARZEN * lags)
        if freedom < 1.0:
            return None
        quantile = float(stdtrit(freedom, 0.975))
        error = np.empty_like(found)
        for i in range(len(moving)):
            covariance = inverse @ long_run(with_these * left[:, i : i + 1], lags) @ inverse.T
            covariance *= len(f_g) / max(len(f_g) - len(found), 1)
            error[:, i] = np.sqrt(np.maximum(np.diag(covariance), 0.0) / len(f_g))
        n = len(moving)
        shape = (parts, n, n)
        values = (found / scale[:, None])[: parts * n].reshape(shape).transpose(0, 2, 1)
        spreads = (quantile * error / scale[:, None])[: parts * n].reshape(shape).transpose(0, 2, 1)
        share = np.sqrt(np.mean(left**2, axis=0) / np.maximum(np.mean(f_g**2, axis=0), 1e-300))
        return Felt(
            tuple(int(i) for i in moving), values, spreads, omega, cycles, travelled, share, Window(width, parts == 3)
        )

    if window is not None:
        return solved(3 if window.with_mass else 2) or ALIKE
    if inertia and (made := solved(3)) is not None:
        stiffness = np.abs(made.values[0].diagonal() - omega**2 * made.values[2].diagonal())
        unsure = omega**2 * made.spreads[2].diagonal()
        if np.all(unsure < OBSERVABLE * np.maximum(stiffness, np.abs(made.values[0].diagonal()))):
            return made
    return solved(2) or ALIKE


def fastest(step: float, x: np.ndarray) -> float:
    """Width of the Gaussian [s] that the fastest motion of any axis allows, above what is only noise."""
    omega = 2 * np.pi * np.fft.rfftfreq(len(x), step)
    power = above_noise(x)[1] * omega[:, None] ** 2
    share = np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    last = np.max(np.argmax(share >= MOST_OF_MOTION, axis=0))
    return float(max(1.0 / max(omega[last], omega[1]), 1.5 * step))


def above_noise(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Power of each axis at each frequency, and what of it is far above the noise, which fills the upper half."""
    spectrum = np.abs(np.fft.rfft(np.hanning(len(x))[:, None] * x, axis=0)) ** 2
    noise = np.median(spectrum[len(spectrum) // 2 :], axis=0) / np.log(2)
    return spectrum, np.where(spectrum > 10 * noise, spectrum, 0.0)


def weigh(signals: np.ndarray, step: float, width: float, every: int) -> list[np.ndarray]:
    """g ∗ s, g' ∗ s and g'' ∗ s at places so many samples apart, where g lies wholly within the record."""
    from scipy.fft import irfft, next_fast_len, rfft

    reach = int(np.ceil(REACH * width / step))
    t = np.arange(-reach, reach + 1) * step
    g = np.exp(-0.5 * (t / width) ** 2)
    g /= g.sum()
    kernels = (g, -t / width**2 * g, (t**2 / width**2 - 1.0) / width**2 * g)
    # a convolution turns the kernel round, so that the derivative of g ∗ s is g' ∗ s
    length = next_fast_len(len(signals), real=True)
    transformed = rfft(signals, length, axis=0)
    whole = (irfft(transformed * rfft(kernel, length)[:, None], length, axis=0) for kernel in kernels)
    return [one[2 * reach : len(signals)][::every] for one in whole]


def long_run(scores: np.ndarray, lags: float) -> np.ndarray:
    """Covariance of the mean of correlated rows, times their number: weighted sum of their autocovariances."""
    from scipy.fft import irfft, next_fast_len, rfft

    n = len(scores)
    share = np.arange(min(int(lags), n - 1) + 1) / lags
    weights = np.where(share <= 0.5, 1 - 6 * share**2 + 6 * share**3, 2 * (1 - share) ** 3)
    length = next_fast_len(2 * n, real=True)  # so that the ends do not meet
    window = np.zeros(length)
    window[: len(weights)] = weights
    window[length - len(weights) + 1 :] = weights[:0:-1]
    smoothed = irfft(rfft(scores, length, axis=0) * rfft(window)[:, None], length, axis=0)[:n]
    total = scores.T @ smoothed / n
    return np.asarray(0.5 * (total + total.T))
