"""Universal files (UFF): frequency responses, complex modes and nodes, as laboratories exchange them.

Through pyuff (MIT licence; ``pip install pyuff``) are written and read:

====  =======================================================================================
58    a frequency response: response and reference node and direction, lines, complex values
55    a complex mode (analysis type 3): eigenvalue and shape
2411  nodes, or 15 in single precision; of a file with both, 2411 counts
164   units: SI; a file in others is refused
====  =======================================================================================

What the format costs: lines of a set 58 have six digits and its values twelve; lines that are equally far apart stay
so, as their distance is written.  A set 55 has six digits.  Files with binary sets are read; text is written, as pyuff
leaves files unclosed when it writes binary ones.  It writes complex shapes as displacements only: shapes with rotations
are refused unless they may be left out.  A file that was cut off within a set is refused; one that was cut off between
two sets cannot be told from a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .exchange_formats import DIRECTIONS, Contents, ExchangeError, Modes, Place, Responses, existing

ORDINATES: dict[str, int] = {"displacement": 8, "velocity": 11, "acceleration": 12}
FREQUENCY, FORCE = 18, 13
RESPONSE_FUNCTION, COMPLEX_MODE = 4, 3
SI, OF_THE_USER = 1, 9
MARK = re.compile(rb"    -1(?=[\r\n]| {74}|\Z)")
"""Before and behind every set."""
EVEN = 1e-6
"""Difference of the distances between lines, as a part of their mean, up to which lines count as equally far apart."""


def write_uff(
    path: Path | str,
    contents: Contents,
    *,
    nodes_as: Literal[15, 2411] = 2411,
    leave_out_rotations: bool = False,
) -> None:
    """Write a universal file, in place of one that is there.

    ``leave_out_rotations``: shapes lose their rotations, which a set 55 of pyuff cannot hold.
    """
    _check_finite(contents)
    sets: list[dict[str, Any]] = [
        {
            "type": 164,
            "units_code": 1,
            "units_description": "SI: m, N",
            "temp_mode": 1,
            "length": 1.0,
            "force": 1.0,
            "temp": 1.0,
            "temp_offset": 273.15,
        }
    ]
    if contents.nodes:
        sets.append(_node_set(contents.nodes, nodes_as))
    if contents.responses is not None:
        sets += _response_sets(contents.responses)
    if contents.modes is not None:
        sets += _mode_sets(contents.modes, leave_out_rotations)
    path, pyuff = Path(path), _pyuff()
    try:
        path.unlink(missing_ok=True)
        pyuff.UFF(str(path)).write_sets(sets, "add")
    except Exception as error:  # pyuff raises nothing more special
        raise ExchangeError(f"{path} cannot be written: {error}") from error


def read_uff(path: Path | str) -> Contents:
    """Nodes, frequency responses and complex modes of a universal file; what else it holds is passed over."""
    path, pyuff = Path(path), _pyuff()
    try:
        return _contents(pyuff.UFF(str(path)), path, len(MARK.findall(existing(path).read_bytes())))
    except ExchangeError:
        raise
    except Exception as error:  # pyuff raises nothing more special
        raise ExchangeError(
            f"{path.name} cannot be read as a universal file ({error}); export it anew, or read it with pyuff"
        ) from error


def _contents(file: Any, path: Path, marks: int) -> Contents:
    kinds = [int(kind) for kind in file.get_set_types()] if marks > 1 else []
    if not marks:
        raise ExchangeError(f"{path.name} holds no data sets; it is not a universal file, or it is empty")
    if marks != 2 * len(kinds) or min(kinds) < 1:
        raise ExchangeError(
            f"{path.name} has {marks} marks (-1) where each of its sets has one before and one behind it: it was cut "
            "off; export it anew"
        )

    def sets(kind: int) -> list[dict[str, Any]]:
        return [file.read_sets(i) for i, found in enumerate(kinds) if found == kind]

    for units in sets(164):
        if units["units_code"] not in (SI, OF_THE_USER) or (units["length"], units["force"]) != (1.0, 1.0):
            raise ExchangeError(
                f"{path.name} has {units['length']:g} of its units in 1 m and {units['force']:g} in 1 N (units code "
                f"{units['units_code']}), and only SI is read; export it in m and N"
            )
    nodes = {
        int(number): np.array([one["x"][i], one["y"][i], one["z"][i]], dtype=float)
        for kind in (15, 2411)
        for one in sets(kind)
        for i, number in enumerate(one["node_nums"])
    }
    responses = [one for one in sets(58) if one["func_type"] == RESPONSE_FUNCTION]
    modes = [one for one in sets(55) if one["analysis_type"] == COMPLEX_MODE]
    return Contents(_responses(responses, path), _modes(modes, path), nodes)


def _check_finite(contents: Contents) -> None:
    parts: list[tuple[str, Any]] = [("place of a node", list(contents.nodes.values()))]
    if contents.responses is not None:
        parts += [("line", contents.responses.frequency_hz), ("response", contents.responses.values)]
    if contents.modes is not None:
        parts += [("pole", contents.modes.poles), ("shape", contents.modes.shapes)]
    for name, values in parts:
        if not np.all(np.isfinite(np.asarray(values))):
            raise ExchangeError(f"a {name} is not finite, and a universal file holds numbers only; leave it out")


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


def _responses(sets: Sequence[dict[str, Any]], path: Path) -> Responses | None:
    if not sets:
        return None
    keys = [
        (Place.coded(one["rsp_node"], one["rsp_dir"]), Place.coded(one["ref_node"], one["ref_dir"])) for one in sets
    ]
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
            f"{path.name} has a set 58 with {len(short[0]['data'])} values where it tells {short[0]['num_pts']}; it "
            "was cut off: export it anew"
        )
    missing = [(output, given) for output in outputs for given in inputs if (output, given) not in table]
    if missing:
        raise ExchangeError(
            f"{path.name} has no response of {missing[0][0]} to {missing[0][1]}, though it has others of both; read "
            "its sets 58 one by one with pyuff"
        )
    quantities = {int(one["ordinate_spec_data_type"]) for one in sets}
    names = {code: name for name, code in ORDINATES.items()}
    if len(quantities) > 1 or not quantities <= names.keys():
        raise ExchangeError(
            f"{path.name} has ordinates of the types {sorted(quantities)}; all must be the same of {names}"
        )
    hz = np.asarray(sets[0]["x"], dtype=float)
    if any(len(one["x"]) != hz.size or not np.array_equal(one["x"], hz) for one in sets):
        raise ExchangeError(f"{path.name} has responses of different lines; read its sets 58 one by one with pyuff")
    values = np.array([[table[output, given]["data"] for given in inputs] for output in outputs], dtype=complex)
    return Responses(hz, values, outputs, inputs, names[quantities.pop()])  # type: ignore[arg-type]


def _mode_sets(modes: Modes, leave_out_rotations: bool) -> list[dict[str, Any]]:
    turning = [place for place in modes.places if abs(place.code) > 3]
    if turning and not leave_out_rotations:
        raise ExchangeError(
            f"the shapes have rotations ({turning[0]} …), and a set 55 holds displacements only here; write a MAT "
            "file, or let them be left out (leave_out_rotations)"
        )
    numbers = sorted({place.node for place in modes.places})
    found = []
    for k, pole in enumerate(modes.poles):
        table = np.zeros((3, len(numbers)), dtype=complex)
        for place, value in zip(modes.places, modes.shapes[:, k], strict=True):
            if place.code <= 3:
                table[place.code - 1, numbers.index(place.node)] = value
        found.append(
            {
                "type": 55,
                "analysis_type": COMPLEX_MODE,
                "data_ch": 2,
                "spec_data_type": ORDINATES["displacement"],
                "load_case": 1,
                "mode_n": k + 1,
                "eig": complex(pole),
                "modal_a": 0j,
                "modal_b": 0j,
                "node_nums": numbers,
                **{f"r{i + 1}": table[i] for i in range(3)},
            }
        )
    return found


def _modes(sets: Sequence[dict[str, Any]], path: Path) -> Modes | None:
    """Modes at every node and direction in which any of them moves."""
    if not sets:
        return None
    numbers = [int(number) for number in sets[0]["node_nums"]]
    if any([int(number) for number in one["node_nums"]] != numbers for one in sets):
        raise ExchangeError(f"{path.name} has modes at different nodes; read its sets 55 one by one with pyuff")
    tables = np.array([[one[f"r{i + 1}"] for i in range(3)] for one in sets], dtype=complex)  # modes, directions, nodes
    moving = [(i, k) for k in range(len(numbers)) for i in range(3) if np.any(tables[:, i, k])]
    places = tuple(Place(numbers[k], DIRECTIONS[i]) for i, k in moving)
    shapes = np.array([tables[:, i, k] for i, k in moving])
    return Modes(np.array([one["eig"] for one in sets], dtype=complex), shapes, places)


def _pyuff() -> Any:
    try:
        import pyuff
    except ImportError as error:
        raise ExchangeError("universal files are read and written by pyuff; run 'pip install pyuff'") from error
    return pyuff
