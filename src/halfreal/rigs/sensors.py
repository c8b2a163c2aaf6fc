"""Sensors of a simulated rig: filter, bias, drift, noise, range, resolution and delay, once a tick.

measured(t) = round_to(resolution, clip(±range, filtered + bias + drift · t + noise · normal deviate))(t − delay)

A converter of b bits over ±r volts behind a sensor of s units a volt has the range r s and the resolution 2 r s/2ᵇ.  A
delay of conditioning and transport that is no whole number of steps is linear between the samples.  The filter acts on
the rig's finer step (``sensor_filter.py``); the noise is that of the reading, behind it.  Drift begins at time 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from .. import units
from ..contracts.axes import Axes
from ..kernels.block import Block, Channel, Value, channels, names
from ..kernels.bytes import load_double
from ..kernels.compile import kernel
from ..kernels.history import push
from ..kernels.loop import Loop
from ..kernels.random import normal
from ..settings import Number, Settings, fault
from .sensor_filter import SensorFilter, filter_block

NO_TABLE: dict[str, Value] = {"known": 0.0, "table": 0.0}
"""Parameters of sensors that compute their noise: rows of a table, and its address (``noise_table.py``)."""


class _Sensor(Settings):
    filter: SensorFilter | None = None

    @property
    def slow_delay(self) -> float:
        """Delay of slow signals [s], by conditioning and filter."""
        return float(getattr(self, "delay", None) or 0.0) + (0.0 if self.filter is None else self.filter.delay)

    def response(self, hz: np.ndarray) -> np.ndarray:
        """Of delay and filter at frequencies [Hz]."""
        delayed = np.exp(-2j * np.pi * np.asarray(hz) * (getattr(self, "delay", None) or 0.0))
        return delayed if self.filter is None else delayed * self.filter.response(hz)


class DisplacementSensor(_Sensor):
    """Filter, bias, drift, noise, resolution, range and delay of the sensors of displacements."""

    noise: Annotated[float, Number("m", least=0)] = 0.0
    resolution: Annotated[float, Number("m", least=0)] = 0.0
    range: Annotated[float, Number("m", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] = 0.0
    bias: Annotated[float, Number("m")] = 0.0
    drift: Annotated[float, Number("m/s")] = 0.0


class RotationSensor(_Sensor):
    """Filter, bias, drift, noise, resolution, range and delay of the sensors of rotations."""

    noise: Annotated[float, Number("rad", least=0)] = 0.0
    resolution: Annotated[float, Number("rad", least=0)] = 0.0
    range: Annotated[float, Number("rad", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] | None = None
    """Default: that of displacements."""
    bias: Annotated[float, Number("rad")] = 0.0
    drift: Annotated[float, Number("rad/s")] = 0.0


class ForceSensor(_Sensor):
    """Filter, bias, drift, noise, resolution, range and delay of the sensors of forces."""

    noise: Annotated[float, Number("N", least=0)] = 0.0
    resolution: Annotated[float, Number("N", least=0)] = 0.0
    range: Annotated[float, Number("N", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] = 0.0
    bias: Annotated[float, Number("N")] = 0.0
    drift: Annotated[float, Number("N/s")] = 0.0


class MomentSensor(_Sensor):
    """Filter, bias, drift, noise, resolution, range and delay of the sensors of moments."""

    noise: Annotated[float, Number("N m", least=0)] = 0.0
    resolution: Annotated[float, Number("N m", least=0)] = 0.0
    range: Annotated[float, Number("N m", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] | None = None
    """Default: that of forces."""
    bias: Annotated[float, Number("N m")] = 0.0
    drift: Annotated[float, Number("N m/s")] = 0.0


Sensor = DisplacementSensor | RotationSensor | ForceSensor | MomentSensor
WITHOUT_OFFSET = {"bias": 0.0, "drift": 0.0}
IDEAL = {"noise": 0.0, "resolution": 0.0, "range": None, **WITHOUT_OFFSET}
"""Values of a sensor without faults; its delay and its filter remain."""


class Sensors(Settings):
    """What each kind of sensor makes of what it measures; ideal if left out."""

    displacement: DisplacementSensor = DisplacementSensor()
    rotation: RotationSensor = RotationSensor()
    force: ForceSensor = ForceSensor()
    moment: MomentSensor = MomentSensor()

    def of_motion(self, axes: Axes) -> list[DisplacementSensor | RotationSensor]:
        """Of displacement or rotation, for each axis."""
        if not axes.rotations.any():
            return [self.displacement] * len(axes)
        rotation = _conditioned(self.rotation, self.displacement)
        return [rotation if turns else self.displacement for turns in axes.rotations]

    def of_force(self, axes: Axes) -> list[ForceSensor | MomentSensor]:
        """Of force or moment, for each axis."""
        if not axes.rotations.any():
            return [self.force] * len(axes)
        moment = _conditioned(self.moment, self.force)
        return [moment if turns else self.force for turns in axes.rotations]

    def all_of(self, axes: Axes) -> list[Sensor]:
        """All of an interface, those of motion first."""
        return [*self.of_motion(axes), *self.of_force(axes)]

    def varying(self, axes: Axes) -> np.ndarray:
        """Which are known to vary, those of motion first: 1 where noise is not lost in rounding."""
        parts = self.all_of(axes)
        return np.array([part.noise > 0.0 and part.noise >= 0.5 * part.resolution for part in parts], dtype=float)

    def scatter(self, axes: Axes, times: float) -> np.ndarray:
        """``times`` the noise, and one resolution, those of motion first."""
        return np.array([times * part.noise + part.resolution for part in self.all_of(axes)])

    def changed(self, motion: Mapping[str, Any], force: Mapping[str, Any]) -> Sensors:
        """With these values of the sensors of motion, and those of the sensors of force, such as their ``noise``."""
        return self.unchecked_copy(
            {
                "displacement": self.displacement.unchecked_copy(motion),
                "rotation": self.rotation.unchecked_copy(motion),
                "force": self.force.unchecked_copy(force),
                "moment": self.moment.unchecked_copy(force),
            }
        )

    def check_axes(self, axes: Axes) -> None:
        """Refuse sensors of rotations and moments where no axis turns."""
        described = {"rotation": self.rotation != RotationSensor(), "moment": self.moment != MomentSensor()}
        for key, given in described.items():
            if given and not axes.rotations.any():
                raise fault(f"of the axes {', '.join(axes.names)} none is a rotation; omit it", "sensors", key)

    @property
    def offsets(self) -> bool:
        """Whether one has a bias or a drift."""
        return any(part.bias != 0.0 or part.drift != 0.0 for part in self._kinds)

    @property
    def _kinds(self) -> tuple[Sensor, ...]:
        return self.displacement, self.rotation, self.force, self.moment

    def check_filters(self, period: float, h: float) -> None:
        """Refuse a filter that the rig's step h does not carry [s]."""
        for key, part in zip(("displacement", "rotation", "force", "moment"), self._kinds, strict=True):
            if part.filter is not None and part.filter.cutoff >= 0.5 / h:
                raise fault(
                    f"{units.text(part.filter.cutoff, 'Hz')} is not below half the sampling rate of the rig's model, "
                    f"{units.text(0.5 / h, 'Hz')}; omit the filter, lower its cutoff, or choose rig.substeps = "
                    f"{int(np.ceil(4.0 * part.filter.cutoff * period))} or more",
                    *("sensors", key, "filter", "cutoff"),
                )

    def filter_blocks(self, axes: Axes, inputs: Sequence[str], initial: np.ndarray, h: float) -> list[Block]:
        """The filters between a rig and its sensors on the rig's step h [s]; none if no sensor has one."""
        signals = [
            channel
            for name, unit in (("displacement", "m"), ("force", "N"))
            for channel in channels(f"filtered.{name}", unit, len(axes), of="axis")
        ]
        parts = self.all_of(axes)
        which = [i for i, part in enumerate(parts) if part.filter is not None]
        filters = [part.filter for part in parts if part.filter is not None]
        if not which:
            return []
        return [filter_block(filters, [inputs[i] for i in which], [signals[i] for i in which], initial[which], h)]

    def block(self, axes: Axes, seed: int, initial: np.ndarray, *, ideal: bool, dt: float) -> Block:
        """The block "sensors"; ideal ones are late all the same, as their delay is part of the loop's dynamics."""
        n, parts = len(axes), self.all_of(axes)
        outputs = (
            *channels("measured.displacement", "m", n, of="axis"),
            *channels("measured.force", "N", n, of="axis"),
        )
        inputs = (*names(channels("rig.displacement", "m", n)), *names(channels("rig.force", "N", n)))
        return sensors_block("sensors", parts, inputs, outputs, seed, initial, ideal=ideal, dt=dt)


def sensors_block(
    name: str,
    parts: Sequence[Sensor],
    inputs: Sequence[str],
    outputs: Sequence[Channel],
    seed: int,
    initial: np.ndarray,
    *,
    ideal: bool,
    dt: float,
) -> Block:
    """A block of sensors of a channel each, which have been at ``initial`` before the first tick."""
    count = len(parts)

    def given(value: str) -> np.ndarray:
        return np.array([0.0 if ideal else getattr(part, value) for part in parts])

    parameters: dict[str, Value] = {
        "seed": float(seed),
        "noise": given("noise"),
        "bias": given("bias"),
        "drift": given("drift"),
        "resolution": given("resolution"),
        "range": np.array([np.inf if ideal or part.range is None else part.range for part in parts]),
        **NO_TABLE,
    }
    state: dict[str, Value] = {"count": 0.0, "peaks": np.zeros(count)}
    frozen, resting = ["count", "peaks"], initial + given("bias")
    late = np.array([part.delay or 0.0 for part in parts]) / dt
    if late.any():
        parameters["late"] = late
        state |= {"history": np.tile(resting, (int(late.max()) + 2, 1)), "now": np.zeros(count)}
        frozen.append("now")
    return Block(
        name=name,
        step=late_sensors_step if late.any() else sensors_step,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        parameters=parameters,
        state=state,
        frozen=tuple(frozen),
        initial=tuple(resting),
    )


def behind(filters: Sequence[Block], sensors: Block) -> Block:
    """Sensors that read what their filters write."""
    instead = {one: other.name for block in filters for one, other in zip(block.inputs, block.outputs, strict=True)}
    return replace(sensors, inputs=tuple(instead.get(one, one) for one in sensors.inputs))


def _conditioned(part: Any, other: Sensor) -> Any:
    """A sensor with delay and filter of another, where it has none of its own."""
    return part.unchecked_copy(
        {
            "delay": other.delay if part.delay is None else part.delay,
            "filter": other.filter if part.filter is None else part.filter,
        }
    )


@kernel
def sense(true, p, s, t, measured):  # type: ignore[no-untyped-def]
    """Deviates come from the table as far as they are known there, else they are computed: the same bits."""
    for i in range(true.size):
        value = true[i] + (p.bias[i] + p.drift[i] * max(t, 0.0))
        if p.noise[i] > 0.0:
            if s.count < p.known:
                value += p.noise[i] * load_double(int(p.table) + 8 * (int(s.count) * p.noise.size + i))
            else:
                value += p.noise[i] * normal(p.seed, float(i), s.count)
        s.peaks[i] = max(s.peaks[i], abs(value))
        value = min(max(value, -p.range[i]), p.range[i])
        if p.resolution[i] > 0.0:
            value = p.resolution[i] * np.rint(value / p.resolution[i])
        measured[i] = value
    s.count += 1.0


def sensors_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    sense(u, p, s, t, y)
    return 0


def late_sensors_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    sense(u, p, s, t, s.now)
    push(s.history, s.now)
    for i in range(y.size):
        whole = int(p.late[i])
        part = p.late[i] - whole
        y[i] = (1.0 - part) * s.history[whole, i] + part * s.history[whole + 1, i]
    return 0


def ranges_used(loop: Loop) -> dict[str, float]:
    """Largest value so far in front of each signal's sensors that saturate, as a share of their range."""
    found: dict[str, float] = {}
    for block in loop.blocks:
        if block.step in (sensors_step, late_sensors_step):
            ranges, peaks = loop.parameter(block.name)["range"], loop.state(block.name)["peaks"]
            for channel, share in zip(block.outputs, peaks / ranges, strict=True):
                if np.isfinite(ranges[list(block.outputs).index(channel)]):
                    name = channel.signal or channel.name
                    found[name] = max(found.get(name, 0.0), float(share))
    return found
