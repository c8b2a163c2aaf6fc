"""What commands share: arguments and options, error reporting, and files that are read and written."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from ..errors import HalfrealError

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..runs.run import Run

OK, NO, WRONG, CRASHED = 0, 1, 2, 3
"""Exit codes: success; the answer is no; wrong input; internal error."""
ENDS = (typer.Exit, typer.Abort, typer.BadParameter)
"""How a command says to the command line that it ends."""
P = ParamSpec("P")

DefinitionFile = Annotated[Path, typer.Argument(metavar="TEST.toml", help="The test definition.", show_default=False)]
RunFile = Annotated[Path, typer.Argument(metavar="RUN.h5", help="A run file.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")]
SAID = "Kept in the run file; overrides the definition's record."
OperatorName = Annotated[str, typer.Option("--operator", metavar="NAME", help=f"Operator of the test. {SAID}operator.")]
SpecimenName = Annotated[str, typer.Option("--specimen", metavar="TEXT", help=f"Specimen. {SAID}specimen.")]
Calibration = Annotated[
    str,
    typer.Option("--calibration", metavar="TEXT", help=f"Sensor calibration: date, certificate. {SAID}calibration."),
]
Notes = Annotated[
    list[str] | None,
    typer.Option("--note", metavar="TEXT", help="Kept in the run file; repeatable.", show_default=False),
]


shows_tracebacks = False
"""Whether an unexpected error is raised with its traceback, for developers."""


def show_tracebacks(asked: bool) -> None:
    global shows_tracebacks
    shows_tracebacks = asked


def stop(message: str, code: int = WRONG) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def crashed(error: BaseException) -> NoReturn:
    """End after a failure of halfreal's own."""
    from .crash import reported

    if shows_tracebacks:
        typer.echo("".join(traceback.format_exception(error)), err=True)
    stop(reported(error), CRASHED)


def told(command: Callable[P, None]) -> Callable[P, None]:
    """Show errors without a traceback: those that the user can fix, and all others in one line."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except ENDS:
            raise
        except HalfrealError as error:
            stop(str(error))
        except OSError as error:
            stop(system_error(error))
        except MemoryError as error:
            stop(f"not enough memory{f': {error}' if str(error) else ''}; make the test shorter or its record smaller")
        except Exception as error:
            from ..definition.kinds import raised_in_package

            where = raised_in_package(error)
            if where:
                stop(where)
            crashed(error)

    return wrapped


def system_error(error: OSError) -> str:
    """What the system could not do, with which file, and what helps where the disk is full."""
    what = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        what += "; free disk space, or write to another disk"
    return f"'{error.filename}': {what}" if error.filename else what


def free(target: Path, force: bool, option: str = "--output") -> Path:
    """A file that can be written, as found before any long work; ``option`` is how its name is given."""
    if not target.parent.is_dir():
        stop(f"the folder '{target.parent}' does not exist; create it first")
    if target.exists() and not force:
        stop(f"'{target}' exists; choose another name with {option}, or --force to overwrite it")
    if target.exists() and not target.is_file():  # a device or a folder, which a file would take the place of
        stop(f"'{target}' is not an ordinary file; choose another name with {option}")
    return target


def said_of(operator: str, specimen: str, calibration: str, notes: list[str] | None) -> dict[str, str]:
    """What the command line says of a test."""
    said = {"operator": operator, "specimen": specimen, "calibration": calibration, "notes": "\n".join(notes or ())}
    return {key: text for key, text in said.items() if text}


def write_text(path: Path, text: str, force: bool) -> None:
    from ..records.whole_file import whole_file

    with whole_file(path, overwrite=force) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_picture(figure: Any, target: Path, force: bool) -> None:
    """A figure in the format of its file's ending."""
    from ..records.whole_file import whole_file

    try:
        with whole_file(target, overwrite=force) as temporary:
            figure.savefig(temporary, dpi=150, format=target.suffix.lstrip(".") or "png")
    except ValueError as error:
        stop(f"'{target}' cannot be written: {error}")


def as_toml(definition: Definition) -> str:
    from ..definition.load import to_toml

    return to_toml(definition)


def write_changed(target: Path, text: str, before: Definition, after: Definition, source: Path, force: bool) -> None:
    """Write a definition that a study has changed into the text of the file that it came from."""
    from ..definition.edit import edited

    found, kept = edited(text, before, after, source.parent, target.parent)
    write_text(target, found, force)
    if not kept:
        typer.echo(f"note: '{target}' is rewritten as a whole; the comments of '{source}' are not kept", err=True)


def read(path: Path, *, runs: bool = True) -> tuple[Definition, str]:
    """A definition and its text; prompts for the user's files that it names if the command ``runs`` them."""
    from ..definition.definition import read_definition
    from ..definition.kinds import unusable
    from ..definition.user_code import user_files
    from ..kernels.trust import of_one_answer

    for one in unusable():  # before any fault of the file that may come of it
        typer.echo(f"warning: {one}", err=True)
    definition, text = read_definition(path)
    for file in user_files(definition) if runs else ():  # asked before anything else is begun
        with of_one_answer(Path(file)):
            pass
    return definition, text


def open_run(path: Path) -> Run:
    from ..records.apart import load_apart

    return load_apart(path)


def read_band(text: str) -> tuple[float | None, float | None]:
    """Two frequencies [Hz], as in '2 Hz .. 26 Hz'; None if nothing is said."""
    from ..units import parse

    if not text:
        return None, None
    low, dots, high = (part.strip() for part in text.partition(".."))
    if not dots:
        stop(f"'{text}' is not a frequency band; write it as '2 Hz .. 26 Hz'")
    return parse(low, "Hz"), parse(high, "Hz")
