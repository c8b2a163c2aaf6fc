"""A model in Tcl, run by Python's own Tcl interpreter with the commands of OpenSees behind it.

openseespy reads no Tcl, but has the same commands.  Here each of them is a command of the interpreter that is shipped
with Python (tkinter), so that variables, expressions, loops, procedures and ``source`` are Tcl's own.  Where the two
languages differ it is put right:

- ``pattern`` and ``section`` may be followed by a block in braces, which is evaluated once they are there;
- beams with fibre sections may have the number of points, section and transformation in place of an integration's tag;
- a pattern may name its time series in place (``Linear``, ``Constant``, ``{Series -dt 0.01 -filePath a.txt}``), which
  openseespy wants as a time series with a tag;
- ``print`` and ``puts`` do nothing, and ``exit`` ends the file.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

BLOCKS = {"pattern": ("Plain", "MultipleSupport", "MultiSupport"), "section": ("Fiber", "FiberThermal", "fiberSec")}
"""Commands that may be followed by a block, and of which kinds."""
RULES = {"dispBeamColumn": "Legendre", "forceBeamColumn": "Lobatto", "nonlinearBeamColumn": "Lobatto"}
"""Beams of OpenSees' older form, and how they integrate."""
SERIES_AT = {"Plain": 2, "UniformExcitation": None}
"""Where a pattern of each kind has its time series, counted after its kind; None: after -accel."""
FIRST_TAG = 900001
WHOLE = re.compile(r"[+-]?\d+$")
EXIT = "halfreal: the file ends here"


class TclModelError(Exception):
    """What the interpreter says of a model."""


def run(ops: Any, path: Path) -> None:
    """Run a Tcl file against OpenSees."""
    try:
        import tkinter
    except ImportError:
        raise TclModelError(
            "this Python has no Tcl (tkinter); install it (on Debian the package python3-tk), or write the model for "
            "openseespy"
        ) from None
    tcl = tkinter.Tcl()
    raised: list[Exception] = []

    def command(name: str, call: Callable[..., Any]) -> None:
        def called(*given: str) -> str:
            try:
                return _as_tcl(call(*given))
            except Exception as error:
                raised.append(error)
                raise

        tcl.createcommand(name, called)

    tags = count(FIRST_TAG)
    for name in dir(ops):
        function = getattr(ops, name)
        if not name.startswith("_") and callable(function) and not isinstance(function, type):
            command(name, _with_block(ops, name, tcl, tags) if name in BLOCKS else _plain(function))
    command("element", lambda *given: ops.element(*map(_value, _with_rule(ops, tags, given))))
    for name in ("print", "puts"):
        tcl.createcommand(name, lambda *given: "")
    tcl.eval(f'proc exit args {{ error "{EXIT}" }}')
    try:
        tcl.eval(f"source {{{path}}}")
    except tkinter.TclError as error:
        if str(error) == EXIT:
            return
        raise TclModelError(_told(tcl, error, raised, path)) from None


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: function(*map(_value, given))


def _with_block(ops: Any, name: str, tcl: Any, tags: Any) -> Callable[..., Any]:
    function = getattr(ops, name)

    def called(*given: str) -> Any:
        block = ""
        if given[0] in BLOCKS[name] and any(one.isspace() for one in given[-1]):
            *rest, block = given
            given = tuple(rest)
        if name == "pattern":
            given = _with_series(ops, tcl, tags, given)
        function(*map(_value, given))
        if block:
            tcl.eval(block)

    return called


def _with_rule(ops: Any, tags: Any, given: tuple[str, ...]) -> tuple[str, ...]:
    """A beam whose integration has a tag: that with points, section and transformation in its place gets one."""
    kind, numbers, rest = given[0], given[1:7], given[7:]
    if kind not in RULES or len(numbers) < 6 or not all(map(WHOLE.match, numbers)):
        return given
    tag, first, second, points, section, transformation = numbers
    rule = next(tags)
    ops.beamIntegration(RULES[kind], rule, int(section), int(points))
    return (kind.replace("nonlinear", "force"), tag, first, second, transformation, str(rule), *rest)


def _with_series(ops: Any, tcl: Any, tags: Any, given: tuple[str, ...]) -> tuple[str, ...]:
    """A pattern whose time series has a tag."""
    at = SERIES_AT.get(given[0], -1) if given else -1
    if at is None:
        at = given.index("-accel") + 1 if "-accel" in given else -1
    if not 0 <= at < len(given) or WHOLE.match(given[at]):
        return given
    kind, *numbers = tcl.splitlist(given[at])
    tag = next(tags)
    ops.timeSeries({"Series": "Path"}.get(kind, kind), tag, *map(_value, numbers))
    return (*given[:at], str(tag), *given[at + 1 :])


def _value(word: str) -> int | float | str:
    """A word of Tcl as openseespy takes it."""
    if WHOLE.match(word):
        return int(word)
    with contextlib.suppress(ValueError):
        return float(word)
    return word


def _as_tcl(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return " ".join(map(_as_tcl, value))
    return str(value)


def _told(tcl: Any, error: Exception, raised: list[Exception], path: Path) -> str:
    """The error with the line of the file in which it came up."""
    found = re.findall(rf'\(file "{re.escape(str(path))}" line (\d+)\)', tcl.eval("set ::errorInfo"))
    what = str(raised[-1]) if raised and str(raised[-1]) else str(error)
    return f"{path.name}{f', line {found[-1]}' if found else ''}: {what}"
