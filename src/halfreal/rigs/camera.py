"""A camera that measures displacement in frames, far more slowly than the rig is controlled, and may lose some.

Between two frames there is no measurement: in a slow test the channel then is not a number, which counts as no
measurement (``halfreal.safety.slow_motion``); in real time the last frame stands.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..kernels.block import Block, channels
from ..kernels.random import normal
from ..settings import Number, Settings

STREAM = 1000.0
"""Of the random numbers; those of the noise count from 0."""
UNLIMITED = float(np.finfo(np.float64).max)


def camera_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    s.since += p.period
    due = s.since >= p.interval - 1e-6 * p.period
    taken = False
    if due:
        s.since = 0.0
        s.frame += 1.0
        taken = normal(p.seed, STREAM, s.frame) >= p.lost_below
    for i in range(y.size):
        if taken:
            s.last[i] = u[i]
        y[i] = s.last[i] if taken or p.holds == 1.0 else np.nan
    return 0


class Camera(Settings):
    """Frames every ``interval`` of the rig's time, of which the part ``lost`` is lost at random."""

    interval: Annotated[float, Number("s", above=0)]
    lost: Annotated[float, Number("1", least=0, most=1)] = 0.0

    def block(
        self, seen: tuple[str, ...], period: float, initial: np.ndarray, seed: int, *, holds: bool, whole: bool = False
    ) -> Block:
        """The block "camera"; it ``holds`` the last frame between two, or gives no number.

        With ``whole`` it sees all the time, for linearising.
        """
        n = len(seen)
        return Block(
            name="camera",
            step=camera_step,
            inputs=seen,
            outputs=channels("measured.displacement", "m", n, of="axis"),
            parameters={
                "period": period,
                "interval": 0.0 if whole else self.interval,
                "lost_below": -UNLIMITED if whole or self.lost == 0.0 else _quantile(self.lost),
                "seed": float(seed),
                "holds": float(holds),
            },
            state={"since": 0.0, "frame": 0.0, "last": np.array(initial, dtype=float)},
            frozen=("since", "frame", "last"),
            initial=tuple(initial),
        )


def _quantile(share: float) -> float:
    """The normal deviate below which this share lies."""
    from scipy.special import ndtri

    return float(np.clip(ndtri(share), -UNLIMITED, UNLIMITED))
