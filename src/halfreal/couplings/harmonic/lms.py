"""Adaptive feed-forward by least mean squares: the drive's amplitudes descend the gradient of the squared gap.

Hybrid testing with adaptive feed-forward filters, Alg. 1; symbols and sources in ``coupling.py``.

    ψ_i ← ψ_i − μ H_iᴴ g e^{−jω_i t}                                   adaption (Eq. 13)
    H_i ← H_i + μ_id e q_iᴴ,    e = g − g_ext − Σ_i Re(H_i q_i)        identification (Eq. 17)

In print, Eq. 17 and Alg. 1 leave the estimate's own part out of e, and the adaption of Alg. 1 has the wrong sign and
the gains μ and μ_id swapped.

The amplitudes are held as q_i = ψ_i e^{jω_i t}, which turn by ω_iΔt from tick to tick.  Time then appears nowhere, and
one tick is the same linear map at every tick: a resonator at each harmonic, whose poles in the loop are found by
linearising the code that runs (on paper: ``halfreal.couplings.harmonic.lti``).  With r and P as in ``harmonic``,

    turn r,    r ← r − μ Σ_o g_o P_o    or    P_o ← P_o + μ_id e_o r,    e_o = g_o − g_ext,o − r·P_o

The gains are given bare, or normalised by time constants T in seconds (averages over a period and all axes):

    μ_i = (2n Δt/T) / ‖H_i‖²              μ_id = (N Δt/T_id) / |r|²

A long T is stable if every H_i is known to better than 90°.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ... import units
from ...contracts.axes import Axes
from ...errors import HalfrealError
from ...kernels.block import Block, Value
from ...settings import Number, fault
from . import answered
from .answered import judge, listen
from .choice import Plant
from .coupling import LEAVE_OUT, LENGTHEN, REFERENCES, Harmonic
from .kernel import (
    ADAPTING,
    IDENTIFYING,
    NOT_EXCITED,
    compare,
    comparison,
    draw,
    faded_ratio,
    in_metres,
    observe,
    squares,
    turn,
    unanswered,
    write,
)
from .memory import lms_memory


def harmonic_lms_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, harmonics, size = s.gap.shape[0], p.omega.shape[0], s.phasor.shape[1]
    status = 0
    base = u[3 * n] if p.follows == 1.0 else p.omega[0] * t
    for i in range(harmonics):  # what was driven, turned on to this tick
        angle = p.order[i] * (u[3 * n] - s.phase) if p.follows == 1.0 else p.omega[i] * p.dt
        cosine, sine = math.cos(angle), math.sin(angle)
        for k in range(2 * i * n, (2 * i + 1) * n):
            real, minus_imaginary = s.phasor[0, k], s.phasor[0, k + n]
            s.phasor[0, k] = cosine * real + sine * minus_imaginary
            s.phasor[0, k + n] = cosine * minus_imaginary - sine * real
    if p.follows == 1.0:
        s.phase = u[3 * n]
    squares(s.phasor, s.drive)
    squares(s.transfer, s.size)
    in_metres(u, p.lengths, s.motion)
    observe(s.motion, s.motion[2 * n : 3 * n], s.phasor[0], s.transfer, s.gap, s.answer, s.error)
    nmse = faded_ratio(s.gap_squares, p.fade, s.gap, s.motion[:n])
    misfit = faded_ratio(s.misfit_squares, p.fade, s.error, s.answer)

    if t < p.identification_time - 0.5 * p.dt:
        compare(s, s.motion)
        listen(p, s, s.motion, base, t)
        gain = p.identification_gain
        if p.identification_rate > 0.0:
            square = 0.0
            for i in range(harmonics):
                square += s.drive[i]
            gain = p.identification_rate / square if square > 0.0 else 0.0
        for o in range(n):
            for k in range(size):
                s.transfer[o, k] += gain * s.error[o] * s.phasor[0, k]
        number = math.floor(t / p.random_interval + 1e-9)
        if number != s.drawn:
            s.drawn = number
            draw(p.seed, number, p.amplitude, s.phasor[0])
    else:
        if s.mode == IDENTIFYING:
            s.mode = ADAPTING
            if p.identification_time > 0.0:
                judge(p, s, base)
                if unanswered(s):
                    status = NOT_EXCITED
            for i in range(harmonics):  # the first drive, turned to this tick
                s.cosine[i], s.sine[i] = math.cos(p.omega[i] * t), math.sin(p.omega[i] * t)
            turn(p.first_drive, s.cosine, s.sine, n, s.phasor[0])
        for i in range(harmonics):
            gain = p.gain
            if p.rate > 0.0:
                gain = p.rate / s.size[i] if s.size[i] > 0.0 else 0.0
            for o in range(n):
                for k in range(2 * i * n, 2 * (i + 1) * n):
                    s.phasor[0, k] -= gain * s.gap[o] * s.transfer[o, k]
    write(s.phasor[0], p.drives, s.drive, s.size, s.mode, nmse, misfit, s.excited, y)
    return status


GAIN_UNITS = {"gain": "N^2/m^2", "identification_gain": "1/N^2"}


class HarmonicLms(Harmonic):
    """Adaptive feed-forward by least mean squares.

    One of ``gain`` (μ, for each sample) and ``memory`` (T) is given, and one of ``identification_gain`` (μ_id) and
    ``identification_memory`` (T_id) if there is an identification phase; if none is, the time is chosen.
    """

    kind: Literal["harmonic lms"] = "harmonic lms"
    gain: Annotated[float, Number(GAIN_UNITS["gain"], above=0)] | None = None
    memory: Annotated[float, Number("s", above=0)] | None = None
    identification_gain: Annotated[float, Number(GAIN_UNITS["identification_gain"], above=0)] | None = None
    identification_memory: Annotated[float, Number("s", above=0)] | None = None

    @model_validator(mode="after")
    def _one_gain(self) -> Self:
        if self.gain is not None and self.memory is not None:
            raise fault("give either gain (per sample) or memory (time constant of the gap)", "memory")
        if self.identification_gain is not None and self.identification_memory is not None:
            raise fault("give either identification_gain or identification_memory", "identification_memory")
        return self

    def memories(self, dt: float) -> dict[str, float]:
        given = {"memory": self.memory, "identification_memory": self.identification_memory}
        return {name: value for name, value in given.items() if value is not None}

    def implied_memories(self, transfer: np.ndarray, dt: float) -> dict[str, float]:
        """Time constants [s] of bare gains by their names, the shortest at harmonics with these H (n_ω, n, n).

        Those of T and T_id above; the entries of a random drive have the mean square A²/3.
        """
        found = {}
        if self.gain is not None:
            largest = float(np.max(np.sum(np.abs(transfer) ** 2, axis=(1, 2))))
            found["gain"] = 2 * transfer.shape[1] * dt / (self.gain * largest)
        if self.identification_time > 0.0 and self.identification_gain is not None and self.amplitude is not None:
            found["identification_gain"] = 3.0 * dt / (self.identification_gain * self.amplitude**2)
        return found

    def chosen_memories(self, plant: Plant, dt: float) -> tuple[str, dict[str, float]]:
        if self.gain is not None or self.memory is not None:
            return "", {}
        memory, rate, limit = lms_memory(plant(), self.hz)
        why = f"with which the slowest pole decays as exp({rate:.3g} t/s), stable above {units.text(limit, 's', 3)}"
        return why, {"memory": memory}

    def knows_identification(self, dt: float) -> bool:
        return super().knows_identification(dt) or self.identification_gain is not None

    def adaption_remarks(self, plant: Plant, dt: float, by_rule: bool) -> list[str]:
        """Harmonics that bare gains do not give apart: their memories follow from H, and from the drive."""
        if len(self.hz) < 2:
            return []
        if self.given is None:
            transfer = plant().response(2 * np.pi * self.hz)
        else:
            transfer = np.array([part.matrix for part in self.given])
        order = np.argsort(self.hz)
        closest = int(np.argmin(np.diff(self.hz[order])))
        low, high = (float(hz) for hz in self.hz[order][closest : closest + 2])
        needed = 1 / (2 * math.pi * (high - low))
        told = []
        for name, memory in self.implied_memories(transfer[order][closest : closest + 2], dt).items():
            if memory < needed:
                gain = memory / needed * getattr(self, name)
                told.append(
                    f"warning: {units.text(low, 'Hz')} and {units.text(high, 'Hz')} cannot be separated within "
                    f"{units.text(memory, 's', 3)}, the memory due to coupling.{name}; lower it below {gain:.3g} "
                    f"{GAIN_UNITS[name]}, or remove one of them"
                )
        return told

    def ways_to_close(self, dt: float) -> list[str]:
        found = [LENGTHEN] if self.identifies else []
        return [*found, LEAVE_OUT] if self.memories(dt) or self.gain is not None else found

    def check_known(self) -> None:
        super().check_known()
        if self.gain is None and self.memory is None:
            raise HalfrealError("neither gain nor memory is known here; give one of them")
        if self.identification_time > 0.0 and self.identification_gain is None and self.identification_memory is None:
            raise HalfrealError("neither identification_gain nor identification_memory is known here; give one of them")

    def check_axes(self, axes: int, dt: float) -> None:
        super().check_axes(axes, dt)
        unknowns = 2 * axes * len(self.hz)
        if self.identification_memory is not None and self.identification_memory <= 0.5 * unknowns * dt:
            raise fault(
                f"{units.text(self.identification_memory, 's')} is too short for {unknowns} unknowns: the "
                f"identification is unstable; lengthen it to well above {units.text(0.5 * unknowns * dt, 's')}",
                "identification_memory",
            )

    def block(
        self,
        dt: float,
        unit: str,
        target: tuple[str, ...],
        displacement: tuple[str, ...],
        twin: tuple[str, ...],
        phase: tuple[str, ...] = (),
        axes: Axes | None = None,
    ) -> Block:
        n = len(target)
        lever = self.lever_of(axes, n)
        self.check_step(dt)
        self.check_axes(n, dt)
        self.check_phase(phase)
        self.check_known()
        size = 2 * n * len(self.hz)
        zeros = np.zeros(n)
        held: dict[str, Value] = {
            "transfer": self.start(lever),
            "motion": np.zeros(3 * n),
            "mode": IDENTIFYING,
            "drawn": -1.0,
            "phase": 0.0,
            "cosine": np.zeros(len(self.hz)),
            "sine": np.zeros(len(self.hz)),
            "drive": np.zeros(len(self.hz)),
            "size": np.zeros(len(self.hz)),
            "gap": zeros,
            "answer": zeros,
            "error": zeros,
            "gap_squares": np.zeros((2, n)),
            "misfit_squares": np.zeros((2, n)),
            **comparison(n, len(self.hz)),
            **answered.state(n, len(self.hz)),
        }
        return Block(
            name="coupling",
            step=harmonic_lms_step,
            inputs=(*target, *displacement, *twin, *phase),
            outputs=self.outputs(unit, n),
            parameters={
                **self.parameters(dt, lever, phase),
                "first_drive": self.first_theta(lever),
                "gain": self.gain or 0.0,
                "rate": 2 * n * dt / self.memory if self.memory else 0.0,
                "identification_gain": self.identification_gain or 0.0,
                "identification_rate": size * dt / self.identification_memory if self.identification_memory else 0.0,
            },
            state={"phasor": np.zeros((1, size)), **held},
            frozen=tuple(held),
            held="the transfer functions of the coupling are held at their starting values",
            faults=self.faults(),
            watched=self.watched,
            texts=self.texts,
            references=REFERENCES,
        )
