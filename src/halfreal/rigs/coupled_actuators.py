"""Actuators that act on each other, what joins them to the interface, the specimen, and sensors of strokes:

    command → actuators (n × n) → strokes → [kinematics] → pose → specimen → force
                                     │ sensors
                                     └→ [estimator] → [kinematics] → measured pose

Actuators are one linear model (``halfreal.models.actuator_matrix``), integrated exactly for commands that are held over
a step.  How strokes go with the pose of the interface is the definition's [kinematics]; without it there is one
actuator for each axis.  With ``force_from = "measured"`` the force is computed from the measured pose in place of the
true one, as laboratories do that have no load cell at the interface.

The specimen may have further degrees of freedom behind those of the interface, and axes may be passive: both follow the
commanded ones c as the stiffness says (R. J. Guyan, AIAA J. 3 (1965) 380), and the force is that of all of them:

    q = T c,    T = ⎡ I            ⎤,     f = M q¨ + C q˙ + K q + nonlinear elements
                    ⎣ −K_oo⁻¹ K_oc ⎦

q˙ and q¨ are backward differences over a step of the rig: late by half a step and by a whole one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, field_validator

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.known import Known
from ..contracts.rig import Rig, RigBlocks
from ..contracts.state_space import StateSpace
from ..kernels.block import Block, Channel, channels, names
from ..kernels.linear import copy_to, multiply_add, set_to, stored
from ..models.actuator_matrix import AnyActuators
from ..models.schemes.exact import discretise
from ..settings import fault
from .sensors import DisplacementSensor, Sensors, sensors_block
from .specimen import Specimen, excitation_block, specimen_inputs
from .stroke_estimator import StrokeEstimator

TRUE, SENSED, POSE = "rig.stroke", "sensor.stroke", "sensor.displacement"
"""Strokes, what their sensors read, and the pose that is found out of it."""
SINGULAR = 1e-9
"""Part of the largest entry of a stiffness up to which what holds the degrees of freedom that follow counts as none."""
OTHER_NOISE = 7919
"""Added to the seed for the sensors of strokes: their noise is none that other sensors have."""


def actuators_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    copy_to(s.x, s.before)
    set_to(0.0, s.x)
    multiply_add(p.transition, s.before, s.x)
    multiply_add(p.inputs, u, s.x)
    set_to(0.0, y)
    multiply_add(p.outputs, s.x, y)
    multiply_add(p.direct, u, y)
    return 0


def followed_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    """All degrees of freedom of the specimen out of the commanded ones, with their rates."""
    m = s.q.shape[0]
    set_to(0.0, y)
    multiply_add(p.follow, u, y[:m])
    if s.started == 0.0:  # as if it had always stood where it starts
        for i in range(m):
            s.q[i] = y[i]
        s.started = 1.0
    for i in range(m):
        y[m + i] = (y[i] - s.q[i]) / p.dt
        y[2 * m + i] = (y[m + i] - s.v[i]) / p.dt
        s.q[i], s.v[i] = y[i], y[m + i]
    return 0


def shown_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    """The measured pose on all axes out of that of the commanded ones."""
    set_to(0.0, y)
    multiply_add(p.follow, u, y)
    return 0


def handed_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    copy_to(u, y)
    return 0


def _each(given: Any) -> Any:
    return (given,) if isinstance(given, dict | DisplacementSensor) else given


class StrokeSensors(Sensors):
    """Sensors of the actuators' strokes, and of what is measured at the interface itself."""

    stroke: Annotated[tuple[DisplacementSensor, ...], Field(min_length=1), BeforeValidator(_each)] = (
        DisplacementSensor(),
    )
    """One for all actuators, or one per actuator."""

    def refuse_filters(self) -> None:
        """Raise a fault if a sensor has a filter."""
        sensors = {"displacement": self.displacement, "rotation": self.rotation, "force": self.force}
        parts = [*sensors.items(), ("moment", self.moment), *(("stroke", one) for one in self.stroke)]
        for key, part in parts:
            if part.filter is not None:
                raise fault(
                    "sensors of coupled actuators have no filters; omit it, or describe its delay", "sensors", key
                )

    def of_strokes(self, count: int) -> tuple[DisplacementSensor, ...]:
        return self.stroke * count if len(self.stroke) == 1 else self.stroke


class CoupledActuators(Rig):
    """Actuators by a matrix of transfer functions, a coupler and a specimen."""

    kind: Literal["coupled actuators"] = "coupled actuators"
    actuators: AnyActuators
    """Model from commands to strokes."""
    specimen: Specimen
    """The specimen; its first degrees of freedom are the axes of the interface; other degrees of freedom and passive
    axes respond quasi-statically.
    """
    force_from: Literal["true", "measured"] = "true"
    """Motion from which the specimen's force is computed."""
    sensors: StrokeSensors = StrokeSensors()
    estimator: StrokeEstimator | None = None
    """Filter of the measured strokes; default: none."""
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    @field_validator("specimen")
    @classmethod
    def _is_held(cls, specimen: Specimen) -> Specimen:
        if specimen.stiffness is None:
            raise fault("a specimen on coupled actuators needs a stiffness; give it")
        return specimen

    @property
    def steps_per_tick(self) -> int:
        return self.substeps

    # --- what it suits ------------------------------------------------------------------------------------------------

    def check_served(self, axes: Axes) -> None:
        """It serves passive axes and strokes."""
        count = len(axes.actuators)
        if self.actuators.count != count:
            raise fault(
                f"{self.actuators.count} actuator(s) where {count} are commanded ({', '.join(axes.actuators.names)}); "
                "give a row and a column for each",
                "actuators",
            )
        if len(self.sensors.stroke) not in (1, count):
            raise fault(
                f"{len(self.sensors.stroke)} sensors for {count} actuator(s); give one for all, or one for each",
                *("sensors", "stroke"),
            )
        self.sensors.check_axes(axes)
        self.sensors.refuse_filters()

    def fits(self, known: Known) -> None:
        if known.axes is None:
            return
        axes, found = known.axes, self.specimen.axes() or 0
        if found < len(axes):
            raise fault(
                f"{found}×{found} matrices where the interface has {len(axes)} axes; give a row and a column for each "
                "axis, and for further degrees of freedom behind them",
                "specimen",
            )
        self.follow(axes)

    def follow(self, axes: Axes) -> np.ndarray:
        """T, (degrees of freedom of the specimen, commanded axes)."""
        stiffness = self.specimen.stiffness_at_rest(self.specimen.axes() or 0)
        moved = list(axes.commanded_at)
        free = [i for i in range(len(stiffness)) if i not in moved]
        follow = np.zeros((len(stiffness), len(moved)))
        follow[moved] = np.eye(len(moved))
        if free:
            held = stiffness[np.ix_(free, free)]
            if np.linalg.svd(held, compute_uv=False)[-1] <= SINGULAR * np.abs(stiffness).max():
                raise fault(
                    f"nothing holds degrees of freedom among {[i + 1 for i in free]}, which are not commanded and "
                    "follow the others by their stiffness; give them some",
                    *("specimen", "stiffness"),
                )
            follow[free] = -np.linalg.solve(held, stiffness[np.ix_(free, moved)])
        return follow

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return tuple(f"rig.specimen: {one}" for one in self.specimen.nonlinearities)

    @property
    def known_sensors(self) -> StrokeSensors:
        return self.sensors

    def with_sensors(self, sensors: Sensors) -> CoupledActuators:
        """With other sensors; those of strokes are kept."""
        given = {name: getattr(sensors, name) for name in Sensors.model_fields}
        return self.unchecked_copy({"sensors": self.sensors.unchecked_copy(given)})

    def varying_sensors(self, axes: Axes) -> np.ndarray:
        """A pose that is found out of noisy strokes varies, and with it a force that is computed from it."""
        found = super().varying_sensors(axes)
        if self.estimator is None and any(one.noise > 0.5 * one.resolution for one in self.sensors.stroke):
            found[list(axes.commanded_at)] = 1.0
        return found

    def stroke_model(self) -> StateSpace:
        return self.actuators.model()

    # --- blocks -------------------------------------------------------------------------------------------------------

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """On its own step actuators and, if its motion is the true one, the specimen; then sensors."""
        axes, kinematics, fine = context.axes, context.test.kinematics, context.period / self.substeps
        count, at, start = len(axes.actuators), list(axes.commanded_at), np.asarray(context.start, dtype=float)
        asked = start[at] if kinematics is None else kinematics.strokes_at(start[at])
        actuators = self._actuators(fine, command, asked)
        initial = np.array(actuators.initial)
        sensed = channels(SENSED, "m", count, of="actuator")
        sensors = self._stroke_sensors(context, initial, sensed)
        found: tuple[Channel, ...] = sensed
        estimator = list[Block]()
        if self.estimator is not None:
            model = self.actuators.model()
            estimator = [self.estimator.block(context.period, model, command, names(sensed), asked)]
            found = estimator[0].outputs

        def pose(name: str, signal: str, strokes: tuple[Channel, ...]) -> Block:
            outputs = channels(signal, "m", len(at), of="commanded")
            if kinematics is None:
                return Block(name, handed_step, names(strokes), outputs, initial=tuple(initial))
            return replace(kinematics.to_pose(name, names(strokes), outputs), initial=tuple(start[at]))

        place = pose("pose", "rig.pose", actuators.outputs)
        seen = pose("measured pose", POSE, found)
        followed, specimen = self._specimen(context, fine if self.force_from == "true" else context.period)
        if self.force_from == "true":
            inner = [
                actuators,
                place,
                replace(followed, inputs=names(place.outputs)),
                excitation_block(context),
                specimen,
            ]
            outer = [sensors, *estimator, seen]
            shown = self._shown(context, seen)
            return RigBlocks(inner, [*outer, shown, self._interface_sensors(context, specimen, shown)])
        inner = [actuators, place]
        outer = [sensors, *estimator, seen, replace(followed, inputs=names(seen.outputs)), excitation_block(context)]
        return RigBlocks(inner, [*outer, specimen, self._interface_sensors(context, specimen, followed)])

    def _actuators(self, fine: float, command: tuple[str, ...], asked: np.ndarray) -> Block:
        """They begin at rest under the first command."""
        model = self.actuators.model(actual=True)
        transition, held, _ = discretise(model.a, model.b, fine, "zero")
        resting = -np.linalg.solve(model.a, model.b @ asked)
        return Block(
            name="actuators",
            step=actuators_step,
            inputs=command,
            outputs=channels(TRUE, "m", len(asked), of="actuator"),
            parameters={
                "transition": stored(transition),
                "inputs": stored(held),
                "outputs": stored(model.c),
                "direct": stored(model.d),
            },
            state={"x": resting, "before": np.zeros(model.states)},
            frozen=("before",),
            initial=tuple(model.c @ resting + model.d @ asked),
        )

    def _stroke_sensors(self, context: Context, initial: np.ndarray, outputs: tuple[Channel, ...]) -> Block:
        parts, n = self.sensors.of_strokes(len(initial)), len(initial)
        return sensors_block(
            "stroke sensors",
            parts,
            names(channels(TRUE, "m", n)),
            outputs,
            context.seed + OTHER_NOISE,
            initial,
            ideal=context.faultless,
            dt=context.period,
        )

    def _specimen(self, context: Context, step: float) -> tuple[Block, Block]:
        """What moves it, and the specimen itself."""
        axes = context.axes
        follow, m = self.follow(axes), self.specimen.axes() or 0
        start = follow @ np.asarray(context.start, dtype=float)[list(axes.commanded_at)]
        motion = (*channels("rig.displacement", "m", m, of="axis"), *channels("rig.velocity", "m/s", m, of="axis"))
        outputs = (*motion, *channels("rig.acceleration", "m/s^2", m, of="axis"))
        followed = Block(
            name="followed",
            step=followed_step,
            inputs=(),
            outputs=outputs,
            parameters={"follow": stored(follow), "dt": step},
            state={"q": start, "v": np.zeros(m), "started": 0.0},
            frozen=("started",),
            initial=(*start, *np.zeros(2 * m)),
            references=("guyan1965",),
        )
        specimen = self.specimen.block(m, start, step)
        assert specimen.inputs == specimen_inputs(m)
        return followed, specimen

    def _shown(self, context: Context, seen: Block) -> Block:
        """The measured pose on all axes: passive ones as they follow."""
        n = len(context.axes)
        follow = self.follow(context.axes)[:n]
        outputs = channels("sensor.pose", "m", n, of="axis")
        resting = tuple(follow @ np.asarray(context.start, dtype=float)[list(context.axes.commanded_at)])
        return Block("shown", shown_step, names(seen.outputs), outputs, {"follow": stored(follow)}, initial=resting)

    def _interface_sensors(self, context: Context, specimen: Block, motion: Block) -> Block:
        """Of pose and force at the interface, of the motion that these blocks write."""
        n = len(context.axes)
        place, force = names(motion.outputs)[:n], names(specimen.outputs)[:n]
        resting = np.array([*(motion.initial or np.zeros(n))[:n], *(specimen.initial or np.zeros(n))[:n]])
        block = self.sensors.block(context.axes, context.seed, resting, ideal=context.faultless, dt=context.period)
        return replace(block, inputs=(*place, *force))
