"""The go/no-go answer before a test: is the loop that will run stable?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..stability.linearise import Linearisation, linearise
from .build import SETTLING_TICKS, build


@dataclass(frozen=True)
class Check:
    """Verdict, its reasons, and the linearised loop they rest on."""

    verdict: Literal["GO", "NO-GO"]
    reasons: tuple[str, ...]
    linearisation: Linearisation


def linearised(loop: Loop) -> Linearisation:
    """A quiet loop, settled at rest and linearised there."""
    loop.run(SETTLING_TICKS)
    return linearise(loop)


def check(definition: Definition) -> Check:
    """Linearise the loop that the definition describes, at rest, and judge it."""
    loop = build(definition, quiet=True)
    linearisation = linearised(loop)
    caveats = (block.held for block in loop.blocks if block.held)
    return Check("GO" if linearisation.stable else "NO-GO", (linearisation.summary(), *caveats), linearisation)


def as_adapted(definition: Definition, ran: Loop) -> Linearisation | None:
    """The loop linearised with what its adaptive blocks have come to in ``ran``; None if it has none."""
    loop = build(definition, quiet=True)
    adaptive = [block for block in loop.blocks if block.held]
    if not adaptive:
        return None
    for block in adaptive:
        mine, theirs = loop.state(block.name), ran.state(block.name)
        for name in block.frozen:
            mine[name] = theirs[name]
    return linearised(loop)
