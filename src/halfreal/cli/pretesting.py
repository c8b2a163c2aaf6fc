"""``halfreal pretest``: the procedure before a test, step by step, each on record."""

from __future__ import annotations

import datetime
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..presentation.answers import console, tell, with_progress
from .options import NO, OK, DefinitionFile, OperatorName, read, said_of, stop

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..live.driver_trial import Found
    from ..live.pretest import Procedure, Step, Taken


def pretest(
    path: DefinitionFile,
    skip: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="STEP=REASON", help="Skip a step; the reason is recorded. Repeatable."),
    ] = None,
    until: Annotated[str, typer.Option("--until", metavar="STEP", help="Stop after this step.")] = "",
    amplitude: Annotated[
        str,
        typer.Option(
            metavar="LENGTH", help="RMS of the low-level identification; default: 1 % of the command's limit."
        ),
    ] = "",
    duration: Annotated[str, typer.Option(metavar="TIME", help="Duration of the identification; default: 40 s.")] = "",
    start: Annotated[bool, typer.Option("--start", help="Start motions at once, without asking the operator.")] = False,
    without_go: Annotated[
        str, typer.Option("--without-go", metavar="REASON", help="Continue despite NO-GO or MARGINAL; recorded.")
    ] = "",
    operator: OperatorName = "",
) -> None:
    """Pre-test procedure: channels, noise, polarity, identification, verification, check, then run.

    Each step is recorded in TEST.pretest.json; rerun the command to resume.
    """
    definition, text = read(path)
    from ..live.pretest import STEPS, Procedure

    procedure = Procedure(path, text, definition.title)
    if procedure.begun_anew:
        typer.echo(procedure.begun_anew)
    reasons = dict(_reason(one, STEPS) for one in skip or ())
    if until and until not in STEPS:
        stop(f"'{until}' is not a step; the steps are {', '.join(STEPS)}")
    terminal = sys.stdin is not None and sys.stdin.isatty()
    walk = Walk(definition, path, text, procedure, start, terminal, amplitude, duration, without_go, operator)
    while (step := procedure.next()) is not None:
        typer.echo(f"{step}:")
        if step in reasons:
            _told(procedure.skip(step, reasons[step], operator))
        else:
            taken = walk.take(step)
            _told(taken)
            if taken.outcome == "failed":
                typer.echo(
                    f"'{step}' has not passed; fix it and rerun the command, or --skip '{step}=REASON'. Recorded in "
                    f"{procedure.file}",
                    err=True,
                )
                raise typer.Exit(NO)
        if step == until:
            break
    typer.echo(f"procedure: {procedure.file}")
    raise typer.Exit(OK)


def _reason(text: str, steps: tuple[str, ...]) -> tuple[str, str]:
    step, _, reason = (part.strip() for part in text.partition("="))
    if step not in steps:
        stop(f"'{step}' is not a step; the steps are {', '.join(steps)}")
    if not reason:
        stop(f"'{step}' cannot be skipped without a reason; write --skip '{step}=the reason'")
    return step, reason


def _told(taken: Taken) -> None:
    for line in taken.findings:
        typer.echo(f"  {line}")
    typer.echo(f"  {taken.outcome}{f': {taken.reason}' if taken.reason else ''}")


class Walk:
    """The steps of a procedure, taken on the rig behind a definition."""

    def __init__(
        self,
        definition: Definition,
        path: Path,
        text: str,
        procedure: Procedure,
        start: bool,
        terminal: bool,
        amplitude: str,
        duration: str,
        without_go: str,
        operator: str,
    ) -> None:
        self.definition, self.path, self.text, self.procedure = definition, path, text, procedure
        self.start, self.terminal, self.without_go, self.operator = start, terminal, without_go, operator
        self.amplitude, self.duration = amplitude, duration

    def take(self, step: Step) -> Taken:
        """Take a step and put it on record."""
        from ..errors import HalfrealError

        try:
            found, files = getattr(self, f"_{step}")()
        except HalfrealError as error:
            return self.procedure.keep(step, [], operator=self.operator, failed=str(error))
        return self.procedure.keep(step, found, operator=self.operator, files=files)

    def _channels(self) -> tuple[list[Found], list[str]]:
        from ..live.pretest import Idle, channels

        with closing(Idle(self.definition)) as idle:
            today = datetime.datetime.now(datetime.UTC).date()
            return channels(self.definition, idle.rows(), idle, today), []

    def _noise(self) -> tuple[list[Found], list[str]]:
        from ..live.pretest import Idle, noise

        with closing(Idle(self.definition)) as idle:
            return noise(self.definition, idle.rows(), idle), []

    def _polarity(self) -> tuple[list[Found], list[str]]:
        from ..live.pretest import Idle, PretestError, polarity

        if not self.terminal:
            raise PretestError(
                "the sensors must be loaded by hand, and there is no terminal; run this step in a terminal"
            )

        def ask(question: str) -> bool:
            answer = typer.prompt(f"  {question}; press Enter, or 'n' if not possible", default="", show_default=False)
            return str(answer).strip().lower() != "n"

        with closing(Idle(self.definition)) as idle:
            return polarity(self.definition, idle, ask), []

    def _identification(self) -> tuple[list[Found], list[str]]:
        from ..live.console import check_operator
        from ..live.pretest import low_level, moved_as_told
        from ..live.session import Session
        from ..studies.identifying.experiment import completed, plan
        from ..units import parse
        from .running import run_session

        check_operator(self.start)
        names = self.definition.interface.names
        size = parse(self.amplitude, "m") if self.amplitude else low_level(self.definition)
        length = parse(self.duration, "s") if self.duration else None
        found, files = [], []
        for axis, name in enumerate(names):
            one = plan(self.definition, axis, amplitude=size, duration=length)
            file = self.path.with_suffix(".pretest.h5" if len(names) == 1 else f".pretest.{name}.h5")
            typer.echo(f"  {one.text}")
            about = said_of(self.operator, "", "", ["low-level identification of the pre-test procedure"])
            session = Session(one.definition, file, without_go=self.without_go, overwrite=True, about=about)
            run = completed(run_session(session, self.start, False))
            files.append(str(file))
            found += moved_as_told(run, [""] if len(names) == 1 else [f".{name}"])
        return found, files

    def _verification(self) -> tuple[list[Found], list[str]]:
        from ..live.pretest import PretestError, predicted, verified
        from ..records.run_file import load_run
        from ..studies.identifying.identify import identify

        before = self.procedure.state("identification")
        if before is None or not before.files:
            raise PretestError("there is no identification record to verify the model with")
        runs = [(file, load_run(Path(file))) for file in before.files]
        with console(error=True).status("") as status:
            of_parameters = verified(identify(self.definition, runs, on_progress=status.update))
        return [*predicted(self.definition, runs), *of_parameters], []

    def _check(self) -> tuple[list[Found], list[str]]:
        from ..live.driver_trial import Found
        from ..studies.check.check import check

        answer = with_progress(
            lambda on_progress: check(self.definition, text=self.text, on_progress=on_progress), quiet=False
        )
        tell(answer, self.definition.title)
        good = answer.verdict == "GO" or self.without_go
        why = f"; continued because: {self.without_go}" if answer.verdict != "GO" and self.without_go else ""
        return [Found("verdict", f"{answer.verdict}{why}", "good" if good else "BAD")], []

    def _run(self) -> tuple[list[Found], list[str]]:
        from ..live.console import check_operator
        from ..live.driver_trial import Found
        from ..live.session import Session
        from .options import free
        from .running import run_session

        check_operator(self.start)
        file = free(self.path.with_suffix(".run.h5"), False)
        notes = [f"pre-test procedure {self.procedure.file.name}"]
        about = said_of(self.operator, "", "", notes)
        session = Session(self.definition, file, text=self.text, without_go=self.without_go, about=about)
        done = run_session(session, self.start, False)
        word = "not judged" if done.accepted is None else done.accepted.word
        ended = f"{done.outcome}{f': {done.reason}' if done.reason else ''}; {word}"
        if done.outcome != "completed":
            return [Found("run", ended, "BAD")], [str(file)]
        return [Found("run", ended, "good" if word == "ACCEPTED" else "note")], [str(file)]
