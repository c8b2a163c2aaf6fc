"""A virtual substructure by its matrices:

    M q¨ + C q˙ + K q + Σ_e b_e r_e(b_eᵀq) = excitation − Σ_i e_i f_i

f_i are the forces fed back at the interface degrees of freedom.  The excitation acts as a support displacement r
with k_b r + c_b r˙; as a force on one degree of freedom; or as a ground acceleration a_g with −M ι a_g, in which case q
is relative to the ground.  Degrees of freedom count from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.axes import is_rotation
from ...contracts.known import Known
from ...contracts.massless import ZERO, is_regular, settled, split
from ...contracts.quantities import ActsAs
from ...contracts.system import System
from ...contracts.virtual import Virtual
from ...kernels.block import Block
from ...settings import Matrix, Settings, Vector, fault
from ..schemes.any_scheme import AnyScheme
from ..schemes.exact import Exact
from . import virtual_block as virtual
from .damping import Rayleigh, modal_damping
from .elements import Element, assemble, contradiction
from .integrated import Integrated
from .virtual_block import Quantity

if TYPE_CHECKING:
    from ...contracts.rig import Rig

Dof = Annotated[int, Field(ge=1)]


class Support(Settings):
    """How a support displacement r acts on each degree of freedom: k_b r + c_b r˙."""

    stiffness: Annotated[np.ndarray, Vector("N/m")]
    damping: Annotated[np.ndarray, Vector("N s/m")] | None = None


class Response(Settings):
    """A further output to record."""

    dof: Dof
    quantity: Quantity
    rotation: bool = False
    """Whether the degree of freedom is a rotation, in rad."""

    @property
    def unit(self) -> str:
        return virtual.response_unit(self.quantity, self.rotation)


class StructureParts(Virtual):
    """Masses, dampers, springs and nonlinear elements, what excites them and what is recorded of them."""

    kind: str
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")]
    """Mass matrix; degrees of freedom may have no mass, e.g. rotations without inertia: they respond
    quasi-statically.
    """
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)]
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    rayleigh: Rayleigh | None = None
    modal_damping: Annotated[np.ndarray, Vector("1", least=0)] | None = None
    """Damping ratio: one for all modes, or one per mode."""
    support: Support | None = None
    force_dof: Dof | None = None
    ground: Annotated[np.ndarray, Vector("1")] | None = None
    """Influence vector ι of a ground acceleration; default: ones."""
    elements: tuple[Element, ...] = ()
    initial_displacement: Annotated[np.ndarray, Vector("m")] | None = None
    initial_velocity: Annotated[np.ndarray, Vector("m/s")] | None = None
    responses: dict[Annotated[str, Field(min_length=1)], Response] = Field(default_factory=dict, validate_default=True)

    @field_validator("mass")
    @classmethod
    def _none_is_negative(cls, mass: np.ndarray) -> np.ndarray:
        check_mass(mass)
        return mass

    # --- checks that need two fields stand on the later one, so that all faults come at once ------------------------

    @field_validator("stiffness", "damping")
    @classmethod
    def _as_large_as_mass(cls, matrix: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        n = dofs_of(info)
        if matrix is not None and n is not None and matrix.shape != (n, n):
            raise fault(
                f"a {matrix.shape[0]} × {matrix.shape[1]} matrix, but the mass matrix is {n} × {n}; "
                "give every matrix one "
                "row and one column for each degree of freedom"
            )
        return matrix

    @field_validator("rayleigh", "modal_damping")
    @classmethod
    def _one_way_of_damping(cls, value: object, info: ValidationInfo) -> object:
        given = [key for key in ("damping", "rayleigh") if info.data.get(key) is not None]
        if value is not None and given:
            raise fault(f"both {info.field_name} and {given[0]} are given; keep one kind of damping")
        return value

    @field_validator("modal_damping")
    @classmethod
    def _one_ratio_or_all(cls, ratios: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        mass = info.data.get("mass")
        modes = 1 if mass is None else split(mass)[0].shape[1]
        if ratios is not None and mass is not None and len(ratios) not in (1, modes):
            without = f" ({len(mass) - modes} degrees of freedom have no mass)" if modes < len(mass) else ""
            raise fault(f"{len(ratios)} damping ratios for {modes} modes{without}; give one for all modes or {modes}")
        return ratios

    @field_validator("force_dof", "elements", "responses")
    @classmethod
    def _within_range(cls, value: object, info: ValidationInfo) -> object:
        n = dofs_of(info)
        beyond = [] if n is None else [dof for dof in _named_dofs(value) if dof > n]
        if beyond:
            raise fault(f"degree of freedom {beyond[0]} where the mass matrix has {n}; count from 1 to {n}")
        return value

    @field_validator("responses")
    @classmethod
    def _rotations_are_rotations(cls, responses: dict[str, Response], info: ValidationInfo) -> dict[str, Response]:
        known = {one.dof: (one.rotation, f"the response '{name}'") for name, one in responses.items()}
        wrong = contradiction(info.data.get("elements", ()), known)
        if wrong is not None:
            raise fault(wrong)
        return responses

    @field_validator("ground", "initial_displacement", "initial_velocity")
    @classmethod
    def _one_entry_each(cls, vector: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        _check_length(vector, info)
        return vector

    @field_validator("support")
    @classmethod
    def _support_fits(cls, support: Support | None, info: ValidationInfo) -> Support | None:
        if support is not None:
            _check_length(support.stiffness, info, "stiffness")
            _check_length(support.damping, info, "damping")
        return support

    @property
    def dofs(self) -> int:
        return len(self.mass)

    @property
    def influence(self) -> np.ndarray:
        """ι of a ground acceleration, (n,)."""
        return np.ones(self.dofs) if self.ground is None else self.ground

    def check_excitation(self, excitation: ActsAs) -> None:
        """Raise a fault if the structure does not say how this excitation acts."""
        if excitation == "support" and self.support is None:
            raise fault("a support displacement acts through virtual.support, which is not given; give its stiffness")
        if excitation == "force" and self.force_dof is None:
            raise fault("a force acts on virtual.force_dof, which is not given; name its degree of freedom")

    def at_rest(self, rig: Rig | None = None) -> Self:
        return self.unchecked_copy({"initial_displacement": None, "initial_velocity": None})

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return tuple(f"virtual: a {element.law.kind} element" for element in self.elements if not element.law.linear)


class Structure(StructureParts, Integrated):
    """A structure of masses, dampers, springs and nonlinear elements."""

    kind: Literal["structure"] = "structure"
    interface: Annotated[tuple[Dof, ...], Field(min_length=1)] = (1,)
    scheme: Annotated[AnyScheme, Field(validate_default=True)] = Exact()

    @field_validator("interface")
    @classmethod
    def _each_once(cls, dofs: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        if len(set(dofs)) < len(dofs):
            raise fault(f"{list(dofs)} names a degree of freedom twice; name each once")
        n = dofs_of(info)
        if n is not None and max(dofs) > n:
            raise fault(f"degree of freedom {max(dofs)} where the mass matrix has {n}; count from 1 to {n}")
        return dofs

    @field_validator("scheme")
    @classmethod
    def _can_integrate(cls, scheme: AnyScheme, info: ValidationInfo) -> AnyScheme:
        nonlinear = sorted({one.law.kind for one in info.data.get("elements", ()) if not one.law.linear})
        if nonlinear and scheme.linear_only:
            raise fault(
                f"'{scheme.kind}' integrates linear structures only, but an element is {nonlinear[0]}; use another "
                "scheme, such as 'newmark' or 'kr-alpha'"
            )
        return scheme

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> int:
        """Number of interface degrees of freedom."""
        return len(self.interface)

    @property
    def turning(self) -> tuple[bool, ...] | None:
        """As elements say it; names show where they say nothing."""
        sorts = {dof: turns for element in self.elements for dof, turns in element.sorts.items()}
        found = tuple(sorts.get(dof, False) for dof in self.interface)
        return found if any(found) else None

    def fits(self, known: Known) -> None:
        super().fits(known)
        named = zip(self.interface, known.named or (), strict=False)
        of_axes = {dof: (is_rotation(name), f"the name '{name}' of its axis") for dof, name in named}
        wrong = contradiction(self.elements, of_axes)
        if wrong is not None:
            raise fault(wrong, "elements")

    def initial_target(self) -> np.ndarray:
        """Interface displacements at the start [m]."""
        if self.initial_displacement is None:
            return np.zeros(self.axes)
        return settled(self.system("none"))[[dof - 1 for dof in self.interface]]

    def system(self, excitation: ActsAs) -> System:
        """Matrices; inputs u = (excitation, its rate, feedback…), outputs y = (interface displacement…, responses…)."""
        self.check_excitation(excitation)
        n = self.dofs
        unit = np.eye(n)
        springs = assemble([element for element in self.elements if element.law.linear], n)
        elements = assemble([element for element in self.elements if not element.law.linear], n)
        stiffness = self.stiffness + springs.stiffness
        inputs = np.zeros((n, 2 + self.axes))
        if excitation == "support" and self.support is not None:
            inputs[:, 0] = self.support.stiffness
            inputs[:, 1] = self._or_zeros(self.support.damping)
        elif excitation == "force" and self.force_dof is not None:
            inputs[:, 0] = unit[self.force_dof - 1]
        elif excitation == "ground":
            inputs[:, 0] = -self.mass @ self.influence
        interface = unit[[dof - 1 for dof in self.interface]]
        inputs[:, 2:] = -interface.T
        outputs = {
            quantity: np.vstack(
                [
                    interface * (quantity == "displacement"),
                    *(unit[response.dof - 1] * (response.quantity == quantity) for response in self.responses.values()),
                ]
            )
            for quantity in virtual.UNITS
        }
        return System(
            mass=self.mass,
            damping=self._damping(stiffness + elements.stiffness),
            stiffness=stiffness,
            inputs=inputs,
            displacement_outputs=outputs["displacement"],
            velocity_outputs=outputs["velocity"],
            acceleration_outputs=outputs["acceleration"],
            elements=elements,
            displacement=self._or_zeros(self.initial_displacement),
            velocity=self._or_zeros(self.initial_velocity),
        )

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", which reads the named feedback channels and writes the target."""
        return virtual.virtual_block(
            self.scheme.method(self.system(excitation), dt),
            axes=self.axes,
            excitation=virtual.EXCITATION,
            feedback=feedback,
            responses={name: response.unit for name, response in self.responses.items()},
            references=tuple(dict.fromkeys(self._references())),
        )

    def _references(self) -> list[str]:
        condensed = [] if is_regular(self.mass) else ["guyan1965"]
        return condensed + [key for element in self.elements for key in element.law.references]

    def _damping(self, stiffness: np.ndarray) -> np.ndarray:
        """C; Rayleigh and modal damping assume every element at its initial stiffness."""
        if self.damping is not None:
            return self.damping
        if self.rayleigh is not None:
            return self.rayleigh.matrix(self.mass, stiffness)
        if self.modal_damping is not None:
            return modal_damping(self.mass, stiffness, self.modal_damping)
        return np.zeros_like(self.mass)

    def _or_zeros(self, vector: np.ndarray | None) -> np.ndarray:
        return np.zeros(self.dofs) if vector is None else vector


def dofs_of(info: ValidationInfo) -> int | None:
    """Number of degrees of freedom, if the mass matrix was good."""
    mass = info.data.get("mass")
    return None if mass is None else len(mass)


def _named_dofs(value: object) -> list[int]:
    """Degrees of freedom named by a field: a number, or numbers, elements or responses."""
    if isinstance(value, int):
        return [value]
    found: list[int] = []
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ():
        if isinstance(item, Element):
            found += item.dofs
        else:
            found.append(item.dof if isinstance(item, Response) else item)
    return found


def check_mass(mass: np.ndarray) -> None:
    """Raise a fault if a degree of freedom has negative mass, or none and yet mass that couples it to others."""
    diagonal = np.diag(mass)
    worst = int(np.argmin(diagonal))
    if diagonal[worst] < 0.0:
        raise fault(f"the mass of degree of freedom {worst + 1} is {diagonal[worst]:g}; check the signs")
    coupled = [i for i in np.flatnonzero(diagonal == 0.0) if np.any(np.abs(mass[i]) > ZERO * np.abs(mass).max())]
    if coupled:
        raise fault(
            f"degree of freedom {coupled[0] + 1} has no mass on the diagonal but off-diagonal mass; make its row and "
            "column zero, or give it mass"
        )
    if not np.any(diagonal):
        raise fault("no degree of freedom has mass; give at least one a mass")


def _check_length(vector: np.ndarray | None, info: ValidationInfo, *at: str) -> None:
    n = dofs_of(info)
    if vector is not None and n is not None and len(vector) != n:
        found = f"a vector of length {len(vector)}, but the mass matrix is {n} × {n}"
        raise fault(f"{found}; give one entry for each degree of freedom", *at)
