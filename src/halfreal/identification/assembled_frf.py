"""Frequency responses and modes of the assembled structure, virtual and physical, from a recorded hybrid test.

What the virtual excitation does to the responses of both parts is what it would do to the whole structure.  How the
responses are derived follows from the excitation that the run's definition names, x of it and y of a response:

============  ==========================================================================================================
random        H = Σ X*Y/Σ X*X over whole periods after the first, without a window, at the lines it excites; coherence
              |Σ X*Y|²/(Σ X*X Σ Y*Y), of noise and nonlinearity from period to period
stepped sine  at its frequencies, after a part of each dwell (``frf.stepped_sine``)
pulse         Y/X of the whole record, which must have come to rest, below the first 1/duration of the pulse, where its
              spectrum is above half its largest value; its free decay too
============  ==========================================================================================================

Modes are distinguished from displacements, whose terms for the modes outside the band are L/ω² + U: a velocity is
divided by jω for it, an acceleration by (jω)², and shapes R are given back as R s and R s², s the pole.

::

    found = frf_of_run(halfreal.load_run("run.h5"))
    print(modes_of(found, highest_hz=26.0).summary())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from ..errors import HalfrealError
from ..rigs.sensor_filter import SensorFilter
from ..runs.run import Run
from .complex_frequency import LEAST_LINES_PER_ORDER, LEAST_ORDER, lscf
from .experiment import excitation_end
from .frf import Estimate, stepped_sine
from .poles import Poles
from .refined_poles import Spectra

KINDS = ("random", "stepped sine", "pulse")
AT_REST = 0.02
"""RMS of the last tenth of a response to a pulse over its largest value, at most."""
MOSTLY_NOISE = 0.5
"""Part of what a response ends with from which on it is taken for noise: that of sample to sample."""
FAINT = 3e-4
"""RMS of a response over the largest of its unit, below which it is left out unless it is requested: 70 dB."""
USUAL_ORDER = 30
DERIVATIVE = {"m/s": 1, "rad/s": 1, "m/s^2": 2, "rad/s^2": 2}
"""Of a displacement or rotation, by the unit of a response."""


@dataclass(frozen=True)
class AssembledFRF:
    """Responses (outputs, lines) to one input, in units of the output over that of the input, lines in Hz."""

    frequency_hz: np.ndarray
    values: np.ndarray
    coherence: np.ndarray
    """The same for the other; not a number where one measurement alone cannot determine it."""
    outputs: tuple[str, ...]
    input: str
    units: tuple[str, ...]
    kind: str
    averages: int = 1
    decays: np.ndarray | None = None
    """Free motions after a pulse, (outputs, samples), for ``lsce``."""
    step: float = 0.0
    """Between samples [s]."""
    derivatives: tuple[int, ...] = ()
    """1 of an output that is a velocity, 2 of an acceleration; none if left out."""
    driven: np.ndarray | None = None
    """The input's spectrum at the lines, if whole periods or a whole record were transformed."""
    deviations: np.ndarray | None = None
    """(periods, outputs, lines): how the outputs' spectra of each period deviate from their mean, if there are many."""
    notes: tuple[str, ...] = ()

    def motion(self) -> np.ndarray:
        """(jω)ᵏ of each output and line, k its derivative: its factor on a displacement."""
        s = np.where(self.frequency_hz > 0.0, 2j * np.pi * self.frequency_hz, 1.0)
        return np.asarray(s ** np.array(self.derivatives or [0] * len(self.outputs))[:, None])

    def displacements(self) -> AssembledFRF:
        """The responses as displacements, for the estimator."""
        return replace(self, values=self.values / self.motion(), derivatives=()) if any(self.derivatives) else self

    def as_measured(self, of_displacements: Poles) -> Poles:
        """Poles with residues of the outputs as they are, from those of their displacements."""
        if not any(self.derivatives):
            return of_displacements
        poles = of_displacements.poles
        return replace(
            of_displacements, residues=of_displacements.residues * poles ** np.array(self.derivatives)[:, None]
        )

    def estimate(self, output: str) -> Estimate:
        """One response by its channel's name."""
        if output not in self.outputs:
            raise HalfrealError(f"no response '{output}'; there are {', '.join(self.outputs)}")
        i = self.outputs.index(output)
        return Estimate(self.frequency_hz, self.values[i], self.coherence[i], self.averages, self.units[i])

    def between(self, low_hz: float, high_hz: float) -> AssembledFRF:
        """The lines within a band."""
        kept = (self.frequency_hz >= low_hz) & (self.frequency_hz <= high_hz)
        return replace(
            self,
            frequency_hz=self.frequency_hz[kept],
            values=self.values[:, kept],
            coherence=self.coherence[:, kept],
            driven=None if self.driven is None else self.driven[kept],
            deviations=None if self.deviations is None else self.deviations[:, :, kept],
        )

    def spectra(self) -> Spectra | None:
        """Of input and outputs, for ``refined``; None if the responses were not computed from spectra."""
        if self.driven is None:
            return None
        derivatives = self.derivatives or (0,) * len(self.outputs)
        outputs = self.values * self.driven
        many = np.zeros((0, *outputs.shape), dtype=complex) if self.deviations is None else self.deviations
        over = np.sqrt(max(len(many), 1))
        return Spectra(self.frequency_hz, self.driven, outputs, self.step, derivatives, many / over)


def frf_of_run(
    run: Run, outputs: Sequence[str] | None = None, *, input: str = "excitation.virtual", settle: float = 0.75
) -> AssembledFRF:
    """Frequency responses of the assembled structure from a run that came to its end.

    Parameters
    ----------
    outputs
        Channels; if left out, all responses that the definition names of the virtual substructure and of the specimen,
        or the measured displacements of the interface if it names none; without those that hardly move.
    input
        The channel of the excitation, as it was recorded.
    settle
        Part of each dwell of a stepped sine that is left out.
    """
    if run.outcome != "completed":
        raise HalfrealError(f"the run {run.outcome}: {run.reason}; responses are computed from completed runs only")
    excitation = (run.definition.get("excitation") or {}).get("virtual")
    kind = excitation["kind"] if excitation else "none"
    if excitation is None or kind not in KINDS:
        raise HalfrealError(
            f"the run's virtual excitation is of the kind '{kind}'; responses are computed from "
            f"{', '.join(KINDS)}: give "
            "the test one of these (excitation.virtual)"
        )
    names = tuple(outputs) if outputs is not None else response_channels(run)
    missing = [name for name in (input, *names) if name not in run.signals]
    if missing or not names:
        raise HalfrealError(
            f"{', '.join(missing) or 'no response'} is not in the record; record it (record.channels), or name others "
            f"of {', '.join(run.signals)}"
        )
    during = (run.time > -0.5 * run.step) & (run.time < excitation_end(run))
    time = run.time[during]
    step = _even(time)
    x = run.signals[input].values[during]
    y = np.array([run.signals[name].values[during] for name in names])
    notes: tuple[str, ...] = ()
    if outputs is None:
        faint = _faint(y, [run.signals[name].unit for name in names])
        notes = _left_out([name for name, one in zip(names, faint, strict=True) if one])
        names, y = tuple(name for name, one in zip(names, faint, strict=True) if not one), y[~faint]
    if not np.any(x):
        raise HalfrealError(f"'{input}' is zero throughout; name the channel that excites")
    if kind == "random":
        found = _random(x, y, step, excitation)
    elif kind == "pulse":
        found = _pulse(x, y, step, excitation, names, known_delay(run))
    else:
        found = _stepped(time, x, y, excitation, settle)
    told = tuple(f"{run.signals[name].unit}/{run.signals[input].unit}" for name in names)
    derivatives = tuple(DERIVATIVE.get(run.signals[name].unit, 0) for name in names)
    return AssembledFRF(
        outputs=names, input=input, units=told, kind=kind, step=step, derivatives=derivatives, notes=notes, **found
    )


def modes_of(
    found: AssembledFRF, *, lowest_hz: float | None = None, highest_hz: float | None = None, order: int | None = None
) -> Poles:
    """Modes within a band by ``lscf``, with what ``band_of`` takes for what is left out; residues as the outputs."""
    band = band_of(found, lowest_hz, highest_hz, order)
    return found.as_measured(lscf(found.frequency_hz, found.displacements().values, **band))


class Band(TypedDict):
    """What ``lscf`` is requested."""

    lowest_hz: float
    highest_hz: float
    order: int


def band_of(
    found: AssembledFRF, lowest_hz: float | None = None, highest_hz: float | None = None, order: int | None = None
) -> Band:
    """A band, of all lines if left out, and the highest number of modes tried there: 30, or as many as it allows."""
    if found.kind == "stepped sine":
        raise HalfrealError(
            f"{len(found.frequency_hz)} frequencies of a stepped sine; modes are identified from "
            "evenly spaced lines, of a "
            "random force or a pulse"
        )
    hz = found.frequency_hz[found.frequency_hz > 0.0]
    low, high = float(hz[0]) if lowest_hz is None else lowest_hz, float(hz[-1]) if highest_hz is None else highest_hz
    if not low < high:
        raise HalfrealError(f"a band from {low:g} to {high:g} Hz; it must increase, within {hz[0]:g} to {hz[-1]:g} Hz")
    apart = float(hz[-1] - hz[0]) / max(hz.size - 1, 1)
    if low < hz[0] - apart or high > hz[-1] + apart:  # a round number just beyond is meant as all lines
        raise HalfrealError(
            f"a band from {low:g} to {high:g} Hz, and the lines of the record are from {hz[0]:.4g} to {hz[-1]:.4g} Hz; "
            "stay within, or widen the band of the excitation"
        )
    low, high = max(low, float(hz[0])), min(high, float(hz[-1]))
    lines = int(((hz >= low) & (hz <= high)).sum())
    tried = max(LEAST_ORDER, min(USUAL_ORDER, lines // LEAST_LINES_PER_ORDER)) if order is None else order
    return {"lowest_hz": low, "highest_hz": high, "order": tried}


def response_channels(run: Run) -> tuple[str, ...]:
    """Channels of the responses that the run's definition names, or of the interface's displacement."""
    virtual, rig = run.definition.get("virtual") or {}, run.definition.get("rig") or {}
    specimen = rig.get("specimen") or {}
    named = [f"virtual.{name}" for name in virtual.get("responses") or {}]
    named += [f"rig.{name}" for name in specimen.get("responses") or {}]
    found = tuple(name for name in named if name in run.signals)
    return found or tuple(name for name in run.signals if f"{name}.".startswith("measured.displacement."))


def _random(x: np.ndarray, y: np.ndarray, step: float, excitation: Mapping[str, Any]) -> dict[str, Any]:
    period = float(excitation["period"])
    length = round(period / step)
    if abs(length * step / period - 1.0) > 1e-9:
        raise HalfrealError(
            f"the excitation's period of {period:g} s is {period / step:.6g} samples; choose one of whole samples"
        )
    periods = x.size // length
    if periods < 2:
        raise HalfrealError(
            f"the record holds {x.size / length:.3g} periods of {period:g} s; the first one settles, so record two or "
            "more"
        )
    if float(excitation["ramp"]) > period:
        raise HalfrealError(
            f"the excitation rises for {excitation['ramp']:g} s, longer than its period of {period:g} s"
        )
    hz = np.fft.rfftfreq(length, step)
    within = (hz > float(excitation["frequency"]) - 0.5 / period) & (hz < float(excitation["to"]) + 0.5 / period)
    kept = slice(length, periods * length)
    spectrum = np.fft.rfft(x[kept].reshape(periods - 1, length))[:, within]
    spectra = np.fft.rfft(y[:, kept].reshape(len(y), periods - 1, length))[:, :, within]
    cross, own = (spectrum.conj() * spectra).sum(axis=1), (np.abs(spectrum) ** 2).sum(axis=0)
    out = (np.abs(spectra) ** 2).sum(axis=1)
    coherence = np.abs(cross) ** 2 / np.maximum(own * out, np.finfo(float).tiny)
    return {
        "frequency_hz": hz[within],
        "values": cross / own,
        "coherence": coherence if periods > 2 else np.full(cross.shape, np.nan),
        "averages": periods - 1,
        "driven": spectrum.mean(axis=0),
        "deviations": (spectra - spectra.mean(axis=1, keepdims=True)).swapaxes(0, 1) if periods > 2 else None,
    }


def _stepped(
    time: np.ndarray, x: np.ndarray, y: np.ndarray, excitation: Mapping[str, Any], settle: float
) -> dict[str, Any]:
    hz = np.atleast_1d(np.asarray(excitation["frequencies"], dtype=float))
    dwell = excitation["dwell"] or float(time[-1] - time[0])
    found = [stepped_sine(time, x, one, hz, dwell, settle=settle * dwell) for one in y]
    return {
        "frequency_hz": hz,
        "values": np.array([one.response for one in found]),
        "coherence": np.array([one.coherence for one in found]),
    }


def _pulse(
    x: np.ndarray, y: np.ndarray, step: float, excitation: Mapping[str, Any], names: Sequence[str], delay: float
) -> dict[str, Any]:
    duration = float(excitation["duration"])
    _check_at_rest(y, names)
    hz = np.fft.rfftfreq(x.size, step)
    inside = (hz > 0.0) & (hz < (1.0 - 1e-9) / duration)
    driven = np.fft.rfft(x)[inside]
    ratio = np.fft.rfft(y)[:, inside] / driven
    free = round((duration + delay) / step) + 1
    return {
        "frequency_hz": hz[inside],
        "values": ratio,
        "coherence": np.full(ratio.shape, np.nan),
        "decays": y[:, free:],
        "driven": driven,
    }


def _check_at_rest(y: np.ndarray, names: Sequence[str]) -> None:
    """Refuse responses to a pulse that end with more than rest: motion, or noise, which longer records do not fix."""
    end = y[:, -max(y.shape[1] // 10, 8) :]
    size = np.abs(y).max(axis=1)
    size = np.where(size > 0.0, size, 1.0)
    rms = np.sqrt(np.mean(end**2, axis=1))
    # fourth differences hold little of slow motions, and 1² + 4² + 6² + 4² + 1² times the variance of noise
    noise = np.std(np.diff(end, 4, axis=1), axis=1) / np.sqrt(70.0)
    left, noisy = rms / size, noise >= MOSTLY_NOISE * rms
    restless = left > AT_REST
    if not restless.any():
        return
    told = []
    limit = f"{100 * AT_REST:g} %"
    average = "excite harder, or average several periods of a random force"
    for which, does, remedy in (
        (restless & ~noisy, "still moves at", f"{limit} are considered at rest; record longer"),
        (restless & noisy, "has noise of", f"{limit} are allowed: too noisy; {average}"),
    ):
        if which.any():
            each = ", ".join(f"'{names[i]}' {does} {100 * left[i]:.2g} %" for i in np.flatnonzero(which).tolist())
            told.append(f"{each} of the largest value at the end of the record, where {remedy}")
    kept = " ".join(f"--channels '{name}'" for name, one in zip(names, restless, strict=True) if not one)
    raise HalfrealError("; ".join([*told, *[f"or omit the channels named here: {kept}"] * bool(kept)]))


def _faint(y: np.ndarray, units: Sequence[str]) -> np.ndarray:
    """Which responses move far less than the largest of their unit: what is not linear may be all they show."""
    size = y.std(axis=1)
    largest = np.array([max(size[i] for i, other in enumerate(units) if other == unit) for unit in units])
    return np.asarray(size < FAINT * largest)


def _left_out(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    told = ", ".join(f"'{name}'" for name in names)
    return (
        f"omitted, below {FAINT:g} of the largest of the same unit: {told}; select them with --channels to keep them",
    )


def known_delay(run: Run) -> float:
    """Of rig, actuators and the slowest sensor, as far as the definition shows them [s].

    So long is what the pulse did still on its way through the loop.
    """
    rig = run.definition.get("rig") or {}
    sensors = rig.get("sensors") or {}
    late = max((_told(one) + _filtered(one) for one in sensors.values()), default=0.0) if sensors else 0.0
    return _told(rig) + _told(rig.get("actuator")) + late


def _filtered(sensor: Any) -> float:
    low_pass = sensor.get("filter") if isinstance(sensor, Mapping) else None
    return SensorFilter(**low_pass).delay if isinstance(low_pass, Mapping) else 0.0


def _told(part: Any) -> float:
    delay = part.get("delay") if isinstance(part, Mapping) else None
    return float(np.max(delay)) if isinstance(delay, (int, float, list, tuple, np.ndarray)) else 0.0


def _even(time: np.ndarray) -> float:
    """The step of a record without gaps."""
    gaps = np.diff(time)
    if gaps.size < 2:
        raise HalfrealError(f"{time.size} sample(s) of the test are in the record; record a longer test")
    step = float(np.median(gaps))
    if np.abs(gaps - step).max() > 1e-3 * step:
        raise HalfrealError(
            f"the record's samples are {gaps.min():.4g} to {gaps.max():.4g} s apart; responses need "
            "evenly spaced samples without gaps"
        )
    return step
