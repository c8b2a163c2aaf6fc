"""Decoupling inverse: the commands of all actuators out of the targets of all of them, by the inverse of their model.

Where actuators act on each other, H(s) is a matrix, and so is the filter W that makes H W ≈ I: it inverts the dynamics
and takes the actuators' action on each other away.  B. M. Phillips, B. F. Spencer, "Model-based multiactuator control
for real-time hybrid simulation", J. Eng. Mech. 139 (2013) 219–228, do so by derivatives of the targets; here W is
fitted to the model as it is sampled, with commands held over a step.

"fir"           u_k = Σ_j W_j z_{k−jm}, the taps by least squares over frequencies up to ``band``:

                    Σ_f v(f)² ‖H(f) W(f) e^{−2πi f δ} − I‖² + ε² Σ_{f ≤ 1/2Δ} ‖W(f)‖² → min,   v = 1/(1 + (f/f₀)²)

                ε keeps noise of the targets small in the commands.  A causal W can meet I only as far as the targets
                can be foretold: well at frequencies that are low against its length, and v says which matter.
"state space"   the model runs along, x⁺ = Φ x + Γ u, and the command is the first of those u_k + i d that, over a
                ``horizon`` of h steps, bring the strokes C x nearest to the targets there, which are extrapolated by
                polynomials (``forward_prediction.py``):

                    Σ_{i=1}^h ‖C x_{k+i} − z(t_k + iΔ + δ)‖² + h ε² (‖u_k − u_{k−1}‖² + ‖h d‖²) → min over u_k, d

Axes of different units are never added: a motion of an axis counts by the strokes that it needs.

======== =============================================================================
z, u     targets and asked commands, of axes or of actuators
H        ``model``, or what the rig says of itself
m, f₀    ``spacing`` in steps, ``corner``
δ, ε     ``preview``, ``effort``
======== =============================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.by_content import by_content
from ..contracts.context import Context
from ..contracts.coupling import Coupling
from ..contracts.known import Known
from ..contracts.state_space import StateSpace
from ..contracts.tuning import Known as KnownRig
from ..contracts.tuning import Trial
from ..errors import HalfrealError
from ..kernels.block import Block, Value, channels
from ..kernels.history import fill, push
from ..kernels.linear import copy_to, multiply_add, set_to, stored
from ..models.actuator_matrix import AnyActuators
from ..models.schemes.exact import discretise
from ..settings import Number, fault
from .forward_prediction import MOST_POINTS, weights

if TYPE_CHECKING:
    from ..definition.definition import Definition

TAP_APART = 1e-3
"""Time between the taps of filters that are tried [s]."""
LINES = 400
"""Frequencies within the band at which a filter is fitted, and over all where its size is judged."""


def fir_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if s.started == 0.0:  # as if the targets had always stood where they start
        fill(s.history, u)
        s.started = 1.0
    push(s.history, u)
    set_to(0.0, y)
    spacing = int(p.spacing)
    for j in range(p.taps.shape[0]):
        multiply_add(p.taps[j], s.history[j * spacing], y)
    return 0


def horizon_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = y.size
    if s.started == 0.0:  # at rest under the command that holds the first targets
        for i in range(n):
            s.now[i] = u[i]
        fill(s.history, u)
        set_to(0.0, s.command)
        multiply_add(p.rest_command, s.now, s.command)
        set_to(0.0, s.x)
        multiply_add(p.rest_state, s.now, s.x)
        s.started = 1.0
    push(s.history, u)
    set_to(0.0, y)
    for j in range(s.history.shape[0]):
        multiply_add(p.by_target[j], s.history[j], y)
    multiply_add(p.by_state, s.x, y)
    multiply_add(p.by_command, s.command, y)
    copy_to(s.x, s.before)
    set_to(0.0, s.x)
    multiply_add(p.transition, s.before, s.x)
    multiply_add(p.inputs, y, s.x)
    copy_to(y, s.command)
    return 0


class Sampled:
    """A model with commands held over a step: y_{k+1} = C x_{k+1} + D u_k, in units in which axes are alike."""

    def __init__(self, model: StateSpace, dt: float, size: np.ndarray) -> None:
        self.a, held, _ = discretise(model.a, model.b, dt, "zero")
        self.b = held * size
        self.c = model.c / size[:, None]
        self.d = model.d * size / size[:, None]
        self.dt = dt


class DecouplingInverse(Coupling):
    """The inverse of a matrix of actuators, as feed-forward of all targets."""

    kind: Literal["decoupling inverse"] = "decoupling inverse"
    model: AnyActuators | None = None
    """Model of the actuators, from commands to the coupling's targets; default: the rig's model."""
    form: Literal["fir", "state space"] = "fir"
    """Form of the inverse: an FIR filter of the last targets, or a state-space model with preview."""
    taps: Annotated[int, Field(ge=1, le=MOST_POINTS)] = 40
    """Number of taps of a filter from one target to one command."""
    spacing: Annotated[int, Field(ge=1, le=100)] = 1
    """Spacing of the taps, in steps."""
    band: Annotated[float, Number("Hz", above=0)] = 30.0
    """Upper frequency up to which the inverse is fitted."""
    corner: Annotated[float, Number("Hz", above=0)] = 1.0
    """Frequency above which errors are weighted less."""
    preview: Annotated[float, Number("s", least=0)] = 0.0
    """Lead of the strokes over the targets, e.g. the delay of the sensors."""
    effort: Annotated[float, Number("1", above=0)] = 3e-5
    """Weight of the commands relative to errors."""
    horizon: Annotated[float, Number("s", above=0)] = 0.01
    """Preview horizon of the state space."""
    order: Annotated[int, Field(ge=0, le=10)] = 3
    """Order of the polynomial with which the state space predicts targets."""
    points: Annotated[int, Field(ge=1, le=MOST_POINTS)] = 12
    """Number of points of that polynomial."""

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: int, info: ValidationInfo) -> int:
        order = info.data.get("order", 0)
        if points < order + 1:
            raise fault(
                f"{points} points are too few for a polynomial of order {order}; use at least {order + 1} points"
            )
        return points

    def fits(self, known: Known) -> None:
        if self.model is not None and known.coupled is not None and self.model.count != known.coupled:
            raise fault(
                f"a model of {self.model.count} actuator(s) where the coupling works on {known.coupled}; give a row "
                "and a column for each",
                "model",
            )
        if known.step is not None and self.band > 0.5 / known.step:
            raise fault(
                f"{self.band:g} Hz is above half the sampling rate, {0.5 / known.step:g} Hz; choose less", "band"
            )

    @property
    def predicts(self) -> bool:
        return True

    @classmethod
    def trials(cls, known: KnownRig) -> Iterable[Trial]:
        """Filters of 40 ms, errors weighed up to below, at and above the frequencies of the motion, and state spaces;
        of several actuators or axes whose model is known."""
        step, n = known.test.timing.step, len(known.rigs)
        plain = cls(kind="decoupling inverse", band=min(30.0, 0.4 / step))
        try:
            if n == 1 or len(plain.plant(known.test, n)[0].c) != n:
                return
        except HalfrealError:
            return
        # each axis by its own motion
        rates = np.sqrt(np.mean(np.diff(known.motion, axis=0) ** 2, axis=0)) / step
        sizes = np.sqrt(np.mean(known.motion**2, axis=0))
        centre = float(np.max(rates[sizes > 0.0] / sizes[sizes > 0.0], initial=0.0)) / (2 * np.pi) or 1.0
        spacing = max(round(TAP_APART / step), 1)
        common = {"kind": plain.kind, "band": plain.band, "preview": 0.0}
        filters = [
            {**common, "spacing": spacing, "corner": times * centre, "effort": effort}
            for times in (0.3, 1.0, 3.0)
            for effort in (3e-5, 3e-4)
        ]
        ahead = [
            {**common, "form": "state space", "horizon": horizon, "effort": 1e-4} for horizon in (0.008, 0.016, 0.032)
        ]
        slowest = max(rig.lag for rig in known.rigs)
        yield Trial([*filters, *ahead], [(("preview",), 0.0, max(0.2 * slowest, step))])

    def plant(self, test: Definition, n: int) -> tuple[StateSpace, np.ndarray]:
        """What is inverted, and how far a unit of each axis counts."""
        kinematics, rig = test.kinematics, test.rig
        if kinematics is None or kinematics.coupling_in == "actuators":
            known = rig.linear_model(n) if kinematics is None and rig.stroke_model() is None else rig.stroke_model()
            found = known if self.model is None else self.model.model()
            return _known(found, rig.kind), np.ones(n)
        at = np.asarray(test.virtual.initial_target(), dtype=float)[list(test.interface.commanded_at)]
        moves = kinematics.jacobian(at)
        size = 1.0 / np.linalg.norm(moves, axis=0)
        if self.model is not None:
            return self.model.model(), size
        strokes = _known(rig.stroke_model(), rig.kind)
        back = np.linalg.pinv(moves)
        return StateSpace(strokes.a, strokes.b @ moves, back @ strokes.c, back @ strokes.d @ moves), size

    def blocks(self, context: Context) -> list[Block]:
        n = len(context.axes)
        model, size = self.plant(context.test, n)
        return [self.block(Sampled(model, context.step, size), size, context.channels("target"), context)]

    def block(self, sampled: Sampled, size: np.ndarray, target: tuple[str, ...], context: Context) -> Block:
        """The block "coupling", from these channels of targets."""
        outputs = channels("command.asked", context.unit, len(target), of="actuator")
        if self.form == "fir":
            taps = size[:, None] * self.fitted(sampled, context.test.rig.pure_delay) / size
            return Block(
                name="coupling",
                step=fir_step,
                inputs=target,
                outputs=outputs,
                parameters={
                    "taps": np.ascontiguousarray(taps.transpose(0, 2, 1)),
                    "spacing": float(self.spacing),
                },
                state={"history": np.zeros(((self.taps - 1) * self.spacing + 1, len(target))), "started": 0.0},
                frozen=("started",),
                references=("phillips2013",),
            )
        parameters, states = self._over_horizon(sampled, size)
        return Block(
            name="coupling",
            step=horizon_step,
            inputs=target,
            outputs=outputs,
            parameters=parameters,
            state={
                "history": np.zeros((self.points, len(target))),
                "x": np.zeros(states),
                "command": np.zeros(len(target)),
                "before": np.zeros(states),
                "now": np.zeros(len(target)),
                "started": 0.0,
            },
            frozen=("before", "now", "started"),
            references=("phillips2013",),
        )

    def fitted(self, sampled: Sampled, delay: float = 0.0) -> np.ndarray:
        """W_j, (taps, n, n), behind a pure delay [s] of the rig."""
        numbers = [sampled.dt, delay + self.preview, self.band, self.corner, self.effort, self.taps, self.spacing]
        return fitted_taps(sampled.a, sampled.b, sampled.c, sampled.d, np.array(numbers))

    def _over_horizon(self, sampled: Sampled, size: np.ndarray) -> tuple[dict[str, Value], int]:
        """Gains of the state space from targets, state and last command; refused if they do not hold the model."""
        a, b, c, d = sampled.a, sampled.b, sampled.c, sampled.d
        steps, n, states = max(round(self.horizon / sampled.dt), 1), len(sampled.c), len(sampled.a)
        power, held = np.eye(states), np.zeros((states, 2 * n))
        by_x, by_u = list[np.ndarray](), list[np.ndarray]()
        for i in range(steps):
            now = np.hstack([np.eye(n), i / steps * np.eye(n)])  # of u_k and h d
            held, power = a @ held + b @ now, a @ power
            by_x.append(c @ power)
            by_u.append(c @ held + d @ now)
        free, forced = np.vstack(by_x), np.vstack(by_u)
        small = steps * self.effort**2 * np.eye(2 * n)
        first = np.linalg.inv(forced.T @ forced + small)[:n]
        ahead = [weights(self.order, self.points, i + 1.0 + self.preview / sampled.dt) for i in range(steps)]
        wanted = np.stack([first @ sum(ahead[i][j] * by_u[i].T for i in range(steps)) for j in range(self.points)])
        by_state, by_command = -first @ forced.T @ free, first @ small[:, :n]
        whole = np.block([[a + b @ by_state, b @ by_command], [by_state, by_command]])
        largest = float(np.abs(np.linalg.eigvals(whole)).max())
        if largest >= 1.0:
            raise HalfrealError(
                f"coupling.horizon: with {self.horizon:g} s the inverse grows by {largest:.4g} per step; lengthen it, "
                "or give more effort"
            )
        static = c @ np.linalg.solve(np.eye(states) - a, b) + d
        rest = np.linalg.inv(static)
        scaled = {
            "by_target": np.stack([(size[:, None] * one / size).T for one in wanted]),
            "by_state": stored(size[:, None] * by_state),
            "by_command": stored(size[:, None] * by_command / size),
            "transition": stored(a),
            "inputs": stored(b / size),
            "rest_command": stored(size[:, None] * rest / size),
            "rest_state": stored(np.linalg.solve(np.eye(states) - a, b @ rest) / size),
        }
        return {key: np.ascontiguousarray(value) for key, value in scaled.items()}, states


@by_content(kept=8)
def fitted_taps(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """W_j by least squares: kept, as a check builds many loops with one inverse."""
    dt, late, band, corner, effort = numbers[:5].tolist()
    taps, spacing, n = int(numbers[5]), int(numbers[6]), len(c)
    hz = np.linspace(0.0, band, LINES + 1)
    z = np.exp(2j * np.pi * hz * dt)[:, None, None]
    h = c @ np.linalg.solve(z * np.eye(len(a)) - a, b + 0j) + d / z
    h *= np.exp(-2j * np.pi * hz * late)[:, None, None]
    matter = 1.0 / (1.0 + (hz / corner) ** 2)
    shifts = dt * spacing * np.arange(taps)
    lines = np.exp(-2j * np.pi * np.outer(hz, shifts)) * matter[:, None]
    everywhere = np.linspace(0.0, 0.5 / dt, LINES + 1)
    cost = effort * np.exp(-2j * np.pi * np.outer(everywhere, shifts))
    errors = [np.hstack([h[:, i, [j]] * lines for j in range(n)]) for i in range(n)]
    efforts = [np.hstack([cost if i == j else 0.0 * cost for j in range(n)]) for i in range(n)]
    rows = np.vstack([*errors, *efforts])
    right = np.zeros((len(rows), n))
    for j in range(n):
        right[j * len(hz) : (j + 1) * len(hz), j] = matter
    real = np.vstack([rows.real, rows.imag])
    found = np.linalg.lstsq(real, np.vstack([right, np.zeros_like(right)]), rcond=None)[0]
    return np.asarray(found.reshape(n, taps, n).transpose(1, 0, 2))


def _known(model: StateSpace | None, kind: str) -> StateSpace:
    if model is None:
        raise HalfrealError(f"a rig of kind '{kind}' has no linear model of its actuators; give coupling.model")
    return model
