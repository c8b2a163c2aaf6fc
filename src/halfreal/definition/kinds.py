"""The kinds of parts that there are: halfreal's own, and those of installed packages.

A kind of halfreal's own is its file and its line in ``OWN``.  A package brings kinds through entry points of the groups
``halfreal.virtual``, ``halfreal.excitation``, ``halfreal.coupling``, ``halfreal.rig``, ``halfreal.link`` and
``halfreal.criteria``::

    [project.entry-points."halfreal.rig"]
    "stick-slip" = "ourlab.stick_slip:StickSlipRig"

The name is the kind, as definitions write it; the class keeps the contract of its family (``halfreal.contracts``).  One
that does not, or cannot be imported, is left out, and a definition that names its kind gets the reason.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any, get_args

from pydantic import TypeAdapter

from .. import places
from ..contracts.coupling import Coupling
from ..contracts.criteria import Criteria
from ..contracts.excitation import Excitation
from ..contracts.link import Link
from ..contracts.rig import Rig
from ..contracts.virtual import Virtual
from ..settings import ByKind, Settings

CONTRACTS: dict[str, type[Settings]] = {
    "virtual": Virtual,
    "excitation": Excitation,
    "coupling": Coupling,
    "rig": Rig,
    "link": Link,
    "criteria": Criteria,
}
OWN = {
    "virtual": {
        "structure": "models.structures.structure:Structure",
        "constrained": "models.force_control.constrained:Constrained",
        "partition": "models.structures.partition:Partition",
        "modes": "models.structures.modal:Modes",
        "beam": "models.structures.beam:Beam",
        "frame": "models.frame.frame:Frame",
        "spring-damper": "models.structures.spring_damper:SpringDamper",
        "state space": "models.structures.state_space:StateSpaceModel",
        "user": "models.structures.programmed:UserModel",
        "library": "models.structures.programmed:LibraryModel",
        "fmu": "models.structures.programmed:FmuModel",
        "opensees": "models.opensees.model:OpenSeesModel",
        "client": "sites.client:Client",
    },
    "excitation": {
        "sine": "models.excitations.sine:Sine",
        "multi-sine": "models.excitations.multi_sine:MultiSine",
        "square": "models.excitations.square:Square",
        "chirp": "models.excitations.chirp:Chirp",
        "stepped sine": "models.excitations.stepped:SteppedSine",
        "gust": "models.excitations.stepped:Gust",
        "random": "models.excitations.random:Random",
        "step": "models.excitations.step_and_pulse:Step",
        "pulse": "models.excitations.step_and_pulse:Pulse",
        "record": "models.excitations.record:Record",
        "channel": "models.excitations.channel:FromChannel",
    },
    "coupling": {
        "none": "couplings.direct:Direct",
        "forward prediction": "couplings.forward_prediction:ForwardPrediction",
        "adaptive forward prediction": "couplings.adaptive_forward_prediction:AdaptiveForwardPrediction",
        "linear controller": "couplings.linear_controller:LinearController",
        "feed-forward filters": "couplings.axis_filters:AxisFilters",
        "model inverse": "couplings.model_inverse:ModelInverse",
        "narrow band table": "couplings.narrow_band_table:NarrowBandTable",
        "broad band inverse": "couplings.broad_band_inverse:BroadBandInverse",
        "adaptive model based": "couplings.adaptive_model_based:AdaptiveModelBased",
        "adaptive time series": "couplings.adaptive_time_series:AdaptiveTimeSeries",
        "decoupling inverse": "couplings.decoupling_inverse:DecouplingInverse",
        "adaptive fir": "couplings.adaptive_fir:AdaptiveFir",
        "harmonic lms": "couplings.harmonic.lms:HarmonicLms",
        "harmonic rls": "couplings.harmonic.rls:HarmonicRls",
        "user": "couplings.programmed:UserCoupling",
        "library": "couplings.programmed:LibraryCoupling",
        "fmu": "couplings.programmed:FmuCoupling",
    },
    "rig": {
        "simulated": "rigs.simulated:SimulatedRig",
        "force actuated": "rigs.force_actuated:ForceActuated",
        "force controlled": "rigs.force_controlled:ForceControlled",
        "servo-hydraulic": "rigs.servo_hydraulic:ServoHydraulic",
        "electrodynamic": "rigs.electrodynamic:Electrodynamic",
        "coupled actuators": "rigs.coupled_actuators:CoupledActuators",
        "shaking table": "rigs.shaking_table:ShakingTable",
        "assembled": "rigs.assembled:AssembledRig",
        "user": "rigs.programmed:UserRig",
        "library": "rigs.programmed:LibraryRig",
        "fmu": "rigs.programmed:FmuRig",
    },
    "link": {
        "udp": "links.udp:Udp",
        "shared memory": "links.shared_memory:SharedMemory",
        "serial": "links.serial:Serial",
        "driver": "links.driver:DriverLink",
    },
    "criteria": {
        "user": "contracts.user_criteria:UserCriteria",
        "vrths": "vrths.criteria:VrthsCriteria",
        "marths": "marths.criteria:MarthsCriteria",
    },
}
"""Halfreal's kinds and where they are, in the order in which they are listed."""


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
    """Every kind of a family by its name: all of them are imported."""
    return {kind: part_of(family, kind) for kind in names(family)}


def names(family: str) -> tuple[str, ...]:
    """Every kind of a family."""
    return (*OWN[family], *_installed(family)[0])


@cache
def part_of(family: str, kind: str) -> type[Settings]:
    """The class of a kind, imported when it is requested."""
    if kind not in OWN[family]:
        return _installed(family)[0][kind]
    (part,) = places.found("halfreal", [OWN[family][kind]])
    return part  # type: ignore[no-any-return]


def unusable() -> tuple[Unusable, ...]:
    """What installed packages offer and cannot be used."""
    return tuple(one for family in CONTRACTS for one in _installed(family)[1])


def raised_in_package(error: BaseException) -> str:
    """What an error in the code of an installed package's kind is, and where; empty if it was raised elsewhere."""
    parts = [part for family in CONTRACTS for part in _installed(family)[0].values()]
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
def _installed(family: str) -> tuple[dict[str, type[Settings]], tuple[Unusable, ...]]:
    """Kinds of installed packages, and those of them that cannot be used."""
    found: dict[str, type[Settings]] = {}
    left_out = []
    for entry in sorted(_offered().select(group=f"halfreal.{family}"), key=lambda one: (one.name, one.value)):
        package = "unknown" if entry.dist is None else entry.dist.name
        try:
            part = entry.load()
            reason = _against(part, entry, family, found)
        except Exception as error:  # anything that a package raises when it is imported
            reason = f"{type(error).__name__}: {error}"
        if reason:
            left_out.append(Unusable(family, entry.name, package, reason))
        else:
            found[entry.name] = part
    return found, tuple(left_out)


@cache
def _offered() -> Any:
    return entry_points()


def _against(part: Any, entry: EntryPoint, family: str, found: dict[str, type[Settings]]) -> str:
    """What speaks against a package's class as a kind; empty if nothing does."""
    contract = CONTRACTS[family]
    if not (isinstance(part, type) and issubclass(part, contract)):
        return f"{entry.value} is not a subclass of {contract.__module__}.{contract.__name__}"
    if missing := sorted(part.__abstractmethods__):
        return f"{entry.value} does not define {' and '.join(missing)}, as its contract requires"
    if kind_of(part) != entry.name:
        return f"its field 'kind' must be Literal['{entry.name}']"
    if entry.name in found or entry.name in OWN[family]:
        other = found.get(entry.name) or part_of(family, entry.name)
        return f"{other.__module__}.{other.__name__} already has that kind; choose another name"
    return ""


@dataclass(frozen=True)
class OneOf(ByKind):
    """Annotation of a field that holds a part of a family, selected by its ``kind``; ``usual`` if that is left out."""

    family: str
    usual: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return names(self.family)

    def part(self, kind: str) -> type[Settings]:
        return part_of(self.family, kind)
