"""Narrow-band compensation: an amplitude factor and a lead or lag, looked up for the frequency of the test.

V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech. (2020), doi
10.1007/s40799-020-00394-5, section 4.2: where a test has one frequency at a time, the ideal compensator P_id
(``halfreal.stability.ideal_compensator``) need be right at that one only,

    u(t) = z̄(t) + A (z − z̄)(t + λ),       A = |P|,  λ = arg P/2πf,       P = (P_id − M)/(1 − M)

A lead (λ > 0) is the least-squares polynomial through the last samples, λ ahead (``forward_prediction.py``); a lag is
taken out of a buffer, linear between samples.  z̄ = M z is the slow mean of the target, which passes as it is: a rig
whose position loop integrates follows it by itself, and the paper's factor on it would be an error.

The frequency is given, or that of the excitation, or tracked: the states p_i of a low-pass filter of the target
(``derivative_filter.py``) give 2πf = ω_c √(⟨p₂²⟩/⟨p₁²⟩) in a fading window, which is exact for a sine with any mean.

=========== ====================================================================================
z, u        target, asked command
A, λ        ``amplitudes``, ``leads`` (negative: lag) at ``frequencies``; linear in A and in the phase
M           low-pass of first order with ``mean_time``
ω_c         ``cutoff`` of the tracker; window ``memory``
=========== ====================================================================================
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import ValidationInfo, field_validator, model_validator

from ..contracts.context import Context
from ..contracts.device import Device
from ..contracts.excitation import Excitation
from ..contracts.known import Known
from ..errors import HalfrealError
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.history import push
from ..kernels.linear import copy_to, multiply_add
from ..models.shaker import Shaker
from ..settings import Number, PerAxis, RowPerAxis, Settings, Vector, WholePerAxis, fault
from ..stability.ideal_compensator import Following, ideal_response
from .derivative_filter import derivative_filter
from .forward_prediction import MOST_POINTS, coefficient_map, enough_points, weights
from .per_axis import OneOrEach, WholeOrEachAxis, single, whole
from .plain import PlainCoupling, measured

if TYPE_CHECKING:
    from ..definition.definition import Definition

LINES = np.arange(0.5, 20.01, 0.25)
"""Frequencies [Hz] of a table that is computed."""
MOST_LINES = 20
"""Frequencies of a table at which the loop is judged if the frequency is tracked."""
DIGITS = 6
"""Of an entry of a table that is written down."""
ROUNDS = 5
"""Within which the entry is found that is realised as it is wanted."""
ROUNDED = 64
"""Buffers are this long, or a multiple: a block is compiled for each length."""


def narrow_band_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    z = u[0]
    if s.started == 0.0:
        s.mean = s.last = s.filter[0] = z
    s.mean += p.fading_mean * (z - s.mean)
    s.now[0] = z - s.mean
    push(s.history, s.now)

    hz = p.given[min(max(int(t / p.dwell), 0), p.given.size - 1)]
    if p.tracks != 0.0:
        copy_to(s.filter, s.before)
        for i in range(s.filter.size):
            s.filter[i] = p.earlier[i] * s.last + p.later[i] * z
        multiply_add(p.transition, s.before, s.filter)
        s.last = z
        s.first += p.fading * (s.filter[1] * s.filter[1] - s.first)
        s.second += p.fading * (s.filter[2] * s.filter[2] - s.second)
        if s.first > p.least * p.least:
            s.hz = p.cutoff * math.sqrt(s.second / s.first)
        hz = s.hz
    last = p.hz.size - 1
    hz = min(max(hz, p.hz[0]), p.hz[last])
    i = 0
    while i < last - 1 and p.hz[i + 1] < hz:
        i += 1
    part = (hz - p.hz[i]) / (p.hz[i + 1] - p.hz[i])
    amplitude = p.amplitude[i] + part * (p.amplitude[i + 1] - p.amplitude[i])
    lead = (p.phase[i] + part * (p.phase[i + 1] - p.phase[i])) / (2.0 * math.pi * hz)
    if s.started == 0.0:
        s.amplitude, s.lead, s.started = amplitude, lead, 1.0
    s.amplitude += p.settling * (amplitude - s.amplitude)  # no jump where the frequency steps
    s.lead += p.settling * (lead - s.lead)

    value, steps = 0.0, s.lead / p.dt
    if steps > 0.0:
        for i in range(p.map.shape[0] - 1, -1, -1):
            coefficient = 0.0
            for j in range(p.map.shape[1]):
                coefficient += p.map[i, j] * s.history[j, 0]
            value = value * steps + coefficient
    else:
        late = min(-steps, s.history.shape[0] - 2.0)
        whole = int(late)
        value = (1.0 - late + whole) * s.history[whole, 0] + (late - whole) * s.history[whole + 1, 0]
    y[0] = s.mean + s.amplitude * value
    y[1], y[2], y[3] = hz, s.amplitude, s.lead
    return 0


class Tracking(Settings):
    """How the frequency is tracked, from ``start`` on."""

    start: Annotated[float, Number("Hz", above=0)]
    cutoff: Annotated[OneOrEach, PerAxis("Hz", above=0)] = 30.0
    memory: Annotated[OneOrEach, PerAxis("s", above=0)] = 1.0
    least_amplitude: Annotated[OneOrEach, PerAxis("m", least=0, of_rotations="rad")] = 1e-6
    """Smallest rms of dz/dt/ω_c at which the estimate moves."""


@dataclass(frozen=True)
class Given:
    """The frequency of a test: one, or several that follow one another."""

    frequencies: tuple[float, ...]
    dwell: float = math.inf


class NarrowBandTable(PlainCoupling):
    """Amplitude, and lead by prediction or lag by buffer, from a table: one row for all axes, or one for each.

    What is left out comes from the definition of a test with one axis: the table from the rig's actuator and the
    virtual substructure (with ``shaker`` in the rig's place, if that was identified), the frequency from the
    excitation.
    """

    kind: Literal["narrow band table"] = "narrow band table"
    frequency: Annotated[float, Number("Hz", above=0)] | None = None
    track: Tracking | None = None
    frequencies: Annotated[np.ndarray, Vector("Hz", above=0)] | None = None
    amplitudes: Annotated[np.ndarray, RowPerAxis("1")] | None = None
    leads: Annotated[np.ndarray, RowPerAxis("s")] | None = None
    shaker: Shaker | None = None
    mean_time: Annotated[OneOrEach, PerAxis("s", above=0)] = 2.0
    settling_time: Annotated[OneOrEach, PerAxis("s", above=0)] = 0.2
    """Time constant with which amplitude and lead follow a changing frequency."""
    order: Annotated[WholeOrEachAxis, WholePerAxis(least=0, most=10)] = 3
    points: Annotated[WholeOrEachAxis, WholePerAxis(least=1, most=MOST_POINTS)] = 12
    apart: ClassVar[bool] = True

    @field_validator("frequencies", "amplitudes", "leads")
    @classmethod
    def _rising_and_as_many(cls, column: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        lines = info.data.get("frequencies")
        if column is None:
            return column
        if info.field_name == "frequencies":
            if len(column) < 2 or np.any(np.diff(column) <= 0.0):
                raise fault("a table needs two or more increasing frequencies")
        elif lines is not None and len(lines) != column.shape[-1]:
            raise fault(f"{column.shape[-1]} entries for {len(lines)} frequencies; give one for each")
        elif info.field_name == "amplitudes" and column.min() < 0.0:
            raise fault(f"an amplitude of {column.min():g}; give none below 0")
        return column

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_points(points, info.data.get("order", 0))

    @model_validator(mode="after")
    def _whole(self) -> NarrowBandTable:
        if self.frequency is not None and self.track is not None:
            raise fault("both frequency and track are given; keep one")
        if (self.amplitudes is None) != (self.leads is None):
            raise fault("a table has amplitudes and leads; give both, or neither to have it computed")
        if self.amplitudes is not None and self.frequencies is None:
            raise fault("amplitudes and leads without frequencies; give the frequency of each", "frequencies")
        if self.amplitudes is not None and self.shaker is not None:
            raise fault("both a table and a shaker are given; omit one", "shaker")
        if self.frequency is not None and (told := outside(self.lines, self.frequency)):
            raise fault(told, "frequency")
        if self.track is not None and (told := outside(self.lines, self.track.start)):
            raise fault(told, "track", "start")
        return self

    @property
    def lines(self) -> np.ndarray:
        """Frequencies [Hz] of the table, given or to be computed."""
        return LINES if self.frequencies is None else self.frequencies

    def check_excitations(self, excitations: Sequence[Excitation | None]) -> None:
        """Refuse a test at frequencies that the table does not have."""
        given = None if self.frequency is not None or self.track is not None else given_frequency(excitations)
        for hz in () if given is None else given.frequencies:
            if told := outside(self.lines, hz):
                raise fault(f"the excitation's {told}", "frequency")

    def fits(self, known: Known) -> None:
        super().fits(known)
        if known.excitation is not None:
            excitations = known.excitation.specimen, known.excitation.virtual
            self.check_excitations(excitations)
            given = given_frequency(excitations)
            alone = self.frequency is None and self.track is None
            if known.excitation.waits and alone and given is not None and len(given.frequencies) > 1:
                raise fault(
                    "the time at which the excitation's frequency changes depends on its release; use track", "track"
                )

    @property
    def has_table(self) -> bool:
        return self.amplitudes is not None

    def with_model_data(self, test: Definition) -> Self:
        if self.has_table:
            return self
        step = test.timing.step
        return self.with_table(test.rig.follower(step, self.shaker), test.virtual.device(step), step)

    def with_table(self, actuator: Following, device: Device, dt: float) -> Self:
        """With the table of P_id: ``actuator`` and ``device`` with the delays of the sampled loop in them."""
        lines = self.lines
        omega = 2 * np.pi * lines
        mean = mean_response(single(self.mean_time), dt, omega)
        wanted = (ideal_response(actuator, device, omega) - mean) / (1.0 - mean)
        phase = np.unwrap(np.angle(wanted))
        table: dict[str, Any] = {"frequencies": lines, "amplitudes": np.abs(wanted), "leads": phase / omega}
        return self.unchecked_copy(table)

    def with_responses(self, test: Definition, frequency_hz: np.ndarray, wanted: np.ndarray) -> Self:
        """With such lines in the table; a given one keeps its others, a computed one those that the test needs."""
        dt = test.timing.step
        lines, amplitudes, phases = self.with_model_data(test)._table()
        at = lines if self.track is not None or self.has_table else np.array(self.frequencies_to_judge(test))
        at = at if len(at) > 1 else lines
        columns = np.interp(at, lines, amplitudes), np.interp(at, lines, phases) / (2 * np.pi * at)
        rows = {float(hz): (float(a), float(lead)) for hz, a, lead in zip(at, *columns, strict=True)}
        if not self.has_table:
            rows = {hz: (rounded(a), rounded(lead)) for hz, (a, lead) in rows.items()}
        for hz, one in zip(frequency_hz.tolist(), wanted.tolist(), strict=True):
            mean = complex(mean_response(single(self.mean_time), dt, np.array(2 * np.pi * hz)))
            rows[hz] = self._entry((one - mean) / (1.0 - mean), float(np.interp(hz, lines, phases)), hz, dt)
        table = np.array([(hz, *rows[hz]) for hz in sorted(rows)]).T
        return self.unchecked_copy(dict(zip(("frequencies", "amplitudes", "leads"), table, strict=True), shaker=None))

    def _entry(self, wanted: complex, phase: float, hz: float, dt: float) -> tuple[float, float]:
        """Amplitude and lead that are realised as ``wanted``, from near a phase [rad]: prediction has its own gain."""
        amplitude, omega = 1.0, 2 * np.pi * hz
        for _ in range(ROUNDS):
            missing = wanted / (amplitude * complex(self._shifted(np.array(omega), phase / (omega * dt), dt)))
            amplitude, phase = amplitude * abs(missing), phase + cmath.phase(missing)
        return rounded(amplitude), rounded(phase / omega)

    def response(self, dt: float, frequency_hz: np.ndarray, tuned_hz: float | None = None) -> np.ndarray:
        """P(jω) as it is realised, tuned to one frequency [Hz], or to each for itself if that is left out."""
        lines, amplitudes, phases = self._table()
        hz = np.atleast_1d(np.asarray(frequency_hz, dtype=float))
        tuned = hz if tuned_hz is None else np.full(hz.shape, float(tuned_hz))
        for one in (tuned.min(), tuned.max()):
            check_within(lines, float(one))
        amplitude, omega = np.interp(tuned, lines, amplitudes), 2 * np.pi * hz
        lead = np.interp(tuned, lines, phases) / (2 * np.pi * tuned)
        mean = mean_response(single(self.mean_time), dt, omega)
        if tuned_hz is not None:
            shifted = self._shifted(omega, float(lead[0]) / dt, dt)
        else:
            shifted = np.array([self._shifted(w, steps, dt) for w, steps in zip(omega, lead / dt, strict=True)])
        return np.asarray(mean + (1.0 - mean) * amplitude * shifted)

    # --- judged at the worst of its frequencies -----------------------------------------------------------------------

    def frequencies_to_judge(self, test: Definition) -> tuple[float, ...]:
        if self.frequency is not None:
            return ()
        if self.track is not None:  # the frequency may come to any
            lines = self.lines
            picked = np.unique(np.linspace(0, len(lines) - 1, min(len(lines), MOST_LINES)).round().astype(int))
            return tuple(float(hz) for hz in lines[picked])
        given = given_in(test)
        return () if given is None else tuple(sorted(set(given.frequencies)))

    def tuned_to(self, test: Definition, frequency_hz: float) -> Self:
        return self.with_model_data(test).unchecked_copy({"frequency": frequency_hz, "track": None})

    def tuned_response(self, test: Definition, frequency_hz: np.ndarray, tuned_hz: float) -> np.ndarray:
        return self.with_model_data(test).response(test.timing.step, frequency_hz, tuned_hz)

    def _shifted(self, omega: np.ndarray, steps: float, dt: float) -> np.ndarray:
        """Of a lead by so many steps, or a lag, at some ω."""
        if steps > 0.0:
            points = whole(self.points)
            past = np.exp(-1j * np.multiply.outer(omega, dt * np.arange(points)))
            return np.asarray(past @ weights(whole(self.order), points, steps))
        late = math.floor(-steps)
        part = -steps - late
        back = np.exp(-1j * omega * dt)
        return np.asarray((1.0 - part) * back**late + part * back ** (late + 1))

    def _table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.frequencies is None or self.amplitudes is None or self.leads is None:
            raise HalfrealError(
                "this table is not known: give frequencies, amplitudes and leads, or use it in a definition whose rig "
                "has a model"
            )
        return self.frequencies, self.amplitudes, 2 * np.pi * self.frequencies * self.leads

    def blocks_together(self, context: Context) -> list[Block]:
        known = self.with_model_data(context.test)
        channels = (context.channels("target"), measured(context))
        return [known.block(context.step, context.unit, *channels, given_in(context.test))]

    def block(
        self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...], given: Given | None = None
    ) -> Block:
        """``given``: the frequency of the test, if it is neither in the settings nor tracked."""
        lines, amplitudes, phases = self._table()
        if self.frequency is not None:
            given = Given((self.frequency,))
        elif self.track is not None:
            given = Given((self.track.start,))
        if given is None:
            raise HalfrealError("the frequency of the test is not known; give coupling.frequency or coupling.track")
        for hz in given.frequencies:
            check_within(lines, hz)
        track = self.track or Tracking(start=given.frequencies[0])
        used = derivative_filter(4, 2 * np.pi * single(track.cutoff), dt)
        used_at = lines if self.track is not None else np.array(given.frequencies)
        lag = -np.min(np.interp(used_at, lines, phases) / (2 * np.pi * used_at))
        longest = max(whole(self.points), int(max(lag, 0.0) / dt) + 3)
        length = -(-longest // ROUNDED) * ROUNDED
        moving: dict[str, Value] = {
            "filter": np.zeros(4),
            "before": np.zeros(4),
            "now": np.zeros(1),
            "last": 0.0,
            "first": 0.0,
            "second": 0.0,
            "hz": track.start,
            "amplitude": 1.0,
            "lead": 0.0,
            "started": 0.0,
        }
        several = self.track is not None or len(given.frequencies) > 1
        return Block(
            name="coupling",
            step=narrow_band_step,
            inputs=(*target, *measured),
            outputs=(
                *channels("command.asked", unit, 1, of="actuator"),
                Channel("coupling.frequency", "Hz"),
                *channels("coupling.amplitude", "1", 1, of="axis"),
                Channel("coupling.lead", "s"),
            ),
            parameters={
                "dt": dt,
                "hz": lines,
                "amplitude": amplitudes,
                "phase": phases,
                "given": np.array(given.frequencies),
                "dwell": given.dwell,
                "map": coefficient_map(whole(self.order), whole(self.points)),
                "fading_mean": 1.0 - math.exp(-dt / single(self.mean_time)),
                "settling": 1.0 - math.exp(-dt / single(self.settling_time)),
                "tracks": float(self.track is not None),
                "transition": used.transition,
                "earlier": used.earlier,
                "later": used.later,
                "cutoff": single(track.cutoff),
                "fading": 1.0 - math.exp(-dt / single(track.memory)),
                "least": single(track.least_amplitude),
            },
            state={"history": np.zeros((length, 1)), "mean": 0.0, **moving},
            frozen=tuple(moving),
            held=f"the coupling changes with the frequency: assessed at {given.frequencies[0]:g} Hz" if several else "",
            references=("ruffini2020", "wallace2005adaptive"),
        )


def rounded(value: float) -> float:
    """An entry of the table as one would write it down."""
    return float(f"{value:.{DIGITS}g}")


def mean_response(mean_time: float, dt: float, omega: np.ndarray) -> np.ndarray:
    """M(jω) of z̄ as it is sampled."""
    rate = 1.0 - math.exp(-dt / mean_time)
    return np.asarray(rate / (1.0 - (1.0 - rate) * np.exp(-1j * np.asarray(omega) * dt)))


def outside(lines: np.ndarray, hz: float) -> str:
    """What is wrong with a frequency that the table does not have; empty if it has it."""
    if lines[0] * (1 - 1e-9) <= hz <= lines[-1] * (1 + 1e-9):
        return ""
    return (
        f"{hz:g} Hz is outside the table of the compensator, {lines[0]:g} to {lines[-1]:g} Hz; widen "
        "coupling.frequencies, or change the frequency of the test"
    )


def check_within(lines: np.ndarray, hz: float) -> None:
    if told := outside(lines, hz):
        raise HalfrealError(f"coupling.frequency: {told}")


def given_frequency(excitations: Sequence[Excitation | None]) -> Given | None:
    """The frequency of the first excitation that there is, if it has one at a time."""
    driven = next((one for one in excitations if one is not None), None)
    dwells = None if driven is None else driven.dwells
    if dwells is None:
        return None
    return Given(dwells.frequencies) if dwells.dwell is None else Given(dwells.frequencies, dwells.dwell)


def given_in(test: Definition) -> Given | None:
    """The frequency that the excitation of a test gives, that of the specimen before that of the virtual part."""
    return given_frequency((test.excitation.specimen, test.excitation.virtual))
