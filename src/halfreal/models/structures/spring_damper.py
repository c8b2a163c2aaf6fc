"""A virtual substructure without mass: a spring and a damper side by side between the interface and the ground.

V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech. (2020), doi
10.1007/s40799-020-00394-5, Eqs. 8, 9 and 12: a device that is to be put into the strut of a wing,

    c d˙ + k d = e − f,        N(s) = 1/(c s + k)
    d[i+1] = φ d[i] + (1 − φ)/k (e[i] − f[i]),      φ = exp(−k Δt/c)

which is exact for forces that are held over a step (hold "zero", as in the paper).  With hold "first" they are linear
between their samples (``halfreal.models.schemes.exact``).

======== =============================================================================
d        displacement of the interface
f        force fed back, positive when the specimen resists a positive displacement
e        excitation force, if there is one
c, k     ``damping``, ``stiffness``
======== =============================================================================
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ...contracts.device import Device
from ...contracts.quantities import ActsAs, Hold
from ...contracts.state_space import StateSpace
from ...kernels.block import Block
from ...settings import Number, fault
from ..schemes.exact import exact_method
from . import virtual_block as virtual
from .virtual_block import OneBlock


class SpringDamper(OneBlock):
    """A spring and a damper without mass, of one axis."""

    kind: Literal["spring-damper"] = "spring-damper"
    stiffness: Annotated[float, Number("N/m", above=0)]
    damping: Annotated[float, Number("N s/m", above=0)]
    hold: Hold = "zero"
    """Forces between samples: constant ("zero") or linear ("first")."""

    def check_excitation(self, excitation: ActsAs) -> None:
        """Raise a fault if this excitation cannot act."""
        if excitation not in ("none", "force"):
            raise fault("only a force acts on a spring-damper; give excitation.virtual.force, or excite the specimen")

    @property
    def axes(self) -> int:
        return 1

    @property
    def force_hold(self) -> Hold:
        return self.hold

    def linear_model(self) -> StateSpace:
        a, b, c, d = self.matrices()
        return StateSpace(a, b[:, 1:], c, d[:, 1:])

    def device(self, step: float) -> Device:
        """N(s), exactly."""
        return Device(np.ones(1), np.array([self.damping, self.stiffness]), self.integration_delay(step))

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C, D with the inputs (excitation, force fed back) and the displacement as output."""
        rate = 1.0 / self.damping
        return np.array([[-self.stiffness * rate]]), np.array([[rate, -rate]]), np.ones((1, 1)), np.zeros((1, 2))

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", which reads the named feedback channel and writes the target."""
        return virtual.virtual_block(
            exact_method(self.matrices(), np.zeros(1), dt, self.hold),
            axes=1,
            excitation=virtual.EXCITATION[:1],
            feedback=feedback,
            responses={},
            references=("ruffini2020",),
        )
