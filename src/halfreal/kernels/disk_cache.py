"""Compiled code kept on disk: in a private folder, and looked at before it is loaded.

Each compiled function (``library.py``) or fused loop (``fused.py``) is a file of its own::

    HMAC-SHA-256 of all that follows | name of the entry | newline | what is kept

The key is a secret of this user (``user_folders.secret``): who can write to the folder cannot add code.  What is not as
it was written is removed and made again, and where nothing can be kept, it is made each time; either is reported once,
in a line.  Files are written under another name and renamed, so that processes can work side by side.

The folder is that of the user's caches, or one in ``NUMBA_CACHE_DIR`` where that is set.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from .. import user_folders

FOLDER = "NUMBA_CACHE_DIR"
FULL = 400_000_000
"""Bytes of the folder from which on the entries that were not used for longest are removed, down to half of it."""
DAMAGED = "the compiled code on disk was damaged and is compiled again"
TOLD = "HALFREAL_CACHE_TOLD"
"""Set in the environment once something was determined, so that processes that are started from here do not repeat
it."""


def kept(name: str) -> bytes | None:
    """What was put under a name; None if nothing was, or it is damaged."""
    there = folder()
    if there is None:
        return None
    try:
        return checked(there / name)
    except ValueError:
        remove(there / name)
        tell(DAMAGED)
        return None


def put(name: str, payload: bytes) -> None:
    """Keep something under a name."""
    there = folder()
    if there is not None:
        write(there / name, payload)


def write(path: Path, payload: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        _make_room(path.parent)
        content = path.name.encode() + b"\n" + payload
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_signature(content) + content)
        temporary.replace(path)
    except OSError as error:
        remove(temporary)
        without(path.parent, error)


def checked(path: Path) -> bytes | None:
    """What an entry holds, None if there is none; an error if it is not as it was written."""
    try:
        content = user_folders.read_private(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        without(path.parent, error)
        return None
    digest, (name, _, payload) = content[:32], content[32:].partition(b"\n")
    if not hmac.compare_digest(_signature(memoryview(content)[32:]), digest) or name != path.name.encode():
        raise ValueError(f"'{path}' is damaged")
    return payload


def remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        without(path.parent, error)


@cache
def folder() -> Path | None:
    """Where compiled code is kept; None if it cannot be."""
    given = os.environ.get(FOLDER)
    there = Path(given) / "halfreal" if given else user_folders.cache() / "compiled"
    try:
        _key()
        return user_folders.made_private(there)
    except OSError as error:
        without(there, error)
        return None


@cache
def _key() -> bytes:
    return user_folders.secret()


def _signature(content: bytes | memoryview) -> bytes:
    return hmac.digest(_key(), content, "sha256")


def without(there: Path, error: OSError) -> None:
    """Report that nothing is kept."""
    tell(f"compiled code cannot be stored in '{there}' ({error.strerror or error}); commands take longer to start")


def tell(line: str) -> None:
    """A line for people, once."""
    if not os.environ.get(TOLD):
        os.environ[TOLD] = "1"
        print(f"note: {line}", file=sys.stderr)


@cache
def _make_room(there: Path) -> None:
    """Once in a process: remove what was not used for longest if the folder has grown too large."""
    found = []
    for path in there.iterdir():
        try:
            status = path.stat()
        except FileNotFoundError:  # removed by another process
            continue
        found.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    total = sum(size for _, size, _ in found)
    if total > FULL:
        for _, size, path in sorted(found):
            if total <= FULL // 2:
                break
            path.unlink(missing_ok=True)
            total -= size


@cache
def numba_version() -> str:
    """Its version, without loading it."""
    return version("numba")
