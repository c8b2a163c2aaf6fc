"""Files that are either whole or not there."""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .kept_file import identity


@contextmanager
def whole_file(path: str | Path, overwrite: bool = False, instead_of: tuple[int, int] | None = None) -> Iterator[Path]:
    """Give a temporary name in ``path``'s folder to write to; rename it to ``path`` at the end.

    If the writing fails, nothing is left behind and an existing file ``path`` is untouched.  Without
    ``overwrite`` an existing file is an error, found before anything is written.  With the identity of a file in
    ``instead_of``, that one and no other is replaced.  What a killed process left in the folder is removed.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"the folder '{path.parent}' does not exist; create it first", str(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder where a file is expected; add a file name", str(path))
    _refuse_existing(path, overwrite)
    remove_leftovers(path.parent)
    # Not a mkstemp file: that one would be readable by its owner only, and so would the record.
    temporary = path.parent / f"{_mine()}{os.getpid()}.{secrets.token_hex(8)}.part"
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        _refuse_existing(path, overwrite)  # it may have appeared while we wrote
        if instead_of is not None and not (path.exists() and identity(path.stat()) == instead_of):
            raise FileExistsError(errno.EEXIST, "it was removed, or another file took its place", str(path))
        temporary.replace(path)
    except OSError as error:
        if error.errno and error.filename in (None, str(temporary)):  # for people it is the file that they asked for
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of processes of this machine that have ended: killed, or lost with the power."""
    pattern = re.compile(re.escape(_mine()) + r"(\d+)\.[0-9a-f]+\.part")
    with suppress(OSError):  # another user's, or removed by another process just now
        for file in folder.iterdir():
            found = pattern.fullmatch(file.name)
            if found and not _alive(int(found[1])):
                file.unlink()


def _mine() -> str:
    """How temporary names of this machine begin: in a folder on a network, others write too."""
    return f".{platform.node()}."


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is someone else's
        return True
    return True


def _refuse_existing(path: Path, overwrite: bool) -> None:
    if not overwrite and path.exists():
        raise FileExistsError(errno.EEXIST, "it already exists; choose another name or allow overwriting", str(path))
