"""A small definition with every kind of value, and TOML texts with known lines, for the tests of this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pydantic import Field, model_validator

from halfreal.definition.faults import DefinitionError
from halfreal.definition.load import from_toml
from halfreal.settings import ExistingFile, Matrix, Number, Settings, Vector, faults

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy with other things."""


class Linear(Settings):
    kind: Literal["linear"] = "linear"
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="positive")]
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True, definite="semi")]
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    start: Annotated[np.ndarray, Vector("m")] = np.zeros(1)

    @model_validator(mode="after")
    def _sizes(self) -> Linear:
        rows = len(self.mass)
        others = {"stiffness": self.stiffness, "damping": self.damping}
        wrong = [
            ((key,), f"has {len(value)} rows where mass has {rows}; give as many")
            for key, value in others.items()
            if value is not None and len(value) != rows
        ]
        if wrong:
            raise faults(wrong)
        return self


class Recorded(Settings):
    kind: Literal["file"]  # a tag that is a key as well
    file: ExistingFile
    column: Annotated[int, Field(ge=1)] = 1


Virtual = Annotated[Linear | Recorded, Field(discriminator="kind")]


class Timing(Settings):
    step: Annotated[float, Number("s", above=0)]
    delay: Annotated[float, Number("s", least=0)] = 0.0
    rate: Annotated[float, Number("Hz", above=0)] = 1.5


class Sensor(Settings):
    name: str
    noise: Annotated[float, Number("N", least=0)] = 0.0
    part: Virtual | None = None


class Definition(Settings):
    title: str
    timing: Timing
    virtual: Virtual
    sensors: tuple[Sensor, ...] = ()
    gains: dict[Annotated[str, Field(max_length=20)], Annotated[float, Number("1")]] = Field(default_factory=dict)
    times: tuple[Annotated[float, Number("s")], ...] = (0.1, 0.25)
    scheme: Literal["newmark", "exact"] = "newmark"
    window: Annotated[float, Number("s")] | Literal["all"] = "all"
    ratio: Annotated[float, Number("1", least=0, most=1)] = 0.05
    quiet: bool = False


GOOD = """\
title = "oscillator"
[timing]
step = "1 ms"
[virtual]
kind = "linear"
mass = "2.2 kg"
stiffness = "2.25 kN/m"
"""


def load(text: str, folder: Path | str = ".") -> Definition:
    return from_toml(text, Definition, folder=Path(folder), name="test.toml")


def complaints(text: str, folder: Path | str = ".") -> list[str]:
    """The faults of a text, as printed; empty if it has none."""
    try:
        load(text, folder)
    except DefinitionError as error:
        return str(error).split("\n")
    return []


def definitions() -> st.SearchStrategy[Definition]:
    """Valid definitions with values of any size."""
    finite = st.floats(-1e30, 1e30)
    positive = st.floats(1e-12, 1e12)
    scalar = positive.map(lambda value: [[value]])
    pairs = st.tuples(*[st.floats(1e-5, 1e5)] * 2).map(lambda pair: np.diag(pair))

    def linear(mass: Any) -> st.SearchStrategy[Linear]:
        size = len(mass)
        return st.builds(
            Linear,
            kind=st.just("linear"),
            mass=st.just(mass),
            stiffness=pairs if size == 2 else scalar,
            damping=st.none() | st.lists(st.lists(finite, min_size=size, max_size=size), min_size=size, max_size=size),
            start=st.lists(finite, min_size=1, max_size=3),
        )

    parts = (pairs | scalar).flatmap(linear)
    text = st.text(st.characters(exclude_categories=["Cs"]))
    names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    return st.builds(
        Definition,
        title=text,
        timing=st.builds(Timing, step=positive, delay=st.floats(0, 1e25), rate=positive),
        virtual=parts,
        sensors=st.lists(st.builds(Sensor, name=text, noise=st.floats(0, 1e9), part=st.none() | parts), max_size=3).map(
            tuple
        ),
        gains=st.dictionaries(names, finite, max_size=3),
        times=st.lists(finite, max_size=3).map(tuple),
        scheme=st.sampled_from(["newmark", "exact"]),
        window=st.just("all") | finite,
        ratio=st.floats(0, 1),
        quiet=st.booleans(),
    )


# --- TOML with known lines --------------------------------------------------------------------------------------------


class Writer:
    """Writes nested data as TOML in styles drawn at random, and notes the line of every key and entry."""

    def __init__(self, draw: Any) -> None:
        self.draw, self.text = draw, ""
        self.lines: dict[tuple[str | int, ...], int] = {}

    @property
    def line(self) -> int:
        return self.text.count("\n") + 1

    def choose(self, *options: str) -> str:
        return str(self.draw(st.sampled_from(options)))

    def key(self, key: str) -> str:
        quoted = json.dumps(key).replace("\x7f", "\\u007f")
        plain = [key] if key and all(c.isascii() and (c.isalnum() or c in "_-") for c in key) else []
        literal = [f"'{key}'"] if key.isprintable() and "'" not in key else []
        return self.choose(quoted, *plain, *literal)

    def document(self, data: dict[str, Any]) -> str:
        self.table(data, ())
        return self.text

    def table(self, data: dict[str, Any], place: tuple[str | int, ...]) -> None:
        later = []
        for key, value in data.items():
            style = self.choose("plain", "header", "header") if _tables(value) else "plain"
            if style == "header":
                later.append((key, value))
                continue
            self.text += self.choose("", "\n", "# [not] = 'a key'\n", "  ")
            here = (*place, key)
            self.lines[here] = self.line
            self.text += self.key(key)
            while isinstance(value, dict) and len(value) == 1 and self.draw(st.booleans()):  # dotted keys
                ((inner, value),) = value.items()
                here = (*here, inner)
                self.lines[here] = self.line
                self.text += self.choose(".", " . ") + self.key(inner)
            self.text += self.choose("=", " = ")
            self.value(value, here)
            self.text += self.choose("\n", " # = [ { \" '''\n")
        for key, value in later:
            for i, item in enumerate(value if isinstance(value, list) else [value]):
                here = (*place, key, i) if isinstance(value, list) else (*place, key)
                self.text += self.choose("", "\n")
                self.lines.setdefault((*place, key), self.line)
                self.lines[here] = self.line
                name = ".".join(self.key(step) for step in here if isinstance(step, str))
                self.text += f"[[{name}]]\n" if isinstance(value, list) else f"[ {name} ] # [x]\n"
                self.table(item, here)

    def value(self, value: Any, place: tuple[str | int, ...]) -> None:
        if isinstance(value, dict):
            self.text += "{ "
            for n, (key, item) in enumerate(value.items()):
                self.text += ", " if n else ""
                self.lines[*place, key] = self.line
                self.text += f"{self.key(key)} = "
                self.value(item, (*place, key))
            self.text += " }"
        elif isinstance(value, list):
            self.text += "["
            for n, item in enumerate(value):
                self.text += self.choose("", "\n", " # ] , [\n\n")
                self.lines[*place, n] = self.line
                self.value(item, (*place, n))
                self.text += ","
            self.text += self.choose("", "\n") + "]"
        elif isinstance(value, str):
            self.text += self.string(value)
        else:
            self.text += str(value).lower() if isinstance(value, bool) else repr(value)

    def string(self, value: str) -> str:
        basic = json.dumps(value).replace("\x7f", "\\u007f")
        options = [basic, f'""{basic}""']
        if value.isprintable() and "'" not in value:
            options += [f"'{value}'", f"'''{value}'''", f"'''\n{value}'''"]
        if value.replace("\n", " ").isprintable() and "\\" not in value and '"""' not in value:
            options += [f'"""\n{value}"""'] if not value.endswith('"') else []
        return self.choose(*options)


def _tables(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)
    )


def toml_data(leaf: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """Nested tables, lists and values."""
    keys = st.text("abc_-1. \"'#[]=é\n", max_size=4)
    texts = st.text("ab \"'\\#[]{}=,\n", max_size=8)
    leaves = leaf or (st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, -1e300]) | texts)
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=10
    )
    return st.dictionaries(keys, values, max_size=4)
