"""Beam–column in a plane: elastic, with plastic hinges at its ends that are condensed.

Over its deformations v = (δ, θ_i, θ_j), elongation and rotations of the ends against the chord, the interior is an
elastic beam and each end may have a hinge in series, which turns by φ,

    N = EA/L δ
    ⎡M_i⎤    EI ⎡4  2⎤ ⎡θ_i − φ_i⎤
    ⎢   ⎥ =  ── ⎢    ⎥ ⎢         ⎥,    M_i = m_i(φ_i),  M_j = m_j(φ_j)                        (1)
    ⎣M_j⎦     L ⎣2  4⎦ ⎣θ_j − φ_j⎦

m the laws of the hinges (a pinned end has m = 0, a rigid one φ = 0).  (1) is solved for φ by Newton's method inside the
element, from where it was evaluated last, with halved steps where a full one does not bring it nearer; it is monotonic
as long as the hinges do not soften faster than the interior is stiff, and then has one solution.  The tangent of the
ends is the interior's and the hinges' in series, (K_b⁻¹ + m'⁻¹)⁻¹ = K_b − K_b (K_b + m')⁻¹ K_b.

How v follows from the displacements, linear or not, is in ``corotational.py``.

Numbers: EA/L, 4EI/L, 2EI/L, L, then for each end ``RIGID``, ``PINNED`` or the place of its hinge among the element's
laws, what rounding may make of a hinge's moment, and the geometry.  Inner state: φ_i, φ_j and the slopes of the hinges.
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
from .corotational import GEOMETRIES, LEANING, LEANS, LINEAR, coordinates, deformations, resistance, unloaded
from .element import FrameElement, Geometry, Site, beam_mass
from .geometry import chord

BEAM = 1.0
INNER = 4
RIGID, PINNED = -1.0, -2.0
SPECIAL = {"rigid": RIGID, "pinned": PINNED}
INNER_ITERATIONS = 60
RESTART = 20
"""Iterations after which (1) is solved from the last step's hinges, if it could not be from the last evaluation."""
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
    for iteration in range(INNER_ITERATIONS):
        turn_1, turn_2 = turn_1 + step_1, turn_2 + step_2
        if iteration == RESTART:
            turn_1, turn_2, best, halvings = before_1, before_2, np.inf, 0
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
def beam(numbers, at, laws, first, elapsed, inner, trial, at_inner, d, f, stiffness, at_k, scratch):  # type: ignore[no-untyped-def]
    """Forces into ``f`` and tangent into ``stiffness``, row by row; 0, or 1 if (1) was not solved."""
    v, p, k = scratch[0], scratch[1], scratch[2]
    geometry, length = numbers[at + 7], numbers[at + 3]
    deformations(geometry, length, d, v)
    status, p[1], p[2], k_11, k_12, k_22 = bending(
        numbers, at, laws, first, elapsed, inner, trial, at_inner, v[1], v[2]
    )
    p[0] = numbers[at] * v[0]
    k[0], k[1], k[2] = numbers[at], 0.0, 0.0
    k[3], k[4], k[5] = 0.0, k_11, k_12
    k[6], k[7], k[8] = 0.0, k_12, k_22
    resistance(geometry, length, d, p, k, f, stiffness, at_k)
    return status


class BeamColumn(FrameElement):
    """An elastic beam–column, rigidly joined, hinged by a law of moment over rotation, or pinned at each end."""

    kind: Literal["beam"] = "beam"
    nodes: tuple[str, str]
    section: str
    """Name of its section, with a second moment of area."""
    hinges: tuple[str, str] = ("rigid", "rigid")
    """Per end: the name of a moment–rotation material, "rigid" or "pinned"."""
    geometry: Geometry = "linear"
    """"p-delta" includes the moment of the axial force due to lateral displacement; "corotational" is exact for
    large displacements.
    """

    @property
    def pinned(self) -> tuple[float, ...]:
        return tuple(float(end) for end, hinge in enumerate(self.hinges) if hinge == "pinned")

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        if site.numbering.dimensions != 2:
            raise fault("'beam' is for plane frames; in space use kind = 'space beam'", "kind")
        section = site.elastic_section(self.section, "section")
        if section.second_moment is None:
            raise fault(
                f"section '{self.section}' has no second_moment, but the beam '{name}' bends; give one", "section"
            )
        length, direction = chord(*self.ends(site, name))
        stretch = section.modulus * section.area / length
        bend = section.modulus * section.second_moment / length
        ends, laws, told = joints(name, self.nodes, site, self.hinges, "hinges", bend)
        stiffness = np.zeros((3, 3))
        stiffness[0, 0] = stretch
        stiffness[1:, 1:] = series(bend, ends, laws)
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
            places=tuple(float(end) for end, hinge in enumerate(self.hinges) if hinge not in SPECIAL),
            leans=LEANS if geometry == LEANING else (),
            length=length,
            inner=INNER,
        )

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        return beam_mass(self, site.section(self.section).mass_per_length, site, consistent)


def joints(
    name: str, nodes: Sequence[str], site: Site, hinges: Sequence[str], key: str, bend: float
) -> tuple[list[float], list[Law], list[str]]:
    """Both ends of a beam in one plane of bending, as its numbers give them; laws of the hinges, and what they are."""
    ends: list[float] = []
    laws: list[Law] = []
    told: list[str] = []
    for end, hinge in enumerate(hinges):
        if hinge in SPECIAL:
            ends.append(SPECIAL[hinge])
            continue
        law = site.material(hinge, key, end)
        if not law.rotational:
            raise fault(
                f"material '{hinge}' ('{law.kind}') is a force–displacement law, but a hinge needs a "
                f"moment–rotation law; use kind = '{law.other}'",
                key,
                end,
            )
        ends.append(float(len(laws)))
        laws.append(law)
        told.append(f"hinge of '{name}' at '{nodes[end]}'")
    _check_followed(name, nodes, key, bend, laws, ends)
    return ends, laws, told


def _check_followed(
    name: str, nodes: Sequence[str], key: str, bend: float, laws: Sequence[Law], ends: Sequence[float]
) -> None:
    """Refuse hinges that soften faster than the beam unloads: (1) then jumps, however short the step."""
    falls = [laws[int(end)].steepest_fall if end >= 0.0 else 0.0 for end in ends]
    hinged = [i for i in range(2) if ends[i] != RIGID]
    stiff = bend * np.array([[4.0, 2.0], [2.0, 4.0]])[np.ix_(hinged, hinged)]
    if any(falls) and np.linalg.eigvalsh(stiff - np.diag([falls[i] for i in hinged])).min() <= 0.0:
        worst = int(np.argmax(falls))
        raise fault(
            f"the hinge of '{name}' at '{nodes[worst]}' softens by up to {1e-3 * falls[worst]:.4g} kN m/rad, "
            f"faster than the beam unloads ({2e-3 * bend:.4g} kN m/rad, 2 EI/L): its moment is "
            "discontinuous there, which no step "
            "can follow; give it a longer post_capping_rotation, or a stiffer or shorter beam",
            key,
            worst,
        )


def series(bend: float, ends: Sequence[float], laws: Sequence[Law]) -> np.ndarray:
    """Stiffness of the ends without load, of an interior EI/L = ``bend`` with the hinges in series, (2, 2)."""
    interior = np.array([[4.0, 2.0], [2.0, 4.0]]) * bend
    hinged = [i for i in range(2) if ends[i] != RIGID]
    slopes = [0.0 if ends[i] == PINNED else laws[int(ends[i])].initial_stiffness for i in hinged]
    if not hinged:
        return interior
    inside = interior[np.ix_(hinged, hinged)] + np.diag(slopes)
    return np.asarray(interior - interior[:, hinged] @ np.linalg.solve(inside, interior[hinged]))
