"""Beam–column in a plane: elastic, with plastic hinges at its ends that are condensed, and with P-Δ.

In its own coordinates d = (δ, θ_i, θ_j[, ψ]), elongation, rotations of the ends against the chord and, for P-Δ,
rotation of the chord, the interior is an elastic beam and each end may have a hinge in series, which turns by φ,

    N = EA/L δ
    ⎡M_i⎤    EI ⎡4  2⎤ ⎡θ_i − φ_i⎤
    ⎢   ⎥ =  ── ⎢    ⎥ ⎢         ⎥,    M_i = m_i(φ_i),  M_j = m_j(φ_j)                        (1)
    ⎣M_j⎦     L ⎣2  4⎦ ⎣θ_j − φ_j⎦

m the laws of the hinges (a pinned end has m = 0, a rigid one φ = 0).  (1) is solved for φ by Newton's method inside the
element, from where it was evaluated last, with halved steps where a full one does not bring it nearer; it is monotonic
as long as the hinges do not soften faster than the interior is stiff, and then has one solution.  The tangent of the
ends is the interior's and the hinges' in series, (K_b⁻¹ + m'⁻¹)⁻¹ = K_b − K_b (K_b + m')⁻¹ K_b.

P-Δ (E. L. Wilson, Three-Dimensional Static and Dynamic Analysis of Structures, 2002, chapter 11): the axial force turns
with the chord, and acts across the beam as N ψ at its ends: a moment N L ψ on ψ.  Its tangent on δ is left
out to keep matrices symmetric; N changes little in a step.

Numbers: EA/L, 4EI/L, 2EI/L, L, then for each end ``RIGID``, ``PINNED`` or the place of its hinge among the element's
laws, and what rounding may make of a hinge's moment.  Inner state: φ_i, φ_j and the slopes of the hinges.  With four
coordinates there is P-Δ.
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
INNER = 4
RIGID, PINNED = -1.0, -2.0
SPECIAL = {"rigid": RIGID, "pinned": PINNED}
INNER_ITERATIONS = 40
HALVINGS = 8
CLOSE = 1e-12
"""Moment left in a hinge, as a part of what the beam's ends carry."""


@kernel
def _end(numbers, at, laws, first, elapsed, turn, before, moment):  # type: ignore[no-untyped-def]
    """What is left of (1) at an end whose hinge has turned, and the slope of the hinge; ``at`` its place in numbers."""
    hinge = numbers[at]
    if hinge == RIGID:
        return 0.0, 0.0
    if hinge == PINNED:
        return moment, 0.0
    rate, factor = 0.0, 0.0
    if elapsed > 0.0:
        factor = 1.0 / elapsed
        rate = (turn - before) * factor
    resisting, tangent, damping = law_response(laws, first + int(hinge), turn, rate, elapsed)
    return moment - resisting, tangent + damping * factor


@kernel
def _carried(numbers, at, laws, first):  # type: ignore[no-untyped-def]
    """Moment of an end's hinge where it was evaluated last."""
    hinge = numbers[at]
    return laws[6][first + int(hinge)] if hinge >= 0.0 else 0.0


@kernel
def _newton(stiff, across, hinged_1, hinged_2, left_1, left_2, slope_1, slope_2):  # type: ignore[no-untyped-def]
    """Turns of the hinges that take away what is left of (1)."""
    if hinged_1 and hinged_2:
        scale = 1.0 / ((stiff + slope_1) * (stiff + slope_2) - across * across)
        step_1 = ((stiff + slope_2) * left_1 - across * left_2) * scale
        return step_1, ((stiff + slope_1) * left_2 - across * left_1) * scale
    step_1 = left_1 / (stiff + slope_1) if hinged_1 else 0.0
    return step_1, left_2 / (stiff + slope_2) if hinged_2 else 0.0


@kernel
def bending(numbers, at, laws, first, elapsed, inner, trial, at_inner, end_1, end_2):  # type: ignore[no-untyped-def]
    """(1) for given rotations of the ends: 0 or 1 if it was not solved, both moments, and the tangent k_11, k_12, k_22.

    It starts from a Newton step off the last evaluation: while no hinge comes to another branch of its law, that is
    the solution.
    """
    stiff, across = numbers[at + 1], numbers[at + 2]
    hinged_1, hinged_2 = numbers[at + 4] != RIGID, numbers[at + 5] != RIGID
    before_1, before_2 = inner[at_inner], inner[at_inner + 1]
    within = CLOSE * stiff * (abs(end_1) + abs(end_2) + abs(before_1) + abs(before_2)) + numbers[at + 6]
    turn_1, turn_2, slope_1, slope_2 = trial[at_inner], trial[at_inner + 1], trial[at_inner + 2], trial[at_inner + 3]
    moment_1 = stiff * (end_1 - turn_1) + across * (end_2 - turn_2)
    moment_2 = across * (end_1 - turn_1) + stiff * (end_2 - turn_2)
    left_1 = moment_1 - _carried(numbers, at + 4, laws, first)
    left_2 = moment_2 - _carried(numbers, at + 5, laws, first)
    step_1, step_2 = _newton(stiff, across, hinged_1, hinged_2, left_1, left_2, slope_1, slope_2)
    status, best, halvings = 1, np.inf, 0
    for _ in range(INNER_ITERATIONS):
        turn_1, turn_2 = turn_1 + step_1, turn_2 + step_2
        moment_1 = stiff * (end_1 - turn_1) + across * (end_2 - turn_2)
        moment_2 = across * (end_1 - turn_1) + stiff * (end_2 - turn_2)
        left_1, slope_1 = _end(numbers, at + 4, laws, first, elapsed, turn_1, before_1, moment_1)
        left_2, slope_2 = _end(numbers, at + 5, laws, first, elapsed, turn_2, before_2, moment_2)
        size = max(abs(left_1), abs(left_2))
        if size <= within:
            status = 0
            break
        if size > best and halvings < HALVINGS:  # too far: back by half of the step, then by a quarter of it …
            back = 0.5 if halvings else -0.5
            step_1, step_2, halvings = back * step_1, back * step_2, halvings + 1
            continue
        best, halvings = size, 0
        step_1, step_2 = _newton(stiff, across, hinged_1, hinged_2, left_1, left_2, slope_1, slope_2)
    trial[at_inner], trial[at_inner + 1], trial[at_inner + 2], trial[at_inner + 3] = turn_1, turn_2, slope_1, slope_2
    if hinged_1 and hinged_2:
        inside = stiff * stiff - across * across
        scale = 1.0 / ((stiff + slope_1) * (stiff + slope_2) - across * across)
        k_11 = slope_1 * (inside + stiff * slope_2) * scale
        k_22 = slope_2 * (inside + stiff * slope_1) * scale
        return status, moment_1, moment_2, k_11, slope_1 * slope_2 * across * scale, k_22
    if hinged_1:
        scale = 1.0 / (stiff + slope_1)
        k_22 = stiff - across * across * scale
        return status, moment_1, moment_2, slope_1 * stiff * scale, slope_1 * across * scale, k_22
    if hinged_2:
        scale = 1.0 / (stiff + slope_2)
        k_11 = stiff - across * across * scale
        return status, moment_1, moment_2, k_11, slope_2 * across * scale, slope_2 * stiff * scale
    return status, moment_1, moment_2, stiff, across, stiff


@kernel
def beam(numbers, at, laws, first, elapsed, inner, trial, at_inner, count, d, f, stiffness, at_k):  # type: ignore[no-untyped-def]
    """Forces into ``f`` and tangent into ``stiffness``, row by row; 0, or 1 if (1) was not solved."""
    status, f[1], f[2], k_11, k_12, k_22 = bending(
        numbers, at, laws, first, elapsed, inner, trial, at_inner, d[1], d[2]
    )
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


def series(bend: float, slopes: Sequence[float]) -> np.ndarray:
    """Stiffness of the ends, of an interior EI/L = ``bend`` with springs in series, infinite where rigid, (2, 2)."""
    interior = np.array([[4.0, 2.0], [2.0, 4.0]]) * bend
    hinged = [i for i in range(2) if np.isfinite(slopes[i])]
    if not hinged:
        return interior
    inside = interior[np.ix_(hinged, hinged)] + np.diag([slopes[i] for i in hinged])
    return np.asarray(interior - interior[:, hinged] @ np.linalg.solve(inside, interior[hinged]))
