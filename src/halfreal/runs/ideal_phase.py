"""The phase margin that the same loop would have with a rig that follows at once.

A structure of little damping, coupled ideally to a spring, has a phase margin of little more than its own damping: what
a rig and its coupling may take of it is what a test is judged by.  At the crossover with the least margin, where the
loop that runs has the eigenvalue μ of L with the eigenvector v in the commands, the cut loop without coupling gives the
targets L₀v and the measured motion m = G v that go with it.  A rig that follows at once has m = target, so that

    μ' = mᴴ L₀ v / mᴴ m                 margin with such a rig = margin + arg(μ'/μ)
"""

from __future__ import annotations

import numpy as np

from ..couplings.direct import Direct
from ..definition.definition import Definition
from ..stability.margins import DelayMargin
from ..stability.open_loop import answer, open_loop
from .loop_stability import cut_loop
from .rig_lag import RigLag


def ideal_phase(definition: Definition, margin: DelayMargin, lag: RigLag, smooth: bool) -> float | None:
    """Phase margin [deg] with a rig that follows at once; None if it is not known (``smooth`` as in ``cut_loop``)."""
    axes = definition.interface
    if not margin.omega.size or axes.moved_by is not None or axes.passive:
        return None
    loop = cut_loop(definition.unchecked_copy({"coupling": Direct()}), smooth)
    place = int(np.argmin(margin.lag))
    omega, least = margin.omega[place : place + 1], float(margin.lag[place])
    values, vectors = np.linalg.eig(margin.response(omega)[0])
    value = -np.exp(1j * least)
    v = vectors[:, int(np.argmin(np.abs(values - value)))]
    late = np.exp(-1j * omega[0] * (lag.ahead + lag.sensed))  # of what is fed back
    m = late * (answer(loop, axes.channels(f"measured.{definition.commands}")).response(omega)[0] @ v)
    size = float(np.vdot(m, m).real)
    if not size > 0.0:
        return None
    ideal = np.vdot(m, open_loop(loop).response(omega)[0] @ v) / size
    return float(np.degrees(least + np.angle(ideal / value)))
