"""The last line of defence: a failure of halfreal's own becomes one line, a report in a file and an exit code.

The report holds what is needed to find the cause, and nothing else: versions, the command with the names of its
options, the lines of code that led there.  No values of options, of variables or of the environment.
"""

from __future__ import annotations

import datetime
import platform
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..kernels.origin import halfreals
from ..user_folders import made_private, state

LIBRARIES = ("halfreal", "numpy", "scipy", "numba", "llvmlite", "h5py", "pydantic", "typer")
KEPT = 20
"""Reports; older ones are removed."""


def reported(error: BaseException) -> str:
    """An unexpected error in one line: what it is, where it occurred, and the report file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if halfreals(frame.filename)] or list(frames)
    where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    first = (str(error).strip().splitlines() or ["no message"])[0][:300]
    return (
        f"halfreal failed with an internal error: {type(error).__name__}: {first}{where}; please report this line, "
        f"{_kept(error)}and the definition; 'halfreal --traceback …' shows the full traceback"
    )


def _kept(error: BaseException) -> str:
    """Write the report; empty if it cannot be written: the failure itself must still be reported."""
    try:
        folder = made_private(state() / "crashes")
        for old in sorted(folder.glob("*.txt"))[: -KEPT + 1]:
            old.unlink(missing_ok=True)
        now = datetime.datetime.now(datetime.UTC)
        path = folder / f"{now:%Y%m%dT%H%M%S}.{now.microsecond:06}.txt"
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(text_of(error, sys.argv, now), encoding="utf-8")
    except OSError:
        return ""
    return f"the file '{path}', "


def text_of(error: BaseException, arguments: list[str], now: datetime.datetime) -> str:
    """The report."""
    # a definition's or a run file's name shows which sort of file it was; folders and values are the user's own
    options = [one.partition("=")[0] if one.startswith("-") else f"*{Path(one).suffix}" for one in arguments[2:]]
    lines = [
        f"when: {now.isoformat(timespec='seconds')}",
        f"command: halfreal {' '.join([*arguments[1:2], *options])}",
        f"python: {platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}",
        *(f"{name}: {_version(name)}" for name in LIBRARIES),
        "",
        "".join(traceback.format_exception(error)).replace(str(Path.home()), "~"),
    ]
    return "\n".join(lines)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
