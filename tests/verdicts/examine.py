"""A drawn test, its verdict by ``halfreal.check``, and what an independent simulation shows of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import halfreal
from halfreal.contracts.finding import Finding

from .defined import definition
from .draw import draw
from .judge import BAD, Judged, judge
from .simulate import Test

SHORTEST, CYCLES = 5.0, 8
"""Duration of a drawn test [s], and cycles of its excitation at least."""
MEMORIES, LONGEST = 6.0, 40.0
"""Memories of a harmonic coupling for which it lasts at least, up to so long [s]."""
OTHER_REASONS = ("range of", "limit of", "force of the specimen", "gap of the coupling", "reach of the rig")
"""How names of findings begin that are not about stability and growth."""
LOST_DAMPING = "settling of the rig"
"""The finding that some of the damping is lost, if it is no more than MARGINAL."""


@dataclass(frozen=True)
class Row:
    """One drawn test."""

    number: int
    family: str
    verdict: str
    judged: Judged
    reasons: tuple[str, ...]
    """Of stability and growth, for which it is no GO."""
    others: tuple[str, ...]
    """Other reasons."""
    seconds: tuple[float, float]
    """Processor time of the check, and of the simulations."""

    @property
    def result(self) -> str:
        if self.verdict == "GO" and self.judged.bad:
            return "false GO"
        if self.verdict != "GO" and self.judged.good:
            return "false alarm" if self.reasons else "other reason"
        if self.verdict == "MARGINAL" and self.judged.nominal in BAD:
            return "too mild"
        return "agrees" if self.judged.bad or self.judged.good else "grey"

    @property
    def data(self) -> dict[str, Any]:
        return {
            "number": self.number, "family": self.family, "verdict": self.verdict, "result": self.result,
            "judged": self.judged.text, "reasons": self.reasons, "others": self.others, "seconds": self.seconds,
        }  # fmt: skip


def defined(number: int) -> halfreal.Definition:
    """The definition of a drawn test."""
    _, test = draw(number)
    return definition(test, duration(test))


def duration(test: Test) -> float:
    """Of a drawn test [s], so long that a harmonic coupling has adapted."""
    _, hz, _, pulse = test.excitation
    learns = 0.0 if test.drive is None else MEMORIES * (test.drive.memory + test.drive.learning)
    return max(SHORTEST, CYCLES * (2.0 * pulse if pulse else 1.0 / hz), min(learns, LONGEST))


def is_other(one: Finding) -> bool:
    """Whether a finding is not about stability and growth."""
    lost = one.severity == "marginal" and one.name == LOST_DAMPING
    return lost or one.name.startswith(OTHER_REASONS)


def examine(number: int) -> Row:
    family, test = draw(number)
    begin = time.process_time()
    found = halfreal.check(defined(number), remedies=False)
    between = time.process_time()
    judged = judge(test, duration(test))
    told = [one for one in found.findings if one.severity in ("no-go", "marginal")]
    texts = [f"{one.name}: {one.text}" if one.name else one.text for one in told]
    others = [is_other(one) for one in told]
    return Row(
        number, family, found.verdict, judged,
        tuple(text for text, other in zip(texts, others, strict=True) if not other),
        tuple(text for text, other in zip(texts, others, strict=True) if other),
        (round(between - begin, 2), round(time.process_time() - between, 2)),
    )  # fmt: skip
