"""A virtual substructure that is a beam: its segments, supports and joints, discretised and, if wanted, reduced.

    M q¨ + C q˙ + K q = excitation − Σ_j b_j f_j,      target_j = b_jᵀ q

Finite elements are those of ``beam_elements.py``, the reduction that of ``craig_bampton.py``.
Nodes count from 1 at the beam's first end.  An interface axis j is a deflection, a slope, or the deflection of a rigid
arm at the node, b_j q = w + a φ: two arms of different a describe deflection and slope in metres alone.  The forces f_j
act along the same b_j (forces, or a moment at a slope).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.quantities import ActsAs
from ...contracts.system import Elements, System
from ...kernels.block import Block
from ...settings import Number, Settings, fault
from ..schemes.any_scheme import AnyScheme
from ..schemes.exact import Exact
from . import virtual_block as virtual
from .beam_elements import beam_of, node_dofs, rectangle
from .craig_bampton import ReductionError, reduced
from .damping import Rayleigh, modal_damping
from .integrated import Integrated
from .joints import Joint
from .substructure import Substructure, couple
from .virtual_block import Quantity

NAME = "beam"
MOST_ELEMENTS = 500
"""Beyond, rounding shows in the lowest natural frequencies: errors grow with the fourth power of the number."""

Node = Annotated[int, Field(ge=1)]


class Segment(Settings):
    """A stretch of beam with one section: a rectangle bent along its height, or area and second moment of area."""

    length: Annotated[float, Number("m", above=0)]
    elements: Annotated[int, Field(ge=1, le=MOST_ELEMENTS)]
    width: Annotated[float, Number("m", above=0)] | None = None
    height: Annotated[float, Number("m", above=0)] | None = None
    area: Annotated[float, Number("m^2", above=0)] | None = None
    second_moment: Annotated[float, Number("m^4", above=0)] | None = Field(default=None, validate_default=True)

    @field_validator("second_moment")
    @classmethod
    def _one_section(cls, second_moment: float | None, info: ValidationInfo) -> float | None:
        if not {"width", "height", "area"} <= info.data.keys():  # one of them is at fault itself
            return second_moment
        width, height, area = (info.data[key] is not None for key in ("width", "height", "area"))
        if (width, height, area, second_moment is not None) not in (
            (True, True, False, False),
            (False, False, True, True),
        ):
            raise fault("a section needs either width and height, or area and second_moment, and not parts of both")
        return second_moment

    def section(self, modulus: float, density: float) -> tuple[float, float]:
        """E I [N m²] and ρ A [kg/m]."""
        if self.area is not None and self.second_moment is not None:
            return modulus * self.second_moment, density * self.area
        assert self.width is not None and self.height is not None  # as validated
        return rectangle(self.width, self.height, modulus, density)


class BeamSupport(Settings):
    """What is held at a node: deflection and slope (clamped), deflection (pinned), or slope (guided)."""

    node: Node
    kind: Literal["clamped", "pinned", "guided"]

    def dofs(self) -> tuple[str, ...]:
        w, phi = node_dofs(NAME, self.node)
        return {"clamped": (w, phi), "pinned": (w,), "guided": (phi,)}[self.kind]


class Place(Settings):
    """A motion at a node: its deflection, that of a rigid arm on it, or its slope."""

    node: Node
    direction: Literal["deflection", "slope"] = "deflection"
    arm: Annotated[float, Number("m")] = 0.0
    """Distance from the node along the beam, towards its last end, at which the deflection of the arm is taken."""

    @field_validator("arm")
    @classmethod
    def _of_a_deflection(cls, arm: float, info: ValidationInfo) -> float:
        if arm != 0.0 and info.data.get("direction") == "slope":
            raise fault("the slope is the same all along a rigid arm; omit the arm")
        return arm

    def terms(self) -> dict[str, float]:
        """Degrees of freedom and their weights in bᵀq."""
        w, phi = node_dofs(NAME, self.node)
        found = {phi: 1.0} if self.direction == "slope" else {w: 1.0, phi: self.arm}
        return {dof: weight for dof, weight in found.items() if weight != 0.0}


class BeamResponse(Place):
    """A further output to record."""

    quantity: Quantity


class Beam(Integrated):
    """A straight beam, bent in one plane."""

    kind: Literal["beam"] = "beam"
    modulus: Annotated[float, Number("Pa", above=0)]
    """Young's modulus E."""
    density: Annotated[float, Number("kg/m^3", above=0)]
    segments: tuple[Segment, ...]
    supports: tuple[BeamSupport, ...] = ()
    joints: tuple[Joint, ...] = ()
    interface: tuple[Place, ...]
    force: Place | None = None
    """Point where an excitation force acts."""
    rayleigh: Rayleigh | None = None
    """Rayleigh damping of beam and joint springs, in addition to the dampers of the joints."""
    modal_damping: Annotated[float, Number("1", least=0)] | None = None
    """One damping ratio for all modes, instead of a matrix."""
    modes: Annotated[int, Field(ge=0)] | None = Field(default=None, validate_default=True)
    """Number of fixed-interface modes kept in a Craig–Bampton reduction; default: no reduction."""
    responses: dict[Annotated[str, Field(min_length=1)], BeamResponse] = Field(default_factory=dict)
    scheme: AnyScheme = Exact()

    @field_validator("segments")
    @classmethod
    def _number_of_elements(cls, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        count = sum(segment.elements for segment in segments)
        if not 1 <= count <= MOST_ELEMENTS:
            raise fault(f"{count} elements in all; give segments with 1 to {MOST_ELEMENTS} elements together")
        return segments

    @field_validator("supports", "joints", "interface", "force", "responses")
    @classmethod
    def _nodes_exist(cls, value: Any, info: ValidationInfo) -> Any:
        if "segments" in info.data:
            last = 1 + sum(segment.elements for segment in info.data["segments"])
            beyond = [node for node in _nodes(value) if node > last]
            if beyond:
                raise fault(f"node {beyond[0]} where the beam has {last}; count from 1 to {last}")
        return value

    @field_validator("interface", "force")
    @classmethod
    def _can_move(cls, value: Any, info: ValidationInfo) -> Any:
        held = {dof for support in info.data.get("supports", ()) for dof in support.dofs()}
        for place in value if isinstance(value, tuple) else [] if value is None else [value]:
            if not set(place.terms()) - held:
                raise fault(f"the {place.direction} of node {place.node} is held by a support; name one that can move")
        return value

    @field_validator("interface")
    @classmethod
    def _independent(cls, interface: tuple[Place, ...], info: ValidationInfo) -> tuple[Place, ...]:
        if not interface:
            raise fault("the interface is empty; name at least one place where the rig takes over")
        held = {dof for support in info.data.get("supports", ()) for dof in support.dofs()}
        dofs = sorted({dof for place in interface for dof in place.terms()} - held)
        rows = np.array([[place.terms().get(dof, 0.0) for dof in dofs] for place in interface])
        scaled = rows / np.abs(rows).max(axis=0)  # metres and radians are not comparable
        if np.linalg.matrix_rank(scaled, tol=1e-9) < len(interface):
            raise fault(
                "the axes of the interface are not independent: one follows from the others; name different nodes, "
                "directions or arms"
            )
        return interface

    @field_validator("modal_damping")
    @classmethod
    def _one_way_of_damping(cls, ratio: float | None, info: ValidationInfo) -> float | None:
        if ratio is not None and info.data.get("rayleigh") is not None:
            raise fault("both modal_damping and rayleigh are given; keep one kind of damping")
        return ratio

    @field_validator("modes")
    @classmethod
    def _can_be_reduced(cls, modes: int | None, info: ValidationInfo) -> int | None:
        needed = {"modulus", "density", "segments", "supports", "joints", "interface", "force"}
        if modes is not None and needed <= info.data.keys():
            try:
                _reduced(_held(info.data), [*info.data["interface"], info.data["force"]], modes)
            except ReductionError as error:
                raise fault(str(error)) from error
        return modes

    def check_excitation(self, excitation: ActsAs) -> None:
        """Raise a fault if the beam does not say how this excitation acts."""
        if excitation == "support":
            raise fault("a support displacement cannot act on a beam; give a force or a ground acceleration")
        if excitation == "force" and self.force is None:
            raise fault("a force acts at virtual.force, which is not given; name its node")

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> int:
        """Number of interface axes."""
        return len(self.interface)

    @property
    def turning(self) -> tuple[bool, ...]:
        return tuple(place.direction == "slope" for place in self.interface)

    def substructure(self) -> Substructure:
        """Beam, joints and supports with all their elements, damping included."""
        whole = _held(self.__dict__)
        damping = whole.damping
        if self.rayleigh is not None:
            damping = damping + self.rayleigh.matrix(whole.mass, whole.stiffness)
        if self.modal_damping is not None:
            damping = damping + modal_damping(whole.mass, whole.stiffness, np.array([self.modal_damping]))
        return Substructure(whole.dofs, whole.mass, damping, whole.stiffness)

    def system(self, excitation: ActsAs) -> System:
        """The beam's equations, with inputs and outputs like those of ``Structure.system``."""
        self.check_excitation(excitation)
        whole = self.substructure()
        small, t = whole, np.eye(len(whole.dofs))
        if self.modes is not None:
            small, t = _reduced(whole, [*self.interface, self.force], self.modes)
        interface = np.array([_row(place, whole) for place in self.interface]) @ t
        inputs = np.zeros((len(small.dofs), 2 + self.axes))
        if excitation == "force" and self.force is not None:
            inputs[:, 0] = _row(self.force, whole) @ t
        elif excitation == "ground":
            inputs[:, 0] = -t.T @ self._shaken(whole)
        inputs[:, 2:] = -interface.T
        outputs = {
            quantity: np.vstack(
                [
                    interface * (quantity == "displacement"),
                    *(_row(place, whole) @ t * (place.quantity == quantity) for place in self.responses.values()),
                ]
            )
            for quantity in virtual.UNITS
        }
        n = len(small.dofs)
        return System(
            mass=small.mass,
            damping=small.damping,
            stiffness=small.stiffness,
            inputs=inputs,
            displacement_outputs=outputs["displacement"],
            velocity_outputs=outputs["velocity"],
            acceleration_outputs=outputs["acceleration"],
            elements=Elements.none(n),
            displacement=np.zeros(n),
            velocity=np.zeros(n),
        )

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", which reads the named feedback channels and writes the target."""
        return virtual.virtual_block(
            self.scheme.method(self.system(excitation), dt),
            axes=self.axes,
            excitation=virtual.EXCITATION,
            feedback=feedback,
            responses={
                name: virtual.response_unit(place.quantity, place.direction == "slope")
                for name, place in self.responses.items()
            },
            references=() if self.modes is None else ("craig1968",),
        )

    def _shaken(self, whole: Substructure) -> np.ndarray:
        """M ι of a ground acceleration across the beam; what is held shakes too, and pulls through the elements."""
        free = _free(self.__dict__)
        influence = np.array([dof.endswith(".w") for dof in free.dofs], dtype=float)
        return np.asarray((free.mass @ influence)[free.index(whole.dofs)])


def _free(fields: Mapping[str, Any]) -> Substructure:
    """Beam and joints by the fields of a ``Beam``, before anything is held."""
    sections = [
        (segment.length / segment.elements, *segment.section(fields["modulus"], fields["density"]))
        for segment in fields["segments"]
        for _ in range(segment.elements)
    ]
    lengths, bending, heavy = zip(*sections, strict=True)
    return couple(beam_of(NAME, lengths, bending, heavy), *(joint.part(NAME) for joint in fields["joints"]))


def _held(fields: Mapping[str, Any]) -> Substructure:
    return _free(fields).held(*{dof for support in fields["supports"] for dof in support.dofs()})


def _reduced(whole: Substructure, places: Iterable[Place | None], modes: int) -> tuple[Substructure, np.ndarray]:
    """The beam reduced to the degrees of freedom at some places, and T of u = T q."""
    named = dict.fromkeys(dof for place in places if place is not None for dof in place.terms())
    small, reduction = reduced(whole, NAME, [dof for dof in named if dof in whole.dofs], modes)
    return small, reduction.transformation


def _row(place: Place, whole: Substructure) -> np.ndarray:
    """b of bᵀu at a place, (n,); what is held does not move."""
    terms = place.terms()
    return np.array([terms.get(dof, 0.0) for dof in whole.dofs])


def _nodes(value: Any) -> list[int]:
    """Nodes named by a field: of one part, or of several."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    return [n for part in parts if part is not None for n in (part.node, getattr(part, "to", None)) if n is not None]
