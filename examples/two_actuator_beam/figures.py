"""Rehearse the beam test many times over and draw what the paper's section 5 shows.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out; some minutes
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import modes
import numpy as np
import rig
import study
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from halfreal.presentation import BAD, GOOD, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled

SHOWN = (60.0, 320.0, 800.0)
LOW = (30, 40, 50, 55, 60, 65, 70, 80, 85, 90, 95, 100, 110, 125, 150, 175, 190, 200, 205, 211, 217, 225, 240, 260)
HIGH = (280, 300, 310, 319, 330, 350, 380, 420, 460, 500, 510, 520, 530, 550, 600, 650, 700, 711, 730, 800, 900, 1000)
STEPPED = np.array([*LOW, *HIGH], dtype=float)
LMS_MEMORIES = ("3 s", "1 s", "0.3 s", "0.1 s")
RLS_FACTORS = (0.99, 0.999, 0.9995, 0.9999)
NUMBERS_OF_HARMONICS = (1, 5, 9)
NAMES = ("H_Pz [m/N]", "H_Bz [m/N]", "H_Bα [rad/N]")
AUTOMATIC = "automatic"
COLOURS = ("#9ecae1", "#4292c6", "#2171b5", "#08306b")


def grid(low: float, high: float, count: int) -> np.ndarray:
    """Of curves [Hz]."""
    return np.geomspace(low, high, count)


# --- reference system and test rig (Figs. 14 and 16) ------------------------------------------------------------------


@styled
def receptances() -> Figure:
    """Driving points: P of the reference system, and actuator 1 of the test rig."""
    hz = grid(30, 1000, 2000)
    ends = rig.rig_parts().receptance(hz, rig.PLATE, rig.PLATE)
    curves = {
        "reference system, at P": study.assembled(hz)[:, 0],
        "test rig, at actuator 1": (rig.ENDS @ ends @ rig.ENDS.T)[:, 0, 0],
        "virtual beam alone, at P": study.virtual_alone(hz)[:, 2, 0],
    }
    figure = new_figure(9.5, 6.0)
    size, phase = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
    for (name, found), colour in zip(curves.items(), (REFERENCE, TARGET, QUIET), strict=True):
        size.loglog(hz, np.abs(found), color=colour, label=name)
        phase.plot(hz, degrees(found), color=colour)
    for told in modes.PRINTED:
        excited = told not in modes.PRINTED[3:5]
        size.axvline(told, color=MEASURED, linewidth=0.7, linestyle="-" if excited else ":")
    size.set(ylabel="receptance [m/N]", title="Fig. 14; upright: modes that the paper prints, dotted those not excited")
    size.legend(loc="lower left")
    phase.set(ylabel="phase [°]", xlabel="frequency [Hz]", xlim=(30, 1000), ylim=(-200, 20), yticks=(-180, -90, 0))
    named_ticks(phase)
    return figure


def degrees(found: np.ndarray) -> np.ndarray:
    """Phases that do not jump."""
    return np.asarray(np.degrees(np.unwrap(np.angle(found))))


def named_ticks(axes: Axes) -> None:
    ticks = (30, 60, 100, 200, 300, 500, 1000)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


@styled
def mode_shapes() -> Figure:
    figure = new_figure(9.5, 4.6)
    x = 1e3 * rig.FREE_LENGTH * np.linspace(0, 1, modes.NODES)
    x = np.concatenate([x, x + x[-1]])
    for i, (axes, mode) in enumerate(
        zip(figure.subplots(2, 3, sharex=True).flat, modes.modes(*modes.calibrated()), strict=True)
    ):
        axes.plot(x, 0 * x, color=QUIET, linewidth=0.8)
        axes.plot(x, mode.shape, color=TARGET if mode.kind == "deflection" else MEASURED, linewidth=1.8)
        axes.plot(1e3 * rig.FREE_LENGTH * (rig.P_NODE - 1) / rig.ELEMENTS, 0, "^", color=BAD, markersize=6)
        axes.plot(1e3 * rig.FREE_LENGTH, 0, "o", color=REFERENCE, markersize=5)
        axes.set(title=f"{i + 1}: {mode.hz:.0f} Hz, {mode.kind}", ylim=(-1.15, 1.15), yticks=[])
    for axes in figure.axes[3:]:
        axes.set_xlabel("along the beams [mm]")
    figure.suptitle("Fig. 16: modes of the reference system; triangle P, dot B")
    return figure


# --- synchronisation (Fig. 19) ----------------------------------------------------------------------------------------


def against_each_other(axes: Axes, record: study.Record, end: str, chosen: np.ndarray, look: dict[str, object]) -> None:
    """One side of the interface as a function of the other [µm]."""
    sides = (1e6 * record.signals[f"{name}.{end}"][chosen] for name in ("target", "measured.displacement"))
    axes.plot(*sides, **look)


def square_box(axes: Axes) -> None:
    """Equal limits, and the line on which both sides agree."""
    most = 1.1 * max(np.abs(line.get_data()).max() for line in axes.lines)
    axes.plot([-most, most], [-most, most], color=QUIET, linewidth=0.8, linestyle=":", zorder=0)
    axes.set(xlim=(-most, most), ylim=(-most, most), aspect="equal")


@styled
def synchronisation(records: dict[float, study.Record]) -> Figure:
    """Both interface coordinates at three frequencies, soon after the adaption has begun and at the end."""
    figure = new_figure(9.5, 6.6)
    panels = figure.subplots(2, len(records), squeeze=False)
    for column, (hz, record) in enumerate(records.items()):
        early = (record.adapting > 0.3) & (record.adapting < 0.3 + 2 / hz)
        late = record.time > record.time[-1] - 20 / hz
        for row, end in enumerate(study.ENDS):
            axes = panels[row, column]
            against_each_other(axes, record, end, early, {"color": MEASURED, "linewidth": 0.8, "label": "after 0.3 s"})
            against_each_other(axes, record, end, late, {"color": TARGET, "linewidth": 1.6, "label": "after 10 s"})
            square_box(axes)
            axes.set(title=f"{hz:g} Hz, actuator {end}", xlabel="virtual [µm]", ylabel="specimen [µm]")
    panels[0, 0].legend(loc="upper left")
    return figure


# --- the assembled structure (Fig. 20) --------------------------------------------------------------------------------


def stepped_sine(frequencies: np.ndarray, changes: dict[str, object] | None = None) -> np.ndarray:
    """H_Pz, H_Bz, H_Bα of the hybrid test, (frequencies, 3): a test for each frequency."""
    return np.array([study.run(study.sine(float(hz), changes)).receptances(hz) for hz in frequencies])


@cache
def stepped(scheme: str = "exact") -> np.ndarray:
    """The stepped sine of Fig. 20 with a scheme of the virtual beam; with the paper's at every third frequency."""
    return stepped_sine(at_frequencies(scheme), {"virtual.scheme": scheme})


def at_frequencies(scheme: str) -> np.ndarray:
    return STEPPED if scheme == "exact" else STEPPED[::3]


@styled
def frequency_responses() -> Figure:
    """Sizes and phases against the assembled structure, with the exact scheme and with the paper's."""
    figure = new_figure(10.4, 9.5)
    panels = figure.subplots(3, 2, sharex=True, width_ratios=(1.5, 1))
    fine = grid(30, 1000, 1500)
    reference = study.assembled(fine)
    looks = (("exact", TARGET, "o", "hybrid test"), ("newmark", BAD, "+", "hybrid test, Newmark at 0.2 ms"))
    for i, (size, phase) in enumerate(panels):
        size.semilogy(fine, np.abs(reference[:, i]), color=REFERENCE, linewidth=2.0, label="assembled structure")
        phase.plot(fine, degrees(reference[:, i]), color=REFERENCE, linewidth=2.0)
        for scheme, colour, mark, name in looks:
            hz, found = at_frequencies(scheme), stepped(scheme)[:, i]
            near = np.interp(hz, fine, degrees(reference[:, i]))
            turns = np.round((np.degrees(np.angle(found)) - near) / 360.0)
            size.semilogy(hz, np.abs(found), mark, color=colour, markersize=4.5, label=name)
            phase.plot(hz, np.degrees(np.angle(found)) - 360.0 * turns, mark, color=colour, markersize=4.5)
        size.set(ylabel=NAMES[i], xscale="log", xlim=(30, 1000))
        phase.set(ylabel="phase [°]")
    panels[0, 0].legend(loc="lower left")
    for axes in panels[2]:
        axes.set_xlabel("frequency [Hz]")
        named_ticks(axes)
    return figure


@styled
def response_errors() -> Figure:
    """What the differences of Fig. 20 are made of."""
    figure = new_figure(9.5, 4.0)
    axes = figure.subplots()
    fine = grid(30, 1000, 1500)
    reference, measured = study.assembled(fine), stepped()
    for scheme, colour, name in (("newmark", BAD, "Newmark"), ("exact", GOOD, "exact, inputs linear between samples")):
        error = np.abs(study.emulated(fine, scheme) / reference - 1).max(axis=1)
        axes.semilogy(fine, error, color=colour, linewidth=1.2, label=f"integration at 0.2 ms, {name}")
    whole = np.abs(measured / study.assembled(STEPPED) - 1).max(axis=1)
    few = at_frequencies("newmark")
    newmark = np.abs(stepped("newmark") / study.assembled(few) - 1).max(axis=1)
    left = np.abs(measured / study.emulated(STEPPED, "exact") - 1).max(axis=1)
    axes.semilogy(few, newmark, "+", color=BAD, markersize=5, label="hybrid test, Newmark")
    axes.semilogy(STEPPED, whole, "o", color=TARGET, markersize=3.5, label="hybrid test, exact scheme")
    axes.semilogy(STEPPED, left, "x", color=MEASURED, markersize=4, label="the same without its integration error")
    axes.set(xlabel="frequency [Hz]", ylabel="largest relative error", xscale="log", xlim=(30, 1000), ylim=(1e-5, 3))
    named_ticks(axes)
    axes.legend(loc="lower right", ncols=2)
    return figure


@styled
def kinematics_only(frequencies: np.ndarray, measured: np.ndarray) -> Figure:
    """The plate's inertia taken for the specimen's: another structure is tested, perfectly synchronised."""
    figure = new_figure(9.5, 3.8)
    axes = figure.subplots()
    fine = grid(50, 600, 1200)
    reference = np.abs(study.assembled(fine)[:, 1])
    axes.semilogy(fine, reference, color=REFERENCE, linewidth=2.0, label="assembled structure")
    heavier = np.abs(study.emulated(fine, "continuous", with_plate=True)[:, 1])
    axes.semilogy(fine, heavier, "--", color=MEASURED, linewidth=1.2, label="the same with the plate's mass at B")
    found = np.abs(measured[:, 1])
    axes.semilogy(frequencies, found, "o", color=BAD, markersize=4, label="hybrid test, kinematics only")
    axes.set(xlabel="frequency [Hz]", ylabel=NAMES[1], xlim=(50, 600))
    axes.legend()
    return figure


@styled
def plate_that_bends(found: dict[tuple[float, float, int], study.Flexible]) -> Figure:
    """Errors of the hybrid test with plates taken for rigid, and through their reduced model."""
    figure = new_figure(9.5, 3.4)
    panels = figure.subplots(1, 3, sharey=True)
    labels = sorted({(hz, height) for hz, height, _ in found})
    for axes, name, title in zip(
        panels, ("force", "displacement", "response"), ("force", "displacement", "H of the hybrid test"), strict=True
    ):
        for offset, modes_kept, colour, label in ((-0.2, 0, BAD, "taken for rigid"), (0.2, 2, GOOD, "two modes")):
            sizes = [100 * getattr(found[hz, height, modes_kept], name) for hz, height in labels]
            axes.bar(np.arange(len(labels)) + offset, sizes, 0.4, color=colour, label=label)
        axes.set(title=f"error of {title}", yscale="log", ylim=(0.1, 200))
        axes.set_xticks(range(len(labels)), [f"{hz:g} Hz\n{1e3 * height:g} mm" for hz, height in labels])
    panels[0].set_ylabel("[%]")
    panels[0].legend(loc="upper left")
    return figure


@cache
def plates() -> dict[tuple[float, float, int], study.Flexible]:
    """By frequency [Hz], height of the plate [m] and modes of its reduced model."""
    cases = [(hz, height, kept) for hz in (320.0, 800.0) for height in (6e-3, 3e-3) for kept in (0, 2)]
    return {case: study.flexible(*case) for case in cases}


# --- learning curves (Fig. 21) ----------------------------------------------------------------------------------------


@cache
def learning() -> dict[tuple[str, float], list[tuple[str, study.Record]]]:
    """Records by law and frequency, each with what was varied."""
    cases = {
        "LMS": [(f"T = {memory}", study.lms(memory)) for memory in LMS_MEMORIES],
        "RLS": [(f"μ = {factor:g}", study.rls(factor)) for factor in RLS_FACTORS],
    }
    for law, varied in cases.items():
        varied.append((AUTOMATIC, study.automatic(law)))
    return {
        (law, hz): [(name, study.run(study.sine(hz, changes))) for name, changes in varied]
        for law, varied in cases.items()
        for hz in SHOWN
    }


@styled
def learning_curves(found: dict[tuple[str, float], list[tuple[str, study.Record]]]) -> Figure:
    figure = new_figure(9.5, 6.4)
    panels = figure.subplots(2, len(SHOWN), sharex=True, squeeze=False)
    for (law, hz), records in found.items():
        axes = panels[("LMS", "RLS").index(law), SHOWN.index(hz)]
        for i, (name, record) in enumerate(records):
            time, curve = study.learning_curve(record, study.largest_ends(record.definition))
            colour = MEASURED if name == AUTOMATIC else COLOURS[i]
            axes.semilogy(time, curve, color=colour, linewidth=1.8 if name == AUTOMATIC else 1.1, label=name)
            if record.tripped:
                axes.plot(time[-1], curve[-1], "x", color=BAD, markersize=7)
        axes.set(title=f"{law}, {hz:g} Hz", xlim=(0, 10))
    for axes in panels[:, 0]:
        axes.set_ylabel("NMSE")
        axes.legend(loc="upper right")
    for axes in panels[1]:
        axes.set_xlabel("time since the adaption began [s]")
    return figure


# --- square wave (Fig. 22) --------------------------------------------------------------------------------------------


@styled
def square_waves(records: dict[int, study.Record]) -> Figure:
    figure = new_figure(9.5, 6.6)
    top, bottom = figure.subfigures(2, 1)
    axes = bottom.subplots()
    panels = top.subplots(1, len(records), squeeze=False)[0]
    for panel, colour, (harmonics, record) in zip(panels, COLOURS[1:], records.items(), strict=False):
        period = record.time > record.time[-1] - 5 / record.definition.excitation.virtual.frequency
        against_each_other(panel, record, "1", period, {"color": colour, "linewidth": 0.9})
        square_box(panel)
        panel.set(title=f"harmonics: {harmonics}", xlabel="virtual [µm]", ylabel="specimen [µm]")
        largest, gap = study.square_floor(record.definition)
        axes.semilogy(
            *study.learning_curve(record, largest), color=colour, linewidth=1.2, label=f"harmonics: {harmonics}"
        )
        axes.axhline((gap**2).sum(axis=1).max() / (largest @ largest), color=colour, linewidth=1.0, linestyle="--")
    axes.set(xlabel="time since the adaption began [s]", ylabel="NMSE", xlim=(0, 12))
    axes.legend(title="dashed: what the other harmonics leave")
    return figure


# --- all --------------------------------------------------------------------------------------------------------------


@cache
def sines() -> dict[float, study.Record]:
    return {hz: study.run(study.sine(hz)) for hz in SHOWN}


@cache
def squares() -> dict[int, study.Record]:
    return {harmonics: study.run(study.square(harmonics)) for harmonics in NUMBERS_OF_HARMONICS}


def without_compensation() -> Figure:
    some = STEPPED[(STEPPED >= 50) & (STEPPED <= 600)][::2]
    return kinematics_only(some, stepped_sine(some, {"rig.parameters.compensation": 0}))


FIGURES = {
    "figure_14_receptances": lambda: receptances(),
    "figure_16_modes": lambda: mode_shapes(),
    "figure_19_synchronisation": lambda: synchronisation(sines()),
    "figure_20_responses": lambda: frequency_responses(),
    "figure_20_errors": lambda: response_errors(),
    "figure_21_learning_curves": lambda: learning_curves(learning()),
    "figure_22_square_wave": lambda: square_waves(squares()),
    "kinematics_only": without_compensation,
    "plate_that_bends": lambda: plate_that_bends(plates()),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
