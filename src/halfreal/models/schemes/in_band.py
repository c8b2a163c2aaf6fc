"""Structures with nonlinear elements whose matrices are narrow bands, as those of chains and shear buildings.

The plain methods multiply inverses and other products of the matrices, which are full, and cost n² in a tick.  In the
same equations with the matrices as they are, products and solutions with banded factors (``kernels/band.py``) cost n
times the bandwidth, and elements with a few terms (``element_fields.py``) as many as there are: results differ by
rounding alone.  Degrees of freedom are numbered such that the band is narrow (E. Cuthill, J. McKee, Proc. 24th National
Conf. ACM (1969) 157–172), and are in this order in the block's state.

The program chooses this form where it is faster: from as many degrees of freedom on as a scheme states
(``banded_from``), and up to the bandwidth ``WIDEST``.  Where the matrices are not symmetric, where a step's matrix is
not positive definite, and with degrees of freedom without mass that cannot be condensed, the plain method stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.massless import staged
from ...contracts.system import Method, System
from ...kernels.band import banded, factored, half_bandwidth
from ...kernels.block import Value
from ...kernels.compile import kernel
from ...kernels.linear import multiply_add, stored
from ..materials.element_fields import along, terms

if TYPE_CHECKING:
    from .scheme import Scheme

WIDEST = 0.1
"""Half-bandwidth, as a part of the degrees of freedom, up to which the banded form is faster."""
SYMMETRIC = 1e-13
"""Part of an entry up to which the one across the diagonal may differ from it by rounding."""


def in_band(scheme: Scheme, system: System, dt: float) -> Method | None:
    """The scheme with banded matrices; None if it is to be integrated plainly."""
    if system.linear or scheme.banded_from is None or system.dofs < scheme.banded_from:
        return None
    found = staged(system)
    matrices = (found.system.mass, found.system.damping, found.system.stiffness)
    if found.bare or not all(np.allclose(one, one.T, rtol=SYMMETRIC, atol=0.0) for one in matrices):
        return None
    ordered, width = renumbered(found.system)
    method = None if width > WIDEST * ordered.dofs else scheme.banded(ordered, dt)
    if method is None:
        return None
    form = f"{system.dofs} degrees of freedom and {system.elements.count} nonlinear elements, with banded matrices"
    return replace(method, form=form)


def renumbered(system: System) -> tuple[System, int]:
    """The system with its degrees of freedom in an order in which its band is narrow, and half the bandwidth."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    b = np.abs(system.elements.direction)
    joined = csr_array(b.T @ b + np.abs(system.mass) + np.abs(system.damping) + np.abs(system.stiffness))
    order = reverse_cuthill_mckee(joined, symmetric_mode=True)
    width, new = half_bandwidth(joined), half_bandwidth(joined[order][:, order])
    if new >= width:
        return system, width
    square = np.ix_(order, order)
    return replace(
        system,
        mass=system.mass[square],
        damping=system.damping[square],
        stiffness=system.stiffness[square],
        inputs=system.inputs[order],
        displacement_outputs=system.displacement_outputs[:, order],
        velocity_outputs=system.velocity_outputs[:, order],
        acceleration_outputs=system.acceleration_outputs[:, order],
        elements=system.elements.along(system.elements.direction[:, order]),
        displacement=system.displacement[order],
        velocity=system.velocity[order],
    ), new


def band_of(matrix: np.ndarray) -> np.ndarray:
    """A symmetric matrix as ``kernels/band.py`` stores it, as narrow as it is."""
    return banded(matrix, half_bandwidth(matrix))


def factors_of(matrix: np.ndarray) -> np.ndarray | None:
    """Its factors; None if it is not positive definite, for which no pivots would have to be sought."""
    found = factored(matrix, half_bandwidth(matrix))
    return found if np.all(found[:, 0] > 0.0) else None


def outputs_and_elements(system: System) -> dict[str, Value]:
    """Parameters that do not depend on the scheme."""
    return {
        "inputs": stored(system.inputs),
        "displacement_outputs": terms(system.displacement_outputs),
        "velocity_outputs": terms(system.velocity_outputs),
        "acceleration_outputs": terms(system.acceleration_outputs),
        "direct": stored(system.feedthrough),
        "law": system.elements.law,
        "terms": terms(system.elements.direction),
        "elements": system.elements.parameters,
    }


@kernel
def add_inputs(inputs, alpha_f, before, now, force):  # type: ignore[no-untyped-def]
    """force += U u, with u weighted between the ends of a step."""
    for j in range(now.shape[0]):
        weighted = (1.0 - alpha_f) * now[j] + alpha_f * before[j]
        for i in range(force.shape[0]):
            force[i] += inputs[j, i] * weighted


@kernel
def read_outputs(p, q, v, a, u, y):  # type: ignore[no-untyped-def]
    """y = Y_d q + Y_v v + Y_a a + Y_u u."""
    for k in range(y.shape[0]):
        y[k] = along(p.displacement_outputs[k], q) + along(p.velocity_outputs[k], v)
        y[k] += along(p.acceleration_outputs[k], a)
    multiply_add(p.direct, u, y)
