"""A frame as a test meets it: under its gravity loads, with damping, inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg

from ...kernels.band import half_bandwidth
from ...kernels.block import Value
from ...kernels.linear import stored
from .model import Model, along

NEAR = 1e-7
"""Displacement [m or rad] over which laws are taken to be straight at rest."""


@dataclass(frozen=True)
class Loaded:
    """The model at rest under its loads, and what acts on it and is read from it.

    Inputs are (excitation, its rate, feedback…), outputs (interface…, responses that are linear in the motion…), and
    ``probes``: strains (0) or stresses (1) of law instances.
    """

    model: Model
    damping: sparse.csr_matrix
    on_inputs: np.ndarray
    """Forces of the inputs, transposed, (inputs, n)."""
    displacement_outputs: np.ndarray
    velocity_outputs: np.ndarray
    acceleration_outputs: np.ndarray
    probes: np.ndarray
    """(count, 2): which, and of which instance."""
    progress: bool = True
    """Whether what is left of the iteration, and their number, are further outputs."""

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.displacement_outputs) + len(self.probes) + 2 * self.progress

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

    def probe_slopes(self) -> np.ndarray:
        """How the strains and stresses that are read change with the displacements at rest, (probes, n)."""
        found = np.zeros((len(self.probes), self.model.dofs))
        if not len(self.probes):
            return found
        at = self.probes[:, 1].astype(int)
        for column in range(self.model.dofs):
            near = np.zeros(self.model.dofs)
            near[column] = NEAR
            ends = [self.model.forces(sign * near)[2] for sign in (1.0, -1.0)]
            read = [np.where(self.probes[:, 0] == 0.0, one["strain"][at], one["stress"][at]) for one in ends]
            found[:, column] = (read[0] - read[1]) / (2.0 * NEAR)
        return found

    def fields(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Parameters and state of a block that every scheme needs."""
        parameters: dict[str, Value] = {
            **self.model.arrays,
            "on_inputs": self.on_inputs,
            "displacement_outputs": stored(self.displacement_outputs),
            "velocity_outputs": stored(self.velocity_outputs),
            "acceleration_outputs": stored(self.acceleration_outputs),
            "probes": self.probes,
        }
        return parameters, dict(self.model.states)
