"""A run as one HTML page: verdict, figures, plots, definition, papers and provenance.

The page stands alone: no scripts, nothing fetched, plots inside; it prints, and it opens anywhere and years later.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from ..citations import paper
from ..definition.acceptance import Acceptance
from ..identification import specimen_met
from ..records.whole_file import whole_file
from ..runs.columns import Column, pieces
from ..runs.run import Run
from . import compare_html, learning, plots, realtime_plots, series, slow
from . import measures as errors
from .definitions import definition_sections, with_units
from .learning_plot import learning_curve
from .page import PACE, Pictures, fill
from .phases import phases
from .provenance import about, of_run
from .realtime import real_time
from .series import display
from .specimen import headline
from .specimen import table as specimen_table
from .style import MEASURED
from .verdict import about_loop, verdict
from .wording import NONE, in_time, number, scored

POLES_SHOWN = 12
EVENTS_SHOWN = 100
NOTES = {
    "Spectral radius": "of the loop over one tick; stable below 1",
    "Peak target": "largest target at the interface",
    "Synchronisation error": "NRMSE of measured against target",
    "Remaining delay": "of the measured motion relative to the target, by the FEI",
    "Amplitude error": "of the measured motion relative to the target, by the FEI",
    "Fidelity error": "NRMSE of the virtual part against the emulated system",
    errors.MODELLED: "NRMSE of the virtual part against the emulated system with the model of the specimen",
    **learning.NOTES,
}
"""What the key figures mean."""


def report(
    run: Run, path: str | Path, overwrite: bool = False, from_time: float = 0.0, compare: Run | None = None
) -> None:
    """Write the HTML report of a run.

    Parameters
    ----------
    run
        A rehearsal or a run.
    path
        The file to write; it is written completely or not at all.
    overwrite
        Whether an existing file is replaced.
    from_time
        Start of the error measures [s].
    compare
        Another run to compare with, such as the rehearsal.
    """
    page = render(run, from_time) if compare is None else compare_html.render(run, compare, from_time)
    with whole_file(path, overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8")


def render(run: Run, from_time: float = 0.0) -> str:
    """The report's HTML; a coupling that learns is judged by its last periods if ``from_time`` is left out."""
    from .structure import structure  # needs the compiler

    from_time = from_time or learning.since(run)
    rows = errors.measures(run, from_time)
    poles = series.poles(run.stability, run.step) if run.stability else []
    drawn = pictures(run, rows, from_time)
    return fill(
        Path(__file__).with_name("report.html.j2"),
        run=run,
        description=str(run.definition.get("description") or ""),
        verdict=verdict(run),
        about_loop=about_loop(run.stability) if run.stability else "",
        figures=[
            figure
            for figure in (*errors.key_figures(run, from_time, rows), *learning.figures(run, from_time))
            if figure[0] in NOTES
        ],
        notes=NOTES,
        rows=rows,
        scores=score_rows(run),
        compared=series.compared(run),
        from_time=from_time,
        structure=structure(run, drawn),
        pictures=drawn,
        phases=phases(run),
        real_time=real_time(run),
        slow=slow.slow_test(run),
        poles=poles[:POLES_SHOWN],
        margins=margins(run),
        two_ways=two_ways(run),
        poles_in_all=len(poles),
        definition=definition_sections(with_units(run.definition)),
        channels=[channel_row(name, signal.unit, signal.values) for name, signal in run.signals.items()],
        events=run.events[:EVENTS_SHOWN],
        papers=papers(run, rows),
        about=about(run),
        headline=headline(run),
        met=specimen_table(run),
        provenance=of_run(run),
    )


# --- what the page says ---------------------------------------------------------------------------------------------


def pictures(run: Run, rows: tuple[errors.Measures, ...], from_time: float) -> Pictures:
    """All plots the record has data for, by section."""
    made = Pictures(
        *("response", "synchronisation", "slow", "pace", "specimen", "command", "poles", "excitation", "coupling"),
        *("model", "inside", "plant"),
    )
    start = from_time if len(run.time) and from_time <= run.time[-1] else 0.0
    emulated = ", emulated system (reference)" if run.has("reference") else ""
    for dof in (i + 1 for i in run.interface.commanded_at):
        of = series.of_axis(run, dof)
        delay = next((row.delay for row in rows if row.comparison == "synchronisation" and row.dof == dof), np.nan)
        pure = delay if np.isfinite(delay) and abs(delay) >= 0.05 * run.step else None
        made.add_later(
            "response",
            f"Virtual part (target), specimen (measured){emulated}{of}; dashed red: events"
            f"{'; shaded: before and after the test' if series.leaves_the_test(run) else ''}.",
            partial(plots.time_history, run, dof),
        )
        made.add_later(
            "synchronisation",
            f"Measured against target{of}: a delay opens the line into an ellipse, an amplitude error rotates it.",
            partial(plots.synchronisation, run, dof, pure, start),
        )
        made.add_later(
            "specimen", f"Hysteresis of the specimen{of}.", partial(plots.force_displacement, run, dof, start)
        )
    forces = [name for name in run.along("measured.force").channels("measured.force") if name in run.signals]
    made.add_later("response", "Measured force over time.", partial(plots.channels, run, forces, MEASURED))
    made.add_later(
        "response",
        "Requested responses of the virtual part.",
        partial(plots.channels, run, series.responses(run)),
    )
    if others := series.auxiliary(run):
        made.add_later("response", "Auxiliary channels of the rig.", partial(plots.channels, run, others, MEASURED))
    for i, name in enumerate(run.interface.actuators.names):
        limit = series.command_limit(run, i + 1)
        of = "" if len(run.interface.actuators) == 1 else f", {series.moved(run)} {name}"
        made.add_later(
            "command",
            f"Command requested by the coupling and applied by the guard{of}.",
            partial(plots.command, run, i + 1, None if limit is None else (-limit, limit)),
        )
    made.add_later(
        "response",
        "Adaptation of the coupling: gap over target, and misfit of its transfer functions.",
        partial(learning_curve, run),
    )
    made.add_later("slow", "Duration of the ticks, and settling within them.", partial(slow.motion, run))
    made.add_later("pace", PACE, partial(realtime_plots.pace, run))
    made.add_later(
        "plant",
        "The rig as identified during the test: delay and gain, their distance from the checked range (1 at "
        "its edge), the used share of the checked margins (1 at the limit of stability), and the energy error.",
        partial(plots.channels, run, identified(run)),
    )
    made.add_later("poles", "Poles of the linearised loop; red: unstable.", partial(plots.poles, run))
    cut = "Open loop of the code that ran, opened at the command"
    several = ": eigenvalues, which determine stability" if len(run.interface.actuators) > 1 else ""
    made.add_later("poles", f"{cut}{several}; red and green: phase and gain margins.", partial(plots.bode, run))
    made.add_later(
        "poles", f"{cut}{several}; if L itself is stable it must not encircle −1.", partial(plots.nyquist, run)
    )
    made.add_later("excitation", "Excitation.", partial(plots.excitation, run))
    inside = [name for name in run.signals if name.startswith("coupling.")]
    if not learning.learns(run):
        made.add_later("coupling", "Adaptive parameters of the coupling.", partial(plots.channels, run, inside))
    made.draw()
    return made


def identified(run: Run) -> list[str]:
    """Channels of the rig as identified while the test ran, and the energy error next to them; none if it was not."""
    found = [name for name in run.signals if name.startswith("plant.")]
    return found + [name for name in run.signals if found and name.startswith("energy.error")]


def two_ways(run: Run) -> list[tuple[str, series.Pole, str]]:
    """The rightmost root of the delay equation and the pole of the loop that runs next to it, with delay margins."""
    known = run.stability
    if known is None or known.continuous is None or not np.isfinite(known.continuous.root):
        return []
    equation = known.continuous
    root = complex(equation.root.real, abs(equation.root.imag))
    found = series.poles(known, run.step)
    if not found:
        return []
    rows = (
        ("linearised loop", min(found, key=lambda pole: abs(pole.s - root)), known.delay_margin),
        ("delay equation", series.pole_of(root, run.step), equation.delay_margin),
    )
    return [(name, pole, NONE if margin is None else in_time(margin)) for name, pole, margin in rows]


def margins(run: Run) -> list[tuple[str, str, str]]:
    """Names, values and meanings of the margins that are known."""
    known = run.stability
    if known is None:
        return []
    at, inside = f"; {known.holds}" if known.holds else "", known.in_motion
    critical = "pure delay in place of the rig, without coupling, at which the loop becomes unstable"
    phase = "smallest of all gain crossovers, not necessarily that of the delay margin"
    rows: list[tuple[str, float | None, str, str]] = [
        ("critical delay", known.critical_delay, "s", critical),
        ("delay margin", known.delay_margin, "s", f"additional delay that the loop tolerates{at}"),
        ("phase margin", known.phase_margin_deg, "°", phase + at),
        (
            "gain margin",
            known.gain_margin_db,
            "dB",
            f"factor on the specimen's force, in force control on its displacement, that the loop tolerates{at}",
        ),
    ]
    if inside is not None:
        tried = "found by rehearsals with a changed rig"
        rows += [
            ("growth in motion", inside.exponent, "1/s", inside.text),
            ("delay margin in motion", inside.delay_margin, "s", f"additional delay; {tried}"),
            ("gain margin in motion", inside.gain_margin_db, "dB", f"factor on the specimen's force; {tried}"),
            ("lower gain margin in motion", inside.gain_reduction_db, "dB", f"factor below 1; {tried}"),
        ]
    return [
        (name, in_time(value) if unit == "s" else f"{number(value)} {unit}", note)
        for name, value, unit, note in rows
        if value is not None
    ]


def score_rows(run: Run) -> list[tuple[str, str, str, bool]]:
    """The criteria of the test's own: name, value with its unit, what is accepted, and whether it is."""
    limits = Acceptance.model_validate({"criteria": series.setting(run, "acceptance", "criteria") or {}}).criteria
    rows = []
    for name, one in run.scores.items():
        limit = limits.get(name)
        least, most = (-np.inf, np.inf) if limit is None else limit.bounds(one.unit)
        asked = "" if limit is None else limit.text(one.unit)
        rows.append((name, scored(one.value, one.unit), asked, limit is None or bool(least <= one.value <= most)))
    return rows


def channel_row(name: str, unit: str, values: Column) -> tuple[str, str, str, str, str]:
    """A channel's name, unit, least, largest and root mean square."""
    low, high, squares, count, largest = np.inf, -np.inf, 0.0, 0, 0.0
    for (piece,) in pieces(values):
        largest = max(largest, series.peak(piece))
        kept = piece[np.isfinite(piece)].astype(float, copy=False)
        low, high = min(low, kept.min(initial=np.inf)), max(high, kept.max(initial=-np.inf))
        with np.errstate(over="ignore"):
            squares, count = squares + np.sum(kept**2), count + len(kept)
    shown = display(unit, largest)
    if not count:
        return name, shown.label, NONE, NONE, NONE
    figures = [number(shown.factor * float(value)) for value in (low, high, np.sqrt(squares / count))]
    return name, shown.label, *figures  # type: ignore[return-value]


def papers(run: Run, rows: tuple[errors.Measures, ...]) -> list[str]:
    """Papers of the run's methods and of the measures; a key without a paper is shown as it is."""
    met = () if run.specimen_met is None else specimen_met.REFERENCES
    keys = dict.fromkeys((*run.references, *(errors.REFERENCES if rows else ()), *met))
    return [paper(key) for key in keys]
