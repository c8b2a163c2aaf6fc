"""All commands, in the order in which ``halfreal --help`` lists them."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from typing import Annotated, Any, ParamSpec, cast

import typer
from typer.core import TyperGroup

from .. import __version__
from ..orphans import Ended, raise_when_ended
from ..places import found
from .options import CRASHED, crashed, show_tracebacks, told
from .trusting import trusting

P = ParamSpec("P")
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
HELP = {"help_option_names": ["-h", "--help"]}
GARBAGE = 200_000
"""New objects after which Python looks for unreachable ones.  Importing makes many objects and no garbage, and
with Python's own figure it looks at them again and again."""
READER_GONE = 128 + 13
"""Exit code where the reader of our output went before its end, as in ``… | head``: that of a shell for it."""


def quietly(command: Callable[P, None]) -> Callable[P, None]:
    """End silently if the reader of the output has closed it; any other broken pipe is an error like others."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:
            try:
                print(flush=True)  # was it this pipe?
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing to report at the exit either
                raise typer.Exit(READER_GONE) from None
            raise

    return wrapped


class Commands(Mapping[str, Any]):
    """Each command by its name, created on request: one is run, and the others need not be loaded."""

    def __init__(self) -> None:
        names = (place.partition(":")[2] for place in COMMANDS)
        self._places = {name.rstrip("_"): place for name, place in zip(names, COMMANDS, strict=True)}
        self._made: dict[str, Any] = {}

    def function(self, name: str) -> Callable[..., None]:
        (found_there,) = found(__package__, [self._places[name]])
        return found_there  # type: ignore[no-any-return]

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=HELP)
            alone.command(name)(told(quietly(trusting(self.function(name)))))
            self._made[name] = typer.main.get_command(alone)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Group(TyperGroup):
    """All commands; of those that are not run only the first sentence of their help is looked at."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.all = Commands()
        self.commands = cast(Any, self.all)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = []
        for name in self.all:
            words = " ".join((self.all.function(name).__doc__ or "").split("\n\n")[0].split())
            rows.append((name, re.split(r"(?<=\.) ", words)[0]))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    cls=Group,
    help="Real-time hybrid testing: one definition, checked, rehearsed, run and reported.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes as long to be loaded as all else that --help needs
    context_settings=HELP,
    epilog="Exit codes: 0 success, 1 the answer is no (NO-GO, MARGINAL or a trip), 2 wrong input, 3 internal error.",
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"halfreal {__version__}")
        raise typer.Exit


@app.callback()
def halfreal(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    with_traceback: Annotated[
        bool, typer.Option("--traceback", help="Show the traceback of an unexpected error.")
    ] = False,
) -> None:
    """Options that come before a command."""
    show_tracebacks(with_traceback)


def main() -> None:
    """Run the command line; errors that the user can fix are shown without a traceback."""
    # Matrices here are small: threads of a linear-algebra library would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # at the end Python would look through all objects again, and free each
    raise_when_ended()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # for programmers; what matters to users is printed by the commands
    try:
        app()
    except Ended as ended:
        os._exit(128 + ended.number)  # all is cleared away; a terminal that takes nothing must not keep us
    except Exception as error:  # outside of any command
        with suppress(typer.Exit):
            crashed(error)
        sys.exit(CRASHED)
