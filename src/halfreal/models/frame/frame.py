"""A virtual substructure that is a frame of finite elements, some of which yield.

    M q¨ + C q˙ + K q + Σ Aᵀ f(A q, …) = gravity + excitation − Σ_i b_i f_i,      target_i = b_iᵀ q

In a plane (x, y, with y upwards) or in space.  The frame is brought under its gravity loads before the test starts, and
displacements are counted from there.  ``model.py`` says how it is assembled, ``implicit.py`` and ``explicit.py`` how it
is integrated; docs/frames.md how it is described.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
import scipy.sparse as sparse
from pydantic import Field, ValidationInfo, field_validator, model_validator

from ...contracts.inside import Inside, Sketch
from ...contracts.massless import MasslessError
from ...contracts.pushed import Push, Pushed
from ...contracts.quantities import ActsAs
from ...contracts.system import Elements, Method, System
from ...kernels.block import Block, Channel, channels
from ...settings import fault
from ..materials.kinds import AnyLaw
from ..schemes.any_scheme import AnyScheme
from ..schemes.newmark import Newmark
from ..structures import virtual_block as virtual
from ..structures.integrated import Integrated, check_step
from .assembly import Assembled, FrameError, assemble, interface_rows, load
from .damping import FrameRayleigh, ModalDamping
from .elements.beam import BeamColumn
from .elements.displacement_beam import DisplacementBeam
from .elements.displacement_space_beam import DisplacementSpaceBeam
from .elements.force_beam import ForceBeam
from .elements.force_space_beam import ForceSpaceBeam
from .elements.space_beam import SpaceBeam
from .elements.spring import Damper, Spring, Truss
from .explicit import explicit
from .implicit import implicit
from .inside import inside_of, sketch_of
from .loaded import Loaded
from .parts import At, Constraint, Direction, Load, Node, Response
from .pushover import pushover
from .reduction import FrameReduction, Quality, quality
from .sections import AnySection
from .splitting import splitting
from .statics import StaticsError
from .tables import OrFile, table

AnyElement = Annotated[
    BeamColumn
    | DisplacementBeam
    | ForceBeam
    | SpaceBeam
    | DisplacementSpaceBeam
    | ForceSpaceBeam
    | Truss
    | Spring
    | Damper,
    Field(discriminator="kind"),
]
PROGRESS = ("virtual.residual", "virtual.iterations")
BY_GEOMETRY = {"p-delta": "P-Δ", "corotational": "large displacements"}
CITED = {"p-delta": ("wilson2002",), "corotational": ("crisfield1991",)}
INTEGRATED = {"implicit": implicit, "kr": explicit, "splitting": splitting}


class Frame(Integrated):
    """A frame of finite elements, linear or not."""

    kind: Literal["frame"] = "frame"
    dimensions: Literal[2, 3] = 2
    """Number of dimensions: 2 (plane) or 3 (space)."""
    materials: dict[str, AnyLaw] = Field(default_factory=dict)
    """Laws of hinges, springs, trusses and fibres, by name."""
    sections: dict[str, AnySection] = Field(default_factory=dict)
    """Cross-sections by name."""
    nodes: Annotated[dict[str, Node], OrFile()]
    """Nodes by name; or the name of a CSV file with columns name, x (m), y (m) and so on."""
    elements: Annotated[dict[str, AnyElement], OrFile()]
    """Elements by name; or the name of a CSV file."""
    constraints: tuple[Constraint, ...] = ()
    """Constraints: nodes that follow other nodes."""
    loads: tuple[Load, ...] = ()
    """Gravity loads."""
    element_mass: Literal["lumped", "consistent"] = "lumped"
    """Distribution of the elements' mass to their nodes."""
    rayleigh: FrameRayleigh | None = None
    """Rayleigh damping, proportional to mass and stiffness."""
    modal_damping: ModalDamping | None = None
    """Damping ratios of modes."""
    reduction: FrameReduction | None = None
    """Reduction of the linear parts."""
    interface: Annotated[tuple[At, ...], Field(min_length=1)]
    """Attachment of the specimen: a node and a direction per axis."""
    force: At | None = None
    """Point where an excitation force acts."""
    ground: Direction = "x"
    """Direction of a ground acceleration."""
    responses: dict[Annotated[str, Field(min_length=1)], Response] = Field(default_factory=dict)
    """Additional outputs to record."""
    scheme: Annotated[AnyScheme, Field(validate_default=True)] = Newmark()

    @field_validator("nodes", "elements", mode="before")
    @classmethod
    def _from_table(cls, value: Any, info: ValidationInfo) -> Any:
        return table(value, str(info.field_name), info)

    @field_validator("scheme")
    @classmethod
    def _integrates_frames(cls, scheme: AnyScheme) -> AnyScheme:
        by = scheme.coefficients()
        if by is None or by.form not in INTEGRATED:
            raise fault(
                f"'{scheme.kind}' does not integrate frames; use 'newmark', 'hht', 'generalized-alpha' or "
                "'kr-alpha', 'mkr-alpha', and for slow tests 'operator splitting'"
            )
        return scheme

    @model_validator(mode="after")
    def _assembles(self) -> Self:
        """All that the parts have to do with each other, once they are good on their own."""
        try:
            load(self._assembled, "none")
        except (FrameError, StaticsError) as error:
            raise fault(str(error), *error.at) from error
        return self

    @property
    def axes(self) -> int:
        return len(self.interface)

    @property
    def turning(self) -> tuple[bool, ...]:
        return tuple(place.direction.startswith("r") for place in self.interface)

    @cached_property
    def _assembled(self) -> Assembled:
        return assemble(self.__dict__)

    @cached_property
    def reduced(self) -> Quality | None:
        """What the reduction changes; None if there is none."""
        found = self._assembled
        if found.whole is None:
            return None
        return quality(found.whole, interface_rows(self.__dict__, found.whole), found.model, found.interface)

    @property
    def caveat(self) -> str | None:
        texts = [] if self.reduced is None else [self.reduced.summary()]
        kink = self.loaded("none").two_slopes
        if kink > 0.0:
            texts.append(
                "virtual: under its loads, a material unloads along another slope than it is loaded along (stiffness "
                f"of an element up to {100.0 * kink:.2g} % apart); poles and margins at rest are those of unloading"
            )
        return "; ".join(texts) or None

    def form(self, step: float) -> str:
        model = self._assembled.model
        banded = f"{model.dofs} degrees of freedom, banded with half-bandwidth {model.width}"
        return banded if self.reduced is None else f"{banded}; {self.reduced.summary().removeprefix('virtual: ')}"

    def loaded(self, excitation: ActsAs) -> Loaded:
        """The frame under its loads, with inputs and outputs."""
        return load(self._assembled, excitation)

    def check_excitation(self, excitation: ActsAs) -> None:
        """Raise a fault if the frame does not say how this excitation acts."""
        if excitation == "support":
            raise fault("a support displacement cannot act on a frame; give a force or a ground acceleration")
        if excitation == "force" and self.force is None:
            raise fault("a force acts at virtual.force, which is not given; name its node and direction")

    def system(self, excitation: ActsAs) -> System:
        """The frame at rest under its loads, every element at its tangent there."""
        self.check_excitation(excitation)
        found = self.loaded(excitation)
        n = found.model.dofs
        return System(
            mass=found.model.mass.toarray(),
            damping=found.damping.matrix(),
            stiffness=found.model.stiffness.toarray(),
            inputs=found.on_inputs.T.copy(),
            displacement_outputs=found.displacement_outputs,
            velocity_outputs=found.velocity_outputs,
            acceleration_outputs=found.acceleration_outputs,
            elements=Elements.none(n),
            displacement=np.zeros(n),
            velocity=np.zeros(n),
        )

    def method(self, dt: float, excitation: ActsAs) -> Method:
        """How the frame is integrated."""
        by = self.scheme.coefficients()
        assert by is not None  # as validated
        return INTEGRATED[by.form](self.loaded(excitation), dt, by)

    def emulation(self, joined: System, step: float) -> Method | None:
        """The frame with the specimen's matrices added to its own, by Newmark's method."""
        if not self.nonlinearities:
            return None
        own = self.system("none")
        if joined.dofs != own.dofs or joined.elements.count:
            raise FrameError(
                "the emulated system of a frame that yields is known only with a linear specimen that has no degrees "
                "of freedom of its own; omit the reference, or give such a reference.specimen"
            )
        found = self.loaded("none")
        added = {
            "mass": sparse.csr_matrix(joined.mass - own.mass),
            "stiffness": sparse.csr_matrix(joined.stiffness - own.stiffness),
        }
        model = replace(found.model, **{key: getattr(found.model, key) + more for key, more in added.items()})
        added_damping = sparse.csr_matrix(joined.damping - own.damping)
        damping = replace(found.damping, constant=found.damping.constant + added_damping)
        whole = replace(found, model=model, damping=damping, on_inputs=joined.inputs.T.copy(), progress=False)
        whole = replace(whole, probes=np.zeros((0, 2)))
        by = Newmark(iterations=100).coefficients()
        assert by is not None  # as β is not zero
        return implicit(whole, step, by)

    def check_step(self, dt: float) -> None:
        try:
            self.method(dt, "none")
            if self.scheme.answered_next_tick:
                check_step(self.scheme, self.system("none"), dt)
        except MasslessError as error:
            raise fault(str(error), "scheme") from error

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", which reads the named feedback channels and writes the target."""
        self.check_excitation(excitation)
        virtual.check_feedback(self.axes, feedback)
        method, by = self.method(dt, excitation), self.scheme.coefficients()
        assert by is not None  # as validated
        inputs = (*virtual.EXCITATION, *feedback)
        outputs = (
            *channels("target", "m", self.axes, of="axis"),
            *(Channel(f"virtual.{name}", unit) for name, unit in self._assembled.responses),
            *(Channel(name, "1") for name in PROGRESS if by.form == "implicit"),
        )
        return Block(
            name="virtual",
            step=method.step,
            inputs=inputs,
            outputs=outputs,
            parameters=method.parameters,
            state=method.state,
            frozen=method.frozen,
            memory=("memory", "inner", "beyond"),
            faults=method.faults,
            jacobian=method.jacobian,
            two_slopes=self.loaded(excitation).two_slopes > 0.0,
            references=(*method.references, *dict.fromkeys(self._references())),
        )

    def sketch(self) -> Sketch:
        return sketch_of(self.__dict__, self._assembled.model)

    def inside(self, excitation: ActsAs) -> Inside:
        return inside_of(self.__dict__, self.loaded(excitation))

    def pushover(self, by: Push) -> Pushed:
        return pushover(self.loaded("none"), self.inside("none"), by)

    def _references(self) -> list[str]:
        found = [key for law in dict.fromkeys(self._assembled.model.laws) for key in law.references]
        for element in self.elements.values():
            found += element.references
            found += CITED.get(getattr(element, "geometry", "linear"), ())
        return found

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        kinds = dict.fromkeys(law.kind for law in self._assembled.model.laws if not law.linear)
        turning = dict.fromkeys(getattr(element, "geometry", "linear") for element in self.elements.values())
        kinds |= {BY_GEOMETRY[geometry]: None for geometry in turning if geometry in BY_GEOMETRY}
        return tuple(f"virtual: {kind} of a frame" for kind in kinds)
