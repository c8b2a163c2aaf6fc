"""Draw what the paper's Figs. 4 to 7 and 12 to 15 show, maps of α and β, and the errors of all methods.

python figures.py [FOLDER]        # pictures and table go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import algorithm_one
import linear
import numpy as np
import study
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import halfreal
from halfreal.figures import BAD, GOOD, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled
from halfreal.stability import ForceControl, alpha_beta_map, convergence

SEEDS = 24
COUNTS = (5, 10, 20, 40, 80, 160)
"""Steps in which the time of Fig. 4 is divided."""
DASHES = (0, (5, 2.5))
GAINS = {22.0: QUIET, 26.0: TARGET, 30.0: GOOD, 60.0: MEASURED}


# --- the linear example ---------------------------------------------------------------------------------------------


@styled
def convergence_orders() -> Figure:
    """Fig. 4, and the same over a quarter of a period with the better methods."""
    figure = new_figure(10.4, 4.0)
    panels = figure.subplots(1, 2)
    published = {text: linear.published(linear.PUBLISHED, name) for name, text in linear.TABLEAUS.items()}
    others = linear.better() | {"index 1, RK4, k̂ = k": linear.better(1.0)["index 1, RK4"]}
    shown = (
        ("1 ms, published, loop solved (Fig. 4)", 1e-3, published),
        ("40 ms", 40e-3, {"published, RK4": published["RK4"]} | others),
    )
    for axes, (title, duration, methods) in zip(panels, shown, strict=True):
        for (name, virtual), marker in zip(methods.items(), "osd^v", strict=False):
            found = convergence(virtual, linear.specimen(), duration, COUNTS)
            label = f"{name}: order {found.order:.2f}"
            axes.loglog(1e3 * found.step, 1e3 * found.error, marker=marker, markersize=4, label=label)
        axes.set(title=f"Error after {title}", xlabel="step Δt [ms]", ylabel="error of q [mm]")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend()
    return figure


@styled
def over_omega() -> Figure:
    """Figs. 5 to 7: rows for spectral radius, damping and period; columns for the methods."""
    omegas = np.linspace(0.005, 0.4, 160)
    figure = new_figure(10.4, 7.2)
    panels = figure.subplots(3, 3, sharex=True, sharey="row")
    for column, (name, text) in enumerate(linear.TABLEAUS.items()):
        for alpha, color in GAINS.items():
            control = ForceControl(linear.published(alpha, name), linear.specimen())
            curves = control.curves(omegas)
            limit = control.stability_limit(0.5)
            label = f"{alpha:g} 1/s, {f'to Ω = {limit:.3f}' if limit else 'never stable'}"
            rows = (curves.spectral_radius, 100 * curves.damping, 100 * curves.period_distortion)
            for axes, values in zip(panels[:, column], rows, strict=True):
                axes.plot(omegas, values, color=color, linewidth=1.2, label=label)
        panels[0, column].set_title(text)
        panels[0, column].axhline(1.0, color=BAD, linewidth=0.8)
        panels[0, column].legend(title="α = β", fontsize=7, title_fontsize=7, loc="upper left")
        panels[2, column].set_xlabel("Ω = ω₀ Δt")
    panels[0, 0].set(ylabel="spectral radius (Fig. 5)", ylim=(0.95, 1.1))
    panels[1, 0].set(ylabel="damping ξ [%] (Fig. 6)", ylim=(-30, 30))
    panels[2, 0].set(ylabel="ΔT/T₀ [%] (Fig. 7)", ylim=(-40, 10))
    return figure


@styled
def readings_over_omega() -> Figure:
    """Spectral radius of the ways in which the paper can be read, and of its Algorithm 1 to the letter."""
    omegas = np.linspace(0.005, 0.4, 80)
    figure = new_figure(10.4, 3.6)
    panels = figure.subplots(1, 2, sharey=True)
    colors = (TARGET, GOOD, QUIET, MEASURED)
    for axes, (scheme, text) in zip(panels, (("heun", "RK2"), ("rk4", "RK4")), strict=True):
        for (name, (alpha, _)), color in zip(linear.READINGS.items(), colors, strict=True):
            control = ForceControl(linear.published(alpha, scheme, name), linear.specimen())
            radii = [control.spectral_radius(omega) for omega in omegas]
            axes.plot(omegas, radii, color=color, label=f"{name}, α = β = {alpha:g} 1/s")
        for alpha, line in ((60.0, "--"), (200.0, ":")):
            radii = [algorithm_one.radius(text, alpha, omega, "solved", "commanded") for omega in omegas]
            axes.plot(omegas, radii, line, color=BAD, label=f"Algorithm 1 to the letter, loop solved, {alpha:g} 1/s")
        axes.axhline(1.0, color=REFERENCE, linewidth=0.8)
        axes.axvline(0.25, color=REFERENCE, linewidth=0.8, linestyle=":")
        axes.set(title=f"{text}; dotted: the paper's limit", xlabel="Ω = ω₀ Δt", ylim=(0.97, 1.06))
    panels[0].set_ylabel("spectral radius")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


@styled
def other_methods_over_omega() -> Figure:
    """Spectral radius, damping and period of the better methods, to far longer steps."""
    omegas = np.linspace(0.01, 4.0, 200)
    figure = new_figure(10.4, 3.2)
    panels = figure.subplots(1, 3)
    for name, virtual in linear.better().items():
        curves = ForceControl(virtual, linear.specimen()).curves(omegas)
        for axes, values in zip(
            panels,
            (curves.spectral_radius, 100 * curves.damping, 100 * curves.period_distortion),
            strict=True,
        ):
            kept = curves.spectral_radius < 1.3
            axes.plot(omegas[kept], values[kept], linewidth=1.3, label=name)
    panels[0].axhline(1.0, color=BAD, linewidth=0.8)
    for axes, title, reach in zip(
        panels, ("spectral radius", "damping ξ [%]", "ΔT/T₀ [%]"), ((0.5, 1.15), (-10, 30), (-25, 60)), strict=True
    ):
        axes.set(title=title, xlabel="Ω = ω₀ Δt", ylim=reach)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


@styled
def maps(points: int = 40) -> Figure:
    """Spectral radius over α and β at Ω = 0.1: as published, and with derivatives at stage time."""
    gains = np.linspace(2.5, 100.0, points)
    published, solved = linear.published(linear.PUBLISHED, "rk4"), linear.better()["stage time, RK4, loop solved"]
    figure = new_figure(10.4, 4.2)
    panels = figure.subplots(1, 2, sharey=True)
    levels = np.linspace(0.98, 1.02, 17)
    for axes, virtual, title in zip(panels, (published, solved), ("published", "stage time"), strict=True):
        radii = alpha_beta_map(virtual, linear.specimen(), 0.1 / linear.OMEGA_0, gains, gains)
        filled = axes.contourf(gains, gains, radii, levels=levels, cmap="RdBu_r", extend="both")
        axes.contour(gains, gains, radii, levels=[1.0], colors="black", linewidths=1.2)
        axes.plot(gains, gains, color=REFERENCE, linewidth=0.8, linestyle=DASHES)
        axes.set(title=f"RK4, {title}, loop solved, Ω = 0.1", xlabel="β [1/s]")
    panels[0].set_ylabel("α [1/s]")
    figure.colorbar(filled, ax=panels, label="spectral radius a step; black: 1", ticks=(0.98, 0.99, 1.0, 1.01, 1.02))
    return figure


# --- the bar --------------------------------------------------------------------------------------------------------


@styled
def responses(found: dict[str, study.Response]) -> Figure:
    """Figs. 12 and 13: q1, q2 against the reference, and the measured elongation against q2 − q1."""
    figure = new_figure(10.4, 6.6)
    panels = figure.subplots(3, len(found), sharex=True, sharey="row")
    for column, (title, test) in enumerate(found.items()):
        true = study.reference(len(test.time))
        for row in (0, 1):
            axes = panels[row, column]
            axes.plot(
                test.time, 1e3 * true[:, row], color=REFERENCE, linestyle=DASHES, linewidth=1.0, label="reference"
            )
            axes.plot(test.time, 1e3 * test.q[:, row], color=TARGET, linewidth=1.4, label="test", zorder=1)
            panels[row, 0].set_ylabel(f"q{row + 1} [mm] (Fig. 12)")
        last = panels[2, column]
        last.plot(test.time, 1e3 * test.d, color=MEASURED, linewidth=0.5, label="d measured")
        last.plot(test.time, 1e3 * test.elongation, color=TARGET, linewidth=1.2, label="q2 − q1")
        j = ", ".join(f"J{i + 1} {100 * value:.1f} %" for i, value in enumerate(test.indices))
        panels[0, column].set_title(f"{title}\n{j}", fontsize=8)
        last.set_xlabel("time [s]")
    panels[2, 0].set_ylabel("elongation [mm] (Fig. 13)")
    for row, reach in enumerate(((-0.17, 0.22), (-0.25, 0.35), (-0.12, 0.17))):
        panels[row, 0].set_ylim(reach)
        panels[row, 0].legend(loc="upper right", ncols=2)
    return figure


@styled
def force_displacement(camera: study.Response, actuator: study.Response) -> Figure:
    """Fig. 14: force against displacement as camera and actuator have it; Fig. 15: the simulated spring."""
    figure = new_figure(10.4, 3.8)
    bar, spring = figure.subplots(1, 2)
    span = np.array([camera.force.min(), camera.force.max()])
    bar.plot(1e3 * camera.d, camera.force, ".", markersize=2, color=MEASURED, label="camera, σ = 5 µm")
    for test, name, color in ((camera, "camera", TARGET), (actuator, "actuator", QUIET)):
        slope = float(np.linalg.lstsq(test.force[:, None], test.d, rcond=None)[0][0])
        label = f"{name}'s fit: {1e-6 / slope:.2f} kN/mm"
        bar.plot(1e3 * slope * span, span, color=color, linewidth=1.4, label=label)
    bar.set(title="Bar (Fig. 14)", xlabel="displacement [mm]", ylabel="measured force [N]")
    bar.legend()
    q = np.sort(camera.q[:, 0])
    spring.plot(1e3 * q, study.SPRING * q + study.CUBIC * q**3, color=TARGET, linewidth=1.6, label="k q + μ q³")
    spring.plot(1e3 * q, study.SPRING * q, color=REFERENCE, linewidth=0.9, linestyle=DASHES, label="k q")
    spring.set(title="Spring of the simulated side (Fig. 15)", xlabel="q1 [mm]", ylabel="force [N]")
    spring.legend()
    return figure


def table(seeds: int = SEEDS) -> list[str]:
    """J1/J2/J3 of every method without noise, and mean and largest over runs with it, as Markdown."""

    def percent(values: np.ndarray) -> str:
        return " / ".join(f"{100 * value:.2f}" if value < 0.095 else f"{100 * value:.1f}" for value in values)

    head = "| method | exchanges a step | no noise | mean, σ = 5 µm | standard deviation | largest |"
    lines = [head, "|---|---|---|---|---|---|"]
    for name, (words, _, exchanges) in study.METHODS.items():
        rows = (study.indices(name, 1, 0.0)[0], *study.scatter(name, seeds)[[0, 1, 3]])
        lines.append(f"| {words} | {exchanges} | {' | '.join(percent(row) for row in rows)} |")
    fed_back = study.indices("baumgarte", 1, 0.0, measures="actuator")[0]
    lines.append(f"| B, actuator's displacement fed back | 4 | {percent(fed_back)} | | | |")
    for words, exchanges, found in (
        ("**B, a bar 7.5 % softer, σ = 7.8 µm**", 4, study.scatter("baumgarte", seeds, 7.8e-6, bar=0.925 * study.BAR)),
        ("**D, the nominal bar, σ = 7.2 µm**", 1, study.scatter("one_frame_a_step", seeds, 7.2e-6)),
    ):
        lines.append(f"| {words} | {exchanges} | | {' | '.join(percent(row) for row in found[[0, 1, 3]])} |")
    lines.append("| **measured by the paper on its bench** | 1 | | 17.18 / 15.34 / 17.68 | | |")
    return lines


def draw(folder: Path, map_points: int, camera: study.Response) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shown = {
        "published, one frame a step (D)": "one_frame_a_step",
        "published, loop solved (B)": "baumgarte",
        "stage time, loop solved": "stage_time_solved",
        "index 1": "index_one",
    }
    actuator = study.run(study.on_ideal_bench("baumgarte", measures="actuator"))
    tests = {title: study.run(study.on_ideal_bench(name, noise=study.NOISE)) for title, name in shown.items()}
    figures = {
        "figure_4_convergence": convergence_orders(),
        "figures_5_to_7": over_omega(),
        "readings": readings_over_omega(),
        "other_methods": other_methods_over_omega(),
        "alpha_beta_maps": maps(map_points),
        "figures_12_and_13": responses(tests),
        "figures_14_and_15": force_displacement(camera, actuator),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        print(folder / f"{name}.png")


def rehearsed(name: str, seconds: float = 1.0) -> study.Response:
    """A file's own test, on its slow bench."""
    definition = halfreal.load(study.HERE / f"{name}.toml").with_values({"timing.duration": seconds})
    return study.of_record(definition, halfreal.rehearse(definition))


def main(folder: Path, seeds: int = SEEDS, map_points: int = 40, camera_seconds: float = 1.0) -> None:
    camera = rehearsed("camera", camera_seconds)
    draw(folder, map_points, camera)
    written = "\n".join([*table(seeds), ""])
    (folder / "errors.md").write_text(written, encoding="utf-8")
    j = " / ".join(f"{100 * value:.2f}" for value in camera.indices)
    print(f"{written}\ncamera.toml, {len(camera.time)} frames of 3.3 s: J1 / J2 / J3 = {j} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
