"""Force-based beam–column with fibre sections in space.

The equations and the iteration of the plane one (``force_beam.py``, with its papers), with bending both ways over the
same fibres: p = (N, M_i, M_j, O_i, O_j), and for each section e = (ε_0, κ, λ), s = (N, M, O),

    b = ⎡1    0    0    0    0⎤
        ⎢0  ξ − 1  ξ    0    0⎥
        ⎣0    0    0  ξ − 1  ξ⎦

It is forceBeamColumn of OpenSees in space.

Numbers: L, geometry, number of points, all ξ, all w, k_s without load (six).  Inner states: of each section e, s, k_s
(six), Δe and f_s (six); then p.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ....kernels.compile import kernel
from ..sections import Fibres
from .fibre_beam import Rule
from .force_beam import CAREFUL, CLOSE, FLOOR, ITERATIONS, NARROW, SEARCHES, SLACK, THIN
from .space_fibre_beam import (
    FORCES,
    OF_SECTION,
    PLACE,
    RECORDED,
    SpaceFibreBeam,
    add_sections,
    shapes,
    space_resistance,
)
from .space_section import space_section_response

FORCE_SPACE_BEAM = 6.0
E, S, K, STEP, F = 0, 3, 6, 12, 15
"""Where in the inner states of a section its quantities are."""
OWN = 21
"""Inner states of a section."""


@kernel
def _determinant(k, at):  # type: ignore[no-untyped-def]
    """Of the six entries of a symmetric matrix of three rows."""
    a, b, c, d, e, f = k[at], k[at + 1], k[at + 2], k[at + 3], k[at + 4], k[at + 5]
    return a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)


@kernel
def _soften(trial, own, numbers, at_k, work):  # type: ignore[no-untyped-def]
    """f_s of a section by its k_s."""
    for i in range(6):
        work[i] = trial[own + K + i]
    determinant = _determinant(work, 0)
    if abs(determinant) < THIN * _determinant(numbers, at_k):
        for i in range(6):
            work[i] += FLOOR * numbers[at_k + i]
        determinant = _determinant(work, 0)
    a, b, c, d, e, f = work[0], work[1], work[2], work[3], work[4], work[5]
    inverse, at = 1.0 / determinant, own + F
    trial[at], trial[at + 1], trial[at + 2] = (
        (d * f - e * e) * inverse,
        (c * e - b * f) * inverse,
        (b * e - c * d) * inverse,
    )
    trial[at + 3], trial[at + 4], trial[at + 5] = (
        (a * f - c * c) * inverse,
        (b * c - a * e) * inverse,
        (a * d - b * b) * inverse,
    )


@kernel
def _shape(x):  # type: ignore[no-untyped-def]
    return (1.0, x - 1.0, x, x - 1.0, x)


@kernel
def _beyond(b, forces, at, i):  # type: ignore[no-untyped-def]
    """Entry i of b p."""
    total = 0.0
    for j in range(FORCES):
        if OF_SECTION[j] == i:
            total += b[j] * forces[at + j]
    return total


@kernel
def _along(trial, own, i, forces):  # type: ignore[no-untyped-def]
    """Entry i of f_s times forces of a section."""
    total = 0.0
    for j in range(RECORDED):
        total += trial[own + F + PLACE[i][j]] * forces[j]
    return total


@kernel
def _gather(numbers, at, trial, at_inner, v, flex, left, forces):  # type: ignore[no-untyped-def]
    """F and what is left of (2), f_s (b p − s) as Δe; the work that is left in (1) and that the sections hold."""
    length, points = numbers[at], int(numbers[at + 2])
    at_k, at_p = at + 3 + 2 * points, at_inner + OWN * points
    for i in range(FORCES * FORCES):
        flex[i] = 0.0
    for i in range(FORCES):
        left[i] = v[i]
    work, size = 0.0, 0.0
    for q in range(points):
        b, weight = _shape(numbers[at + 3 + q]), numbers[at + 3 + points + q] * length
        own = at_inner + OWN * q
        for i in range(RECORDED):
            forces[i] = _beyond(b, trial, at_p, i) - trial[own + S + i]
        for i in range(RECORDED):
            step = _along(trial, own, i, forces)
            trial[own + STEP + i] = step
            work += weight * abs(forces[i] * step)
            size += weight * numbers[at_k + PLACE[i][i]] * trial[own + E + i] ** 2
        for i in range(FORCES):
            one = OF_SECTION[i]
            left[i] -= weight * b[i] * (trial[own + E + one] + trial[own + STEP + one])
        add_sections(b, weight, trial, own + F, flex)
    return work, size


@kernel
def _invert(a, inverse):  # type: ignore[no-untyped-def]
    """Gauss and Jordan's method with row pivots; ``a``, (25,), is used up."""
    n = FORCES
    for i in range(n * n):
        inverse[i] = 0.0
    for i in range(n):
        inverse[n * i + i] = 1.0
    for c in range(n):
        best = c
        for i in range(c + 1, n):
            if abs(a[n * i + c]) > abs(a[n * best + c]):
                best = i
        if best != c:
            for j in range(n):
                a[n * c + j], a[n * best + j] = a[n * best + j], a[n * c + j]
                inverse[n * c + j], inverse[n * best + j] = inverse[n * best + j], inverse[n * c + j]
        scale = 1.0 / a[n * c + c]
        for j in range(n):
            a[n * c + j] *= scale
            inverse[n * c + j] *= scale
        for i in range(n):
            times = a[n * i + c]
            if i == c or times == 0.0:
                continue
            for j in range(n):
                a[n * i + j] -= times * a[n * c + j]
                inverse[n * i + j] -= times * inverse[n * c + j]


def _force_space_beam(  # type: ignore[no-untyped-def]
    numbers, at, at_section, laws, first, at_record, elapsed, inner, trial, at_inner, d, f, stiffness, at_k, scratch
):
    """As ``force_beam``."""
    p, k, flex, left, change, sums = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    length, geometry, points = numbers[at], numbers[at + 1], int(numbers[at + 2])
    fibres, strains, stresses = int(numbers[at_section]), laws[5], laws[6]
    at_p, at_first = at_inner + OWN * points, at + 3 + 2 * points
    status, reach, before, after, searches = 1, 1.0, 0.0, 0.0, 0
    for iteration in range(ITERATIONS + CAREFUL):
        first_step = iteration == 0 or iteration == ITERATIONS
        slack = SLACK if iteration < ITERATIONS else NARROW
        if iteration == ITERATIONS:
            for i in range(at_inner, at_p + FORCES):
                trial[i] = inner[i]
        farther = 1.0
        if not first_step and before < 0.0 and after > slack * -before and searches < SEARCHES:
            searches += 1
            farther = reach * before / (before - after) - reach
            reach += farther
        else:
            work, size = _gather(numbers, at, trial, at_inner, d, flex, left, sums)
            _invert(flex, k)
            for i in range(FORCES):
                change[i] = 0.0
                for j in range(FORCES):
                    change[i] += k[FORCES * i + j] * left[j]
            for i in range(FORCES):
                work += abs(change[i] * left[i])
                trial[at_p + i] += change[i]
            if not first_step and work <= CLOSE * CLOSE * size:
                status = 0
                break
            searches, reach, before = 0, 1.0, 0.0
            for q in range(points):
                b, own = _shape(numbers[at + 3 + q]), at_inner + OWN * q
                for i in range(RECORDED):
                    sums[i] = _beyond(b, change, 0, i)
                for i in range(RECORDED):
                    trial[own + STEP + i] += _along(trial, own, i, sums)
                    before += numbers[at + 3 + points + q] * trial[own + S + i] * trial[own + STEP + i]
        after = 0.0
        for q in range(points):
            own = at_inner + OWN * q
            for i in range(RECORDED):
                trial[own + E + i] += farther * trial[own + STEP + i]
            axial, curvature, across = trial[own + E], trial[own + E + 1], trial[own + E + 2]
            space_section_response(
                numbers, at_section, laws, first + q * fibres, elapsed, axial, curvature, across, sums
            )
            changed = False
            for i in range(6):
                changed = changed or sums[RECORDED + i] != trial[own + K + i]
                trial[own + K + i] = sums[RECORDED + i]
            for i in range(RECORDED):
                trial[own + S + i] = sums[i]
                after += numbers[at + 3 + points + q] * sums[i] * trial[own + STEP + i]
            if changed:
                _soften(trial, own, numbers, at_first, sums)
        if first_step:  # from there on all deformations fit v
            before = 0.0
    for q in range(points):
        own, record = at_inner + OWN * q, at_record + RECORDED * q
        for i in range(RECORDED):
            strains[record + i], stresses[record + i] = trial[own + E + i], trial[own + S + i]
    for i in range(FORCES):
        p[i] = trial[at_p + i]
    space_resistance(geometry, length, d, p, k, f, stiffness, at_k)
    return status


force_space_beam = kernel(_force_space_beam)
"""``_force_space_beam``, compiled once for all frames."""


class ForceSpaceBeam(SpaceFibreBeam):
    """Beam–column in space with fibre sections whose forces are in equilibrium everywhere; one makes a member."""

    references = ("spacone1996",)
    kind: Literal["force-based space beam"] = "force-based space beam"
    rule: Rule = "lobatto"
    """Integration points: Gauss–Lobatto, which include the ends, or Gauss–Legendre."""

    def stiffness(self, length: float, x: np.ndarray, weights: np.ndarray, section: np.ndarray) -> np.ndarray:
        b = shapes(x - 1.0, x)
        return np.linalg.inv(np.einsum("p,pai,ab,pbj->ij", weights * length, b, np.linalg.inv(section), b))

    def piece(self, numbers: tuple[float, ...], fibres: Fibres) -> dict[str, object]:
        k = fibres.space_stiffness()
        kept = np.triu_indices(RECORDED)
        slopes, soft = k[kept].tolist(), np.linalg.inv(k)[kept].tolist()
        start = (*(*(0.0,) * 6, *slopes, 0.0, 0.0, 0.0, *soft) * self.points, *(0.0,) * FORCES)
        return {"type": FORCE_SPACE_BEAM, "numbers": (*numbers, *slopes), "inner": len(start), "start": start}
