"""Whose code it is: halfreal's own, an installed library's, or the user's."""

from __future__ import annotations

import site
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np

OWN = Path(__file__).resolve().parent.parent
EXAMPLES = (OWN / "examples").resolve()
INSTALLED = tuple(
    Path(path).resolve()
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
        str(Path(np.__file__).parent.parent),  # wherever else this environment has its libraries
    }
)


@cache
def halfreals(file: str) -> bool:
    """Whether a file belongs to halfreal itself; what its examples show is code as users write it."""
    path = Path(file).resolve()
    return path.is_relative_to(OWN) and not path.is_relative_to(EXAMPLES)


@cache
def users(file: str) -> bool:
    """Whether a file belongs to neither halfreal nor Python nor an installed library; code that was typed in does."""
    path = Path(file).resolve()
    installed = halfreals(file) or any(path.is_relative_to(folder) for folder in INSTALLED)
    return not installed or path.is_relative_to(EXAMPLES)
