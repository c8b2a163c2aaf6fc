"""Scripts of the gallery as modules."""

from __future__ import annotations

import importlib
import sys
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
