"""Frequency responses and modes of a recorded test for other programs: universal file, MAT, or two CSV tables.

A channel has a name, and programs for modal analysis need a node and a direction: ``places`` has them, by channel.
Without, a response is a scalar of that name, which a universal file keeps for responses and refuses for shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..identification.assembled_frf import AssembledFRF
from ..identification.poles import Poles
from .exchange_formats import (
    LONGEST_NAME,
    SCALAR,
    Contents,
    ExchangeError,
    Modes,
    Place,
    Responses,
    write_mat,
    write_modes_csv,
    write_responses_csv,
)
from .universal_file import QUANTITY, direction_of, write_uff
from .whole_file import whole_file

ENDINGS = (".uff", ".mat", ".csv")


def files(path: Path) -> tuple[Path, ...]:
    """The files that are written for a name: one, or with .csv that of the modes and ``….responses.csv``."""
    if path.suffix.lower() not in ENDINGS:
        raise ExchangeError(f"'{path.name}' has the extension '{path.suffix}'; use {', '.join(ENDINGS)}")
    return (path, path.with_suffix(".responses.csv")) if path.suffix.lower() == ".csv" else (path,)


def read_places(texts: Sequence[str]) -> dict[str, Place]:
    """From texts such as "virtual.tip = 13:z"."""
    found = {}
    for text in texts:
        name, equals, place = (part.strip() for part in text.rpartition("="))
        if not equals or not name:
            raise ExchangeError(
                f"'{text}' is not a location; write a channel, a node and a direction: 'virtual.tip = 13:z'"
            )
        found[name] = Place.read(place)
    return found


def contents(responses: AssembledFRF, poles: Poles, places: Mapping[str, Place] | None = None) -> Contents:
    """What is exchanged of responses to one excitation, and of their modes."""
    places = places or {}
    unknown = [name for name in places if name not in (*responses.outputs, responses.input)]
    if unknown:
        told = ", ".join((*responses.outputs, responses.input))
        raise ExchangeError(f"a location is given for '{unknown[0]}', which is not one of {told}")
    if not all(unit.endswith("/N") for unit in responses.units):
        raise ExchangeError(
            f"the responses are in {', '.join(sorted(set(responses.units)))}, but exported responses are per N; "
            "excite the test by a force"
        )
    units = {unit.removesuffix("/N") for unit in responses.units}
    quantities = {QUANTITY.get(unit) for unit in units}
    if len(quantities) != 1 or None in quantities:
        raise ExchangeError(
            f"the responses are in {', '.join(sorted(units))}; in one file all are displacements, or velocities, or "
            "accelerations: choose them (--channels)"
        )
    (quantity,) = quantities
    assert quantity is not None
    outputs = tuple(places.get(name) or _unplaced(name, i + 1) for i, name in enumerate(responses.outputs))
    given = places.get(responses.input) or _unplaced(responses.input, 0)
    # a shape is given along its axis, a response may be measured against it
    signs = np.array([-1.0 if place.direction.startswith("-") else 1.0 for place in outputs])
    along = tuple(place._replace(direction=place.direction.removeprefix("-")) for place in outputs)
    return Contents(
        Responses(responses.frequency_hz, responses.values[:, None, :], outputs, (given,), quantity),
        Modes(poles.poles, signs[:, None] * poles.residues, along),
    )


def write(path: Path, what: Contents, overwrite: bool = False) -> tuple[Path, ...]:
    """Write in the format of the ending; return the files."""
    assert what.responses is not None and what.modes is not None
    targets = files(path)
    if path.suffix.lower() == ".csv":
        with whole_file(targets[1], overwrite) as temporary:
            write_responses_csv(temporary, what.responses)
        with whole_file(targets[0], overwrite) as temporary:
            write_modes_csv(temporary, what.modes)
        return targets
    scalars = [place.name for place in what.modes.places if place.direction == SCALAR]
    if path.suffix.lower() == ".uff" and scalars:
        raise ExchangeError(
            f"'{scalars[0]}' has no node and direction, which a shape in a universal file needs; give them (--place "
            f"'{scalars[0]} = 1:z', for each response), or write .mat or .csv"
        )
    with whole_file(path, overwrite) as temporary:
        (write_uff if path.suffix.lower() == ".uff" else write_mat)(temporary, what)
    return targets


def _unplaced(name: str, number: int) -> Place:
    """A scalar; an interface's channel has the direction of its axis."""
    direction = direction_of(name)
    return Place(number, direction, name.replace("/", "_").strip()[:LONGEST_NAME] if direction == SCALAR else "")
