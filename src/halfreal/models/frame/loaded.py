"""A frame as a test meets it: under its gravity loads, with damping, inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse.linalg

from ...kernels.band import half_bandwidth
from ...kernels.block import Jacobian, Value
from ...kernels.compile import kernel
from ...kernels.linear import stored
from .damping import Damping
from .evaluate import AT_DOF, AT_L, COUNT, DOFS
from .model import Model, along

NO_SOLUTION = 2
"""Fault of a step whose first element has no solution; those of the others follow."""
MOST_FAULTS = 900
NEAR = 1e-7
"""Displacement [m or rad] over which laws are taken to be straight at rest."""


def first_order(state: np.ndarray, outputs: np.ndarray) -> Jacobian:
    """A block's Jacobian from its new state and outputs by its state and inputs, (states, ·) and (outputs, ·)."""
    states = len(state)
    return Jacobian(state[:, :states], state[:, states:], outputs[:, :states], outputs[:, states:])


@kernel
def no_solution(failed):  # type: ignore[no-untyped-def]
    """The fault of a step, by what ``evaluate`` has returned."""
    return NO_SOLUTION + min(failed - 1, MOST_FAULTS)


@dataclass(frozen=True)
class Loaded:
    """The model at rest under its loads, and what acts on it and is read from it.

    Inputs are (excitation, its rate, feedback…), outputs (interface…, responses that are linear in the motion…), and
    ``probes``: strains (0) or stresses (1) of law instances.
    """

    model: Model
    damping: Damping
    on_inputs: np.ndarray
    """Forces of the inputs, transposed, (inputs, n)."""
    displacement_outputs: np.ndarray
    velocity_outputs: np.ndarray
    acceleration_outputs: np.ndarray
    probes: np.ndarray
    """(count, 2): which, and of which instance."""
    progress: bool = True
    """Whether what is left of the iteration, and their number, are further outputs."""
    moved: np.ndarray | None = None
    """Displacements from rest at which the model's stiffness is its tangent; None at rest."""

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.displacement_outputs) + len(self.probes) + 2 * self.progress

    def faults(self) -> dict[int, str]:
        """What a step shows by ``no_solution``, for every element that may have none."""
        told = {
            code: f"the element '{piece.element}' has no equilibrium with its hinges or sections; shorten the step, or "
            "check for a law in it that softens faster than the element unloads"
            for code, piece in enumerate(self.model.pieces[:MOST_FAULTS], start=NO_SOLUTION)
        }
        return told | {NO_SOLUTION + MOST_FAULTS: "an element has no equilibrium with its hinges or sections"}

    @property
    def mass_width(self) -> int:
        """Half-bandwidth of the mass matrix."""
        return half_bandwidth(self.model.mass)

    def at_start(self) -> np.ndarray:
        """Accelerations that unit inputs give at rest, as blocks store them, (inputs, n)."""
        heavy = np.flatnonzero(self.model.mass.diagonal() > 0.0)
        found = np.zeros((len(self.on_inputs), self.model.dofs))
        if len(heavy):
            solve = scipy.sparse.linalg.factorized(self.model.mass[heavy][:, heavy].tocsc())
            for row, forces in zip(found, self.on_inputs, strict=True):
                row[heavy] = solve(forces[heavy])
        return found

    @property
    def rest_size(self) -> np.ndarray:
        """Σ |Aᵀ| |f| of the elements at rest: what may cancel in the forces on each degree of freedom, (n,)."""
        total, at = np.zeros(self.model.dofs), 0
        for piece in self.model.pieces:
            f = np.abs(self.model.arrays["rest_f"][at : at + len(piece.kinematics)])
            total += abs(along(piece, self.model.numbering)).T @ f
            at += len(f)
        return total

    @cached_property
    def two_slopes(self) -> float:
        """Largest part of an element's stiffness at rest by which it differs with the direction of motion: concrete
        under its weight unloads along another slope than it was loaded along."""
        if not any(law.curved for law in self.model.laws):
            return 0.0
        moved = NEAR * np.random.default_rng(1).choice([-1.0, 1.0], self.model.dofs)
        ahead, behind = (self.model.forces(sign * moved)[1] for sign in (1.0, -1.0))
        largest, at = 0.0, 0
        for count in self.model.arrays["table"][:, COUNT].astype(int) ** 2:
            here = slice(at, at + count)
            apart, size = np.abs(ahead[here] - behind[here]).max(), np.abs(ahead[here]).max()
            largest, at = max(largest, float(apart / size)) if size > 0.0 else largest, at + count
        return largest

    def present(self, state: Mapping[str, Any], after: Mapping[str, Any]) -> Loaded:
        """The same with every element at its tangent in a step of the block, and damping that goes by it.

        An implicit step is in equilibrium at its end: its derivatives have the tangents there, not those at its start.
        """
        initial, tangents = self.model.arrays["initial"], after["tangents"]
        held = state["held"] if self.damping.committed else tangents
        if np.array_equal(tangents, initial) and np.array_equal(held, initial):
            return self
        softer, damped = tangents - initial, held - initial
        shares = np.repeat(self.damping.shares, self.model.arrays["table"][:, COUNT].astype(int) ** 2)
        states = {key: np.array(state[key]) for key in self.model.states}
        model = replace(self.model, stiffness=self.model.stiffness + self.model.resisting(softer), states=states)
        constant = self.damping.constant
        if self.damping.shares.any():
            constant = constant + self.model.resisting(shares * damped)
        return replace(
            self, model=model, damping=replace(self.damping, constant=constant.tocsr()), moved=np.array(after["q"])
        )

    def not_symmetric(self, after: Mapping[str, Any]) -> Loaded:
        """This, ``present``, with what its symmetric tangents leave out where the frame leans."""
        lean = self.model.resisting(self.model.leaning(after["tangents"], after["q"]))
        return replace(self, model=replace(self.model, stiffness=(self.model.stiffness + lean).tocsr()))

    def probe_slopes(self) -> np.ndarray:
        """How the strains and stresses that are read change with the displacements, (probes, n)."""
        found = np.zeros((len(self.probes), self.model.dofs))
        if not len(self.probes):
            return found
        at = self.probes[:, 1].astype(int)
        here = np.zeros(self.model.dofs) if self.moved is None else self.moved
        for column in self._read_by(at):
            near = np.zeros(self.model.dofs)
            near[column] = NEAR
            ends = [self.model.forces(here + sign * near)[2] for sign in (1.0, -1.0)]
            read = [np.where(self.probes[:, 0] == 0.0, one["strain"][at], one["stress"][at]) for one in ends]
            found[:, column] = (read[0] - read[1]) / (2.0 * NEAR)
        return found

    def _read_by(self, instances: np.ndarray) -> np.ndarray:
        """Degrees of freedom of the elements whose laws these are."""
        table, dofs = self.model.arrays["table"], self.model.arrays["dofs"]
        counts = [len(piece.laws) for piece in self.model.pieces]
        used = [
            dofs[int(row[AT_DOF]) : int(row[AT_DOF] + row[DOFS])]
            for row, count in zip(table, counts, strict=True)
            if np.any((instances >= row[AT_L]) & (instances < row[AT_L] + count))
        ]
        return np.unique(np.concatenate(used).astype(int))

    def fields(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Parameters and state of a block that every scheme needs."""
        parameters: dict[str, Value] = {
            **self.model.arrays,
            "on_inputs": self.on_inputs,
            "displacement_outputs": stored(self.displacement_outputs),
            "velocity_outputs": stored(self.velocity_outputs),
            "acceleration_outputs": stored(self.acceleration_outputs),
            "probes": self.probes,
            "modes": self.damping.modes,
            "rates": self.damping.rates,
            "shares": self.damping.shares,
            "committed": float(self.damping.committed),
        }
        # with the committed tangents, on which damping may act
        return parameters, {**self.model.states, "held": self.model.arrays["initial"].copy()}
