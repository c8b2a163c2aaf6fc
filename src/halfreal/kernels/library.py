"""Compiled functions of halfreal's own: where they are found, and who compiles what is missing.

A function is known by a line of text, of which its code depends but for the sources::

    halfreal.couplings.direct:direct_step | gain delays[] | last[] history[,]        a block: fields of p, of s
    halfreal.kernels.calls:call_often | i8 i8 f8[,]                                  one that Python calls

Those in ``functions.txt`` are compiled ahead (``build.py``) into one file of the package, the library::

    index, a line of JSON | function | function | …

and any other, or one whose sources have changed, when it is needed, into the user's cache (``disk_cache.py``).  Either
way it is compiled by Numba in a process of its own (``worker.py``), and a function on disk is::

    head, a line of JSON: symbol, digests of its sources, lengths | object | LLVM code

which is loaded without Numba.  Versions of Numba and NumPy do not matter to what has been compiled; nor does a newer
LLVM, which reads the code of an older one.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from ..errors import HalfrealError
from . import disk_cache
from .objects import ARCHITECTURE, Native, load
from .origin import OWN
from .sources import digest_of

FOLDER = OWN / "compiled"
PATH = FOLDER / f"{ARCHITECTURE}.library"
LIST = Path(__file__).with_name("functions.txt")
KEPT = "function-"
"""How names of entries of the cache begin."""


class NotLoadedError(HalfrealError):
    """A compiled function that cannot be loaded here."""


class Stored(NamedTuple):
    """A compiled function on disk."""

    function: str
    symbol: str
    sources: dict[str, str]
    content: bytes
    code: bytes
    digest: str

    @classmethod
    def of(cls, payload: bytes) -> Stored:
        head, _, rest = payload.partition(b"\n")
        said = json.loads(head)
        content, code = rest[: said["object"]], rest[said["object"] :]
        return cls(said["function"], said["symbol"], said["sources"], content, code, _sha256(payload))

    @property
    def fits(self) -> bool:
        """Whether its sources are those that are here."""
        return all(digest_of(file) == digest for file, digest in self.sources.items())


def packed(function: str, symbol: str, sources: Iterable[str], content: bytes, code: bytes) -> bytes:
    """A compiled function as it is stored."""
    head = {
        "function": function,
        "symbol": symbol,
        "sources": {file: digest_of(file) for file in sources},
        "object": len(content),
    }
    return json.dumps(head).encode() + b"\n" + content + code


def symbol_of(function: str) -> str:
    """The name of its code, which no other function has."""
    name = function.partition(" ")[0].rpartition(":")[2]
    return f"{name.lstrip('_')}_{_sha256(function.encode())[:16]}"


def listed() -> list[str]:
    """Functions that are compiled ahead."""
    return LIST.read_text(encoding="utf-8").splitlines()


# --- the library ------------------------------------------------------------------------------------------------------


class Library:
    """The library of the package, or none where there is none, or it is of a newer LLVM."""

    def __init__(self, path: Path) -> None:
        self._path, self._places, self._begin = path, dict[str, Any](), 0
        try:
            with path.open("rb") as file:
                head = file.readline()
                index = json.loads(head)
                if index["llvm"] <= llvm.llvm_version_info[0]:
                    self._places, self._begin = index["functions"], len(head)
        except (OSError, ValueError, KeyError):
            return

    @property
    def functions(self) -> tuple[str, ...]:
        """Those that it has, whether they fit or not."""
        return tuple(self._places)

    def payload(self, function: str) -> bytes | None:
        """A function as it is stored; None if it is not there, is damaged, or was compiled from other sources."""
        if function not in self._places:
            return None
        start, length, digest = self._places[function]
        try:
            with self._path.open("rb") as file:
                file.seek(self._begin + start)
                payload = file.read(length)
        except OSError:
            return None
        return payload if _sha256(payload) == digest and Stored.of(payload).fits else None


def write(path: Path, functions: dict[str, bytes]) -> None:
    """Write a library of functions as they are stored."""
    places, at = {}, 0
    for name, payload in functions.items():
        places[name] = (at, len(payload), _sha256(payload))
        at += len(payload)
    index = json.dumps({"llvm": llvm.llvm_version_info[0], "functions": places}).encode()
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(b"\n".join((index, b"".join(functions.values()))))
    temporary.replace(path)


@cache
def library() -> Library:
    return Library(PATH)


# --- what is compiled when it is needed -------------------------------------------------------------------------------

_found: dict[str, Stored] = {}
_loaded: dict[str, Native] = {}


def ready(functions: Iterable[str]) -> None:
    """Have functions compiled, together if there are several."""
    missing = [one for one in dict.fromkeys(functions) if one not in _loaded and stored(one) is None]
    if missing:
        from .worker import compiled

        for done, (function, payload) in enumerate(compiled(missing)):
            show(f"first use: compiling functions, {done + 1} of {len(missing)}")
            _found[function] = Stored.of(payload)
            disk_cache.put(_entry(function), payload)
        show("")


def stored(function: str) -> Stored | None:
    """A function as it is on disk, if it is."""
    if function not in _found:
        payload = library().payload(function) or kept(function)
        if payload is None:
            return None
        _found[function] = Stored.of(payload)
    return _found[function]


def kept(function: str) -> bytes | None:
    """A function in the user's cache, as it is stored; None if it is not there, or of other sources."""
    payload = disk_cache.kept(_entry(function))
    return payload if payload is not None and Stored.of(payload).fits else None


def native(function: str) -> Native:
    """A function that can be called."""
    if function not in _loaded:
        ready([function])
        found = _found[function]
        addresses = load(found.content, (found.symbol,))
        if addresses is None:
            raise NotLoadedError(f"'{found.function}' needs functions that are missing here; install libm (glibc)")
        _loaded[function] = Native(found.symbol, addresses[0], found.code, found.content, found.digest)
    return _loaded[function]


def used() -> list[str]:
    """Functions in the user's cache, which are not in the library."""
    there = disk_cache.folder()
    paths = [] if there is None else sorted(there.glob(f"{KEPT}*"))
    payloads = [disk_cache.kept(path.name) for path in paths]
    return [one.function for one in map(Stored.of, filter(None, payloads)) if one.fits]


def _entry(function: str) -> str:
    """Where it is in the cache, apart from that of another installation or LLVM."""
    key = f"{OWN}:{ARCHITECTURE}:{llvm.llvm_version_info[0]}:{function}"
    return f"{KEPT}{symbol_of(function)[:40]}-{_sha256(key.encode())[:24]}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def show(line: str) -> None:
    """A line on the terminal in place of the one before: compiling takes seconds in which nothing else is shown."""
    if sys.stderr.isatty():
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
