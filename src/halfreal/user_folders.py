"""Folders of this user outside any project: what is trusted, compiled code, and reports of crashes.

Private: of this user, readable and writable by no one else.  ``XDG_CONFIG_HOME`` and the like move them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

NAME = "halfreal"


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
    """The folder, made if need be; an ``OSError`` if it is not this user's, or others may write to it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(f"'{folder}' belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder
