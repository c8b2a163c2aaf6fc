"""What Nyquist's criterion says of the elements of L one by one, next to the exact margin of the whole loop.

Each element L_ij is read as a loop of its own: it tolerates the delay that takes it to −1 where |L_ij| = 1.  This
simplified criterion is at hand wherever responses are plotted element by element, and for a loop of one channel it is
exact.  With several channels it leaves out how they act on each other: two channels of a gain of 0.6 each that drive
each other by 0.6 are a loop of 1.2.  Its delays may be far too long; the exact one comes from the eigenvalues of L
(``margins.py``, of measured lines ``frf.data_margins``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.state_space import Delayed, StateSpace
from ..errors import HalfrealError
from ..summaries import Summarised
from .frf import FRF, data_margins
from .margins import delay_margin


@dataclass(frozen=True, repr=False)
class ElementMargins(Summarised):
    """Delays that the elements of a loop of several channels would bear as loops of their own, and the exact one."""

    delays: np.ndarray
    """[s], (outputs, inputs); inf where an element never reaches 1, NaN where measured lines do not determine it."""
    exact: float
    """Delay that the loop tolerates [s]: 0 if it is unstable without one, inf if it tolerates any."""
    whole: str
    """The exact answer as text."""

    @property
    def least(self) -> float:
        """The shortest delay of all elements [s]: what the simplified criterion would promise."""
        return float(np.nanmin(self.delays))

    def summary(self) -> str:
        """Both, for people."""
        if np.isnan(self.delays).all():
            return f"no element-wise margin can be computed; exact, for all channels together: {self.whole}"
        i, j = np.unravel_index(np.nanargmin(self.delays), self.delays.shape)
        read = f"{1e3 * self.least:.4g} ms (output {i + 1}, input {j + 1})" if np.isfinite(self.least) else "any delay"
        wrong = ", which is too optimistic" if self.least > self.exact * (1 + 1e-9) else ""
        return (
            f"element by element the loop would tolerate {read}{wrong}: this neglects the coupling between the "
            f"channels; exact, for all channels together: {self.whole}"
        )


def element_margins(loop: StateSpace | Delayed | FRF) -> ElementMargins:
    """Of a loop of several channels, a model or measured lines."""
    if isinstance(loop, FRF):
        found = data_margins(loop)
        count = loop.response.shape[1]
        rows = [[_measured(loop, i, j) for j in range(count)] for i in range(count)]
        return ElementMargins(np.array(rows), found.critical_delay, found.summary())
    margin = delay_margin(loop)
    rows = [[_alone(loop, i, j) for j in range(loop.channels)] for i in range(loop.channels)]
    return ElementMargins(np.array(rows), margin.critical_delay, margin.summary())


def _alone(loop: StateSpace | Delayed, i: int, j: int) -> float:
    """The delay [s] at which one element of a model first comes to −1."""
    model = loop.model if isinstance(loop, Delayed) else loop
    one = StateSpace(model.a, model.b[:, [j]], model.c[[i]], model.d[[i]][:, [j]], model.dt)
    late = loop.delays[j] if isinstance(loop, Delayed) else 0.0
    margin = delay_margin(one)
    # a fixed delay of the channel has used up some of what the element tolerates
    further = np.mod(margin.lag - margin.omega * late, 2 * np.pi) / margin.omega
    return float(further.min()) if further.size else np.inf


def _measured(loop: FRF, i: int, j: int) -> float:
    values = loop.response[:, i, j]
    if not np.all(values):
        return np.inf  # channels that do not act on each other
    try:
        return data_margins(FRF(loop.frequency_hz, values)).critical_delay
    except HalfrealError:  # its lines are too coarse to be read
        return np.nan
