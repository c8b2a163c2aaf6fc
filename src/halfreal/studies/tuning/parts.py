"""Where what is left of the error comes from, by rehearsing with one thing after another made ideal.

    noise            ‖x_m − x_s‖/‖r‖     noise of sensors: as it is against none
    bounds           ‖x_s − x_i‖/‖r‖     resolution and range of sensors and converters, bounds of drives: against ideal
    feedback delay   ‖x_i − x_p‖/‖r‖     delay of the sensors: as it is against none
    tracking delay   ‖z(t − d) − z‖/‖z‖  d, A of x against z in the ideal run, by the frequency evaluation index
    amplitude        |A − 1|                 (T. Guo, C. Chen, W. Xu, F. Sanchez, Smart Mater. Struct. 23 (2014) 045042)
    tracking, rest   what neither delay nor amplitude explains of ‖x_i − z‖/‖z‖
    integration      ‖r_s − r‖/‖r‖       the emulated system by the test's own scheme and step against the exact one

x_m is the measured displacement; x_s that without noise; x_i, x_p are those with ideal sensors, and with ideal sensors
without delay; z is the target, r the emulated system.  The parts are not orthogonal and need not add up to the whole,
and an error of tracking or feedback comes back through the loop: the fidelity is what it makes of the virtual part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.context import Context
from ...contracts.coupling import Coupling
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...kernels.block import Block, channels, names
from ...kernels.loop import Loop
from ...models.excitations import releases, silence, virtual_excitation
from ...rigs.auxiliary import simulated
from ...runs.error_measures import frequency_evaluation
from ...runs.reference import assembled, reference_specimen
from .bench import Bench, Signals, distance

ASSUMED = 1e-4
"""Noise of sensors that are said to have none, as a part of the largest signal, where only its amplification counts."""


@dataclass(frozen=True)
class Parts:
    """Parts of the error, as parts of the motion; None where something is not known."""

    whole: float
    """Measured against the emulated system."""
    noise: float
    bounds: float
    """Of resolution and range of sensors and converters, and of bounds of drives."""
    feedback_delay: float | None
    tracking_delay: float
    amplitude: float
    tracking_rest: float
    integration: float | None
    fidelity: float
    delay: float
    """Delay of the rig behind the target [s]; negative if it leads."""
    gain: float
    """Amplitude of the rig over the target's."""
    noise_gain: float
    """Noise in the command over that in the measured displacement."""

    @property
    def largest(self) -> str:
        """What to work on first."""
        parts = {
            "sensor noise": self.noise,
            "resolution or bounds of sensors and drives": self.bounds,
            "the delay of the measured force": self.feedback_delay or 0.0,
            "the rig's remaining delay": self.tracking_delay,
            "the rig's amplitude": self.amplitude,
            "the rig's dynamics beyond delay and amplitude": self.tracking_rest,
            "integration": self.integration or 0.0,
        }
        name = max(parts, key=lambda name: parts[name])
        return name if 2.0 * parts[name] > self.fidelity else "amplification of small errors by the loop"


def parts(bench: Bench, coupling: Coupling) -> Parts | None:
    """The parts of the error with a coupling, on the nominal rig; None if one of the rehearsals failed."""
    definition = bench.with_coupling(coupling)
    noisy, quiet = (bench.run(definition, ideal=ideal)[1] for ideal in (False, True))
    silent = without_noise(bench, definition, noisy, quiet)
    in_time = without_delay(definition)
    prompt = None if in_time is None else bench.run(in_time, ideal=True)[1]
    if noisy is None or quiet is None or silent is None or (prompt is None and in_time is not None):
        return None
    delay, gain, late, amplitude, rest = tracking(quiet, definition.timing.step)
    return Parts(
        whole=distance(noisy.due, noisy.measured),
        noise=_part(noisy.measured - silent.measured, noisy.due),
        bounds=_part(silent.measured - quiet.measured, noisy.due),
        feedback_delay=None if prompt is None else _part(quiet.moved - prompt.moved, noisy.due),
        tracking_delay=late,
        amplitude=amplitude,
        tracking_rest=rest,
        integration=integration(bench),
        fidelity=distance(quiet.due, quiet.target),
        delay=delay,
        gain=gain,
        noise_gain=noise_gain(bench, definition, noisy, quiet),
    )


def _part(difference: np.ndarray, of: np.ndarray) -> float:
    """Of the worst axis, each by its own motion; signals are (ticks,) or (ticks, axes)."""
    part, whole = (np.linalg.norm(one.reshape(len(one), -1), axis=0) for one in (difference, of))
    return float(np.max(part[whole > 0.0] / whole[whole > 0.0], initial=0.0))


def tracking(signals: Signals, step: float) -> tuple[float, float, float, float, float]:
    """Delay [s] and amplitude of the rig against its target, and the parts of delay, amplitude and the rest."""
    # the axis that is followed worst stands for all, as in the errors
    errors = [distance(signals.target[:, [i]], signals.moved[:, [i]]) for i in range(signals.target.shape[1])]
    largest = int(np.argmax(errors))
    z, x = signals.target[:, largest], signals.moved[:, largest]
    found = frequency_evaluation(z, x, step)
    if not np.isfinite(found.delay):
        return 0.0, 1.0, 0.0, 0.0, 0.0
    time = step * np.arange(len(z))
    late = _part(np.interp(time - found.delay, time, z) - z, z)
    amplitude, whole = abs(found.amplitude - 1.0), distance(z[:, None], x[:, None])
    rest = float(np.sqrt(max(whole**2 - late**2 - amplitude**2, 0.0)))
    return found.delay, found.amplitude, late, amplitude, rest


PROMPT: dict[str, Any] = {"delay": 0.0, "filter": None}


def with_sensors(definition: Definition, motion: dict[str, Any], force: dict[str, Any]) -> Definition | None:
    """The definition with some values of its sensors of motion and of force changed; None if they are not known."""
    sensors = definition.rig.known_sensors
    rig = None if sensors is None else definition.rig.with_sensors(sensors.changed(motion, force))
    return None if rig is None else definition.unchecked_copy({"rig": rig})


def without_noise(bench: Bench, definition: Definition, noisy: Signals | None, quiet: Signals | None) -> Signals | None:
    """A rehearsal with sensors that have no noise and are otherwise as they are, next to those with and without all of
    their faults; where sensors are not known, all of their faults are noise."""
    sensors = definition.rig.known_sensors
    if sensors is None:
        return quiet
    if sensors.displacement.noise == sensors.force.noise == 0.0:
        return noisy
    silent = with_sensors(definition, {"noise": 0.0}, {"noise": 0.0})
    return quiet if silent is None else bench.run(silent)[1]


def without_delay(definition: Definition) -> Definition | None:
    """With sensors that are not late; a prediction of the force that makes up for them goes with their delay."""
    prompt, sensors = with_sensors(definition, PROMPT, PROMPT), definition.rig.known_sensors
    if prompt is None or sensors is None:
        return prompt
    return prompt.unchecked_copy({"coupling": prompt.coupling.with_earlier_forces(sensors.force.slow_delay)})


def noise_gain(bench: Bench, definition: Definition, noisy: Signals, quiet: Signals) -> float:
    """Rms noise in the command over that in the measured displacement, of displacements if some commands are rotations;
    both sensors get some if they have none."""
    sensors = definition.rig.known_sensors
    if sensors is None:
        return float("nan")
    noise = sensors.displacement.noise
    if noise == 0.0:
        turns = definition.interface.rotations[list(bench.counted)]
        noise = ASSUMED * float(np.abs(quiet.measured[:, turns if turns.all() else ~turns]).max())
        stiffness = _stiffness(definition)
        moved, felt = {"noise": noise}, {"noise": noise * stiffness}
        heard = with_sensors(definition, moved, felt)
        found = None if heard is None else bench.run(heard)[1]
        if found is None or noise == 0.0:
            return float("nan")
        noisy = found
    turns = definition.interface.actuators.rotations
    return float(np.std((noisy.command - quiet.command)[:, turns if turns.all() else ~turns]) / noise)


def _stiffness(definition: Definition) -> float:
    """Force a metre, for the noise of a force sensor that matches that of the displacement's."""
    specimen = reference_specimen(definition)
    return 0.0 if specimen is None else float(np.abs(specimen.stiffness_at_rest(definition.virtual.axes)).max())


def integration(bench: Bench) -> float | None:
    """Error of the emulated system by the test's own scheme and step; None where there is no scheme to choose."""
    definition, due = bench.nominal, bench.due
    specimen = reference_specimen(definition)
    if due is None or specimen is None:
        return None
    system, n = assembled(definition, specimen), definition.virtual.axes
    context, pushed = Context(definition, definition.virtual, np.zeros(n)), definition.excitation.specimen
    try:
        method = definition.virtual.own_method(system, definition.timing.step)
    except (ValueError, HalfrealError):
        return None
    if method is None:
        return None
    outputs = channels("integrated", "m", len(system.displacement_outputs))
    inputs = ("excitation.virtual", "excitation.virtual.rate", "excitation.specimen")
    block = Block("integrated", method.step, inputs, outputs, method.parameters, method.state, method.frozen)
    blocks = [
        *simulated(context),
        *releases(context),
        virtual_excitation(context, "excitation.virtual", 0.0),
        silence("excitation.specimen") if pushed is None else pushed.block("excitation.specimen"),
    ]
    loop = Loop([*blocks, block], dt=definition.timing.step)
    log = loop.run(definition.timing.ticks, record=names(outputs)[:n]).log[:, 1:]
    at = list(bench.counted)
    return _part((log - due)[bench.first :, at], due[bench.first :, at])
