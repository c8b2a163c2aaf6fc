"""The specimen of a simulated rig: the force that resists a motion of the interface.

    f = M x¨ + C x˙ + K x + Σ_e b_e r_e(b_eᵀx, b_eᵀx˙) − b e(t)

x is the interface displacement (n axes), r_e the nonlinear elements, e(t) an excitation force that acts on the specimen
itself along b.  f is positive when it resists a positive displacement.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.specimen import KnownSpecimen, RigSpecimen
from ..contracts.state_space import StateSpace
from ..contracts.system import System
from ..kernels.block import Block, Channel, channels, names
from ..kernels.compile import kernel
from ..kernels.linear import multiply_add, stored
from ..models.excitations import silence
from ..models.materials.element_fields import HELD, element_states, loaded, moving, terms
from ..models.structures.elements import Element, assemble, contradiction
from ..settings import Matrix, fault

EXCITATION = "excitation.specimen"
Carried = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""M, D, K of a specimen and b of its excitation, the axes of the interface first, then free degrees of freedom."""


def excitation_block(context: Context) -> Block:
    """The excitation of the specimen in a loop; none in a quiet one."""
    pushed = context.specimen_excitation
    return silence(EXCITATION, "N") if pushed is None else pushed.block(EXCITATION)


def specimen_inputs(n: int) -> tuple[str, ...]:
    motion = (*channels("rig.displacement", "m", n), *channels("rig.velocity", "m/s", n))
    return (*names(motion), *names(channels("rig.acceleration", "m/s^2", n)), EXCITATION)


@kernel
def linear_forces(stiffness, damping, mass, excited, x, v, u, y):  # type: ignore[no-untyped-def]
    """Keep the motion, and the force of all but the elements."""
    n = y.size
    for i in range(n):
        x[i], v[i] = u[i], u[n + i]
        y[i] = -excited[i] * u[3 * n]
    multiply_add(stiffness, u[:n], y)
    multiply_add(damping, u[n : 2 * n], y)
    multiply_add(mass, u[2 * n : 3 * n], y)


def linear_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    """Without elements: the laws of all of them take long to compile."""
    linear_forces(p.stiffness, p.damping, p.mass, p.excited, s.x, s.v, u, y)
    return 0


class Specimen(RigSpecimen):
    """Mass, damping and stiffness between the interface axes, and nonlinear elements; what is left out is zero."""

    kind: Literal["specimen"] = "specimen"
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)] | None = None
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")] | None = None
    elements: tuple[Element, ...] = ()
    excited_axis: Annotated[int, Field(ge=1)] = 1

    @field_validator("damping", "mass")
    @classmethod
    def _same_shape(cls, matrix: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        stiffness = info.data.get("stiffness")
        if matrix is not None and stiffness is not None and matrix.shape != stiffness.shape:
            raise fault(
                f"a {matrix.shape[0]}×{matrix.shape[1]} matrix, but the stiffness is "
                f"{stiffness.shape[0]}×{stiffness.shape[1]}; "
                "give every matrix one row for each interface axis"
            )
        return matrix

    def axes(self) -> int | None:
        """Number of interface axes as the matrices say it; None if there are none."""
        given = [m for m in (self.stiffness, self.damping, self.mass) if m is not None]
        return len(given[0]) if given else None

    def matrices(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, C, K, (n, n) each."""
        none = np.zeros((n, n))
        return tuple(none if m is None else m for m in (self.mass, self.damping, self.stiffness))  # type: ignore[return-value]

    def check_axes(self, axes: int, place: str = "rig.specimen") -> None:
        """Raise a fault unless matrices and elements fit an interface of so many axes."""
        found = self.axes()
        if found is not None and found != axes:
            raise fault(
                f"{place} has {found}×{found} matrices where the interface has {axes} axis(es); give one row for each"
            )
        highest = max([self.excited_axis, *(dof for element in self.elements for dof in element.dofs)])
        if highest > axes:
            raise fault(f"{place} refers to axis {highest}, but the interface has {axes}; count axes from 1")

    def check_rotations(self, axes: Axes) -> None:
        """Raise a fault if an element is one of a rotation along an axis that is none, or the other way round."""
        said = zip(axes.names, axes.rotations, strict=True)
        of_axes = {dof: (bool(turns), f"axis '{name}'") for dof, (name, turns) in enumerate(said, start=1)}
        wrong = contradiction(self.elements, of_axes)
        if wrong is not None:
            raise fault(f"{wrong}; axes that are rotations are named rx, ry, rz", "specimen", "elements")

    @property
    def known(self) -> KnownSpecimen:
        """The specimen itself."""
        return self

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """Its elements that are not linear."""
        return tuple(f"a {element.law.kind} element" for element in self.elements if not element.law.linear)

    def stiffness_at_rest(self, axes: int) -> np.ndarray:
        """K with the elements at their initial stiffness, (axes, axes)."""
        return np.asarray(self.matrices(axes)[2] + assemble(self.elements, axes).stiffness)

    def matrices_at_rest(self, axes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, C and K with the elements at their initial damping and stiffness, (axes, axes) each."""
        mass, damping, _ = self.matrices(axes)
        return mass, damping + assemble(self.elements, axes).damping, self.stiffness_at_rest(axes)

    def motion_to_force(self, axes: int) -> StateSpace:
        """K, C and M side by side; it has no state."""
        mass, damping, stiffness = self.matrices_at_rest(axes)
        direct = np.hstack([stiffness, damping, mass])
        return StateSpace(np.zeros((0, 0)), np.zeros((0, 3 * axes)), np.zeros((axes, 0)), direct)

    def fast_mass(self, axes: int) -> np.ndarray:
        """Its mass, (axes, axes)."""
        return self.matrices(axes)[0]

    def attached_to(self, virtual: System, axes: int) -> System:
        """The emulated system, of the virtual part's degrees of freedom."""
        interface = virtual.displacement_outputs[:axes].T
        mass, damping, stiffness = self.matrices(axes)
        own, added = virtual.elements, assemble(self.elements, axes)
        pushed = np.zeros(axes)
        pushed[self.excited_axis - 1] = 1.0
        return System(
            mass=virtual.mass + interface @ mass @ interface.T,
            damping=virtual.damping + interface @ damping @ interface.T,
            stiffness=virtual.stiffness + interface @ stiffness @ interface.T,
            inputs=np.column_stack([virtual.inputs[:, :2], interface @ pushed]),
            displacement_outputs=virtual.displacement_outputs,
            velocity_outputs=virtual.velocity_outputs,
            acceleration_outputs=virtual.acceleration_outputs,
            elements=own.joined(added.along(added.direction @ interface.T)),
            displacement=virtual.displacement,
            velocity=virtual.velocity,
        )

    def scaled(self, share: float) -> Self | None:
        """The specimen with this share of its matrices; None if it has elements."""
        if self.elements:
            return None
        given = {"mass": self.mass, "damping": self.damping, "stiffness": self.stiffness}
        return self.unchecked_copy({key: share * m for key, m in given.items() if m is not None})

    def felt_in_motion(self, axes: int) -> tuple[str, ...]:
        """What of it is not felt in a slow test."""
        mass, damping, _ = self.matrices_at_rest(axes)
        return tuple(name for name, matrix in (("mass", mass), ("damping", damping)) if np.any(matrix))

    # --- on a rig that moves with it, such as a shaking table ---------------------------------------------------------

    def check_carried(self) -> None:
        """Raise a fault unless a rig can be integrated exactly together with it."""
        if self.nonlinearities:
            raise fault("an element is not linear, but table and specimen are integrated exactly; make it linear")

    def carried(self, n: int) -> Carried:
        """M, D, K and b of a rig's own equations."""
        mass, damping, _ = self.matrices(n)
        return mass, damping, self.stiffness_at_rest(n), np.eye(n)[:, [self.excited_axis - 1]]

    def carried_along(self, n: int) -> np.ndarray:
        """Free degrees of freedom where the interface stands, (free, n): there are none."""
        return np.zeros((0, n))

    def carried_responses(self) -> list[tuple[int, str]]:
        """Further outputs, by their place in ``carried`` and their quantity: there are none."""
        return []

    def response_channels(self) -> tuple[Channel, ...]:
        """Channels of further outputs: there are none."""
        return ()

    # --- on a simulated actuator --------------------------------------------------------------------------------------

    def block(self, n: int, x0: np.ndarray, dt: float) -> Block:
        mass, damping, stiffness = self.matrices(n)
        elements = assemble(self.elements, n)
        forces, states = loaded(elements, x0, np.zeros(n))
        excited = np.zeros(n)
        excited[self.excited_axis - 1] = 1.0
        step = linear_step
        if self.elements:
            from .specimen_elements import specimen_step as step
        return Block(
            name="specimen",
            step=step,
            inputs=specimen_inputs(n),
            outputs=channels("rig.force", "N", n, of="axis"),
            parameters={
                "stiffness": stored(stiffness),
                "damping": stored(damping),
                "mass": stored(mass),
                "law": elements.law,
                "terms": terms(elements.direction),
                "elements": elements.parameters,
                "excited": excited,
                "dt": dt,
            },
            state={**element_states(states), "x": np.zeros(n), "v": np.zeros(n)},
            frozen=(*HELD, "x", "v"),
            memory=("memory",),
            moving=moving(elements),
            initial=tuple(stiffness @ x0 + forces @ elements.direction),
            references=tuple(key for element in self.elements for key in element.law.references),
        )
