"""Adaptive feed-forward with harmonic basis functions: what its two adaption laws have in common.

Hybrid testing with adaptive feed-forward filters (harmonic basis functions; LMS and QR-RLS adaption laws), in the line
of A. Bartl, J. Mayet, M. K. Mahdiabadi, D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14.  The excitation is
harmonic, and the interface gap is to vanish in steady state; what is commanded is not a displacement but the drive of
the actuators, a sum of harmonics whose amplitudes are adapted:

    g = y_e − y_v,    u = Σ_i Re q_i,    q_i = ψ_i e^{jω_i t},    g = Σ_i Re(H_i q_i) + g_ext

g_ext is the gap that the excitation leaves if nothing is driven.  It is the negative of the response of a *twin* of the
virtual substructure that is subjected to the excitation and nothing else, started from the same state.

Real and imaginary parts stand in one vector of N = 2 n n_ω numbers, k = (2i + part) n + c for harmonic i and axis c:

    θ = [Re ψ_1, Im ψ_1, Re ψ_2, …],    r = [Re q_1, −Im q_1, Re q_2, …],    P_o = [Re H_1[o,:], Im H_1[o,:], …]

    u_c = Σ_i r[2i n + c],    g_o = r·P_o + g_ext,o = θ·w_o + g_ext,o,    w_o = [Re(H_1 e^{jω_1 t})[o,:], −Im …]

r comes from θ, and w_o from P_o, by the same turn through ω_i t.  (W of the paper holds the cosines and sines of that
turn, so that u = W θ and w_o is a row of W P.)  The gap is linear in the drive r and in the transfer functions P_o, and
all outputs share the regressor r: identification decouples into n problems of N unknowns with one factor.

Against the print: the negative-frequency term of Eq. 7 takes the conjugate of ψ; in Eq. 3 and 23 the actuators are
subjected to −Gᵀλ_exp; the target of the identification in Alg. 3 and 4 is y_e − y_v − g_ext; the twin of Alg. 4 must
not contain λ, or it diverges; θ̃ of Eq. 15 has 2 n n_ω rows.

H_i is the transfer function of the loop as it is sampled, from the command of a tick to the gap of that tick; a command
acts in the step after its tick (``halfreal.couplings.harmonic.lti.loop_response`` finds it from the loop that runs,
``sampled`` from a continuous model).

======== ==========================================================================================
y_e, y_v measured displacement, target (response of the virtual substructure) at the interface
g        interface gap; g_ext its part that does not come from the drive
u, ψ, q  drive [N]; its complex amplitudes, and those turned to the present tick
H        n × n transfer function [m/N] from drive to gap at each harmonic
n, n_ω   number of interface axes, of harmonics
t_id     length of the identification phase; t_rand of the intervals in it with one random θ each
======== ==========================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ... import units
from ...contracts.axes import Axes
from ...contracts.context import Context
from ...contracts.coupling import Coupling
from ...contracts.finding import Finding
from ...contracts.known import Known
from ...contracts.quantities import Commands
from ...errors import HalfrealError
from ...kernels.block import Block, Channel, Value, channels, names
from ...models.excitations import silence
from ...settings import Number, Vector, fault
from . import answered
from .advice import advice
from .choice import Plant, choice
from .excitation import with_harmonics
from .kernel import ADAPTING, IDENTIFYING, NOT_EXCITED
from .lever import Lever
from .phase import WIDEST, follower
from .transfer import Amplitudes, Transfer, packed
from .twin import twin

if TYPE_CHECKING:
    from ...definition.definition import Definition
    from ...studies.check.examined import Examined

MODES = {IDENTIFYING: "identification with a random drive", ADAPTING: "adaptation: the drive closes the gap"}
REFERENCES = ("bartl2016",)
PERIODS = 4.0
"""Of the lowest harmonic, over which mean squares fade."""
SINGULAR = 1e-12
LENGTHEN = "lengthen coupling.identification_time"
LEAVE_OUT = "omit the coupling's gains and memories to have them chosen"
USUAL_INTERVAL = 2.0


class Harmonic(Coupling):
    """What both adaption laws need: the harmonics, and the transfer functions or how to identify them.

    The frequencies are listed, or they are the first ``harmonics`` multiples of ``base_frequency``; these may follow an
    excitation whose frequency varies slowly (``following``).  If neither is given, they are those of the excitation.
    The identification starts from ``transfer``, or from nothing; without one ``transfer`` is used.  It is given,
    or ``"model"``: then it is that of the definition's virtual substructure and simulated rig.  The adaption may start
    from the drive that the model shows, ``first_drive = "model"`` (section 3.1.3): θ = −H_gu⁻¹ H_gext f.
    """

    sees_interface: ClassVar[bool] = True
    frequencies: Annotated[np.ndarray, Vector("Hz", above=0)] | None = None
    base_frequency: Annotated[float, Number("Hz", above=0)] | None = None
    harmonics: Annotated[int, Field(ge=1, le=100)] = 1
    following: Annotated[float, Number("Hz", above=0)] | None = None
    """Bandwidth with which the base frequency follows the excitation; default: fixed frequency."""
    transfer: tuple[Transfer, ...] | Literal["model"] | None = None
    first_drive: tuple[Amplitudes, ...] | Literal["none", "model"] = "none"
    """Initial drive of the adaptation: zero, or the drive that closes the model's gap in steady state."""
    identification_time: Annotated[float, Number("s", least=0)] = 0.0
    random_interval: Annotated[float, Number("s", above=0)] | None = None
    """t_rand, duration of each random drive, long enough for transients to decay; default: chosen from the plant (2
    s outside definitions).
    """
    amplitude: Annotated[float, Number("N", above=0)] | None = None
    """Bound of the random drive per axis and harmonic, for real and imaginary part each; default: derived from the
    limits.
    """
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    lever: Annotated[float, Number("m", above=0)] | None = None
    """Length that converts rotations to displacements and moments to forces in sums over all axes; default: drives
    move both equally in the model.
    """

    @model_validator(mode="after")
    def _frequencies_known(self) -> Self:
        if self.frequencies is not None and self.base_frequency is not None:
            raise fault("give either frequencies or base_frequency (with harmonics, their number)")
        if not self.known:
            if self.harmonics != 1:
                raise fault(
                    f"harmonics = {self.harmonics} counts multiples of base_frequency, which is not given; give it, or "
                    "omit both",
                    "harmonics",
                )
            return self
        if self.frequencies is not None and self.harmonics != 1:
            raise fault(
                f"harmonics = {self.harmonics} counts multiples of base_frequency; omit it when frequencies are given",
                "harmonics",
            )
        if self.frequencies is not None and self.following is not None:
            raise fault(
                "only a base_frequency can follow the excitation; give that instead of frequencies", "following"
            )
        rising = np.sort(self.hz)
        twice = rising[:-1][np.diff(rising) == 0.0]
        if twice.size:
            raise fault(f"{units.text(float(twice[0]), 'Hz')} is listed twice; list it once", "frequencies")
        return self

    @model_validator(mode="after")
    def _first_drive_fits(self) -> Self:
        if self.following is not None and self.first_drive != "none":
            raise fault("a first drive is defined at fixed frequencies only; omit it or following", "first_drive")
        if not isinstance(self.first_drive, str):
            if not self.known or len(self.first_drive) != len(self.hz):
                raise fault("give frequencies, and the amplitudes of a first drive for each of them", "first_drive")
            if len({len(part.real) for part in self.first_drive}) > 1:
                raise fault("give each harmonic's first drive the same number of axes", "first_drive")
        return self

    @model_validator(mode="after")
    def _transfer_fits(self) -> Self:
        if self.given is not None and not self.known:
            raise fault("transfer functions of harmonics that are not given; give frequencies too", "transfer")
        if self.given is not None and len(self.given) != len(self.hz):
            raise fault(
                f"{len(self.given)} transfer function(s) for {len(self.hz)} harmonic(s); give one for each",
                "transfer",
            )
        if len({part.real.shape for part in self.given or ()}) > 1:
            raise fault("transfer functions of different sizes; all have one row for each interface axis", "transfer")
        return self

    @property
    def known(self) -> bool:
        """Whether the harmonics are given; if not, the excitation shows them (``excitation.py``)."""
        return self.frequencies is not None or self.base_frequency is not None

    @property
    def hz(self) -> np.ndarray:
        """The harmonics [Hz]."""
        if self.frequencies is not None:
            return self.frequencies
        if self.base_frequency is None:
            raise HalfrealError("the harmonics are not known here; give the coupling frequencies or base_frequency")
        return self.base_frequency * np.arange(1.0, self.harmonics + 1.0)

    @property
    def given(self) -> tuple[Transfer, ...] | None:
        """Transfer functions that are known; those of the model are not, until it is computed."""
        return None if self.transfer == "model" else self.transfer

    def with_model(self, transfer: np.ndarray) -> Self:
        """The same coupling, started from these transfer functions (n_ω, n, n) [m/N]."""
        parts = tuple(Transfer(real=h.real, imaginary=h.imag) for h in np.asarray(transfer, dtype=complex))
        return self.changed(transfer=parts)

    def adapting(self) -> Self:
        """The same coupling without its identification phase, from no drive: what a linearisation judges."""
        return self.changed(identification_time=0.0, first_drive="none")

    def with_first_drive(self, amplitudes: np.ndarray) -> Self:
        """The same coupling, whose adaption starts from these amplitudes ψ, (n_ω, n) [N]."""
        parts = tuple(Amplitudes(real=psi.real, imaginary=psi.imag) for psi in np.asarray(amplitudes, dtype=complex))
        return self.changed(first_drive=parts)

    def changed(self, **changes: object) -> Self:
        """The same coupling with some settings changed."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**given, **changes})

    # --- its place in a test ------------------------------------------------------------------------------------------

    def gives(self, targets: Commands) -> Commands:
        return "force"

    @property
    def identifies(self) -> bool:
        """Whether it drives the rig at random at first, to identify it."""
        return self.identification_time > 0.0

    @property
    def drive_needs_limits(self) -> bool:
        return self.identifies and self.amplitude is None

    def fits(self, known: Known) -> None:
        if known.step is None or known.excitation is None:
            return
        virtual, specimen = known.excitation.virtual, known.excitation.specimen
        self.check_excitations(virtual is not None, specimen is not None)
        whole = with_harmonics(self, (virtual, specimen), known.step)
        whole.check_step(known.step)
        if known.virtual is not None:
            whole.check_axes(known.virtual.axes, known.step)

    def blocks(self, context: Context) -> list[Block]:
        """A twin of the virtual substructure, the phase that is followed, and the coupling."""
        chosen = choice(context.test, self, context.plant)
        coupling = chosen.judged(context.plant) if context.quiet or context.purpose.cut else chosen.coupling
        phase = coupling.phase_block(context.step, ("excitation.virtual", "excitation.virtual.rate"))
        target, place, twins = (context.channels(name) for name in ("target", "measured.displacement", "twin"))
        return [
            silence("nothing"),
            twin(context.virtual.blocks(context)[-1], context.channels("feedback"), "nothing"),
            *([] if phase is None else [phase]),
            coupling.block(
                context.step,
                context.unit,
                target,
                place,
                twins,
                () if phase is None else ("excitation.phase",),
                context.test.interface,
            ),
        ]

    def written_down(self, test: Definition, plant: Plant) -> Self:
        """With everything that is chosen, but the model's transfer functions unnamed."""
        return choice(test, self, plant).settings

    def findings(self, examined: Examined) -> Iterable[Finding]:
        return advice(self, examined)

    # --- checks that need the step, or the interface -----------------------------------------------------------------

    def memories(self, dt: float) -> dict[str, float]:
        """Time constants [s] by name over which the coupling remembers, those that are given."""
        raise NotImplementedError

    def chosen_memories(self, plant: Plant, dt: float) -> tuple[str, dict[str, float]]:
        """Memories of the adaption, and of an identification that continues next to it, that are left out: why, and
        what they should be."""
        raise NotImplementedError

    def drives(self, axes: int) -> int:
        """Random drives that an identification needs: one for each axis."""
        return axes

    @property
    def needs_trial(self) -> bool:
        """Whether memories that are computed for each harmonic are to be tried on all of them together."""
        return False

    def knows_identification(self, dt: float) -> bool:
        """Whether it is given how fast the identification learns."""
        return "identification_memory" in self.memories(dt)

    def adaption_remarks(self, plant: Plant, dt: float, by_rule: bool) -> list[str]:
        """What the poles of a loop at rest do not give of its adaption; ``by_rule``: a memory of it was chosen."""
        raise NotImplementedError

    def ways_to_close(self, dt: float) -> list[str]:
        """What may close a gap that stays open."""
        raise NotImplementedError

    def check_excitations(self, virtual: bool, specimen: bool) -> None:
        """Raise a fault if the coupling cannot work with an excitation of these parts."""
        if self.following is not None and not virtual:
            raise fault(
                "following uses the phase of excitation.virtual, but nothing excites the virtual substructure; "
                "omit following, or excite the virtual substructure",
                "following",
            )

    def check_step(self, dt: float) -> None:
        """Raise a fault if the harmonics do not suit a loop of this step."""
        place = "frequencies" if self.frequencies is not None else "base_frequency"
        rising = np.sort(self.hz)
        highest = float(rising[-1]) * (1.0 if self.following is None else 1.0 + WIDEST)
        if highest >= 0.5 / dt:
            reach = "" if self.following is None else ", up to which the highest harmonic may follow,"
            raise fault(
                f"{units.text(highest, 'Hz')}{reach} is not below half the sampling rate, "
                f"{units.text(0.5 / dt, 'Hz')}; shorten timing.step or remove the harmonic",
                place,
            )
        if len(rising) > 1:
            closest = int(np.argmin(np.diff(rising)))
            low, high = float(rising[closest]), float(rising[closest + 1])
            needed = 1 / (2 * math.pi * (high - low))
            for name, memory in self.memories(dt).items():
                if memory < needed:
                    raise fault(
                        f"{units.text(low, 'Hz')} and {units.text(high, 'Hz')} cannot be separated within a {name} of "
                        f"{units.text(memory, 's')}; lengthen it to more than {units.text(needed, 's')}, or remove one "
                        "of them",
                        place,
                    )

    def check_axes(self, axes: int, dt: float) -> None:
        """Raise a fault if the transfer functions, or the random drives, do not suit the interface."""
        if self.transfer is None and self.identification_time == 0.0:
            raise fault(
                'neither transfer functions nor a time to identify them are given; give transfer (or "model") or '
                "identification_time",
                "transfer",
            )
        if not isinstance(self.first_drive, str) and any(len(part.real) != axes for part in self.first_drive):
            raise fault(
                f"the first drive does not have the {axes} axis(es) of the interface; give each of them", "first_drive"
            )
        for i, part in enumerate(self.given or ()):
            if len(part.real) != axes:
                raise fault(
                    f"a {len(part.real)} × {len(part.real)} transfer function where the interface has {axes} axis(es); "
                    "give one row and one column for each",
                    "transfer",
                    i,
                )
            rows = np.maximum(np.linalg.norm(part.matrix, axis=1, keepdims=True), 1e-300)  # each axis in its unit
            sizes = np.linalg.svd(part.matrix / rows, compute_uv=False)
            if sizes[-1] <= SINGULAR * sizes[0]:
                raise fault(
                    f"the transfer function at {units.text(float(self.hz[i]), 'Hz')} is singular: the actuators cannot "
                    "move every interface axis; check it, or provide an actuator for each axis",
                    "transfer",
                    i,
                )
        if self.identification_time == 0.0 or self.random_interval is None:
            return
        draws, needed = math.ceil(self.identification_time / self.random_interval - 1e-9), self.drives(axes)
        if draws < needed:
            raise fault(
                f"{draws} random drive(s) within {units.text(self.identification_time, 's')} cannot excite {axes} "
                f"axes{' and separate the excitation from them' if needed > axes else ''}; identify for at least "
                f"{units.text(needed * self.random_interval, 's')}, or shorten random_interval",
                "identification_time",
            )
        memory = self.memories(dt).get("identification_memory", math.inf)
        if memory < (needed - 1) * self.random_interval:
            raise fault(
                f"with an identification_memory of {units.text(memory, 's')} the first of {needed} random drives, "
                f"{units.text(self.random_interval, 's')} each, is forgotten before the last, and what one alone does "
                f"not excite is lost; lengthen it to at least "
                f"{units.text((needed - 1) * self.random_interval, 's')}, or shorten random_interval",
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
        """The block "coupling"; it reads targets, measured displacements, the twin's displacements, and the phase.

        Without ``axes`` all of them are displacements.
        """
        raise NotImplementedError

    # --- pieces of the blocks -----------------------------------------------------------------------------------------

    def phase_block(self, dt: float, excitation: tuple[str, str]) -> Block | None:
        """The block that follows the excitation's phase, from its value and rate; None if the harmonics are fixed.

        It writes ``excitation.phase``, which the coupling's block is then given.
        """
        return None if self.following is None else follower(dt, float(self.hz[0]), self.following, excitation)

    def lever_of(self, axes: Axes | None, count: int) -> Lever:
        """The lever between the axes of an interface and this coupling, whose ``count`` axes are displacements."""
        turns = axes is not None and bool(axes.rotations.any() or axes.actuators.rotations.any())
        if turns and self.lever is None:
            raise HalfrealError("the lever between rotations and displacements is not known here; give coupling.lever")
        return Lever.of(axes if turns else None, count, self.lever)

    def in_metres(self, lever: Lever) -> Self:
        """The same coupling, the transfer functions that it is given in m/N."""
        if self.given is None:
            return self
        return self.with_model(lever.transfer(np.array([part.matrix for part in self.given])))

    def first_theta(self, lever: Lever) -> np.ndarray:
        """θ at the start of the adaption, (N,)."""
        if isinstance(self.first_drive, str):
            return np.zeros(2 * len(lever.axes) * len(self.hz))
        drives = np.array([[part.real, part.imaginary] for part in self.first_drive])
        return np.asarray(drives / lever.drives).ravel()

    def start(self, lever: Lever) -> np.ndarray:
        """P at the start, (n, N)."""
        n = len(lever.axes)
        if self.given is None:
            return np.zeros((n, 2 * n * len(self.hz)))
        return packed(lever.transfer(np.array([part.matrix for part in self.given])))

    def outputs(self, unit: str, axes: int) -> tuple[Channel, ...]:
        """Drive; phase of the test; ⟨g²⟩/⟨y_v²⟩ and ⟨e²⟩/⟨(g − g_ext)²⟩ of the worst axis; |ψ_i|; ‖H_i‖; which were
        answered."""
        count = len(self.hz)
        return (
            *channels("command.asked", unit, axes, of="actuator"),
            Channel("coupling.mode", "1"),
            Channel("coupling.nmse", "1"),
            Channel("coupling.misfit", "1"),
            *channels("coupling.drive", unit, count),
            *channels("coupling.transfer", f"m/{unit}", count),
            *channels("coupling.excited", "1", count),
        )

    def parameters(self, dt: float, lever: Lever, phase: tuple[str, ...]) -> Mapping[str, Value]:
        """Parameters that both laws share."""
        return {
            "dt": dt,
            "lengths": lever.axes,
            "drives": lever.drives,
            "omega": 2 * np.pi * self.hz,
            "order": self.hz / self.hz[0],
            "follows": float(bool(phase)),
            "identification_time": self.identification_time,
            "random_interval": self.random_interval or USUAL_INTERVAL,
            "amplitude": self.amplitude or 0.0,
            "seed": float(self.seed),
            **answered.parameters(
                self.hz, len(lever.axes), dt, self.identification_time, self.random_interval or USUAL_INTERVAL
            ),
            "fade": math.exp(-dt * float(self.hz.min()) / PERIODS),
        }

    @property
    def watched(self) -> tuple[str, ...]:
        return ("coupling.mode", *names(channels("coupling.excited", "1", len(self.hz))))

    @property
    def texts(self) -> dict[str, dict[float, str]]:
        return {"coupling.mode": MODES, **answered.texts(self.hz, self.watched[1:])}

    def check_known(self) -> None:
        """Raise an error if something was left to be chosen (``choice.py``), and was not."""
        if self.first_drive == "model":
            raise HalfrealError("the drive that closes the model's gap is not known here; use with_first_drive")
        if self.identification_time > 0.0 and self.amplitude is None:
            raise HalfrealError("the identification needs the amplitude of its random drive; give it")

    def check_phase(self, phase: tuple[str, ...]) -> None:
        if len(phase) != (self.following is not None):
            raise ValueError("give the block the channel of the excitation's phase if it follows it, and only then")

    def faults(self) -> Mapping[int, str]:
        return {
            NOT_EXCITED: "the rig did not respond to the random drive of the identification; check "
            "that its actuators are "
            "on, and raise coupling.amplitude"
        }
