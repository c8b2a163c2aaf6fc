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

from ...kernels.compile import kernel
from ..materials.uniaxial import uniaxial


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
