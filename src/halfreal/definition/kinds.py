"""The kinds of parts that there are: halfreal's own, and those of installed packages.

A kind of halfreal's own is its file and its line in ``OWN``.  A package brings kinds through entry points of the groups
``halfreal.virtual``, ``halfreal.excitation``, ``halfreal.coupling``, ``halfreal.rig``, ``halfreal.link`` and
``halfreal.criteria``::

    [project.entry-points."halfreal.rig"]
    "stick-slip" = "ourlab.stick_slip:StickSlipRig"

The name is the kind, as definitions write it; the class keeps the contract of its family (``halfreal.contracts``).  One
that does not, or cannot be imported, is left out, and whoever names its kind is told why.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any, get_args

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema

from .. import places
from ..contracts.coupling import Coupling
from ..contracts.criteria import Criteria
from ..contracts.excitation import Excitation
from ..contracts.link import Link
from ..contracts.rig import Rig
from ..contracts.virtual import Virtual
from ..settings import Settings, union_of

CONTRACTS: dict[str, type[Settings]] = {
    "virtual": Virtual,
    "excitation": Excitation,
    "coupling": Coupling,
    "rig": Rig,
    "link": Link,
    "criteria": Criteria,
}
OWN = {
    "virtual": (
        "models.structures.structure:Structure",
        "models.force_control.constrained:Constrained",
        "models.structures.partition:Partition",
        "models.structures.modal:Modes",
        "models.structures.beam:Beam",
        "models.frame.frame:Frame",
        "models.structures.spring_damper:SpringDamper",
        "models.structures.state_space:StateSpaceModel",
        "models.structures.programmed:UserModel",
        "models.structures.programmed:LibraryModel",
        "models.structures.programmed:FmuModel",
        "models.opensees.model:OpenSeesModel",
        "sites.client:Client",
    ),
    "excitation": (
        "models.excitations.sine:Sine",
        "models.excitations.multi_sine:MultiSine",
        "models.excitations.square:Square",
        "models.excitations.chirp:Chirp",
        "models.excitations.stepped:SteppedSine",
        "models.excitations.stepped:Gust",
        "models.excitations.random:Random",
        "models.excitations.step_and_pulse:Step",
        "models.excitations.step_and_pulse:Pulse",
        "models.excitations.record:Record",
        "models.excitations.channel:FromChannel",
    ),
    "coupling": (
        "couplings.direct:Direct",
        "couplings.forward_prediction:ForwardPrediction",
        "couplings.adaptive_forward_prediction:AdaptiveForwardPrediction",
        "couplings.linear_controller:LinearController",
        "couplings.axis_filters:AxisFilters",
        "couplings.model_inverse:ModelInverse",
        "couplings.narrow_band_table:NarrowBandTable",
        "couplings.broad_band_inverse:BroadBandInverse",
        "couplings.adaptive_model_based:AdaptiveModelBased",
        "couplings.adaptive_time_series:AdaptiveTimeSeries",
        "couplings.harmonic.lms:HarmonicLms",
        "couplings.harmonic.rls:HarmonicRls",
        "couplings.programmed:UserCoupling",
        "couplings.programmed:LibraryCoupling",
        "couplings.programmed:FmuCoupling",
    ),
    "rig": (
        "rigs.simulated:SimulatedRig",
        "rigs.force_actuated:ForceActuated",
        "rigs.force_controlled:ForceControlled",
        "rigs.servo_hydraulic:ServoHydraulic",
        "rigs.electrodynamic:Electrodynamic",
        "rigs.shaking_table:ShakingTable",
        "rigs.assembled:AssembledRig",
        "rigs.programmed:UserRig",
        "rigs.programmed:LibraryRig",
        "rigs.programmed:FmuRig",
    ),
    "link": (
        "links.udp:Udp",
        "links.shared_memory:SharedMemory",
    ),
    "criteria": (
        "contracts.user_criteria:UserCriteria",
        "vrths.criteria:VrthsCriteria",
    ),
}
"""Halfreal's own kinds, in the order in which people are told of them."""


@dataclass(frozen=True)
class Unusable:
    """A kind that an installed package offers, and why it cannot be used."""

    family: str
    kind: str
    package: str
    reason: str

    def __str__(self) -> str:
        return (
            f"the {self.family} '{self.kind}' of the installed package '{self.package}' cannot be used: {self.reason}"
        )


def kind_of(part: type[Settings]) -> str:
    """The name by which definitions call a kind."""
    names = get_args(part.model_fields["kind"].annotation) if "kind" in part.model_fields else ()
    return str(names[0]) if len(names) == 1 else ""


def kinds(family: str) -> dict[str, type[Settings]]:
    """Every kind of a family by its name."""
    return dict(_found(family)[0])


def unusable() -> tuple[Unusable, ...]:
    """What installed packages offer and cannot be used."""
    return tuple(one for family in CONTRACTS for one in _found(family)[1])


def raised_in_package(error: BaseException) -> str:
    """What an error in the code of an installed package's kind is, and where; empty if it was raised elsewhere."""
    parts = [part for family in CONTRACTS for part in kinds(family).values()]
    folders = {Path(str(sys.modules[part.__module__].__file__)).parent for part in parts if not _is_own(part)}
    for frame in reversed(extract_tb(error.__traceback__)):
        if any(Path(frame.filename).is_relative_to(folder) for folder in folders):
            return f"{frame.filename}, line {frame.lineno}, in {frame.name}: {type(error).__name__}: {error}"
    return ""


def _is_own(part: type[Settings]) -> bool:
    return part.__module__.split(".")[0] == "halfreal"


@cache
def reader(family: str) -> TypeAdapter[Any]:
    """Reads a part of a family out of its settings, by its kind."""
    part: Any = Annotated[CONTRACTS[family], OneOf(family)]
    return TypeAdapter(part)


@cache
def _found(family: str) -> tuple[dict[str, type[Settings]], tuple[Unusable, ...]]:
    found: dict[str, type[Settings]] = {}
    for part in places.found("halfreal", OWN[family]):
        found[kind_of(part)] = part
    left_out = []
    for entry in sorted(entry_points(group=f"halfreal.{family}"), key=lambda one: (one.name, one.value)):
        package = "unknown" if entry.dist is None else entry.dist.name
        try:
            part = entry.load()
            reason = _against(part, entry, family, found)
        except Exception as error:  # whatever the package does when it is imported
            reason = f"{type(error).__name__}: {error}"
        if reason:
            left_out.append(Unusable(family, entry.name, package, reason))
        else:
            found[entry.name] = part
    return found, tuple(left_out)


def _against(part: Any, entry: EntryPoint, family: str, found: dict[str, type[Settings]]) -> str:
    """What speaks against a package's class as a kind; empty if nothing does."""
    contract = CONTRACTS[family]
    if not (isinstance(part, type) and issubclass(part, contract)):
        return f"{entry.value} is no subclass of {contract.__module__}.{contract.__name__}"
    if missing := sorted(part.__abstractmethods__):
        return f"{entry.value} does not define {' and '.join(missing)}, as its contract asks"
    if kind_of(part) != entry.name:
        return f"its field 'kind' must be Literal['{entry.name}']"
    if entry.name in found:
        other = found[entry.name]
        return f"{other.__module__}.{other.__name__} is of that kind already; give it another name"
    return ""


@dataclass(frozen=True)
class OneOf:
    """Annotation of a field that holds a part of a family, told by its ``kind``; ``usual`` if that is left out."""

    family: str
    usual: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(union_of(kinds(self.family).values(), self.usual))
