"""Folders of this user outside any project: what is trusted, compiled code, and reports of crashes.

Private: of this user, readable and writable by no one else.  ``XDG_CONFIG_HOME`` and the like move them.  What others
could have written is refused, not repaired: a mode that is set now does not undo what was written before.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

NAME = "halfreal"
SECRET_BYTES = 32
OTHERS_WRITE, OTHERS = 0o022, 0o077
"""Bits of a mode: group and others may write, or have any access."""


def config() -> Path:
    import platformdirs

    return platformdirs.user_config_path(NAME, appauthor=False)


def cache() -> Path:
    import platformdirs

    return platformdirs.user_cache_path(NAME, appauthor=False)


def state() -> Path:
    import platformdirs

    return platformdirs.user_state_path(NAME, appauthor=False)


def made_private(folder: Path) -> Path:
    """The folder, made if need be; a ``PermissionError`` if it is not this user's, or others could write to it.

    A folder that others could only read is closed to them.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    _check_owner(folder, found, OTHERS_WRITE)
    if stat.S_IMODE(found.st_mode) & OTHERS:
        folder.chmod(0o700)
    return folder


def read_private(path: Path, forbidden: int = OTHERS_WRITE) -> bytes:
    """The content of a regular file of this user in a private folder; a ``PermissionError`` if others could write it.

    ``forbidden`` are the bits that its mode must not have.
    """
    _check_owner(path.parent, path.parent.stat(), OTHERS_WRITE)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"'{path}' is not a regular file; remove it")
        _check_owner(path, found, forbidden)
        return file.read()


def append_private(path: Path, line: str) -> None:
    """Add a line to a file of this user, made if need be in a private folder; refused as by ``read_private``."""
    made_private(path.parent)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        _check_owner(path, os.fstat(handle), OTHERS_WRITE)
        file.write(line)


def secret() -> bytes:
    """A random key of this user, made when it is first needed, with which files that halfreal keeps are signed.

    It is in the configuration, apart from what is signed: who can write to a cache still cannot sign.  An ``OSError``
    if it cannot be kept, or others could have read it.
    """
    path = config() / "secret"
    try:
        found = read_private(path, OTHERS)
    except FileNotFoundError:
        _make_secret(path)
        found = read_private(path, OTHERS)
    if len(found) != SECRET_BYTES:
        raise OSError(f"'{path}' has {len(found)} bytes where {SECRET_BYTES} are expected; remove it")
    return found


def _make_secret(path: Path) -> None:
    """Write a secret whole; that of another process that was faster stays."""
    made_private(path.parent)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
    finally:
        temporary.unlink(missing_ok=True)


def _check_owner(path: Path, found: os.stat_result, forbidden: int) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        raise PermissionError(f"'{path}' belongs to another user")
    if mode & forbidden:
        access = "write to" if mode & OTHERS_WRITE else "read"
        raise PermissionError(
            f"other users could {access} '{path}' (mode {mode:o}, expected {mode & ~OTHERS:o}); remove it"
        )
