"""What a stable test must reach to be accepted: the least margins of its loop and the largest errors of its run.

A loop that is barely stable, or a rig that follows badly, is no test to stake a specimen on.  ``halfreal check`` calls
a test that is stable but below any of these MARGINAL, and says against what it judged.

    [acceptance]
    gain_margin = "6 dB"
    limit_reserve = "20 %"       # of trip limits and ranges
    fidelity = "none"            # not judged

    [acceptance.criteria]        # of those that section [criteria] names, each in its unit
    J2 = "3 %"                   # at most
    correlation = { least = 0.99 }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from .. import units
from ..contracts.criteria import Criteria
from ..settings import Number, Settings, fault

OFF: Literal["none"] = "none"
Off = Literal["none"]
LEAST_PHASE = 5.0
"""Phase margin [deg] that is enough for any loop, where the definition says nothing."""
STALLED_STEPS = 10.0
"""For which one tick may hold the test, where the definition says nothing."""
KEPT_PHASE = 0.5
"""Share of what the same loop would have with a rig that follows at once, which is enough as well."""


@dataclass(frozen=True)
class NumberOrNone(Number):
    """A number, or "none": not required."""

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if value == OFF:
            return OFF
        if isinstance(value, bool):
            raise fault(
                f'{value} where a quantity{self.suffix} is expected; write {self.example}, or "none" for no limit'
            )
        return super().read(value, info)

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [super().schema, {"const": OFF}]}


class CriterionLimit(Settings):
    """Between which values a criterion is accepted: texts with a unit of its dimension, or numbers where it has none.
    A value alone is the most."""

    least: str | float | None = None
    most: str | float | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.least is None and self.most is None:
            raise fault('no limit is given; write the largest accepted value, e.g. "3 %", or least and most')
        return self

    def bounds(self, unit: str) -> tuple[float, float]:
        """The least and the largest value in a unit; without end where none is given."""
        least, most = (None if one is None else units.given(one, unit) for one in (self.least, self.most))
        return -float("inf") if least is None else least, float("inf") if most is None else most

    def text(self, unit: str) -> str:
        """For people."""
        least, most = self.bounds(unit)
        suffix = "" if unit == "1" else f" {unit}"
        told = [f"at least {least:.4g}{suffix}"] if least > -float("inf") else []
        return " and ".join([*told, f"at most {most:.4g}{suffix}"] if most < float("inf") else told)


def _at_most(given: Any) -> Any:
    """A value alone is the most."""
    return {"most": given} if isinstance(given, str | int | float) and not isinstance(given, bool) else given


class Acceptance(Settings):
    """What a stable test must reach to be a GO, and a run to be as it should; "none" turns one off."""

    gain_margin: Annotated[float | Off, NumberOrNone("dB", least=0)] = 3.0
    """Smallest gain margin, upwards and downwards, e.g. for a stiffer specimen [dB]."""
    phase_margin: Annotated[float | Off, NumberOrNone("deg", least=0, most=180)] | None = None
    """Smallest phase margin [deg]. Default: 5°, or half of that of the same loop with an ideal rig, whichever is
    smaller: with little damping even an ideal test has a small phase margin.
    """
    delay_margin: Annotated[float | Off, NumberOrNone("1", least=0)] = 0.1
    """Smallest additional delay up to instability, as a share of the rig's delay."""
    amplitude_margin: Annotated[float | Off, NumberOrNone("1", least=0)] = 2.0
    """Smallest amplitude from which free motion of a nonlinear loop grows, relative to the largest expected motion."""
    synchronisation: Annotated[float | Off, NumberOrNone("1", above=0)] = 0.05
    """Largest error of the measured motion against the target: RMS of the difference over RMS of the target."""
    fidelity: Annotated[float | Off, NumberOrNone("1", above=0)] = 0.10
    """Largest error of the target relative to the motion of the emulated system, RMS over RMS; evaluated if there is
    a [reference].
    """
    limit_reserve: Annotated[float | Off, NumberOrNone("1", least=0, most=1)] = 0.1
    """Smallest share of each trip limit, and of the range of each sensor, that a test leaves unused, with the noise of
    several rehearsals.
    """
    overruns: Annotated[float | Off, NumberOrNone("1", least=0, most=1)] = 0.001
    """Largest share of the ticks of a run that were not finished before the next was due."""
    longest_stall: Annotated[float | Off, NumberOrNone("s", least=0)] | None = None
    """Longest time for which a tick that is not finished in time may hold the test. Default: 10 steps, or
    limits.lateness.trip if that is shorter.
    """
    time_lost: Annotated[float | Off, NumberOrNone("1", least=0, most=1)] = 0.005
    """Largest time for which such ticks hold the test in all, as a share of its duration."""
    stale: Annotated[float | Off, NumberOrNone("1", least=0, most=1)] = 0.01
    """Largest share of the ticks of a run that had no new measurement."""
    criteria: dict[str, Annotated[CriterionLimit, BeforeValidator(_at_most)]] = Field(default_factory=dict)
    """Limits of the criteria of section [criteria]: ``J2 = "3 %"`` is the largest accepted value."""

    def check_criteria(self, criteria: Criteria | None) -> None:
        """Raise a fault where a limit is of no criterion of the test, or in another unit."""
        for name, limit in self.criteria.items():
            if criteria is None:
                raise fault(
                    f"'{name}' is a criterion, but the definition has no section [criteria]; add it", "criteria", name
                )
            criteria.check_name(name, "criteria", name)
            unit = criteria.units.get(name)
            if unit is None:  # of a stored test whose file is missing
                continue
            try:
                least, most = limit.bounds(unit)
            except units.UnitError as error:
                raise fault(str(error), "criteria", name) from error
            if not least <= most:
                raise fault(f"least is above most ({least:g} and {most:g} {unit}); exchange them", "criteria", name)

    def least(self, name: str) -> float:
        """A margin that is requested, in its unit; 0, which every stable loop has, where it is turned off."""
        value = getattr(self, name)
        return 0.0 if value == OFF else float(value)

    def most(self, name: str) -> float:
        """An error or share that is allowed; inf where it is turned off."""
        value = getattr(self, name)
        return float("inf") if value == OFF else float(value)

    def most_stall(self, step: float, trip: float) -> float:
        """Longest stall that is allowed [s] of a test of this step, which trips at a latency [s]."""
        return min(STALLED_STEPS * step, trip) if self.longest_stall is None else self.most("longest_stall")

    def least_phase(self, ideal: float | None) -> float:
        """Phase margin that is requested [deg] of a loop that would have ``ideal`` with a rig that follows at once."""
        if self.phase_margin is not None:
            return self.least("phase_margin")
        return LEAST_PHASE if ideal is None else min(LEAST_PHASE, KEPT_PHASE * max(ideal, 0.0))
