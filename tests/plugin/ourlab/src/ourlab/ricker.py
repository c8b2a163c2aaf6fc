"""An excitation: the wavelet of N. Ricker, Geophysics 18 (1953) 10–40.

    e(t) = F (1 − 2a) exp(−a),      a = (π f (t − t₀))²

======== ==============================================
F        ``force``, at the middle of the wavelet
f        ``frequency``, where its spectrum is highest
t₀       ``middle``
======== ==============================================
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from halfreal.contracts.excitation import Excitation
from halfreal.kernels.block import Block, Channel
from halfreal.settings import Number

RICKER = (
    "N. Ricker, The form and laws of propagation of seismic wavelets, Geophysics 18 (1953) 10–40, "
    "doi:10.1190/1.1437843."
)
HIGHEST = 2.5
"""Of its frequency: there the spectrum has fallen below a twentieth of its peak."""


def ricker_step(p, s, t, u, y):
    late = t + p.shift - p.middle
    a = (p.omega * late) ** 2
    y[0] = y[1] = 0.0
    if t + p.shift >= 0.0:
        y[0] = p.force * (1.0 - 2.0 * a) * math.exp(-a)
        y[1] = p.force * (2.0 * a - 3.0) * math.exp(-a) * 2.0 * p.omega**2 * late
    return 0


class Ricker(Excitation):
    """One wavelet, F (1 − 2a) exp(−a)."""

    kind: Literal["ricker"] = "ricker"
    force: Annotated[float, Number("N")]
    """At the middle of the wavelet."""
    frequency: Annotated[float, Number("Hz", above=0)]
    """Where its spectrum is highest."""
    middle: Annotated[float, Number("s", least=0)]
    """Time of its middle."""

    @property
    def quantity(self) -> str:
        return "force"

    @property
    def highest_frequency(self) -> float:
        return HIGHEST * self.frequency

    def block(self, name: str, shift: float = 0.0) -> Block:
        return Block(
            name=name,
            step=ricker_step,
            inputs=(),
            outputs=(Channel(name, "N"), Channel(f"{name}.rate", "N/s")),
            parameters={
                "force": self.force,
                "omega": math.pi * self.frequency,
                "middle": self.middle,
                "shift": shift,
            },
            references=(RICKER,),
        )
