"""The linear model of an FMU about where it is, from its own directional derivatives.

An FMU that provides them and names its states gives, for any direction of states x and inputs u,

    δẋ = A δx + B δu,      δy = C δx + D δu

A tick of the block that steps it (``fmu_steps.py``) is then x_k = Φ x_{k−1} + G₀ u_{k−1} + G₁ u_k.  Co-simulation is
given the mean of both inputs and is taken to integrate exactly: Φ = exp(A h), G₀ = G₁ = ½ ∫ exp(A s) ds B; where inputs
are held, G₀ = 0.  Of model exchange they follow from the Runge–Kutta method that runs.  With ξ_k = Φ x_{k−1} + G₀
u_{k−1} the block is

    y_k = C ξ_k + (C G₁ + D) u_k,      ξ_{k+1} = Φ ξ_k + (Φ G₁ + G₀) u_k
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from ..kernels.fmi_instance import POINTER, Instance
from .state_space import StateSpace

STAGES = np.array([0.0, 0.5, 0.5, 1.0])
WEIGHTS = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0


def sensitivities(instance: Instance, unknowns: np.ndarray, knowns: np.ndarray) -> np.ndarray:
    """Derivatives of unknowns by knowns, both by their references, where the FMU stands, (unknowns, knowns)."""
    found, seed, answer = np.zeros((unknowns.size, knowns.size)), np.ones(1), np.zeros(unknowns.size)
    many, one = ctypes.c_size_t(unknowns.size), ctypes.c_size_t(1)
    two = instance.fmu.version == "2.0"
    for column in range(knowns.size if unknowns.size else 0):
        given = POINTER(unknowns.ctypes.data), many, POINTER(knowns[column:].ctypes.data), one
        by, found_by = POINTER(seed.ctypes.data), POINTER(answer.ctypes.data)
        instance.call("GetDirectionalDerivative", *given, *((by, found_by) if two else (by, one, found_by, many)))
        found[:, column] = answer
    return found


@dataclass(frozen=True)
class Slopes:
    """A, B, C, D about where an FMU stands, and ẋ there; inputs and outputs in its own units."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    rate: np.ndarray

    @classmethod
    def of(cls, instance: Instance, inputs: np.ndarray, outputs: np.ndarray) -> Slopes:
        """Of an instance as it stands; ``inputs`` and ``outputs`` are references."""
        states, rates = (np.array(one, dtype=np.uint32) for one in zip(*instance.fmu.derivatives, strict=True))
        c = sensitivities(instance, outputs, states)
        for row, reference in enumerate(outputs):
            if reference in states:  # an output that is a state
                c[row] = states == reference
        return cls(
            sensitivities(instance, rates, states),
            sensitivities(instance, rates, inputs),
            c,
            np.where(np.isin(outputs, states)[:, None], 0.0, sensitivities(instance, outputs, inputs)),
            instance.get(rates),
        )

    def held(self, dt: float, earlier: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ, G₀ and G₁ of co-simulation with a share of the inputs ``earlier`` by a tick."""
        n, m = self.b.shape
        whole = expm(dt * np.block([[self.a, self.b], [np.zeros((m, n + m))]]))
        return whole[:n, :n], earlier * whole[:n, n:], (1.0 - earlier) * whole[:n, n:]

    def integrated(self, dt: float, substeps: int, holds: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ, G₀ and G₁ of model exchange, by the classical Runge–Kutta method with inputs linear in a tick, or held."""
        n, m = self.b.shape
        x, h = np.hstack([np.eye(n), np.zeros((n, 2 * m))]), dt / substeps
        for part in range(substeps):
            slopes: list[np.ndarray] = []
            for stage in STAGES:
                share = 1.0 if holds else (part + stage) / substeps
                u = np.hstack([np.zeros((m, n)), (1.0 - share) * np.eye(m), share * np.eye(m)])
                at = x + h * stage * slopes[-1] if slopes else x
                slopes.append(self.a @ at + self.b @ u)
            x = x + h * sum(weight * slope for weight, slope in zip(WEIGHTS, slopes, strict=True))
        return x[:, :n], x[:, n : n + m], x[:, n + m :]

    def ahead(self, dt: float) -> np.ndarray:
        """By how much the states move in a tick if the inputs stay, to first order."""
        n = self.rate.size
        whole = expm(dt * np.block([[self.a, self.rate[:, None]], [np.zeros((1, n + 1))]]))
        return np.asarray(whole[:n, n])

    def model(self, dt: float, substeps: int | None, *, holds: bool = False) -> tuple[StateSpace, np.ndarray]:
        """One call of the block, and G₁; ``substeps`` of model exchange, None for co-simulation."""
        if substeps is None:
            phi, before, now = self.held(dt, 0.0 if holds else 0.5)
        else:
            phi, before, now = self.integrated(dt, substeps, holds)
        return StateSpace(phi, phi @ now + before, self.c, self.c @ now + self.d, dt), now
