"""The secret that both ends of an authenticated link share: its file, and the keys that are made of it.

    key of a session  =  SipHash-2-4-128 under the secret of  "halfreal", number of HELLO, number of OFFER

HELLO, OFFER and REFUSAL, which belong to no session, are under the key of the numbers 0 and 0.  The secret itself tags
nothing.  Without a secret every key is zero, and a tag no more than a checksum.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import struct
from pathlib import Path

from pydantic import ValidationInfo

from ..kernels.datagram import OPEN
from ..kernels.siphash import TAG, tag
from ..settings import fault, folder, stored
from .wires import LinkError

DIGITS = 2 * TAG
LARGEST = 4096
"""Bytes beyond which a file is no key file."""


def session_key(secret: bytes, asked: int, offered: int) -> bytes:
    return OPEN if secret == OPEN else tag(b"halfreal" + struct.pack("<QQ", asked, offered), secret)


def handshake_key(secret: bytes) -> bytes:
    return session_key(secret, 0, 0)


def key_path(key: str, info: ValidationInfo) -> str:
    """The file that a link's setting ``key`` names, relative to the definition's folder."""
    if not key or stored(info):
        return key
    if "\0" in key:
        raise fault("a file name cannot contain a zero byte; correct link.key")
    try:
        return str((folder(info) / Path(key).expanduser()).absolute())
    except RuntimeError:  # nobody of that name, or no home
        raise fault(f"'{key}': there is no such home directory; write the full path of the key file") from None


def make_secret(path: Path) -> None:
    """A new key file, of this user alone."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise LinkError(
            f"'{path}' exists and was not changed; both ends may use it. Choose another name, or remove it first"
        ) from None
    except OSError as error:
        raise LinkError(f"'{path}' cannot be created: {error.strerror}; choose another folder") from None
    try:
        with os.fdopen(fd, "w") as file:
            os.fchmod(fd, 0o600)  # whatever umask says
            file.write(secrets.token_hex(TAG) + "\n")
    except OSError as error:
        path.unlink(missing_ok=True)
        raise LinkError(f"'{path}' cannot be written: {error.strerror}; choose another folder") from None


def read_secret(path: Path) -> bytes:
    """The secret in a key file, if it is of this user alone; its content is never shown."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise LinkError(
            f"there is no key file '{path}' (link.key); create one with 'halfreal key', and copy it to the rig"
        ) from None
    except OSError as error:
        what = "is a symbolic link; name the file itself" if error.errno == errno.ELOOP else f": {error.strerror}"
        raise LinkError(f"the key file '{path}' (link.key) {what}") from None
    try:
        _check_private(path, os.fstat(fd))
        text = os.read(fd, LARGEST).strip()
    finally:
        os.close(fd)
    try:
        secret = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        secret = b""
    if len(text) != DIGITS or len(secret) != TAG or secret == OPEN:
        raise LinkError(
            f"'{path}' is not a key file: it must contain {DIGITS} hexadecimal digits, not all zero; create one with "
            "halfreal key"
        )
    return secret


def _check_private(path: Path, found: os.stat_result) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode):
        raise LinkError(f"'{path}' (link.key) is not a regular file; create one with 'halfreal key'")
    if found.st_uid != os.geteuid():
        raise LinkError(f"the key file '{path}' belongs to another user; it must be yours: copy it, with mode 600")
    if mode & 0o077:
        raise LinkError(
            f"other users may read or write the key file '{path}' (mode {mode:o}), so it is no "
            "longer secret; create a new "
            f"one for both ends, or, if no one can have read it: chmod 600 {path}"
        )
