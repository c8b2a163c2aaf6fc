"""The bar test varied and rehearsed, and what is read from its records.

    J1 = ‖hq − d‖/‖d‖,    J2 = ‖q1 − q1*‖/‖q1*‖,    J3 = ‖q2 − q2*‖/‖q2*‖                       (Eqs. 26 to 28)

over the beginnings of all steps; d is the answer measured to the force of that time, and q* the whole system integrated
with an error of 1e-11.

Many runs are made on an *ideal bench*: a force loop that arrives within one tick, in place of time that stands still
until it has.  To the method both are the same but for what the slow test lets pass as settled, 0.1 N: q differs by
0.1 % of its peak.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import halfreal

HERE = Path(__file__).parent
STEP = 0.5e-3
"""Δt [s]."""
BAR = 2.9e6
"""Stiffness of the specimen [N/m]."""
TRANSFER = 10e6
"""Stiffness of the transfer system [N/m]."""
MASS, SPRING, CUBIC = 1000.0, 2.33e6, 36.6e12
"""Of the simulated side: each mass [kg], and its spring [N/m] and [N/m³]."""
NOISE = 5e-6
"""Of the camera [m]."""
CHANNELS = (
    "target",
    "measured.displacement",
    "measured.force",
    "virtual.displacement.1",
    "virtual.displacement.2",
    "virtual.stage",
)

PAPER = {"kind": "baumgarte", "alpha": "60 1/s", "beta": "60 1/s", "velocity_weight": "1 s", "tableau": "rk4"}
EXACT, SAFE = {"stiffness": [["2.9 kN/mm"]]}, {"stiffness": [["3.19 kN/mm"]]}
STAGE_TIME = {"derivatives": "stage", "loop": "lagged"}
STEP_END, LAGGED = {"derivatives": "step end"}, {"loop": "lagged"}
FROZEN = {"derivatives": "step start", "exchange": "step", "loop": "lagged"}
INDEX_ONE = {"kind": "index 1", "tableau": "rk4"}
METHODS: dict[str, tuple[str, dict[str, Any], int]] = {
    "baumgarte": ("published (B): loop solved with the bar's own stiffness", PAPER | EXACT | STEP_END, 4),
    "baumgarte_lagged": ("published, loop lagged: nothing known of the bar", PAPER | STEP_END | LAGGED, 4),
    "line 9": ("the same, slopes from the fresh d", PAPER | STEP_END | LAGGED | {"slopes": "measured"}, 4),
    "one_frame_a_step": ("published (D): one frame a step, d stays over it", PAPER | FROZEN, 1),
    "stage_time": ("derivatives at stage time", PAPER | STAGE_TIME, 4),
    "stage_time_solved": ("stage time, loop solved with k̂ = 1.1 k", PAPER | SAFE | {"derivatives": "stage"}, 4),
    "index_one": ("index 1, k̂ = 1.1 k", INDEX_ONE | SAFE, 4),
    "estimated_stiffness": (
        "index 1, k̂ from the first exchanges",
        INDEX_ONE | {"estimate": {"force": "300 N", "exchanges": 40}},
        4,
    ),
    "camera": ("index-1 generalised-α, k̂ = 1.1 k", {"kind": "index 1 generalized-alpha"} | SAFE, 1),
}
"""What is compared, by file name where there is one: words, ``virtual.method``, exchanges a step."""


# --- definitions ------------------------------------------------------------------------------------------------------


def changed(name: str, changes: Mapping[str, object]) -> halfreal.Definition:
    """The definition of a file with other values at some places; None leaves a key out."""
    data = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    for place, value in changes.items():
        *outer, key = place.split(".")
        table: dict[str, Any] = data
        for step in outer:
            table = table[step]
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return halfreal.Definition.model_validate(data, context={"folder": HERE})


def on_ideal_bench(
    method: str, *, noise: float = 0.0, seed: int = 1, bar: float = BAR, measures: str = "specimen"
) -> halfreal.Definition:
    """The test with one of METHODS, on a bench that reaches every force within its tick."""
    _, settings, exchanges = METHODS[method]
    tick = STEP / exchanges
    series = 1.0 / (1.0 / bar + 1.0 / TRANSFER)
    return changed(
        "index_one",
        {
            "virtual.method": settings,
            "timing.step": f"{tick!r} s",
            "timing.seed": seed,
            "slow": None,
            "limits": None,
            "rig.specimen.stiffness": f"{bar!r} N/m",
            "rig.gain": f"{1.0 / (series * tick)!r} m/(N s)",
            "rig.sensors": {"displacement": {"noise": f"{noise!r} m"}},
            "rig.measures": measures,
        },
    )


# --- records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Response:
    """A test at the beginnings of its steps."""

    time: np.ndarray
    q: np.ndarray
    """(steps, 2) [m]."""
    d: np.ndarray
    """Displacement measured under the force of that time [m]."""
    force: np.ndarray
    """Measured with it [N]."""

    @property
    def elongation(self) -> np.ndarray:
        """hq [m]."""
        return self.q[:, 1] - self.q[:, 0]

    @property
    def indices(self) -> tuple[float, float, float]:
        """J1, J2, J3."""
        true = reference(len(self.time))
        j1 = np.linalg.norm(self.elongation - self.d) / np.linalg.norm(self.d)
        j2, j3 = np.linalg.norm(self.q - true, axis=0) / np.linalg.norm(true, axis=0)
        return float(j1), float(j2), float(j3)


def response(definition: halfreal.Definition, signals: Mapping[str, np.ndarray]) -> Response:
    """What a record, tick by tick, says about the beginnings of the steps."""
    virtual: Any = definition.virtual
    ticks, waits = virtual.ticks_per_step, virtual.probing_ticks
    at = np.arange(waits, len(signals["target"]) - 1, ticks)
    q = np.column_stack([signals[f"virtual.displacement.{i}"][at] for i in (1, 2)])
    # a tick of a slow test waits for its answer; else the answer is measured with the next tick
    answered = at + (definition.slow is None)
    d, force = signals["measured.displacement"][answered], signals["measured.force"][answered]
    return Response(STEP * np.arange(len(at)), q, d, force)


def run(definition: halfreal.Definition) -> Response:
    """The loop of a definition without anything around it."""
    log = halfreal.build(definition).run(definition.timing.ticks, record=CHANNELS).log
    return response(definition, dict(zip(CHANNELS, log.T[1:], strict=True)))


def of_record(definition: halfreal.Definition, record: halfreal.Run) -> Response:
    return response(definition, {name: signal.values for name, signal in record.signals.items()})


@cache
def reference(steps: int) -> np.ndarray:
    """q1, q2 of the whole system at the beginnings of the steps [m]."""

    def rates(t: float, x: np.ndarray) -> list[float]:
        push = 200.0 * np.sin(np.pi * t / 0.2) ** 2 if t < 0.2 else 0.0
        bar = BAR * (x[1] - x[0])
        return [x[2], x[3], (bar - SPRING * x[0] - CUBIC * x[0] ** 3) / MASS, (push - bar) / MASS]

    found: list[np.ndarray] = [np.zeros((1, 4))]
    state, begin = np.zeros(4), 0.0
    for end in (0.2, 1.0):  # the pulse's end is a kink of its second derivative
        times = np.arange(round(begin / STEP) + 1, round(end / STEP) + 1) * STEP
        solution = solve_ivp(rates, (begin, end), state, "DOP853", times, rtol=1e-11, atol=1e-16)
        found.append(solution.y.T)
        state, begin = solution.y[:, -1], end
    return np.vstack(found)[:steps, :2]


def scatter(method: str, seeds: int, noise: float = NOISE, **changes: Any) -> np.ndarray:
    """Mean, standard deviation, least and largest of J1, J2, J3, (4, 3)."""
    found = indices(method, seeds, noise, **changes)
    return np.array([found.mean(axis=0), found.std(axis=0, ddof=1), found.min(axis=0), found.max(axis=0)])


def indices(method: str, seeds: int, noise: float = NOISE, **changes: Any) -> np.ndarray:
    """J1, J2, J3 of several runs, (seeds, 3)."""
    return np.array(
        [run(on_ideal_bench(method, noise=noise, seed=seed, **changes)).indices for seed in range(1, seeds + 1)]
    )
