"""The continuous limit of a definition's linear loop: what its sampled loop tends to as the step goes to zero.

    L(s) = L₀(s) e^{−sτ} Σ_j w_j e^{−s j Δ}        L₀(s) = −V(s) (M_s s² + C_s s + K_s) G(s)

cut at the command and in the sense of negative feedback, as the open loop of the running code is
(``halfreal.stability.open_loop``).  A specimen with mass gives L₀ a direct term: it then tends to a constant at high
frequencies, and the delay equation is of neutral type.

============== ==================================================================================
V              virtual substructure, from the measured force (its minus sign included) to the target
M_s, C_s, K_s  specimen
G              actuator without its delay: 1, 1/(T s + 1) or ω²/(s² + 2ζω s + ω²), the same on every axis
τ              delay of the rig
w_j, Δ         weights of the coupling's forward predictor on samples a step Δ apart; [1] without one
============== ==================================================================================

Nonlinear elements stand in at their initial stiffness.  The powers of s are taken into the state space of W = V G: with
W = C (sI − A)⁻¹ B + D, and (sI − A)⁻¹ s = (sI − A)⁻¹ A + I,

    W (M_s s² + C_s s + K_s) = C (sI − A)⁻¹ (B K_s + A B C_s + A² B M_s) + D K_s + C B C_s + C A B M_s

provided that nothing is left that grows with s: D C_s + C B M_s = 0 and D M_s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...contracts.specimen import KnownSpecimen
from ...contracts.state_space import StateSpace
from ...contracts.virtual import Virtual
from ...definition.definition import Definition
from ...errors import HalfrealError

GROWING = 1e-9
"""Part of its factors' size up to which a term that grows with s passes for zero."""


class ContinuousLimitError(HalfrealError):
    """A loop whose continuous limit is not known or does not exist."""


@dataclass(frozen=True)
class ContinuousLoop:
    """L₀, the delay τ [s], and the predictor's weights on samples ``step`` [s] apart."""

    open_loop: StateSpace
    delay: float
    weights: np.ndarray
    step: float
    caveats: tuple[str, ...] = ()
    """What was taken for granted to make the loop linear, in words."""

    def response(self, omega: np.ndarray) -> np.ndarray:
        """Frequency response of the whole loop L at ω [rad/s], (len(ω), axes, axes)."""
        omega = np.atleast_1d(omega)
        late = np.exp(-1j * np.outer(omega, self.delay + self.step * np.arange(len(self.weights))))
        return np.asarray(self.open_loop.response(omega) * (late @ self.weights)[:, None, None])

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
    actuator, predictor = rig.linear_model(virtual.axes), definition.coupling.predictor(step)
    if actuator is None:
        raise _unknown(f"rig of kind '{rig.kind}'")
    if predictor is None:
        raise _unknown(f"coupling of kind '{definition.coupling.kind}'")
    specimen = rig.known_specimen
    if specimen is None:
        raise _unknown("rig.specimen, which has no matrices,")
    nonlinear = [
        f"{name}: nonlinear elements are taken at their initial stiffness"
        for name, part in (("virtual", virtual), ("rig.specimen", specimen))
        if part.nonlinearities
    ]
    return ContinuousLoop(
        open_loop=bare_loop(virtual, actuator, specimen),
        delay=rig.pure_delay,
        weights=predictor.weights,
        step=step,
        caveats=(*([predictor.caveat] if predictor.caveat else []), *nonlinear),
    )


def bare_loop(virtual: Virtual, actuator: StateSpace, specimen: KnownSpecimen) -> StateSpace:
    """L₀ of the three parts, without delay and without coupling."""
    matrices, model = specimen.matrices_at_rest(virtual.axes), virtual.linear_model()
    if matrices is None:
        raise _unknown("rig.specimen, which has degrees of freedom of its own,")
    if model is None:
        raise _unknown(f"virtual of kind '{virtual.kind}'")
    mass, damping, stiffness = matrices
    a, b, c, d = _in_series(actuator, model)
    left = d @ damping + c @ b @ mass
    size = _norm(d) * _norm(damping) + _norm(c) * _norm(b) * _norm(mass)
    if _norm(left) > GROWING * size or _norm(d @ mass) > GROWING * _norm(d) * _norm(mass):
        raise ContinuousLimitError(
            "the specimen's damping or mass meets a direct term from force to displacement of the virtual "
            "substructure: its continuous limit would grow without bound with frequency; the sampled loop "
            "(halfreal check) still covers it"
        )
    return StateSpace(
        a=a,
        b=b @ stiffness + a @ b @ damping + a @ (a @ b) @ mass,
        c=-c,
        d=-(d @ stiffness + c @ b @ damping + c @ a @ b @ mass),
    )


def _in_series(first: StateSpace, second: StateSpace) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C, D of the second model fed by the first."""
    a = np.block([[first.a, np.zeros((first.states, second.states))], [second.b @ first.c, second.a]])
    b = np.vstack([first.b, second.b @ first.d])
    return a, b, np.hstack([second.d @ first.c, second.c]), second.d @ first.d


def _norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix))


def _unknown(what: str) -> ContinuousLimitError:
    return ContinuousLimitError(
        f"the continuous limit of {what} is not known; the sampled loop (halfreal check) still covers it"
    )
