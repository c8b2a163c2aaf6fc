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
from study import TEN, ten_tones

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


def test_rig(hz: np.ndarray) -> np.ndarray:
    """Response of the rig, y_e/u: specimen and actuator."""
    s = 2j * np.pi * hz
    return 1 / sum(k + s * d + s**2 * m for m, d, k in (SPECIMEN, ACTUATOR))


def bode(title: str) -> tuple[Figure, Axes, Axes]:
    """Two panels: size and phase."""
    figure = new_figure(10.4, 6.4)
    size, phase = figure.subplots(2, 1, sharex=True, height_ratios=(1.5, 1))
    size.set(title=title, ylabel="|y / f| [m/N]", yscale="log")
    phase.set(xlabel="frequency [Hz]", ylabel="phase [°]", ylim=(-200, 20), yticks=(-180, -90, 0))
    return figure, size, phase


def curve(panels: tuple[Axes, Axes], hz: np.ndarray, found: np.ndarray, **look: object) -> None:
    """A response in both panels."""
    panels[0].plot(hz, np.abs(found), **look)
    angle = np.degrees(np.angle(found))
    panels[1].plot(hz, np.where(angle > 20.0, angle - 360.0, angle), **look)


def known_structures(panels: tuple[Axes, Axes], hz: np.ndarray) -> None:
    coupled, virtual = structures(hz)
    curve(panels, hz, virtual, color="0.75", linewidth=3, label="virtual alone")
    curve(panels, hz, coupled, color="k", linestyle="--", linewidth=1, label="coupled (reference)")
    panels[0].set(xlim=(hz[0], hz[-1]))


@styled
def figure_5() -> Figure:
    hz = np.linspace(1.0, 55.0, 2700) + 1e-3
    figure, *panels = bode("Fig. 5: in steady state the coupled structure at the harmonics, the virtual one elsewhere")
    known_structures(panels, hz)
    curve(panels, hz, test_rig(hz), color="tab:orange", linewidth=1.2, label="test rig, y_e/u")
    closed = closed_loop(plant(), filtered(TEN))
    curve(panels, hz, response(closed, hz), color="tab:blue", linewidth=0.9, label="closed loop (LMS)")
    look = {"linestyle": "none", "markersize": 7}
    curve(panels, TEN, response(closed, TEN), marker="o", color="tab:blue", label="at the harmonics", **look)
    curve(panels, TEN, running_response(TEN), marker="x", color="tab:red", label="code that runs, linearised", **look)
    between = TEN[:-1] + 2.5
    curve(panels, between, running_response(between), marker="x", color="tab:red", **look)
    in_time = {**look, "markersize": 11, "markerfacecolor": "none"}
    curve(panels, TEN, ten_tones().response, marker="s", color="tab:green", label="ten tones in time (RLS)", **in_time)
    panels[0].legend(ncols=2, fontsize=8)
    return figure


def controllers() -> dict[str, StateSpace]:
    """Closed loops with feedback controllers."""
    full = StateSpace(
        regulated(plant(), regulator(plant(), EFFORT)), plant().b[:, :1], plant().c, plant().d[:, :1]
    )  # u = −K x
    return {
        "LQR, all states": full,
        "LQG, from the gap": closed_loop(plant(), lqg(plant(), EFFORT, NOISE)),
        "integrator (PID)": closed_loop(plant(), integral()),
    }


@styled
def figure_6() -> Figure:
    hz = np.geomspace(0.1, 55.0, 1200)
    figure, *panels = bode("Fig. 6: adaptive feed-forward and feedback controllers")
    known_structures(panels, hz)
    for label, system in controllers().items():
        curve(panels, hz, response(system, hz), linewidth=1.2, label=label)
    on_paper = response(closed_loop(plant(), filtered(TEN)), TEN)
    look = {"marker": "o", "linestyle": "none", "color": "tab:blue"}
    curve(panels, TEN, on_paper, label="adaptive filter, at its harmonics", **look)
    panels[0].set_xscale("log")
    panels[0].legend(fontsize=8)
    return figure


def good_up_to(system: StateSpace, error: float = 0.1) -> float:
    """The frequency [Hz] up to which a closed loop is the coupled structure but for this error."""
    hz = np.geomspace(1e-4, 55.0, 6000)
    off = np.abs(response(system, hz) / structures(hz)[0] - 1) > error
    return float(hz[np.argmax(off)]) if off.any() else float(hz[-1])


def unstable(poles: list[np.ndarray]) -> list[int]:
    """Masses [g] of the specimen with which a closed loop is unstable."""
    return [round(1e3 * mass) for mass, found in zip(MASSES, poles, strict=True) if found.real.max() >= 0]


def draw_poles(axes: Axes, poles: list[np.ndarray], title: str, linear: float) -> None:
    """Poles over the mass; the real axis is logarithmic outside ±linear."""
    for mass, found in zip(MASSES, poles, strict=True):
        colour = new_colour(float(mass))
        axes.plot(found.real, found.imag / (2 * np.pi), ".", color=colour, markersize=5)
    axes.axvline(0, color="k", linewidth=0.8)
    masses = unstable(poles)
    told = f"unstable: {masses[0]}–{masses[-1]} g" if masses else "stable for all masses"
    axes.set_xscale("symlog", linthresh=linear)
    ticks = [-(10.0**power) for power in ((2, 0, -2) if linear >= 1e-2 else (1, -3))]
    axes.set(title=f"{title}\n{told}", xlim=(-1e3, 10), ylim=(0, 55), xlabel="Re s [1/s]", ylabel="frequency [Hz]")
    axes.set_xticks([*ticks, 0.0, 1.0])
    axes.minorticks_off()


def new_colour(mass: float) -> tuple[float, float, float]:
    """From blue, 1 g, to red, 30 g."""
    share = (mass - MASSES[0]) / (MASSES[-1] - MASSES[0])
    return (share, 0.2, 1.0 - share)


def regulated_poles() -> dict[str, list[np.ndarray]]:
    """Poles for all masses with feedback controllers tuned at 10 g."""
    gains, observed = regulator(plant(), EFFORT), lqg(plant(), EFFORT, NOISE)
    return {
        "LQR, all states fed back": [np.linalg.eigvals(regulated(plant(m), gains)) for m in MASSES],
        "LQG, from the gap": [closed_loop(plant(m), observed).poles() for m in MASSES],
        "integrator (PID)": [closed_loop(plant(m), integral()).poles() for m in MASSES],
    }


def filtered_poles() -> dict[str, list[np.ndarray]]:
    """The same with the adaptive filter, identified at 10 g."""
    cases: dict[str, np.ndarray | float] = {"8 Hz": 8.0, "16 Hz": 16.0, "21 Hz": 21.0, "5, 10, …, 50 Hz": TEN}
    return {title: [closed_loop(plant(m), filtered(hz)).poles() for m in MASSES] for title, hz in cases.items()}


@styled
def figure_7() -> Figure:
    figure = new_figure(10.4, 4.4)
    for axes, (title, poles) in zip(figure.subplots(1, 3), regulated_poles().items(), strict=True):
        draw_poles(axes, poles, title, 1e-2)
    figure.suptitle("Fig. 7: poles for a specimen of 1 g (blue) to 30 g (red), controllers tuned at 10 g")
    return figure


@styled
def figure_8() -> Figure:
    figure = new_figure(10.4, 4.4)
    for axes, (title, poles) in zip(figure.subplots(1, 4), filtered_poles().items(), strict=True):
        draw_poles(axes, poles, title, 1e-8)
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
        draw().savefig(path, dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
