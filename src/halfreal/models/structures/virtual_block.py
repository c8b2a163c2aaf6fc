"""What virtual substructures have in common: the block and its wiring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ...contracts.axes import OF_ROTATIONS
from ...contracts.context import Context
from ...contracts.quantities import ActsAs
from ...contracts.system import Method
from ...contracts.virtual import Virtual
from ...kernels.block import Block, Channel, channels

Quantity = Literal["displacement", "velocity", "acceleration"]
UNITS: dict[str, str] = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}


def response_unit(quantity: Quantity, rotation: bool) -> str:
    """The unit of a response, of a displacement or of a rotation."""
    return OF_ROTATIONS[UNITS[quantity]] if rotation else UNITS[quantity]


EXCITATION = ("excitation.virtual", "excitation.virtual.rate")


class OneBlock(Virtual):
    """A virtual substructure that is a single block."""

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", which reads the named feedback channels and writes the target."""
        raise NotImplementedError

    def blocks(self, context: Context) -> list[Block]:
        return [self.block(context.step, context.acts_as, context.channels("feedback"))]


def virtual_block(
    method: Method,
    *,
    axes: int,
    excitation: tuple[str, ...],
    feedback: tuple[str, ...],
    responses: Mapping[str, str],
    references: tuple[str, ...] = (),
) -> Block:
    """The block "virtual" around a method: ``responses`` are further outputs and their units."""
    check_feedback(axes, feedback)
    return Block(
        name="virtual",
        step=method.step,
        inputs=(*excitation, *feedback),
        outputs=(
            *channels("target", "m", axes, of="axis"),
            *(Channel(f"virtual.{name}", unit) for name, unit in responses.items()),
        ),
        parameters=method.parameters,
        state=method.state,
        frozen=method.frozen,
        memory=tuple(name for name in ("permanent",) if name in method.state),
        faults=method.faults,
        references=(*method.references, *references),
        jacobian=method.jacobian,
    )


def check_feedback(axes: int, feedback: tuple[str, ...]) -> None:
    if len(feedback) != axes:
        raise ValueError(
            f"{len(feedback)} feedback channel(s) for an interface of {axes} axis(es); give one for each axis"
        )
