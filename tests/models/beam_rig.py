"""The rig of the two-actuator beam example, as a module."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def load() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "two_actuator_beam" / "rig.py"
    spec = importlib.util.spec_from_file_location("two_actuator_beam_rig", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rig = load()
