"""Physical parameters of a model from a measured frequency response: global search, refinement, confidence intervals.

The misfit r(θ) = W (H_model(θ) − H_measured), real and imaginary parts of all lines, is minimised within bounds: first
by differential evolution (R. Storn, K. Price, J. Global Optim. 11 (1997) 341–359), which needs no starting values and
gets past local minima, then by least squares from the best point found.  To first order the estimate has the covariance

    Σ = s² (JᵀJ)⁻¹,      s² = |r|²/(2 lines − parameters),      J = ∂r/∂θ

and the 95 % interval of a parameter is ± t Σ_ii^½ with Student's t for that many degrees of freedom.  It speaks of
noise only; what the model leaves out is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import HalfrealError
from ..summaries import Summarised

CONFIDENCE = 0.95
AT_BOUND = 1e-3
"""Part of its range within which a parameter counts as standing at its bound."""


@dataclass(frozen=True, repr=False)
class ParameterFit(Summarised):
    """Estimates with their intervals, by name."""

    values: dict[str, float]
    half_widths: dict[str, float]
    """Half of the 95 % interval; inf if the data do not give the parameter."""
    correlation: np.ndarray
    error: float
    """RMS of the misfit over the RMS of the response, both weighted."""
    at_bounds: tuple[str, ...]
    evaluations: int

    def interval(self, name: str) -> tuple[float, float]:
        return self.values[name] - self.half_widths[name], self.values[name] + self.half_widths[name]

    def summary(self) -> str:
        told = ", ".join(f"{name} = {value:.4g} ± {self.half_widths[name]:.2g}" for name, value in self.values.items())
        bounds = f"; at a bound: {', '.join(self.at_bounds)}" if self.at_bounds else ""
        return f"{told} (95 %); misfit {100 * self.error:.3g} %{bounds}"


def fit_parameters(
    model: Callable[[Mapping[str, float]], np.ndarray],
    measured: np.ndarray,
    bounds: Mapping[str, tuple[float, float]],
    *,
    weight: np.ndarray | None = None,
    seed: int = 1,
    generations: int = 150,
) -> ParameterFit:
    """Find the parameters for which ``model`` gives the measured response.

    Parameters
    ----------
    model
        From parameters by name to the response at the measured lines, complex.
    bounds
        Least and largest value of each parameter.
    weight
        Of each line; 1/|H| if left out, which requests the same relative error everywhere.
    """
    from scipy.optimize import differential_evolution, least_squares
    from scipy.stats import t as student

    names = list(bounds)
    values = np.asarray(measured, dtype=complex).reshape(-1)
    low, high = (np.array([bounds[name][end] for name in names], dtype=float) for end in (0, 1))
    _check(names, values, low, high)
    weights = 1.0 / np.maximum(np.abs(values), 1e-300) if weight is None else np.asarray(weight, dtype=float)

    def residual(part: np.ndarray) -> np.ndarray:
        theta = low + part * (high - low)
        found = np.asarray(model(dict(zip(names, theta.tolist(), strict=True)))).reshape(-1)
        left = weights * (found - values)
        return np.concatenate([left.real, left.imag])

    box = [(0.0, 1.0)] * len(names)
    coarse = differential_evolution(
        lambda part: float(np.sum(residual(part) ** 2)),
        box,
        rng=np.random.default_rng(seed),
        maxiter=generations,
        popsize=12,
        tol=1e-6,
        polish=False,
    )
    fine = least_squares(residual, coarse.x, bounds=(0.0, 1.0), xtol=1e-14, ftol=1e-14, gtol=1e-14, x_scale="jac")
    freedom = 2 * values.size - len(names)
    spread = covariance(fine.jac, 2.0 * fine.cost / freedom)
    deviation = np.sqrt(np.diag(spread))
    half = student.ppf(0.5 * (1.0 + CONFIDENCE), freedom) * deviation * (high - low)
    with np.errstate(invalid="ignore"):
        correlation = spread / np.outer(deviation, deviation)
    power = float(np.sqrt(np.mean(np.abs(weights * values) ** 2)))
    best = low + fine.x * (high - low)
    return ParameterFit(
        values=dict(zip(names, best.tolist(), strict=True)),
        half_widths=dict(zip(names, half.tolist(), strict=True)),
        correlation=correlation,
        error=float(np.sqrt(2.0 * fine.cost / values.size)) / power,
        at_bounds=tuple(n for n, part in zip(names, fine.x, strict=True) if min(part, 1.0 - part) < AT_BOUND),
        evaluations=int(coarse.nfev + fine.nfev),
    )


def _check(names: list[str], values: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    if not names:
        raise HalfrealError("no parameter to identify; name at least one with its bounds")
    if 2 * values.size < 2 * len(names):
        raise HalfrealError(
            f"{values.size} lines are too few for {len(names)} parameters; measure at least {len(names)} lines"
        )
    if not np.all(np.isfinite(values)):
        raise HalfrealError(f"line {int(np.argmax(~np.isfinite(values))) + 1} of the response is not finite; remove it")
    wrong = ~(low < high)
    if wrong.any():
        name = names[int(np.argmax(wrong))]
        raise HalfrealError(
            f"the bounds of {name} are {low[wrong][0]:g} and {high[wrong][0]:g}; give the lower, then the upper bound"
        )


def covariance(jacobian: np.ndarray, variance: float) -> np.ndarray:
    """s² (JᵀJ)⁻¹; infinite for directions that the data do not give."""
    _, singular, right = np.linalg.svd(jacobian, full_matrices=False)
    told = singular > 1e-12 * singular[0] if singular[0] > 0.0 else np.zeros(singular.size, dtype=bool)
    inverse = (right[told].T / singular[told] ** 2) @ right[told]
    unknown = np.abs(right[~told]).max(axis=0, initial=0.0) > 1e-6 if not told.all() else np.zeros(len(right), bool)
    spread = variance * inverse
    spread[np.diag_indices_from(spread)] = np.where(unknown, np.inf, np.diag(spread))
    return np.asarray(spread)
