"""Draw the paper's Figs. 3, 4 and 5: where the delay differential equation of this test is stable; and their numbers.

python stability.py [FOLDER]      # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq

import halfreal
from halfreal.couplings import Direct, weights
from halfreal.figures import new_figure, styled
from halfreal.runs import linearised
from halfreal.stability import DelaySystem, limit, sweep

HERE = Path(__file__).parent
M, C, K, KS = 2.2, 15.0, 2250.0, 2250.0
DELAY, STEP, POINTS = 9.4e-3, 1e-3, 12


def with_delay(delay: float) -> DelaySystem:
    """m z¨ + c z˙ + k z + k_s z(t − τ) = 0."""
    return DelaySystem.second_order([[M]], [[C]], [[K]], [(delay, [[KS]], None, None)])


def with_prediction(order: int, rho: float) -> DelaySystem:
    """The same with the least-squares polynomial, ρ ahead: one delay for each of its samples (Eq. 14)."""
    terms = [
        (DELAY + j * STEP, [[KS * weight]], None, None) for j, weight in enumerate(weights(order, POINTS, rho / STEP))
    ]
    return DelaySystem.second_order([[M]], [[C]], [[K]], terms)


OMEGA, ZETA = np.sqrt(K / M), C / (2 * np.sqrt(M * K))


def branch(n: int, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """τ̂ and p of Eqs. 11 and 12 as printed, with nπ, and the residual of Eq. 10 there."""
    p = np.hypot(omega**2 - 1, 2 * ZETA * omega)
    tau = (np.arctan2(2 * ZETA * omega, omega**2 - 1) + n * np.pi) / omega
    return tau, p, np.abs(-(omega**2) + 2j * ZETA * omega + 1 + p * np.exp(-1j * omega * tau))


def residual(n: int, stiffness: float = 0.51) -> float:
    """Of Eq. 10 on the branch n of Eq. 11 as printed, above ω_n."""
    omega = brentq(lambda at: branch(n, np.array([at]))[1][0] - stiffness, 1.0, 1.45)
    return float(branch(n, np.array([omega]))[2][0])


@cache
def critical_delay() -> float:
    return float(limit(with_delay, 5e-3, 10e-3))


@styled
def figure_3() -> Figure:
    """The stability boundary in the plane of τ̂ = τω_n and p = k_s/k."""
    omega = np.linspace(0.05, 1.45, 4000)
    figure = new_figure(8, 4.5)
    axes = figure.subplots()
    tau, p = np.linspace(1e-3, 15, 241), np.linspace(0.0, 1.0, 81)[1:]
    # of a loop with one delay every root crosses at a branch: stable is what no branch lies below
    crossings = [branch(n, omega) for n in range(0, 8, 2)]
    lowest = np.full(tau.size, np.inf)
    for i, at in enumerate(tau):
        for values, stiffness, _ in crossings:
            passed = np.flatnonzero(np.diff(np.sign(values - at)))
            lowest[i] = min([lowest[i], *stiffness[passed]])
    axes.fill_between(tau, 0.0, np.minimum(lowest, 1.0), color="0.85", label="stable")
    for n in range(5):
        values, stiffness, _ = branch(n, omega)
        text = {0: "Eqs. 11 and 12, even n", 1: "odd n: no roots"}.get(n)
        if n % 2 == 0:
            axes.plot(values, stiffness, color="tab:blue", linewidth=1.5, label=text)
        else:
            axes.plot(values, stiffness, color="0.5", linewidth=0.8, linestyle=":", label=text)
    axes.plot(2 * ZETA / p, p, "k--", linewidth=1.0, label="perturbation, p τ̂ = 2ζ (Eq. 9)")
    axes.set(xlabel="τ̂ = τ ω_n", ylabel="p = k_s/k", xlim=(0, 15), ylim=(0, 1), title="Fig. 3")
    axes.legend(loc="upper right", bbox_to_anchor=(0.99, 0.88), fontsize=8, frameon=True, framealpha=1.0)
    return figure


def exact_root(rho: np.ndarray) -> np.ndarray:
    """Re s of the root of m s² + c s + k + k_s e^(s(ρ − τ)) that swings, followed from a pure delay on (Newton)."""
    found, s = [], sweep(with_delay, np.array([DELAY - rho[0]]), most=2).roots[0, 0]
    s = complex(s.real, abs(s.imag))
    for ahead in rho - DELAY:
        for _ in range(50):
            value = M * s**2 + C * s + K + KS * np.exp(s * ahead)
            s -= value / (2 * M * s + C + KS * ahead * np.exp(s * ahead))
        found.append(s.real)
    return np.array(found)


@styled
def figure_4() -> Figure:
    """Real parts of the leading roots against the delay."""
    found = sweep(with_delay, np.linspace(1e-4, 0.1, 300), most=8)
    figure = new_figure(8, 4)
    axes = figure.subplots()
    axes.plot(1e3 * found.values, found.roots.real, color="tab:blue", linewidth=1.2)
    axes.axhline(0, color="k", linewidth=0.8)
    critical = 1e3 * critical_delay()
    axes.axvline(critical, color="tab:red", linestyle="--", linewidth=1, label=f"critical delay {critical:.5f} ms")
    axes.set(xlabel="delay τ [ms]", ylabel="Re s [1/s]", ylim=(-150, 20), xlim=(0, 100), title="Roots of the test")
    axes.legend()
    return figure


def of_order(order: int) -> Callable[[float], DelaySystem]:
    return lambda rho: with_prediction(order, rho)


def permissible(order: int) -> tuple[float, float]:
    """Least and largest stable prediction of the delay differential equation [s]."""
    return limit(of_order(order), 1e-3, 5e-3), limit(of_order(order), 10e-3, 50e-3)


@styled
def figure_5() -> Figure:
    """The rightmost root against the prediction, for two orders and for exact prediction."""
    figure = new_figure(9, 4)
    panels = figure.subplots(1, 2, sharey=True)
    values = np.linspace(-20e-3, 45e-3, 261)
    exact = exact_root(values)
    for axes, order, panel in zip(panels, (2, 3), "ab", strict=True):
        found = sweep(of_order(order), values, most=4)
        low, high = 1e3 * found.limits
        axes.plot(1e3 * values, exact, color="0.7", linewidth=3, label="exact prediction (Eq. 15)")
        axes.plot(1e3 * values, found.abscissa, label=f"N = {order}, n = {POINTS}: {low:.2f} to {high:.1f} ms")
        axes.axhline(0, color="k", linewidth=0.8)
        axes.axvline(0, color="k", linestyle=":", linewidth=0.8)
        axes.axvline(1e3 * DELAY, color="k", linestyle="--", linewidth=0.8)
        axes.set(xlabel="prediction ρ [ms]", ylim=(-20, 30), xlim=(-20, 45), title=f"({panel})")
        axes.legend(fontsize=8, loc="lower left")
    panels[0].set_ylabel("rightmost Re s [1/s]")
    return figure


def radius(**changes: object) -> float:
    """Spectral radius of the loop that runs, the code itself linearised."""
    test = halfreal.load(HERE / "forward_prediction.toml")
    return linearised(
        test.with_values({key.replace("__", "."): value for key, value in changes.items()})
    ).spectral_radius


def permissible_in_the_loop(order: int) -> tuple[float, float]:
    """The same of the sampled loop that runs [s]."""

    def beyond(rho: float) -> float:
        return radius(coupling__prediction=rho, coupling__order=order) - 1.0

    return brentq(beyond, 1e-3, 5e-3, xtol=1e-6), brentq(beyond, 10e-3, 50e-3, xtol=1e-6)


def largest_delay(order: int) -> float:
    """Of the rig, if all of it is predicted [s]."""

    def beyond(delay: float) -> float:
        return radius(rig__actuator__delay=delay, coupling__prediction=delay, coupling__order=order) - 1.0

    return float(brentq(beyond, 10e-3, 40e-3, xtol=1e-6))


def stable_samples(step: float) -> int:
    """The largest delay, in samples of this step, with which the sampled loop without coupling is stable."""
    plain = {"coupling": Direct(), "timing.step": step}
    samples = range(int(6.7e-3 / step), int(6.85e-3 / step) + 2)
    test = halfreal.load(HERE / "forward_prediction.toml").with_values(plain)
    stable = [n for n in samples if linearised(test.with_values({"rig.actuator.delay": n * step})).stable]
    if len(stable) == len(samples):
        raise RuntimeError(f"stable with {samples[-1]} samples of {step} s and perhaps with more")
    return max(stable)


def draw(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in {"figure_3": figure_3(), "figure_4": figure_4(), "figure_5": figure_5()}.items():
        figure.savefig(folder / f"{name}.png", dpi=90)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
