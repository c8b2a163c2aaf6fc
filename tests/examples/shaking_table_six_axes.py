"""The scripts of the wing and store on the shaking table as modules."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

EXAMPLE = Path(__file__).parents[2] / "examples" / "shaking_table_six_axes"
NEIGHBOURS = ("study", "figures", "parts", "pictures", "make_definition")
"""Names by which they import each other, and which other examples use too."""


def loaded(name: str) -> ModuleType:
    hidden = {other: sys.modules.pop(other) for other in NEIGHBOURS if other in sys.modules}
    sys.path.insert(0, str(EXAMPLE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(EXAMPLE))
        for other in NEIGHBOURS:
            sys.modules.pop(other, None)
        sys.modules.update(hidden)


make_definition = loaded("make_definition")
study = loaded("study")
parts = study.parts
