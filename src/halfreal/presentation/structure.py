"""The inside of the virtual substructure in a report, in tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..definition.definition import Definition
from ..definition.faults import DefinitionError
from ..definition.load import from_json
from ..runs.replay import Replay, ReplayError, replay
from ..runs.run import Run
from . import sketch, structure_plots
from .page import Pictures
from .wording import in_unit, number, percent

SPOTS_SHOWN = 30
ROUNDING = 1e-12
STOREYS_SHOWN = 60
MODES_TOLD = 6
ENERGIES = {
    "input": "input by the excitation",
    "specimen": "transferred to the specimen",
    "damping": "dissipated by viscous damping",
    "absorbed": "absorbed by hinges, springs and fibres",
    "elastic": "strain energy left in elastic parts, less the work of gravity",
    "kinetic": "kinetic energy left",
}
"""By the end of the test."""


@dataclass(frozen=True)
class Structure:
    """The section of a page."""

    note: str
    """Why its inside is not shown; else empty."""
    modes: str
    storeys: Sequence[tuple[str, ...]]
    spots: Sequence[tuple[str, ...]]
    yielded: int
    spots_in_all: int
    energies: list[tuple[str, str, str]]
    balance: str


NOTHING = Structure("", "", [], [], 0, 0, [], "")


def structure(run: Run, pictures: Pictures) -> Structure | None:
    """Pictures and tables of a run's virtual substructure, if it says where its parts are; None if not."""
    try:
        definition = from_json(Definition, run.definition)
    except DefinitionError:
        return None
    found = definition.virtual.sketch()
    if found is None:
        return None
    pictures.add(
        "model", "The virtual part at rest; the arrow is where the specimen is attached.", partial(sketch.model, found)
    )
    try:
        played = replay(run)
    except ReplayError as error:
        return Structure(str(error), "", [], [], 0, 0, [], "")
    if played is None:
        return NOTHING
    _draw(played, pictures)
    return told(played)


def _draw(played: Replay, pictures: Pictures) -> None:
    pictures.add("model", "Its lowest modes at rest, without the specimen.", partial(sketch.modes, played.inside))
    for direction in played.inside.sideways:
        pictures.add(
            "inside",
            f"Storey drifts in {direction} over time, and their envelope over the height.",
            partial(structure_plots.drifts, played, direction),
        )
    pictures.add(
        "inside",
        "Where it yielded: largest deformation beyond the elastic one, |ε − σ/k|, and energy absorbed, ∫ σ dε less "
        "what unloading at the initial stiffness k would recover.",
        partial(structure_plots.where, played),
    )
    pictures.add(
        "inside",
        "Loops of the hinges, springs and fibres that absorbed most energy.",
        partial(structure_plots.loops, played),
    )
    pictures.add(
        "inside", "Energy input, and how it was dissipated and stored.", partial(structure_plots.energies, played)
    )


def told(played: Replay) -> Structure:
    """Tables of a replay."""
    frequencies, _ = played.inside.modes(MODES_TOLD)
    gone, spots = structure_plots.yielded(played), played.inside.sketch.spots
    total = float(played.absorbed.sum())
    # what is left by rounding of laws that stay elastic is nothing
    absorbed = [float(one) if abs(one) > ROUNDING * abs(total) else 0.0 for one in played.absorbed]
    rows = [
        (
            spot.name,
            deformation(float(played.strains.low[i]), spot.units[0]),
            deformation(float(played.strains.high[i]), spot.units[0]),
            in_unit(float(played.stresses.low[i]), spot.units[1]),
            in_unit(float(played.stresses.high[i]), spot.units[1]),
            deformation(float(played.plastic[i]), spot.units[0])
            if gone[i]
            else "elastic"
            if np.isfinite(played.plastic[i])
            else "",
            energy(absorbed[i]),
            percent(absorbed[i] / total) if total > 0.0 else "",
        )
        for i in np.argsort(-played.absorbed)[:SPOTS_SHOWN]
        for spot in [spots[i]]
    ]
    ends = {key: float(played.energy[key][-1]) for key in ENERGIES}
    came = max(abs(ends["input"]), 1e-300)
    energies = [
        (
            text,
            energy(-ends[key] if key == "specimen" else ends[key]),
            percent((-ends[key] if key == "specimen" else ends[key]) / came),
        )
        for key, text in ENERGIES.items()
    ]
    energies += [
        (f"of the damping, by the dashpot '{name}'", energy(value), percent(value / came))
        for name, value in played.dashpots.items()
    ]
    return Structure(
        note="",
        modes=", ".join(f"{number(float(one))} Hz" for one in frequencies),
        storeys=_storeys(played),
        spots=rows,
        yielded=int(gone.sum()),
        spots_in_all=len(spots),
        energies=energies,
        balance=percent(played.left_open),
    )


def _storeys(played: Replay) -> Sequence[tuple[str, ...]]:
    """Envelope of each storey's drift, from the roof down."""
    found = []
    for direction, values in played.drifts.items():
        for i, storey in enumerate(played.inside.sketch.storeys[:STOREYS_SHOWN]):
            drift = values[:, i]
            largest = int(np.argmax(np.abs(drift)))
            found.append(
                (
                    f"{i + 1}" + (f", {direction}" if len(played.drifts) > 1 else ""),
                    f"{number(storey.below)} … {number(storey.above)} m",
                    in_unit(float(drift.min()), "m"),
                    in_unit(float(drift.max()), "m"),
                    percent(float(np.abs(drift[largest])) / storey.height),
                    f"{played.all_time[largest]:.3f} s",
                    in_unit(float(drift[-1]), "m"),
                )
            )
    return found[::-1]


def deformation(value: float, unit: str) -> str:
    """In an engineer's unit; strains in per cent."""
    return f"{number(100.0 * value, 3)} %" if unit == "1" and np.isfinite(value) else in_unit(value, unit)


def energy(value: float) -> str:
    """In J or kJ."""
    return f"{number(1e-3 * value)} kJ" if abs(value) >= 1e3 else f"{number(value)} J"
