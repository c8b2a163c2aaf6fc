"""What virtual substructures have in common: how an excitation acts, and the block's wiring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ... import units
from ...contracts.axes import OF_ROTATIONS
from ...contracts.system import Method, System
from ...kernels.block import Block, Channel, channels
from ...settings import fault
from ..schemes.scheme import Scheme

ActsAs = Literal["none", "support", "force", "ground"]
"""How the excitation of the virtual substructure acts: not at all, by moving its supports, as a force, by shaking its
ground."""

Quantity = Literal["displacement", "velocity", "acceleration"]
UNITS: dict[str, str] = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}


def response_unit(quantity: Quantity, rotation: bool) -> str:
    """The unit of a response, of a displacement or of a rotation."""
    return OF_ROTATIONS[UNITS[quantity]] if rotation else UNITS[quantity]


EXCITATION = ("excitation.virtual", "excitation.virtual.rate")


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
            *channels("target", "m", axes),
            *(Channel(f"virtual.{name}", unit) for name, unit in responses.items()),
        ),
        parameters=method.parameters,
        state=method.state,
        frozen=method.frozen,
        memory=tuple(name for name in ("permanent",) if name in method.state),
        faults=method.faults,
        references=(*method.references, *references),
    )


def check_feedback(axes: int, feedback: tuple[str, ...]) -> None:
    if len(feedback) != axes:
        raise ValueError(
            f"{len(feedback)} feedback channel(s) for an interface of {axes} axis(es); give one for each axis"
        )


def check_step(scheme: Scheme, system: System, dt: float) -> None:
    """Refuse a step at which the scheme is not stable for the substructure on its own."""
    limit = scheme.critical_step(system)
    kind = getattr(scheme, "kind", type(scheme).__name__)
    others = "'operator splitting'" if kind == "explicit newmark" else "'exact', 'newmark' or 'kr-alpha'"
    remedy = f"take a scheme that is stable at any step, such as {others}"
    if limit == 0.0:
        raise fault(
            f"'{kind}' grows at any step where a mode has no damping, as here; add damping, or {remedy}", "scheme"
        )
    if limit is not None and dt > limit:
        raise fault(
            f"'{kind}' is stable up to a step of {units.text(limit, 's')} for this substructure, and the step is "
            f"{units.text(dt, 's')}; shorten it, or {remedy}",
            "scheme",
        )
