"""Beam–column in a plane: elastic, with plastic hinges at its ends that are condensed, and with P-Δ.

In its own coordinates d = (δ, θ_i, θ_j[, ψ]), elongation, rotations of the ends against the chord and, for P-Δ,
rotation of the chord, the interior is an elastic beam and each end may have a hinge in series, which turns by φ,

    N = EA/L δ
    ⎡M_i⎤    EI ⎡4  2⎤ ⎡θ_i − φ_i⎤
    ⎢   ⎥ =  ── ⎢    ⎥ ⎢         ⎥,    M_i = m_i(φ_i),  M_j = m_j(φ_j)                        (1)
    ⎣M_j⎦     L ⎣2  4⎦ ⎣θ_j − φ_j⎦

m the laws of the hinges (a pinned end has m = 0, a rigid one φ = 0).  (1) is solved for φ by Newton's method inside the
element, with halved steps where a full one does not bring it nearer; it is monotonic as long as the hinges do not
soften faster than the interior is stiff, and then has one solution.  The tangent of the ends is the interior's and the
hinges' in series, (K_b⁻¹ + m'⁻¹)⁻¹ = K_b − K_b (K_b + m')⁻¹ K_b.

P-Δ (E. L. Wilson, Three-Dimensional Static and Dynamic Analysis of Structures, 2002, chapter 11): the axial force turns
with the chord, and acts across the beam as N ψ at its ends: a moment N L ψ on ψ.  Its tangent on δ is left
out to keep matrices symmetric; N changes little in a step.

Numbers: EA/L, 4EI/L, 2EI/L, L, then for each end ``RIGID``, ``PINNED`` or the place of its hinge among the element's
laws, and what rounding may make of a hinge's moment.  Inner state: φ_i, φ_j.  With four coordinates there is P-Δ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from ....kernels.compile import kernel
from ....settings import fault
from ...materials.law import Law
from ...structures.beam_elements import element_mass
from ..law import law_response, rounding
from ..piece import Piece
from .element import FrameElement, Geometry, Site
from .geometry import chord, plane_beam

BEAM = 1.0
INNER = 2
RIGID, PINNED = -1.0, -2.0
SPECIAL = {"rigid": RIGID, "pinned": PINNED}
INNER_ITERATIONS = 40
HALVINGS = 8
CLOSE = 1e-12
"""Moment left in a hinge, as a part of what the beam's ends carry."""


@kernel
def _moments(numbers, at, laws, first, elapsed, inner, trial, at_inner, d, f, left, slope):  # type: ignore[no-untyped-def]
    """Moments of the interior into ``f``, what is left of (1) into ``left``, slopes of the hinges; how much is left."""
    stiff, across = numbers[at + 1], numbers[at + 2]
    first_turn, second_turn = d[1] - trial[at_inner], d[2] - trial[at_inner + 1]
    f[1] = stiff * first_turn + across * second_turn
    f[2] = across * first_turn + stiff * second_turn
    size = 0.0
    for end in range(2):
        hinge = numbers[at + 4 + end]
        left[end], slope[end] = 0.0, 0.0
        if hinge == PINNED:
            left[end] = f[1 + end]
        elif hinge != RIGID:
            turn = trial[at_inner + end]
            rate, factor = 0.0, 0.0
            if elapsed > 0.0:
                factor = 1.0 / elapsed
                rate = (turn - inner[at_inner + end]) * factor
            moment, tangent, damping = law_response(laws, first + int(hinge), turn, rate, elapsed)
            slope[end] = tangent + damping * factor
            left[end] = f[1 + end] - moment
        size = max(size, abs(left[end]))
    return size


@kernel
def beam(numbers, at, laws, first, elapsed, inner, trial, at_inner, count, d, f, stiffness, at_k, left, slope):  # type: ignore[no-untyped-def]
    """Forces into ``f`` and tangent into ``stiffness``, row by row; 0, or 1 if (1) was not solved."""
    stiff, across = numbers[at + 1], numbers[at + 2]
    status = 0
    hinged_1, hinged_2 = numbers[at + 4] != RIGID, numbers[at + 5] != RIGID
    for end in range(2):
        trial[at_inner + end] = inner[at_inner + end]
    turned = abs(d[1]) + abs(d[2]) + abs(inner[at_inner]) + abs(inner[at_inner + 1])
    within = CLOSE * stiff * turned + numbers[at + 6]
    best, step_1, step_2, halvings = 0.0, 0.0, 0.0, 0
    for iteration in range(INNER_ITERATIONS):
        size = _moments(numbers, at, laws, first, elapsed, inner, trial, at_inner, d, f, left, slope)
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
    f[0] = numbers[at] * d[0]
    for i in range(count * count):
        stiffness[at_k + i] = 0.0
    stiffness[at_k] = numbers[at]
    stiffness[at_k + count + 1] = k_11
    stiffness[at_k + count + 2] = k_12
    stiffness[at_k + 2 * count + 1] = k_12
    stiffness[at_k + 2 * count + 2] = k_22
    if count == 4:
        f[3] = f[0] * numbers[at + 3] * d[3]
        stiffness[at_k + 15] = f[0] * numbers[at + 3]
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
    """Whether the axial force acts across the beam where it leans ("p-delta")."""

    @property
    def pinned(self) -> tuple[float, ...]:
        return tuple(float(end) for end, hinge in enumerate(self.hinges) if hinge == "pinned")

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        if site.numbering.dimensions != 2:
            raise fault("a beam stands in a plane frame only; give dimensions = 2", "kind")
        section = site.section(self.section, "section")
        if section.second_moment is None:
            raise fault(
                f"section '{self.section}' has no second_moment, and the beam '{name}' bends; give one", "section"
            )
        length, direction = chord(*self.ends(site, name))
        a = plane_beam(length, direction)
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
        _check_followed(self, name, bend, laws, ends)
        leaning = self.geometry == "p-delta"
        linear = not leaning and all(law.linear for law in laws)
        slopes = [law.initial_stiffness for law in laws]
        stiffness = np.zeros((4, 4))
        stiffness[0, 0] = stretch
        stiffness[1:3, 1:3] = series(
            bend, [0.0 if end == PINNED else slopes[int(end)] if end >= 0.0 else np.inf for end in ends]
        )
        count = 4 if leaning else 3
        yield Piece(
            element=name,
            dofs=self.dofs(site),
            kinematics=a[:count],
            stiffness=stiffness[:count, :count],
            type=None if linear else BEAM,
            numbers=(stretch, 4.0 * bend, 2.0 * bend, length, *ends, max([0.0, *map(rounding, laws)])),
            laws=tuple(laws),
            ends=tuple(told),
            places=tuple(float(end) for end, hinge in enumerate(self.hinges) if hinge not in SPECIAL),
            inner=INNER,
        )

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        per_length = site.section(self.section).mass_per_length
        if per_length == 0.0:
            return None
        length, (c, s) = chord(*(site.numbering.nodes[node] for node in self.nodes))
        if not consistent:
            half = 0.5 * per_length * length
            return self.dofs(site), np.diag([half, half, 0.0, half, half, 0.0])
        own = np.zeros((6, 6))
        own[np.ix_([0, 3], [0, 3])] = per_length * length / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])
        own[np.ix_([1, 2, 4, 5], [1, 2, 4, 5])] = element_mass(length, per_length)
        turn = np.kron(np.eye(2), np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]))
        return self.dofs(site), turn.T @ own @ turn


def _check_followed(beam: BeamColumn, name: str, bend: float, laws: Sequence[Law], ends: Sequence[float]) -> None:
    """Refuse hinges that soften faster than the beam unloads: (1) then jumps, however short the step."""
    falls = [laws[int(end)].steepest_fall if end >= 0.0 else 0.0 for end in ends]
    hinged = [i for i in range(2) if ends[i] != RIGID]
    stiff = bend * np.array([[4.0, 2.0], [2.0, 4.0]])[np.ix_(hinged, hinged)]
    if any(falls) and np.linalg.eigvalsh(stiff - np.diag([falls[i] for i in hinged])).min() <= 0.0:
        worst = int(np.argmax(falls))
        raise fault(
            f"the hinge of '{name}' at '{beam.nodes[worst]}' softens by up to {1e-3 * falls[worst]:.4g} kN m/rad, "
            f"faster than the beam unloads ({2e-3 * bend:.4g} kN m/rad, 2 EI/L): its moment jumps there, which no step "
            "can follow; give it a longer post_capping_rotation, or a stiffer or shorter beam",
            "hinges",
            worst,
        )


def series(bend: float, slopes: Sequence[float]) -> np.ndarray:
    """Stiffness of the ends, of an interior EI/L = ``bend`` with springs in series, infinite where rigid, (2, 2)."""
    interior = np.array([[4.0, 2.0], [2.0, 4.0]]) * bend
    hinged = [i for i in range(2) if np.isfinite(slopes[i])]
    if not hinged:
        return interior
    inside = interior[np.ix_(hinged, hinged)] + np.diag([slopes[i] for i in hinged])
    return np.asarray(interior - interior[:, hinged] @ np.linalg.solve(inside, interior[hinged]))
