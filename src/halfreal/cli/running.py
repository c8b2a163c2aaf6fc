"""``halfreal run``, ``resume`` and ``rig``: tests on a rig behind a link, and the simulated rig itself."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ..presentation.answers import (
    check_json,
    console,
    finite,
    judgement_lines,
    record_text,
    run_json,
    tell,
    verdict_table,
    with_progress,
)
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
    said_of,
)
from .paged import ANY_PORT, PageAt, PageCertificate, PageKey, WithPage, page_address, page_of

if TYPE_CHECKING:
    from ..live.console import Operator
    from ..live.session import Session
    from ..page.desk import PageDesk
    from ..runs.run import Run


Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="RUN.h5", help="Run file; default: TEST.run.h5.")
]
Start = Annotated[bool, typer.Option("--start", help="Start at once, without asking the operator.")]
WithRig = Annotated[
    bool, typer.Option("--with-rig", help="Also start the simulated rig of the definition, as a separate process.")
]
WithoutGo = Annotated[
    str,
    typer.Option("--without-go", metavar="REASON", help="Run despite NO-GO or MARGINAL; the reason is recorded."),
]


def run(
    path: DefinitionFile,
    output: Output = None,
    start: Start = False,
    with_rig: WithRig = False,
    without_go: WithoutGo = "",
    operator: OperatorName = "",
    specimen: SpecimenName = "",
    calibration: Calibration = "",
    note: Notes = None,
    page: WithPage = False,
    page_at: PageAt = ANY_PORT,
    page_certificate: PageCertificate = None,
    page_key: PageKey = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Run the test on the rig behind its link, in real time or as a slow test."""
    address = page_address(page, page_at, page_certificate, page_key)
    definition, text = read(path)
    from ..live.console import Operator, check_operator, rig_beside
    from ..live.session import Session

    target = free(output or path.with_suffix(".run.h5"), force)
    check_operator(start, address is not None)
    said = said_of(operator, specimen, calibration, note)
    session = Session(definition, target, text=text, without_go=without_go, overwrite=force, about=said)
    rig = rig_beside(path, lambda line: typer.echo(f"  {line}", err=as_json)) if with_rig else nullcontext()
    here = Operator(session)
    with page_of(session, here, address, start, as_json) as desk:
        with rig:
            done = run_session(session, start, as_json, here, desk)
        tell_end(done, session.output, target, as_json)


def resume(
    path: Annotated[
        Path,
        typer.Argument(metavar="RUN.h5", help="Record of an interrupted slow test.", show_default=False),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN.h5", help="Run file; default: RUN.resumed.h5.")
    ] = None,
    start: Annotated[bool, typer.Option("--start", help="Resume at once, without asking the operator.")] = False,
    without_go: WithoutGo = "",
    rig_has_moved: Annotated[
        str,
        typer.Option(
            "--rig-has-moved",
            metavar="REASON",
            help="Resume although the rig is not where the record ends; the reason is recorded.",
        ),
    ] = "",
    operator: OperatorName = "",
    specimen: SpecimenName = "",
    calibration: Calibration = "",
    note: Notes = None,
    page: WithPage = False,
    page_at: PageAt = ANY_PORT,
    page_certificate: PageCertificate = None,
    page_key: PageKey = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Resume a slow test where its record ends; the rig does not move before the operator confirms."""
    address = page_address(page, page_at, page_certificate, page_key)
    before = open_run(path)
    from ..definition.definition import Definition
    from ..definition.load import from_json
    from ..live.console import Operator, check_operator
    from ..live.session import Session

    target = free(output or path.with_suffix(".resumed.h5"), force)
    check_operator(start, address is not None)
    session = Session(
        from_json(Definition, before.definition),
        target,
        text=before.definition_text,
        without_go=without_go,
        overwrite=force,
        after=before,
        rig_has_moved=rig_has_moved,
        about=said_of(operator, specimen, calibration, note),
    )
    assert session.resumption is not None
    ticks, step = session.resumption.ticks, before.step
    typer.echo(f"  {ticks} completed ticks in the record; resuming at {ticks * step:g} s", err=as_json)
    here = Operator(session)
    with page_of(session, here, address, start, as_json) as desk:
        done = run_session(session, start, as_json, here, desk)
        tell_end(done, session.output, target, as_json)


def run_session(
    session: Session, start: bool, as_json: bool, operator: Operator | None = None, desk: PageDesk | None = None
) -> Run:
    """Check a test and run it on its rig; with a page, when its operator says so."""
    from ..live.console import Operator, hearing, run_test
    from ..live.session import NoGoError
    from ..live.terminal import Terminal

    title, operator = session.definition.title, operator or Operator(session)
    try:
        with hearing(operator):
            if desk is not None:
                desk.ask_for_check(start)
            answer = with_progress(session.check if desk is None else desk.check, quiet=as_json)
            if not as_json:
                tell(answer, title)
                typer.echo(record_text(session.definition, answer, session.output))
            with Terminal(lines=2 if as_json else 1) as terminal:

                def say(line: str) -> None:
                    terminal.say(f"  {line}")

                if desk is not None:
                    desk.say = say
                done = run_test(session, start=start, say=say, show=terminal.show, operator=operator, desk=desk)
        if desk is not None:
            ended = f"{done.outcome}{f': {done.reason}' if done.reason else ''}"
            desk.over(ended, record=True, accepted=done.accepted)
        return done
    except NoGoError as error:
        if desk is not None:
            desk.over(f"{error.answer.verdict}: the rig is not armed", record=False)
        if as_json:
            typer.echo(json.dumps(finite(check_json(error.answer, session.definition)), indent=2))
        else:
            tell(error.answer, title)
        typer.echo("the rig is not armed; --without-go REASON runs the test anyway and is recorded", err=True)
        raise typer.Exit(NO) from None
    finally:
        session.close()


def tell_end(done: Run, kept: Path, wanted: Path, as_json: bool) -> NoReturn:
    """How the test ended, and where its record is; the rig is safe by now, and a blocked terminal may be waited for."""
    if as_json:
        typer.echo(json.dumps(run_json(done, kept), indent=2))
    else:
        console().print(verdict_table(done))
        for line in () if done.accepted is None else judgement_lines(done.accepted):
            typer.echo(line)
        for event in done.events:
            typer.echo(f"  {event.time:10.4f} s  {event.text}")
        typer.echo(f"run file: {kept}")
    good = done.accepted is not None and done.accepted.word == "ACCEPTED"
    raise typer.Exit(OK if good and kept == wanted else NO)


def rig(
    path: DefinitionFile,
    in_step: Annotated[
        bool, typer.Option("--in-step", help="One step per received command, instead of its own clock.")
    ] = False,
    at: Annotated[
        str, typer.Option(metavar="DISPLACEMENT", help="Initial position, e.g. '3 mm' or '1 mm, 2 deg'.")
    ] = "",
    once: Annotated[bool, typer.Option("--once", help="Exit after one session.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RIG.h5", help="The rig's own record of the last session.")
    ] = None,
    force: Force = False,
) -> None:
    """Run the simulated rig as a server: actuator, specimen and sensors behind the definition's link."""
    definition, _ = read(path)
    from ..live.rig import serve
    from ..live.terminal import Terminal

    if output is not None:
        free(output, force)
    stands = definition.interface.read(at, "m") if at else None
    with Terminal() as terminal:  # one that is blocked, or gone, must not keep the rig from making itself safe
        serve(definition, in_step=in_step, at=stands, once=once, output=output, say=terminal.say)
