"""Definitions are data, and the Python files, libraries and FMUs that they name are programs: none is run unasked.

That holds for the command line.  A file is known by the SHA-256 of its content.  What the user has said yes to is
remembered in the user's configuration, in a file that is not used if others could have written it.  What such a file
imports is covered by the same answer, as it is then, and asked about again when it has changed.  In a program of the
user's own, which could run anything, there is no prompt: ``ask`` is set by the command line alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import user_folders
from ..errors import HalfrealError
from .origin import EXAMPLES, users

ALL = "HALFREAL_TRUST"
"""Set in the environment, all files are trusted, as with ``--trust``: processes that are started inherit it."""
AGREED = "HALFREAL_TRUSTED_DIGESTS"
"""In the environment: digests of files that the user has confirmed where the answers cannot be stored."""
LINE = re.compile(r'([0-9a-f]{64}) ".*"')
"""A line of the store: digest and quoted name.  The name is for people; only the digest counts."""

Ask = Callable[[Path], bool]
_ask: Ask | None = None
_here = threading.local()
_agreed: set[Path] = set()
"""Files that were said yes to in this process: what they import is covered."""
_noted: set[str] = set()
"""What was reported about the store."""


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
    if digest in os.environ.get(AGREED, "").split() or digest in _known():
        return
    if not getattr(_here, "agreed", False) and not _ask(path):
        raise UntrustedError(
            f"{str(path)!r} is a program that this definition runs, and is not trusted yet: it was not "
            "run; inspect it, then "
            "run the same command in a terminal and confirm, or use --trust in a script"
        )
    _agreed.add(path.resolve())
    _remember(digest, path)


def _store() -> Path:
    return user_folders.config() / "trusted-files"


def _known() -> set[str]:
    """Digests in the store; none, with a note, if others could have written it."""
    try:
        lines = user_folders.read_private(_store()).decode("utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return set()
    except OSError as error:
        _note(error)
        return set()
    return {found[1] for line in lines if (found := LINE.fullmatch(line))}


def _remember(digest: str, path: Path) -> None:
    try:
        # quoted, without control characters: a file name must not make a line of its own
        user_folders.append_private(_store(), f"{digest} {json.dumps(os.fspath(path))}\n")
    except OSError as error:  # then the answer holds for this command, and for the processes that it starts
        _note(error)
        os.environ[AGREED] = f"{os.environ.get(AGREED, '')} {digest}".strip()


def _note(error: OSError) -> None:
    if str(error) not in _noted:
        _noted.add(str(error))
        print(f"note: the list of trusted files is not used: {error}", file=sys.stderr)
