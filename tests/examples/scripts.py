"""Scripts of the gallery as modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

GALLERY = Path(__file__).parents[2] / "examples"


def loaded(example: str, *neighbours: str) -> ModuleType:
    """The last of an example's scripts; all are named, as other examples may use the same names."""
    folder = str(GALLERY / example)
    hidden = {name: sys.modules.pop(name) for name in neighbours if name in sys.modules}
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(neighbours[-1])
    finally:
        sys.path.remove(folder)
        for name in neighbours:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)


@contextmanager
def at_home(example: str) -> Iterator[None]:
    """Imports find the scripts of an example, and leave none of them behind for others that use the same names."""
    folder = GALLERY / example
    names = {path.stem for path in folder.glob("*.py")}
    hidden = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
