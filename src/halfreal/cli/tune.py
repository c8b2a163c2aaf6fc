"""``halfreal tune``: the couplings that apply to a test, tuned and ranked; or a shaking table prepared for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..presentation.answers import console, finite
from .options import (
    NO,
    OK,
    AsJson,
    DefinitionFile,
    Force,
    free,
    open_run,
    read,
    stop,
    write_changed,
    write_picture,
    write_text,
)

if TYPE_CHECKING:
    from ..definition.definition import Definition


def tune(
    path: DefinitionFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="BEST.toml", help="Definition; default: TEST.tuned.toml."),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Number of samples of the uncertainty.")] = 20,
    workers: Annotated[int | None, typer.Option(min=1, help="Parallel rehearsals; default: one per processor.")] = None,
    bandwidth: Annotated[
        str, typer.Option(metavar="FREQUENCY", help="Shaking table: bandwidth of its controllers, e.g. '25 Hz'.")
    ] = "",
    amplitude: Annotated[
        str,
        typer.Option(
            metavar="RMS",
            help="Shaking table: RMS of the signal that measures an axis (rotations: as many mrad); default: 0.2 mm.",
        ),
    ] = "",
    from_run: Annotated[
        list[Path] | None,
        typer.Option(
            "--from-run",
            metavar="RUN.h5",
            help="Correct the coupling's table from this stepped test, recorded or rehearsed; repeat it for two "
            "tests with different tables, newest last.",
            show_default=False,
        ),
    ] = None,
    record: Annotated[
        list[Path] | None,
        typer.Option(
            "--record",
            metavar="RUN.h5",
            help="First identify the rig from this record, then tune for it; repeatable.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Tune and rank the couplings that apply to a test, and write the best definition.

    For a shaking table: measure, invert and predict each axis, with a picture. With --from-run: correct the
    table of a narrow-band compensation from the record of a stepped test, without a model of the specimen. With
    --record: identify the rig from records, tune for it, and show how well it predicts them. If interrupted, rerun
    the command to resume.
    """
    definition, text = read(path)
    target = free(output or path.with_suffix(".tuned.toml"), force)
    if record and (from_run or definition.rig.as_table is not None):
        stop("--record applies where couplings are tuned; omit it with --from-run and for shaking tables")
    if from_run:
        if bandwidth or amplitude:
            stop("--bandwidth and --amplitude are for shaking tables, --from-run for stepped tests; omit one")
        _from_runs(path, text, definition, target, from_run, as_json, force)
    if definition.rig.as_table is not None:
        _table(path, text, definition, target, bandwidth, amplitude, as_json, force)
    if bandwidth or amplitude:
        kind = definition.rig.kind
        stop(f"--bandwidth and --amplitude are for shaking tables, this rig is of kind '{kind}'; omit them")
    from ..definition.definition import read_definition
    from ..presentation.tune_text import as_numbers, as_text, records_as_numbers, records_as_text
    from ..studies.tuning.from_records import TunedFromRecords, tune_from_records
    from ..studies.tuning.mark import marked
    from ..studies.tuning.tune import tune as search

    runs = [(str(one), open_run(one)) for one in record or ()]
    whole: TunedFromRecords | None = None
    journal = target.with_suffix(".progress")
    goes_on = journal.is_file()
    try:
        with console(error=True).status("") as status:
            given: dict[str, Any] = {
                "samples": samples,
                "workers": workers or len(os.sched_getaffinity(0)),
                "journal": journal,
                "on_progress": status.update,
            }
            if runs:
                whole = tune_from_records(definition, runs, **given)
            found = search(definition, **given) if whole is None else whole.tuning
    except KeyboardInterrupt:
        stop(f"interrupted; rerun the command to resume ('{journal}' keeps the results so far)")
    except OSError as error:
        stop(f"'{journal}' cannot be written: {error.strerror}")
    if goes_on:
        typer.echo(f"resumed from '{journal}'", err=True)
    if found.best is not None:
        write_changed(target, text, definition, found.best, path, force)
        best, text = read_definition(target)
        write_text(target, marked(text, best), force=True)
    if as_json:
        told = as_numbers(found) if whole is None else as_numbers(found) | records_as_numbers(whole)
        typer.echo(json.dumps(finite(told), indent=2))
    else:
        typer.echo("\n".join([definition.title, *([] if whole is None else records_as_text(whole)), *as_text(found)]))
        if found.best is not None:
            typer.echo(f"best definition: {target}; next: halfreal check {target}")
    raise typer.Exit(OK if found.best is not None else NO)


def _from_runs(
    path: Path, text: str, definition: Definition, target: Path, files: list[Path], as_json: bool, force: bool
) -> NoReturn:
    """Correct a table by recorded tests."""
    picture = free(target.with_suffix(".png"), force)
    from ..presentation.tune_runs_text import as_numbers, as_text, figure
    from ..studies.tuning.from_runs import tune_from_runs

    found = tune_from_runs(definition, [open_run(one) for one in files])
    if found.best is not None:
        write_changed(target, text, definition, found.best, path, force)
        write_picture(figure(found), picture, force)
    if as_json:
        typer.echo(json.dumps(finite(as_numbers(found)), indent=2))
    else:
        typer.echo("\n".join([definition.title, *as_text(found)]))
        if found.best is not None:
            typer.echo(f"picture: {picture}\ncorrected definition: {target}; next: halfreal check {target}")
        else:
            typer.echo("no correction needed; no file is written")
    raise typer.Exit(OK if found.best is not None or found.right else NO)


def _table(
    path: Path,
    text: str,
    definition: Definition,
    target: Path,
    bandwidth: str,
    amplitude: str,
    as_json: bool,
    force: bool,
) -> NoReturn:
    """Make a shaking table ready."""
    picture = free(target.with_suffix(".png"), force)
    from ..presentation.tune_table_text import as_numbers, as_text, figure
    from ..studies.tuning.table import RMS, tune_table
    from ..units import parse

    band = parse(bandwidth, "Hz") if bandwidth else None
    rms = parse(amplitude, "m") if amplitude else RMS
    with console(error=True).status("") as status:
        found = tune_table(definition, bandwidth_hz=band, rms=rms, on_progress=status.update)
    if found.stable:
        write_changed(target, text, definition, found.best, path, force)
        write_picture(figure(found), picture, force)
    if as_json:
        typer.echo(json.dumps(finite(as_numbers(found)), indent=2))
    else:
        typer.echo("\n".join([definition.title, *as_text(found)]))
        if found.stable:
            typer.echo(f"picture: {picture}\nbest definition: {target}; next: halfreal check {target}")
        else:
            typer.echo(f"no file is written; next: halfreal check {path}")
    raise typer.Exit(OK if found.stable else NO)
