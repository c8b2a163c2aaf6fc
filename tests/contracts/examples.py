"""A definition for every kind: one of the gallery that has it, or a test of one axis with an example from here.

A new kind that is in no definition of the gallery gets its line in EXAMPLES.
"""

from __future__ import annotations

import os
import socket
import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from contracts.native import COMPILER, an_fmu, of_functions
from examples.wallace2005 import GALLERY
from halfreal.definition.definition import Definition
from halfreal.definition.kinds import CONTRACTS, kinds
from halfreal.runs.build import build
from models.materials.opensees import why_not

HERE = Path(__file__).parent
FILES = sorted(GALLERY.parent.glob("*/*.toml"))
BASE = GALLERY / "forward_prediction.toml"
USUAL = {"virtual": "structure", "coupling": "none", "rig": "simulated"}
"""Kinds where a definition names none."""
SECTIONS = {
    "virtual": [("virtual",)],
    "excitation": [("excitation", "virtual"), ("excitation", "specimen")],
    "coupling": [("coupling",)],
    "rig": [("rig",)],
    "link": [("link",)],
    "criteria": [("criteria",)],
}
NOT_IN_A_LOOP = ("link", "criteria")


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        return int(end.getsockname()[1])


EXAMPLES: dict[tuple[str, str], dict[str, Any]] = {
    ("virtual", "state space"): {"A": [[0.0, 1.0], [-1000.0, -7.0]], "B": [[0.0, 0.0], [0.4, -0.4]], "C": [[1.0, 0.0]]},
    ("virtual", "user"): {
        "function": "functions.py:virtual",
        "parameters": {"k": 2e3, "c": 50.0},
        "state": {"d": 0.0},
    },
    ("virtual", "frame"): {
        "sections": {"column": {"modulus": "200 GPa", "area": "0.01 m^2", "second_moment": "1e-4 m^4"}},
        "nodes": {"A": {"at": ["0 m", "0 m"], "fixed": "all"}, "B": {"at": ["0 m", "3 m"], "mass": "2.2 t"}},
        "elements": {"column": {"kind": "beam", "nodes": ["A", "B"], "section": "column"}},
        "interface": [{"node": "B", "direction": "x"}],
        "rayleigh": {"mass": "1 1/s"},
    },
    ("virtual", "client"): {"step": "10 ms"},
    ("excitation", "stepped sine"): {"displacement": "1 mm", "frequencies": ["2 Hz", "4 Hz"], "dwell": "2 s"},
    ("excitation", "multi-sine"): {"displacement": "1 mm", "frequencies": ["2 Hz", "3.1 Hz"], "phases": "schroeder"},
    ("excitation", "step"): {"displacement": "1 mm", "ramp": "0.1 s"},
    ("coupling", "model inverse"): {"coefficients": [1.0, 0.01]},
    ("coupling", "adaptive time series"): {"coefficients": [1.0, 0.01], "range": 1.0},
    ("rig", "user"): {"function": "functions.py:rig", "parameters": {"k": 2250.0}},
    ("criteria", "user"): {"function": "functions.py:score"},
    ("criteria", "vrths"): {},
    ("criteria", "marths"): {},
    ("link", "udp"): {"rig": f"127.0.0.1:{free_port()}"},
    ("link", "serial"): {"port": f"{tempfile.gettempdir()}/halfreal-contract-test-{os.getpid()}", "rig": "pty"},
    ("link", "shared memory"): {"name": f"contract-test-{os.getpid()}"},
}
"""Settings of kinds that no definition of the gallery has, and of links, whose ends are opened here."""
if COMPILER is not None:
    EXAMPLES |= {
        ("virtual", "library"): {
            "function": f"{of_functions()}:virtual_device",
            "parameters": {"k": 2e3, "c": 50.0},
            "state": {"d": 0.0},
        },
        ("coupling", "library"): {"function": f"{of_functions()}:coupling"},
        ("rig", "library"): {"function": f"{of_functions()}:rig", "parameters": {"k": 2250.0}},
        ("virtual", "fmu"): {"fmu": str(an_fmu()), "inputs": {"force": "force"}, "outputs": {"displacement": "x"}},
        ("coupling", "fmu"): {"fmu": str(an_fmu()), "inputs": {"force": "force"}, "outputs": {"command": "x"}},
        ("rig", "fmu"): {
            "fmu": str(an_fmu("rig")),
            "inputs": {"command": "excitation"},
            "outputs": {"displacement": "x", "force": "v"},
        },
    }
SLOW = {"automatic", "six_axes"}
"""Definitions of the gallery that are taken last: what they leave out takes long to be chosen, or to be compiled."""
if not why_not():
    EXAMPLES[("virtual", "opensees")] = {"model": "opensees_model.py", "interface": [{"node": 2, "dof": 1}]}
UNEXCITED = {("virtual", kind) for kind in ("frame", "state space", "user", "library", "fmu", "opensees")}
"""Kinds that the support of BASE cannot excite."""

NATIVE = {"library", "fmu"}
"""Kinds that need a C compiler here."""
ABSENT = (NATIVE if COMPILER is None else set()) | ({"opensees"} if why_not() else set())
EVERY = [(family, kind) for family in CONTRACTS for kind in kinds(family) if kind not in ABSENT]


def file_of(family: str, kind: str) -> Path | None:
    """The definition of the gallery that shows a kind."""
    return _in_the_gallery().get((family, kind))


@cache
def of_the_gallery(path: Path) -> Definition:
    return Definition.model_validate(_read(path), context={"folder": path.parent})


@cache
def definition_of(family: str, kind: str) -> Definition:
    """The definition in which a kind is tried."""
    path = file_of(family, kind)
    if path is not None and (family, kind) not in EXAMPLES:
        return of_the_gallery(path)
    if (family, kind) not in EXAMPLES:
        raise AssertionError(
            f"no definition of the gallery has the {family} '{kind}', and EXAMPLES in {Path(__file__).name} neither; "
            "add its settings there"
        )
    data = _read(BASE)
    del data["reference"]  # not every virtual substructure has one
    place, name = data, family
    if family == "excitation":
        place, name = data["excitation"], "virtual"
    place[name] = {"kind": kind, **EXAMPLES[family, kind]}
    if (family, kind) in UNEXCITED:
        del data["excitation"]
    return Definition.model_validate(data, context={"folder": HERE})


def part_of(definition: Definition, family: str, kind: str) -> Any:
    """The part of a definition that is of this kind."""
    excitation = definition.excitation
    parts = {
        "virtual": [definition.virtual],
        "excitation": [excitation.virtual, excitation.specimen],
        "coupling": [definition.coupling],
        "rig": [definition.rig],
        "link": [definition.link],
        "criteria": [definition.criteria],
    }
    return next(part for part in parts[family] if part is not None and part.kind == kind)


def outside_the_gallery() -> dict[str, Any]:
    """Loops of all kinds that the gallery does not have, for counting allocations."""
    return {
        f"{family} {kind}": build(definition_of(family, kind))
        for family, kind in EVERY
        if family not in NOT_IN_A_LOOP and file_of(family, kind) is None
    }


@cache
def _in_the_gallery() -> dict[tuple[str, str], Path]:
    """Of each kind a definition that has it: the fewest files that show all of them, each built once."""
    has = {path: set(_kinds_of(_read(path))) for path in FILES}
    found: dict[tuple[str, str], Path] = {}
    while missing := set().union(*has.values()) - found.keys():
        path = max(FILES, key=lambda one: (len(has[one] & missing), one.stem not in SLOW))
        found |= dict.fromkeys(has[path] & missing, path)
    return found


def _kinds_of(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for family, places in SECTIONS.items():
        for place in places:
            table: Any = data
            for key in place:
                table = table.get(key, {} if key in USUAL else None) if table is not None else None
            if table is not None:
                yield family, table.get("kind", USUAL.get(family))


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
