"""Published numbers beside ours, as rows of the table in README.md; ``figures.py --readme`` writes them there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from study import HERE, Stepped, models, sampled_models, single_gust

import halfreal
from halfreal.stability import performance
from halfreal.studies import SHAKER_RANGES, CompensatorBands, compensator_bands

LINES = np.linspace(0.25, 15.0, 119)
LIFT, RISE = 40.0, 20.0
"""Of the wing at full airspeed [N], and how long the airspeed rises [s]: ours."""
HEAD = ["| quantity | paper | here |", "|---|---|---|"]
BEGIN, END = "<!-- numbers: written by figures.py --readme -->", "<!-- end of the numbers -->"


@cache
def bands(factor: float, rig: str = "nominal") -> CompensatorBands:
    """Of an uncertain shaker, each range so many times the printed one."""
    nominal = halfreal.load(HERE / "stepped_bare.toml").rig
    ranges = {name: factor * part for name, part in SHAKER_RANGES.items()}
    return compensator_bands(nominal.shaker, nominal.drive, models()[1], LINES, ranges=ranges, rig=rig)  # type: ignore[arg-type]


def row(quantity: str, paper: str, here: str) -> str:
    return f"| {quantity} | {paper} | {here} |"


def percent(values: np.ndarray | float, digits: str = ".2g") -> str:
    return f"{100 * float(np.mean(values)):{digits}} %"


def model_rows() -> list[str]:
    """What the model of shaker and drive gives by itself."""
    worst = {c: np.abs(performance(*models(8000.0, c), LINES).ratio).max() - 1.0 for c in (800.0, 1000.0)}
    lead = {c: np.degrees(np.angle(performance(*models(8000.0, c), np.array([10.0])).ratio[0])) for c in (800.0,)}
    five, sampled = (performance(*known, np.array([5.0])).ideal[0] for known in (models(), sampled_models()))
    one, wide, wider = bands(1.0), bands(3.6), bands(4.0)
    both, twice = bands(1.0, "uncertain"), bands(1.85, "uncertain")
    most = {c: np.abs(performance(*models(8000.0, c), np.array([15.0])).ratio[0]) for c in (300.0, 1000.0)}
    phase = np.degrees(np.angle(performance(*models(8000.0, 200.0), LINES).ratio))
    turns = LINES[np.flatnonzero(phase < 0.0)[0]]
    return [
        row(
            "Fig. 3, D_a/D_n at 15 Hz, c_n = 300 and 1000 N s/m",
            "5 and 13",
            f"{most[300.0]:.1f} and {most[1000.0]:.1f}",
        ),
        row("Fig. 4, lead turns to lag, c_n = 200 N s/m", "11 Hz", f"{turns:.1f} Hz"),
        row(
            "Fig. 6, no compensation, largest amplitude error to 15 Hz",
            "1280 %",
            f"{100 * worst[800.0]:.0f} %; {100 * worst[1000.0]:.0f} % for c_n = 1000 N s/m",
        ),
        row("Fig. 6, no compensation, lead at 10 Hz", "38°", f"{lead[800.0]:.1f}°"),
        row(
            "P_id at 5 Hz by the model; with the drive as it is sampled",
            "–",
            "; ".join(f"{abs(one):.2f}, {-np.degrees(np.angle(one)):.1f}° lag" for one in (five, sampled)),
        ),
        row(
            "Fig. 6, shaker uncertain by 1 to 25 %, largest D_a/D_n with P_id",
            "3.3",
            f"{one.worst_gain:.2f}, {wide.worst_gain:.2f} and {wider.worst_gain:.2f} with the ranges printed, 3.6 and "
            f"4 times as wide; if the rig is drawn too, {both.worst_gain:.1f}, and {twice.worst_gain:.1f} with 1.85 "
            "times",
        ),
        row(
            "Fig. 6, opposed to D_n",
            "from 11.6 Hz",
            f"never to 15 Hz, from {wide.out_of_phase_from:.1f} and {wider.out_of_phase_from:.1f} Hz; if the rig is "
            f"drawn too, never, and from {twice.out_of_phase_from:.1f} Hz",
        ),
    ]


def errors(ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Amplitude error, and phase error [deg]."""
    return np.abs(np.abs(ratio) - 1.0), np.abs(np.degrees(np.angle(ratio)))


def stepped_rows(tests: dict[str, Stepped]) -> list[str]:
    """Of the stepped gusts before the table is tuned on the rig."""
    bare, others = tests["no compensation"].ratio, list(tests.items())[1:]
    lead, error = np.degrees(np.angle(bare)), np.abs(bare) - 1.0

    def each(told: object) -> str:
        return "; ".join(f"{name} {told(*errors(test.ratio))}" for name, test in others)  # type: ignore[operator]

    return [
        row("Fig. 9 (b), no compensation, lead at 5 and 8 Hz", "31° and 38°", f"{lead[4]:.1f}° and {lead[7]:.1f}°"),
        row(
            "Fig. 10, no compensation, amplitude error at 1 and 11 Hz",
            "49 % and 400 %",
            f"{percent(error[0])} and {percent(error[10], '.3g')}",
        ),
        row(
            "Fig. 10, with P_id, amplitude error on average to 11 Hz",
            "2.3 % (tuned)",
            each(lambda amplitude, phase: percent(amplitude[:11])),
        ),
        row(
            "Fig. 10, the same to 15 Hz",
            "not measured",
            each(lambda amplitude, phase: percent(amplitude)),
        ),
        row(
            "Fig. 10, with P_id, phase error to 8 Hz",
            "1° (tuned)",
            each(lambda amplitude, phase: f"{phase[:8].max():.1f}°"),
        ),
        row(
            "Fig. 10, with P_id, phase error at 11 Hz",
            "20° (tuned)",
            each(lambda amplitude, phase: f"{phase[10]:.1f}°"),
        ),
    ]


def tuning_rows(tuning: Sequence[Stepped]) -> list[str]:
    """Of the continuous model's table on the sampled drive, tuned on the rig."""
    first, once, twice, other = tuning
    at = twice.compensator[4]

    def told(ratio: np.ndarray) -> str:
        amplitude, phase = errors(ratio)
        return f"{percent(amplitude[:11])} and {phase[:11].mean():.2f}° to 11 Hz, {percent(amplitude)} to 15 Hz"

    return [
        row(
            "Fig. 9 (c), compensator at 5 Hz, tuned on the rig",
            "1.15, 52° lag",
            f"{abs(at):.2f}, {-np.degrees(np.angle(at)):.1f}° lag",
        ),
        row("Fig. 10, sampled drive, table of the continuous model, average errors", "–", told(first.ratio)),
        row("the same, table corrected by one record", "–", told(once.ratio)),
        row("the same, corrected by two records", "2.3 % and 1° to 20°", told(twice.ratio)),
        row("the same table in a test with other noise", "–", told(other.ratio)),
        row("the same, without the noise of the displacement sensor", "–", told(other.true_ratio)),
    ]


def drift_row(run: halfreal.Run) -> str:
    """How the mean of d_a follows that of d_n while the airspeed rises, and afterwards."""

    def off(first: float, last: float) -> float:
        kept = (run.time >= first) & (run.time < last)
        moved, wanted = (run.signals[name].values[kept].mean() for name in ("rig.displacement", "target"))
        return float(100 * (moved / wanted - 1.0))

    here = f"{off(RISE - 10.0, RISE):+.1f} % while it rises, {off(RISE + 5.0, RISE + 10.0):+.1f} % afterwards"
    return row("Fig. 9 (a), mean of d_a against that of d_n, lift by the airspeed", "follows", here.replace("-", "−"))


def gust_rows() -> list[str]:
    """Of single gusts of 5 Hz: the peak with c_n = 800 instead of 200 N s/m, for k_n = 100 and 8000 N/m."""
    told = []
    for coupling, name in (("stepped_narrow", "table, as in the paper"), ("single_gust", "P_id in the whole band")):
        runs = {(k, c): single_gust(k, c, coupling).signals for k in (100.0, 8000.0) for c in (200.0, 800.0)}
        moved, wanted = (
            {device: np.abs(signals[channel].values).max() for device, signals in runs.items()}
            for channel in ("rig.displacement", "target")
        )
        changes = [f"{100 * (moved[k, 800.0] / moved[k, 200.0] - 1.0):.0f} %" for k in (100.0, 8000.0)]
        over = [f"{round(100 * (moved[device] / wanted[device] - 1.0)):+d} %" for device in runs]
        here = f"{' and '.join(changes)}; d_a over d_n at the peak {', '.join(over)}"
        told.append(
            row(f"Fig. 12, peak of d_a, c_n from 200 to 800: {name}", "−64 % and −36 %", here.replace("-", "−"))
        )
    return told


def all_rows(tests: dict[str, Stepped], tuning: Sequence[Stepped], airspeed: halfreal.Run) -> list[str]:
    return [*HEAD, *model_rows(), drift_row(airspeed), *stepped_rows(tests), *tuning_rows(tuning), *gust_rows()]


def into_readme(rows: Sequence[str]) -> None:
    """Write the table between its marks in README.md."""
    readme = HERE / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    behind = rest.partition(END)[2]
    readme.write_text("\n".join([f"{before}{BEGIN}", *rows, f"{END}{behind}"]), encoding="utf-8")
