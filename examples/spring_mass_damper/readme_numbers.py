"""What README.md tells, and the claims of Wallace et al. (ASME 2005)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from figures import draw, largest, rehearsals
from gallery import Claim, Numbers, table
from scipy.optimize import brentq

import halfreal
from halfreal.couplings import Direct
from stability import (
    DELAY,
    HERE,
    KS,
    OMEGA,
    ZETA,
    C,
    K,
    M,
    critical_delay,
    largest_delay,
    permissible,
    permissible_in_the_loop,
    residual,
    stable_samples,
)
from stability import draw as draw_stability

Runs = dict[str, halfreal.Run]


def claim(at: str, what: str, printed: str, here: str, agrees: bool | None, why: str = "", file: str = "") -> Claim:
    return Claim("prediction", at, what, printed, here, agrees, why, file)


def ms(seconds: float, digits: int = 2) -> str:
    return f"{1e3 * seconds:.{digits}f} ms"


def rate(run: halfreal.Run) -> float:
    """Growth of the slowest root of the loop that runs [1/s]."""
    assert run.stability is not None
    return float(np.log(run.stability.spectral_radius) / run.step)


def trip(run: halfreal.Run) -> float:
    return next(event.time for event in run.events if event.text.startswith("trip"))


def measured_growth(run: halfreal.Run) -> float:
    """Growth of z − z* between the tenth and the last second, without its part at the wall's frequency [1/s]."""
    error = run.signals["target"].values - run.signals["reference"].values
    forced = np.exp(2j * np.pi * 1.5 * run.time)
    basis = np.column_stack([forced.real, forced.imag])
    free = np.abs(error - basis @ np.linalg.lstsq(basis, error, rcond=None)[0])
    peaks = [free[run.time // 1.0 == second].max() for second in range(10, int(run.time[-1]))]
    return float(np.polyfit(np.arange(len(peaks)), np.log(peaks), 1)[0])


def saturating_cycle() -> tuple[float, float, float, float]:
    """Of section 3 without compensation: amplitude [mm] and frequency [Hz] by describing function, and by the code."""

    def phase(w: float) -> float:
        return (M * w * w - K) * math.sin(w * DELAY) - C * w * math.cos(w * DELAY)

    natural = math.sqrt(K / M)
    w = brentq(phase, 1.0001 * natural, 2.2 * natural)
    needed = C * w / math.sin(w * DELAY)

    def stiffness(amplitude: float) -> float:
        r = 4e-3 / amplitude
        return 2 * KS / math.pi * (math.asin(r) + r * math.sqrt(1 - r * r))

    described = brentq(lambda amplitude: stiffness(amplitude) - needed, 4.0001e-3, 1.0)
    bare = halfreal.load(HERE / "saturating.toml").with_values({"coupling": Direct()})
    (found,) = halfreal.limit_cycles(bare)
    return 1e3 * described, w / (2 * math.pi), 1e3 * found.amplitude, found.frequency_hz


def of_the_equation() -> list[Claim]:
    """Section 1, Figs. 3 to 5."""
    critical, even, odd = critical_delay(), [residual(n) for n in (0, 2)], [residual(n) for n in (1, 3)]
    (low_2, high_2), (low_3, high_3) = permissible(2), permissible(3)
    return [
        claim(
            "Fig. 3",
            "critical delay, p = 1, perturbation (Eq. 9)",
            "τ̂ = 0.2132, 6.67 ms",
            f"τ̂ = {2 * ZETA:.4f}, {ms(C / KS)}",
            f"{2 * ZETA:.4f}" == "0.2132" and ms(C / KS) == "6.67 ms",
            file="images/figure_3.png",
        ),
        claim(
            "Fig. 3",
            "critical delay, p = 1, complex roots",
            "τ̂ = 0.2165, 6.77 ms",
            f"τ̂ = {OMEGA * critical:.4f}, {ms(critical, 5)}",
            f"{OMEGA * critical:.4f}" == "0.2165" and ms(critical) == "6.77 ms",
            file="images/figure_3.png",
        ),
        claim(
            "Eq. 11",
            "branches nπ/ω̂ for n = 0 to 3",
            "all of them roots",
            f"residual of Eq. 10 at p = 0.51: {max(even):.2f} for n = 0 and 2, {min(odd):.2f} for n = 1 and 3",
            max(odd) < 1e-6,
            "misprint: 2nπ; e^(−jω̂τ̂) has the period 2π, and an odd n turns its sign",
            "stability.py",
        ),
        claim(
            "Fig. 4",
            "the first pair crosses the axis",
            "6.77 ms",
            ms(critical, 5),
            ms(critical) == "6.77 ms",
            file="images/figure_4.png",
        ),
        claim(
            "Fig. 5",
            "exact prediction, stable from",
            "2.63 ms",
            ms(DELAY - critical),
            ms(DELAY - critical) == "2.63 ms",
            file="images/figure_5.png",
        ),
        claim(
            "Fig. 5 (a)",
            "stable predictions, N = 2, n = 12",
            "≈ 2.63 to ≈ 40 ms",
            f"{1e3 * low_2:.2f} to {1e3 * high_2:.1f} ms",
            abs(low_2 - 2.63e-3) < 0.2e-3 and abs(high_2 - 40e-3) < 1e-3,
            file="images/figure_5.png",
        ),
        claim(
            "Fig. 5 (b)",
            "stable predictions, N = 3, n = 12",
            "≈ 2.63 to ≈ 23 ms",
            f"{1e3 * low_3:.2f} to {1e3 * high_3:.1f} ms",
            abs(low_3 - 2.63e-3) < 0.2e-3 and abs(high_3 - 23e-3) < 1e-3,
            file="images/figure_5.png",
        ),
    ]


def of_the_tests(runs: Runs) -> list[Claim]:
    """Sections 2 and 3, Figs. 7 to 9."""
    ideal, rough, slow = (runs[name] for name in ("forward_prediction", "with_friction", "under_compensated"))
    steady = [largest(run, "target", "reference", 10.0) for run in (ideal, rough)]
    apart = [largest(run, "target", "measured.displacement", 10.0) for run in (ideal, rough)]
    peak = 1e3 * np.abs(ideal.signals["reference"].values).max()
    over = runs["over_compensated"]
    ahead = 1e3 * over.signals["coupling.prediction"].values[-1]
    converged = largest(runs["adaptive"], "target", "reference", 10.0)
    amplitude, hz, found, found_hz = saturating_cycle()
    return [
        claim(
            "Fig. 7 (a)",
            "z follows z*, and loses accuracy only where the actuator turns",
            "curves only",
            f"z − z* up to {steady[0]:.1e} mm of {peak:.1f} mm on a pure delay, {steady[1]:.2f} mm with friction",
            bool(steady[0] < 1e-3 * peak and steady[1] < 0.05 * peak),
            file="images/figure_7.png",
        ),
        claim(
            "Fig. 7 (b)",
            "x over z: a straight line, but at changes of direction",
            "curves only",
            f"z − x up to {apart[0]:.1e} mm on a pure delay, {apart[1]:.2f} mm with friction",
            bool(apart[0] < 1e-3 * peak and apart[1] > 10 * apart[0]),
            file="images/figure_7.png",
        ),
        claim(
            "Fig. 8",
            "ρ = 2.6 ms leaves 6.8 ms: slow exponential growth",
            "curve only",
            f"exp({rate(slow):.4f} t/s) by the linearised code, exp({measured_growth(slow):.4f} t/s) in the rehearsal",
            0 < rate(slow) < 0.1 and abs(measured_growth(slow) / rate(slow) - 1) < 0.1,
            file="images/figure_8_growth.png",
        ),
        claim(
            "Fig. 9 (a)",
            "over-compensation: stable, settles 0.5 ms ahead",
            "τ = −0.5 ms",
            f"ρ ends at {ahead:.2f} ms for a delay of 9.4 ms",
            abs(ahead - 9.9) < 0.05,
            file="images/figure_9_start_ups.png",
        ),
        claim(
            "Fig. 9 (b)",
            "zero initial conditions: adapts faster than it grows",
            "curve only",
            f"z − z* {converged:.2g} mm from 10 s on",
            bool(converged < 0.02 * peak),
            file="images/figure_9_start_ups.png",
        ),
        claim(
            "Fig. 9 (c)",
            "no compensation: unstable",
            "curve only",
            f"exp({rate(runs['uncompensated']):.3f} t/s), the guard trips at {trip(runs['uncompensated']):.2f} s",
            rate(runs["uncompensated"]) > 0,
            file="images/figure_9_start_ups.png",
        ),
        claim(
            "Sec. 2.3",
            "start on a model's force, then take the measured one",
            "described",
            f"z − z* {largest(runs['model_start'], 'target', 'reference', 10.0):.2g} mm from 10 s on",
            largest(runs["model_start"], "target", "reference", 10.0) < 0.05 * peak,
            file="images/section_2_3_model_start.png",
        ),
        claim(
            "Sec. 3",
            "a force that saturates: other kinds of instability",
            "as yet unexplored",
            f"without compensation a limit cycle of {found:.2f} mm at {found_hz:.2f} Hz; by describing function "
            f"{amplitude:.2f} mm at {hz:.2f} Hz",
            None,
            "explored in the example limit_cycles",
            "saturating.toml",
        ),
    ]


NOTHING = [
    claim("Fig. 1", "the oscillator", "", "", None, "a sketch"),
    claim("Fig. 2", "the substructured system", "", "", None, "a sketch"),
    claim("Fig. 6", "the rig", "", "", None, "a photograph"),
    claim("Fig. 10", "piecewise linear stiffness", "", "", None, "a sketch", "images/section_3_saturating_force.png"),
]


def delays_table() -> list[str]:
    rows = []
    for order in (2, 3, 4):
        equation, loop = permissible(order), permissible_in_the_loop(order)
        cells = (f"{1e3 * low:.2f} to {1e3 * high:.1f} ms" for low, high in (equation, loop))
        rows.append([f"stable predictions, N = {order}, n = 12", *cells])
    samples = [(step, stable_samples(step)) for step in (1e-3, 1e-4, 5e-5)]
    between = ", ".join(f"{n} and {n + 1} of {1e3 * step:g} ms" for step, n in samples)
    critical = ["critical delay without prediction", ms(critical_delay(), 5), f"between these samples: {between}"]
    return table(["quantity", "delay differential equation", "sampled loop, the code that runs"], [critical, *rows])


def values(runs: Runs) -> dict[str, str]:
    def error(name: str, other: str = "reference") -> str:
        return f"{largest(runs[name], 'target', other, 10.0):.2g} mm"

    bare = runs["uncompensated"]
    assert bare.stability is not None
    worst = int(np.argmax(bare.stability.magnitude))
    return {
        "critical": ms(critical_delay(), 5),
        "bare": f"{bare.stability.frequency_hz[worst]:.2f} Hz as exp({rate(bare):.3f} t/s)",
        "trip": f"{trip(bare):.2f} s",
        "follows": error("forward_prediction"),
        "growth": f"exp({rate(runs['under_compensated']):.5f} t/s)",
        "rough": error("with_friction"),
        "rough x": error("with_friction", "measured.displacement"),
        "over": error("over_compensated"),
        "ahead": f"{1e3 * runs['over_compensated'].signals['coupling.prediction'].values[-1]:.2f} ms",
        "residuals": f"{max(map(residual, (0, 2, 4))):.2f} for n = 0, 2 and 4 and {residual(1):.2f} for n = 1 and 3",
        "delays": f"order 3 is stable up to {ms(largest_delay(3))} and order 2 up to {ms(largest_delay(2))}",
        "order 2": f"{1e3 * permissible(2)[1]:.1f} ms",
    }


def make(images: Path, quick: bool) -> Numbers:
    runs = rehearsals()
    if not quick:
        draw(runs, images)
        draw_stability(images)
    claims = [*of_the_equation(), *of_the_tests(runs), *NOTHING]
    return Numbers(claims, {"delays": delays_table()}, values(runs))
