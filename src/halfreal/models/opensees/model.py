"""A virtual substructure that OpenSees computes: a model file of openseespy, in a process of its own.

Central differences, one step a tick:

    M (q_{n+1} − 2 q_n + q_{n−1}) / Δt² + C (q_{n+1} − q_{n−1}) / (2 Δt) + R(q_n) + B r_n = F_n

R are the forces of OpenSees' elements, F its load patterns and r_n the specimen's force at q_n, which is measured
before q_{n+1} is required: Newmark's explicit method (``schemes/explicit_newmark.py``), which therefore replaces
where the loop is linearised, with mass, damping and tangent stiffness of the model at rest.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.context import Context
from ...contracts.foreign_code import ForeignCode
from ...contracts.quantities import ActsAs
from ...contracts.system import Elements, System
from ...contracts.virtual import Virtual
from ...kernels.atomic import load_word, store_word
from ...kernels.block import Block
from ...kernels.clock import now, sleep_until
from ...kernels.foreign import put_real, real_at
from ...kernels.trust import check as check_trust
from ...settings import Number, Settings, fault, folder
from ...settings import stored as from_a_run_file
from ..schemes.explicit_newmark import ExplicitNewmark
from ..structures import virtual_block as virtual
from .driver import OpenSeesError, Stepper, ask
from .process import ASKED, DONE, FAILED, HEAD, STATUS

if TYPE_CHECKING:
    from ...definition.definition import Definition

STEP_FAILED, HAS_ENDED, TOO_LATE, SET_BACK = 1, 2, 3, 4
SPIN, NAP = 50_000, 20_000
"""Nanoseconds for which a result is watched for, and then of every sleep in between."""


class Place(Settings):
    """A degree of freedom of a node, counted from 1 as OpenSees does."""

    node: int
    dof: Annotated[int, Field(ge=1)]


class OpenSeesResponse(Place):
    """What is recorded of a degree of freedom."""

    quantity: virtual.Quantity = "displacement"


class OpenSeesModel(Virtual, ForeignCode):
    """A structure that OpenSees computes, in a process of its own: ``model`` is a Python file that builds it with
    openseespy when it is run, or a Tcl file (.tcl): nodes, elements, masses on every degree of freedom, damping, and
    the load patterns that excite it.  It is integrated by central differences, one step a tick, in N, m, s."""

    kind: Literal["opensees"] = "opensees"
    model: str
    """File, relative to the definition's folder."""
    interface: Annotated[tuple[Place, ...], Field(min_length=1)]
    """Degrees of freedom shared with the specimen, one per axis."""
    responses: dict[Annotated[str, Field(min_length=1)], OpenSeesResponse] = Field(default_factory=dict)
    whole: str | None = None
    """Model file of the whole structure, including the specimen as OpenSees elements, for the [reference]."""
    timeout: Annotated[float, Number("s", above=0)] = 1.0
    """Timeout of a step; a longer one trips the test."""

    @field_validator("model", "whole")
    @classmethod
    def _there(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name is None or from_a_run_file(info):
            return name
        path = (folder(info) / name).resolve()
        if not path.is_file():
            raise fault(f"there is no file {path}; name it relative to the definition's folder")
        return str(path)

    @property
    def file(self) -> Path:
        return Path(self.model)

    def hashes(self) -> dict[str, str]:
        files = [self.file, *([] if self.whole is None else [Path(self.whole)])]
        return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() if one.exists() else "" for one in files}

    @property
    def axes(self) -> int:
        return len(self.interface)

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return ("virtual: an OpenSees model",)

    def check_slow(self) -> None:
        """A force is taken for the answer to the target before."""

    def check_excitation(self, excitation: ActsAs) -> None:
        if excitation != "none":
            raise fault("OpenSees excites its model by its own load patterns; define the excitation in the model file")

    def _told(self, dt: float, model: str | None = None) -> dict[str, Any]:
        places = [[one.node, one.dof] for one in self.interface]
        outputs = [[*one, "displacement"] for one in places]
        outputs += [[one.node, one.dof, one.quantity] for one in self.responses.values()]
        return {"model": model or self.model, "interface": places, "outputs": outputs, "dt": dt}

    def system(self, excitation: ActsAs) -> System:
        """Mass, damping and tangent stiffness at rest, of all degrees of freedom that are free."""
        check_trust(self.file)
        digest = self.hashes()[str(self.file)]
        mass, damping, stiffness, places = matrices(self.model, digest, tuple((p.node, p.dof) for p in self.interface))
        n, axes, others = len(mass), self.axes, len(self.responses)
        at = np.zeros((axes, n))
        at[np.arange(axes), places] = 1.0
        outputs = np.vstack([at, np.zeros((others, n))])
        zeros = np.zeros_like(outputs)
        inputs = np.hstack([np.zeros((n, 2)), -at.T])
        rest = np.zeros(n)
        return System(mass, damping, stiffness, inputs, outputs, zeros, zeros, Elements.none(n), rest, rest)

    def blocks(self, context: Context) -> list[Block]:
        feedback = context.channels("feedback")
        units = {name: virtual.UNITS[one.quantity] for name, one in self.responses.items()}

        def stand_in() -> Block:
            method = ExplicitNewmark().method(self.system("none"), context.step)
            return virtual.virtual_block(
                method, axes=self.axes, excitation=virtual.EXCITATION, feedback=feedback, responses=units
            )

        if context.quiet:
            return [stand_in()]
        check_trust(self.file)
        self.system("none")  # what is wrong with the model is said here
        stepper = Stepper(self._told(context.step))
        n = self.axes
        outputs = virtual.virtual_block(
            ExplicitNewmark().method(self.system("none"), context.step),
            axes=n,
            excitation=virtual.EXCITATION,
            feedback=feedback,
            responses=units,
        ).outputs
        state = {"begun": 0.0, "count": 0.0}
        name = self.file.name
        return [
            Block(
                name="virtual",
                step=opensees_step,
                inputs=feedback,
                outputs=outputs,
                parameters={"memory": stepper.address, "timeout": 1e9 * self.timeout},
                state=state,
                frozen=tuple(state),
                faults={
                    STEP_FAILED: f"OpenSees' analysis of {name} failed",
                    HAS_ENDED: f"the process in which OpenSees computes {name} has ended",
                    TOO_LATE: f"OpenSees' step of {name} took longer than virtual.timeout, {self.timeout:g} s",
                    SET_BACK: f"the loop was reset, but OpenSees' {name} cannot be",
                },
                stand_in=stand_in,
                keeps=stepper,
                references=("newmark1959", "nakashima1992"),
            )
        ]

    def check_reference(self) -> None:
        if self.whole is None:
            raise fault(
                "the reference of an OpenSees model is run in OpenSees; give virtual.whole, a model file with the "
                "specimen in it, or omit the reference"
            )

    @property
    def brings_reference(self) -> bool:
        return True

    def own_reference(self, definition: Definition, ticks: int, every: int) -> np.ndarray | None:
        """Displacements of the interface in the whole structure, as OpenSees has them."""
        if self.whole is None or definition.reference is None:
            return None
        check_trust(Path(self.whole))
        substeps = definition.reference.substeps
        told = self._told(definition.timing.step / substeps, self.whole)
        told["outputs"] = told["outputs"][: self.axes]
        rows = (ticks - 1) // every + 1
        found = np.array(ask("history", {**told, "rows": rows, "every": substeps * every})["rows"])
        if not np.all(np.isfinite(found)):
            raise OpenSeesError(
                f"{Path(self.whole).name} diverges at a step of {told['dt']:g} s; raise reference.substeps"
            )
        return found


@lru_cache(maxsize=32)
def matrices(
    model: str, digest: str, interface: tuple[tuple[int, int], ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """M, C and K of a model at rest, and the places of the interface; asked once for each version of the file."""
    places = [list(one) for one in interface]
    outputs = [[*one, "displacement"] for one in places]
    found = ask("matrices", {"model": model, "interface": places, "outputs": outputs})
    mass, damping, stiffness = (np.array(found[key]) for key in ("mass", "damping", "stiffness"))
    return mass, damping, stiffness, [int(place) for place in found["places"]]


def opensees_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    box, n = int(p.memory), u.size
    if float(load_word(box + 8 * ASKED)) != s.count:
        return SET_BACK
    if s.begun == 0.0:  # the first tick tells where it stands
        s.begun = 1.0
    else:
        for i in range(n):
            put_real(box + HEAD + 8 * i, u[i])
        s.count += 1.0
        store_word(box + 8 * ASKED, int(s.count))
        began = now()
        while load_word(box + 8 * DONE) != int(s.count):
            waited = now() - began
            status = load_word(box + 8 * STATUS)
            if status != 0:
                return STEP_FAILED if status == FAILED else HAS_ENDED
            if float(waited) > p.timeout:
                return TOO_LATE
            if waited > SPIN:
                sleep_until(now() + NAP)
    for i in range(y.size):
        y[i] = real_at(box + HEAD + 8 * (n + i))
    return 0
