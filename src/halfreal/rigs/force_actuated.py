"""A rig whose actuators are commanded in force: shakers and voice coils without a position loop of their own.

The specimen (M_e, D_e, K_e) and the moving parts of the transfer system (M_a, D_a, K_a: coils, stingers, plates,
suspensions) move together, driven by the commands u, held over the step, and an excitation e(t) of the specimen::

    (M_e + M_a) y¨ + (D_e + D_a) y˙ + (K_e + K_a) y = u + b e          f = M_e y¨ + D_e y˙ + K_e y − b e

y are the interface displacements and f the force with which the specimen resists them, both of the end of the step.
The step is exact for a command that is held (C. F. Van Loan, IEEE Trans. Autom. Control 23 (1978) 395–404).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.context import Context
from ..contracts.quantities import Commands
from ..contracts.rig import RigBlocks
from ..contracts.system import Elements, System
from ..kernels.block import Block, channels
from ..kernels.linear import stored
from ..models.schemes.exact import discretise, exact_step
from ..settings import Matrix, Settings, fault
from .sensors import Sensors
from .specimen import EXCITATION, Specimen, excitation_block
from .with_sensors import SensedRig


class Moving(Settings):
    """What moves with the interface and is not the specimen; what is left out is zero."""

    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)] | None = None
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")] | None = None

    def matrices(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, D, K, (n, n) each."""
        none = np.zeros((n, n))
        return tuple(none if m is None else m for m in (self.mass, self.damping, self.stiffness))  # type: ignore[return-value]


class ForceActuated(SensedRig):
    """Specimen and transfer system driven by forces, and the sensors on them."""

    kind: Literal["force actuated"] = "force actuated"
    specimen: Specimen
    transfer: Moving = Field(default=Moving(), validate_default=True)
    sensors: Sensors = Sensors()

    @field_validator("specimen")
    @classmethod
    def _linear(cls, specimen: Specimen) -> Specimen:
        other = [element.law.kind for element in specimen.elements if not element.law.linear]
        if other:
            raise fault(f"an element is {other[0]}, but a force-actuated rig is integrated exactly; make it linear")
        return specimen

    @field_validator("transfer")
    @classmethod
    def _has_mass(cls, transfer: Moving, info: ValidationInfo) -> Moving:
        specimen = info.data.get("specimen")
        if specimen is None:
            return transfer
        given = [m for part in (specimen, transfer) for m in (part.mass, part.damping, part.stiffness)]
        sizes = sorted({len(m) for m in given if m is not None})
        if len(sizes) > 1:
            raise fault(f"matrices of {' and '.join(map(str, sizes))} rows; give one row for each interface axis")
        n = max(sizes, default=1)
        mass = specimen.matrices(n)[0] + transfer.matrices(n)[0]
        if np.linalg.eigvalsh(mass).min() <= 0.0:
            raise fault("specimen and transfer system have no mass in some direction; give them mass")
        return transfer

    def system(self, n: int, x0: np.ndarray) -> System:
        """Inputs u = (commands…, excitation), outputs y = (displacements…, forces…)."""
        mass, damping, _ = self.specimen.matrices(n)
        moving = self.transfer.matrices(n)
        stiffness = self.specimen.stiffness_at_rest(n)
        pushed = np.eye(n)[:, [self.specimen.excited_axis - 1]]
        zeros = np.zeros((n, n))
        return System(
            mass=mass + moving[0],
            damping=damping + moving[1],
            stiffness=stiffness + moving[2],
            inputs=np.hstack([np.eye(n), pushed]),
            displacement_outputs=np.vstack([np.eye(n), stiffness]),
            velocity_outputs=np.vstack([zeros, damping]),
            acceleration_outputs=np.vstack([zeros, mass]),
            elements=Elements.none(n),
            displacement=np.asarray(x0, dtype=float),
            velocity=np.zeros(n),
        )

    @property
    def commanded_in(self) -> Commands:
        return "force"

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Specimen and transfer system; sensors."""
        moving = self.block(command, context.period, context.start)
        resting = np.array(moving.initial)[: 2 * len(context.axes)]
        return self.sensed(context, [excitation_block(context), moving], resting)

    def block(self, commands: tuple[str, ...], dt: float, x0: np.ndarray) -> Block:
        """The block "specimen"."""
        n = len(commands)
        a, b, c, d = self.system(n, x0).first_order()
        d[n:, n] -= np.eye(n)[:, self.specimen.excited_axis - 1]
        transition, held, _ = discretise(a, b, dt, "zero")
        state = np.concatenate([x0, np.zeros(n)])
        return Block(
            name="specimen",
            step=exact_step,
            inputs=(*commands, EXCITATION),
            outputs=(*channels("rig.displacement", "m", n, of="axis"), *channels("rig.force", "N", n, of="axis")),
            parameters={
                "transition": stored(transition),
                "earlier": stored(np.zeros_like(held)),
                "later": stored(held),  # the command of this tick acts over the step that begins with it
                "outputs": stored(c),
                "direct": stored(d),
            },
            state={"x": state, "u": np.zeros(n + 1), "started": 1.0, "before": np.zeros(2 * n)},
            frozen=("started", "before", "u"),
            initial=(*x0, *(c[n:] @ state)),
            references=("vanloan1978",),
        )
