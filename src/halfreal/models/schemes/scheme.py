"""What every integration scheme of a second-order system has in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from ...contracts.finding import Finding
from ...contracts.quantities import Hold
from ...contracts.system import Method, System
from ...kernels.block import Value
from ...kernels.linear import stored
from ...settings import Settings
from ..materials.element_fields import element_states, loaded, terms
from .in_band import in_band
from .in_parts import in_parts
from .recursion import Recursion, Stack


@dataclass(frozen=True)
class Coefficients:
    """The numbers by which a scheme integrates a frame of finite elements (``halfreal.models.frame``)."""

    form: Literal["implicit", "kr", "splitting"]
    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    references: tuple[str, ...]
    iterations: int = 1
    tolerance: float = 0.0
    specimen: np.ndarray | None = None
    """Stiffness of the specimen that splitting uses, (axes, axes)."""


class Scheme(Settings):
    """An integration scheme: turns a system and a step into a ``Method`` (``contracts/system.py``)."""

    kind: str
    linear_only: ClassVar[bool] = False
    """Whether it cannot integrate nonlinear elements."""
    answered_next_tick: ClassVar[bool] = False
    """Whether it takes a measured force for the answer to the target of the tick before, as slow tests need it."""
    banded_from: ClassVar[int | None] = None
    """Degrees of freedom from which it is faster with banded matrices; None if it has no such form."""

    references: ClassVar[tuple[str, ...]] = ()

    def method(self, system: System, dt: float) -> Method:
        """In parts or in bands where that is the same and faster (``in_parts.py``, ``in_band.py``), else plainly."""
        found = self.faster(system, dt)
        return self.plain(system, dt) if found is None else found

    def faster(self, system: System, dt: float) -> Method | None:
        """The method in parts or in bands; None if it is integrated plainly."""
        found = in_parts(self, system, dt)
        return in_band(self, system, dt) if found is None else replace(found, references=self.references)

    def plain(self, system: System, dt: float) -> Method:
        """The method with the matrices of the system as they are."""
        raise NotImplementedError

    def banded(self, system: System, dt: float) -> Method | None:
        """The method with banded matrices (``in_band.py``); None if one that has to be factored is not definite."""
        raise NotImplementedError

    def recursion(self, stack: Stack, dt: float) -> Recursion | None:
        """The scheme of a linear structure as a linear recursion; None if it is none, or not known as such."""
        return None

    def critical_step(self, system: System) -> float | None:
        """Longest stable step [s] of the system at its initial stiffness; None if any step is stable."""
        return None

    def coefficients(self) -> Coefficients | None:
        """How it integrates frames; None if it cannot."""
        return None

    def findings(self, specimen: np.ndarray) -> Iterable[Finding]:
        """What a check should report of it with a specimen of this initial stiffness, (axes, axes)."""
        return ()

    @property
    def input_hold(self) -> Hold:
        """How it takes inputs between their samples."""
        return "first"


def shared_parameters(system: System) -> dict[str, Value]:
    """Outputs and elements: parameters that do not depend on the scheme."""
    return {
        "displacement_outputs": stored(system.displacement_outputs),
        "velocity_outputs": stored(system.velocity_outputs),
        "acceleration_outputs": stored(system.acceleration_outputs),
        "direct": stored(system.feedthrough),
        "law": system.elements.law,
        "terms": terms(system.elements.direction),
        "elements": system.elements.parameters,
    }


def initial_state(system: System) -> dict[str, Value]:
    """State at t = 0, before the first inputs are known.

    ``a`` is the acceleration without inputs; the first tick adds M⁻¹U u.
    """
    forces, states = loaded(system.elements, system.displacement, system.velocity)
    resisting = system.damping @ system.velocity + system.stiffness @ system.displacement
    resisting += forces @ system.elements.direction
    return {
        "q": system.displacement.astype(float),
        "v": system.velocity.astype(float),
        "a": -np.linalg.solve(system.mass, resisting),
        **element_states(states),
        "u": np.zeros(system.inputs.shape[1]),
        "started": 0.0,
    }
