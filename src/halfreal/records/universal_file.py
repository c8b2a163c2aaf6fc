"""Universal files (UFF): frequency responses, complex modes and nodes, as laboratories exchange them.

Through pyuff (MIT licence; ``pip install pyuff``), and by ``universal_shapes.py`` for sets 55, are written and read:

====  =======================================================================================
58    a frequency response: response and reference node and direction, lines, complex values
55    a complex mode: eigenvalue and shape, with rotations if it has any; normal modes are read
2411  nodes, or 15 in single precision; of a file with both, 2411 counts
164   units: SI; a file in others is refused
====  =======================================================================================

What is no motion of a node along an axis, such as a generalised force, has the direction 0, "scalar", of a set 58; its
name is in the fourth (response) or fifth (reference) line of text as ``RESPONSE NAME: …``, ``REFERENCE NAME: …``.

What the format costs: lines of a set 58 have six digits and its values twelve; lines that are equally far apart stay
so, as their distance is written.  A set 55 has six digits.  Files with binary sets are read; text is written, as pyuff
leaves files unclosed when it writes binary ones.  Of a file with complex and normal modes the complex ones count.  Some
programs, pyuff among them, read complex shapes of displacements only: for these, rotations may be left out.  A file
that was cut off within a set is refused; one that was cut off between two sets cannot be distinguished from a whole
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .exchange_formats import DIRECTIONS, SCALAR, Contents, ExchangeError, Modes, Place, Quantity, Responses, existing
from .universal_shapes import Shape, ShapeError, read_shape, write_shape

QUANTITY: dict[str, Quantity] = {
    "m": "displacement",
    "rad": "displacement",
    "m/s": "velocity",
    "rad/s": "velocity",
    "m/s^2": "acceleration",
    "rad/s^2": "acceleration",
}
"""Of motions in these units."""
ORDINATES: dict[str, int] = {"displacement": 8, "velocity": 11, "acceleration": 12}
FREQUENCY, FORCE, UNKNOWN = 18, 13, 0
RESPONSE_FUNCTION = 4
NAMES = {"rsp": ("id4", "RESPONSE NAME: "), "ref": ("id5", "REFERENCE NAME: ")}
"""Where the names of scalars stand in a set 58, and behind what."""
SI, OF_THE_USER = 1, 9
UNITS: dict[str, Any] = {
    "type": 164,
    "units_code": SI,
    "units_description": "SI: m, N",
    "temp_mode": 1,
    "length": 1.0,
    "force": 1.0,
    "temp": 1.0,
    "temp_offset": 273.15,
}
"""The set of units of every file."""
MARK = re.compile(rb"    -1(?=[\r\n]| {74}|\Z)")
"""Before and behind every set."""
EVEN = 1e-6
"""Difference of the distances between lines, as a part of their mean, up to which lines count as equally far apart."""


def ordinate(unit: str) -> int:
    """What a set 58 calls a quantity of a unit."""
    return FORCE if unit in ("N", "N m") else ORDINATES.get(QUANTITY.get(unit, ""), UNKNOWN)


def direction_of(channel: str) -> str:
    """The axis of an interface's channel, its last word; scalar if it has none."""
    axis = channel.rsplit(".", 1)[-1]
    return axis if axis in DIRECTIONS else SCALAR


def write_uff(
    path: Path | str,
    contents: Contents,
    *,
    nodes_as: Literal[15, 2411] = 2411,
    leave_out_rotations: bool = False,
) -> None:
    """Write a universal file, in place of one that is there.

    ``leave_out_rotations``: shapes lose their rotations, for programs that do not read them.
    """
    _check_finite(contents)
    sets: list[dict[str, Any]] = [dict(UNITS)]
    if contents.nodes:
        sets.append(_node_set(contents.nodes, nodes_as))
    if contents.responses is not None:
        sets += _response_sets(contents.responses)
    shapes = [] if contents.modes is None else _shapes(contents.modes, leave_out_rotations)
    path, pyuff = Path(path), load_pyuff()
    try:
        path.unlink(missing_ok=True)
        pyuff.UFF(str(path)).write_sets(sets, "add")
        with path.open("a", encoding="utf-8") as file:
            file.writelines(write_shape(shape) for shape in shapes)
    except Exception as error:  # pyuff raises nothing more special
        raise ExchangeError(f"{path} cannot be written: {error}") from error


def read_uff(path: Path | str) -> Contents:
    """Nodes, frequency responses and modes of a universal file; what else it holds is passed over."""
    path, pyuff = Path(path), load_pyuff()
    try:
        return _contents(pyuff.UFF(str(path)), path, existing(path).read_bytes())
    except ExchangeError:
        raise
    except ShapeError as error:
        raise ExchangeError(f"{path.name}: {error}; export it again") from error
    except Exception as error:  # pyuff raises nothing more special
        raise ExchangeError(
            f"{path.name} cannot be read as a universal file ({error}); export it again, or read it with pyuff"
        ) from error


def _contents(file: Any, path: Path, text: bytes) -> Contents:
    places = [(found.start(), found.end()) for found in MARK.finditer(text)]
    marks = len(places)
    kinds = [int(kind) for kind in file.get_set_types()] if marks > 1 else []
    if not marks:
        raise ExchangeError(f"{path.name} contains no data sets; it is not a universal file, or it is empty")
    if marks != 2 * len(kinds) or min(kinds) < 1:
        raise ExchangeError(
            f"{path.name} has {marks} marks (-1), but each data set needs one before and one after it: it is "
            "truncated; export it again"
        )

    def sets(kind: int) -> list[dict[str, Any]]:
        return [file.read_sets(i) for i, found in enumerate(kinds) if found == kind]

    for units in sets(164):
        if units["units_code"] not in (SI, OF_THE_USER) or (units["length"], units["force"]) != (1.0, 1.0):
            raise ExchangeError(
                f"{path.name} has {units['length']:g} of its units in 1 m and {units['force']:g} in 1 N (units code "
                f"{units['units_code']}), but only SI is supported; export it in m and N"
            )
    nodes = {
        int(number): np.array([one["x"][i], one["y"][i], one["z"][i]], dtype=float)
        for kind in (15, 2411)
        for one in sets(kind)
        for i, number in enumerate(one["node_nums"])
    }
    responses = [one for one in sets(58) if one["func_type"] == RESPONSE_FUNCTION]
    blocks = [text[places[2 * i][1] : places[2 * i + 1][0]] for i, kind in enumerate(kinds) if kind == 55]
    shapes = [read_shape(block.decode("utf-8", errors="replace").lstrip("\r\n ")) for block in blocks]
    return Contents(_responses(responses, path), _modes([shape for shape in shapes if shape], path), nodes)


def _check_finite(contents: Contents) -> None:
    parts: list[tuple[str, Any]] = [("place of a node", list(contents.nodes.values()))]
    if contents.responses is not None:
        parts += [("line", contents.responses.frequency_hz), ("response", contents.responses.values)]
    if contents.modes is not None:
        parts += [("pole", contents.modes.poles), ("shape", contents.modes.shapes)]
    for name, values in parts:
        if not np.all(np.isfinite(np.asarray(values))):
            raise ExchangeError(f"a {name} is not finite, but a universal file stores numbers only; omit it")


def _node_set(nodes: Mapping[int, np.ndarray], kind: int) -> dict[str, Any]:
    numbers = sorted(nodes)
    places = np.array([nodes[number] for number in numbers], dtype=float)
    none = [0] * len(numbers)
    columns = dict(zip("xyz", places.T.tolist(), strict=True))
    return {"type": kind, "node_nums": numbers, "def_cs": none, "disp_cs": none, "color": none, **columns}


def _response_sets(responses: Responses) -> list[dict[str, Any]]:
    gaps = np.diff(responses.frequency_hz)
    even = gaps.size > 0 and bool(np.abs(gaps / gaps.mean() - 1.0).max() < EVEN)
    return [
        {
            "type": 58,
            "func_type": RESPONSE_FUNCTION,
            "rsp_node": output.node,
            "rsp_dir": output.code,
            "ref_node": given.node,
            "ref_dir": given.code,
            **_names("rsp", output),
            **_names("ref", given),
            "ordinate_len_unit_exp": int(output.direction == SCALAR),
            "orddenom_force_unit_exp": int(given.direction == SCALAR),
            "abscissa_spacing": int(even),
            "abscissa_spec_data_type": FREQUENCY,
            "abscissa_axis_units_lab": "Hz",
            "ordinate_spec_data_type": ORDINATES[responses.quantity],
            "orddenom_spec_data_type": FORCE,
            "x": np.asarray(responses.frequency_hz, dtype=float),
            "data": np.asarray(responses.values[i, j], dtype=complex),
        }
        for i, output in enumerate(responses.outputs)
        for j, given in enumerate(responses.inputs)
    ]


def _names(end: str, place: Place) -> dict[str, str]:
    key, before = NAMES[end]
    return {key: before + place.name, f"{end}_ent_name": place.name[:10]} if place.name else {}


def _place(one: dict[str, Any], end: str) -> Place:
    key, before = NAMES[end]
    text, entity = str(one.get(key, "")), str(one.get(f"{end}_ent_name", ""))
    name = text.removeprefix(before).strip() if text.startswith(before) else "" if entity == "NONE" else entity
    return Place.coded(one[f"{end}_node"], one[f"{end}_dir"], name)


def _responses(sets: Sequence[dict[str, Any]], path: Path) -> Responses | None:
    if not sets:
        return None
    keys = [(_place(one, "rsp"), _place(one, "ref")) for one in sets]
    outputs, inputs = (tuple(dict.fromkeys(key[i] for key in keys)) for i in (0, 1))
    table = dict(zip(keys, sets, strict=True))
    if len(table) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ExchangeError(
            f"{path.name} has more than one response of {twice[0]} to {twice[1]}; keep one, or read its sets 58 one by "
            "one with pyuff"
        )
    short = [one for one in sets if not len(one["data"]) == len(one["x"]) == one["num_pts"]]
    if short:
        raise ExchangeError(
            f"{path.name} has a set 58 with {len(short[0]['data'])} values, but states {short[0]['num_pts']}; it "
            "is truncated: export it again"
        )
    missing = [(output, given) for output in outputs for given in inputs if (output, given) not in table]
    if missing:
        raise ExchangeError(
            f"{path.name} has no response of {missing[0][0]} to {missing[0][1]}, although it has others of both; read "
            "its sets 58 one by one with pyuff"
        )
    quantities = {int(one["ordinate_spec_data_type"]) for one in sets}
    names = {code: name for name, code in ORDINATES.items()}
    if len(quantities) > 1 or not quantities <= names.keys():
        raise ExchangeError(
            f"{path.name} has ordinates of the types {sorted(quantities)}; all must be of one type of {names}"
        )
    hz = np.asarray(sets[0]["x"], dtype=float)
    if any(len(one["x"]) != hz.size or not np.array_equal(one["x"], hz) for one in sets):
        raise ExchangeError(f"{path.name} has responses of different lines; read its sets 58 one by one with pyuff")
    values = np.array([[table[output, given]["data"] for given in inputs] for output in outputs], dtype=complex)
    return Responses(hz, values, outputs, inputs, names[quantities.pop()])  # type: ignore[arg-type]


def _shapes(modes: Modes, leave_out_rotations: bool) -> list[Shape]:
    scalars = [place for place in modes.places if place.direction == SCALAR]
    if scalars:
        raise ExchangeError(
            f"the shapes have a scalar among their places ({scalars[0]}), but a data set 55 stores "
            "motions of nodes; state at "
            "which node and along which axis it is, or write a MAT file or a table"
        )
    width = 6 if any(place.code > 3 for place in modes.places) and not leave_out_rotations else 3
    numbers = sorted({place.node for place in modes.places})
    found = []
    for k, pole in enumerate(modes.poles):
        values = np.zeros((len(numbers), width), dtype=complex)
        for place, value in zip(modes.places, modes.shapes[:, k], strict=True):
            if place.code <= width:
                values[numbers.index(place.node), place.code - 1] = value
        found.append(Shape(complex(pole), tuple(numbers), values, number=k + 1))
    return found


def _modes(shapes: Sequence[Shape], path: Path) -> Modes | None:
    """Modes at every node and direction in which any of them moves."""
    shapes = [shape for shape in shapes if not shape.normal] or shapes
    if not shapes:
        return None
    numbers = shapes[0].nodes
    if any(shape.nodes != numbers for shape in shapes):
        raise ExchangeError(f"{path.name} has modes at different nodes; read its sets 55 one by one with pyuff")
    values = np.zeros((len(shapes), len(numbers), 6), dtype=complex)
    for k, shape in enumerate(shapes):
        values[k, :, : shape.values.shape[1]] = shape.values
    moving = [(node, i) for node in range(len(numbers)) for i in range(6) if np.any(values[:, node, i])]
    places = tuple(Place(numbers[node], DIRECTIONS[i]) for node, i in moving)
    found = np.array([values[:, node, i] for node, i in moving]).reshape(len(places), len(shapes))
    return Modes(np.array([shape.pole for shape in shapes]), found, places)


def load_pyuff() -> Any:
    try:
        import pyuff
    except ImportError as error:
        raise ExchangeError("universal files are read and written by pyuff; run 'pip install pyuff'") from error
    return pyuff
