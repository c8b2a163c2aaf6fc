"""All commands, in the order in which ``halfreal --help`` tells them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from ..orphans import Ended, raise_when_ended
from .benchmark import benchmark
from .charts import chart
from .check import check
from .export import export
from .modes import modes
from .new_and_examples import examples, new
from .options import told
from .rehearse import rehearse
from .report import info, report
from .running import resume, rig, run
from .sweep import sweep
from .tune import tune

P = ParamSpec("P")
app = typer.Typer(
    help="Real-time hybrid testing: one definition, checked, rehearsed, run and reported.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all is well, 1 the answer is no (NO-GO or a trip), 2 the input is wrong.",
)
COMMANDS = (
    *(new, check, rehearse, run, resume, rig),
    *(chart, sweep, tune, benchmark),
    *(report, modes, export, info, examples),
)
READER_GONE = 128 + 13
"""Exit code where the reader of our output went before its end, as in ``… | head``: that of a shell for it."""


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


for command in COMMANDS:
    app.command()(told(quietly(command)))


def main() -> None:
    """Run the command line; errors the user can mend come without a traceback."""
    # Matrices here are small: threads of a linear-algebra library would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    raise_when_ended()
    try:
        app()
    except Ended as ended:
        os._exit(128 + ended.number)  # all is cleared away; a terminal that takes nothing must not keep us
