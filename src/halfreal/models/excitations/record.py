"""A recorded history."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from ...errors import HalfrealError
from ...kernels.block import Block
from ...settings import ExistingFile, Number, fault, stored
from .amplitude import WithAmplitude, rise


def record_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    y[0] = y[1] = 0.0
    position = t / p.step
    if 0.0 <= position <= p.count - 1.0:
        i = min(int(position), int(p.count) - 2)
        slope = p.values[i + 1] - p.values[i]
        g, dg = rise(t, p.ramp)
        value = p.values[i] + (position - i) * slope
        y[0] = p.amplitude * g * value
        y[1] = p.amplitude * (dg * value + g * slope / p.step)
    return 0


class Record(WithAmplitude):
    """A recorded history, linear between its samples and zero after its end.

    ``file`` is text with one number a line, or with several columns separated by commas or blanks of which ``column``
    (1-based) is read; lines starting with ``#`` are skipped.  The amplitude key says what the number 1 in the file
    stands for: ``acceleration = "1 g_0"`` for a record in g, ``"0.4 g_0"`` to use 40 % of it.
    """

    kind: Literal["record"] = "record"
    file: ExistingFile
    time_step: Annotated[float, Number("s", above=0)]
    column: int = Field(default=1, ge=1, validate_default=True)

    @field_validator("column")
    @classmethod
    def _readable(cls, column: int, info: ValidationInfo) -> int:
        if "file" in info.data and not stored(info):
            read_column(info.data["file"], column)
        return column

    def block(self, name: str, shift: float = 0.0) -> Block:
        try:
            values = read_column(self.file, self.column)
        except PydanticCustomError as error:  # the file has changed since, or was not read: a run file names it too
            raise HalfrealError(f"excitation: {error.message()}") from error
        # the layout of a block is compiled in: a power of two keeps the number of layouts small
        padded = np.zeros(1 << max(values.size - 1, 1).bit_length())
        padded[: values.size] = values
        return self.made(
            name, record_step, shift, {"step": self.time_step, "count": float(values.size), "values": padded}
        )


def read_column(path: Path | str, column: int) -> np.ndarray:
    """One column of numbers from a text file; a fault names the line that cannot be read."""
    values: list[float] = []
    with Path(path).open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            words = line.replace(",", " ").replace(";", " ").split()
            if not words or words[0].startswith("#"):
                continue
            try:
                value = float(words[column - 1])
            except (IndexError, ValueError):
                raise fault(
                    f"line {number} of '{path}' is {line.strip()[:60]!r} where column {column} should be a number; "
                    "mark headings with '#', or choose another column"
                ) from None
            if not math.isfinite(value):
                raise fault(f"line {number} of '{path}' holds {value}; fill gaps in a record before using it")
            values.append(value)
    if len(values) < 2:
        raise fault(f"'{path}' holds {len(values)} number(s) where at least 2 are expected")
    return np.array(values)
