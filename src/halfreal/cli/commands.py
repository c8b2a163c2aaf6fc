"""All commands, in the order in which ``halfreal --help`` tells them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Annotated, ParamSpec

import typer

from .. import __version__
from ..orphans import Ended, raise_when_ended
from ..places import found
from .options import CRASHED, crashed, show_tracebacks, told
from .trusting import trusting

P = ParamSpec("P")
app = typer.Typer(
    help="Real-time hybrid testing: one definition, checked, rehearsed, run and reported.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all is well, 1 the answer is no (NO-GO, MARGINAL or a trip), 2 the input is wrong, "
    "3 halfreal itself failed.",
)
COMMANDS = (
    "new_and_examples:new",
    "check:check",
    "rehearse:rehearse",
    "identify:identify",
    "running:run",
    "running:resume",
    "site:site",
    "running:rig",
    "serving:serve",
    "calibrating:calibrate",
    "pretesting:pretest",
    "key:key",
    "paged:page",
    "charts:chart",
    "poles:poles",
    "open_loop:bode",
    "open_loop:nyquist",
    "pushover:pushover",
    "continuation:continue_",
    "sweep:sweep",
    "tune:tune",
    "benchmark:benchmark",
    "report:report",
    "modes:modes",
    "export:export",
    "report:info",
    "kinds:kinds",
    "doctor:doctor",
    "new_and_examples:examples",
)
"""Their places in this package."""
READER_GONE = 128 + 13
"""Exit code where the reader of our output went before its end, as in ``… | head``: that of a shell for it."""


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"halfreal {__version__}")
        raise typer.Exit


@app.callback()
def halfreal(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version and end.")
    ] = False,
    with_traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error came up that nobody foresaw.")
    ] = False,
) -> None:
    """Options that come before a command."""
    show_tracebacks(with_traceback)


def quietly(command: Callable[P, None]) -> Callable[P, None]:
    """End without a word where the reader of our output has gone; any other broken pipe is an error like others."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:
            try:
                print(flush=True)  # was it this pipe?
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing to tell at the exit either
                raise typer.Exit(READER_GONE) from None
            raise

    return wrapped


for command in found(__package__, COMMANDS):
    app.command(command.__name__.rstrip("_"))(told(quietly(trusting(command))))  # "continue" is a word of Python


def main() -> None:
    """Run the command line; errors the user can mend come without a traceback."""
    # Matrices here are small: threads of a linear-algebra library would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    raise_when_ended()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # for programmers; what matters to users is told by the commands
    try:
        app()
    except Ended as ended:
        os._exit(128 + ended.number)  # all is cleared away; a terminal that takes nothing must not keep us
    except Exception as error:  # outside of any command
        with suppress(typer.Exit):
            crashed(error)
        sys.exit(CRASHED)
