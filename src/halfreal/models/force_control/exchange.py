"""Parameters and state for the compiled steps of ``constrained_steps.py``, and what its methods have in common."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...contracts.system import Method, System
from ...kernels.block import Value
from ...kernels.linear import stored
from ...settings import Settings
from ..materials.element_fields import HELD, moving
from ..schemes.scheme import initial_state, shared_parameters
from ..schemes.tableaus import NamedTableau, UserTableau
from .constrained_steps import NO_STIFFNESS, exchange_runge_kutta_step
from .stiffness_estimate import NO_STIFFNESS_FAULT, Estimate, below_specimen, probe_parameters

Exchange = Literal["stage", "step"]


class ExchangeMethod(Settings):
    """How a constrained substructure finds the force on the specimen: turns a system and a step into a ``Method``.

    ``system`` has no inputs but the excitation and its rate; h is (axes, n), and dt the step Δt, not the tick.
    """

    @property
    def ticks(self) -> int:
        """Exchanges, and with them ticks of the loop, a step."""
        raise NotImplementedError

    @property
    def nodes(self) -> tuple[float, ...]:
        """When the excitation is needed, in steps after the beginning of the step; one entry for each stage."""
        raise NotImplementedError

    @property
    def reckoned_stiffness(self) -> np.ndarray | None:
        """K̂ if it is given, (axes, axes)."""
        raise NotImplementedError

    @property
    def probing(self) -> Estimate | None:
        """How K̂ is found out, if it is."""
        raise NotImplementedError

    def with_stiffness(self, stiffness: np.ndarray) -> ExchangeMethod:
        """The method with K̂ given, where it uses one."""
        raise NotImplementedError

    def with_stabilisation(self, alpha: float, beta: float) -> ExchangeMethod | None:
        """The method with these parameters [1/s] of Baumgarte's stabilisation; None if it has none."""
        return None

    def method(self, system: System, h: np.ndarray, dt: float) -> Method:
        raise NotImplementedError

    def critical_step(self, system: System, h: np.ndarray) -> float | None:
        """Longest stable step [s] of the substructure with a specimen of K̂ attached; None if any, or if not known."""
        return None

    def wrong_stiffness(self, specimen: np.ndarray, stable: bool) -> str:
        """What is wrong with K̂ next to the stiffness that is measured, in a loop that is ``stable`` or not; or nothing.

        Index-1 splitting needs K ≤ K̂ < 2K.
        """
        reckoned = self.reckoned_stiffness
        return "" if reckoned is None else below_specimen(reckoned, specimen)


def interface_mass(mass: np.ndarray, h: np.ndarray) -> np.ndarray:
    """(hM⁻¹hᵀ)⁻¹, the effective mass at the interface, (axes, axes)."""
    return np.asarray(np.linalg.inv(h @ np.linalg.solve(mass, h.T)))


def solver_parts(
    own: np.ndarray, gain: np.ndarray, stiffness: np.ndarray | None, estimate: Estimate | None
) -> tuple[dict[str, Value], dict[str, Value]]:
    """Parameters and state of f = S (base − Γ e), S = (A + Γ F̂)⁻¹, and of the probing.

    A (``own``) and Γ (``gain``) are (solutions, axes, axes): one for each stage.
    Without stiffness and estimate F̂ is zero; with an estimate S is not used before it is known.
    """
    axes = own.shape[-1]
    compliance = np.zeros((axes, axes)) if stiffness is None else np.linalg.inv(stiffness)
    if estimate is None:
        solver = np.array([np.linalg.inv(a + g @ compliance) for a, g in zip(own, gain, strict=True)])
    else:
        solver = np.zeros_like(own)
    parameters: dict[str, Value] = {"own": _each(own), "gain": _each(gain), **probe_parameters(estimate)}
    state: dict[str, Value] = {
        "probe": 0.0 if estimate else 1.0,
        "replies": np.zeros(3),
        "compliance": stored(compliance),
        "solver": _each(solver),
    }
    return parameters, state


def interface_state(h: np.ndarray, system: System, target: np.ndarray) -> tuple[dict[str, Value], dict[str, Value]]:
    """The force sent last, which is part of the dynamics, and work space."""
    axes = len(h)
    work: dict[str, Value] = {
        "offset": np.zeros(axes),
        "gap": np.zeros(axes),
        "asked": h @ system.displacement,
        "force": np.zeros(axes),
        "right": np.zeros(axes),
    }
    return {"target": np.asarray(target, dtype=float)}, work


def initial_force(h: np.ndarray, system: System, stiffness: np.ndarray | None) -> np.ndarray:
    """Force under which the specimen is calculated to stand where the substructure begins, (axes,)."""
    return np.zeros(len(h)) if stiffness is None else np.asarray(stiffness @ h @ system.displacement)


def runge_kutta_exchange(
    system: System,
    h: np.ndarray,
    dt: float,
    tableau: NamedTableau | UserTableau,
    *,
    base: tuple[np.ndarray, np.ndarray, np.ndarray],
    history: np.ndarray,
    gain: np.ndarray,
    own: np.ndarray,
    stiffness: np.ndarray | None,
    estimate: Estimate | None,
    exchange: Exchange,
    measured_slopes: bool = False,
    references: tuple[str, ...] = (),
) -> Method:
    """The explicit method.

    ``base`` holds the factors (axes, n) of the free acceleration, the velocity and the displacement in the base, and
    ``history`` those of (hq, hu) of each past state, newest first, (stages, points, axes, 2 axes).
    """
    n, axes, stages, points = system.dofs, len(h), len(tableau.b), history.shape[1]
    inverse = np.linalg.inv(system.mass)
    known, solving = solver_parts(own, gain, stiffness, estimate)
    sent, work = interface_state(h, system, initial_force(h, system, stiffness))
    begin = initial_state(system)
    # before the test the substructure has moved at its initial velocity
    past = system.displacement - dt * np.arange(1.0, points + 1.0)[:, None] * system.velocity
    rows = np.hstack([past @ h.T, np.tile(h @ system.velocity, (points, 1))])
    dynamic: dict[str, Value] = {
        "q": begin["q"],
        "v": begin["v"],
        "slope_q": np.zeros((stages, n)),
        "slope_v": np.zeros((stages, n)),
        "history": rows,
        "base": np.zeros(axes),
        **sent,
    }
    held: dict[str, Value] = {
        "started": 0.0,
        "stage": 0.0,
        "stage_q": np.zeros(n),
        "stage_v": np.zeros(n),
        "forces": np.zeros(system.elements.count),
        "a": begin["a"],
        "newest": np.zeros(2 * axes),
        **work,
        **solving,
    }
    held |= {name: begin[name] for name in HELD}
    return Method(
        step=exchange_runge_kutta_step,
        parameters={
            "dt": dt,
            "tableau": tableau.a,
            "weights": tableau.b,
            "nodes": tableau.a.sum(axis=1),
            "per_stage": float(exchange == "stage"),
            "measured_slopes": float(measured_slopes),
            "on_inputs": stored(inverse @ system.inputs),
            "on_displacement": stored(inverse @ system.stiffness),
            "on_velocity": stored(inverse @ system.damping),
            "on_force": stored(inverse @ h.T),
            "action": stored(inverse @ system.elements.direction.T),
            "constraint": stored(h),
            "base_acceleration": stored(base[0]),
            "base_velocity": stored(base[1]),
            "base_displacement": stored(base[2]),
            "base_history": np.ascontiguousarray(np.swapaxes(history, 2, 3)),
            **known,
            **shared_parameters(system),
        },
        state={**dynamic, **held},
        frozen=tuple(held),
        moving=moving(system.elements),
        faults={NO_STIFFNESS: NO_STIFFNESS_FAULT},
        references=references,
    )


def _each(matrices: np.ndarray) -> np.ndarray:
    """Every matrix of a stack as the kernels expect it."""
    return np.ascontiguousarray(np.swapaxes(np.asarray(matrices, dtype=float), 1, 2))
