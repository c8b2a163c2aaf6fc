"""Shapes in universal files: set 55, data at nodes, with rotations and complex values, which pyuff does not know.

By the format's description (University of Cincinnati, Structural Dynamics Research Laboratory, "Universal File Dataset
Number 55"): five lines of text, then numbers in fixed columns,

    6  model, analysis, characteristic, quantity, real (2) or complex (5), values per node             6I10
    7  how many integers and reals follow, load case, number of the mode                               8I10
    8  normal mode: Hz, modal mass, viscous and hysteretic damping; complex: eigenvalue, modal a, b    6E13.5
    9  number of a node                                                                                I10
    10 its values, x y z or x y z rx ry rz; of a complex one the real part, then the imaginary         6E13.5

the last two for every node, six values a line.  A normal mode's pole is that of its frequency and damping ratio ζ; a
hysteretic one, the loss factor, counts half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NORMAL, COMPLEX_MODES = 2, (3, 7)
"""Analysis types: real modes; complex ones, of displacements and of velocities."""
CHARACTERISTICS = {0: (3, 6), 2: (3,), 3: (6,)}
"""Values per node by the characteristic of the data: unknown, translations, translations and rotations."""
MOTIONS = (0, 1, 8, 11, 12)
"""Quantities that are shapes: unknown, general, displacement, velocity, acceleration; a factor in time does not turn
a shape into another."""
DISPLACEMENT = 8
REAL, COMPLEX = 2, 5


class ShapeError(ValueError):
    """A set 55 that does not follow the format."""


@dataclass(frozen=True)
class Shape:
    """One mode: its pole [1/s], nodes, and values (nodes, 3 or 6)."""

    pole: complex
    nodes: tuple[int, ...]
    values: np.ndarray
    normal: bool = False
    number: int = 1


def write_shape(shape: Shape) -> str:
    """The text of a set 55 of a complex mode."""
    width = shape.values.shape[1]
    lines = [f"{-1:6d}", f"{55:6d}", *["NONE"] * 5]
    lines.append(_integers(1, COMPLEX_MODES[0], {3: 2, 6: 3}[width], DISPLACEMENT, COMPLEX, width))
    lines.append(_integers(2, 6, 1, shape.number))
    lines += _reals([shape.pole.real, shape.pole.imag, 0.0, 0.0, 0.0, 0.0])
    for node, row in zip(shape.nodes, shape.values, strict=True):
        lines += [_integers(node), *_reals([part for z in row for part in (z.real, z.imag)])]
    return "\n".join([*lines, f"{-1:6d}"]) + "\n"


def read_shape(text: str) -> Shape | None:
    """The mode of a set 55, given from its number on; None if it holds anything else."""
    lines = text.splitlines()[1:]
    try:
        kind = _whole(lines[5])
        _, analysis, characteristic, quantity, complexity, width = kind
        if analysis not in (NORMAL, *COMPLEX_MODES) or quantity not in MOTIONS:
            return None
        if width not in CHARACTERISTICS.get(characteristic, ()):
            return None
        number, told = _whole(lines[6])[3], _numbers([lines[7]])
        nodes, values = _at_nodes(lines[8:], width * (2 if complexity == COMPLEX else 1))
    except (ValueError, IndexError) as error:
        raise ShapeError(f"a set 55 does not follow the format ({error})") from error
    if complexity == COMPLEX:
        values = values[:, ::2] + 1j * values[:, 1::2]
    pole = complex(told[0], told[1]) if analysis in COMPLEX_MODES else _normal_pole(told)
    return Shape(pole, nodes, values.astype(complex), analysis == NORMAL, number)


def _normal_pole(told: Sequence[float]) -> complex:
    hz, _, viscous, hysteretic = (*told, 0.0, 0.0, 0.0)[:4]
    ratio = viscous or 0.5 * hysteretic
    if abs(ratio) >= 1.0:
        raise ShapeError(f"a normal mode has a damping ratio of {ratio:g}; it must be below 1")
    return complex(2 * np.pi * hz * (-ratio + 1j * np.sqrt(1.0 - ratio**2)))


def _at_nodes(lines: Sequence[str], count: int) -> tuple[tuple[int, ...], np.ndarray]:
    """Numbers of nodes, and ``count`` values at each."""
    rows = -(-count // 6)
    lines = [line for line in lines if line.strip()]
    blocks = [lines[i : i + 1 + rows] for i in range(0, len(lines), 1 + rows)]
    values = [_numbers(block[1:]) for block in blocks]
    short = [len(one) for one in values if len(one) != count]
    if short:
        raise ShapeError(f"a node has {short[0]} values instead of {count}: it is truncated")
    return tuple(_whole(block[0])[0] for block in blocks), np.array(values, dtype=float).reshape(-1, count)


def _integers(*values: int) -> str:
    return "".join(f"{value:10d}" for value in values)


def _reals(values: Sequence[float]) -> list[str]:
    return ["".join(f"{value:13.5e}" for value in values[i : i + 6]) for i in range(0, len(values), 6)]


def _whole(line: str) -> list[int]:
    return [int(word) for word in _columns(line, 10)]


def _numbers(lines: Sequence[str]) -> list[float]:
    """Also those that Fortran writes with a D."""
    return [float(word.replace("D", "E").replace("d", "e")) for line in lines for word in _columns(line, 13)]


def _columns(line: str, width: int) -> list[str]:
    line = line.rstrip()
    return [line[i : i + width] for i in range(0, len(line), width)]
