"""Start-up: which force the virtual substructure receives until the rig is synchronised.

M. I. Wallace et al., Earthquake Engng Struct. Dyn. 34 (2005) 1817–1832 (and the ASME 2005 paper, section 2.3): a loop
whose delay exceeds the critical one is unstable from its first tick unless the coupling is already right.  Two ways in:

- ``measured``  the measured force counts from the start, from rest (zero initial conditions);
- ``model``     the force of a *model* of the specimen counts first, with no delay, while the coupling adapts; when the
  gap has stayed below ``synchronised`` (rms over ``window``, relative to the target's rms) for ``hold``, and not before
  ``earliest``, the feedback fades over to the measured force within ``fade``.

The model's force is k z + c z˙ with z extrapolated linearly from the last two targets, which are all that is known
before this tick's target is.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ..kernels.block import Block, Channel, channels
from ..settings import Matrix, Number, Settings, fault

ON_MEASURED, ON_MODEL, FADING = 0.0, 1.0, 2.0
MODES = {
    ON_MEASURED: "feedback: measured force",
    ON_MODEL: "feedback: the model's force",
    FADING: "synchronised: feedback is faded over to the measured force",
}


def measured_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size - 1):
        y[i] = u[i]
    y[y.size - 1] = 0.0
    return 0


class Measured(Settings):
    """The measured feedback counts from the first tick."""

    kind: Literal["measured"] = "measured"

    def check_axes(self, axes: int) -> None:
        """It suits any interface."""

    def block(
        self, dt: float, unit: str, feedback: tuple[str, ...], target: tuple[str, ...], displacement: tuple[str, ...]
    ) -> Block:
        return Block(
            name="start_up",
            step=measured_step,
            inputs=feedback,
            outputs=(*channels("feedback", unit, len(feedback), of="axis"), Channel("start_up.mode", "1")),
        )


def model_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.target.size
    for i in range(n):
        z, x = u[n + i], u[2 * n + i]
        s.velocity[i] = (z - s.target[i]) / p.dt
        s.target[i] = z
        s.extrapolated[i] = z + p.dt * s.velocity[i]
        gap = z - x
        s.gap_square = p.fade_window * s.gap_square + (1.0 - p.fade_window) * gap * gap
        s.target_square = p.fade_window * s.target_square + (1.0 - p.fade_window) * z * z

    if s.mode == 1.0:
        close = s.target_square > 0.0 and s.gap_square <= p.synchronised * p.synchronised * s.target_square
        s.calm = s.calm + p.dt if close else 0.0
        if t >= p.earliest and s.calm >= p.hold:
            s.mode = 2.0
    elif s.mode == 2.0:
        s.share = min(s.share + p.dt / p.fade, 1.0)
        if s.share >= 1.0:
            s.mode = 0.0

    for i in range(n):
        model = 0.0
        for j in range(n):
            model += p.stiffness[i, j] * s.extrapolated[j] + p.damping[i, j] * s.velocity[j]
        y[i] = s.share * u[i] + (1.0 - s.share) * model
    y[n] = s.mode
    return 0


class Model(Settings):
    """A model's force first, then the measured one."""

    kind: Literal["model"] = "model"
    stiffness: Annotated[np.ndarray, Matrix("N/m")]
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    synchronised: Annotated[float, Number("1", above=0)] = 0.05
    window: Annotated[float, Number("s", above=0)] = 0.5
    hold: Annotated[float, Number("s", above=0)] = 0.5
    earliest: Annotated[float, Number("s", least=0)] = 0.0
    fade: Annotated[float, Number("s", above=0)] = 0.2

    def check_axes(self, axes: int) -> None:
        """Raise a fault unless the model is that of a specimen with this number of axes."""
        if len(self.stiffness) != axes:
            raise fault(
                f"the model's stiffness is {len(self.stiffness)}×{len(self.stiffness)} where the interface has {axes} "
                "axis(es); give one row for each"
            )

    def block(
        self, dt: float, unit: str, feedback: tuple[str, ...], target: tuple[str, ...], displacement: tuple[str, ...]
    ) -> Block:
        n = len(target)
        zeros = np.zeros(n)
        return Block(
            name="start_up",
            step=model_step,
            inputs=(*feedback, *target, *displacement),
            outputs=(*channels("feedback", unit, n, of="axis"), Channel("start_up.mode", "1")),
            parameters={
                "dt": dt,
                "stiffness": self.stiffness,
                "damping": np.zeros((n, n)) if self.damping is None else self.damping,
                "synchronised": self.synchronised,
                "fade_window": math.exp(-dt / self.window),
                "hold": self.hold,
                "earliest": self.earliest,
                "fade": self.fade,
            },
            state={
                "mode": ON_MODEL,
                "share": 0.0,
                "calm": 0.0,
                "gap_square": 0.0,
                "target_square": 0.0,
                "target": zeros,
                "velocity": zeros,
                "extrapolated": zeros,
            },
            frozen=("mode", "share", "calm", "gap_square", "target_square"),
            watched=("start_up.mode",),
            texts={"start_up.mode": MODES},
            references=("wallace2005stability",),
        )


StartUp = Annotated[Measured | Model, Field(discriminator="kind")]
