"""Closed-loop responses, poles over the specimen's mass and stability over the estimate: the paper's Figs. 5 to 9.

python stability.py [FOLDER]      # pictures go to FOLDER, "results" if left out

On paper: virtual substructure, rig and controller as one linear system in continuous time.  Beside it, as dots, the
loop of ``lms.toml`` that runs, linearised.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import halfreal
from halfreal import build, linearise
from halfreal.contracts import Purpose, StateSpace
from halfreal.couplings import HarmonicLms, gap_response, resonator, stability_map
from halfreal.definition import Excitations
from halfreal.figures import new_figure, styled
from halfreal.kernels import Block, Channel, Loop
from halfreal.models import Sine, Structure
from halfreal.runs import SETTLING_TICKS
from halfreal.runs import plant as running_plant
from halfreal.stability import (
    Part,
    closed_loop,
    derivative,
    growth,
    hybrid_plant,
    integrator,
    lqg,
    probe_step,
    regulated,
    regulator,
)

HERE = Path(__file__).parent
SPECIMEN, ACTUATOR = (0.01, 0.05, 1000.0), (0.1, 1.0, 100.0)
TEN = 5.0 * np.arange(1, 11)
MASSES = 1e-3 * np.arange(1, 31)
EFFORT, NOISE = 1e-10, 1e-10
"""ρ of the regulator and r_n of its observer, chosen: the paper does not tell how its controller was tuned."""
DEFINITION = halfreal.load(HERE / "lms.toml")
STEP = DEFINITION.timing.step


@cache
def plant(mass: float = SPECIMEN[0]) -> StateSpace:
    """On paper, in continuous time."""
    virtual = Structure(mass=0.1, damping=0.05, stiffness=1000.0, force_dof=1).system("force")
    return hybrid_plant(virtual, Part(mass, *SPECIMEN[1:]), Part(*ACTUATOR))


def integral() -> StateSpace:
    """Half of the largest stable integral gain."""
    gains = np.geomspace(1.0, 1e4, 400)
    return integrator(0.5 * max(gain for gain in gains if growth(closed_loop(plant(), integrator(gain)).a, None) < 0))


def filtered(hz: np.ndarray | float, gain: float = 1.0) -> StateSpace:
    """The adaptive filter as a controller, identified with the specimen's own mass; μ_c = 1 1/s."""
    return resonator(gap_response(plant(), hz), hz, gain)


# --- the loop that runs -----------------------------------------------------------------------------------------------


class Probed(Sine):
    """An excitation that stands at a value, by which the loop is differentiated."""

    def block(self, name: str, shift: float = 0.0) -> Block:
        outputs = (Channel(name, "N"), Channel(f"{name}.rate", "N/s"))
        return Block(name, probe_step, (), outputs, {}, {"value": np.zeros(2)}, frozen=("value",))


def running(coupling: HarmonicLms) -> Loop:
    """The loop of the definition with another coupling, at rest."""
    excitation = Excitations(virtual=Probed(force=1.0, frequency=8.0))
    loop = build(DEFINITION.model_copy(update={"coupling": coupling, "excitation": excitation}), Purpose(endless=True))
    loop.run(SETTLING_TICKS)
    return loop


def running_response(hz: np.ndarray) -> np.ndarray:
    """From the excitation to the target of the loop that runs with the ten harmonics, linearised."""
    loop = running(HarmonicLms(frequencies=TEN, gain=STEP, transfer="model"))
    states = loop.dynamic_indices()
    rows = np.append(states, loop.index["target"])
    a, b = derivative(loop, states, rows), derivative(loop, loop.state_indices("excitation.virtual", "value")[:1], rows)
    return StateSpace(a[:-1], b[:-1], a[-1:], b[-1:], STEP).response(2 * np.pi * hz)[:, 0, 0]


def running_growth(hz: float, gain: float, estimate: complex) -> float:
    """Growth rate [1/s] of the loop that runs, over one period; the estimate leaves out the step of delay."""
    late = estimate * np.exp(-2j * np.pi * hz * STEP)
    loop = running(HarmonicLms(frequencies=[hz], gain=gain).with_model(np.array([[[late]]])))
    return float(np.log(linearise(loop, round(1 / (hz * STEP))).spectral_radius) / STEP)


def sampled_plant() -> StateSpace:
    """The plant of the loop that runs, a step ahead, as the sampled controller on paper reckons with."""
    found = running_plant(DEFINITION)
    return StateSpace(found.a, found.b, found.c @ found.a, found.c @ found.b, STEP)


# --- figures ----------------------------------------------------------------------------------------------------------


def response(system: StateSpace, hz: np.ndarray) -> np.ndarray:
    """From the excitation to the target."""
    return system.response(2 * np.pi * hz)[:, 1, 0]


def structures(hz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Response of the coupled structure and of the virtual one alone."""
    s = 2j * np.pi * hz
    virtual, specimen = (k + s * d + s**2 * m for m, d, k in ((0.1, 0.05, 1000.0), SPECIMEN))
    return 1 / (virtual + specimen), 1 / virtual


def known_structures(axes: Axes, hz: np.ndarray) -> None:
    coupled, virtual = structures(hz)
    axes.semilogy(hz, np.abs(virtual), color="0.75", linewidth=3, label="virtual alone")
    axes.semilogy(hz, np.abs(coupled), color="k", linestyle="--", linewidth=1, label="coupled (reference)")
    axes.set(xlim=(hz[0], hz[-1]), xlabel="frequency [Hz]", ylabel="|y_v / f| [m/N]")


@styled
def figure_5() -> Figure:
    hz = np.linspace(1.0, 55.0, 2700) + 1e-3
    figure = new_figure(10.4, 4.2)
    axes = figure.subplots()
    known_structures(axes, hz)
    axes.semilogy(hz, np.abs(response(closed_loop(plant(), filtered(TEN)), hz)), color="tab:blue", label="closed loop")
    look = {"linestyle": "none", "markersize": 7}
    on_paper = np.abs(response(closed_loop(plant(), filtered(TEN)), TEN))
    axes.semilogy(TEN, on_paper, marker="o", color="tab:blue", label="at the harmonics", **look)
    runs = np.abs(running_response(TEN))
    axes.semilogy(TEN, runs, marker="x", color="tab:red", label="code that runs, linearised", **look)
    between = TEN[:-1] + 2.5
    axes.semilogy(between, np.abs(running_response(between)), marker="x", color="tab:red", **look)
    axes.set_title("Fig. 5: in steady state the coupled structure at the harmonics, the virtual one elsewhere")
    axes.legend()
    return figure


@styled
def figure_6() -> Figure:
    hz = np.geomspace(0.1, 55.0, 1200)
    figure = new_figure(10.4, 4.2)
    axes = figure.subplots()
    known_structures(axes, hz)
    full = StateSpace(
        regulated(plant(), regulator(plant(), EFFORT)), plant().b[:, :1], plant().c, plant().d[:, :1]
    )  # u = −K x
    curves = {
        "LQR, all states": full,
        "LQG, from the gap": closed_loop(plant(), lqg(plant(), EFFORT, NOISE)),
        "integrator (PID)": closed_loop(plant(), integral()),
    }
    for label, system in curves.items():
        axes.semilogy(hz, np.abs(response(system, hz)), linewidth=1.2, label=label)
    on_paper = np.abs(response(closed_loop(plant(), filtered(TEN)), TEN))
    axes.semilogy(TEN, on_paper, "o", color="tab:blue", label="adaptive filter, at its harmonics")
    axes.set(xscale="log", title="Fig. 6: adaptive feed-forward beside feedback controllers")
    axes.legend(fontsize=8)
    return figure


def draw_poles(axes: Axes, poles: list[np.ndarray], title: str, linear: float) -> None:
    """Poles over the mass; the real axis is logarithmic outside ±linear."""
    for mass, found in zip(MASSES, poles, strict=True):
        colour = new_colour(float(mass))
        axes.plot(found.real, found.imag / (2 * np.pi), ".", color=colour, markersize=5)
    axes.axvline(0, color="k", linewidth=0.8)
    unstable = [round(1e3 * m) for m, found in zip(MASSES, poles, strict=True) if found.real.max() >= 0]
    told = f"unstable: {unstable[0]}–{unstable[-1]} g" if unstable else "stable for all masses"
    axes.set_xscale("symlog", linthresh=linear)
    ticks = [-(10.0**power) for power in ((2, 0, -2) if linear >= 1e-2 else (1, -3))]
    axes.set(title=f"{title}\n{told}", xlim=(-1e3, 10), ylim=(0, 55), xlabel="Re s [1/s]", ylabel="frequency [Hz]")
    axes.set_xticks([*ticks, 0.0, 1.0])
    axes.minorticks_off()


def new_colour(mass: float) -> tuple[float, float, float]:
    """From blue, 1 g, to red, 30 g."""
    share = (mass - MASSES[0]) / (MASSES[-1] - MASSES[0])
    return (share, 0.2, 1.0 - share)


@styled
def figure_7() -> Figure:
    gains = regulator(plant(), EFFORT)
    observed = lqg(plant(), EFFORT, NOISE)
    figure = new_figure(10.4, 4.4)
    panels = figure.subplots(1, 3)
    full = [np.linalg.eigvals(regulated(plant(m), gains)) for m in MASSES]
    draw_poles(panels[0], full, "LQR, all states fed back", 1e-2)
    draw_poles(panels[1], [closed_loop(plant(m), observed).poles() for m in MASSES], "LQG, from the gap", 1e-2)
    draw_poles(panels[2], [closed_loop(plant(m), integral()).poles() for m in MASSES], "integrator (PID)", 1e-2)
    figure.suptitle("Fig. 7: poles for a specimen of 1 g (blue) to 30 g (red), controllers tuned at 10 g")
    return figure


@styled
def figure_8() -> Figure:
    figure = new_figure(10.4, 4.4)
    cases: dict[str, np.ndarray | float] = {"8 Hz": 8.0, "16 Hz": 16.0, "21 Hz": 21.0, "5, 10, …, 50 Hz": TEN}
    for axes, (title, hz) in zip(figure.subplots(1, 4), cases.items(), strict=True):
        controller = filtered(hz)
        draw_poles(axes, [closed_loop(plant(m), controller).poles() for m in MASSES], title, 1e-8)
    figure.suptitle("Fig. 8: the same with the adaptive filter (LMS, μ_c = 1 1/s), identified at 10 g")
    return figure


@styled
def figure_9() -> Figure:
    figure = new_figure(10.4, 3.9)
    sampled = sampled_plant()
    for axes, hz in zip(figure.subplots(1, 3), (8.0, 16.0, 21.0), strict=True):
        true = complex(gap_response(sampled, hz)[0, 0, 0])
        span = np.linspace(-2.5, 2.5, 81) * abs(true)
        rates = stability_map(sampled, hz, STEP, span, span)
        scale = 1e3 if hz == 16.0 else 1e6
        unit = "mm/N" if hz == 16.0 else "µm/N"
        axes.contourf(scale * span, scale * span, rates, levels=[-1e9, 0.0, 1e9], colors=["#dcefe4", "#f6dcdc"])
        paper = stability_map(plant(), hz, 1.0, span, span)
        axes.contour(scale * span, scale * span, paper, levels=[0.0], colors="k", linestyles="--", linewidths=0.8)
        spots = np.linspace(-2.25, 2.25, 4) * abs(true)
        for real in spots:
            for imaginary in spots:
                stable = running_growth(hz, STEP, complex(real, imaginary)) < 0
                axes.plot(
                    scale * real, scale * imaginary, ".", color="tab:green" if stable else "tab:red", markersize=7
                )
        axes.plot(scale * true.real, scale * true.imag, "k*", markersize=11)
        axes.set(title=f"{hz:g} Hz", xlabel=f"Re H_est [{unit}]", ylabel=f"Im H_est [{unit}]", aspect="equal")
    figure.suptitle(
        "Fig. 9: stable (green) over the estimate, true H starred; dots: code that runs; dashed: continuous time"
    )
    return figure


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (figure_5, figure_6, figure_7, figure_8, figure_9):
        path = folder / f"{draw.__name__}.png"
        draw().savefig(path, dpi=130)
        print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
