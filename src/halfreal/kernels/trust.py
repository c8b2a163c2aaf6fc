"""Definitions are data, and the Python files, libraries and FMUs that they name are programs: none is run unasked.

That holds for the command line.  A file is known by the SHA-256 of its content.  What the user has said yes to is
remembered in the user's configuration; what such a file imports is covered by the same answer, as it is then, and asked
about again when it has changed.  In a program of the user's own, which could run anything, there is no prompt: ``ask``
is set by the command line alone.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import user_folders
from ..errors import HalfrealError
from .origin import EXAMPLES, users

ALL = "HALFREAL_TRUST"
"""Set in the environment, all files are trusted, as with ``--trust``: processes that are started inherit it."""

Ask = Callable[[Path], bool]
_ask: Ask | None = None
_here = threading.local()
_agreed: set[Path] = set()
"""Files that were said yes to in this process: what they import is covered."""


class UntrustedError(HalfrealError):
    """A user's file that has not been confirmed."""


@contextmanager
def asking(ask: Ask) -> Iterator[None]:
    """While it lasts, files that are not known yet are run only after a prompt."""
    global _ask
    before, _ask = _ask, ask
    try:
        yield
    finally:
        _ask = before


@contextmanager
def of_one_answer(path: Path) -> Iterator[None]:
    """A file that is about to be run, with all that it imports: one question at most."""
    before = getattr(_here, "agreed", False)
    check(path)
    _here.agreed = before or path.resolve() in _agreed
    try:
        yield
    finally:
        _here.agreed = before


def check(path: Path) -> None:
    """Refuse a file that is not trusted."""
    if _ask is None or os.environ.get(ALL) or not users(str(path)) or path.resolve().is_relative_to(EXAMPLES):
        return
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest in _known():
        return
    if not getattr(_here, "agreed", False) and not _ask(path):
        raise UntrustedError(
            f"'{path}' is a program that this definition runs, and is not trusted yet: it was not "
            "run; inspect it, then "
            "run the same command in a terminal and confirm, or use --trust in a script"
        )
    _agreed.add(path.resolve())
    _remember(digest, path)


def _store() -> Path:
    return user_folders.config() / "trusted"


def _known() -> set[str]:
    try:
        lines = _store().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return {line.split(" ")[0] for line in lines}


def _remember(digest: str, path: Path) -> None:
    try:
        user_folders.made_private(_store().parent)
        with os.fdopen(os.open(_store(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
            file.write(f"{digest} {path}\n")
    except OSError:  # then the answer holds for this command, and for the processes that it starts
        os.environ[ALL] = "1"
