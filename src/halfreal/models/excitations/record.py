"""A recorded history."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from ... import units
from ...errors import HalfrealError
from ...kernels.block import Block
from ...settings import ExistingFile, Number, fault, stored
from .amplitude import UNITS, WithAmplitude, own_time, rise
from .record_file import History, RecordFileError, read_history

SAME = 2e-3
"""Relative difference of time steps that count as the same: times are written with few digits."""
OFTEN = ("m/s^2", "cm/s^2", "g_0")
"""Units of records: an amplitude of 1 of another one than the file shows is no part of it, but a contradiction."""


def record_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
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
    """A recorded history, such as an earthquake, linear between its samples and zero after its end.

    ``file`` is text with columns, a PEER record (AT2), a MAT or a TDMS file (``record_file.py``).  ``column``, a number
    from 1 or a name of the heading, may be left out if one alone can be meant; a column of time never is.
    ``time_step`` may be left out if the file has it.  The amplitude key states what the number 1 in the file
    means: ``acceleration = "1 g_0"`` for a record in g, ``"0.4 g_0"`` to use 40 % of it; it may be left out if the file
    states the unit of its acceleration.
    """

    kind: Literal["record"] = "record"
    file: ExistingFile
    time_step: Annotated[float, Number("s", above=0)] | None = None
    column: Annotated[int, Field(ge=1)] | Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_amplitude(self, info: ValidationInfo) -> Self:
        """What the file shows is filled in; what it contradicts is a fault."""
        if not stored(info):
            told = self._history()
            if told.step is None and self.time_step is None:
                raise fault(f"'{self.file}' has no times; give the time between its samples", "time_step")
            if told.step is not None and self.time_step is None:
                object.__setattr__(self, "time_step", told.step)
            if told.step is not None and abs(self.step / told.step - 1.0) > SAME:
                raise fault(
                    f"{self.step:g} s is given, but the samples of '{self.file}' are {told.step:g} s apart; omit "
                    "time_step, or correct it",
                    "time_step",
                )
            self._agree(told)
            object.__setattr__(self, "column", told.column)
        return WithAmplitude._one_amplitude(self)  # type: ignore[operator, no-any-return]

    def _agree(self, told: History) -> None:
        """Hold the unit that the file shows against the amplitude, which is taken from it if there is none."""
        given = {key: value for key in UNITS if (value := getattr(self, key)) is not None}
        if self.value is not None:  # the file's numbers are played to a channel, whatever they were
            return
        if told.unit is None:
            if "acceleration" in given and told.velocity:
                raise fault(
                    f"the column's heading in '{self.file}', {told.heading.strip()[:60]!r}, states a velocity, in "
                    f"{told.velocity}; choose a column of acceleration, or correct the heading",
                    "column",
                )
            return
        size = units.parse(f"1 {told.unit}", "m/s^2")
        if not given:
            object.__setattr__(self, "acceleration", size)
            return
        ((key, value), *_) = given.items()
        others = [f"1 {one}" for one in OFTEN if abs(units.parse(f"1 {one}", "m/s^2") / abs(value or 1.0) - 1.0) < 1e-6]
        if key != "acceleration" or (others and abs(abs(value) / size - 1.0) > 1e-6):
            raise fault(
                f"the number 1 in '{self.file}' is defined as {units.text(value, UNITS[key])} ({key}), but its heading "
                f"states an acceleration in {told.unit}; write acceleration = '1 {told.unit}', a part of it "
                f"such as '0.4 {told.unit}', or omit it",
                key,
            )

    @property
    def step(self) -> float:
        """Between samples [s]."""
        assert self.time_step is not None
        return self.time_step

    def _history(self) -> History:
        try:
            return read_history(self.file, self.column)
        except RecordFileError as error:
            raise fault(str(error), "column" if "column" in str(error) else "file") from error

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        try:
            values = self._history().values
        except PydanticCustomError as error:  # the file has changed since, or was not read: a run file names it too
            raise HalfrealError(f"excitation: {error.message()}") from error
        # the layout of a block is compiled in: a power of two keeps the number of layouts small
        padded = np.zeros(1 << max(values.size - 1, 1).bit_length())
        padded[: values.size] = values
        return self.made(
            name, record_step, shift, since, {"step": self.step, "count": float(values.size), "values": padded}
        )
