"""Adaptive feed-forward by recursive least squares (QR-RLS): the drive that would have closed the gap lately.

Hybrid testing with adaptive feed-forward filters, Alg. 2–4; symbols and sources in ``coupling.py``.

    θ = argmin Σ_j μ^{k−j} Σ_o (g_ext,o + w_o·θ)²[j] + μ^{k+1} θᵀΞθ                          adaption (Eq. 18)
    P = argmin Σ_j μ_id^{k−j} Σ_o (g_o − g_ext,o − r·P_o)²[j] + μ_id^{k+1} β_id |P − P₀|²      identification (Eq. 22)

Each is a triangular factor into which the rows of a tick are rotated (``halfreal.kernels.givens``): n rows w_o with the
right-hand sides −g_ext,o for the adaption, one row r with n right-hand sides g − g_ext for the identification.  As in
Alg. 4, the adaption of a tick comes before its identification.  In print the top right blocks of A in Alg. 2–4 lack a
transpose and the target of Alg. 3 and 4 a minus sign, and B.3 is the LQ factorisation A Cᵀ = B.

The gap is not fed back: as long as P is kept, the drive follows from the twin alone and moves no pole of the loop.
What is wrong in P then remains as a gap |1 − H/H_est| |g_ext| (mode "sequential"); it vanishes if the identification
continues during adaption ("simultaneous").  An excitation of the specimen is not in the twin's g_ext, and is refused.

g_ext may be identified instead ("an additional identification of g_ext", section 3.3): excitation_gap = "identified".
Its amplitudes Γ_i are then further unknowns of the identification, with rows of cosines and sines,

    g_o = r·P_o + a·Γ_o,    a = A [cos ω_1 t, −sin ω_1 t, …]

(A the amplitude of the random drive, so that all columns are alike in size), and the twin is not used.  Random drives
separate Γ from P.  A drive that has settled does not, and the first of the guards below holds P: the rest of the gap is
then taken for Γ, and the drive goes by −P⁻¹ of it towards closing the gap, as Newton's method would.

Memories are times in seconds, μ = exp(−Δt/T), or the bare μ is given.  Ξ keeps θ from jumping at the start, as much as
``prior`` seconds of data that speak for θ = 0 would: Ξ_i = (prior/Δt) ‖H_i‖²/2n · I.

Beyond the paper, two guards act during simultaneous identification.  Alg. 4 as printed has neither: regularisation = 0,
discount_overestimates = false.

- A drive that has settled excites one direction of each H_i only; an exponential memory forgets the others until their
  estimate is noise (wind-up).  Whenever the factor's R_kk², k running through all unknowns, is below the part ρ
  (``regularisation``) of what the present drive would have given in a memory, ρ (T_id/Δt) |q_i|²/2n, a row e_k of the
  missing weight holds the unknown at its value at the beginning of the adaption.  Excited directions are not touched.
- While an H_i is estimated larger than at the beginning, rows of the adaption count less, by the ratio of the two
  ‖H_i‖ (``discount_overestimates``): else one estimate that is far too large, whose rows w_o are as much too large,
  outweighs everything that follows for many memories, and the drive rests meanwhile.

======== ==========================================================
μ, μ_id  forgetting factors (``forgetting``, …); T, T_id ``memory``, …
β_id     confidence in P₀ at the start (``identification_prior``)
R        triangular factor of the identification
======== ==========================================================
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ... import units
from ...contracts.axes import Axes
from ...contracts.state_space import StateSpace
from ...kernels.block import Block, Value
from ...kernels.compile import kernel
from ...kernels.givens import forget, rotate_in, solve
from ...settings import Number, fault
from . import answered
from .answered import judge, listen
from .choice import Plant
from .coupling import LEAVE_OUT, LENGTHEN, REFERENCES, Harmonic
from .envelope import growth_rates
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
from .memory import CLOSES, rls_memories, rounded, shortest, time_constant

USUAL_MEMORY, USUAL_IDENTIFICATION_MEMORY = 1.0, 2.0
USUAL = {"memory": USUAL_MEMORY, "identification_memory": USUAL_IDENTIFICATION_MEMORY}
WEAKEST = 1e-6
"""Part of the drive's power below which a harmonic is not identified any further."""


@kernel
def identify(p, s, axes):  # type: ignore[no-untyped-def]
    """Take in what the drive s.phasor, and the excitation if it is to be identified, did to the gap, s.answer."""
    size = s.phasor.shape[1]
    first = s.known_row.shape[0] - size  # those before are Γ's
    square = 0.0
    for i in range(s.drive.shape[0]):
        square += s.drive[i]
    if first == 0 and not square > 0.0:  # nothing is learnt, and nothing forgotten
        return
    for k in range(first):
        s.known_row[k] = s.waves[k]
    for k in range(size):
        s.known_row[first + k] = s.phasor[0, k]
    for o in range(axes):
        s.right[o] = s.gap[o] if first > 0 else s.answer[o]
    forget(s.known_r, s.known_z, p.identification_forget)
    rotate_in(s.known_r, s.known_z, s.known_row, s.right, 0)
    if s.mode == ADAPTING:
        k = int(s.next)
        s.next = float((k + 1) % size)
        least = p.floor * max(s.drive[k // (2 * axes)], WEAKEST * square, p.weakest)
        missing = least - s.known_r[first + k, first + k] * s.known_r[first + k, first + k]
        if missing > 0.0:
            weight = math.sqrt(missing)
            for j in range(first + size):
                s.known_row[j] = 0.0
            s.known_row[first + k] = weight
            for o in range(axes):
                s.right[o] = weight * s.anchor[o, k]
            rotate_in(s.known_r, s.known_z, s.known_row, s.right, first + k)
    solve(s.known_r, s.known_z, s.known)
    for o in range(axes):
        for k in range(size):
            s.transfer[o, k] = s.known[o, first + k]


@kernel
def foresee(p, s, axes):  # type: ignore[no-untyped-def]
    """−g_ext, into s.twin: that of the twin, s.motion[2n:3n], or as identified."""
    if s.waves.shape[0] == 0:
        for o in range(axes):
            s.twin[o] = s.motion[2 * axes + o]
        return
    for i in range(s.cosine.shape[0]):
        s.waves[2 * i], s.waves[2 * i + 1] = p.scale * s.cosine[i], -p.scale * s.sine[i]
    for o in range(axes):
        s.twin[o] = 0.0
        for k in range(s.waves.shape[0]):
            s.twin[o] -= s.known[o, k] * s.waves[k]


@kernel
def begin(p, s, axes):  # type: ignore[no-untyped-def]
    """Begin the adaption: the first θ with the confidence Ξ, and the transfer functions as they are to hold on to."""
    for i in range(s.now.shape[0]):
        s.then[i] = s.now[i]
    for k in range(s.row.shape[0]):
        s.theta[0, k] = p.first_drive[k]
        for j in range(s.row.shape[0]):
            s.r[k, j] = 0.0
        s.r[k, k] = math.sqrt(p.prior * s.then[k // (2 * axes)])
        s.z[0, k] = s.r[k, k] * p.first_drive[k]
        for o in range(axes):
            s.anchor[o, k] = s.transfer[o, k]


@kernel
def adapt(p, s, axes):  # type: ignore[no-untyped-def]
    """Take in the gap that the excitation leaves, s.twin = −g_ext."""
    share = 1.0
    if p.discounts == 1.0:
        for i in range(s.now.shape[0]):
            if s.now[i] * share * share > s.then[i]:
                share = math.sqrt(s.then[i] / s.now[i])
    forget(s.r, s.z, p.forget)
    for o in range(axes):
        turn(s.transfer[o], s.cosine, s.sine, axes, s.row)
        for k in range(s.row.shape[0]):
            s.row[k] *= share
        s.right[0] = share * s.twin[o]
        rotate_in(s.r, s.z, s.row, s.right, 0)
    solve(s.r, s.z, s.theta)


def harmonic_rls_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.gap.shape[0]
    status = 0
    base = u[3 * n] if p.follows == 1.0 else p.omega[0] * t
    for i in range(p.omega.shape[0]):
        angle = p.order[i] * u[3 * n] if p.follows == 1.0 else p.omega[i] * t
        s.cosine[i], s.sine[i] = math.cos(angle), math.sin(angle)
    turn(s.theta[0], s.cosine, s.sine, n, s.phasor[0])  # what was driven, turned on to this tick
    squares(s.phasor, s.drive)
    squares(s.transfer, s.now)
    in_metres(u, p.lengths, s.motion)
    foresee(p, s, n)
    observe(s.motion, s.twin, s.phasor[0], s.transfer, s.gap, s.answer, s.error)
    nmse = faded_ratio(s.gap_squares, p.fade, s.gap, s.motion[:n])
    misfit = faded_ratio(s.misfit_squares, p.fade, s.error, s.answer)

    identifying = t < p.identification_time - 0.5 * p.dt
    if identifying:
        compare(s, s.motion)
        listen(p, s, s.motion, base, t)
        number = math.floor(t / p.random_interval + 1e-9)
        if number != s.drawn:
            s.drawn = number
            draw(p.seed, number, p.amplitude, s.theta[0])
    else:
        if s.mode == IDENTIFYING:
            s.mode = ADAPTING
            if p.identification_time > 0.0:
                judge(p, s, base)
                if unanswered(s):
                    status = NOT_EXCITED
            begin(p, s, n)
        adapt(p, s, n)
    if identifying or p.simultaneous == 1.0:
        identify(p, s, n)
    turn(s.theta[0], s.cosine, s.sine, n, s.phasor[0])
    write(s.phasor[0], p.drives, s.drive, s.now, s.mode, nmse, misfit, s.excited, y)
    return status


def closing(rate: float, plant: StateSpace) -> str:
    """How fast the gap closes where small errors of the drive die out at this rate [1/s]: no faster than the plant
    rings."""
    ringing = -1.0 / time_constant(plant)
    if rate >= ringing:
        return f"{CLOSES} as exp({rate:.3g} t/s)"
    return f"{CLOSES} as exp({ringing:.3g} t/s), limited by the plant's ringing; errors of the drive decay faster"


class HarmonicRls(Harmonic):
    """Adaptive feed-forward by recursive least squares."""

    kind: Literal["harmonic rls"] = "harmonic rls"
    mode: Literal["sequential", "simultaneous"] = "simultaneous"
    """Identify first and then adapt ("sequential"), or identify and adapt at the same time ("simultaneous")."""
    excitation_gap: Literal["twin", "identified"] = "twin"
    """Source of the gap due to the excitation: a twin of the virtual substructure, or identified with the transfer
    functions (needed if the specimen is excited).
    """
    memory: Annotated[float, Number("s", above=0)] | None = None
    """T, memory of the adaptation; default: chosen automatically if ``forgetting`` is not given either (1 s outside
    definitions).
    """
    forgetting: Annotated[float, Number("1", above=0, most=1)] | None = None
    identification_memory: Annotated[float, Number("s", above=0)] | None = None
    """T, memory of the identification; default: chosen automatically if ``identification_forgetting`` is not given
    either (2 s outside definitions).
    """
    identification_forgetting: Annotated[float, Number("1", above=0, most=1)] | None = None
    prior: Annotated[float, Number("s", least=0)] = 0.25
    """Confidence in the initial drive, as an equivalent duration of data."""
    identification_prior: Annotated[float, Number("N^2", above=0)] = 1e-6
    """Confidence in the initial transfer functions, as one sample of a drive of this square."""
    regularisation: Annotated[float, Number("1", least=0, most=0.5)] = 0.25
    """Simultaneous identification: confidence kept in directions of H that the drive does not excite, relative to an
    exciting drive; 0 as in the paper's Alg. 4.
    """
    discount_overestimates: bool = True
    """Reduce the weight of samples while H is estimated larger than at the start of the adaptation; false as in the
    paper's Alg. 4.
    """

    @model_validator(mode="after")
    def _one_memory(self) -> Self:
        pairs = (("memory", "forgetting"), ("identification_memory", "identification_forgetting"))
        for memory, forgetting in pairs:
            if getattr(self, memory) is not None and getattr(self, forgetting) is not None:
                raise fault(f"both {memory} and {forgetting} are given; keep one", memory)
        return self

    @model_validator(mode="after")
    def _gap_can_be_identified(self) -> Self:
        if self.excitation_gap == "identified" and self.mode != "simultaneous":
            raise fault(
                'the gap of the excitation is identified while the drive adapts; use mode = "simultaneous"', "mode"
            )
        if self.excitation_gap == "identified" and self.regularisation == 0.0:
            raise fault(
                "with a converged drive the gap of the excitation cannot be separated from that of "
                "the drive, and regularisation = 0 "
                "fixes neither; give regularisation, e.g. 0.25",
                "regularisation",
            )
        return self

    def check_excitations(self, virtual: bool, specimen: bool) -> None:
        if specimen and self.excitation_gap == "twin":
            raise fault(
                "with least squares the drive follows from the twin of the virtual substructure, "
                "which does not include "
                'excitation.specimen: its gap would grow; use coupling.excitation_gap = "identified" or '
                "'harmonic lms', or excite the virtual substructure",
                "kind",
            )
        super().check_excitations(virtual, specimen)

    def memories(self, dt: float) -> dict[str, float]:
        found = {}
        for name in ("memory", "identification_memory"):
            memory, forgetting = getattr(self, name), getattr(self, name.replace("memory", "forgetting"))
            if forgetting is not None:  # μ = exp(−Δt/T)
                found[name] = -dt / math.log(forgetting) if forgetting < 1.0 else math.inf
            elif memory is not None:
                found[name] = memory
        return found

    def chosen_memories(self, plant: Plant, dt: float) -> tuple[str, dict[str, float]]:
        given = self.memories(dt)
        if self.mode == "simultaneous" and len(given) < 2:
            drives = self.drives(plant().channels) if self.identifies else 1
            memory, learning, rate = rls_memories(plant(), self.hz, given, drives)
            found = {"memory": memory, "identification_memory": learning}
            why = f"with which {closing(rate, plant())}"
            return why, {name: value for name, value in found.items() if name not in given}
        if "memory" in given:
            return "", {}
        slowest = time_constant(plant())
        memory = rounded(max(0.25 * slowest, shortest(self.hz, slowest)[0]))
        return f"compared with the plant's slowest time constant, {units.text(slowest, 's', 3)}", {"memory": memory}

    def drives(self, axes: int) -> int:
        return axes + (self.excitation_gap == "identified")

    @property
    def needs_trial(self) -> bool:
        return self.mode == "simultaneous" and len(self.hz) > 1

    def adaption_remarks(self, plant: Plant, dt: float, by_rule: bool) -> list[str]:
        """How errors die out with the memories that are given, while it identifies and adapts at once."""
        if self.mode != "simultaneous" or by_rule:
            return []
        memory, learning = (USUAL | self.memories(dt)).values()
        if math.isinf(memory) or math.isinf(learning):
            return ["an infinite memory never forgets its first samples: the gap may not close; give a shorter one"]
        loop = plant()
        rate = max(float(growth_rates(loop, float(hz), np.array(memory), np.array(learning))) for hz in self.hz)
        if rate < 0.0:
            return [f"while it identifies and adapts simultaneously: {closing(rate, loop)}"]
        return [
            "while it identifies and adapts simultaneously, errors of the drive grow as "
            f"exp({rate:.3g} t/s), and the gap "
            "will not close; lengthen coupling.memory and coupling.identification_memory, or omit them to have "
            "them chosen"
        ]

    def ways_to_close(self, dt: float) -> list[str]:
        found = [] if self.mode == "simultaneous" else ['use coupling.mode = "simultaneous"']
        if self.identifies and self.mode != "simultaneous":
            found.append(LENGTHEN)
        if self.mode == "simultaneous" and not self.discount_overestimates:
            found.append("use coupling.discount_overestimates = true")
        return [*found, LEAVE_OUT] if self.memories(dt) else found

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
        size, harmonics = 2 * n * len(self.hz), len(self.hz)
        waves = 2 * harmonics if self.excitation_gap == "identified" else 0
        start, known_r = self.start(lever), math.sqrt(self.identification_prior) * np.eye(waves + size)
        known = np.hstack([np.zeros((n, waves)), start])
        memories = USUAL | self.memories(dt)
        zeros = np.zeros(n)
        state: dict[str, Value] = {
            "theta": np.zeros((1, size)),
            "r": np.zeros((size, size)),
            "z": np.zeros((1, size)),
            "transfer": start,
            "anchor": start,
            "known": known,
            "known_r": known_r,
            "known_z": known @ known_r,
            "known_row": np.zeros(waves + size),
            "waves": np.zeros(waves),
            "motion": np.zeros(3 * n),
            "twin": zeros,
            "mode": IDENTIFYING,
            "drawn": -1.0,
            "next": 0.0,
            "phasor": np.zeros((1, size)),
            "drive": np.zeros(harmonics),
            "now": np.zeros(harmonics),
            "then": np.zeros(harmonics),
            "row": np.zeros(size),
            "right": zeros,
            "cosine": np.zeros(harmonics),
            "sine": np.zeros(harmonics),
            "gap": zeros,
            "answer": zeros,
            "error": zeros,
            "gap_squares": np.zeros((2, n)),
            "misfit_squares": np.zeros((2, n)),
            **comparison(n, len(self.hz)),
            **answered.state(n, len(self.hz)),
        }
        # of a memory without end the floor would never be reached: that of an hour serves
        remembered = min(memories["identification_memory"], 3600.0)
        return Block(
            name="coupling",
            step=harmonic_rls_step,
            inputs=(*target, *displacement, *twin, *phase),
            outputs=self.outputs(unit, n),
            parameters={
                **self.parameters(dt, lever, phase),
                "simultaneous": float(self.mode == "simultaneous"),
                "forget": math.exp(-0.5 * dt / memories["memory"]),
                "identification_forget": math.exp(-0.5 * dt / memories["identification_memory"]),
                "prior": self.prior / dt / (2 * n),
                "first_drive": self.first_theta(lever),
                "scale": self.amplitude or 1.0,
                "weakest": WEAKEST * (self.amplitude or 1.0) ** 2 if waves else 0.0,
                "discounts": float(self.discount_overestimates),
                "floor": self.regularisation * remembered / dt / (2 * n),
            },
            state=state,
            frozen=tuple(state),
            held="the coupling's drive is frozen: its adaptation is not assessed"
            if waves
            else "the coupling's drive is frozen: feed-forward does not move poles, but its adaptation is not assessed",
            faults=self.faults(),
            watched=self.watched,
            texts=self.texts,
            references=REFERENCES,
        )
