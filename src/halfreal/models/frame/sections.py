"""Cross-sections of members, elastic or made of fibres.

Plane sections stay plane (Bernoulli): a fibre at the height y above the member's axis is strained by

    ε = ε_0 − κ y

with the strain ε_0 of the axis and the curvature κ.  y points to the left of the way from the member's first node to
its second: upwards in a girder that is drawn from left to right.  The axis is y = 0, wherever the section's parts are.
In space sections bend across too (``elements/space_section.py``): y points towards the beam's ``orientation``, and z to
the right as seen along the beam.

An elastic section is one of two elastic fibres of half its area at y = ±√(I/A), which have the same EA and EI; in space
of four.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...settings import Number, Settings, default_kind, fault
from ..materials.elastic import ElasticFibre
from ..materials.kinds import FIBRES
from ..materials.law import Law
from .names import unknown

Material = Annotated[str, Field(min_length=1)]
FLAT = 1e-9
"""Part of a section's height below which its fibres are in one line."""
EXTREME = ("top", "bottom")
"""Gauges that every section has: at its highest and lowest fibre."""


@dataclass(frozen=True)
class Fibres:
    """A section as fibres, those of one law together."""

    y: np.ndarray
    z: np.ndarray
    area: np.ndarray
    laws: tuple[Law, ...]
    materials: tuple[str, ...]
    """Names of their materials."""

    def stiffness(self) -> np.ndarray:
        """∂(N, M)/∂(ε_0, κ) without load, (2, 2)."""
        stiff = self.area * [law.initial_stiffness for law in self.laws]
        return np.array([[np.sum(stiff), -stiff @ self.y], [-stiff @ self.y, stiff @ self.y**2]])

    def space_stiffness(self) -> np.ndarray:
        """∂(N, M, O)/∂(ε_0, κ, λ) without load, (3, 3)."""
        b = np.vstack([np.ones(len(self.y)), -self.y, self.z])
        return np.asarray((b * self.area * [law.initial_stiffness for law in self.laws]) @ b.T)

    def numbers(self) -> tuple[float, ...]:
        """As the compiled code reads it (``elements/fibre_section.py``)."""
        return (*self._runs(), *self.y.tolist(), *self.area.tolist())

    def space_numbers(self) -> tuple[float, ...]:
        """As ``elements/space_section.py`` reads it."""
        return (*self._runs(), *self.y.tolist(), *self.z.tolist(), *self.area.tolist())

    def _runs(self) -> tuple[float, ...]:
        runs = [0]
        for i, law in enumerate(self.laws):
            if i and law is not self.laws[i - 1]:
                runs.append(0)
            runs[-1] += 1
        return (float(len(self.y)), float(len(runs)), *map(float, runs))


class Section(Settings):
    """Cross-section of elastic members."""

    kind: Literal["elastic"] = "elastic"
    modulus: Annotated[float, Number("Pa", above=0)]
    """Young's modulus E."""
    area: Annotated[float, Number("m^2", above=0)]
    second_moment: Annotated[float, Number("m^4", above=0)] | None = None
    """Second moment of area I, of beams; bending in the plane of a plane frame."""
    second_moment_y: Annotated[float, Number("m^4", above=0)] | None = None
    """I_y of a beam in space: bending in the plane of its axis and its local z."""
    second_moment_z: Annotated[float, Number("m^4", above=0)] | None = None
    """I_z of a beam in space: bending in the plane of its axis and its local y."""
    torsion_constant: Annotated[float, Number("m^4", above=0)] | None = None
    """Saint-Venant's torsion constant J of a beam in space."""
    shear_modulus: Annotated[float, Number("Pa", above=0)] | None = None
    """Shear modulus G of a beam in space; default: E/(2 (1 + ν)) with ``poisson``."""
    poisson: Annotated[float, Number("1", least=0, most=0.5)] = 0.3
    """Poisson's ratio ν."""
    mass_per_length: Annotated[float, Number("kg/m", least=0)] = 0.0
    """Mass per length; distributed to the nodes according to ``element_mass`` of the frame."""

    @property
    def elastic(self) -> Section | None:
        """The section, if it is elastic by its area and modulus."""
        return self

    @property
    def rigidity(self) -> float | None:
        """G J, if J is given."""
        shear = self.shear_modulus or self.modulus / (2.0 * (1.0 + self.poisson))
        return None if self.torsion_constant is None else shear * self.torsion_constant

    def check(self, materials: Mapping[str, Any]) -> None:
        """Raise a fault if it does not fit the frame's materials."""

    def fibres(self, materials: Mapping[str, Any], dimensions: int = 2) -> Fibres:
        """The section as fibres."""
        law = ElasticFibre(kind="elastic fibre", modulus=self.modulus)
        needed = ("second_moment",) if dimensions == 2 else ("second_moment_y", "second_moment_z")
        for key in needed:
            if getattr(self, key) is None:
                raise fault(f"it has no {key}, but its beam bends; give one", key)
        high, wide = (np.sqrt(getattr(self, key) / self.area) for key in (needed[0], needed[-1]))
        if dimensions == 2:
            return Fibres(np.array([-high, high]), np.zeros(2), np.full(2, 0.5 * self.area), (law, law), ("", ""))
        y, z = high * np.array([-1.0, -1.0, 1.0, 1.0]), wide * np.array([-1.0, 1.0, -1.0, 1.0])
        return Fibres(y, z, np.full(4, 0.25 * self.area), (law,) * 4, ("",) * 4)

    def gauge(self, name: str, fibres: Fibres) -> int:
        """Number of the fibre at which a gauge is."""
        return _extreme(name, fibres, EXTREME)


class Part(Settings):
    """A part of a section of one material."""

    kind: str
    material: Material
    """Name of a stress–strain material."""

    @abstractmethod
    def fibres(self) -> Iterator[tuple[float, float, float]]:
        """y, z and area of each fibre."""
        raise NotImplementedError


class Rectangle(Part):
    """A rectangle, cut into fibres of equal height."""

    kind: Literal["rectangle"] = "rectangle"
    bottom: Annotated[float, Number("m")]
    """y of its lower edge."""
    top: Annotated[float, Number("m")]
    """y of its upper edge."""
    width: Annotated[float, Number("m", above=0)]
    fibres_across: Annotated[int, Field(ge=1, le=1000)] = 20
    """Number of fibres over the height."""
    middle: Annotated[float, Number("m")] = 0.0
    """z of its centre, in space."""
    fibres_along: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of fibres over the width; use several in space."""

    @field_validator("top")
    @classmethod
    def _above(cls, top: float, info: ValidationInfo) -> float:
        bottom = info.data.get("bottom")
        if bottom is not None and top <= bottom:
            raise fault(f"top is at {top:g} m, not above bottom at {bottom:g} m; the rectangle has no area")
        return top

    def fibres(self) -> Iterator[tuple[float, float, float]]:
        yield from _cut(self.bottom, self.top, self.width, self.fibres_across, self.fibres_along, self.middle)


class Bars(Part):
    """Reinforcing bars at one height, or anything that is one fibre."""

    kind: Literal["bars"] = "bars"
    y: Annotated[float, Number("m")]
    """Height of the centres of the bars."""
    z: Annotated[float, Number("m")] = 0.0
    """Lateral position of the centre of the bars, in space."""
    area: Annotated[float, Number("m^2", above=0)]
    """Of all of them together."""

    def fibres(self) -> Iterator[tuple[float, float, float]]:
        yield self.y, self.z, self.area


class WideFlange(Part):
    """A doubly symmetric I-section, its depth along y and its middle at y = 0; a plane frame bends its strong axis."""

    kind: Literal["wide flange"] = "wide flange"
    depth: Annotated[float, Number("m", above=0)]
    """Outer height."""
    flange_width: Annotated[float, Number("m", above=0)]
    """Width of each flange, across the web."""
    flange_thickness: Annotated[float, Number("m", above=0)]
    """Thickness of each flange; both together must be less than the height."""
    web_thickness: Annotated[float, Number("m", above=0)]
    """Thickness of the web, between the flanges."""
    flange_fibres: Annotated[int, Field(ge=1, le=1000)] = 3
    """Number of fibres over the thickness of each flange."""
    web_fibres: Annotated[int, Field(ge=1, le=1000)] = 14
    """Number of fibres over the height of the web."""
    fibres_along: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of fibres over the width of a flange; use several in space."""

    @field_validator("flange_thickness")
    @classmethod
    def _thinner(cls, thickness: float, info: ValidationInfo) -> float:
        depth = info.data.get("depth")
        if depth is not None and 2.0 * thickness >= depth:
            raise fault(f"two flanges of {thickness:g} m do not fit into a depth of {depth:g} m; give thinner ones")
        return thickness

    def fibres(self) -> Iterator[tuple[float, float, float]]:
        edge = 0.5 * self.depth
        inside = edge - self.flange_thickness
        yield from _cut(-edge, -inside, self.flange_width, self.flange_fibres, self.fibres_along)
        yield from _cut(-inside, inside, self.web_thickness, self.web_fibres)
        yield from _cut(inside, edge, self.flange_width, self.flange_fibres, self.fibres_along)


class Gauge(Settings):
    """A place of a section whose fibre can be recorded by name, as by a strain gauge."""

    y: Annotated[float, Number("m")]
    """Height of the fibre; the nearest one is used."""
    z: Annotated[float, Number("m")] | None = None
    """Lateral position of the fibre, in space."""
    material: str | None = None
    """Only fibres of this material, if several are at the same height."""


class FibreSection(Settings):
    """Cross-section made of fibres, each with a law of stress over strain."""

    kind: Literal["fibres"] = "fibres"
    parts: tuple[Annotated[Rectangle | Bars | WideFlange, Field(discriminator="kind")], ...]
    """Parts of the section."""
    mass_per_length: Annotated[float, Number("kg/m", least=0)] = 0.0
    """Mass per length; distributed to the nodes according to ``element_mass`` of the frame."""
    torsional_rigidity: Annotated[float, Number("N m^2", above=0)] | None = None
    """Torsional stiffness G J of a beam in space."""
    gauges: dict[Annotated[str, Field(min_length=1)], Gauge] = Field(default_factory=dict)
    """Named fibres for responses, in addition to "top" and "bottom"."""

    @field_validator("parts")
    @classmethod
    def _bends(cls, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        heights = [y for part in parts for y, *_ in part.fibres()]
        if not heights:
            raise fault("the section has no fibres; give parts, such as { kind = 'rectangle', … }")
        if max(heights) - min(heights) <= FLAT * max(map(abs, heights)):
            raise fault(
                f"all fibres are at y = {heights[0]:g} m: the section has no stiffness in bending; give fibres at "
                "different heights"
            )
        return parts

    @property
    def elastic(self) -> Section | None:
        """The section, if it is elastic by its area and modulus."""
        return None

    @property
    def rigidity(self) -> float | None:
        """G J, if it is given."""
        return self.torsional_rigidity

    def check(self, materials: Mapping[str, Any]) -> None:
        """Raise a fault if it does not fit the frame's materials."""
        found = self.fibres(materials)
        for name in self.gauges:
            self.gauge(name, found)

    def fibres(self, materials: Mapping[str, Any], dimensions: int = 2) -> Fibres:
        """The section as fibres."""
        laws = {}
        for i, part in enumerate(self.parts):
            if part.material not in materials:
                raise fault(unknown("material", part.material, materials), "parts", i, "material")
            law = laws[part.material] = materials[part.material]
            if law.of != "strain":
                fits = ", ".join(f"'{kind}'" for kind in FIBRES)
                raise fault(
                    f"material '{part.material}' ('{law.kind}') is a law over a {law.of}, but "
                    "fibres need a stress–strain "
                    f"law; use one of {fits}",
                    *("parts", i, "material"),
                )
        found = [
            (y, z, area, name)
            for name in laws
            for part in self.parts
            if part.material == name
            for y, z, area in part.fibres()
        ]
        y, z, area, names = zip(*found, strict=True)
        return Fibres(np.array(y), np.array(z), np.array(area), tuple(laws[name] for name in names), names)

    def gauge(self, name: str, fibres: Fibres) -> int:
        """Number of the fibre at which a gauge is."""
        if name in self.gauges:
            wanted = self.gauges[name]
            some = [i for i, one in enumerate(fibres.materials) if wanted.material in (None, one)]
            if not some:
                raise fault(unknown("material of this section", str(wanted.material), set(fibres.materials)), "gauge")
            across = fibres.z if wanted.z is None else fibres.z - wanted.z
            return min(some, key=lambda i: (abs(float(fibres.y[i]) - wanted.y), abs(float(across[i]))))
        return _extreme(name, fibres, (*self.gauges, *EXTREME))


AnySection = Annotated[Section | FibreSection, Field(discriminator="kind"), default_kind("elastic")]


def _cut(
    bottom: float, top: float, width: float, count: int, along: int = 1, middle: float = 0.0
) -> Iterator[tuple[float, float, float]]:
    high, wide = (top - bottom) / count, width / along
    for i in range(count):
        for j in range(along):
            yield bottom + (i + 0.5) * high, middle + (j + 0.5 - 0.5 * along) * wide, wide * high


def _extreme(name: str, fibres: Fibres, known: tuple[str, ...]) -> int:
    if name not in EXTREME:
        raise fault(unknown("gauge", name, known), "gauge")
    return int(np.argmax(fibres.y) if name == "top" else np.argmin(fibres.y))
