"""Numbers and pictures of this README: see gallery.py."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import algorithm_one
import figures
import interrupted
import linear
import numpy as np
import study
from gallery import Claim, Numbers, table

import halfreal
from halfreal.runs import measured_errors, worst
from halfreal.stability import ForceControl, convergence

PAPER = "force control"
PRINTED = np.array([17.18, 15.34, 17.68])  # J1, J2, J3 in %
SCHEMES = {"RK2": "heun", "RK4": "rk4"}
LITERAL_GAINS, LITERAL_STEPS = (
    (2.0, 10.0, 20.0, 26.0, 60.0, 200.0, 600.0),
    (0.005, 0.01, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0),
)
FILES = {
    "one_frame_a_step": "published, the camera's frame once a step (reading D): what the paper's bench could do",
    "baumgarte": "published, four exchanges a step, the loop solved with the bar's own stiffness (reading B)",
    "baumgarte_lagged": "the same, nothing known of the bar: the last displacement is used for the next",
    "stage_time": "derivatives at the time of the stage; nothing known of the bar",
    "stage_time_solved": "the same, and the force solved for together with the bar's answer, k̂ = 1.1 k",
    "index_one": "index-1 splitting: no derivatives at all, k̂ = 1.1 k",
    "estimated_stiffness": "the same, k̂ found out by 40 probing forces before the test",
    "camera": "index-1 generalised-α, one exchange a step, and a camera with a frame every 3.3 s",
    "actuator_displacement": "as `baumgarte.toml`, but fed back is the actuator's displacement",
    "ideal_bench": "as `baumgarte.toml`, without noise and with a force that arrives within its tick",
}


def three(values: np.ndarray) -> str:
    return " / ".join(f"{100 * value:.1f}" for value in values) + " %"


def claim(
    at: str, what: str, printed: str, here: str, agrees: bool | np.bool_ | None, why: str = "", file: str = ""
) -> Claim:
    return Claim(PAPER, at, what, printed, here, None if agrees is None else bool(agrees), why, file)


# --- quick ------------------------------------------------------------------------------------------------------------


def of_pictures() -> list[Claim]:
    sketches = {
        "Fig. 1": "displacement and force control",
        "Fig. 2": "the linear example",
        "Fig. 3": "its free bodies",
        "Fig. 8": "the model of the bar's test",
        "Fig. 9": "its free bodies",
        "Fig. 11": "the test as it is run",
    }
    found = [claim(at, what, "", "", None, "a sketch") for at, what in sketches.items()]
    return [*found, claim("Fig. 10", "the test bench", "", "", None, "a photograph")]


def of_equations() -> list[Claim]:
    """Eqs. 7, 13, 18, and Algorithm 1."""
    # Eq. 6 put into Eq. 1, against Eq. 7, of one degree of freedom; all numbers are arbitrary
    m, f, d, v, a, q, u, alpha, beta = 0.5, 3.0, 0.2, 0.7, 5.0, 0.1, 0.3, 26.0, 30.0
    correction = 2 * alpha * (u - v) + beta**2 * (q - d)
    force = -m * (-f / m - a + correction)
    derived = -(f - force) / m
    as_printed, with_second = (-(f + m * (-f / m - rate + correction)) / m for rate in (v, a))
    squares = [(linear.SPRING + sign * linear.SPECIMEN) / linear.MASS for sign in (-1.0, 1.0)]
    step = algorithm_one.transition("RK4", 60.0, 0.1 / linear.OMEGA_0, "solved", "commanded")
    norm, radius = np.abs(step).sum(axis=1).max(), np.abs(np.linalg.eigvals(step)).max()
    smallest = algorithm_one.smallest_radius(LITERAL_GAINS, LITERAL_STEPS)
    lagged, solved = (
        min(value for (loop, _), value in smallest.items() if loop == one) for one in ("lagged", "solved")
    )
    return [
        claim(
            "Eq. 7",
            "u˙ against that of Eqs. 1 and 6",
            "with d˙ as the second term",
            f"off by {abs(as_printed - derived):.1f}; with d¨ by {abs(with_second - derived):.1f}",
            abs(as_printed - derived) < 1e-9,
            "misprint: d¨ is meant",
        ),
        claim(
            "Eq. 13",
            "frequency of the linear example with d = r/k",
            "oscillates",
            f"ω² = {squares[0]:.0f} 1/s²; with d = −r/k ω = {np.sqrt(squares[1]):.4f} rad/s",
            squares[0] > 0,
            "misprint: d = −r/k, or there is no oscillator",
            "linear.py",
        ),
        claim(
            "Eq. 18",
            "ρ(A) as a norm",
            "‖A‖∞",
            f"‖A‖∞ = {norm:.1f} where the largest eigenvalue has {radius:.4f}",
            abs(norm / radius - 1) < 1e-3,
            "misprint: the spectral radius is no norm; the largest modulus, on its right-hand side, is meant",
            "algorithm_one.py",
        ),
        claim(
            "Alg. 1",
            "to the letter, with the indices of Eq. 16, for Ω up to 1",
            "stable for small Ω",
            f"never for α = β of 2 to 600 1/s: ρ ≥ {lagged:.2f} with the d of the stage before, "
            "above 1 with r and d solved for too"
            if min(lagged, solved) > 1.0
            else f"ρ = {min(lagged, solved):.7f} for some α, β",
            min(lagged, solved) < 1.0,
            "misprint: the indices of Eq. 16 leave the newest state out; with it in the regression (B), "
            "or with d at the step's beginning (D), it is stable",
            "algorithm_one.py",
        ),
    ]


@cache
def quiet(method: str) -> np.ndarray:
    return np.asarray(study.indices(method, 1, 0.0)[0])


def of_the_bar() -> list[Claim]:
    """The indices, and where they come from."""
    seeds = figures.SEEDS
    mean, spread, least, largest = 100 * study.scatter("one_frame_a_step", seeds, 7.2e-6)
    softer = 100 * study.scatter("baumgarte", seeds, 7.8e-6, bar=0.925 * study.BAR)
    off = np.abs(mean - PRINTED) / spread
    inside = bool(np.all((least <= PRINTED) & (largest >= PRINTED)))
    alone = quiet("one_frame_a_step")
    b = study.scatter("baumgarte", seeds)
    shift = np.abs(b[0] - quiet("baumgarte"))[1:].max()
    slopes = []
    for measured in ("specimen", "actuator"):
        test = study.run(study.on_ideal_bench("baumgarte", measures=measured))
        slopes.append(1e-6 / float(np.linalg.lstsq(test.force[:, None], test.d, rcond=None)[0][0]))
    test = study.run(study.on_ideal_bench("one_frame_a_step", noise=7.2e-6))
    late, early = (np.abs(test.q[part]).max() for part in (slice(-600, None), slice(0, -600)))
    return [
        claim(
            "Eq. 26",
            "J1, J2, J3 of the test",
            "17.18 / 15.34 / 17.68 %",
            f"D, nominal bar, 7.2 µm: {three(mean / 100)}; B, a bar 7.5 % softer, 7.8 µm: {three(softer[0] / 100)}",
            inside,
            f"mean of {seeds} runs; printed is {off[0]:.1f}, {off[1]:.1f} and {off[2]:.1f} standard deviations from "
            "D's. Noise sets J1; two readings come near, none to all digits: its bar, noise and pulse are not printed",
            "one_frame_a_step.toml",
        ),
        claim(
            "Sec. 6",
            "what J2, J3 come from",
            "noise, derivatives, compliance, force tracking",
            f"D without noise, compliance and tracking error: {three(alone[1:])}",
            bool(np.all(alone[1:] < 0.5 * mean[1:] / 100)),
            "of the four the derivatives alone, taken at the wrong time. "
            f"Noise of 5 µm moves B's means by {100 * shift:.2f} % at most, single runs by more "
            f"(standard deviations {three(b[1, 1:])})",
            "study.py",
        ),
        claim(
            "Fig. 12",
            "q1 and q2",
            "bounded, no growth",
            f"largest of the last 0.3 s over that before: {late / early:.2f}",
            late < early,
            "",
            "images/figures_12_and_13.png",
        ),
        claim(
            "Fig. 13",
            "d follows q2 − q1",
            "J1 = 17.18 %",
            f"J1 = {mean[0]:.1f} %, standard deviation {spread[0]:.1f} %",
            off[0] < 2.0,
            "with 7.2 µm of noise, chosen to give it",
            "images/figures_12_and_13.png",
        ),
        claim(
            "Fig. 14",
            "stiffness by camera and by actuator",
            "2.9 kN/mm, less",
            f"{slopes[0]:.2f} and {slopes[1]:.2f} kN/mm",
            abs(slopes[0] - 2.9) < 0.05 and slopes[1] < slopes[0],
            "the transfer system's 10 kN/mm is ours",
            "images/figures_14_and_15.png",
        ),
        claim(
            "Fig. 15",
            "restoring force of the simulated spring",
            "k q + μ q³",
            f"{study.SPRING * 1e-4 + study.CUBIC * 1e-12:.1f} N at 0.1 mm",
            study.CUBIC == 36.6e12 and study.SPRING == 2.33e6,
            "",
            "images/figures_14_and_15.png",
        ),
    ]


def quick_values() -> dict[str, str]:
    true = study.reference(2000)
    rms = np.sqrt(np.mean(np.column_stack([true[:, 1] - true[:, 0], true]) ** 2, axis=0))
    shares = [np.mean(study.indices(name, figures.SEEDS)[:, 1] < 0.018) for name in ("stage_time_solved", "index_one")]
    b = study.scatter("baumgarte", figures.SEEDS)
    return {
        "rms": f"{1e6 * rms[0]:.0f} µm where q1 has {1e6 * rms[1]:.0f} and q2 {1e6 * rms[2]:.0f} µm",
        "floor": f"{100 * study.NOISE / rms[0]:.1f} %",
        "below 1.8 %": f"{100 * min(shares):.0f} %",
        "B without noise": three(quiet("baumgarte")[1:]),
        "D without noise": three(quiet("one_frame_a_step")[1:]),
        "spread of B": f"{three(b[2, 1:])} to {three(b[3, 1:])}",
        "mean of B": three(b[0, 1:]),
    }


# --- slow -------------------------------------------------------------------------------------------------------------


def of_the_linear_example() -> tuple[list[Claim], list[str]]:
    """Figs. 4 to 7, and the table of readings."""
    orders = [
        convergence(linear.published(linear.PUBLISHED, name), linear.specimen(), 1e-3, figures.COUNTS).order
        for name in linear.TABLEAUS
    ]
    limits = {
        name: [
            ForceControl(linear.published(alpha, s, name), linear.specimen()).stability_limit(0.5)
            for s in linear.TABLEAUS
        ]
        for name, (alpha, _) in linear.READINGS.items()
    }
    wide = [ForceControl(linear.published(60.0, s), linear.specimen()).stability_limit(0.5) for s in SCHEMES.values()]
    at = [
        ForceControl(linear.published(linear.PUBLISHED, s), linear.specimen()).curves([0.1]) for s in SCHEMES.values()
    ]
    damping = [100 * float(one.damping[0]) for one in at]
    period = [100 * float(one.period_distortion[0]) for one in at]
    solved = limits[linear.SOLVED]
    rows = [
        [name, f"{linear.READINGS[name][0]:g} 1/s", *(f"{value:.3f}" if value else "never" for value in values)]
        for name, values in limits.items()
    ]
    rows.append(["Algorithm 1 to the letter", "2 to 600 1/s", "never", "never", "never"])
    minus = [f"{value:.2f} %".replace("-", "−") for value in period]
    claims = [
        claim(
            "Fig. 4",
            "slope of the error over the step: forward Euler, RK2, RK4",
            "about the same",
            ", ".join(f"{order:.2f}" for order in orders),
            max(orders) - min(orders) < 0.1,
            "1, as derivatives are taken one step ahead of the stage",
            "images/figure_4_convergence.png",
        ),
        claim(
            "Fig. 5",
            "forward Euler",
            "unstable at every step",
            "unstable at every step" if not any(values[0] for values in limits.values()) else "stable",
            not any(values[0] for values in limits.values()),
            "",
            "images/figures_5_to_7.png",
        ),
        claim(
            "Fig. 5",
            "limit of RK2 and RK4",
            "Ω of about 0.25",
            f"{solved[1]:.3f} and {solved[2]:.3f}",
            max(abs(value - 0.25) for value in solved[1:]) < 0.015,
            f"with α = β = 26 1/s, which is not printed; with the 60 1/s of the test {wide[0]:.3f} and {wide[1]:.3f}",
            "images/figures_5_to_7.png",
        ),
        claim(
            "Fig. 6",
            "damping at Ω = 0.1, RK2 and RK4",
            "RK4 less",
            f"{damping[0]:.2f} % and {damping[1]:.2f} %",
            damping[1] < damping[0],
            "hardly less",
            "images/figures_5_to_7.png",
        ),
        claim(
            "Fig. 7",
            "period distortion at Ω = 0.1, RK2 and RK4",
            "RK4 less",
            f"{minus[0]} and {minus[1]}",
            abs(period[1]) < abs(period[0]),
            "hardly less",
            "images/figures_5_to_7.png",
        ),
    ]
    return claims, table(["reading of the paper", "α = β", "forward Euler", "RK2 to Ω =", "RK4 to Ω ="], rows)


def of_files() -> tuple[list[str], dict[str, str]]:
    """Every definition, judged; and what its own rehearsal on the slow bench tells."""
    rows, values = [], {}
    for name, words in FILES.items():
        definition = halfreal.load(study.HERE / f"{name}.toml")
        found = halfreal.check(definition, remedies=False)
        assert found.rehearsal is not None
        fidelity = worst(measured_errors(found.rehearsal), "fidelity")
        assert fidelity is not None
        told = f"{100 * fidelity.nrmse:.1f} %" if fidelity.nrmse < 0.1 else f"{100 * fidelity.nrmse:.0f} %"
        own = study.of_record(definition, found.rehearsal).indices
        gains = found.stability.gains
        margins = "—" if gains is None else f"{gains.gain_margin_db:.1f} / {-gains.gain_reduction_db:.1f} dB"
        rows.append([f"`{name}.toml`", words, found.verdict, margins, told, three(np.array(own))])
        values[f"{name}, indices"], values[f"{name}, fidelity"] = three(np.array(own)), told
        if name == "camera":
            values["hours"] = f"{found.rehearsal.signals['motion.clock'].values[-1] / 3600:.1f} hours"
    head = [
        "file",
        "method",
        "`halfreal check`",
        "gain margin, to a softer / stiffer bar",
        "fidelity error",
        "J1 / J2 / J3 of its rehearsal",
    ]
    return table(head, rows), values


def make(images: Path, quick: bool) -> Numbers:
    claims = [*of_pictures(), *of_equations(), *of_the_bar()]
    if quick:
        return Numbers(claims, {}, quick_values())
    figures.draw(images, 40, figures.rehearsed("camera"))
    of_linear, readings = of_the_linear_example()
    files, told = of_files()
    resumed = {"resumed": f"{interrupted.apart(200, '0.1 N'):.0e}"}
    tables = {"errors": figures.table(), "readings": readings, "files": files}
    return Numbers([*claims, *of_linear], tables, {**quick_values(), **told, **resumed})
