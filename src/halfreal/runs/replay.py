"""What happened inside the virtual substructure of a recorded test: its block, played the recorded inputs once more.

A record holds what went into the virtual substructure in every tick, excitation and feedback, and its block does the
same with the same inputs: motion of all nodes, hinges and energies need not be recorded.  The loop is not burdened, and
files stay small.  Whether it did the same is seen from the target, which is on record too.

    E_input + E_specimen = E_kinetic + E_damping + ∫ (K q + beyond) dq,      all over q by the trapezoidal rule

Of the last term each spot has absorbed ∫ σ dε − (σ² − σ₀²)/2k, what it would not give back if it were unloaded at its
initial stiffness k; the rest is strain energy of elastic parts and the work of gravity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..contracts.inside import Inside
from ..definition.definition import Definition
from ..definition.faults import DefinitionError
from ..definition.load import from_json
from ..errors import HalfrealError
from ..kernels.block import Block, flatten, layout
from ..kernels.native import compiled_block
from .build import context_of
from .judged_samples import judged_rows
from .run import Run

SAME = 1e-6
"""Part of the largest target by which the one that is played again may differ."""
MOST_VALUES = 2e7
"""Kept of a motion or of the laws."""
MOST_ROWS = 4000
STRETCH = 500
"""Ticks that are looked at together."""
FIELDS = ("q", "v", "beyond", "strain", "stress")


class ReplayError(HalfrealError):
    """A record from which the inside of its virtual substructure does not follow."""


@dataclass(frozen=True)
class Extremes:
    """Least and largest values over time."""

    low: np.ndarray
    high: np.ndarray

    @property
    def size(self) -> np.ndarray:
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)))


@dataclass(frozen=True)
class Replay:
    """The inside of a virtual substructure during a test.

    Extremes and energies are of all ticks; histories have a row for every so many of them.
    """

    inside: Inside
    time: np.ndarray
    motion: np.ndarray
    """Displacements of all nodes, (rows, all)."""
    strain: np.ndarray
    stress: np.ndarray
    """Of the spots, (rows, spots)."""
    all_time: np.ndarray
    """Of every tick."""
    drifts: Mapping[str, np.ndarray]
    """Drifts of the storeys by direction [m], (ticks, storeys)."""
    moved: Extremes
    strains: Extremes
    stresses: Extremes
    plastic: np.ndarray
    """Largest |ε − σ/k| of each spot; NaN where it has no stiffness at first."""
    absorbed: np.ndarray
    """Energy that each spot has absorbed by the end [J]."""
    dashpots: Mapping[str, float]
    """Energy that each dashpot has dissipated [J]."""
    energy: Mapping[str, np.ndarray]
    """Energies [J] by what they are, (ticks,)."""

    @property
    def left_open(self) -> float:
        """What is missing in the balance of energies, as a part of the largest that came in."""
        balance = sum(self.energy[key] for key in CAME_IN) - sum(self.energy[key] for key in WENT_TO)
        size = np.max(np.abs([self.energy[key] for key in (*CAME_IN, *WENT_TO)]), initial=0.0)
        return float(np.max(np.abs(balance), initial=0.0) / size) if size > 0.0 else 0.0


CAME_IN = ("input", "specimen")
"""Energies that came in: of the excitation, and of the specimen, negative while it takes."""
WENT_TO = ("kinetic", "damping", "absorbed", "elastic")
"""Where they went."""


def replay(run: Run) -> Replay | None:
    """The inside of a run's virtual substructure; None if it does not provide it, or nothing is on record."""
    try:
        definition = from_json(Definition, run.definition)
    except DefinitionError:
        return None
    excitation = definition.excitation.virtual
    inside = definition.virtual.inside("none" if excitation is None else excitation.acts_as)
    if inside is None or not len(run.time):
        return None
    [[block]] = definition.interface.named(definition.virtual.blocks(context_of(definition))[-1:])
    if definition.record.every != 1:
        raise ReplayError(
            f"only one of every {definition.record.every} ticks is recorded, but all are needed to "
            "compute the response inside the "
            "virtual substructure; use record.every = 1"
        )
    wanted = (*block.inputs, *definition.interface.channels("target"))
    missing = [name for name in wanted if name not in run.signals]
    if missing:
        raise ReplayError(
            f"{', '.join(missing)} not recorded, but needed to compute the response inside the virtual substructure; "
            "add them to record.channels, or omit record.channels"
        )
    kept = judged_rows(run)
    if kept.start == kept.stop:
        return None
    inputs = np.column_stack([run.signals[name].values[kept] for name in block.inputs])
    targets = np.column_stack([run.signals[name].values[kept] for name in definition.interface.channels("target")])
    return _played(inside, block, run.time[kept], inputs, targets)


def _played(inside: Inside, block: Block, time: np.ndarray, inputs: np.ndarray, targets: np.ndarray) -> Replay:
    """The block's whole state at every tick, looked at stretch by stretch."""
    compiled = compiled_block(block)
    p, s, y = flatten(block.parameters), flatten(block.state), np.zeros(len(block.outputs) + 1)
    state = s.view(layout(block.state))[0]
    ledger = _Ledger(inside, len(time))
    axes, within = targets.shape[1], SAME * float(np.nanmax(np.abs(targets), initial=1e-12))
    for first in range(0, len(time), STRETCH):
        rows = range(first, min(first + STRETCH, len(time)))
        seen: dict[str, list[np.ndarray]] = {key: [] for key in FIELDS}
        ended = False
        for row in rows:
            u = np.append(inputs[row], 0.0)
            ended = compiled(p, s, float(time[row]), u, y) != (0, 0)
            if ended or not np.all(np.isfinite(y[:axes])):
                break
            if np.max(np.abs(y[:axes] - targets[row])) > within:
                raise ReplayError(
                    f"the virtual substructure, driven by the record, differs from its target at {time[row]:g} s "
                    f"by more than {SAME:g} of the largest: the response inside cannot be computed "
                    "from the record (from "
                    "another version, or resumed?)"
                )
            for key, values in seen.items():
                values.append(np.ravel(state[key]).copy())
        if seen["q"]:
            ledger.add(first, inputs[first : first + len(seen["q"])], {key: np.array(seen[key]) for key in FIELDS})
        if ended:
            break
    return ledger.closed(time)


class _Ledger:
    """Adds up stretches."""

    def __init__(self, inside: Inside, ticks: int) -> None:
        self.inside = inside
        n, spots = inside.to_nodes.shape[0], len(inside.spots)
        self.every = max(1, -(-ticks // MOST_ROWS), int(-(-ticks * max(n, 2 * spots) // MOST_VALUES)))
        self.last: dict[str, np.ndarray] | None = None
        self.last_inputs = np.zeros(0)
        self.rows: dict[str, list[np.ndarray]] = {"motion": [], "strain": [], "stress": [], "kept": []}
        self.drifts: dict[str, list[np.ndarray]] = {one: [] for one in inside.sideways}
        self.by_drift = {one: inside.drifts(one) for one in inside.sideways}
        self.energy: dict[str, list[np.ndarray]] = {key: [] for key in (*CAME_IN, *WENT_TO)}
        self.sums: dict[str, float] = dict.fromkeys(("input", "specimen", "damping", "beyond"), 0.0)
        self.work, self.plastic = np.zeros(spots), np.zeros(spots)
        self.stiffness = np.array([spot.stiffness for spot in inside.sketch.spots])
        self.volume = np.array([spot.volume for spot in inside.sketch.spots])
        self.extremes = {
            key: [np.full(size, np.inf), np.full(size, -np.inf)]
            for key, size in (("motion", n), ("strain", spots), ("stress", spots))
        }
        self.dashpots = np.zeros(len(inside.dashpots))

    def add(self, first: int, inputs: np.ndarray, seen: dict[str, np.ndarray]) -> None:
        inside = self.inside
        seen = {**seen, "strain": seen["strain"][:, inside.spots], "stress": seen["stress"][:, inside.spots]}
        if first == 0:  # laws have not been asked yet
            seen["strain"][0], seen["stress"][0] = inside.rest
        told = {"motion": seen["q"] @ inside.to_nodes.T, "strain": seen["strain"], "stress": seen["stress"]}
        kept = np.arange((-first) % self.every, len(inputs), self.every)
        self.rows["kept"].append(first + kept)
        for key, values in told.items():
            self.rows[key].append(values[kept])
            low, high = self.extremes[key]
            self.extremes[key] = [np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))]
        for one, rows in self.by_drift.items():
            self.drifts[one].append(told["motion"] @ rows.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            plastic = np.abs(seen["strain"] - seen["stress"] / self.stiffness).max(axis=0)
        self.plastic = np.maximum(self.plastic, np.where(self.stiffness > 0.0, plastic, np.nan))
        self._energies(inputs, seen)
        self.last, self.last_inputs = {key: values[-1] for key, values in seen.items()}, inputs[-1]

    def _energies(self, inputs: np.ndarray, seen: dict[str, np.ndarray]) -> None:
        inside, last = self.inside, self.last or {key: values[0] for key, values in seen.items()}
        before = self.last_inputs if self.last is not None else inputs[0]
        q, v, beyond, strain, stress = (np.vstack([last[key], seen[key]]) for key in FIELDS)
        u, moved = np.vstack([before, inputs]), np.diff(q, axis=0)

        def over(force: np.ndarray, by: np.ndarray) -> np.ndarray:
            return np.asarray(0.5 * (force[1:] + force[:-1]) * by)

        def summed(key: str, steps: np.ndarray) -> np.ndarray:
            found = self.sums[key] + np.cumsum(steps)
            self.sums[key] = float(found[-1])
            return np.asarray(found)

        each = over(u, moved @ inside.on_inputs.T)
        q, v = q[1:], v[1:]
        self.energy["input"].append(summed("input", each[:, :2].sum(axis=1)))
        self.energy["specimen"].append(summed("specimen", each[:, 2:].sum(axis=1)))
        self.energy["kinetic"].append(0.5 * np.sum(v * (v @ inside.mass.T), axis=1))
        speeds = np.vstack([last["v"], v])
        self.energy["damping"].append(summed("damping", np.sum(over(speeds @ inside.damping.T, moved), axis=1)))
        internal = 0.5 * np.sum(q * (q @ inside.stiffness.T), axis=1)
        internal += summed("beyond", np.sum(over(beyond, moved), axis=1))
        works = self.work + np.cumsum(self.volume * over(stress, np.diff(strain, axis=0)), axis=0)
        self.work = works[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            given_back = self.volume * (stress[1:] ** 2 - inside.rest[1] ** 2) / (2.0 * self.stiffness)
        absorbed = works - np.where(self.stiffness > 0.0, given_back, 0.0)
        self.absorbed = absorbed[-1]
        self.energy["absorbed"].append(absorbed.sum(axis=1))
        self.energy["elastic"].append(internal - absorbed.sum(axis=1))
        for i, (_, row, damping) in enumerate(inside.dashpots):
            self.dashpots[i] += float(np.sum(over(damping * (speeds @ row), moved @ row)))

    def closed(self, time: np.ndarray) -> Replay:
        if not self.rows["kept"]:
            raise ReplayError("the virtual substructure failed in its first tick: there is no response")
        joined = {key: np.concatenate(values) for key, values in self.rows.items()}
        energy = {key: np.concatenate(values) for key, values in self.energy.items()}
        ticks = len(energy["input"])
        return Replay(
            inside=self.inside,
            time=time[joined["kept"]],
            motion=joined["motion"],
            strain=joined["strain"],
            stress=joined["stress"],
            all_time=time[:ticks],
            drifts={one: np.concatenate(values) for one, values in self.drifts.items()},
            moved=Extremes(*self.extremes["motion"]),
            strains=Extremes(*self.extremes["strain"]),
            stresses=Extremes(*self.extremes["stress"]),
            plastic=self.plastic,
            absorbed=self.absorbed,
            dashpots={
                name: float(value) for (name, _, _), value in zip(self.inside.dashpots, self.dashpots, strict=True)
            },
            energy=energy,
        )
