"""Frequency responses and modes for other programs, and from them: what is exchanged, and MAT and CSV files.

MAT files (version 5, for MATLAB, Octave and scipy) and CSV hold everything to the last digit; universal files, which
modal-analysis programs of laboratories exchange, are in ``universal_file.py``.

A place is a node's number and a direction: x, y, z, rx, ry, rz, or −x … against it.  What is no motion of one node
along one axis, such as a force that acts along several, is a scalar with a name, ``Place(13, "scalar", "x + z")``; its
node is 0 if it belongs to none.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import HalfrealError

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
SCALAR = "scalar"
LONGEST_NAME = 60
"""Of a scalar: it is in a line of 80 of a universal file."""
QUANTITIES = ("displacement", "velocity", "acceleration")
Quantity = Literal["displacement", "velocity", "acceleration"]


class ExchangeError(HalfrealError):
    """What cannot be written in a format, or read from a file."""


class Place(NamedTuple):
    """A node and a direction there, such as (13, "z") or (13, "-z"), or a scalar with its name."""

    node: int
    direction: str
    name: str = ""
    """Of a scalar only."""

    @property
    def code(self) -> int:
        """Direction as UFF counts it: 1 to 6, negative against the axis, 0 of a scalar."""
        if self.direction == SCALAR:
            return 0
        name = self.direction.removeprefix("-")
        if name not in DIRECTIONS:
            raise ExchangeError(
                f"the direction '{self.direction}' at node {self.node} is not one of {', '.join(DIRECTIONS)}, {SCALAR}"
            )
        return (1 + DIRECTIONS.index(name)) * (-1 if self.direction.startswith("-") else 1)

    @classmethod
    def coded(cls, node: int, code: int, name: str = "") -> Place:
        """As UFF has it; what is no scalar has no name."""
        if code == 0:
            return cls(int(node), SCALAR, name)
        if abs(code) > len(DIRECTIONS):
            raise ExchangeError(f"direction {code} at node {node}; only 0 to ±6 are supported")
        return cls(int(node), ("-" if code < 0 else "") + DIRECTIONS[abs(code) - 1])

    @classmethod
    def read(cls, text: str) -> Place:
        """From text such as "13:z" or "13:scalar:x + z"."""
        node, direction, name = (*text.strip().split(":", 2), "", "")[:3]
        if not node.isdigit():
            raise ExchangeError(f"'{text}' is not a place; write a node and a direction, such as 13:z")
        found = cls(int(node), direction, name)
        _ = found.code
        return found

    def __str__(self) -> str:
        return f"{self.node}:{self.direction}" + (f":{self.name}" if self.name else "")


def _check_names(places: tuple[Place, ...]) -> None:
    for place in places:
        if place.name and place.code:
            raise ExchangeError(f"{place.node}:{place.direction} has the name '{place.name}'; only scalars have names")
        if len(place.name) > LONGEST_NAME or not place.name.isprintable() or "/" in place.name:
            raise ExchangeError(
                f"the name {place.name!r} of a scalar has {len(place.name)} characters; write up to {LONGEST_NAME} in "
                "one line, without '/'"
            )
        if place.name != place.name.strip():
            raise ExchangeError(f"the name {place.name!r} of a scalar starts or ends with a blank; remove it")


def _check_each_once(places: tuple[Place, ...], what: str) -> None:
    twice = [place for place in places if places.count(place) > 1]
    if twice:
        raise ExchangeError(f"{twice[0]} is listed twice among the {what}; keep one")


def existing(path: Path | str) -> Path:
    """The path of a file, or ``ExchangeError``."""
    if not Path(path).is_file():
        raise ExchangeError(f"there is no file {path}")
    return Path(path)


@dataclass(frozen=True)
class Responses:
    """Frequency responses: lines [Hz], values (outputs, inputs, lines), per N or N m."""

    frequency_hz: np.ndarray
    values: np.ndarray
    outputs: tuple[Place, ...]
    inputs: tuple[Place, ...]
    quantity: Quantity = "displacement"

    def __post_init__(self) -> None:
        shape = (len(self.outputs), len(self.inputs), len(self.frequency_hz))
        if self.values.shape != shape:
            raise ExchangeError(f"responses of shape {self.values.shape} where outputs × inputs × lines are {shape}")
        if self.quantity not in QUANTITIES:
            raise ExchangeError(
                f"responses of the quantity '{self.quantity}'; only {', '.join(QUANTITIES)} are supported"
            )
        _check_names((*self.outputs, *self.inputs))
        _check_each_once(self.outputs, "outputs")
        _check_each_once(self.inputs, "inputs")


@dataclass(frozen=True)
class Modes:
    """Complex modes: poles s [1/s], shapes (places, modes)."""

    poles: np.ndarray
    shapes: np.ndarray
    places: tuple[Place, ...]

    def __post_init__(self) -> None:
        if self.shapes.shape != (len(self.places), len(self.poles)):
            raise ExchangeError(
                f"shapes of shape {self.shapes.shape} where places × modes are {(len(self.places), len(self.poles))}"
            )
        if any(place.direction.startswith("-") for place in self.places):
            raise ExchangeError("a shape is given along a negative axis; change its sign and use the positive axis")
        _check_names(self.places)
        _check_each_once(self.places, "places")

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.poles) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        return np.asarray(-self.poles.real / np.abs(self.poles))


@dataclass(frozen=True)
class Contents:
    """What a file holds."""

    responses: Responses | None = None
    modes: Modes | None = None
    nodes: Mapping[int, np.ndarray] = field(default_factory=dict)
    """Where nodes are [m], by number."""


# --- MAT --------------------------------------------------------------------------------------------------------------


def write_mat(path: Path | str, contents: Contents) -> None:
    """Write a MAT file: structures ``responses`` and ``modes``, and ``nodes`` with columns number, x, y, z."""
    from scipy.io import savemat

    found: dict[str, Any] = {}
    if contents.responses is not None:
        one = contents.responses
        found["responses"] = {
            "frequency_hz": one.frequency_hz,
            "values": one.values,
            "outputs": _coded(one.outputs),
            "inputs": _coded(one.inputs),
            "output_names": _names(one.outputs),
            "input_names": _names(one.inputs),
            "quantity": one.quantity,
        }
    if contents.modes is not None:
        many = contents.modes
        found["modes"] = {
            "poles": many.poles,
            "shapes": many.shapes,
            "places": _coded(many.places),
            "place_names": _names(many.places),
            "frequency_hz": many.frequency_hz,
            "damping": many.damping,
        }
    if contents.nodes:
        found["nodes"] = np.array([[number, *place] for number, place in contents.nodes.items()], dtype=float)
    savemat(Path(path), found, appendmat=False)


def read_mat(path: Path | str) -> Contents:
    """What ``write_mat`` wrote."""
    from scipy.io import loadmat

    path = existing(path)
    try:
        found = loadmat(path, appendmat=False, simplify_cells=True)
    except Exception as error:  # of many kinds, by what the file is instead
        raise ExchangeError(f"{path.name} is not a MAT file of version 5 ({error})") from error
    if not {"responses", "modes", "nodes"} & found.keys():
        raise ExchangeError(f"{path.name} contains no responses, modes or nodes")
    responses, modes = found.get("responses"), found.get("modes")
    try:
        nodes = np.asarray(found.get("nodes", np.zeros((0, 4))), dtype=float).reshape(-1, 4)
        return Contents(
            None if responses is None else _responses_of(responses),
            None if modes is None else _modes_of(modes),
            {int(row[0]): row[1:] for row in nodes},
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ExchangeError(
            f"{path.name} has responses, modes or nodes that were not written by write_mat ({error!r})"
        ) from error


def _responses_of(table: dict[str, Any]) -> Responses:
    outputs, inputs = (_places(table[f"{end}s"], table.get(f"{end}_names", ())) for end in ("output", "input"))
    hz = np.atleast_1d(table["frequency_hz"])
    values = np.asarray(table["values"], dtype=complex).reshape(len(outputs), len(inputs), len(hz))
    return Responses(hz, values, outputs, inputs, table["quantity"])


def _modes_of(table: dict[str, Any]) -> Modes:
    places = _places(table["places"], table.get("place_names", ()))
    poles = np.atleast_1d(table["poles"]).astype(complex)
    return Modes(poles, np.asarray(table["shapes"], dtype=complex).reshape(len(places), len(poles)), places)


def _coded(places: Sequence[Place]) -> np.ndarray:
    """Rows of node and direction, as UFF counts it."""
    return np.array([[place.node, place.code] for place in places], dtype=float)


def _names(places: Sequence[Place]) -> np.ndarray:
    return np.array([place.name for place in places], dtype=object)


def _places(rows: np.ndarray, names: Any = ()) -> tuple[Place, ...]:
    rows = np.atleast_2d(rows)
    told = [name if isinstance(name, str) else "" for name in np.atleast_1d(np.array(names, dtype=object))]
    told = told if len(told) == len(rows) else [""] * len(rows)
    return tuple(Place.coded(int(node), int(code), name) for (node, code), name in zip(rows, told, strict=True))


# --- CSV --------------------------------------------------------------------------------------------------------------


def write_responses_csv(path: Path | str, responses: Responses) -> None:
    """A table of frequency_hz and, for each response, ``real 13:z/9:x`` and ``imag 13:z/9:x``: output over input."""
    pairs = [(i, j) for i in range(len(responses.outputs)) for j in range(len(responses.inputs))]
    names = [f"{responses.outputs[i]}/{responses.inputs[j]}" for i, j in pairs]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        file.write(f"# quantity: {responses.quantity}\n")
        writer = csv.writer(file)
        writer.writerow(["frequency_hz", *(f"{part} {name}" for name in names for part in ("real", "imag"))])
        for k, hz in enumerate(responses.frequency_hz):
            row = [responses.values[i, j, k] for i, j in pairs]
            writer.writerow([repr(float(hz)), *(repr(float(x)) for z in row for x in (z.real, z.imag))])


def read_responses_csv(path: Path | str) -> Responses:
    """What ``write_responses_csv`` wrote."""
    path = Path(path)
    heading, numbers, quantity = _table(path)
    names = [name.removeprefix("real ") for name in heading[1::2]]
    if (
        heading[:1] != ["frequency_hz"]
        or any(name.count("/") != 1 for name in names)
        or len(heading) != 1 + 2 * len(names)
    ):
        raise ExchangeError(
            f"{path.name} is not a table of responses: its heading must be frequency_hz, real 1:z/1:z, …"
        )
    keys = [(Place.read(left), Place.read(right)) for left, right in (name.split("/") for name in names)]
    outputs, inputs = (tuple(dict.fromkeys(key[i] for key in keys)) for i in (0, 1))
    if len(keys) != len(outputs) * len(inputs):
        raise ExchangeError(f"{path.name} has {len(keys)} responses of {len(outputs)} outputs to {len(inputs)} inputs")
    columns = dict(zip(keys, (numbers[:, 1::2] + 1j * numbers[:, 2::2]).T, strict=True))
    values = np.array([[columns[output, given] for given in inputs] for output in outputs])
    return Responses(numbers[:, 0], values, outputs, inputs, quantity)


def write_modes_csv(path: Path | str, modes: Modes) -> None:
    """A row for each mode: frequency_hz, damping, real and imaginary parts of pole and of the shape at each place."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        shapes = [f"{part} {place}" for place in modes.places for part in ("real", "imag")]
        writer.writerow(["frequency_hz", "damping", "pole_real", "pole_imag", *shapes])
        for k, pole in enumerate(modes.poles):
            row = [modes.frequency_hz[k], modes.damping[k], pole.real, pole.imag]
            row += [x for z in modes.shapes[:, k] for x in (z.real, z.imag)]
            writer.writerow([repr(float(x)) for x in row])


def read_modes_csv(path: Path | str) -> Modes:
    """What ``write_modes_csv`` wrote."""
    path = Path(path)
    heading, numbers, _ = _table(path)
    if heading[:4] != ["frequency_hz", "damping", "pole_real", "pole_imag"] or len(heading) % 2:
        raise ExchangeError(
            f"{path.name} is not a table of modes: its heading must be frequency_hz, damping, pole_real, …"
        )
    places = tuple(Place.read(name.removeprefix("real ")) for name in heading[4::2])
    return Modes(numbers[:, 2] + 1j * numbers[:, 3], (numbers[:, 4::2] + 1j * numbers[:, 5::2]).T, places)


def _table(path: Path) -> tuple[list[str], np.ndarray, Any]:
    try:
        with existing(path).open(newline="", encoding="utf-8") as file:
            lines = [line for line in file if line.strip()]
    except UnicodeDecodeError:
        raise ExchangeError(f"{path.name} is not a table: it is not text") from None
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    quantity = next((note.split(":", 1)[1].strip() for note in notes if note.startswith("quantity:")), "displacement")
    if quantity not in QUANTITIES:
        raise ExchangeError(f"{path.name} is of the quantity '{quantity}'; only {', '.join(QUANTITIES)} are supported")
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    try:
        numbers = np.array(rows[1:], dtype=float).reshape(len(rows) - 1, len(rows[0]))
    except (ValueError, IndexError):
        raise ExchangeError(f"{path.name} has rows that are not as many numbers as its heading has columns") from None
    return rows[0], numbers, quantity
