"""An open loop that is partly measured: the virtual part and the coupling as they run, with the rig as measured.

The loop is built with its rig on the probe and linearised (``stability/open_loop.py``).  Its states are those of the
blocks up to the guard, c, those of the rig, r, and the measured channels m between them, so that

    command = H m        H = C_c (zI − A_cc)⁻¹ A_cm + C_m
    m = G command        G = z⁻¹ [C (zI − A)⁻¹ B + D], as the rig writes the measurements of the next tick
    L = −(H_f R_f + H_d R_d)

with R_f and R_d, the measured force and displacement for a command, from

==============  ======================================================  =================================
what was        it is                                                   then
measured
==============  ======================================================  =================================
rig             force for command [N/m]                                 R_f as measured,  R_d = G_d
specimen        force for displacement [N/m], or motion for force, of   R_f = S G_d,      R_d = G_d
                which it is the inverse
actuator        displacement for command [1]                            R_f = G_f G_d⁻¹ A, R_d = A
loop            L itself [1], in the sense of negative feedback
==============  ======================================================  =================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ... import units
from ...contracts.state_space import StateSpace
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...kernels.loop import Loop
from ...runs.loop_stability import cut_loop
from ...stability.frf import FRF
from ...stability.linearise import NoSlopeError, derivative
from ...stability.open_loop import answer

Measured = Literal["rig", "specimen", "actuator", "loop"]
EXPECTED: dict[Measured, str] = {"rig": "N/m", "specimen": "N/m", "actuator": "1", "loop": "1"}
PER_FORCE = ("m/N", "m/s/N", "m/s^2/N")
"""Motion for force: displacement, velocity, acceleration."""
SI = "SI"
"""As a unit: each element is in SI units."""
NOT_READ = 1e-9
"""Part of the largest slope up to which a channel counts as not read."""


@dataclass(frozen=True)
class Parts:
    """The two sides of a loop that is cut at its command; forces and displacements are those measured."""

    from_force: StateSpace
    from_displacement: StateSpace
    to_force: StateSpace
    to_displacement: StateSpace

    @property
    def reads_displacement(self) -> bool:
        model = self.from_displacement
        return bool(np.any(model.b) or np.any(model.d))


def parts_of(definition: Definition) -> Parts:
    """Virtual part with coupling, and rig, of the code that runs."""
    axes = definition.interface
    if definition.commands != "displacement" or len(axes.actuators) != len(axes):
        raise HalfrealError(
            "a measured rig, specimen or actuator can replace the model only if every axis is commanded in "
            f"displacement; this test commands {definition.commands} along {len(axes.actuators)} of {len(axes)} axes: "
            "measure the whole open loop instead"
        )
    try:
        loop = cut_loop(definition)
        return _split(loop, axes.channels("measured.force"), axes.channels("measured.displacement"))
    except NoSlopeError:
        loop = cut_loop(definition, smooth=True)
        return _split(loop, axes.channels("measured.force"), axes.channels("measured.displacement"))


def _split(loop: Loop, forces: tuple[str, ...], displacements: tuple[str, ...]) -> Parts:
    states = loop.dynamic_indices()
    last = loop.row("guard")
    if slower := [one.name for one in loop.blocks[: last + 1] if one.repeats > 1]:
        raise HalfrealError(
            f"'{slower[0]}' runs at a slower rate and has no single-frequency response to combine with a measured "
            "one; measure the whole loop, and give it as that"
        )
    own = np.concatenate(
        [loop.state_begin(one.name) + np.arange(loop.state_of(one.name).size) for one in loop.blocks[: last + 1]]
    )
    inside = states[np.isin(states, own)]
    commands = np.array(
        [loop.index[channel.name] for channel in loop.blocks[last].outputs if _is_command(channel.name)]
    )
    read = {name: [loop.index[one] for one in names] for name, names in (("f", forces), ("d", displacements))}
    rows = np.concatenate([inside, commands])
    slopes = derivative(loop, states, rows)
    others = ~np.isin(states, [*inside, *read["f"], *read["d"]])
    if np.abs(slopes[:, others]).max(initial=0.0) > NOT_READ * max(np.abs(slopes).max(initial=0.0), 1e-300):
        at = int(states[others][int(np.argmax(np.abs(slopes[:, others]).max(axis=0)))])
        raise HalfrealError(
            f"the virtual part or the coupling reads '{loop.name_of(at)}', which a measured response does not provide; "
            "measure the whole open loop instead"
        )
    n = len(inside)

    def side(columns: list[int]) -> StateSpace:
        b = np.zeros((len(rows), len(columns)))
        for j, column in enumerate(columns):
            if column in states:
                b[:, j] = slopes[:, int(np.flatnonzero(states == column)[0])]
        a = slopes[:, np.isin(states, inside)]
        return StateSpace(a[:n], b[:n], a[n:], b[n:], loop.dt)

    return Parts(side(read["f"]), side(read["d"]), answer(loop, forces), answer(loop, displacements))


def _is_command(name: str) -> bool:
    return name == "command" or (name.startswith("command.") and not name.startswith("command.asked"))


def mixed_loop(definition: Definition, measured: FRF, of: Measured) -> tuple[FRF, str]:
    """L with what was measured in place of the model's, at the lines of the measurement; and what is to be said."""
    channels = len(definition.interface.actuators)
    lines = in_units(measured, of)
    half = 0.5 / definition.timing.step
    kept = (lines.frequency_hz > 0.0) & (lines.frequency_hz < half)
    if kept.sum() < 2:
        low, high = lines.frequency_hz[[0, -1]]
        raise HalfrealError(
            f"{int(kept.sum())} of the measured lines, {low:g} to {high:g} Hz, are between 0 and {half:g} Hz, half the "
            "sampling rate of the test; at least 2 are needed: measure within that band"
        )
    if lines.response.shape[1:] != (channels, channels):
        shape = " × ".join(map(str, lines.response.shape[1:]))
        raise HalfrealError(
            f"the measured response is {shape} (outputs × inputs), but this test has {channels} × {channels}; give "
            "every axis, in the order of the definition"
        )
    hz, values = lines.frequency_hz[kept], lines.response[kept]
    if of == "loop":
        return FRF(hz, values), ""
    parts, omega = parts_of(definition), 2 * np.pi * hz
    late = np.exp(-1j * omega * definition.timing.step)[:, None, None]
    moved, felt = (late * one.response(omega) for one in (parts.to_displacement, parts.to_force))
    if of == "rig":
        felt = values
    elif of == "specimen":
        felt = values @ moved
    else:
        felt, moved = felt @ np.linalg.inv(moved) @ values, values
    loop = -(parts.from_force.response(omega) @ felt + parts.from_displacement.response(omega) @ moved)
    by_model = of == "rig" and parts.reads_displacement
    return FRF(hz, loop), "the coupling also reads displacements, which are those of the model" if by_model else ""


def in_units(measured: FRF, of: Measured) -> FRF:
    """A measurement in SI units, as force for displacement where it is motion for force."""
    if of not in EXPECTED:
        raise HalfrealError(f"'{of}' is not a part of the loop that can be measured; use one of {get_args(Measured)}")
    expected = EXPECTED[of]
    given = measured.unit or ("1" if expected == "1" else "")
    if given in (SI, expected):
        return FRF(measured.frequency_hz, measured.response)
    if not given:
        raise HalfrealError(
            f"the measured response of the {of} has no unit where {expected} is expected; give it (--unit, or a line "
            f"'# unit: {expected}' in the file)"
        )
    if of == "specimen":
        for order, unit in enumerate(PER_FORCE):
            try:
                size = float(units.factor(given, unit))
            except units.UnitError:
                continue
            return _inverse(measured, size, order)
    try:
        size = float(units.factor(given, expected))
    except units.UnitError as error:
        also = f", or in {', '.join(PER_FORCE)}" if of == "specimen" else ""
        raise HalfrealError(f"the measured response of the {of} {error}{also}") from error
    return FRF(measured.frequency_hz, size * measured.response)


def _inverse(measured: FRF, size: float, order: int) -> FRF:
    """Dynamic stiffness from motion for force."""
    kept = measured.frequency_hz > 0.0
    hz, response = measured.frequency_hz[kept], measured.response[kept]
    if response.shape[1] != response.shape[2]:
        raise HalfrealError(
            f"{response.shape[1]} motions for {response.shape[2]} forces have no inverse; give as many of both"
        )
    if np.any(np.linalg.matrix_rank(response) < response.shape[1]):
        raise HalfrealError("the measured motions for forces are singular at a line; remove that line")
    return FRF(hz, (2j * np.pi * hz[:, None, None]) ** order * np.linalg.inv(size * response))
