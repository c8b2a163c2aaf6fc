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
from typing import Any

import numpy as np

from ...contracts.state_space import StateSpace
from ...couplings.adaptive_forward_prediction import AdaptiveForwardPrediction
from ...couplings.direct import Direct
from ...couplings.forward_prediction import ForwardPrediction, weights
from ...definition.definition import Definition
from ...definition.sections import SimulatedRig
from ...errors import HalfrealError
from ...models.structures import state_space
from ...models.structures.beam import Beam
from ...models.structures.modal import Modes
from ...models.structures.restoring import assemble
from ...models.structures.structure import Structure
from ...rigs.actuator import Delay, FirstOrder, SecondOrder
from ...rigs.specimen import Specimen

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
    rig = definition.rig
    if not isinstance(rig, SimulatedRig):
        raise _unknown("rig", rig)
    predictor, adapts = _predictor(definition)
    nonlinear = [
        f"{name}: nonlinear elements are taken at their initial stiffness"
        for name, part in (("virtual", definition.virtual), ("rig.specimen", rig.specimen))
        if any(element.law.kind != "linear" for element in getattr(part, "elements", ()))
    ]
    return ContinuousLoop(
        open_loop=bare_loop(definition.virtual, rig.actuator, rig.specimen),
        delay=rig.actuator.delay,
        weights=predictor,
        step=definition.timing.step,
        caveats=(*adapts, *nonlinear),
    )


def bare_loop(virtual: Any, actuator: Any, specimen: Any) -> StateSpace:
    """L₀ of the three parts, without delay and without coupling."""
    n = virtual.axes
    if not isinstance(specimen, Specimen):
        raise _unknown("rig.specimen", specimen)
    mass, damping, stiffness = specimen.matrices(n)
    stiffness = stiffness + assemble(specimen.elements, n).stiffness
    a, b, c, d = _in_series(_actuator(actuator, n), _virtual(virtual))
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


Matrices = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _virtual(virtual: Any) -> Matrices:
    """A, B, C, D from the measured forces to the interface displacements."""
    n = virtual.axes
    if isinstance(virtual, Structure | Modes | Beam):
        a, b, c, d = virtual.system("none").first_order()
        return a, b[:, -n:], c[:n], d[:n, -n:]
    if isinstance(virtual, state_space.StateSpaceModel):
        d = np.zeros((n, n)) if virtual.D is None else virtual.D[:n, 1:]
        return virtual.A, virtual.B[:, 1:], virtual.C[:n], d
    raise _unknown("virtual", virtual)


def _actuator(actuator: Any, n: int) -> Matrices:
    """A, B, C, D from the delayed command to the displacement, the same on each of n axes."""
    if isinstance(actuator, Delay):
        a, b, c, d = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1))
    elif isinstance(actuator, FirstOrder):
        rate = 1.0 / actuator.time_constant
        a, b, c, d = np.array([[-rate]]), np.array([[rate]]), np.ones((1, 1)), np.zeros((1, 1))
    elif isinstance(actuator, SecondOrder):
        omega = 2.0 * np.pi * actuator.frequency
        a = np.array([[0.0, 1.0], [-(omega**2), -2.0 * actuator.damping * omega]])
        b, c, d = np.array([[0.0], [omega**2]]), np.array([[1.0, 0.0]]), np.zeros((1, 1))
    else:
        raise _unknown("rig.actuator", actuator)
    eye = np.eye(n)
    return np.kron(eye, a), np.kron(eye, b), np.kron(eye, c), np.kron(eye, d)


def _in_series(first: Matrices, second: Matrices) -> Matrices:
    """The second model fed by the first."""
    a1, b1, c1, d1 = first
    a2, b2, c2, d2 = second
    a = np.block([[a1, np.zeros((len(a1), len(a2)))], [b2 @ c1, a2]])
    return a, np.vstack([b1, b2 @ d1]), np.hstack([d2 @ c1, c2]), d2 @ d1


def _predictor(definition: Definition) -> tuple[np.ndarray, tuple[str, ...]]:
    """Weights of the coupling on the last targets, newest first, and what must be said of them."""
    coupling, step = definition.coupling, definition.timing.step
    if isinstance(coupling, Direct):
        return np.ones(1), ()
    if isinstance(coupling, ForwardPrediction):
        return weights(coupling.order, coupling.points, coupling.prediction / step), ()
    if isinstance(coupling, AdaptiveForwardPrediction):
        told = f"the coupling adapts: ρ = {1e3 * coupling.prediction:g} ms and order {coupling.order}, as it starts"
        return weights(coupling.order, coupling.points, coupling.prediction / step), (told,)
    raise _unknown("coupling", coupling)


def _norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix))


def _unknown(place: str, part: Any) -> ContinuousLimitError:
    kind = getattr(part, "kind", type(part).__name__)
    return ContinuousLimitError(
        f"the continuous limit of {place} of kind '{kind}' is not known; the sampled loop (halfreal check) still "
        "covers it"
    )
