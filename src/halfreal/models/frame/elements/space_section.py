"""Forces of a section made of fibres that bends both ways, as of a beam in space.

    ε = ε_0 − κ y + λ z,    N = Σ σ A,    M = −Σ σ A y,    O = Σ σ A z

with the curvature κ in the plane of the beam and its section's y, and λ in that of z.  N, M and κ are those of a plane
beam (``fibre_section.py``).  The tangent is Σ E_t A b bᵀ, b = (1, −y, z).

Numbers of a section: how many fibres, how many runs of one law, the length of each run, then all y, all z and all A.
"""

from __future__ import annotations

from ....kernels.compile import kernel
from ...materials.concrete_with_tension import CONCRETE_WITH_TENSION, concrete_with_tension
from ...materials.elastic import ELASTIC, elastic
from ...materials.elastoplastic import ELASTOPLASTIC, elastoplastic
from ...materials.kent_park import KENT_PARK, kent_park
from ...materials.menegotto_pinto import MENEGOTTO_PINTO, menegotto_pinto
from ...materials.uniaxial import uniaxial

SUMS = 9
"""N, M, O, then the tangent: 11, 12, 13, 22, 23, 33."""


@kernel
def _elastic(p, s, strain, trial):  # type: ignore[no-untyped-def]
    return elastic(p, strain)


@kernel
def _add(sums, stress, tangent, y, z):  # type: ignore[no-untyped-def]
    """A fibre's share, its stress and tangent times its area."""
    sums[0] += stress
    sums[1] -= stress * y
    sums[2] += stress * z
    sums[3] += tangent
    sums[4] -= tangent * y
    sums[5] += tangent * z
    sums[6] += tangent * y * y
    sums[7] -= tangent * y * z
    sums[8] += tangent * z * z


@kernel
def _run(law, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, sums):  # type: ignore[no-untyped-def]
    """The fibres start … end of one law; ``places`` says where their states are."""
    committed, own, trial, strains, stresses, first = places
    for i in range(start, end):
        y, z, area = numbers[at_y + i], numbers[at_y + fibres + i], numbers[at_y + 2 * fibres + i]
        strain = axial - curvature * y + across * z
        stress, tangent = law(p, committed[own + i], strain, trial[first + i])
        strains[first + i] = strain
        stresses[first + i] = stress
        _add(sums, stress * area, tangent * area, y, z)


@kernel
def _any_run(code, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, elapsed, sums):  # type: ignore[no-untyped-def]
    """The same for any law."""
    committed, own, trial, strains, stresses, first = places
    for i in range(start, end):
        y, z, area = numbers[at_y + i], numbers[at_y + fibres + i], numbers[at_y + 2 * fibres + i]
        strain = axial - curvature * y + across * z
        stress, tangent, _ = uniaxial(code, p, committed[own + i], strain, 0.0, elapsed, trial[first + i])
        strains[first + i] = strain
        stresses[first + i] = stress
        _add(sums, stress * area, tangent * area, y, z)


def _space_section_response(numbers, at, laws, first, elapsed, axial, curvature, across, sums):  # type: ignore[no-untyped-def]
    """Forces and tangent into ``sums``; the fibres, whose instances begin at ``first``, are then on trial there."""
    material, materials, memory, flowing, trial, strains, stresses = laws
    kept = memory.shape[0]
    places = (memory, first, trial, strains, stresses, first)
    if first >= kept:
        places = (flowing, first - kept, trial, strains, stresses, first)
    fibres, runs = int(numbers[at]), int(numbers[at + 1])
    at_y = at + 2 + runs
    for i in range(SUMS):
        sums[i] = 0.0
    start = 0
    for run in range(runs):
        end = start + int(numbers[at + 2 + run])
        row = materials[int(material[first + start])]
        code, p = row[0], row[1:]
        if code == ELASTOPLASTIC:
            _run(elastoplastic, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, sums)
        elif code == MENEGOTTO_PINTO:
            _run(menegotto_pinto, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, sums)
        elif code == KENT_PARK:
            _run(kent_park, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, sums)
        elif code == CONCRETE_WITH_TENSION:
            _run(concrete_with_tension, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, sums)
        elif code == ELASTIC:
            _run(_elastic, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, sums)
        else:
            _any_run(code, p, numbers, at_y, fibres, start, end, places, axial, curvature, across, elapsed, sums)
        start = end


space_section_response = kernel(_space_section_response)
"""``_space_section_response``, compiled once for all elements."""
