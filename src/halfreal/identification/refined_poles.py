"""Poles refined by weighted least squares, with intervals that know of noise which all responses share.

Poles of LSCF (``complex_frequency.py``) are a start: noise pulls them aside.  Here the spectra of the responses are
fitted by poles that they have in common, in the variable of sampled signals, w = e^{−jωΔ}, z_r = e^{s_rΔ},

    Y_o(ω) ≈ Σ_r (R_or X(ω) + c_or)/(1 − z_r w) + conjugates + X(ω) (L_o/s² + U_o + V_o s) + d_o

(with s = jω; of velocities and accelerations the terms L, U, V are multiplied by s and s²).  c_or and d_o are of what
is still in motion from before, or has not come to rest at the end.  Each line counts by the noise of its output there.
R, L, U, V, c and d are linear: they are eliminated, and Gauss and Newton's iteration moves the poles alone (G. H.
Golub, V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413–432; L. Kaufman, BIT 15 (1975) 49–57).

How well they are determined.  In a hybrid test the noise of a force sensor goes back into the virtual structure, shakes
the whole, and is in all responses at once, largest at its resonances: leaving a response out says nothing of it.  The
noise is given by what the fit leaves, e, at lines that know nothing of each other, as whole periods or a whole record
were transformed (R. Pintelon, J. Schoukens, System Identification: A Frequency Domain Approach, 2nd ed., Wiley 2012):

    power of e_o:    V_o(ω) = Σ_i b_oi G_i(ω),      G: powers of ω, and |1 − z_r w|⁻² for each mode
    covariance:      C_oo'(ω) = √(V_o V_o') Σ e_o e*_o'/√(V_o V_o') / Σ (1 − h)²    over the lines around

with b ≥ 0 of largest likelihood, h the leverage of a line: the part of its noise that the fit has taken away (squared,
as lines that lead the fit are fitted too well by it: J. G. MacKinnon, H. White, J. Econometrics 29 (1985) 305–325).
Where several periods were recorded, how they deviate from their mean, less what dies out, counts as e does.  Then

    Σ = M⁻¹ (½ Re Σ_ω Jᴴ W C W J) M⁻¹,      M = Re Σ_ω Jᴴ W J,      W = 1/V of each output

of real and imaginary part of the poles, J the derivatives less what the linear terms explain of them; frequency and
damping follow to first order, with Student's t for as many degrees of freedom as b is known with.
What is not linear in the structure, or changes in the course of a test, is in e as far as it is not a mode's shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

ITERATIONS = 25
CLOSE = 1e-5
"""Part of its decay rate by which a pole moves at most when it is found."""
NOISE_ROUNDS = 4
"""Fits, each with the noise that the last one left."""
POWER_STEPS = 60
"""Of the iteration for the noise's powers, each of which raises the likelihood."""
AROUND = 5
"""Lines to either side over which the covariance of outputs is averaged."""
FARTHEST = 0.015
"""Part of its size by which a pole may move from its start; one that moves further is not determined by these
responses."""
CONFIDENCE = 0.95
LEAST_FREEDOM = 2.0


@dataclass(frozen=True)
class Spectra:
    """What is fitted: the input's spectrum X (lines) and the responses' Y (outputs, lines), lines in Hz."""

    frequency_hz: np.ndarray
    input: np.ndarray
    outputs: np.ndarray
    step: float
    """Between the samples that were transformed [s]."""
    derivatives: tuple[int, ...]
    """0 of a displacement, 1 of a velocity, 2 of an acceleration, for each output."""
    deviations: np.ndarray
    """(periods, outputs, lines): each period's spectrum less the mean, over √periods; none if one alone was taken."""

    def between(self, low_hz: float, high_hz: float) -> Spectra:
        kept = (self.frequency_hz >= low_hz) & (self.frequency_hz <= high_hz)
        return replace(
            self,
            frequency_hz=self.frequency_hz[kept],
            input=self.input[kept],
            outputs=self.outputs[:, kept],
            deviations=self.deviations[:, :, kept],
        )


@dataclass(frozen=True)
class RefinedPoles:
    """Poles [1/s], with half of the 95 % intervals of frequency [Hz] and damping ratio; NaN of what is not
    determined."""

    poles: np.ndarray
    frequency_hz: np.ndarray
    damping: np.ndarray


def refined(spectra: Spectra, start: np.ndarray) -> RefinedPoles:
    """Poles next to those given, as they fit the spectra best.

    A pole that does not stay near its start, or that the lines are too few for, is left as it was, without interval.
    """
    start = np.asarray(start, dtype=complex)
    kept = np.ones(start.size, dtype=bool)
    half = np.full((2, start.size), np.nan)
    poles = start.copy()
    while kept.any():
        fit = _Fit(spectra, start[kept])
        found = fit.solve()
        if found is None:
            break
        stays = np.abs(fit.poles - start[kept]) <= FARTHEST * np.abs(start[kept])
        stays &= fit.poles.imag > 0.0
        if stays.all():
            poles[kept], half[:, kept] = fit.poles, found
            break
        kept[np.flatnonzero(kept)[~stays]] = False
    return RefinedPoles(poles, half[0], half[1])


class _Fit:
    """The iteration for one set of poles."""

    def __init__(self, spectra: Spectra, poles: np.ndarray) -> None:
        self.spectra, self.poles = spectra, poles.copy()
        self.w = np.exp(-2j * np.pi * spectra.frequency_hz * spectra.step)
        self.s = 2j * np.pi * spectra.frequency_hz
        power = np.abs(spectra.outputs) ** 2
        self.variance = np.repeat(np.maximum(power.mean(axis=1, keepdims=True), 1e-300), power.shape[1], axis=1)
        self.left = spectra.outputs
        self.leverage = np.zeros(power.shape)
        self.slopes = np.zeros((*power.shape, 0), dtype=complex)
        """(outputs, lines, 2 poles): derivatives, weighted, less what the linear terms explain of them."""
        self.inverse = np.zeros((0, 0))
        self.passing: list[np.ndarray] = []
        """Weighted columns of each output, of what dies out in a period."""

    def solve(self) -> np.ndarray | None:
        """Half widths of frequency and damping, (2, poles); None if the lines are too few or the fit fails."""
        lines = self.spectra.frequency_hz.size
        if 2 * lines < 2 * (4 * self.poles.size + 7):
            return None
        for _ in range(NOISE_ROUNDS):
            for _ in range(ITERATIONS):
                step = self._step()
                if step is None:
                    return None
                if np.all(np.abs(step) < CLOSE * np.abs(self.poles.real)):
                    break
            self.variance = self._noise()
        if self._step() is None:
            return None
        return self._half_widths()

    def _step(self) -> np.ndarray | None:
        """Move the poles once; keeps residuals, projected derivatives, leverages and their normal matrix."""
        with np.errstate(all="ignore"):
            z = np.exp(self.poles * self.spectra.step)
            first, second = (1.0 / (1.0 - np.outer(self.w, one)) for one in (z, z.conj()))
            d_first = np.outer(self.w, z * self.spectra.step) * first**2
            d_second = np.outer(self.w, z.conj() * self.spectra.step) * second**2
        if not all(np.all(np.isfinite(one)) for one in (first, second, d_first, d_second)):
            return None
        left, slopes, leverage, passing = [], [], [], []
        n, x = self.poles.size, self.spectra.input[:, None]
        for o, y in enumerate(self.spectra.outputs):
            motion = (self.s ** self.spectra.derivatives[o])[:, None]
            smooth = x * motion * np.column_stack([self.s**-2, np.ones_like(self.s), self.s / abs(self.s).max()])
            pair = np.hstack([first + second, 1j * (first - second)])
            columns = np.hstack([x * pair, pair, smooth, 1j * smooth, np.ones_like(x)])
            weight = 1.0 / np.sqrt(self.variance[o])
            real = _stacked(weight[:, None] * columns)
            size = np.linalg.norm(real, axis=0)
            basis, triangle = np.linalg.qr(real / size)
            wanted = _stacked(weight * y)
            solved = np.linalg.lstsq(triangle, basis.T @ wanted, rcond=None)[0] / size
            shares = (solved[:n] + 1j * solved[n : 2 * n]) * x + (solved[2 * n : 3 * n] + 1j * solved[3 * n : 4 * n])
            mirrored = (solved[:n] - 1j * solved[n : 2 * n]) * x + (solved[2 * n : 3 * n] - 1j * solved[3 * n : 4 * n])
            one, other = shares * d_first, mirrored * d_second
            slope = _stacked(weight[:, None] * np.hstack([one + other, 1j * (one - other)]))
            slopes.append(slope - basis @ (basis.T @ slope))
            left.append(wanted - basis @ (basis.T @ wanted))
            leverage.append((basis**2).sum(axis=1))
            passing.append(weight[:, None] * np.hstack([pair, np.ones_like(x)]))
        normal = np.sum([one.T @ one for one in slopes], axis=0)
        size = np.sqrt(np.diag(normal))
        if not (np.all(np.isfinite(normal)) and np.all(size > 0.0)):
            return None
        scaled = normal / np.outer(size, size)
        if np.linalg.cond(scaled) > 1e12:
            return None
        inverse = np.linalg.inv(scaled) / np.outer(size, size)
        move = inverse @ np.sum([one.T @ rest for one, rest in zip(slopes, left, strict=True)], axis=0)
        taken = [np.einsum("ki,ij,kj->k", one, inverse, one) for one in slopes]
        self.leverage = np.array([_both(a + b) / 2.0 for a, b in zip(leverage, taken, strict=True)])
        self.left = np.array([_complex(one) for one in left]) * np.sqrt(self.variance)
        self.slopes = np.array([_complex(one) for one in slopes])
        self.inverse, self.passing = inverse, passing
        step = move[:n] + 1j * move[n:]
        step *= min(1.0, 0.2 * float(np.abs(self.poles.real).min()) / max(float(np.abs(step).max()), 1e-300))
        self.poles = self.poles + step
        return np.asarray(step)

    def _shapes(self) -> np.ndarray:
        """G of the noise's power, (lines, shapes): smooth ones, and the modes' resonances."""
        ratio = np.abs(self.s) / np.exp(np.mean(np.log(np.abs(self.s))))
        peaks = np.abs(1.0 - np.outer(self.w, np.exp(self.poles * self.spectra.step))) ** -2.0
        return np.column_stack([*(ratio**k for k in (-4, -2, 0, 2, 4)), peaks / peaks.max(axis=0)])

    def _noise(self) -> np.ndarray:
        """Power of the noise of each output and line, b of largest likelihood."""
        shapes = self._shapes()
        samples, free = self._samples()
        found = []
        for power, count in zip((np.abs(samples) ** 2).sum(axis=0), free.sum(axis=0), strict=True):
            power = np.maximum(power, 1e-12 * power.mean() + 1e-300)
            b = np.full(shapes.shape[1], power.sum() / (count @ shapes).sum())
            for _ in range(POWER_STEPS):
                told = shapes @ b
                b = b * np.sqrt((shapes.T @ (power / told**2)) / (shapes.T @ (count / told)))
            found.append(np.maximum(shapes @ b, 1e-300))
        return np.array(found)

    def _samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples of the noise, (samples, outputs, lines), and for how many each counts: less what fits have taken."""
        deviations = self.spectra.deviations
        samples, free = [self.left], [np.clip(1.0 - self.leverage, 0.0, 1.0) ** 2]
        if not len(deviations):
            return np.array(samples), np.array(free)
        rest, count = np.empty_like(deviations), np.empty(self.left.shape)
        for o, passing in enumerate(self.passing):
            root = np.sqrt(self.variance[o])
            basis = np.linalg.qr(_stacked(passing))[0]
            for p, one in enumerate(deviations[:, o]):
                real = _stacked(one / root)
                rest[p, o] = _complex(real - basis @ (basis.T @ real)) * root
            count[o] = np.clip(1.0 - _both((basis**2).sum(axis=1)) / 2.0, 0.0, 1.0) ** 2
        part = (len(deviations) - 1.0) / len(deviations)
        return np.array([*samples, *rest]), np.array([*free, *[part * count] * len(deviations)])

    def _half_widths(self) -> np.ndarray:
        from scipy.stats import t as student

        samples, free = self._samples()
        relative = samples / np.sqrt(self.variance)
        lines = relative.shape[2]
        reach = min(AROUND, (lines - 1) // 2)

        def around(values: np.ndarray) -> np.ndarray:
            padded = np.pad(values.sum(axis=0), reach, mode="reflect")
            return np.convolve(padded, np.ones(2 * reach + 1), mode="valid")

        outputs, parameters = relative.shape[1], 2 * self.poles.size
        meat = np.zeros((parameters, parameters))
        for i in range(outputs):
            for j in range(outputs):
                count = np.maximum(around(np.sqrt(free[:, i] * free[:, j])), 1e-3)
                covariance = around(relative[:, i] * relative[:, j].conj()) / count
                meat += 0.5 * np.real((self.slopes[i].conj() * covariance[:, None]).T @ self.slopes[j])
        spread = self.inverse @ meat @ self.inverse
        n, found = self.poles.size, []
        for i, pole in enumerate(self.poles):
            size = abs(pole)
            of_frequency = np.array([pole.real, pole.imag]) / (2 * np.pi * size)
            of_damping = np.array([-(pole.imag**2), pole.real * pole.imag]) / size**3
            for slope in (of_frequency, of_damping):
                way = np.zeros(2 * n)
                way[[i, n + i]] = slope
                factor = student.ppf(0.5 * (1.0 + CONFIDENCE), self._freedom(self.inverse @ way, free.sum(axis=0)))
                found.append(float(factor) * np.sqrt(max(float(way @ spread @ way), 0.0)))
        return np.array(found).reshape(n, 2).T

    def _freedom(self, way: np.ndarray, count: np.ndarray) -> float:
        """Degrees of freedom of the variance along ``way``: 2/(its relative variance), as b is known that well only.

        The information on b is Σ G Gᵀ/V² over the samples of the noise; outputs may share theirs.
        """
        shapes, total, scatter = self._shapes(), 0.0, 0.0
        for slope, variance, samples in zip(self.slopes, self.variance, count, strict=True):
            relative = shapes / variance[:, None]
            share = relative.T @ (np.abs(slope @ way) ** 2)
            size = np.sqrt((samples[:, None] * relative**2).sum(axis=0))
            information = (relative.T * samples) @ relative / np.outer(size, size)
            total += float((np.abs(slope @ way) ** 2).sum())
            scatter += np.sqrt(
                max(float((share / size) @ np.linalg.pinv(information, rcond=1e-8) @ (share / size)), 0.0)
            )
        return max(2.0 * (total / max(scatter, 1e-300)) ** 2, LEAST_FREEDOM)


def _stacked(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values.real, values.imag])


def _complex(values: np.ndarray) -> np.ndarray:
    half = len(values) // 2
    return np.asarray(values[:half] + 1j * values[half:])


def _both(values: np.ndarray) -> np.ndarray:
    half = len(values) // 2
    return np.asarray(values[:half] + values[half:])
