"""The laws inside a frame's elements: each hinge, spring or fibre is an *instance* with a row of states of its own.

An instance names its material; instances of one material share its code and parameters.  ``laws`` is a tuple of arrays:

======== ================ ============================================================================
0        material (l,)    index of the material of each instance
1        materials (m, P) code, then parameters, of each material
2        memory (a, S)    committed states of the instances 0 … a − 1, which move by their strain only
3        flowing (l−a, S) committed states of the others, which move by themselves too
4        trial (l, S)     states on trial
5, 6     strain, stress   of the last evaluation, (l,) each
======== ================ ============================================================================
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ...kernels.compile import kernel
from ..materials.law import Law, rows
from ..materials.uniaxial import responses, uniaxial

TINY = 1e-14
"""Of strains, for which every law is in proportion, but for rounding."""
SAFETY = 10.0


@kernel
def law_response(laws, instance, strain, rate, elapsed):  # type: ignore[no-untyped-def]
    """Stress, its slope over the strain and over the rate; the instance is then on trial there."""
    material, materials, memory, flowing, trial, strains, stresses = laws
    row = materials[int(material[instance])]
    kept = memory.shape[0]
    if instance < kept:
        stress, tangent, damping = uniaxial(row[0], row[1:], memory[instance], strain, rate, elapsed, trial[instance])
    else:
        stress, tangent, damping = uniaxial(
            row[0], row[1:], flowing[instance - kept], strain, rate, elapsed, trial[instance]
        )
    strains[instance] = strain
    stresses[instance] = stress
    return stress, tangent, damping


@cache
def rounding(law: Law) -> float:
    """What rounding may make of a stress near rest: as much as the law is off its proportion at tiny strains."""
    codes, parameters, states = rows([law])
    strains = TINY * np.array([-3.7, -1.3, 0.9, 2.3, 5.1, 17.0])
    found, _ = responses(codes[0], parameters[0], states[0], strains, np.zeros(strains.size))
    return SAFETY * float(np.max(np.abs(found[:, 0] - law.initial_stiffness * strains)))


@cache
def depends_on_rate(law: Law) -> bool:
    """Whether the stress depends on the rate, or on time."""
    if law.flowing or law.initial_damping != 0.0:
        return True
    codes, parameters, states = rows([law])
    strains, rates = np.repeat([1e-6, 1e-2], 3), np.tile([0.0, 1e-3, 1.0], 2)
    found, _ = responses(codes[0], parameters[0], states[0], strains, rates, 1e-3)
    return bool(np.any(found[:, 2] != 0.0)) or len(set(found[:, 0].tolist())) > 2
