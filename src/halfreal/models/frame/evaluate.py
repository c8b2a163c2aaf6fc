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

from ...kernels.compile import kernel, shared
from .elements.beam import BEAM, beam
from .elements.displacement_beam import DISPLACEMENT_BEAM, displacement_beam
from .elements.force_beam import FORCE_BEAM, force_beam
from .elements.spring import SPRING, spring

TYPE, COUNT, DOFS, AT_DOF, AT_A, AT_D, AT_N, AT_I, AT_K, AT_L, AT_S, AT_R = range(12)
COLUMNS = 12
SCRATCH = (10, 16)
"""Rows for the loop and the elements to compute in, and their length: the most coordinates of an element."""


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
        for i in range(count):
            far, fast = 0.0, 0.0
            for k in range(many):
                dof = int(dofs[at_dof + k])
                far += kinematics[at_a + i * many + k] * q[dof]
                fast += kinematics[at_a + i * many + k] * v[dof]
            moved[i], d[i], rate[i] = far, rest[at_d + i] + far, fast
        kind, status = table[e, TYPE], 0
        if kind == BEAM:
            status = beam(numbers, at_n, laws, first, elapsed, inner, inner_trial, at_i, d, f, tangents, at_k, work)
        elif kind == SPRING:
            status = spring(numbers, at_n, laws, first, elapsed, factor, count, d, rate, f, tangents, at_k, work)
        elif kind == DISPLACEMENT_BEAM:
            status = displacement_beam(numbers, at_n, at_s, laws, first, at_r, elapsed, d, f, tangents, at_k, work)
        elif kind == FORCE_BEAM:
            status = force_beam(
                numbers, at_n, at_s, laws, first, at_r, elapsed, inner, inner_trial, at_i, d, f, tangents, at_k, work
            )
        if status != 0:
            failed = 1 + e
        for i in range(count):
            f[i] -= rest_f[at_d + i]
            for j in range(count):
                f[i] -= initial[at_k + i * count + j] * moved[j]
        for k in range(many):
            total = 0.0
            for i in range(count):
                total += kinematics[at_a + i * many + k] * f[i]
            forces[int(dofs[at_dof + k])] += total
    return failed


evaluate = shared(_evaluate)
"""``_evaluate``, compiled once for all frames."""


@kernel
def add_tangents(table, dofs, kinematics, initial, tangents, factor, band):  # type: ignore[no-untyped-def]
    """band += factor Σ Aᵀ (∂f/∂d − k_rest) A, banded (``halfreal.kernels.band``)."""
    for e in range(table.shape[0]):
        count, many = int(table[e, COUNT]), int(table[e, DOFS])
        at_dof, at_a, at_k = int(table[e, AT_DOF]), int(table[e, AT_A]), int(table[e, AT_K])
        same = True
        for i in range(at_k, at_k + count * count):
            same = same and tangents[i] == initial[i]
        if same:
            continue
        for k in range(many):
            column = int(dofs[at_dof + k])
            for m in range(many):
                row = int(dofs[at_dof + m])
                if row < column:
                    continue
                total = 0.0
                for i in range(count):
                    left = kinematics[at_a + i * many + m]
                    if left != 0.0:
                        for j in range(count):
                            softer = tangents[at_k + i * count + j] - initial[at_k + i * count + j]
                            total += left * softer * kinematics[at_a + j * many + k]
                band[column, row - column] += factor * total


@kernel
def add_foreseen(table, dofs, kinematics, initial, tangents, scratch, now, before, forces):  # type: ignore[no-untyped-def]
    """forces += Σ Aᵀ (∂f/∂d − k_rest) A (now − before): what tangents foresee, with nothing evaluated."""
    moved = scratch[0]
    for e in range(table.shape[0]):
        count, many = int(table[e, COUNT]), int(table[e, DOFS])
        at_dof, at_a, at_k = int(table[e, AT_DOF]), int(table[e, AT_A]), int(table[e, AT_K])
        same = True
        for i in range(at_k, at_k + count * count):
            same = same and tangents[i] == initial[i]
        if same:
            continue
        for i in range(count):
            moved[i] = 0.0
            for k in range(many):
                dof = int(dofs[at_dof + k])
                moved[i] += kinematics[at_a + i * many + k] * (now[dof] - before[dof])
        for i in range(count):
            force = 0.0
            for j in range(count):
                force += (tangents[at_k + i * count + j] - initial[at_k + i * count + j]) * moved[j]
            for k in range(many):
                forces[int(dofs[at_dof + k])] += force * kinematics[at_a + i * many + k]


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
    """What is on trial becomes the state."""
    kept = memory.shape[0]
    for i in range(kept):
        for j in range(trial.shape[1]):
            memory[i, j] = trial[i, j]
    for i in range(kept, trial.shape[0]):
        for j in range(trial.shape[1]):
            flowing[i - kept, j] = trial[i, j]
    for i in range(inner.shape[0]):
        inner[i] = inner_trial[i]


@kernel
def untouched(memory, trial, inner, inner_trial):  # type: ignore[no-untyped-def]
    """Whether the state is what was committed last."""
    different = 0
    for i in range(memory.shape[0]):
        for j in range(memory.shape[1]):
            different += memory[i, j] != trial[i, j]
    for i in range(inner.shape[0]):
        different += inner[i] != inner_trial[i]
    return different == 0
