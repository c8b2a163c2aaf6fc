"""The sections of a definition: the kinds of parts that there are, and the settings that belong to no part."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from ..couplings.adaptive_forward_prediction import AdaptiveForwardPrediction
from ..couplings.adaptive_model_based import AdaptiveModelBased
from ..couplings.adaptive_time_series import AdaptiveTimeSeries
from ..couplings.axis_filters import AxisFilters
from ..couplings.broad_band_inverse import BroadBandInverse
from ..couplings.direct import Direct
from ..couplings.forward_prediction import ForwardPrediction
from ..couplings.harmonic.lms import HarmonicLms
from ..couplings.harmonic.rls import HarmonicRls
from ..couplings.linear_controller import LinearController
from ..couplings.model_inverse import ModelInverse
from ..couplings.narrow_band_table import NarrowBandTable
from ..couplings.user import UserCoupling
from ..models.excitations.excitation import Excitation
from ..models.force_control.constrained import Constrained
from ..models.structures.beam import Beam
from ..models.structures.modal import Modes
from ..models.structures.partition import Partition
from ..models.structures.spring_damper import SpringDamper
from ..models.structures.state_space import StateSpaceModel
from ..models.structures.structure import Structure
from ..models.structures.user import UserModel
from ..rigs.actuator import Actuator, Delay
from ..rigs.assembled import AssembledRig
from ..rigs.electrodynamic import Electrodynamic
from ..rigs.flexible_specimen import FlexibleSpecimen
from ..rigs.force_actuated import ForceActuated
from ..rigs.force_controlled import ForceControlled
from ..rigs.sensors import Sensors
from ..rigs.servo_hydraulic import ServoHydraulic
from ..rigs.shaking_table import ShakingTable
from ..rigs.specimen import Specimen
from ..rigs.user import UserRig, UserSpecimen
from ..settings import Number, Settings, fault


def default_kind(kind: str) -> BeforeValidator:
    """Let a table leave out ``kind`` where one kind is the usual one."""

    def fill(value: Any) -> Any:
        return {"kind": kind, **value} if isinstance(value, dict) and "kind" not in value else value

    return BeforeValidator(fill)


Virtual = Annotated[
    Structure | Constrained | Partition | Modes | Beam | SpringDamper | StateSpaceModel | UserModel,
    Field(discriminator="kind"),
    default_kind("structure"),
]
Coupling = Annotated[
    Direct
    | ForwardPrediction
    | AdaptiveForwardPrediction
    | LinearController
    | AxisFilters
    | ModelInverse
    | NarrowBandTable
    | BroadBandInverse
    | AdaptiveModelBased
    | AdaptiveTimeSeries
    | HarmonicLms
    | HarmonicRls
    | UserCoupling,
    Field(discriminator="kind"),
]
AnySpecimen = Annotated[
    Specimen | FlexibleSpecimen | UserSpecimen, Field(discriminator="kind"), default_kind("specimen")
]
KnownSpecimen = Annotated[Specimen | FlexibleSpecimen, Field(discriminator="kind"), default_kind("specimen")]
"""One with matrices."""


MOST_TICKS = 1e9
SPIN = 60e-6
LONGEST_SOFT = 600.0
"""Seconds of a soft start or stop: every tick of it is rehearsed and recorded."""
LONGEST_DELAY = 2000
"""In steps: the loop is linearised with every sample of it."""


class Timing(Settings):
    """Step of the loop, length of the test, soft start and stop, and the seed of everything random in it.

    Within ``soft_start``, before time 0, the rig is brought smoothly from where it stands to where the test begins;
    within ``soft_stop``, after ``duration``, to the safe position.
    """

    step: Annotated[float, Number("s", above=0)]
    duration: Annotated[float, Number("s", above=0)]
    soft_start: Annotated[float, Number("s", least=0, most=LONGEST_SOFT)] = 0.0
    soft_stop: Annotated[float, Number("s", least=0, most=LONGEST_SOFT)] = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1

    @field_validator("duration")
    @classmethod
    def _at_least_a_tick(cls, duration: float, info: ValidationInfo) -> float:
        step = info.data.get("step")
        if step and duration < step:
            raise fault(f"{duration:g} s is shorter than one step of {step:g} s; make it longer")
        if step and duration / step > MOST_TICKS:
            raise fault(
                f"{duration / step:.3g} ticks, more than {MOST_TICKS:.0e}; shorten the test or lengthen the step"
            )
        return duration

    @property
    def ticks(self) -> int:
        return round(self.duration / self.step)

    @property
    def ticks_before(self) -> int:
        """Ticks of the soft start."""
        return math.ceil(self.soft_start / self.step - 1e-9)


class SimulatedRig(Settings):
    """Actuator, specimen and sensors simulated on their own step: the loop's step divided by ``substeps``."""

    kind: Literal["simulated"] = "simulated"
    actuator: Annotated[Actuator, default_kind("delay")] = Delay()
    specimen: AnySpecimen
    sensors: Sensors = Sensors()
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1


Rig = Annotated[
    SimulatedRig
    | ForceActuated
    | ForceControlled
    | ServoHydraulic
    | Electrodynamic
    | ShakingTable
    | AssembledRig
    | UserRig,
    Field(discriminator="kind"),
    default_kind("simulated"),
]


class RealTime(Settings):
    """How ``halfreal run`` keeps time.

    ``pacing``: by this machine's clock, or by the rig, one tick for each of its measurements.  ``overrun``, when a tick
    is not done before the next is due: "hold" lets the test's time stand still while its command is held; "trip" ends
    the test.  Lost time is never made up for.  The loop sleeps until ``spin`` before a tick is due, and watches the
    clock from there.  ``priority`` (of SCHED_FIFO) and ``cpu`` (its number) are used where the system permits.
    """

    pacing: Literal["clock", "rig"] = "clock"
    overrun: Literal["hold", "trip"] = "hold"
    spin: Annotated[float, Number("s", least=0)] = SPIN
    priority: Annotated[int, Field(ge=1, le=99)] = 80
    cpu: Annotated[int, Field(ge=0)] | None = None


class Excitations(Settings):
    """What drives the test: an excitation of the virtual substructure, of the specimen, or of both."""

    virtual: Excitation | None = None
    specimen: Excitation | None = None

    @field_validator("specimen")
    @classmethod
    def _is_a_force(cls, excitation: Any) -> Any:
        if excitation is not None and excitation.quantity != "force":
            raise fault(f"{excitation.quantity} given where a force is expected; only a force acts on the specimen")
        return excitation


class RecordSettings(Settings):
    """Channels to keep (all if left out) and how often: every tick, or every so many."""

    channels: tuple[str, ...] | None = None
    every: Annotated[int, Field(ge=1)] = 1


class Reference(Settings):
    """The emulated system: the virtual substructure with this specimen attached rigidly; the rig's own if left out."""

    specimen: KnownSpecimen | None = None
    substeps: Annotated[int, Field(ge=1, le=1000)] = 8
