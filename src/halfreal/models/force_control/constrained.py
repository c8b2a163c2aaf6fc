"""A virtual substructure that receives the specimen's displacement and returns the force that is wanted of it.

    M q¨ + C q˙ + K q + Σ_e b_e r_e(b_eᵀq) + hᵀ f = excitation,    h q = d

Stiff specimens are tested in force control: the command is the force f on the specimen (positive where it pulls the
specimen to positive displacement; r = −f in F. Nordtorp, G. Abbiati, "A DAE solver for coordination of force-controlled
hybrid testing", engrXiv preprint), and its displacement d is measured.  One row of the constraint h for each axis of
the interface; degrees of freedom count from 1.  How f is found is the ``method``: ``baumgarte.py``, ``index_one.py``,
``index_one_generalized_alpha.py``; when what holds: ``constrained_steps.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ... import units
from ...contracts.context import Context
from ...contracts.finding import Finding
from ...contracts.known import Known
from ...contracts.quantities import ActsAs, Commands
from ...contracts.state_space import StateSpace
from ...contracts.system import System
from ...kernels.block import Block, Channel, channels, names
from ...settings import Matrix, fault
from ..excitations import virtual_excitation
from ..structures import virtual_block as virtual
from ..structures.structure import Response, Structure, StructureParts, dofs_of
from .advice import advice
from .baumgarte import Baumgarte
from .index_one import IndexOne
from .index_one_generalized_alpha import IndexOneGeneralizedAlpha

if TYPE_CHECKING:
    from ...contracts.rig import Rig
    from ...studies.check.examined import Examined

ForceMethod = Annotated[Baumgarte | IndexOne | IndexOneGeneralizedAlpha, Field(discriminator="kind")]


class Constrained(StructureParts):
    """A structure that commands a force of the specimen and receives the specimen's displacement.

    With the interface displaced at the start, the first exchange commands the force assumed by the method, with index-1
    splitting K̂hq: a specimen of another stiffness has another force there, and is subjected to a step.
    """

    kind: Literal["constrained"] = "constrained"
    targets: ClassVar[Commands] = "force"
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="positive")]
    """Mass of every degree of freedom, needed because the force on the specimen is computed from accelerations."""
    constraint: Annotated[np.ndarray, Matrix("1")]
    """h, one row per axis, one column per degree of freedom."""
    method: ForceMethod

    @field_validator("constraint")
    @classmethod
    def _selects(cls, h: np.ndarray, info: ValidationInfo) -> np.ndarray:
        n = dofs_of(info)
        if n is not None and h.shape[1] != n:
            raise fault(
                f"a {h.shape[0]} × {h.shape[1]} constraint, but the mass matrix is {n} × {n}; give one column for each "
                "degree of freedom"
            )
        for row, entries in enumerate(h, start=1):
            if not entries.any():
                raise fault(
                    f"row {row} is zero and selects no displacement; name what the specimen's axis {row} measures"
                )
        rank = int(np.linalg.matrix_rank(h))
        if rank < len(h):
            raise fault(
                f"{len(h)} rows of rank {rank}: an axis measures what others already measure, so its force cannot be "
                f"distinguished from theirs; remove {len(h) - rank} row(s)"
            )
        return h

    @field_validator("responses")
    @classmethod
    def _names_free(cls, responses: dict[str, Response]) -> dict[str, Response]:
        taken = [name for name in responses if name.split(".")[0] in ("displacement", "interface", "gap", "stage")]
        if taken:
            raise fault(f"'virtual.{taken[0]}' is always written; choose another name", taken[0])
        return responses

    @field_validator("method")
    @classmethod
    def _method_fits(cls, method: ForceMethod, info: ValidationInfo) -> ForceMethod:
        h, given = info.data.get("constraint"), method.reckoned_stiffness
        if h is None:
            return method
        if given is not None and len(given) != len(h):
            raise fault(
                f"a {len(given)} × {len(given)} stiffness for {len(h)} axis(es); give one row for each row of the "
                "constraint",
                "stiffness",
            )
        if method.probing is not None and len(h) > 1:
            raise fault(
                f"the stiffness is estimated along one axis only, but the interface has {len(h)}; give "
                "method.stiffness",
                "estimate",
            )
        q = info.data.get("initial_displacement")
        if method.probing is not None and q is not None and np.any(h @ q != 0.0):
            raise fault(
                f"the substructure starts with the interface at {units.text(float((h @ q)[0]), 'm')}, but the force "
                "that holds the specimen there is unknown until its stiffness is known; give "
                "method.stiffness, or start "
                "at rest",
                "estimate",
            )
        return method

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> int:
        return len(self.constraint)

    @property
    def ticks_per_step(self) -> int:
        """Exchanges a step: the loop's tick is Δt / ``ticks_per_step``."""
        return self.method.ticks

    @property
    def probing_ticks(self) -> int:
        """Ticks before the test begins, in which the specimen's stiffness is found out."""
        return 0 if self.method.probing is None else self.method.probing.exchanges

    def shifts(self, dt: float) -> tuple[float, ...]:
        """By how much [s] the excitation of each stage is ahead of the loop's time at the tick where it is read.

        A stage is read at the tick of its own if there is one exchange a stage, else at the tick of the step.
        """
        ticks = self.ticks_per_step
        return tuple(
            (node - (stage if ticks > 1 else 0) / ticks - self.probing_ticks / ticks) * dt
            for stage, node in enumerate(self.method.nodes)
        )

    def initial_target(self) -> np.ndarray:
        q = self.initial_displacement
        return np.zeros(self.axes) if q is None else np.asarray(self.constraint @ q)

    def initial_force(self) -> np.ndarray:
        """Force under which the specimen is calculated to stand at the start [N]; zero if its stiffness is not
        known."""
        k, q = self.method.reckoned_stiffness, self.initial_displacement
        return np.zeros(self.axes) if k is None or q is None else np.asarray(k @ self.constraint @ q)

    def with_stiffness(self, stiffness: np.ndarray) -> Self:
        """The same with K̂ given instead of found out, for analysis."""
        return self.unchecked_copy({"method": self.method.with_stiffness(np.atleast_2d(stiffness))})

    def at_rest(self, rig: Rig | None = None) -> Self:
        """A stiffness that is found out at the beginning of the test is taken to be that of the rig's model."""
        probing, specimen = self.method.probing, None if rig is None else rig.known_specimen
        if probing is None or specimen is None:
            return super().at_rest(rig)
        return self.with_stiffness(probing.factor * specimen.stiffness_at_rest(self.axes)).at_rest()

    @property
    def caveat(self) -> str | None:
        if all(element.law.linear for element in self.elements):
            return None
        return "nonlinear elements are linearised at their initial stiffness; the rehearsal includes the nonlinearity"

    def linear_model(self) -> StateSpace | None:
        """None: it is fed back displacements and requires forces."""
        return None

    def system(self, excitation: ActsAs) -> System:
        """Matrices; inputs u = (excitation, its rate, force on the specimen…), outputs y = (hq…, responses…)."""
        plain = self._structure().system(excitation)
        axes, h = self.axes, self.constraint
        displacement, velocity, acceleration = (
            np.vstack([top, rows[1:]])
            for top, rows in (
                (h, plain.displacement_outputs),
                (np.zeros_like(h), plain.velocity_outputs),
                (np.zeros_like(h), plain.acceleration_outputs),
            )
        )
        inputs = np.hstack([plain.inputs[:, :2], -h.T])
        assert inputs.shape[1] == 2 + axes
        return replace(
            plain,
            inputs=inputs,
            displacement_outputs=displacement,
            velocity_outputs=velocity,
            acceleration_outputs=acceleration,
        )

    def fits(self, known: Known) -> None:
        super().fits(known)
        if known.step is not None:
            self.check_step(known.step * self.ticks_per_step)

    def check_slow(self) -> None:
        """A displacement is measured for the force of the exchange before in any test."""

    def check_step(self, dt: float) -> None:
        """Raise a fault if the step Δt is too long for the method even with a specimen that is just as calculated."""
        limit = self.method.critical_step(self.driven("none"), self.constraint)
        if limit is not None and dt > limit:
            raise fault(
                f"'{self.method.kind}' is stable up to a step of {units.text(limit, 's')} for this substructure with "
                f"its specimen, but the step is {units.text(dt, 's')}; shorten it, or use 'index 1 generalized-alpha'",
                "method",
            )

    def findings(self, examined: Examined) -> Iterable[Finding]:
        """On its stiffness estimate, its start and its method."""
        return advice(self, examined)

    def blocks(self, context: Context) -> list[Block]:
        """An excitation for each stage, and the block "virtual"."""
        whole = context.step * self.ticks_per_step
        shifts = enumerate(self.shifts(whole), start=1)
        stages = [virtual_excitation(context, f"excitation.stage.{i}", shift) for i, shift in shifts]
        excitations = tuple(name for stage in stages for name in names(stage.outputs))
        return [*stages, self.block(whole, context.acts_as, context.channels("feedback"), excitations)]

    def block(self, dt: float, acts_as: ActsAs, feedback: tuple[str, ...], excitations: tuple[str, ...]) -> Block:
        """The block "virtual" for a step Δt, which reads displacements and writes the force on the specimen.

        ``excitations`` are the channels (value, rate) of the excitation for each of ``shifts(dt)``, one pair after
        another.  Its outputs, after the target: ``virtual.displacement`` (all q), ``virtual.interface`` (hq),
        responses, ``virtual.gap`` (hq − d of the exchange that has just been answered), ``virtual.stage`` (from 0).
        """
        virtual.check_feedback(self.axes, feedback)
        if len(excitations) != 2 * len(self.method.nodes):
            raise ValueError(
                f"{len(excitations)} excitation channels for {len(self.method.nodes)} stage(s); give value and rate "
                "for each of shifts(dt)"
            )
        method = self.method.method(self.driven(acts_as), self.constraint, dt)
        return Block(
            name="virtual",
            step=method.step,
            inputs=(*excitations, *feedback),
            outputs=(
                *channels("target", "N", self.axes, of="axis"),
                *channels("virtual.displacement", "m", self.dofs),
                *channels("virtual.interface", "m", self.axes, of="axis"),
                *(Channel(f"virtual.{name}", response.unit) for name, response in self.responses.items()),
                *channels("virtual.gap", "m", self.axes, of="axis"),
                Channel("virtual.stage", "1"),
            ),
            parameters=method.parameters,
            state=method.state,
            frozen=method.frozen,
            memory=("memory",),
            moving=method.moving,
            faults=method.faults,
            references=tuple(
                dict.fromkeys([*method.references, *(key for e in self.elements for key in e.law.references)])
            ),
        )

    def driven(self, excitation: ActsAs) -> System:
        """The system as methods take it: no input but the excitation, outputs (q…, hq…, responses…)."""
        system, n = self.system(excitation), self.dofs
        still = np.zeros((n, n))
        return replace(
            system,
            inputs=system.inputs[:, :2],
            displacement_outputs=np.vstack([np.eye(n), system.displacement_outputs]),
            velocity_outputs=np.vstack([still, system.velocity_outputs]),
            acceleration_outputs=np.vstack([still, system.acceleration_outputs]),
        )

    def _structure(self) -> Structure:
        """The same masses, springs and dampers with a plain interface."""
        shared = (name for name in type(self).model_fields if name in Structure.model_fields and name != "kind")
        fields = {name: getattr(self, name) for name in shared}
        return Structure.model_construct(**fields, interface=(1,))
