"""Beam–column in space: elastic, with plastic hinges at its ends about both axes of bending, and with P-Δ.

Its own coordinates are elongation δ, twist φ, rotations of the ends against the chord about the local y and z, and for
P-Δ the rotations ψ of the chord.  Bending about y, bending about z, twist and elongation do not act on each other:

    N = EA/L δ,    T = GJ/L φ,    M_y by (1) of ``beam.py`` with E I_y and its hinges,    M_z with E I_z and its hinges

so that each plane is a plane beam (``beam.py``), whose first coordinate is once δ and once φ.  What has no hinge is
linear, and part of the constant matrix.  With P-Δ the axial force acts across in both planes, N L ψ on each ψ, as of a
truss (``spring.py``).  Where displacements and rotations may be of any size, it is one piece
(``turning_space_beam.py``).

The local axes are those of ``geometry.py``: x from the first node to the second, z towards ``orientation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np

from ....settings import Vector, fault
from ...materials.elastic import LinearLaw
from ...materials.law import Law
from ..law import rounding
from ..piece import Piece
from ..sections import Section
from .beam import BEAM, INNER, joints, series
from .corotational import LINEAR
from .element import FrameElement, Geometry, Site, oriented, space_beam_mass
from .geometry import chord, space_beam
from .spring import along_chord
from .turning_space_beam import INNER_STATES, START, TURNING_SPACE_BEAM

NEEDED = ("second_moment_y", "second_moment_z", "torsion_constant")
PLANES = {"y": [2, 3], "z": [4, 5]}
"""Rows of ``space_beam`` with the rotations of the ends about each axis."""


class SpaceBeam(FrameElement):
    """An elastic beam–column in space, rigidly joined, hinged or pinned at each end about each axis of bending."""

    kind: Literal["space beam"] = "space beam"
    nodes: tuple[str, str]
    section: str
    """Name of its section, with I_y, I_z and J."""
    orientation: Annotated[np.ndarray, Vector("1")] | None = None
    """Vector in the plane of the beam's axis and its local z; default: upwards, for vertical beams along x."""
    hinges_y: tuple[str, str] = ("rigid", "rigid")
    """Per end, for moments about the local y: the name of a moment–rotation material, "rigid" or "pinned"."""
    hinges_z: tuple[str, str] = ("rigid", "rigid")
    """Per end, for moments about the local z: a material name, "rigid" or "pinned"."""
    geometry: Geometry = "linear"
    """Geometric nonlinearity: "p-delta" (axial force on the lateral displacement) or "corotational" (large motion)."""

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        if site.numbering.dimensions != 3:
            raise fault("'space beam' is for frames in space; in a plane use kind = 'beam'", "kind")
        section = self._section(name, site)
        length, direction = chord(*self.ends(site, name))
        a = space_beam(length, oriented(self.kind, name, direction, self.orientation))
        if self.geometry == "corotational":
            yield self._turning(name, site, section, length, direction)
            return
        axial = section.modulus * section.area / length
        leaning = self.geometry == "p-delta"
        first = {"y": (0, 0.0 if leaning else axial), "z": (1, (section.rigidity or 0.0) / length)}
        for axis, rows in PLANES.items():
            bend = section.modulus * getattr(section, f"second_moment_{axis}") / length
            ends, laws, told = joints(name, self.nodes, site, getattr(self, f"hinges_{axis}"), f"hinges_{axis}", bend)
            row, own = first[axis]
            stiffness = np.zeros((3, 3))
            stiffness[0, 0] = own
            stiffness[1:, 1:] = series(bend, ends, laws)
            yield Piece(
                element=name,
                dofs=self.dofs(site),
                kinematics=a[[row, *rows]],
                stiffness=stiffness,
                type=None if all(law.linear for law in laws) else BEAM,
                numbers=(own, 4.0 * bend, 2.0 * bend, length, *ends, max([0.0, *map(rounding, laws)]), LINEAR),
                laws=tuple(laws),
                ends=tuple(f"{one} about its {axis}" for one in told),
                inner=INNER,
            )
        if leaning:
            yield along_chord(name, self.dofs(site), a[[0, 6, 7]], LinearLaw(kind="linear", stiffness=axial), length)

    def _turning(self, name: str, site: Site, section: Section, length: float, direction: np.ndarray) -> Piece:
        """The one piece whose displacements may be of any size."""
        axes = oriented(self.kind, name, direction, self.orientation)
        k, numbers = np.zeros((6, 6)), list[float]()
        all_laws: list[Law] = []
        all_told: list[str] = []
        for axis, at in (("y", 2), ("z", 4)):
            bend = section.modulus * getattr(section, f"second_moment_{axis}") / length
            ends, laws, told = joints(name, self.nodes, site, getattr(self, f"hinges_{axis}"), f"hinges_{axis}", bend)
            k[at : at + 2, at : at + 2] = series(bend, ends, laws)
            places = [end + len(all_laws) if end >= 0.0 else end for end in ends]
            numbers += [0.0, 4.0 * bend, 2.0 * bend, length, *places, max([0.0, *map(rounding, laws)])]
            all_laws += laws
            all_told += [f"{one} about its {axis}" for one in told]
        k[0, 0], k[1, 1] = section.modulus * section.area / length, (section.rigidity or 0.0) / length
        a = space_beam(length, axes)[:6]
        over = np.hstack([a[:, 6:9], a[:, 3:6], a[:, 9:12]])
        none, one = np.zeros((3, 3)), np.eye(3)
        return Piece(
            element=name,
            dofs=self.dofs(site),
            kinematics=np.block([[-one, none, one, none], [none, one, none, none], [none, none, none, one]]),
            stiffness=over.T @ k @ over,
            type=TURNING_SPACE_BEAM,
            numbers=(*numbers, k[0, 0], k[1, 1], *axes.ravel().tolist()),
            laws=tuple(all_laws),
            ends=tuple(all_told),
            inner=INNER_STATES,
            start=START,
        )

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        section = site.elastic_section(self.section)
        if section.mass_per_length == 0.0:
            return None
        length, direction = chord(*(site.numbering.nodes[node] for node in self.nodes))
        axes = oriented(self.kind, "", direction, self.orientation)
        polar = ((section.second_moment_y or 0.0) + (section.second_moment_z or 0.0)) / section.area
        return self.dofs(site), space_beam_mass(length, axes, section.mass_per_length, polar, consistent)

    def _section(self, name: str, site: Site) -> Section:
        section = site.elastic_section(self.section, "section")
        missing = [key for key in NEEDED if getattr(section, key) is None]
        if missing:
            raise fault(
                f"section '{self.section}' has no {' and no '.join(missing)}, but the space beam '{name}' bends about "
                "both axes and twists; give it",
                "section",
            )
        return section
