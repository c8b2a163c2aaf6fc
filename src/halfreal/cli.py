"""The command line.  Heavy imports stand inside the commands: ``halfreal --help`` answers at once.

Exit codes: 0 all is well; 1 the answer is no (NO-GO, or the test tripped); 2 the input is wrong (definition, file,
usage).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from .errors import HalfrealError

if TYPE_CHECKING:
    from .definition.definition import Definition
    from .live.session import Session
    from .runs.run import Run
    from .studies.check import Check

OK, NO, WRONG = 0, 1, 2
P = ParamSpec("P")

app = typer.Typer(
    help="Real-time hybrid testing: one definition, checked, rehearsed, run and reported.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all is well, 1 the answer is no (NO-GO or a trip), 2 the input is wrong.",
)

DefinitionFile = Annotated[Path, typer.Argument(metavar="TEST.toml", help="The test definition.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite what is there.")]


def main() -> None:
    """Run the command line; errors the user can mend come without a traceback."""
    # Matrices here are small: threads of a linear-algebra library would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        sys.exit(WRONG)


def stop(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(WRONG)


def told(command: Callable[P, None]) -> Callable[P, None]:
    """Let errors that the user can mend be told without a traceback."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except HalfrealError as error:
            stop(str(error))
        except OSError as error:
            stop(f"'{error.filename}': {error.strerror}" if error.filename else str(error))

    return wrapped


def _free(target: Path, force: bool) -> Path:
    """A file that may be written."""
    if target.exists() and not force:
        stop(f"'{target}' exists; choose another name with --output, or --force to overwrite it")
    return target


def _write_text(path: Path, text: str, force: bool) -> None:
    from .records.whole_file import whole_file

    with whole_file(path, overwrite=force) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _toml(definition: Definition) -> str:
    from .definition.load import to_toml

    return to_toml(definition)


def _load(path: Path) -> tuple[Definition, str]:
    from .definition.definition import read_definition

    return read_definition(path)


def _verdict_table(run: Run) -> Any:
    from rich.table import Table

    from .reports import learning
    from .reports.measures import key_figures
    from .reports.verdict import verdict

    table, since = Table(show_header=False), learning.since(run)
    for name, value in [("Verdict", verdict(run).word), *key_figures(run, since), *learning.figures(run, since)]:
        table.add_row(name, value)
    return table


def _console(error: bool = False) -> Any:
    from rich.console import Console

    return Console(stderr=error)


@app.command()
@told
def new(
    path: Annotated[Path, typer.Argument(metavar="TEST.toml", help="File to write.")] = Path("test.toml"),
    force: Force = False,
) -> None:
    """Write a commented definition to start from."""
    from importlib import resources

    if path.exists() and not force:
        stop(f"'{path}' exists; choose another name, or --force to overwrite it")
    if not path.parent.is_dir():
        stop(f"the folder '{path.parent}' does not exist; make it first")
    _write_text(path, resources.files("halfreal").joinpath("new.toml").read_text(encoding="utf-8"), force)
    typer.echo(f"wrote {path}; next: halfreal check {path}")


@app.command()
@told
def check(
    path: DefinitionFile,
    as_json: AsJson = False,
    worst: Annotated[
        Path | None, typer.Option("--worst", metavar="WORST.toml", help="Write the worst case of what is uncertain.")
    ] = None,
    force: Force = False,
) -> None:
    """Validate a definition and judge its test: GO or NO-GO, why, and what would make it pass."""
    definition, _ = _load(path)
    if worst is not None:
        _free(worst, force)
        if not definition.uncertainty:
            stop(f"nothing in '{path}' is uncertain; give it a section [uncertainty], as in halfreal new")
    from .studies.check import check as judge

    answer = _with_progress(lambda progress: judge(definition, progress=progress), quiet=as_json)
    if worst is not None and answer.uncertainty is not None:
        _write_text(worst, _toml(answer.uncertainty.worst), force)
    if as_json:
        typer.echo(json.dumps(_finite(_check_json(answer)), indent=2))
    else:
        _tell(answer, definition.title)
    raise typer.Exit(OK if answer.verdict == "GO" else NO)


def _tell(answer: Check, title: str) -> None:
    """The verdict, why, and what would help."""
    colour = typer.colors.GREEN if answer.verdict == "GO" else typer.colors.RED
    typer.secho(answer.verdict, fg=colour, bold=True, nl=False)
    typer.echo(f"  {title}")
    for reason in answer.reasons:
        typer.echo(f"  - {reason}")
    typer.echo(f"  - binding constraint: {answer.binding}")
    if answer.remedies:
        typer.echo("What would make the loop stable:" if not answer.linearisation.stable else "What would help:")
    for remedy in answer.remedies:
        typer.echo(f"  - {remedy}")


def _check_json(answer: Check) -> dict[str, Any]:
    linearisation, stability = answer.linearisation, answer.stability
    margin = stability.margin if linearisation.stable else None
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
        "spectral_radius": linearisation.spectral_radius,
        "critical_delay_s": stability.critical_delay,
        "delay_margin_s": None if margin is None else margin.critical_delay,
        "phase_margin_deg": None if margin is None else margin.phase_margin_deg,
        "gain_margin_db": None if margin is None else margin.gain_margin_db,
        "rehearsal": {"outcome": answer.rehearsal.outcome, "reason": answer.rehearsal.reason},
        "limits_used": dict(answer.rehearsal.limits_used),
        "amplitude_factor_at_loss_of_stability": None if answer.nonlinear is None else answer.nonlinear.factor,
        "probability_of_instability": None if answer.uncertainty is None else answer.uncertainty.probability,
        "poles": [
            {"frequency_hz": frequency, "damping": damping, "real_per_s": pole.real, "imaginary_per_s": pole.imag}
            for frequency, damping, pole in poles
        ],
    }


@app.command()
@told
def rehearse(
    path: DefinitionFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN.h5", help="Run file; TEST.h5 if left out.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Simulate the whole loop against its simulated rig and write a run file."""
    definition, text = _load(path)
    from .records.run_file import save
    from .studies.check import check as judge

    target = _free(output or path.with_suffix(".h5"), force)
    answer = _with_progress(lambda progress: judge(definition, text=text, progress=progress), quiet=as_json)
    run = answer.rehearsal
    try:
        save(run, target, overwrite=force)
    except OSError as error:  # h5py's words name its own temporary file
        stop(f"'{target}' cannot be written: {error.strerror or 'the folder does not exist or is not writable'}")
    if as_json:
        typer.echo(json.dumps(_run_json(run, target), indent=2))
    else:
        typer.echo(run.title)
        _console().print(_verdict_table(run))
        typer.echo(f"run file: {target}")
    raise typer.Exit(OK if run.outcome == "completed" else NO)


@app.command()
@told
def run(
    path: DefinitionFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN.h5", help="Run file; TEST.run.h5 if left out.")
    ] = None,
    start: Annotated[bool, typer.Option("--start", help="Start at once, without asking the operator.")] = False,
    with_rig: Annotated[
        bool, typer.Option("--with-rig", help="Start the definition's simulated rig too, as a process of its own.")
    ] = False,
    without_go: Annotated[
        str, typer.Option("--without-go", metavar="REASON", help="Run in spite of a NO-GO; the reason is recorded.")
    ] = "",
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Run the test on the rig behind its link: in real time, or slowly."""
    definition, text = _load(path)
    from .live.console import beside, check_operator
    from .live.session import Session

    target = _free(output or path.with_suffix(".run.h5"), force)
    check_operator(start)
    session = Session(definition, target, text=text, without_go=without_go, overwrite=force)
    with beside(path, lambda line: typer.echo(f"  {line}", err=as_json)) if with_rig else nullcontext():
        _run_session(session, target, start, as_json)


@app.command()
@told
def resume(
    path: Annotated[
        Path,
        typer.Argument(metavar="RUN.h5", help="The record of a slow test that was interrupted.", show_default=False),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN.h5", help="Run file; RUN.resumed.h5 if left out.")
    ] = None,
    start: Annotated[bool, typer.Option("--start", help="Go on at once, without asking the operator.")] = False,
    without_go: Annotated[
        str, typer.Option("--without-go", metavar="REASON", help="Run in spite of a NO-GO; the reason is recorded.")
    ] = "",
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Go on with a slow test where its record ends; the rig is not moved before the operator says so."""
    before = _open_run(path)
    from .definition.definition import Definition
    from .definition.load import from_json
    from .live.console import check_operator
    from .live.session import Session

    target = _free(output or path.with_suffix(".resumed.h5"), force)
    check_operator(start)
    session = Session(
        from_json(Definition, before.definition),
        target,
        text=before.definition_text,
        without_go=without_go,
        overwrite=force,
        after=before,
    )
    assert session.resumption is not None
    ticks, step = session.resumption.ticks, before.step
    typer.echo(f"  {ticks} completed ticks in the record; goes on at {ticks * step:g} s", err=as_json)
    _run_session(session, target, start, as_json)


def _run_session(session: Session, target: Path, start: bool, as_json: bool) -> NoReturn:
    """Check, run and tell about a test on a rig."""
    from .live.console import run_test
    from .live.session import NoGoError

    title = session.definition.title
    try:
        answer = _with_progress(session.check, quiet=as_json)
        if not as_json:
            _tell(answer, title)
        done = run_test(session, start=start, say=lambda line: typer.echo(f"  {line}", err=as_json))
    except NoGoError as error:
        if as_json:
            typer.echo(json.dumps(_finite(_check_json(error.answer)), indent=2))
        else:
            _tell(error.answer, title)
        typer.echo("the rig is not armed; --without-go REASON runs it all the same, and is recorded", err=True)
        raise typer.Exit(NO) from None
    finally:
        session.close()
    if as_json:
        typer.echo(json.dumps(_run_json(done, target), indent=2))
    else:
        _console().print(_verdict_table(done))
        for event in done.events:
            typer.echo(f"  {event.time:10.4f} s  {event.text}")
        typer.echo(f"run file: {target}")
    raise typer.Exit(OK if done.outcome == "completed" else NO)


@app.command()
@told
def rig(
    path: DefinitionFile,
    in_step: Annotated[
        bool, typer.Option("--in-step", help="One step for each command of the loop, instead of a clock of its own.")
    ] = False,
    at: Annotated[str, typer.Option(metavar="DISPLACEMENT", help="Where it stands at first, such as '3 mm'.")] = "",
    once: Annotated[bool, typer.Option("--once", help="End after one session.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RIG.h5", help="The rig's own record of the last session.")
    ] = None,
    force: Force = False,
) -> None:
    """Be the rig: simulate actuator, specimen and sensors behind the definition's link."""
    definition, _ = _load(path)
    from .live.rig import serve
    from .units import parse

    if output is not None:
        _free(output, force)
    serve(definition, in_step=in_step, at=parse(at, "m") if at else None, once=once, output=output, say=_say)


def _say(line: str) -> None:
    with suppress(BrokenPipeError):  # whoever listened has gone; the rig goes on
        print(line, flush=True)


def _with_progress(work: Any, *, quiet: bool) -> Any:
    """Show a bar for long work on a terminal; nothing anywhere else."""
    console = _console(error=True)
    if quiet or not console.is_terminal:
        return work(None)
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("rehearsing", total=None)
        return work(lambda done, total: bar.update(task, completed=done, total=total))


def _run_json(run: Run, path: Path) -> dict[str, Any]:
    from .reports.measures import measures

    return {
        "file": str(path),
        "title": run.title,
        "verdict": run.verdict,
        "outcome": run.outcome,
        "reason": run.reason,
        "stable": None if run.stability is None else run.stability.stable,
        "spectral_radius": None if run.stability is None else run.stability.spectral_radius,
        "events": [{"time_s": e.time, "channel": e.channel, "text": e.text} for e in run.events],
        "measures": _finite(measures(run)),
    }


def _finite(value: Any) -> Any:
    """JSON has no NaN: say null."""
    from dataclasses import asdict, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def _open_run(path: Path) -> Run:
    from .records.run_file import load

    return load(path)


Range = "a number of the definition by its place, and its range: 'rig.actuator.delay = 1 ms .. 15 ms'"


@app.command()
@told
def chart(
    path: DefinitionFile,
    x: Annotated[str, typer.Option("--x", metavar="PLACE[=LOW..HIGH]", help=f"Across: {Range}.")],
    y: Annotated[str, typer.Option("--y", metavar="PLACE[=LOW..HIGH]", help="Upwards, likewise.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="CHART.png", help="Picture; TEST.png if left out.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="Points along each axis.")] = 100,
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Of the continuous limit instead of the sampled loop that runs.")
    ] = False,
    force: Force = False,
) -> None:
    """Draw where the loop is stable, in any two numbers of the definition."""
    definition, _ = _load(path)
    from .studies.chart import chart as draw

    target = _free(output or path.with_suffix(".png"), force)
    wanted = [_range(definition, text) for text in (x, y)]
    found = _with_progress(
        lambda progress: draw(definition, wanted[0], wanted[1], (points, points), continuous, progress=progress),
        quiet=False,
    )
    typer.echo(found.summary())
    from .records.whole_file import whole_file

    kind = target.suffix.lstrip(".") or "png"
    try:
        with whole_file(target, overwrite=force) as temporary:
            found.plot().savefig(temporary, dpi=150, format=kind)
    except ValueError as error:
        stop(f"'{target}' cannot be written: {error}")
    typer.echo(f"chart: {target.resolve()}")


def _range(definition: Definition, text: str) -> Any:
    """What ``PLACE`` or ``PLACE = LOW .. HIGH`` says, in SI units."""
    from .definition.paths import value_at
    from .definition.uncertainty import quantity_at
    from .units import parse

    place, equals, limits = (part.strip() for part in text.partition("="))
    value_at(definition, place)
    if not equals:
        return place
    low, dots, high = (part.strip() for part in limits.partition(".."))
    if not dots:
        raise HalfrealError(f"'{limits}' is no range; write '{place} = LOW .. HIGH' with units")
    quantity = quantity_at(definition, place)
    unit = "1" if quantity is None else quantity.number.unit
    return place, parse(low, unit), parse(high, unit)


@app.command()
@told
def sweep(
    path: DefinitionFile,
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.toml", help="What varies, and what is kept.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RESULTS.sqlite", help="Table of results; PLAN.sqlite if left out."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; one for each processor if left out.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers do it, as in tcp://host:8786.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Check, rehearse and score a definition at many points; once interrupted, the same command goes on."""
    definition, text = _load(path)
    from .campaigns.command import carry_out, in_words, summary

    target = output or plan.with_suffix(".sqlite")
    try:
        results, page = _with_progress(
            lambda progress: carry_out(definition, text, plan, target, workers, scheduler, force, progress),
            quiet=as_json,
        )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; '{target}' keeps what is done, and the same command goes on", err=True)
        raise typer.Exit(NO) from None
    if as_json:
        typer.echo(json.dumps(_finite({**summary(results), "file": str(target), "report": str(page)}), indent=2))
    else:
        typer.echo("\n".join(in_words(results)))
        typer.echo(f"results: {target}\nreport: {page.resolve()}")
    raise typer.Exit(NO if results.failed else OK)


@app.command()
@told
def tune(
    path: DefinitionFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="BEST.toml", help="Definition; TEST.tuned.toml if left out."),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Samples of what is uncertain.")] = 20,
    workers: Annotated[int | None, typer.Option(min=1, help="Rehearsals at a time; one for each processor.")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Try the couplings that apply to a test, tune and rank them, and write the best definition."""
    definition, _ = _load(path)
    target = _free(output or path.with_suffix(".tuned.toml"), force)
    from .studies.tune import tune as search
    from .studies.tune_words import as_numbers, in_words

    with _console(error=True).status("") as status:
        found = search(definition, samples=samples, workers=workers or len(os.sched_getaffinity(0)), said=status.update)
    if found.best is not None:
        _write_text(target, _toml(found.best), force)
    if as_json:
        typer.echo(json.dumps(_finite(as_numbers(found)), indent=2))
    else:
        typer.echo("\n".join([definition.title, *in_words(found)]))
        if found.best is not None:
            typer.echo(f"best definition: {target}; next: halfreal check {target}")
    raise typer.Exit(OK if found.best is not None else NO)


@app.command()
@told
def benchmark(
    problem: Annotated[str, typer.Argument(metavar="vrths", help="The benchmark problem.")] = "vrths",
    motions: Annotated[
        Path | None, typer.Option("--motions", metavar="FOLDER", help="Records of yours: AT2, CSV, TXT, MAT.")
    ] = None,
    unit: Annotated[str, typer.Option(help="Unit of these records where they do not tell it: 'm/s^2' or 'g_0'.")] = "",
    time_step: Annotated[str, typer.Option(help="Time step of records without times, such as '0.02 s'.")] = "",
    plants: Annotated[int, typer.Option(min=0, help="Perturbed plants of each case, with the first motion.")] = 20,
    coupling: Annotated[list[str] | None, typer.Option(help="Only this coupling; may be given several times.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at a time; one for each processor.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PAGE.html", help="Page; the table as CSV stands beside it.")
    ] = Path("vrths.html"),
    force: Force = False,
) -> None:
    """Score couplings on the field's benchmark problem, beside published values."""
    if problem != "vrths":
        stop(f"no benchmark problem '{problem}'; there is vrths")
    from .campaigns.vrths_command import carry_out, in_words
    from .units import parse

    asks = sys.stdin.isatty() and sys.stderr.isatty()
    scores, data = _with_progress(
        lambda progress: carry_out(
            output,
            folder=motions,
            unit=unit or None,
            step=parse(time_step, "s") if time_step else None,
            plants=plants,
            only=coupling or (),
            workers=workers,
            force=force,
            progress=progress,
            ask=(lambda text: typer.prompt(f"{text}\nunit", err=True)) if asks else None,
        ),
        quiet=False,
    )
    typer.echo("\n".join(in_words(scores)))
    typer.echo(f"all runs: {data}\nreport: {output.resolve()}")


RunFile = Annotated[Path, typer.Argument(metavar="RUN.h5", help="A run file.", show_default=False)]


@app.command()
@told
def report(
    path: RunFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="REPORT.html", help="Page; RUN.html if left out.")
    ] = None,
    since: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Measure errors from here on, such as '2 s'.")
    ] = "0 s",
    beside: Annotated[
        Path | None, typer.Option("--beside", metavar="OTHER.h5", help="Lay it side by side with this, its rehearsal.")
    ] = None,
    force: Force = False,
) -> None:
    """Make one self-contained HTML page of a run file, or of two side by side."""
    from .units import parse

    from_time = parse(since, "s")
    run = _open_run(path)
    other = None if beside is None else _open_run(beside)
    for one in [run] if other is None else [run, other]:
        last = float(one.time[-1]) if len(one.time) else 0.0
        if from_time < 0.0 or (from_time > 0.0 and from_time > last):
            stop(f"--from {since} is not within the {one.kind}, which goes from 0 s to {last:g} s")
    from .reports.html import write

    target = _free(output or path.with_suffix(".html"), force)
    write(run, target, overwrite=force, from_time=from_time, beside=other)
    if other is not None:
        from .reports.beside_terminal import about_definitions, table

        _console().print(table(run, other, from_time))
        typer.echo("\n".join(about_definitions(run, other)))
    typer.echo(f"report: {target.resolve()}")


@app.command()
@told
def info(
    path: Annotated[Path | None, typer.Argument(metavar="[RUN.h5|TEST.toml]", help="What to tell about.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of definitions.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell about a run file, a definition, the format of definitions, or this installation."""
    if schema:
        from .definition.definition import Definition
        from .definition.schema import json_schema

        typer.echo(json.dumps(json_schema(Definition), indent=2))
    elif path is None:
        from .runs.rehearse import versions

        facts = versions()
        typer.echo(json.dumps(facts, indent=2) if as_json else "\n".join(f"{k:<10}{v}" for k, v in facts.items()))
    elif path.suffix == ".toml":
        definition, _ = _load(path)
        if as_json:
            typer.echo(json.dumps(definition.model_dump(mode="json"), indent=2))
        else:
            typer.echo(_toml(definition))
    else:
        run = _open_run(path)
        if as_json:
            typer.echo(json.dumps(_run_json(run, path), indent=2))
        else:
            typer.echo(run.title)
            _console().print(_verdict_table(run))
            typer.echo(f"{run.kind} of {run.started}, {len(run.time)} samples, step {run.step:g} s, seed {run.seed}")
            for reason in run.reasons if run.verdict == "NO-GO" else ():
                typer.echo(f"NO-GO: {reason}")
            typer.echo("channels: " + ", ".join(f"{name} [{signal.unit}]" for name, signal in run.signals.items()))
            for event in run.events:
                typer.echo(f"  {event.time:10.4f} s  {event.text}")


@app.command()
@told
def examples(
    name: Annotated[str | None, typer.Argument(help="Example to copy; all are listed if left out.")] = None,
    to: Annotated[Path, typer.Option("--to", help="Folder to copy it into.")] = Path(),
) -> None:
    """List the gallery, or copy one of its examples to work on."""
    import difflib
    import shutil
    from importlib import resources

    gallery = Path(str(resources.files("halfreal"))) / "examples"
    found = {folder.name: folder for folder in sorted(gallery.iterdir()) if (folder / "README.md").is_file()}
    if name is None:
        for key, folder in found.items():
            title = (folder / "README.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            typer.echo(f"{key:<24}{title}")
        return
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1, cutoff=0.4)
        stop(f"no example '{name}'" + (f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(found)}"))
    target = to / name
    if target.exists():
        stop(f"'{target}' exists; choose another folder with --to, or remove it first")
    shutil.copytree(found[name], target, ignore=shutil.ignore_patterns("__pycache__", "results"))
    typer.echo(f"copied to {target}; next: see {target / 'README.md'}")
