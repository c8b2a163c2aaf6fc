"""Numba's compiled functions kept on disk (``disk_cache.py``): helpers that other compiled functions call.

What Python or the loop calls is kept as an object instead (``objects.py``), which needs no Numba to be loaded.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from . import disk_cache


def keep(dispatcher: Any, identity: str) -> Any:
    """Have what a function compiles to kept on disk; ``identity`` identifies all that it depends on."""
    if hasattr(dispatcher, "_cache"):  # private to Numba; without it only time is lost
        dispatcher._cache = _Entries(dispatcher.py_func.__qualname__.rpartition(".")[2], identity)
    return dispatcher


class _Entries:
    """The cache of one function, as a dispatcher of Numba requires it."""

    def __init__(self, name: str, identity: str) -> None:
        self._name, self._identity = name, identity

    @property
    def cache_path(self) -> str:
        return str(disk_cache.folder() or "")

    def load_overload(self, signature: Any, target: Any) -> Any:
        target.refresh()
        path = self._path(signature, target.codegen())
        if path is None:
            return None
        try:
            payload = disk_cache.checked(path)
            return None if payload is None else CompileResult._rebuild(target, *pickle.loads(payload))
        except Exception:  # of a damaged file
            disk_cache.remove(path)
            disk_cache.tell(disk_cache.DAMAGED)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        path = self._path(signature, result.codegen)
        if path is None or result.library.has_dynamic_globals or any(not one.can_cache for one in result.lifted):
            return
        disk_cache.write(path, dumps(result._reduce()))

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        there = disk_cache.folder()
        if there is None:
            return None
        key = f"{disk_cache.versions()}:{codegen.magic_tuple()}:{self._identity}:{signature}"
        return there / f"{self._name[:40]}-{hashlib.sha256(key.encode()).hexdigest()[:40]}"

    def enable(self) -> None:
        pass

    disable = flush = enable
