"""Frames made in Python: part by part, or whole by storeys and bays.

    frame = FrameBuilder()
    frame.section("column", modulus=2e11, area=0.012, second_moment=2.5e-4)
    frame.node("A", (0.0, 0.0), fixed="all")
    frame.node("B", (0.0, 3.5), mass=2e4)
    frame.beam("column", "A", "B", section="column", geometry="p-delta")
    virtual = frame.build(interface=[("B", "x")], scheme="kr-alpha")

Numbers are in SI units, or texts with a unit.  What is built is checked as a definition's section is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ... import units
from .frame import Frame

Quantity = float | str


class FrameBuilder:
    """Collects the parts of a frame."""

    def __init__(self, dimensions: int = 2) -> None:
        self.parts: dict[str, Any] = {
            "kind": "frame",
            "dimensions": dimensions,
            "materials": {},
            "sections": {},
            "nodes": {},
            "elements": {},
            "constraints": [],
            "loads": [],
            "responses": {},
        }

    def material(self, name: str, kind: str, **settings: Any) -> None:
        """A law of hinges, springs, trusses or fibres."""
        self._new("materials", name, {"kind": kind, **settings})

    def section(self, name: str, **settings: Any) -> None:
        """A cross-section."""
        self._new("sections", name, settings)

    def node(self, name: str, at: Sequence[Quantity], **settings: Any) -> None:
        """A node at its coordinates."""
        self._new("nodes", name, {"at": list(at), **settings})

    def element(self, name: str, kind: str, *nodes: str, **settings: Any) -> None:
        """An element of a kind between nodes."""
        self._new("elements", name, {"kind": kind, "nodes": list(nodes), **settings})

    def beam(self, name: str, start: str, end: str, **settings: Any) -> None:
        """A beam–column."""
        self.element(name, "beam", start, end, **settings)

    def fibre_section(self, name: str, *parts: Mapping[str, Any], **settings: Any) -> None:
        """A cross-section made of fibres."""
        self.section(name, kind="fibres", parts=list(parts), **settings)

    def truss(self, name: str, start: str, end: str, **settings: Any) -> None:
        """A member that carries axial force only."""
        self.element(name, "truss", start, end, **settings)

    def spring(self, name: str, *nodes: str, **settings: Any) -> None:
        """A spring of a law along a direction."""
        self.element(name, "spring", *nodes, **settings)

    def constrain(self, kind: str, master: str, slaves: Iterable[str], **settings: Any) -> None:
        """Nodes that follow another."""
        self.parts["constraints"].append({"kind": kind, "master": master, "slaves": list(slaves), **settings})

    def load(self, node: str, direction: str, **settings: Any) -> None:
        """A gravity load: ``force`` or ``moment``."""
        self.parts["loads"].append({"node": node, "direction": direction, **settings})

    def record(self, name: str, **settings: Any) -> None:
        """A further output to record."""
        self._new("responses", name, settings)

    def build(self, interface: Iterable[tuple[str, str]], **settings: Any) -> Frame:
        """The frame, with the specimen at these nodes and directions."""
        places = [{"node": node, "direction": direction} for node, direction in interface]
        return Frame(**{**self.parts, "interface": places, **settings})

    def _new(self, family: str, name: str, settings: Mapping[str, Any]) -> None:
        if name in self.parts[family]:
            raise ValueError(f"{family} already has a '{name}'; give each a unique name")
        self.parts[family][name] = dict(settings)


def line_name(number: int) -> str:
    """Name of a column line: A, B, … Z, AA, AB, …"""
    letters = ""
    number += 1
    while number:
        number, last = divmod(number - 1, 26)
        letters = chr(ord("A") + last) + letters
    return letters


def regular_frame(
    storeys: int,
    bays: int,
    *,
    height: Quantity,
    width: Quantity,
    column: Mapping[str, Any],
    girder: Mapping[str, Any],
    mass: Quantity,
    inertia: Quantity = 0.0,
    column_hinge: Mapping[str, Any] | None = None,
    girder_hinge: Mapping[str, Any] | None = None,
    weight: Quantity | None = None,
    geometry: str = "linear",
    materials: Mapping[str, Mapping[str, Any]] | None = None,
    member: Mapping[str, Any] | None = None,
) -> FrameBuilder:
    """A plane frame of equal storeys and bays, clamped at its feet.

    ``member`` says what its members are, as {"kind": "force-based beam", "points": 5}; ``materials`` are the laws of
    fibre sections by name.

    ``mass``, ``inertia`` and ``weight`` (a force downwards) are those of each joint above the ground.  Joints are
    called after their column line and floor, A0, B0, … at the ground; the column below joint B2 is "column B2", the
    girder from B2 to C2 "girder B2".  Storey drifts are recorded as drift1, drift2, … on line A.
    """
    tall, wide = _length(height), _length(width)
    frame = FrameBuilder()
    frame.section("column", **column)
    frame.section("girder", **girder)
    for name, law in (materials or {}).items():
        frame.material(name, **law)
    own = {"kind": "beam", **(member or {})}
    kind = own.pop("kind")
    ends: dict[str, dict[str, Any]] = {"column": {}, "girder": {}}
    for name, hinge in (("column", column_hinge), ("girder", girder_hinge)):
        if hinge is not None:
            frame.material(f"{name} hinge", **hinge)
            ends[name] = {"hinges": [f"{name} hinge"] * 2}
    lines = [line_name(i) for i in range(bays + 1)]
    for floor in range(storeys + 1):
        for i, line in enumerate(lines):
            at = (i * wide, floor * tall)
            if floor == 0:
                frame.node(f"{line}0", at, fixed="all")
                continue
            frame.node(f"{line}{floor}", at, mass=mass, inertia=inertia)
            below, here = f"{line}{floor - 1}", f"{line}{floor}"
            joined = {"section": "column", "geometry": geometry, **ends["column"]}
            frame.element(f"column {here}", kind, below, here, **{**own, **joined})
            if weight is not None:
                frame.load(here, "y", force=-_force(weight))
        if floor:
            for line, following in pairwise(lines):
                joined = {"section": "girder", **ends["girder"]}
                nodes = f"{line}{floor}", f"{following}{floor}"
                frame.element(f"girder {line}{floor}", kind, *nodes, **{**own, **joined})
            against = {"against": f"A{floor - 1}"} if floor > 1 else {}
            frame.record(f"drift{floor}", node=f"A{floor}", direction="x", quantity="displacement", **against)
    return frame


def regular_space_frame(
    storeys: int,
    bays: tuple[int, int],
    *,
    height: Quantity,
    widths: tuple[Quantity, Quantity],
    column: Mapping[str, Any],
    girder: Mapping[str, Any],
    mass: Quantity,
    inertia: Quantity = 0.0,
    column_hinge: Mapping[str, Any] | None = None,
    girder_hinge: Mapping[str, Any] | None = None,
    weight: Quantity | None = None,
    geometry: str = "linear",
    rigid_floors: bool = False,
    materials: Mapping[str, Mapping[str, Any]] | None = None,
    member: Mapping[str, Any] | None = None,
) -> FrameBuilder:
    """A frame in space of equal storeys and bays, so many along x and so many along y, clamped at its feet.

    As ``regular_frame``, with members such as {"kind": "force-based space beam"}; joints are called after their line
    along x, their line along y and their floor: BA2 is on the second line of x and the first of y, with "column BA2"
    below it, "x girder BA2" from it to CA2 and "y girder BA2" to BB2.  Columns have hinges about both axes, girders
    about their y, that is against vertical bending.  With ``rigid_floors`` the joints of a floor follow its AA joint as
    a rigid diaphragm.
    """
    tall, wide = _length(height), tuple(_length(width) for width in widths)
    frame = FrameBuilder(3)
    frame.section("column", **column)
    frame.section("girder", **girder)
    for name, law in (materials or {}).items():
        frame.material(name, **law)
    own = {"kind": "space beam", **(member or {})}
    kind = own.pop("kind")
    ends: dict[str, dict[str, Any]] = {"column": {}, "girder": {}}
    for name, hinge, axes in (("column", column_hinge, "yz"), ("girder", girder_hinge, "y")):
        if hinge is not None:
            frame.material(f"{name} hinge", **hinge)
            ends[name] = {f"hinges_{axis}": [f"{name} hinge"] * 2 for axis in axes}
    lines = [(i, j) for i in range(bays[0] + 1) for j in range(bays[1] + 1)]
    for floor in range(storeys + 1):

        def joint(i: int, j: int, at: int = floor) -> str:
            return f"{line_name(i)}{line_name(j)}{at}"

        for i, j in lines:
            here = joint(i, j)
            support = {"fixed": "all"} if floor == 0 else {"mass": mass, "inertia": inertia}
            frame.node(here, (i * wide[0], j * wide[1], floor * tall), **support)
            if floor and weight is not None:
                frame.load(here, "z", force=-_force(weight))
        if floor == 0:
            continue
        for i, j in lines:
            here = joint(i, j)
            frame.element(
                f"column {here}", kind, joint(i, j, floor - 1), here,
                **{**own, "section": "column", "geometry": geometry, **ends["column"]},
            )  # fmt: skip
            for axis, following in (("x", (i + 1, j)), ("y", (i, j + 1))):
                if following in lines:
                    frame.element(
                        f"{axis} girder {here}", kind, here, joint(*following),
                        **{**own, "section": "girder", **ends["girder"]},
                    )  # fmt: skip
        if rigid_floors:
            frame.constrain("rigid diaphragm", joint(0, 0), [joint(i, j) for i, j in lines[1:]])
        against = {"against": f"AA{floor - 1}"} if floor > 1 else {}
        for axis in "xy":
            frame.record(f"drift{floor}{axis}", node=f"AA{floor}", direction=axis, quantity="displacement", **against)
    return frame


def shear_building(
    masses: Sequence[Quantity], storeys: Sequence[Mapping[str, Any]], height: Quantity = 3.5
) -> FrameBuilder:
    """Floors that move in x only, joined by a law of storey shear over drift for each storey, from the ground up.

    Floors are called F1, F2, …, storeys "storey 1", …; drifts are recorded as drift1, …
    """
    if len(masses) != len(storeys):
        raise ValueError(f"{len(masses)} masses for {len(storeys)} storeys; give one for each")
    tall, frame = _length(height), FrameBuilder()
    frame.node("F0", (0.0, 0.0), fixed="all")
    for floor, (mass, law) in enumerate(zip(masses, storeys, strict=True), start=1):
        frame.node(f"F{floor}", (0.0, floor * tall), mass=mass, fixed=["y", "rz"])
        frame.material(f"storey {floor}", **law)
        frame.spring(f"storey {floor}", f"F{floor - 1}", f"F{floor}", direction="x", material=f"storey {floor}")
        against = {"against": f"F{floor - 1}"} if floor > 1 else {}
        frame.record(f"drift{floor}", node=f"F{floor}", direction="x", quantity="displacement", **against)
    return frame


def _length(value: Quantity) -> float:
    return units.parse(value, "m") if isinstance(value, str) else float(value)


def _force(value: Quantity) -> float:
    return units.parse(value, "N") if isinstance(value, str) else float(value)
