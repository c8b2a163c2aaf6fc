"""A virtual substructure: the bob of a pendulum, in small motion.

    m x¨ + c x˙ + (m g/l) x = e − f

integrated by the leapfrog of L. Verlet, Phys. Rev. 159 (1967) 98–103: the velocity is advanced by the acceleration of
this tick, and the displacement by the new velocity.

======== ==================================================================
x        displacement of the bob, which is the interface
f, e     force fed back, excitation
m, l, c  ``mass``, ``length``, ``damping``; g the acceleration of gravity
======== ==================================================================
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from halfreal.contracts.context import Context
from halfreal.contracts.known import Known
from halfreal.contracts.quantities import ActsAs
from halfreal.contracts.virtual import Virtual
from halfreal.kernels.block import Block, channels
from halfreal.settings import Number, fault

GRAVITY = 9.80665
VERLET = (
    "L. Verlet, Computer “experiments” on classical fluids. I. Thermodynamical properties of Lennard-Jones molecules, "
    "Phys. Rev. 159 (1967) 98–103, doi:10.1103/PhysRev.159.98."
)


def pendulum_step(p, s, t, u, y):
    if s.started == 1.0:
        s.v += p.dt / p.mass * (u[0] - u[2] - p.damping * s.v - p.stiffness * s.x)
        s.x += p.dt * s.v
    s.started = 1.0
    y[0] = s.x
    return 0


class Pendulum(Virtual):
    """The bob of a pendulum, with one axis; only a force excites it."""

    kind: Literal["pendulum"] = "pendulum"
    mass: Annotated[float, Number("kg", above=0)]
    """Of the bob."""
    length: Annotated[float, Number("m", above=0)]
    """From the pivot to the bob."""
    damping: Annotated[float, Number("N s/m", least=0)] = 0.0
    """Of the bob's motion."""

    @property
    def axes(self) -> int:
        return 1

    @property
    def stiffness(self) -> float:
        return self.mass * GRAVITY / self.length

    def fits(self, known: Known) -> None:
        longest = 2.0 * math.sqrt(self.length / GRAVITY)
        if known.step is not None and known.step > longest:
            raise fault(f"a step of {known.step:g} s is longer than {longest:.3g} s: the leapfrog grows", "length")

    def check_excitation(self, excitation: ActsAs) -> None:
        if excitation not in ("none", "force"):
            raise fault("only a force acts on a pendulum; give excitation.virtual.force")

    def blocks(self, context: Context) -> list[Block]:
        return [
            Block(
                name="virtual",
                step=pendulum_step,
                inputs=("excitation.virtual", "excitation.virtual.rate", *context.channels("feedback")),
                outputs=channels("target", "m", 1, of="axis"),
                parameters={
                    "dt": context.step,
                    "mass": self.mass,
                    "damping": self.damping,
                    "stiffness": self.stiffness,
                },
                state={"x": 0.0, "v": 0.0, "started": 0.0},
                frozen=("started",),
                references=(VERLET,),
            )
        ]
