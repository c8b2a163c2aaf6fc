"""Why a process that recorded was lost, written into its run file by another process.

    python -m halfreal.records.last_words RUN.h5 "why"

The recorder, where it lives on, is waited for: it puts its last rows into the file first.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .live_file import finish
from .live_layout import is_locked
from .run_file import RunFileError

PATIENCE, PAUSE = 30.0, 0.02
"""Seconds for a recorder to end, and between two looks at it."""


def command(path: Path) -> list[str]:
    """What is to be run, with the reason as one argument more."""
    return [sys.executable, "-P", "-m", __name__, str(path.absolute())]


def write(path: str | Path, why: str) -> None:
    """Say in the file of a recording that broke off why it did."""
    deadline = time.monotonic() + PATIENCE
    fd = os.open(path, os.O_RDONLY)
    try:
        while is_locked(fd) and time.monotonic() < deadline:
            time.sleep(PAUSE)
    finally:
        os.close(fd)
    finish(path, outcome="tripped", reason=why)


def main(given: Sequence[str]) -> int:
    try:
        write(*given)
    except (OSError, RunFileError) as error:
        print(f"halfreal: the reason could not be written into '{given[0]}': {error}", file=sys.stderr)
        return 1
    print(f"halfreal: that is in the record '{given[0]}', too", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
