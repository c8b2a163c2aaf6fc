"""Builds the library of the package: ``python -m halfreal.kernels.build``.

All functions in ``functions.txt`` whose sources have changed are compiled, in a process for each processor; the others
are taken from the library as it is, or from the user's cache.  With ``--add-used`` those that were compiled for the
user (``library.used``) are added to the list first, and those that can no longer be compiled are removed from it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from . import library


def build(functions: Sequence[str]) -> tuple[int, dict[str, Exception]]:
    """Make the library of these functions; return how many were compiled, and why others cannot be."""
    from .worker import compiled

    there, failures = library.Library(library.PATH), dict[str, Exception]()
    found = {one: there.payload(one) or library.kept(one) for one in functions}
    missing = [one for one, payload in found.items() if payload is None]
    for done, (function, payload) in enumerate(compiled(missing, failures.__setitem__)):
        found[function] = payload
        library.show(f"compiling the library, {done + 1} of {len(missing)} functions")
    library.show("")
    if missing or set(there.functions) != set(functions):
        library.write(library.PATH, {one: payload for one, payload in found.items() if payload is not None})
    return len(missing) - len(failures), failures


def write_list(functions: Iterable[str]) -> None:
    library.LIST.write_text("".join(f"{one}\n" for one in sorted(functions)), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Make the library; return 1 if a function of the list cannot be compiled."""
    renewing = "--add-used" in arguments
    if renewing:
        write_list({*library.listed(), *library.used()})
    count, failures = build(library.listed())
    if renewing:
        write_list(set(library.listed()) - set(failures))
    for function, failure in failures.items():
        print(f"{'removed: ' if renewing else ''}{function}\n    {failure}", file=sys.stderr)
    if failures and not renewing:
        print(f"has a block's source changed? run it, then 'python -m {__spec__.name} --add-used'", file=sys.stderr)
    size = library.PATH.stat().st_size
    print(f"{count} functions compiled; '{library.PATH.name}' has {len(library.listed())}, {size / 1e6:.1f} MB")
    return int(bool(failures) and not renewing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
