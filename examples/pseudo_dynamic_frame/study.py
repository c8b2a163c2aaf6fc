"""The frame test varied: slowly and in real time, on a rig that follows at once and on one that lags."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import halfreal

HERE = Path(__file__).parent
LAGGING = {"kind": "first order", "time_constant": "20 ms"}


def definition(name: str, *, slow: bool = True, actuator: dict[str, Any] | None = None) -> halfreal.Definition:
    """The definition of a file; without [slow] it runs in real time, faster than the slow test's limit allows."""
    data = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    if not slow:
        del data["slow"], data["limits"]["command_rate"]
    if actuator is not None:
        data["rig"]["actuator"] = actuator
    return halfreal.Definition.model_validate(data, context={"folder": HERE})


def apart(run: halfreal.Run, other: halfreal.Run) -> float:
    """Largest difference of the targets of two runs, as a part of the peak."""
    first, second = run.vector("target"), other.vector("target")
    assert first is not None and second is not None
    rows = min(len(first), len(second))
    return float(np.abs(first[:rows] - second[:rows]).max() / np.abs(first).max())
