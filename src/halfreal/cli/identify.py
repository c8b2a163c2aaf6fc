"""``halfreal identify``: the rig of a definition from records, or by an experiment through the guarded loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..presentation.answers import console, finite
from .options import (
    NO,
    OK,
    AsJson,
    Calibration,
    DefinitionFile,
    Force,
    Notes,
    OperatorName,
    SpecimenName,
    free,
    open_run,
    read,
    read_band,
    said_of,
    stop,
    write_changed,
    write_picture,
)

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..runs.run import Run
    from ..studies.identifying.experiment import Plan
    from ..studies.identifying.identify import Wanted


def identify(
    path: DefinitionFile,
    more: Annotated[list[Path] | None, typer.Argument(metavar="[RUN2.h5]...", help="Further records.")] = None,
    record: Annotated[
        list[Path] | None, typer.Option("--run", metavar="RUN.h5", help="Identify from this run or rehearsal.")
    ] = None,
    experiment: Annotated[
        bool, typer.Option("--experiment", help="Run an experiment first; default: on the simulated rig.")
    ] = False,
    with_rig: Annotated[
        bool, typer.Option("--with-rig", help="Experiment on the simulated rig as a separate process, in real time.")
    ] = False,
    on_rig: Annotated[
        bool, typer.Option("--on-rig", help="Experiment on the rig behind [link]. IT MOVES; asks first.")
    ] = False,
    signal: Annotated[Literal["multisine", "chirp"], typer.Option(help="Signal of the experiment.")] = "multisine",
    amplitude: Annotated[
        str,
        typer.Option(
            metavar="LENGTH", help="RMS of a multisine, peak of a chirp, e.g. '0.5 mm'; default: from the limits."
        ),
    ] = "",
    band: Annotated[
        str, typer.Option(metavar="LOW..HIGH", help="E.g. '0.5 Hz .. 30 Hz'; default: 0.25 Hz to at most 50 Hz.")
    ] = "",
    duration: Annotated[str, typer.Option(metavar="TIME", help="E.g. '60 s'; default: 40 s.")] = "",
    axis: Annotated[
        list[str] | None, typer.Option("--axis", metavar="NAME", help="Experiment on this axis only; repeatable.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="PLACE[=LOW..HIGH]",
            help="Fit this parameter, e.g. 'rig.actuator.delay = 1 ms .. 20 ms'; repeatable. Default: those of "
            "actuator and specimen.",
        ),
    ] = None,
    start: Annotated[bool, typer.Option("--start", help="Start at once, without asking the operator.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="NEW.toml", help="Definition; default: TEST.identified.toml."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="PICTURE.png", help="Picture, also .svg; default: next to the definition."),
    ] = None,
    without_go: Annotated[
        str,
        typer.Option("--without-go", metavar="REASON", help="Move the rig despite NO-GO; the reason is recorded."),
    ] = "",
    operator: OperatorName = "",
    specimen: SpecimenName = "",
    calibration: Calibration = "",
    note: Notes = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Identify delay, dynamics and specimen of the rig, and write a definition with them and their uncertainty.

    From records (--run), or by a low-level experiment through the guarded loop (--experiment): on the simulated rig,
    or on the rig behind [link] with --on-rig, which is checked, armed and guarded as in halfreal run.
    """
    definition, text = read(path)
    records = [*(record or ()), *(more or ())]
    experiment = experiment or with_rig or on_rig
    if bool(records) == experiment:
        stop("give either records (--run RUN.h5) or --experiment")
    if with_rig and on_rig:
        stop("--with-rig uses the simulated rig, --on-rig the one behind [link]; choose one")
    if with_rig or on_rig:
        from ..live.console import check_operator

        check_operator(start)
    target = free(output or path.with_suffix(".identified.toml"), force)
    drawn = free(picture or target.with_suffix(".png"), force, "--picture")
    wanted = [_wanted(one, definition) for one in parameter or ()]
    if experiment:
        from ..studies.identifying.experiment import plan
        from ..units import parse

        size = parse(amplitude, "m") if amplitude else None
        length = parse(duration, "s") if duration else None
        low, high = read_band(band)
        wished = None if low is None or high is None else (low, high)
        with console(error=True).status("designing the experiment"), refused():
            plans = [
                plan(definition, one, signal=signal, amplitude=size, band=wished, duration=length)
                for one in _axes(definition, axis)
            ]
        about = said_of(operator, specimen, calibration, note)
        linked = partial(_on_link, start=start, without_go=without_go, as_json=as_json) if with_rig or on_rig else None
        runs = _experiments(path, plans, linked, with_rig, about, as_json, force)
    else:
        runs = [(str(one), open_run(one)) for one in records]
    _tell(path, text, definition, runs, wanted, target, drawn, as_json, force)


@contextmanager
def refused() -> Iterator[None]:
    """A record or an experiment without information ends with exit code 1."""
    from ..identification.rig_record import NotIdentifiableError

    try:
        yield
    except NotIdentifiableError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(NO) from None


def _wanted(text: str, definition: Definition) -> Wanted:
    """A place, and its bounds if there are any."""
    from ..identification.sought import quantity_of_rig
    from ..units import parse

    place, equals, bounds = (part.strip() for part in text.partition("="))
    unit = quantity_of_rig(definition, place).number.unit
    if not equals:
        return place, None, None
    low, dots, high = (part.strip() for part in bounds.partition(".."))
    if not dots:
        stop(f"'{text}': write bounds as in 'rig.actuator.delay = 1 ms .. 20 ms'")
    return place, parse(low, unit), parse(high, unit)


def _axes(definition: Definition, named: list[str] | None) -> list[int]:
    names = definition.interface.names
    for one in named or ():
        if one not in names:
            stop(f"'{one}' is not an axis of this test; its axes are {', '.join(names)}")
    return [i for i, name in enumerate(names) if named is None or not named or name in named]


def _experiments(
    path: Path,
    plans: list[Plan],
    linked: Callable[..., Run] | None,
    beside: bool,
    about: dict[str, str],
    as_json: bool,
    force: bool,
) -> list[tuple[str, Run]]:
    """Run experiments one after another, and keep their records."""
    from ..live.console import rig_beside
    from ..studies.identifying.experiment import completed

    ends = [".identify.h5" if len(plans) == 1 else f".identify.{one.axis}.h5" for one in plans]
    files = [free(path.with_suffix(end), force) for end in ends]
    found = []
    with rig_beside(path, lambda line: typer.echo(f"  {line}", err=as_json)) if beside else nullcontext(), refused():
        for one, file in zip(plans, files, strict=True):
            typer.echo(f"experiment: {one.text}", err=as_json)
            run = (linked or _simulated)(one, file, about, force)
            typer.echo(f"record: {file}", err=as_json)
            found.append((str(file), completed(run)))
    return found


def _simulated(plan: Plan, file: Path, about: dict[str, str], force: bool) -> Run:
    import dataclasses

    from ..definition.sections import also_said
    from ..records.run_file import save
    from ..runs.rehearse import rehearse

    with console(error=True).status("experiment on the simulated rig"):
        run = rehearse(plan.definition)
    run = dataclasses.replace(run, about=also_said(run.about, about))
    save(run, file, overwrite=force)
    return run


def _on_link(
    plan: Plan, file: Path, about: dict[str, str], force: bool, *, start: bool, without_go: str, as_json: bool
) -> Run:
    """Through the session of ``halfreal run``: checked, armed, guarded, recorded."""
    from ..live.session import Session
    from .running import run_session

    session = Session(plan.definition, file, without_go=without_go, overwrite=force, about=about)
    return run_session(session, start, as_json)


def _tell(
    path: Path,
    text: str,
    definition: Definition,
    runs: list[tuple[str, Run]],
    wanted: list[Wanted],
    target: Path,
    picture: Path,
    as_json: bool,
    force: bool,
) -> None:
    from ..presentation.identify_text import as_numbers, as_text, figure
    from ..studies.identifying.identify import identify as identified

    with console(error=True).status("") as status, refused():
        found = identified(definition, runs, wanted=wanted, on_progress=status.update)
    if found.axes:
        write_picture(figure(found, definition.title), picture, force)
    if found.definition is not None:
        write_changed(target, text, definition, found.definition, path, force)
    if as_json:
        files = {
            "definition": str(target) if found.definition else None,
            "picture": str(picture) if found.axes else None,
        }
        typer.echo(json.dumps(finite({"title": definition.title, **as_numbers(found), **files}), indent=2))
    else:
        typer.echo("\n".join([definition.title, *as_text(found)]))
        if found.axes:
            typer.echo(f"picture: {picture}")
        if found.definition is not None:
            typer.echo(f"definition: {target}; next: halfreal check {target}")
        else:
            typer.echo("no definition is written: no parameter of the rig was identified")
    sought = found.fit is not None
    raise typer.Exit(OK if found.axes and (found.definition is not None or not sought) else NO)
