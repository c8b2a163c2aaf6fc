"""Beam–column in a plane: elastic, with plastic hinges at its ends that are condensed.

Over its deformations v = (δ, θ_i, θ_j), elongation and rotations of the ends against the chord, the interior is an
elastic beam and each end may have a hinge in series, which turns by φ,

    N = EA/L δ
    ⎡M_i⎤    EI ⎡4  2⎤ ⎡θ_i − φ_i⎤
    ⎢   ⎥ =  ── ⎢    ⎥ ⎢         ⎥,    M_i = m_i(φ_i),  M_j = m_j(φ_j)                        (1)
    ⎣M_j⎦     L ⎣2  4⎦ ⎣θ_j − φ_j⎦

m the laws of the hinges (a pinned end has m = 0, a rigid one φ = 0).  (1) is solved for φ by Newton's method inside the
element, with halved steps where a full one does not bring it nearer; it is monotonic as long as the hinges do not
soften faster than the interior is stiff, and then has one solution.  The tangent of the ends is the interior's and the
hinges' in series, (K_b⁻¹ + m'⁻¹)⁻¹ = K_b − K_b (K_b + m')⁻¹ K_b.

How v follows from the displacements, linear or not, is in ``corotational.py``.

Numbers: EA/L, 4EI/L, 2EI/L, L, then for each end ``RIGID``, ``PINNED`` or the place of its hinge among the element's
laws, what rounding may make of a hinge's moment, and the geometry.  Inner state: φ_i, φ_j.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from ....kernels.compile import kernel
from ....settings import fault
from ...materials.law import Law
from ..law import law_response, rounding
from ..piece import Piece
from .corotational import GEOMETRIES, LINEAR, coordinates, deformations, resistance, unloaded
from .element import FrameElement, Geometry, Site, beam_mass
from .geometry import chord

BEAM = 1.0
INNER = 2
RIGID, PINNED = -1.0, -2.0
SPECIAL = {"rigid": RIGID, "pinned": PINNED}
INNER_ITERATIONS = 40
HALVINGS = 8
CLOSE = 1e-12
"""Moment left in a hinge, as a part of what the beam's ends carry."""


@kernel
def _moments(numbers, at, laws, first, elapsed, inner, trial, at_inner, v, p, left, slope):  # type: ignore[no-untyped-def]
    """Moments of the interior into ``p``, what is left of (1) into ``left``, slopes of the hinges; how much is left."""
    stiff, across = numbers[at + 1], numbers[at + 2]
    first_turn, second_turn = v[1] - trial[at_inner], v[2] - trial[at_inner + 1]
    p[1] = stiff * first_turn + across * second_turn
    p[2] = across * first_turn + stiff * second_turn
    size = 0.0
    for end in range(2):
        hinge = numbers[at + 4 + end]
        left[end], slope[end] = 0.0, 0.0
        if hinge == PINNED:
            left[end] = p[1 + end]
        elif hinge != RIGID:
            turn = trial[at_inner + end]
            rate, factor = 0.0, 0.0
            if elapsed > 0.0:
                factor = 1.0 / elapsed
                rate = (turn - inner[at_inner + end]) * factor
            moment, tangent, damping = law_response(laws, first + int(hinge), turn, rate, elapsed)
            slope[end] = tangent + damping * factor
            left[end] = p[1 + end] - moment
        size = max(size, abs(left[end]))
    return size


@kernel
def beam(numbers, at, laws, first, elapsed, inner, trial, at_inner, d, f, stiffness, at_k, scratch):  # type: ignore[no-untyped-def]
    """Forces into ``f`` and tangent into ``stiffness``, row by row; 0, or 1 if (1) was not solved."""
    v, p, k, left, slope = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    geometry, length = numbers[at + 7], numbers[at + 3]
    deformations(geometry, length, d, v)
    stiff, across = numbers[at + 1], numbers[at + 2]
    status = 0
    hinged_1, hinged_2 = numbers[at + 4] != RIGID, numbers[at + 5] != RIGID
    for end in range(2):
        trial[at_inner + end] = inner[at_inner + end]
    turned = abs(v[1]) + abs(v[2]) + abs(inner[at_inner]) + abs(inner[at_inner + 1])
    within = CLOSE * stiff * turned + numbers[at + 6]
    best, step_1, step_2, halvings = 0.0, 0.0, 0.0, 0
    for iteration in range(INNER_ITERATIONS):
        size = _moments(numbers, at, laws, first, elapsed, inner, trial, at_inner, v, p, left, slope)
        status = 0 if size <= within else 1
        if status == 0:
            break
        if iteration > 0 and size > best and halvings < HALVINGS:  # too far
            halvings += 1
            step_1, step_2 = 0.5 * step_1, 0.5 * step_2
            trial[at_inner] -= step_1
            trial[at_inner + 1] -= step_2
            continue
        best, halvings = size, 0
        a_1, a_2 = stiff + slope[0], stiff + slope[1]
        if hinged_1 and hinged_2:
            determinant = a_1 * a_2 - across * across
            step_1 = (a_2 * left[0] - across * left[1]) / determinant
            step_2 = (a_1 * left[1] - across * left[0]) / determinant
        else:
            step_1 = left[0] / a_1 if hinged_1 else 0.0
            step_2 = left[1] / a_2 if hinged_2 else 0.0
        trial[at_inner] += step_1
        trial[at_inner + 1] += step_2
    s_1, s_2 = slope[0], slope[1]
    k_11, k_12, k_22 = stiff, across, stiff
    if hinged_1 and hinged_2:
        inside = stiff * stiff - across * across
        determinant = (stiff + s_1) * (stiff + s_2) - across * across
        k_11 = s_1 * (inside + stiff * s_2) / determinant
        k_22 = s_2 * (inside + stiff * s_1) / determinant
        k_12 = s_1 * s_2 * across / determinant
    elif hinged_1:
        k_11, k_12 = s_1 * stiff / (stiff + s_1), s_1 * across / (stiff + s_1)
        k_22 = stiff - across * across / (stiff + s_1)
    elif hinged_2:
        k_22, k_12 = s_2 * stiff / (stiff + s_2), s_2 * across / (stiff + s_2)
        k_11 = stiff - across * across / (stiff + s_2)
    p[0] = numbers[at] * v[0]
    k[0], k[1], k[2] = numbers[at], 0.0, 0.0
    k[3], k[4], k[5] = 0.0, k_11, k_12
    k[6], k[7], k[8] = 0.0, k_12, k_22
    resistance(geometry, length, d, p, k, f, stiffness, at_k)
    return status


class BeamColumn(FrameElement):
    """An elastic beam–column, rigidly joined, hinged by a law of moment over rotation, or pinned at each end."""

    kind: Literal["beam"]
    nodes: tuple[str, str]
    section: str
    """Name of its section, with a second moment of area."""
    hinges: tuple[str, str] = ("rigid", "rigid")
    """At each end the name of a material over a rotation, "rigid" or "pinned"."""
    geometry: Geometry = "linear"
    """"p-delta": the axial force acts across the beam where it leans; "corotational": displacements of any size."""

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        if site.numbering.dimensions != 2:
            raise fault("a beam stands in a plane frame only; give dimensions = 2", "kind")
        section = site.elastic_section(self.section, "section")
        if section.second_moment is None:
            raise fault(
                f"section '{self.section}' has no second_moment, and the beam '{name}' bends; give one", "section"
            )
        length, direction = chord(*self.ends(site, name))
        stretch = section.modulus * section.area / length
        bend = section.modulus * section.second_moment / length
        ends: list[float] = []
        laws: list[Law] = []
        told: list[str] = []
        for end, hinge in enumerate(self.hinges):
            if hinge in SPECIAL:
                ends.append(SPECIAL[hinge])
                continue
            law = site.material(hinge, "hinges", end)
            if not law.rotational:
                raise fault(
                    f"material '{hinge}' ('{law.kind}') is a force over a displacement, and a hinge needs a "
                    f"moment over a rotation; take kind = '{law.other}'",
                    "hinges",
                    end,
                )
            ends.append(float(len(laws)))
            laws.append(law)
            told.append(f"hinge of '{name}' at '{self.nodes[end]}'")
        slopes = [law.initial_stiffness for law in laws]
        stiffness = np.zeros((3, 3))
        stiffness[0, 0] = stretch
        stiffness[1:, 1:] = series(
            bend, [0.0 if end == PINNED else slopes[int(end)] if end >= 0.0 else np.inf for end in ends]
        )
        geometry, noise = GEOMETRIES[self.geometry], max([0.0, *map(rounding, laws)])
        yield Piece(
            element=name,
            dofs=self.dofs(site),
            kinematics=coordinates(self.geometry, length, direction),
            stiffness=unloaded(self.geometry, length, stiffness),
            type=None if geometry == LINEAR and all(law.linear for law in laws) else BEAM,
            numbers=(stretch, 4.0 * bend, 2.0 * bend, length, *ends, noise, geometry),
            laws=tuple(laws),
            ends=tuple(told),
            inner=INNER,
        )

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        return beam_mass(self, site.section(self.section).mass_per_length, site, consistent)


def series(bend: float, slopes: Sequence[float]) -> np.ndarray:
    """Stiffness of the ends, of an interior EI/L = ``bend`` with springs in series, infinite where rigid, (2, 2)."""
    interior = np.array([[4.0, 2.0], [2.0, 4.0]]) * bend
    hinged = [i for i in range(2) if np.isfinite(slopes[i])]
    if not hinged:
        return interior
    inside = interior[np.ix_(hinged, hinged)] + np.diag([slopes[i] for i in hinged])
    return np.asarray(interior - interior[:, hinged] @ np.linalg.solve(inside, interior[hinged]))
