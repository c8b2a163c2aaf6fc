"""What the elements of a structure, each a law along a direction, do together; for blocks with the fields of
``element_fields.py``.

q and v are displacements and velocities (n,) on trial, ``elapsed`` the time since the committed state.
"""

from __future__ import annotations

from ...kernels.compile import kernel
from ...kernels.linear import multiply_add
from .element_fields import add_along, along, keep
from .uniaxial import uniaxial


@kernel
def add_forces(law, terms, parameters, memory, tried, q, v, elapsed, action, factor, forces, total):  # type: ignore[no-untyped-def]
    """total += factor Σ_e action_e r_e(b_eᵀ q, b_eᵀ v) over all elements, ``action`` being (e, n), ``forces`` room."""
    for e in range(law.shape[0]):
        deformation, rate = along(terms[e], q), along(terms[e], v)
        forces[e] = factor * uniaxial(law[e], parameters[e], memory[e], deformation, rate, elapsed, tried[e])[0]
    multiply_add(action, forces, total)


@kernel
def add_forces_along(law, terms, parameters, memory, tried, q, v, elapsed, factor, total):  # type: ignore[no-untyped-def]
    """total += factor Σ_e b_e r_e(b_eᵀ q, b_eᵀ v) over all elements."""
    for e in range(law.shape[0]):
        deformation, rate = along(terms[e], q), along(terms[e], v)
        force = factor * uniaxial(law[e], parameters[e], memory[e], deformation, rate, elapsed, tried[e])[0]
        add_along(terms[e], force, total)


@kernel
def commit(law, terms, parameters, memory, tried, q, v, elapsed):  # type: ignore[no-untyped-def]
    """Bring the states of all elements to displacements q and velocities v."""
    for e in range(law.shape[0]):
        uniaxial(law[e], parameters[e], memory[e], along(terms[e], q), along(terms[e], v), elapsed, tried[e])
    keep(memory, tried)
