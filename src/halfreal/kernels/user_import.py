"""Users' files imported as they are now, with all that they import themselves and a list of what they read.

A file of the user's may import others of theirs, and read tables.  Each gets its own copies of the modules it imports,
compiled from their sources and not from Python's cache, and is imported again as soon as anything it has read has
changed, or the environment or the working folder.  Installed libraries and halfreal itself are shared as ever.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from . import patience, trust
from .origin import users
from .patience import within

SMALL = 1_000_000
"""Bytes up to which a file is read each time to see whether it has changed; of larger ones size and times decide."""
SYSTEM = ("/dev", "/proc", "/sys")
CACHES = (".pyc", ".nbi", ".nbc")

_lock = threading.RLock()  # modules are hidden for a while from the whole process
_here = threading.local()
_imported: dict[Path, Imported] = {}


@dataclass
class Imported:
    """A user's file as it was imported."""

    path: Path
    module: ModuleType
    modules: dict[str, ModuleType] = field(default_factory=dict)
    """The user's own modules that it has imported."""
    files: dict[Path, Any] = field(default_factory=dict)
    """What it has read, and the state of that before."""
    surroundings: Any = field(default_factory=lambda: _surroundings())

    def current(self) -> bool:
        """Whether importing it again would give the same."""
        return self.surroundings == _surroundings() and all(state == _state(file) for file, state in self.files.items())

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file that it has read, empty if there was none."""
        return {str(file): state[-1] if state else "" for file, state in sorted(self.files.items())}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While it lasts, imports are the user's own, and what is read is noted down."""
        _listen()
        with _lock:
            hidden = {name: sys.modules.pop(name) for name in _of_users()}
            before, finder, outer = set(sys.modules), _FromSource(), getattr(_here, "files", None)
            sys.modules.update(self.modules)
            sys.meta_path.insert(0, finder)
            sys.path.insert(0, str(self.path.parent))
            importlib.invalidate_caches()
            _here.files = self.files
            try:
                with _numba_keeps_nothing(), within(patience.LONGEST):
                    yield
            finally:
                _here.files = outer
                with suppress(ValueError):
                    sys.path.remove(str(self.path.parent))
                sys.meta_path.remove(finder)
                theirs = set(_of_users()) - before
                self.modules |= {name: sys.modules.pop(name) for name in theirs}
                sys.modules.update(hidden)


def import_file(path: Path) -> Imported:
    """A user's file as it is now: the same object as before if nothing that it has read has changed."""
    path = path.resolve()
    with _lock:
        known = _imported.get(path)
        if known is None or not known.current():
            known = _import(path)
            _imported[path] = known
        return known


def _import(path: Path) -> Imported:
    name = f"halfreal_user_{path.stem}"
    spec = spec_from_file_location(name, path, loader=_SourceLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    made = Imported(path, module, {name: module})
    _add(made.files, path)
    with made.at_work():
        spec.loader.exec_module(module)
    return made


# --- modules ----------------------------------------------------------------------------------------------------------


class _SourceLoader(SourceFileLoader):
    """Compiles the source regardless of Python's cache, which knows a source by its size and the second it is of."""

    def get_code(self, fullname: str) -> Any:
        trust.check(Path(self.path))
        return self.source_to_code(self.get_data(self.path), self.path)


class _FromSource:
    """Finds modules of the user's."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or not users(str(spec.origin)):
            return None
        spec.loader = _SourceLoader(name, str(spec.origin))
        return spec


def _of_users() -> list[str]:
    """Names of the modules that are the user's; packages with compiled parts cannot be imported twice, and are not."""
    kept, found = {"__main__"}, []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")  # asked itself, a lazy module would load
        if isinstance(file, str) and users(file):
            if file.endswith(".py"):
                found.append(name)
            else:
                kept.add(name.partition(".")[0])
    return [name for name in found if name.partition(".")[0] not in kept]


@contextmanager
def _numba_keeps_nothing() -> Iterator[None]:
    """While it lasts, no function of the user's gets a disk cache, regardless of its decorator: it would be stale."""
    from numba.core.dispatcher import Dispatcher

    dispatchers: Any = Dispatcher
    usual = dispatchers.enable_caching

    def enable_caching(dispatcher: Any) -> None:
        if not users(dispatcher.py_func.__code__.co_filename):
            usual(dispatcher)

    dispatchers.enable_caching = enable_caching
    try:
        yield
    finally:
        dispatchers.enable_caching = usual


# --- files ------------------------------------------------------------------------------------------------------------


@cache
def _listen() -> None:
    """Have Python say what is opened: once, as a hook cannot be taken away, and not before there is a user's file."""
    sys.addaudithook(_note)


def _note(event: str, args: tuple[Any, ...]) -> None:
    files = getattr(_here, "files", None)
    if files is None or event not in ("open", "sqlite3.connect") or not isinstance(args[0], str | bytes | os.PathLike):
        return
    if event == "open":
        mode, flags = args[1] or "", args[2] if len(args) > 2 and isinstance(args[2], int) else 0
        if set(mode) & set("wax") or (not mode and flags & (os.O_WRONLY | os.O_RDWR)):
            return
    file = Path(os.fsdecode(args[0])).absolute()  # a link may be set to another file
    if users(str(file)) and file.suffix not in CACHES and not str(file).startswith(SYSTEM):
        _add(files, file)


def _add(files: dict[Path, Any], file: Path) -> None:
    outer, _here.files = getattr(_here, "files", None), None  # looking at a file opens it
    try:
        files.setdefault(file, _state(file))
    finally:
        _here.files = outer


def _state(file: Path) -> tuple[Any, ...] | None:
    """By which a change of a file is known, with the hash of its content at the end."""
    try:
        found = file.stat()
        state = found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
        if not stat.S_ISREG(found.st_mode):  # such as a pipe, which has no content to come back to
            return *state, ""
        return *state, _sha256(file) if found.st_size <= SMALL else _sha256_of_large(file, state)
    except OSError:
        return None


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@cache
def _sha256_of_large(file: Path, state: tuple[int, ...]) -> str:
    return _sha256(file)


def _surroundings() -> Any:
    return {name: value for name, value in os.environ.items() if not name.startswith("HALFREAL_")}, Path.cwd()
