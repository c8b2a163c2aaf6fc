"""Forces and tangents of all elements of a frame: the one loop over elements, in the compiled code of every scheme.

An element is a row of ``table`` and its share of flat arrays:

======= ======================================================================================
TYPE    code of its state determination (``elements/``)
COUNT   number c of its own coordinates d
DOFS    number m of free degrees of freedom that it hangs on
AT_DOF  place of these in ``dofs``
AT_A    place of A, (c, m) row by row, in ``kinematics``
AT_D    place of its coordinates at rest, (c,), in ``rest``
AT_N    place of its parameters in ``numbers``
AT_I    place of its inner states in ``inner`` and ``inner_trial``
AT_K    place of its tangent, (c, c), in ``tangents``
AT_L    its first law instance
AT_S    place in ``numbers`` of those that it shares with others, as of its section
AT_R    place in ``strain`` and ``stress`` of what is recorded of its sections, after all laws
======= ======================================================================================

    d = d_rest + A q_e,    f = f(d, d˙, states),    forces += Aᵀ f,    K += Aᵀ (∂f/∂d) A

A holds the element's direction, rigid offsets and all constraints, so that an element knows of none of them.  Schemes
have the elements' stiffness at rest in their constant matrices; to them go only the forces *beyond* it,

    f − f_rest − k_rest (d − d_rest)

which are nothing as long as nothing yields.  They are memory like the laws' states: a loop that is linearised at rest
has every element at its stiffness there.
"""

from __future__ import annotations

import numpy as np

from ...kernels.compile import kernel
from ...kernels.entry import entry
from ...kernels.linear import copy_to
from .elements.beam import BEAM, beam
from .elements.displacement_beam import DISPLACEMENT_BEAM, displacement_beam
from .elements.displacement_space_beam import DISPLACEMENT_SPACE_BEAM, displacement_space_beam
from .elements.force_beam import FORCE_BEAM, force_beam
from .elements.force_space_beam import FORCE_SPACE_BEAM, force_space_beam
from .elements.spring import SPRING, spring
from .elements.turning_space_beam import TURNING_SPACE_BEAM, turning_space_beam

TYPE, COUNT, DOFS, AT_DOF, AT_A, AT_D, AT_N, AT_I, AT_K, AT_L, AT_S, AT_R = range(12)
COLUMNS = 12
SCRATCH = (10, 25)
"""Rows for the loop and the elements to compute in, and their length: a matrix over the forces of a beam."""


@kernel
def deformation(kinematics, at_a, dofs, at_dof, count, many, q, d):  # type: ignore[no-untyped-def]
    """d = A q_e of an element.

    Of a place that has a sign Numba asks at every access whether it counts from the end; so these have none.
    """
    rows, columns, a, at = np.uint64(count), np.uint64(many), np.uint64(at_a), np.uint64(at_dof)
    for i in range(rows):
        total = 0.0
        for k in range(columns):
            total += kinematics[a + i * columns + k] * q[np.uint64(int(dofs[at + k]))]
        d[i] = total


@kernel
def resist(kinematics, at_a, dofs, at_dof, count, many, f, forces):  # type: ignore[no-untyped-def]
    """forces += Aᵀ f of an element."""
    rows, columns, a, at = np.uint64(count), np.uint64(many), np.uint64(at_a), np.uint64(at_dof)
    for k in range(columns):
        total = 0.0
        for i in range(rows):
            total += kinematics[a + i * columns + k] * f[i]
        forces[np.uint64(int(dofs[at + k]))] += total


def _evaluate(  # type: ignore[no-untyped-def]
    table, dofs, kinematics, rest, rest_f, initial, numbers, material, materials, memory, flowing, trial,
    strain, stress, inner, inner_trial, tangents, scratch, q, v, elapsed, factor, forces,
):  # fmt: skip
    """forces += Σ Aᵀf beyond the stiffness at rest, with all elements on trial at q, v; 0, or 1 + the number of an
    element that has no solution.

    ``elapsed`` is the time since what is committed, 0 in statics; ``factor`` the slope of v over q in the step.
    """
    laws = (material, materials, memory, flowing, trial, strain, stress)
    d, rate, f, moved, work = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4:]
    failed = 0
    for e in range(table.shape[0]):
        count, many = int(table[e, COUNT]), int(table[e, DOFS])
        at_dof, at_a, at_d = int(table[e, AT_DOF]), int(table[e, AT_A]), int(table[e, AT_D])
        at_n, at_i, at_k, first = int(table[e, AT_N]), int(table[e, AT_I]), int(table[e, AT_K]), int(table[e, AT_L])
        at_s, at_r = int(table[e, AT_S]), int(table[e, AT_R])
        deformation(kinematics, at_a, dofs, at_dof, count, many, q, moved)
        for i in range(count):
            d[i] = rest[at_d + i] + moved[i]
        kind, status = table[e, TYPE], 0
        if kind == BEAM:
            status = beam(numbers, at_n, laws, first, elapsed, inner, inner_trial, at_i, d, f, tangents, at_k, work)
        elif kind == SPRING:  # only laws along a coordinate ask for its rate
            deformation(kinematics, at_a, dofs, at_dof, count, many, v, rate)
            status = spring(numbers, at_n, laws, first, elapsed, factor, count, d, rate, f, tangents, at_k, work)
        elif kind == DISPLACEMENT_BEAM:
            status = displacement_beam(numbers, at_n, at_s, laws, first, at_r, elapsed, d, f, tangents, at_k, work)
        elif kind == FORCE_BEAM:
            status = force_beam(
                numbers, at_n, at_s, laws, first, at_r, elapsed, inner, inner_trial, at_i, d, f, tangents, at_k, work
            )
        elif kind == DISPLACEMENT_SPACE_BEAM:
            status = displacement_space_beam(
                numbers, at_n, at_s, laws, first, at_r, elapsed, d, f, tangents, at_k, work
            )
        elif kind == FORCE_SPACE_BEAM:
            status = force_space_beam(
                numbers, at_n, at_s, laws, first, at_r, elapsed, inner, inner_trial, at_i, d, f, tangents, at_k, work
            )
        elif kind == TURNING_SPACE_BEAM:
            status = turning_space_beam(
                numbers, at_n, laws, first, elapsed, inner, inner_trial, at_i, d, f, tangents, at_k, work
            )
        if status != 0:
            failed = 1 + e
        for i in range(count):
            beyond = f[i] - rest_f[at_d + i]
            for j in range(count):
                beyond -= initial[at_k + i * count + j] * moved[j]
            f[i] = beyond
        resist(kinematics, at_a, dofs, at_dof, count, many, f, forces)
    return failed


evaluate = kernel(_evaluate)
"""``_evaluate``, compiled once for all frames."""


@entry(
    "f8[,]", "f8[]", "f8[]", "f8[]", "f8[]", "f8[]", "f8[]", "f8[]", "f8[,]", "f8[,]", "f8[,]", "f8[,]",
    "f8[]", "f8[]", "f8[]", "f8[]", "f8[]", "f8[,]", "f8[]", "f8[]", "f8", "f8", "f8[]",
)  # fmt: skip
def evaluated(  # type: ignore[no-untyped-def]
    table, dofs, kinematics, rest, rest_f, initial, numbers, material, materials, memory, flowing, trial,
    strain, stress, inner, inner_trial, tangents, scratch, q, v, elapsed, factor, forces,
):  # fmt: skip
    """``evaluate``, for Python."""
    return evaluate(
        table, dofs, kinematics, rest, rest_f, initial, numbers, material, materials, memory, flowing, trial,
        strain, stress, inner, inner_trial, tangents, scratch, q, v, elapsed, factor, forces,
    )  # fmt: skip


@kernel
def at_rest(initial, tangents, at_k, count):  # type: ignore[no-untyped-def]
    """Whether an element has its tangent at rest."""
    same, first = True, np.uint64(at_k)
    for i in range(first, first + np.uint64(count * count)):
        same = same and tangents[i] == initial[i]
    return same


@kernel
def add_tangents(  # type: ignore[no-untyped-def]
    table, dofs, kinematics, initial, tangents, factor, damped, shares, rate, first, scratch, band
):
    """band += Σ Aᵀ (factor (k − k_rest) + rate b (k_d − k_rest)) A, banded (``halfreal.kernels.band``), in the columns
    from ``first`` on.

    k are the tangents, k_d those on which Rayleigh damping acts (``damped``), b each element's share in it.
    """
    column_of = scratch[0]
    for e in range(table.shape[0]):
        at_k, count, share = int(table[e, AT_K]), int(table[e, COUNT]), rate * shares[e]
        if at_rest(initial, tangents, at_k, count) and (share == 0.0 or at_rest(initial, damped, at_k, count)):
            continue
        rows, many, k_ij = np.uint64(count), np.uint64(int(table[e, DOFS])), np.uint64(at_k)
        at, a = np.uint64(int(table[e, AT_DOF])), np.uint64(int(table[e, AT_A]))
        for k in range(many):
            column = int(dofs[at + k])
            if column < first:
                continue
            for i in range(rows):
                total = 0.0
                for j in range(rows):
                    one = k_ij + i * rows + j
                    softer = factor * (tangents[one] - initial[one])
                    if share != 0.0:
                        softer += share * (damped[one] - initial[one])
                    total += softer * kinematics[a + j * many + k]
                column_of[i] = total
            for m in range(k, many):  # the degrees of freedom of an element are in order
                total = 0.0
                for i in range(rows):
                    total += kinematics[a + i * many + m] * column_of[i]
                band[column, int(dofs[at + m]) - column] += total


@kernel
def add_damping(table, dofs, kinematics, initial, damped, shares, scratch, v, forces):  # type: ignore[no-untyped-def]
    """forces += Σ Aᵀ b (k_d − k_rest) A v: Rayleigh damping on the present stiffness, beyond that at rest."""
    speed, f = scratch[0], scratch[1]
    for e in range(table.shape[0]):
        count, many = int(table[e, COUNT]), int(table[e, DOFS])
        at_dof, at_a, at_k = int(table[e, AT_DOF]), int(table[e, AT_A]), int(table[e, AT_K])
        if shares[e] == 0.0 or at_rest(initial, damped, at_k, count):
            continue
        deformation(kinematics, at_a, dofs, at_dof, count, many, v, speed)
        for i in range(count):
            total = 0.0
            for j in range(count):
                total += (damped[at_k + i * count + j] - initial[at_k + i * count + j]) * speed[j]
            f[i] = shares[e] * total
        resist(kinematics, at_a, dofs, at_dof, count, many, f, forces)


@kernel
def add_along_tangents(table, dofs, kinematics, initial, tangents, change, scratch, forces):  # type: ignore[no-untyped-def]
    """forces += Σ Aᵀ (∂f/∂d − k_rest) A change: what elements do on their tangents; nothing where nothing yields."""
    moved, f = scratch[0], scratch[1]
    for e in range(table.shape[0]):
        count, many = int(table[e, COUNT]), int(table[e, DOFS])
        at_dof, at_a, at_k = int(table[e, AT_DOF]), int(table[e, AT_A]), int(table[e, AT_K])
        if at_rest(initial, tangents, at_k, count):
            continue
        deformation(kinematics, at_a, dofs, at_dof, count, many, change, moved)
        for i in range(count):
            total = 0.0
            for j in range(count):
                total += (tangents[at_k + i * count + j] - initial[at_k + i * count + j]) * moved[j]
            f[i] = total
        resist(kinematics, at_a, dofs, at_dof, count, many, f, forces)


@kernel
def read_laws(probes, strain, stress, outputs, y):  # type: ignore[no-untyped-def]
    """Outputs of a block: those that follow from the motion, then strains or stresses of laws."""
    rows = outputs.shape[0]
    for i in range(rows):
        y[i] = outputs[i]
    for i in range(probes.shape[0]):
        at = int(probes[i, 1])
        y[rows + i] = strain[at] if probes[i, 0] == 0.0 else stress[at]


@kernel
def commit_elements(memory, flowing, trial, inner, inner_trial):  # type: ignore[no-untyped-def]
    """What is on trial becomes the state.

    Number by number: rows are short, and ``reshape`` would call Numba's own library, without which the code could not
    be loaded from disk.
    """
    rows, width = memory.shape
    for i in range(rows):
        for j in range(width):
            memory[i, j] = trial[i, j]
    for i in range(flowing.shape[0]):
        for j in range(width):
            flowing[i, j] = trial[rows + i, j]
    copy_to(inner_trial, inner)
