"""A virtual substructure by its modes, as a modal test or a finite-element program gives them:

    m_i η¨_i + 2 ζ_i ω_i m_i η˙_i + m_i ω_i² η_i = φ_if e − Γ_i a_g − Σ_j φ_ij f_j,    target_j = Σ_i φ_ij η_i

====== =========================================================================================
η      modal coordinates
φ_ij   shape of mode i at interface axis j; φ_if where an excitation force e acts
m_i    modal mass, in the scaling of the shapes
Γ_i    φ_iᵀ M ι: participation of a ground acceleration a_g
f_j    forces fed back at the interface
====== =========================================================================================
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.quantities import ActsAs
from ...contracts.system import Elements, System
from ...kernels.block import Block
from ...settings import Matrix, Settings, Vector, fault
from ..schemes.any_scheme import AnyScheme
from ..schemes.exact import Exact
from . import virtual_block as virtual
from .integrated import Integrated
from .virtual_block import Quantity


class ModalResponse(Settings):
    """A further output to record, by the modes' shapes at the place."""

    shape: Annotated[np.ndarray, Vector("1")]
    quantity: Quantity
    rotation: bool = False
    """Whether the response is a rotation, in rad."""

    @property
    def unit(self) -> str:
        return virtual.response_unit(self.quantity, self.rotation)


class Modes(Integrated):
    """Modes of a structure and their shapes at the interface."""

    kind: Literal["modes"] = "modes"
    frequency: Annotated[np.ndarray, Vector("Hz", least=0)]
    damping: Annotated[np.ndarray, Vector("1", least=0)]
    """Damping ratio: one for all modes, or one per mode."""
    mass: Annotated[np.ndarray, Vector("kg", above=0)]
    interface: Annotated[np.ndarray, Matrix("1")]
    """Mode shapes at the interface: one row per axis, one column per mode."""
    force_shape: Annotated[np.ndarray, Vector("1")] | None = None
    ground: Annotated[np.ndarray, Vector("kg")] | None = None
    """Participation Γ of a ground acceleration."""
    responses: dict[Annotated[str, Field(min_length=1)], ModalResponse] = Field(default_factory=dict)
    scheme: AnyScheme = Exact()

    @field_validator("damping", "mass", "force_shape", "ground")
    @classmethod
    def _one_for_each_mode(cls, vector: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        n = _modes(info)
        shared = info.field_name == "damping" and vector is not None and len(vector) == 1
        if vector is not None and n is not None and len(vector) != n and not shared:
            raise fault(f"a vector of length {len(vector)} for {n} frequencies; give one entry for each mode")
        return vector

    @field_validator("interface")
    @classmethod
    def _one_column_each(cls, shapes: np.ndarray, info: ValidationInfo) -> np.ndarray:
        n = _modes(info)
        if n is not None and shapes.shape[1] != n:
            raise fault(f"{shapes.shape[1]} columns for {n} frequencies; give one column for each mode")
        return shapes

    @field_validator("responses")
    @classmethod
    def _shapes_fit(cls, responses: dict[str, ModalResponse], info: ValidationInfo) -> dict[str, ModalResponse]:
        n = _modes(info)
        for name, response in responses.items():
            if n is not None and len(response.shape) != n:
                raise fault(f"{len(response.shape)} entries for {n} frequencies; give one for each mode", name, "shape")
        return responses

    def check_excitation(self, excitation: ActsAs) -> None:
        """Raise a fault if the modes do not say how this excitation acts."""
        if excitation == "support":
            raise fault(
                "a support displacement cannot act on modes; give a force, or describe a structure by its matrices"
            )
        if excitation == "force" and self.force_shape is None:
            raise fault(
                "a force acts through virtual.force_shape, which is not given; give the modes' shapes at its place"
            )
        if excitation == "ground" and self.ground is None:
            raise fault(
                "a ground acceleration acts through virtual.ground, which is not given; give each mode's participation"
            )

    @property
    def axes(self) -> int:
        """Number of interface axes."""
        return len(self.interface)

    def system(self, excitation: ActsAs) -> System:
        """The modal equations, with inputs and outputs like those of ``Structure.system``."""
        self.check_excitation(excitation)
        n = len(self.frequency)
        omega = 2.0 * np.pi * self.frequency
        inputs = np.zeros((n, 2 + self.axes))
        if excitation == "force" and self.force_shape is not None:
            inputs[:, 0] = self.force_shape
        elif excitation == "ground" and self.ground is not None:
            inputs[:, 0] = -self.ground
        inputs[:, 2:] = -self.interface.T
        outputs = {
            quantity: np.vstack(
                [
                    self.interface * (quantity == "displacement"),
                    *(response.shape * (response.quantity == quantity) for response in self.responses.values()),
                ]
            )
            for quantity in virtual.UNITS
        }
        return System(
            mass=np.diag(self.mass),
            damping=np.diag(2.0 * self.damping * omega * self.mass),
            stiffness=np.diag(self.mass * omega**2),
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
            responses={name: response.unit for name, response in self.responses.items()},
        )


def _modes(info: ValidationInfo) -> int | None:
    frequency = info.data.get("frequency")
    return None if frequency is None else len(frequency)
