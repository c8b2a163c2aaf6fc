"""Mutated definitions: each differs from one of the gallery's in one to three places, by a seeded random choice."""

from __future__ import annotations

import copy
import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomlkit

UNITS = (
    "m",
    "mm",
    "s",
    "ms",
    "N",
    "kN",
    "Hz",
    "kg",
    "N/m",
    "N s/m",
    "rad",
    "N m/rad",
    "m/s^2",
    "%",
    "dB",
    "furlong",
    "",
)
NUMBERS = (0.0, -1.0, 1e-300, 1e300, 1e12, 1e-12, float("inf"), float("-inf"), float("nan"), 2.0**63, 5e-324)
STRANGE = (
    "",
    "text",
    "ünïcödé 𝄞",
    True,
    [],
    {},
    [[]],
    [[1.0], [1.0, 2.0]],
    {"kind": "none"},
    10**30,
    "1 m",
    "../x.csv",
)
QUANTITY = re.compile(r"^\s*([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*(.*)$")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in nested tables and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def mutated(text: str, chance: random.Random, longest: str = "") -> str:
    """The text of a definition, mutated; its duration is cut to ``longest`` beforehand."""
    data = tomllib.loads(text)
    if longest and "timing" in data:
        data["timing"]["duration"] = longest
    for _ in range(chance.choice((1, 1, 2, 3))):
        _mutate(data, chance)
    try:
        result = tomlkit.dumps(data)
    except (ValueError, TypeError):  # a table where TOML has none
        return text
    return _garbled(result, chance) if chance.random() < 0.05 else result


def _mutate(data: Any, chance: random.Random) -> None:
    found = list(places(data))
    if not found:
        return
    path = chance.choice(found)
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    key, value = path[-1], parent[path[-1]]
    way = chance.random()
    if way < 0.1:
        del parent[key]
    elif way < 0.15 and isinstance(parent, dict):
        parent[f"{key}_"] = copy.deepcopy(value)
    elif way < 0.2 and isinstance(parent, list):
        parent.append(copy.deepcopy(value))
    elif way < 0.27:
        parent[key] = chance.choice(STRANGE)
    elif way < 0.32:
        other = chance.choice(found)  # a value from elsewhere in the same file
        taken = data
        for step in other:
            if not isinstance(taken, dict | list) or (isinstance(taken, dict) and step not in taken):
                return
            if isinstance(taken, list) and step >= len(taken):
                return
            taken = taken[step]
        parent[key] = copy.deepcopy(taken)
    else:
        parent[key] = _other(value, chance)


def _other(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return chance.choice((*NUMBERS, -value, value * 1e6, value * 1e-6, value * chance.uniform(0, 3), value + 1))
    if isinstance(value, str):
        match = QUANTITY.match(value)
        if match is None:
            return chance.choice((value[:-1], value + "x", value.upper(), "", 1.0))
        number, unit = float(match[1]), match[2]
        if chance.random() < 0.15:
            return f"{number} {chance.choice(UNITS)}"
        return f"{_other(number, chance)} {unit}"
    if isinstance(value, list):
        return chance.choice((value[:-1], value * 2, value[::-1], [value], [_other(one, chance) for one in value]))
    return chance.choice(({}, [value], "", 0.0))


def _garbled(text: str, chance: random.Random) -> str:
    """A line twice, a character gone, or one that does not belong there."""
    lines = text.split("\n")
    way = chance.randrange(3)
    if way == 0:
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
        return "\n".join(lines)
    at = chance.randrange(max(len(text), 1))
    return text[:at] + ("" if way == 1 else chance.choice('"[]={}#\n\0é')) + text[at + 1 :]


def definitions(examples: Path) -> list[Path]:
    """All definitions of the gallery, and its plans of sweeps."""
    return sorted(examples.glob("*/**/*.toml"))
