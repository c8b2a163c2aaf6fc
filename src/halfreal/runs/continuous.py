"""The continuous limit of a definition's linear loop: what its sampled loop tends to as the step goes to zero.

    L(s) = L₀(s) e^{−sτ} Σ_j w_j e^{−s j Δ}                   L₀: ``halfreal.stability.bare_loop``

cut at the command and in the sense of negative feedback, as the open loop of the running code is
(``halfreal.stability.open_loop``).  With L₀ = C (sI − A)⁻¹B + D, closed by u(t) = −Σ_j w_j y(t − τ − jΔ), it is a delay
differential equation,

    x˙(t) = A x(t) + B u(t),        0 = u(t) + Σ_j w_j [C x + D u](t − τ − jΔ)

retarded if D = 0, where u needs no variable of its own, and neutral if not.

====== ==============================================================================================================
τ      delay of the loop that runs: that of the rig, at least a step where a command acts no sooner, and half of a step
       where the command, or the force in the virtual substructure, is held over one
w_j    weights of the coupling's forward predictor on samples a step Δ apart; [1] without one
====== ==============================================================================================================

Nonlinear elements stand in at their initial stiffness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.state_space import Delayed, StateSpace
from ..definition.definition import Definition
from ..errors import HalfrealError
from ..stability.bare_loop import ContinuousLimitError
from ..stability.dde import roots
from ..stability.dde_system import DelaySystem
from ..stability.late_predictor import with_predictor
from ..stability.margins import delay_margin
from .run import DelayEquation

MOST_STATES = 200
"""Of a loop whose delay equation is solved in every check."""


@dataclass(frozen=True)
class ContinuousLoop:
    """L₀, the delay τ [s], and the predictor's weights on samples ``step`` [s] apart."""

    open_loop: StateSpace
    delay: float
    weights: np.ndarray
    step: float
    caveats: tuple[str, ...] = ()
    """What was taken for granted to make the loop linear, as text."""

    @property
    def delays(self) -> np.ndarray:
        """τ + jΔ of each weight [s]."""
        return np.asarray(self.delay + self.step * np.arange(len(self.weights)))

    def response(self, omega: np.ndarray) -> np.ndarray:
        """Frequency response of the whole loop L at ω [rad/s], (len(ω), axes, axes)."""
        omega = np.atleast_1d(omega)
        late = np.exp(-1j * np.outer(omega, self.delays))
        return np.asarray(self.open_loop.response(omega) * (late @ self.weights)[:, None, None])

    def delay_system(self) -> DelaySystem:
        """The closed loop as a delay differential equation."""
        a, b, c, d = self.open_loop.a, self.open_loop.b, self.open_loop.c, self.open_loop.d
        if not np.any(d):
            return DelaySystem(np.eye(len(a)), np.stack([a, *(-w * b @ c for w in self.weights)]), self.delays)
        n, m = b.shape
        E = np.diag(np.repeat([1.0, 0.0], [n, m]))
        now = np.block([[a, b], [np.zeros((m, n)), -np.eye(m)]])
        late = np.block([[np.zeros((n, n + m))], [-c, -d]])
        return DelaySystem(E, np.stack([now, *(w * late for w in self.weights)]), self.delays)

    def summary(self) -> str:
        loop = self.open_loop
        return "; ".join(
            [
                f"continuous loop of {loop.states} states and {loop.channels} axis(es), "
                f"delay {1e3 * self.delay:.4g} ms, predictor of {len(self.weights)} sample(s)",
                *self.caveats,
            ]
        )


def continuous_loop(definition: Definition) -> ContinuousLoop:
    """The continuous limit of the definition's loop; ``ContinuousLimitError`` if a part of it is not known."""
    virtual, rig, step = definition.virtual, definition.rig, definition.timing.step
    predictor, model = definition.coupling.predictor(step), virtual.linear_model()
    if predictor is None:
        raise _unknown(f"coupling of kind '{definition.coupling.kind}'")
    if model is None:
        raise _unknown(f"virtual of kind '{virtual.kind}'")
    loop = rig.loop_with(model)
    if loop is None:
        raise _unknown(f"rig of kind '{rig.kind}', or of its specimen,")
    nonlinear = [
        f"{name}: nonlinear elements are linearised at their initial stiffness"
        for name, part in (("virtual", virtual), ("rig", rig))
        if part.nonlinearities
    ]
    return ContinuousLoop(
        open_loop=loop,
        delay=rig.delay_in_loop(definition.period) + virtual.integration_delay(step),
        weights=predictor.weights,
        step=step,
        caveats=(*([predictor.caveat] if predictor.caveat else []), *nonlinear),
    )


def delay_system(definition: Definition) -> DelaySystem:
    """Derive the delay differential equation of a loop with continuous, linear parts.

    The poles of the loop that runs converge to its characteristic roots (``halfreal.stability.roots``) as the step goes
    to zero.

    Parameters
    ----------
    definition
        The test.

    Returns
    -------
    DelaySystem
        Matrices and delays.

    Raises
    ------
    ContinuousLimitError
        If a part of the definition has no known linear model.
    """
    return continuous_loop(definition).delay_system()


def has_delay_equation(definition: Definition) -> bool:
    """Whether a delay equation describes the test: it runs in real time, and requests displacements."""
    in_real_time = definition.slow is None and definition.virtual.ticks_per_step == 1
    return in_real_time and definition.targets == "displacement"


def delay_equation(definition: Definition) -> DelayEquation | None:
    """Rightmost root and delay margin of the delay equation; None if the definition has none that is known."""
    try:
        loop = continuous_loop(definition)
        if loop.open_loop.states > MOST_STATES:
            return None
        spectrum = roots(loop.delay_system(), most=2)
        opened = with_predictor(loop.open_loop, loop.weights, loop.step)
        margin = delay_margin(Delayed(opened, np.full(opened.channels, loop.delay))).critical_delay
    except HalfrealError:
        return None
    root = complex(spectrum.roots[0]) if spectrum.roots.size else complex(np.nan, np.nan)
    text = "; ".join((spectrum.summary(), *loop.caveats))
    return DelayEquation(text, spectrum.verdict, root, float(margin) if 0.0 < margin < np.inf else None)


def _unknown(what: str) -> ContinuousLimitError:
    return ContinuousLimitError(
        f"the continuous limit of a {what} is not known; the sampled loop (halfreal check) still covers it"
    )
