"""``--trust``, and the question about a user's file that is run for the first time."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

UNUSED = (
    *("numpy.char", "numpy.core", "numpy.ctypeslib", "numpy.f2py", "numpy.polynomial", "numpy.strings"),
    "numpy.testing",
)
"""SciPy imports every part of NumPy; few commands use these."""
Trust = Annotated[bool, typer.Option("--trust", help="Run the programs that the definition names without asking.")]


def trusting(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that reads definitions or run files the option ``--trust``, and have it ask without."""
    own = inspect.signature(command, eval_str=True)
    if "path" not in own.parameters:
        return command

    @wraps(command)
    def wrapped(*args: Any, trust: bool = False, **kwargs: Any) -> None:
        from ..lazy import load_later

        load_later(*UNUSED)
        from ..kernels import trust as trusted

        if trust:
            os.environ[trusted.ALL] = "1"  # also for processes that are started, such as the simulated rig
        with trusted.asking(ask):
            command(*args, **kwargs)

    option = inspect.Parameter("trust", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Trust)
    wrapped.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {**{name: one.annotation for name, one in own.parameters.items()}, "trust": Trust}
    return wrapped


def ask(path: Path) -> bool:
    """Ask at the terminal whether a file may be run; no without one."""
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    typer.echo(
        f"{str(path)!r} is a program that the definition runs with your permissions; this prompt "
        "appears once per file.",
        err=True,
    )
    return typer.confirm("Run it and what it imports?", default=False, err=True)
