"""The library of the package made anew: ``python -m halfreal.kernels.build``.

All functions in ``functions.txt`` whose sources have changed are compiled, in a process for each processor; the others
are taken from the library as it is, or from the user's cache.  With ``--add-used`` those that were compiled for the
user (``library.used``) are added to the list first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import library


def build(functions: Sequence[str]) -> int:
    """Make the library of these functions; return how many were compiled."""
    from .worker import compiled

    there = library.Library(library.PATH)
    found = {one: there.payload(one) or library.kept(one) for one in functions}
    missing = [one for one, payload in found.items() if payload is None]
    for done, (function, payload) in enumerate(compiled(missing)):
        found[function] = payload
        library.show(f"compiling the library, {done + 1} of {len(missing)} functions")
    library.show("")
    if missing or set(there.functions) != set(functions):
        library.write(library.PATH, {one: payload for one, payload in found.items() if payload is not None})
    return len(missing)


def main(arguments: Sequence[str]) -> None:
    if "--add-used" in arguments:
        functions = sorted({*library.listed(), *library.used()})
        library.LIST.write_text("".join(f"{one}\n" for one in functions), encoding="utf-8")
    count = build(library.listed())
    size = library.PATH.stat().st_size
    print(f"{count} functions compiled; '{library.PATH.name}' has {len(library.listed())}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
