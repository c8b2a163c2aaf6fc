"""Output of commands: the verdict as text and tables, numbers as JSON, progress of long work."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..runs.run import Accepted, Computer, Run
    from ..studies.check.check import Check
    from ..studies.check.motion import Motion


PACE = 0.3
"""Seconds between two lines of progress."""
TO_THE_END = "\x1b[K"
"""Clears the rest of a line of a terminal."""
COLOURS = {"GO": typer.colors.GREEN, "MARGINAL": typer.colors.YELLOW, "NO-GO": typer.colors.RED}


def console(error: bool = False) -> Any:
    """A terminal that shows text as it is: titles and names of users are no markup."""
    from rich.console import Console

    return Console(stderr=error, markup=False, emoji=False)


def with_progress(work: Any, *, quiet: bool, doing: str = "rehearsing") -> Any:
    """Show how far long work has come, on a terminal; nothing anywhere else.

    rich would do it with a thread, and would have to be loaded before the work is begun.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return work(None)
    shown_at = time.monotonic()

    def show(done: float, total: float) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at > PACE and total:
            shown_at = time.monotonic()
            print(
                f"\r{doing}: {min(100.0 * done / total, 100.0):.0f} %{TO_THE_END}", end="", file=sys.stderr, flush=True
            )

    try:
        return work(show)
    finally:
        print(f"\r{TO_THE_END}", end="", file=sys.stderr, flush=True)


def verdict_table(run: Run) -> Any:
    from rich.table import Table

    from . import learning
    from .measures import key_figures
    from .verdict import verdict
    from .wording import scored

    table, since = Table(show_header=False), learning.since(run)
    criteria = [(name, scored(one.value, one.unit)) for name, one in run.scores.items()]
    told = [("Verdict", verdict(run).word), *key_figures(run, since), *learning.figures(run, since), *criteria]
    for name, value in told:
        table.add_row(name, value)
    return table


def tell(answer: Check, title: str) -> None:
    """The verdict, why, and what would help."""
    typer.secho(answer.verdict, fg=COLOURS[answer.verdict], bold=True, nl=False)
    typer.echo(f"  {title}")
    for reason in answer.reasons:
        typer.echo(f"  - {reason}")
    typer.echo(f"  - binding constraint: {answer.binding}")
    if answer.influences:
        typer.echo(f"  - it depends most on {'; '.join(str(one) for one in answer.influences)}")
    if answer.remedies:
        typer.echo("What would make the loop stable:" if not answer.stable else "What would improve it:")
    for remedy in answer.remedies:
        typer.echo(f"  - {remedy}")


def judgement_lines(accepted: Accepted) -> list[str]:
    """The judgements on a test after its run and on its computer, each with its reasons."""
    if accepted.computer is None:
        return [f"  - {reason}" for reason in accepted.reasons]
    lines = [f"Test: {accepted.test}", *(f"  - {reason}" for reason in accepted.reasons)]
    lines.append(f"Computer: {accepted.computer.text}")
    return lines + [f"  - {detail}" for detail in accepted.computer.details]


def record_bytes(definition: Definition, answer: Check) -> float:
    """What a run of a test takes on the disk before it is packed: every row of every channel of its rehearsal."""
    from ..runs.rehearse import record_rows

    return 8.0 * record_rows(definition) * (len(answer.rehearsal.signals) + 1)


def record_text(definition: Definition, answer: Check, beside: Path) -> str:
    """The same as text, with further files."""
    free = shutil.disk_usage(beside.absolute().parent).free
    return (
        f"A run needs up to {record_bytes(definition, answer) / 1e6:,.1f} MB of disk space; "
        f"{free / 1e6:,.0f} MB are free"
    )


def check_json(answer: Check, definition: Definition) -> dict[str, Any]:
    from ..studies.cycles.as_json import cycle_json

    linearisation, stability = answer.linearisation, answer.stability
    margin, gains = (stability.margin, stability.gains) if linearisation.stable else (None, None)
    poles = zip(
        linearisation.frequency_hz.tolist(),
        linearisation.damping.tolist(),
        linearisation.continuous.tolist(),
        strict=True,
    )
    return {
        "verdict": answer.verdict,
        "reasons": list(answer.reasons),
        "remedies": list(answer.remedies),
        "binding_constraint": answer.binding,
        "binding_constraint_depends_on": {one.place: one.share for one in answer.influences},
        "findings": list(answer.findings),
        "spectral_radius": linearisation.spectral_radius,
        "critical_delay_s": stability.critical_delay,
        "rig_lag_s": stability.rig_lag,
        "rig_lag_in_slow_motion_s": None if stability.lag is None else stability.lag.latest()[0],
        "delay_margin_share_of_lag": None if margin is None else stability.delay_share,
        "delay_margin_s": None if margin is None else margin.critical_delay,
        "phase_margin_deg": None if margin is None else margin.phase_margin_deg,
        "gain_margin_db": None if gains is None else gains.gain_margin_db,
        "gain_reduction_db": None if gains is None else gains.gain_reduction_db,
        "margins_hold": stability.holds,
        "in_motion": None if answer.motion is None else motion_json(answer.motion),
        "delay_equation": _delay_equation(answer.rehearsal),
        "rehearsal": {"outcome": answer.rehearsal.outcome, "reason": answer.rehearsal.reason},
        "limits_used": dict(answer.rehearsal.limits_used),
        "limits_used_with_other_noise": None if answer.peaks is None else answer.peaks.largest_limits(),
        "probability_of_a_trip": None if answer.peaks is None else answer.peaks.trips(),
        "ranges_used": None if answer.peaks is None else answer.peaks.largest_ranges(),
        "criteria": dict(answer.rehearsal.scores),
        "record_bytes": record_bytes(definition, answer),
        "amplitude_factor_at_loss_of_stability": None if answer.nonlinear is None else answer.nonlinear.factor,
        "limit_cycles": None if answer.free_motion is None else [cycle_json(one) for one in answer.free_motion.cycles],
        "amplitude_margin": None if answer.free_motion is None else answer.free_motion.ratio,
        "probability_of_instability": None if answer.uncertainty is None else answer.uncertainty.probability,
        "poles": [
            {"frequency_hz": frequency, "damping": damping, "real_per_s": pole.real, "imaginary_per_s": pole.imag}
            for frequency, damping, pole in poles
        ],
    }


def motion_json(found: Motion) -> dict[str, Any]:
    """A test in motion, for programs."""
    margins = found.margins
    return {
        "growth_per_s": found.defined.exponent,
        "unstable": found.defined.unstable,
        "duration_s": found.duration,
        "delay_margin_s": None if margins is None else margins.delay,
        "delay_searched_s": None if margins is None else margins.searched_delay,
        "gain_margin_db": None if margins is None else margins.gain_margin_db,
        "lower_gain_margin_db": None if margins is None else -margins.gain_reduction_db,
        "promises": [
            {
                "acceptance": one.name,
                "additional_delay_s": one.trial.delay,
                "gain": one.trial.gain,
                "kept": one.kept,
                "stable_up_to": one.margin,
                "growth_per_s": one.trial.exponent,
            }
            for one in found.promises
        ],
    }


def _delay_equation(run: Run) -> dict[str, Any] | None:
    known = None if run.stability is None else run.stability.continuous
    if known is None:
        return None
    return {
        "summary": known.text,
        "verdict": known.verdict,
        "root_real_per_s": known.root.real,
        "root_imaginary_per_s": known.root.imag,
        "delay_margin_s": known.delay_margin,
    }


def run_json(run: Run, path: Path) -> dict[str, Any]:
    from .measures import measures

    return {
        "file": str(path),
        "title": run.title,
        "kind": run.kind,
        "rig": dict(run.rig),
        "about": dict(run.about),
        "verdict": run.verdict or None,
        "reasons": list(run.reasons),
        "remedies": list(run.remedies),
        "outcome": run.outcome,
        "reason": run.reason,
        "integrity": None if run.integrity is None else run.integrity.text,
        "stable": None if run.stability is None else run.stability.stable,
        "spectral_radius": None if run.stability is None else run.stability.spectral_radius,
        "accepted": None if run.accepted is None else run.accepted.word == "ACCEPTED",
        "accepted_because": [] if run.accepted is None else list(run.accepted.because),
        "test_accepted": None if run.accepted is None else (run.accepted.test or run.accepted.word) == "ACCEPTED",
        "computer": None if run.accepted is None else computer_json(run.accepted.computer),
        "specimen_met": None if run.specimen_met is None else finite(run.specimen_met),
        "rests_on_a_model": run.rests_on_a_model,
        "events": [{"time_s": e.time, "channel": e.channel, "text": e.text} for e in run.events],
        "measures": finite(measures(run)),
        "criteria": {name: finite(one) for name, one in run.scores.items()},
    }


def computer_json(computer: Computer | None) -> dict[str, Any] | None:
    if computer is None:
        return None
    return {
        "fit": computer.fit,
        "summary": computer.text,
        "details": list(computer.details),
        "stalls": [
            {"cause": one.cause, "count": one.count, "longest_s": one.longest, "lost_s": one.lost}
            for one in computer.stalls
        ],
    }


def finite(value: Any) -> Any:
    """JSON has no NaN: say null."""
    from dataclasses import asdict, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
