"""Forces of a section made of fibres, by its axial strain and curvature.

    ε = ε_0 − κ y,    N = Σ σ A,    M = −Σ σ A y,    ∂(N, M)/∂(ε_0, κ) = Σ E_t A (1, −y)ᵀ (1, −y)

All fibres of one law are adjacent, so that the law is selected once for them, and its code is in the loop.  Those of
bilinear steel are evaluated four at a time.

Numbers of a section: how many fibres, how many runs of one law, the length of each run, then all y and all A.
"""

from __future__ import annotations

from ....kernels.compile import kernel
from ...materials.concrete_with_tension import CONCRETE_WITH_TENSION, concrete_with_tension
from ...materials.elastic import ELASTIC, elastic
from ...materials.elastoplastic import ELASTOPLASTIC, elastoplastic
from ...materials.elastoplastic_lanes import LANES, elastoplastic_lanes
from ...materials.kent_park import KENT_PARK, kent_park
from ...materials.menegotto_pinto import MENEGOTTO_PINTO, menegotto_pinto
from ...materials.uniaxial import uniaxial


@kernel
def _elastic(p, s, strain, trial):  # type: ignore[no-untyped-def]
    return elastic(p, strain)


@kernel
def _run(law, p, numbers, at_y, fibres, start, end, places, axial, curvature):  # type: ignore[no-untyped-def]
    """N, M and the three slopes of the fibres start … end of one law; ``places`` says where their states are."""
    committed, own, trial, strains, stresses, first = places
    force, moment, k_11, k_12, k_22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start, end):
        y, area = numbers[at_y + i], numbers[at_y + fibres + i]
        strain = axial - curvature * y
        stress, tangent = law(p, committed[own + i], strain, trial[first + i])
        strains[first + i] = strain
        stresses[first + i] = stress
        stress *= area
        tangent *= area
        force += stress
        moment -= stress * y
        k_11 += tangent
        k_12 -= tangent * y
        k_22 += tangent * y * y
    return force, moment, k_11, k_12, k_22


@kernel
def _elastoplastic_run(p, numbers, at_y, fibres, start, end, places, axial, curvature):  # type: ignore[no-untyped-def]
    """The same for bilinear steel: four fibres at a time where their states are adjacent, the rest one by one."""
    committed, own, trial, strains, stresses, first = places
    blocks = (end - start) // LANES if trial.shape[1] == 1 else 0
    force, moment, k_11, k_12, k_22 = elastoplastic_lanes(
        numbers, at_y + start, at_y + fibres + start, committed, own + start, trial, strains, stresses, first + start,
        blocks, p[0], p[1], p[2], axial, curvature,
    )  # fmt: skip
    n, m, a, b, c = _run(elastoplastic, p, numbers, at_y, fibres, start + LANES * blocks, end, places, axial, curvature)
    return force + n, moment + m, k_11 + a, k_12 + b, k_22 + c


@kernel
def _any_run(code, p, numbers, at_y, fibres, start, end, places, axial, curvature, elapsed):  # type: ignore[no-untyped-def]
    """The same for any law."""
    committed, own, trial, strains, stresses, first = places
    force, moment, k_11, k_12, k_22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start, end):
        y, area = numbers[at_y + i], numbers[at_y + fibres + i]
        strain = axial - curvature * y
        stress, tangent, _ = uniaxial(code, p, committed[own + i], strain, 0.0, elapsed, trial[first + i])
        strains[first + i] = strain
        stresses[first + i] = stress
        force += stress * area
        moment -= stress * area * y
        k_11 += tangent * area
        k_12 -= tangent * area * y
        k_22 += tangent * area * y * y
    return force, moment, k_11, k_12, k_22


def _section_response(numbers, at, laws, first, elapsed, axial, curvature):  # type: ignore[no-untyped-def]
    """N, M, ∂N/∂ε_0, ∂N/∂κ, ∂M/∂κ; the fibres, whose instances begin at ``first``, are then on trial there."""
    material, materials, memory, flowing, trial, strains, stresses = laws
    kept = memory.shape[0]
    places = (memory, first, trial, strains, stresses, first)
    if first >= kept:
        places = (flowing, first - kept, trial, strains, stresses, first)
    fibres, runs = int(numbers[at]), int(numbers[at + 1])
    at_y = at + 2 + runs
    force, moment, k_11, k_12, k_22 = 0.0, 0.0, 0.0, 0.0, 0.0
    start = 0
    for run in range(runs):
        end = start + int(numbers[at + 2 + run])
        row = materials[int(material[first + start])]
        code, p = row[0], row[1:]
        if code == ELASTOPLASTIC:
            n, m, a, b, c = _elastoplastic_run(p, numbers, at_y, fibres, start, end, places, axial, curvature)
        elif code == MENEGOTTO_PINTO:
            n, m, a, b, c = _run(menegotto_pinto, p, numbers, at_y, fibres, start, end, places, axial, curvature)
        elif code == KENT_PARK:
            n, m, a, b, c = _run(kent_park, p, numbers, at_y, fibres, start, end, places, axial, curvature)
        elif code == CONCRETE_WITH_TENSION:
            n, m, a, b, c = _run(concrete_with_tension, p, numbers, at_y, fibres, start, end, places, axial, curvature)
        elif code == ELASTIC:
            n, m, a, b, c = _run(_elastic, p, numbers, at_y, fibres, start, end, places, axial, curvature)
        else:
            n, m, a, b, c = _any_run(code, p, numbers, at_y, fibres, start, end, places, axial, curvature, elapsed)
        force += n
        moment += m
        k_11 += a
        k_12 += b
        k_22 += c
        start = end
    return force, moment, k_11, k_12, k_22


section_response = kernel(_section_response)
"""``_section_response``, compiled once for all elements: inlined into each it is no faster."""
