"""A specimen with degrees of freedom of its own, moved at its interface, such as a store or a piping on a table.

    f = G_p x           (``halfreal.models.structures.base_excited``)

Its free degrees of freedom are integrated exactly for base velocities and accelerations that are linear over the rig's
step (``schemes/exact.py``).  The interface must be statically determined: the specimen follows it as a rigid body,
and what its base is moved with determines everything.

Matrices are in SI units; where a degree of freedom is a rotation, its entries are in kg m, kg m², N, N m.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.specimen import KnownSpecimen, RigSpecimen
from ..contracts.state_space import StateSpace
from ..contracts.system import System
from ..kernels.block import Block, Channel, channels
from ..models.schemes.exact import exact_method
from ..models.structures.base_excited import BaseExcited, InterfaceError, Simplification
from ..models.structures.damping import Rayleigh, modal_damping
from ..models.structures.structure import Dof, Response
from ..settings import Matrix, Vector, fault
from .specimen import Carried, specimen_inputs


class FlexibleSpecimen(RigSpecimen):
    """Mass, damping and stiffness between all degrees of freedom, and which of them are the interface."""

    kind: Literal["flexible"] = "flexible"
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")]
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True, definite="semi")]
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    rayleigh: Rayleigh | None = None
    modal_damping: Annotated[np.ndarray, Vector("1", least=0)] | None = None
    """Damping ratio of the modes of the free specimen: one for all, or one per mode; rigid-body motions are not
    damped.
    """
    interface: Annotated[tuple[Dof, ...], Field(min_length=1)]
    """One degree of freedom per interface axis, counted from 1."""
    excited_dof: Dof | None = None
    """Point where an excitation of the specimen acts; default: the first interface axis."""
    responses: dict[Annotated[str, Field(min_length=1)], Response] = Field(default_factory=dict)
    """Additional outputs to record, as channels ``rig.NAME``: motion of a degree of freedom relative to the ground."""
    simplification: Simplification = "none"

    @field_validator("stiffness", "damping")
    @classmethod
    def _as_large_as_mass(cls, matrix: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        mass = info.data.get("mass")
        if matrix is not None and mass is not None and matrix.shape != mass.shape:
            raise fault(
                f"a {matrix.shape[0]} × {matrix.shape[1]} matrix, but the mass matrix is "
                f"{len(mass)} × {len(mass)}; give "
                "every matrix one row and one column for each degree of freedom"
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
        if ratios is not None and mass is not None and len(ratios) not in (1, len(mass)):
            raise fault(f"{len(ratios)} damping ratios for {len(mass)} modes; give one for all modes or {len(mass)}")
        return ratios

    @field_validator("interface", "excited_dof", "responses")
    @classmethod
    def _within_range(cls, value: object, info: ValidationInfo) -> object:
        mass = info.data.get("mass")
        if isinstance(value, dict):
            named = [response.dof for response in value.values()]
        else:
            named = list(value) if isinstance(value, tuple) else [value] if isinstance(value, int) else []
        n = math.inf if mass is None else len(mass)
        beyond = [dof for dof in named if dof > n]
        if beyond:
            raise fault(f"degree of freedom {beyond[0]} where the mass matrix has {n}; count from 1")
        return value

    @field_validator("interface")
    @classmethod
    def _statically_determined(cls, interface: tuple[Dof, ...], info: ValidationInfo) -> tuple[Dof, ...]:
        mass, stiffness = info.data.get("mass"), info.data.get("stiffness")
        if len(set(interface)) < len(interface):
            raise fault(f"the interface {list(interface)} names a degree of freedom twice; name each once, from 1 on")
        if mass is None or stiffness is None:
            return interface
        try:
            BaseExcited(mass, np.zeros_like(mass), stiffness, tuple(dof - 1 for dof in interface))
        except InterfaceError as error:
            raise fault(str(error)) from error
        return interface

    def axes(self) -> int:
        """Number of interface axes."""
        return len(self.interface)

    def check_axes(self, axes: int, place: str = "rig.specimen") -> None:
        """Raise a fault unless the interface has this number of axes."""
        if len(self.interface) != axes:
            raise fault(
                f"{place} has an interface of {len(self.interface)} degree(s) of freedom where the virtual part "
                f"has {axes} axis(es); name one degree of freedom for each"
            )

    def base_excited(self) -> BaseExcited:
        """The specimen as it acts on its base."""
        return BaseExcited(self.mass, self.damping_matrix(), self.stiffness, tuple(dof - 1 for dof in self.interface))

    def damping_matrix(self) -> np.ndarray:
        """D, (n, n)."""
        if self.damping is not None:
            return self.damping
        if self.rayleigh is not None:
            return self.rayleigh.matrix(self.mass, self.stiffness)
        if self.modal_damping is not None:
            return modal_damping(self.mass, self.stiffness, self.modal_damping)
        return np.zeros_like(self.mass)

    def pushed(self) -> np.ndarray:
        """How the specimen's excitation acts, (n, 1)."""
        dof = self.interface[0] if self.excited_dof is None else self.excited_dof
        return np.eye(len(self.mass))[:, [dof - 1]]

    @property
    def known(self) -> KnownSpecimen:
        """The specimen itself."""
        return self

    def stiffness_at_rest(self, axes: int) -> np.ndarray:
        """None, (axes, axes): statically determined, it follows every slow motion of the interface as a rigid body."""
        return np.zeros((axes, axes))

    def matrices_at_rest(self, axes: int) -> None:
        """None: it has degrees of freedom of its own."""
        return None

    def motion_to_force(self, axes: int) -> StateSpace:
        """Its free degrees of freedom, moved by velocity and acceleration of the interface."""
        a, b, c, d = self.base_excited().first_order(self.simplification)
        return StateSpace(a, np.hstack([np.zeros((len(a), axes)), b]), c, np.hstack([np.zeros((axes, axes)), d]))

    def fast_mass(self, axes: int) -> np.ndarray:
        """What does not stay behind in a fast motion."""
        return self.base_excited().fast_mass

    def attached_to(self, virtual: System, axes: int) -> System:
        """The emulated system, of (q, u_a): virtual part and specimen as one."""
        part = self.base_excited()
        n, free = virtual.dofs, len(part.free)
        interface = virtual.displacement_outputs[:axes]
        # the specimen's displacements out of those of the whole
        place = np.zeros((len(part.mass), n + free))
        place[list(part.interface), :n] = interface
        place[list(part.free), n:] = np.eye(free)

        def joined(own: np.ndarray, added: np.ndarray) -> np.ndarray:
            whole = place.T @ added @ place
            whole[:n, :n] += own
            return np.asarray(whole)

        def wider(rows: np.ndarray) -> np.ndarray:
            return np.hstack([rows, np.zeros((len(rows), free))])

        moved = (part.transmission @ interface @ start for start in (virtual.displacement, virtual.velocity))
        displacement, velocity = (
            np.concatenate(pair) for pair in zip((virtual.displacement, virtual.velocity), moved, strict=True)
        )
        return System(
            mass=joined(virtual.mass, part.mass),
            damping=joined(virtual.damping, part.damping),
            stiffness=joined(virtual.stiffness, part.stiffness),
            inputs=np.hstack([wider(virtual.inputs[:, :2].T).T, place.T @ self.pushed()]),
            displacement_outputs=wider(virtual.displacement_outputs),
            velocity_outputs=wider(virtual.velocity_outputs),
            acceleration_outputs=wider(virtual.acceleration_outputs),
            elements=virtual.elements.along(wider(virtual.elements.direction)),
            displacement=displacement,
            velocity=velocity,
        )

    def scaled(self, share: float) -> Self | None:
        """The specimen with this share of its matrices."""
        given = {"mass": self.mass, "damping": self.damping, "stiffness": self.stiffness}
        return self.unchecked_copy({key: share * m for key, m in given.items() if m is not None})

    def felt_in_motion(self, axes: int) -> tuple[str, ...]:
        """What of it is not felt in a slow test."""
        return ("mass", *(["damping"] if np.any(self.damping_matrix()) else []))

    # --- on a rig that moves with it, such as a shaking table ---------------------------------------------------------

    def check_carried(self) -> None:
        """Raise a fault unless a rig can be integrated exactly together with it."""
        if self.simplification != "none":
            raise fault(
                f"'{self.simplification}' on a shaking table, which moves with the whole specimen; give \"none\"",
                "simplification",
            )

    def carried(self, n: int) -> Carried:
        """M, D, K and b of a rig's own equations."""
        part = self.base_excited()
        order = [*part.interface, *part.free]
        mass, damping, stiffness = (m[np.ix_(order, order)] for m in (part.mass, part.damping, part.stiffness))
        return mass, damping, stiffness, self.pushed()[order]

    def carried_along(self, n: int) -> np.ndarray:
        """Free degrees of freedom where the interface stands, (free, n)."""
        return self.base_excited().transmission

    def carried_responses(self) -> list[tuple[int, str]]:
        """Further outputs, by their place in ``carried`` and their quantity."""
        part = self.base_excited()
        order = [*part.interface, *part.free]
        return [(order.index(one.dof - 1), one.quantity) for one in self.responses.values()]

    def response_channels(self) -> tuple[Channel, ...]:
        return tuple(Channel(f"rig.{name}", one.unit) for name, one in self.responses.items())

    def block(self, n: int, x0: np.ndarray, dt: float) -> Block:
        """The block "specimen": reads the interface's displacement, velocity and acceleration, gives the force."""
        part = self.base_excited()
        a, b, c, d = part.first_order(self.simplification, self.pushed())
        unmoved = np.zeros((len(a), n))
        b = np.hstack([unmoved, b])
        c, d = (
            np.vstack([c, np.zeros((len(self.responses), len(a)))]),
            np.vstack([np.hstack([np.zeros((n, n)), d]), np.zeros((len(self.responses), b.shape[1]))]),
        )
        for row, response in enumerate(self.responses.values(), start=n):
            c[row], d[row] = self._response(part, response, a, b)
        if not len(a):  # a rigid specimen; a block's arrays are not empty
            a, b, c = -np.eye(1), np.zeros((1, b.shape[1])), np.zeros((len(c), 1))
        method = exact_method((a, b, c, d), np.zeros(len(a)), dt, "first")
        return Block(
            name="specimen",
            step=method.step,
            inputs=specimen_inputs(n),
            outputs=(*channels("rig.force", "N", n, of="axis"), *self.response_channels()),
            parameters=method.parameters,
            state=method.state,
            frozen=method.frozen,
            references=("dlr", *method.references),
        )

    @staticmethod
    def _response(part: BaseExcited, response: Response, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of C and D for the motion of one degree of freedom against the ground: T_G u_b + q, or its rates."""
        na, nb = len(part.free), len(part.interface)
        order = ("displacement", "velocity", "acceleration").index(response.quantity)
        c, d, dof = np.zeros(2 * na), np.zeros(b.shape[1]), response.dof - 1
        if dof in part.interface:
            d[order * nb + part.interface.index(dof)] = 1.0
            return c, d
        i = part.free.index(dof)
        d[order * nb : (order + 1) * nb] = part.transmission[i]
        if order < 2:
            c[order * na + i] = 1.0
            return c, d
        return a[na + i], d + b[na + i]
