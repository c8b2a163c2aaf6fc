"""Rehearse the beam test many times over and draw what the paper's section 5 shows.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out; about a minute
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
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


@styled
def frequency_responses(measured: np.ndarray) -> Figure:
    """Sizes against the assembled structure, and what the differences are made of."""
    figure = new_figure(9.5, 10)
    panels = figure.subplots(4, 1, sharex=True, height_ratios=(1, 1, 1, 1.2))
    fine = np.geomspace(30, 1000, 1500)
    reference = study.assembled(fine)
    for i, axes in enumerate(panels[:3]):
        axes.semilogy(fine, np.abs(reference[:, i]), color=REFERENCE, linewidth=2.0, label="assembled structure")
        axes.semilogy(STEPPED, np.abs(measured[:, i]), "o", color=TARGET, markersize=3.5, label="hybrid test")
        axes.set(ylabel=NAMES[i])
    panels[0].legend(loc="lower left")
    axes = panels[3]
    for scheme, colour, name in (("newmark", BAD, "Newmark"), ("exact", GOOD, "exact, inputs linear between samples")):
        error = np.abs(study.emulated(fine, scheme) / reference - 1).max(axis=1)
        axes.semilogy(fine, error, color=colour, linewidth=1.2, label=f"integration at 0.2 ms, {name}")
    whole = np.abs(measured / study.assembled(STEPPED) - 1).max(axis=1)
    left = np.abs(measured / study.emulated(STEPPED, "exact") - 1).max(axis=1)
    axes.semilogy(STEPPED, whole, "o", color=TARGET, markersize=3.5, label="hybrid test, exact scheme")
    axes.semilogy(STEPPED, left, "x", color=MEASURED, markersize=4, label="the same without its integration error")
    axes.set(xlabel="frequency [Hz]", ylabel="largest relative error", xscale="log", xlim=(30, 1000), ylim=(1e-5, 3))
    ticks = (30, 60, 100, 200, 300, 500, 1000)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.legend(loc="lower right", ncols=2)
    return figure


@styled
def kinematics_only(frequencies: np.ndarray, measured: np.ndarray) -> Figure:
    """The plate's inertia taken for the specimen's: another structure is tested, perfectly synchronised."""
    figure = new_figure(9.5, 3.8)
    axes = figure.subplots()
    fine = np.geomspace(50, 600, 1200)
    reference = np.abs(study.assembled(fine)[:, 1])
    axes.semilogy(fine, reference, color=REFERENCE, linewidth=2.0, label="assembled structure")
    heavier = np.abs(study.emulated(fine, "continuous", with_plate=True)[:, 1])
    axes.semilogy(fine, heavier, "--", color=MEASURED, linewidth=1.2, label="the same with the plate's mass at B")
    found = np.abs(measured[:, 1])
    axes.semilogy(frequencies, found, "o", color=BAD, markersize=4, label="hybrid test, kinematics only")
    axes.set(xlabel="frequency [Hz]", ylabel=NAMES[1], xlim=(50, 600))
    axes.legend()
    return figure


# --- learning curves (Fig. 21) ----------------------------------------------------------------------------------------


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


# --- numbers ----------------------------------------------------------------------------------------------------------


def tell(records: dict[float, study.Record], squares: dict[int, study.Record]) -> None:
    """The numbers of the README."""
    print("largest error of H_Pz, H_Bz, H_Bα, relative: integration apart from the rest; NMSE after 1, 2, 5, 10 s")
    for hz, record in records.items():
        reference, found = study.assembled(hz)[0], record.receptances(hz)
        errors = [np.abs(study.emulated(hz, s)[0] / reference - 1).max() for s in ("newmark", "exact")]
        left = np.abs(found / study.emulated(hz, "exact")[0] - 1).max()
        curve = [study.nmse_at(record, study.largest_ends(record.definition), t) for t in (1.0, 2.0, 5.0, 10.0)]
        told = "  ".join(f"{x:.1e}" for x in curve)
        print(f"  {hz:5g} Hz  Newmark {errors[0]:.2%}  exact {errors[1]:.2%}  left {left:.2%}  NMSE {told}")
    print("square wave: NMSE over the last 2 s, and what the harmonics left out leave")
    for harmonics, record in squares.items():
        largest, gap = study.square_floor(record.definition)
        last = record.gap_square[record.time > record.time[-1] - 2.0].max()
        floor = (gap**2).sum(axis=1).max()
        print(f"  {harmonics}  {last / (largest @ largest):.2e}  {floor / (largest @ largest):.2e}")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    def drawn(name: str, draw: Callable[[], Figure]) -> None:
        draw().savefig(folder / f"beam_{name}.png", dpi=110)
        print(folder / f"beam_{name}.png", flush=True)

    records = {hz: study.run(study.sine(hz)) for hz in SHOWN}
    squares = {harmonics: study.run(study.square(harmonics)) for harmonics in NUMBERS_OF_HARMONICS}
    tell(records, squares)
    drawn("synchronisation", lambda: synchronisation(records))
    drawn("square_wave", lambda: square_waves(squares))
    drawn("learning_curves", lambda: learning_curves(learning()))
    drawn("frequency_responses", lambda: frequency_responses(stepped_sine(STEPPED)))
    some = STEPPED[(STEPPED >= 50) & (STEPPED <= 600)][::2]
    drawn("kinematics_only", lambda: kinematics_only(some, stepped_sine(some, {"rig.parameters.compensation": 0})))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
