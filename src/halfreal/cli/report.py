"""``halfreal report`` and ``halfreal info``: what is in run files and definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..presentation.answers import console, judgement_lines, run_json, verdict_table
from .options import AsJson, Force, RunFile, as_toml, free, open_run, read, stop

if TYPE_CHECKING:
    from ..runs.run import Run


def report(
    path: RunFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="REPORT.html", help="Page; default: RUN.html.")
    ] = None,
    since: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Start of the error measures, e.g. '2 s'.")
    ] = "0 s",
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="OTHER.h5", help="Compare with another run, e.g. the rehearsal.")
    ] = None,
    animation: Annotated[
        bool,
        typer.Option(
            "--animate", help="Also write RUN.gif, an animation of the virtual structure, if it has a geometry."
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Write one self-contained HTML page about a run file, or compare two."""
    from ..records.on_disk import load_on_disk
    from ..units import parse

    from_time = parse(since, "s")
    run = load_on_disk(path)
    other = None if compare is None else load_on_disk(compare)
    for one in [run] if other is None else [run, other]:
        last = float(one.time[-1]) if len(one.time) else 0.0
        if from_time < 0.0 or (from_time > 0.0 and from_time > last):
            stop(f"--from {since} is not within the {one.kind}, which goes from 0 s to {last:g} s")
    from ..presentation import html

    target = free(output or path.with_suffix(".html"), force)
    film = free(target.with_suffix(".gif"), force, "--output") if animation else None
    html.report(run, target, overwrite=force, from_time=from_time, compare=other)
    if other is not None:
        from ..presentation.compare_text import about_definitions, table

        console().print(table(run, other, from_time))
        typer.echo("\n".join(about_definitions(run, other)))
    for one in filter(None, [run, other]):
        if one.integrity is not None:
            typer.echo(one.integrity.text)
    typer.echo(f"report: {target.resolve()}")
    if film is not None:
        _animate(run, film, force)


def _animate(run: Run, film: Path, force: bool) -> None:
    from ..presentation.animation import animate
    from ..runs.replay import replay

    played = replay(run)
    if played is None:
        stop("--animate: the virtual part of this test has no geometry; only a frame has")
    told = animate(played, film, overwrite=force)
    typer.echo(f"animation: {film.resolve()} ({told})")


def info(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN.h5|TEST.toml|KEY]", help="A file, or a key, e.g. rig.actuator.delay."),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of definitions.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show information about a run file, a definition, a key of definitions, or this installation."""
    if schema:
        from ..definition.definition import Definition
        from ..definition.schema import json_schema

        typer.echo(json.dumps(json_schema(Definition), indent=2))
    elif path is None:
        from ..runs.rehearse import versions

        facts = versions()
        typer.echo(json.dumps(facts, indent=2) if as_json else "\n".join(f"{k:<10}{v}" for k, v in facts.items()))
    elif path.suffix not in (".toml", ".h5") and not path.exists():
        from ..presentation.key_help import explain

        typer.echo(explain(str(path)))
    elif path.suffix == ".toml":
        definition, _ = read(path, runs=False)
        if as_json:
            typer.echo(json.dumps(definition.model_dump(mode="json"), indent=2))
        else:
            form = definition.virtual.form(definition.timing.step)
            typer.echo((f"# virtual substructure: {form}\n" if form else "") + as_toml(definition))
    else:
        from ..presentation.provenance import about

        run = open_run(path)
        if as_json:
            typer.echo(json.dumps(run_json(run, path), indent=2))
        else:
            typer.echo(run.title)
            console().print(verdict_table(run))
            typer.echo(f"{run.kind} of {run.started}, {len(run.time)} samples, step {run.step:g} s, seed {run.seed}")
            if run.integrity is not None:
                typer.echo(run.integrity.text)
            for key, text in about(run):
                typer.echo(f"{key}: " + text.replace("\n", "\n" + " " * len(f"{key}: ")))
            if run.accepted is not None:
                typer.echo("\n".join([run.accepted.word, *judgement_lines(run.accepted)]))
            for word, reasons in _verdicts(run):
                typer.echo("\n  - ".join([word, *reasons]))
            typer.echo("channels: " + ", ".join(f"{name} [{signal.unit}]" for name, signal in run.signals.items()))
            for event in run.events:
                typer.echo(f"  {event.time:10.4f} s  {event.text}")


def _verdicts(run: Run) -> list[tuple[str, tuple[str, ...]]]:
    """What was judged of a test before it ran, with the reasons, where it was not a GO."""
    found: list[tuple[str, tuple[str, ...]]] = []
    if run.verdict in ("NO-GO", "MARGINAL"):
        found.append((f"{run.verdict}{', before it ran' if run.kind == 'run' else ''}", run.reasons))
    return found
