"""A run as one HTML page: verdict, figures, plots, definition, papers and provenance.

The page stands alone: no scripts, nothing fetched, plots inside; it prints, and it opens anywhere and years later.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..citations import PAPERS
from ..records.run_file import definition_hash
from ..records.whole_file import whole_file
from ..runs.run import Run
from . import measures as errors
from . import plots, series
from .series import display
from .style import as_svg
from .verdict import about_loop, verdict
from .wording import NONE, date, in_time, number, percent, sentence

POLES_SHOWN = 12
EVENTS_SHOWN = 100
IN_THE_HEAD = ("title", "description")
NOTES = {
    "Spectral radius": "of the loop over one tick; stable below 1",
    "Peak target": "largest target at the interface",
    "Synchronisation error": "NRMSE of measured against target",
    "Remaining delay": "of measured behind target, by the FEI",
    "Amplitude error": "of measured against target, by the FEI",
    "Fidelity error": "NRMSE of target against the emulated system",
}
"""What the key figures mean."""


@dataclass(frozen=True)
class Picture:
    """A plot with its caption, ready for the page."""

    svg: str
    caption: str


def write(run: Run, path: str | Path, overwrite: bool = False, from_time: float = 0.0) -> None:
    """Write the report of ``run``, whole or not at all; the error measures count from ``from_time`` [s] on."""
    page = render(run, from_time)
    with whole_file(path, overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8")


def render(run: Run, from_time: float = 0.0) -> str:
    """The report's HTML."""
    import jinja2

    # Titles, reasons and channel names are other people's text: everything is escaped unless it is our own SVG.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "number": number,
        "in_time": in_time,
        "sentence": sentence,
        "date": date,
    }
    rows = errors.measures(run, from_time)
    poles = series.poles(run.stability, run.step) if run.stability else []
    return environment.get_template("report.html.j2").render(
        run=run,
        description=str(run.definition.get("description") or ""),
        verdict=verdict(run),
        about_loop=about_loop(run.stability) if run.stability else "",
        figures=[figure for figure in errors.key_figures(run, from_time) if figure[0] in NOTES],
        notes=NOTES,
        rows=rows,
        from_time=from_time,
        pictures=pictures(run, rows, from_time),
        poles=poles[:POLES_SHOWN],
        margins=margins(run),
        poles_in_all=len(poles),
        definition=definition_sections(with_units(run.definition)),
        channels=[channel_row(name, signal.unit, signal.values) for name, signal in run.signals.items()],
        events=run.events[:EVENTS_SHOWN],
        papers=papers(run, rows),
        hash=definition_hash(run.definition),
    )


# --- what the page says ---------------------------------------------------------------------------------------------


def pictures(run: Run, rows: tuple[errors.Measures, ...], from_time: float) -> dict[str, list[Picture]]:
    """All plots the record has data for, by section."""
    sections = ("response", "synchronisation", "specimen", "command", "poles", "excitation", "coupling")
    made: dict[str, list[Picture]] = {section: [] for section in sections}

    def add(section: str, caption: str, plot: Callable[[], Figure]) -> None:
        try:
            figure = plot()
        except plots.NothingToPlotError:
            return
        count = sum(len(found) for found in made.values())
        made[section].append(Picture(as_svg(figure, caption, f"p{count}"), caption))

    limit = series.trip_limit(run, "command")
    start = from_time if len(run.time) and from_time <= run.time[-1] else 0.0
    for dof in range(1, run.interface + 1):
        of = "" if run.interface == 1 else f", degree of freedom {dof}"
        delay = next((row.delay for row in rows if row.comparison == "synchronisation" and row.dof == dof), np.nan)
        pure = delay if np.isfinite(delay) and abs(delay) >= 0.05 * run.step else None
        add(
            "response",
            f"Virtual part (target), specimen (measured) and emulated system (reference){of}; dashed red: events.",
            partial(plots.time_history, run, dof),
        )
        add(
            "synchronisation",
            f"Measured against target{of}: a delay opens the line to an ellipse, a wrong amplitude turns it.",
            partial(plots.synchronisation, run, dof, pure, start),
        )
        add("specimen", f"Hysteresis of the specimen{of}.", partial(plots.force_displacement, run, dof, start))
        add(
            "command",
            f"Command asked for by the coupling and applied by the guard{of}.",
            partial(plots.command, run, dof, None if limit is None else (-limit, limit)),
        )
    add("poles", "Poles of the loop that ran, linearised; red: growing.", partial(plots.poles, run))
    add("excitation", "What drives the test.", partial(plots.excitation, run))
    inside = [name for name in run.signals if name.startswith("coupling.")]
    add("coupling", "What the coupling adapted while it ran.", partial(plots.channels, run, inside))
    return made


def margins(run: Run) -> list[tuple[str, str, str]]:
    """Names, values and meanings of the margins that are known."""
    known = run.stability
    if known is None:
        return []
    rows = (
        ("critical delay", known.critical_delay, "s", "of the rig, at which the loop loses stability"),
        ("delay margin", known.delay_margin, "s", "further delay that the loop bears"),
        ("phase margin", known.phase_margin_deg, "°", "at the crossover that binds"),
        ("gain margin", known.gain_margin_db, "dB", "a stiffer specimen by this much"),
    )
    return [
        (name, in_time(value) if unit == "s" else f"{number(value)} {unit}", note)
        for name, value, unit, note in rows
        if value is not None
    ]


def channel_row(name: str, unit: str, values: np.ndarray) -> tuple[str, str, str, str, str]:
    """A channel's name, unit, least, largest and root mean square."""
    kept = values[np.isfinite(values)].astype(float)
    shown = display(unit, series.peak(kept))
    if not len(kept):
        return name, shown.label, NONE, NONE, NONE
    with np.errstate(over="ignore"):
        figures = (kept.min(), kept.max(), np.sqrt(np.mean(kept**2)))
    low, high, rms = (number(shown.factor * float(value)) for value in figures)
    return name, shown.label, low, high, rms


def papers(run: Run, rows: tuple[errors.Measures, ...]) -> list[str]:
    """Papers of the run's methods and of the measures; a key we have no paper for stands for itself."""
    keys = dict.fromkeys((*run.references, *(errors.REFERENCES if rows else ())))
    return [PAPERS.get(key, key) for key in keys]


def with_units(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The normalised definition with its quantities as text; as it is, in SI units, if this version cannot read it."""
    from ..definition.definition import Definition
    from ..definition.faults import DefinitionError
    from ..definition.load import from_json, to_toml

    try:
        return tomllib.loads(to_toml(from_json(Definition, definition)))
    except DefinitionError:
        return definition


def definition_sections(definition: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The normalised definition as tables: one for the plain values on top, one for each part."""
    top = {key: value for key, value in definition.items() if not _nested(value) and key not in IN_THE_HEAD}
    sections = [("test", _entries(top))]
    sections += [(key, _entries(value)) for key, value in definition.items() if _nested(value)]
    return [section for section in sections if section[1]]


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value)
    )


def _entries(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        pairs = [(f"{path}.{key}" if path else str(key), inner) for key, inner in value.items()]
    elif _nested(value):
        pairs = [(f"{path}[{i + 1}]", inner) for i, inner in enumerate(value)]
    else:
        return [(path, _value(value))]
    return [entry for name, inner in pairs if not _absent(inner) for entry in _entries(inner, name)]


def _absent(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, list | tuple) and not value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value, 8)
    if isinstance(value, list | tuple | np.ndarray):
        size = np.shape(value) if len({np.shape(item) for item in value}) <= 1 else (len(value),)
        if int(np.prod(size)) == 1:
            return _value(value[0])
        if int(np.prod(size)) > 16:
            return f"{' × '.join(map(str, size))} values"
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return str(value)
