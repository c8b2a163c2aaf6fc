"""A frame as matrices and tables: what schemes and statics compute with.

    M q¨ + C q˙ + K q + Σ Aᵀ f_e(A q, A q˙, states) = F

q are the free degrees of freedom, ordered for a small bandwidth; K the linear pieces, f_e the others (``evaluate.py``).
Once the model is ``at_rest`` under gravity loads, q counts from there, K has the tangents of all pieces there, and f_e
is what they resist with beyond that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ...kernels.band import half_bandwidth
from ..materials.law import Law, rows
from .evaluate import AT_A, AT_D, AT_DOF, AT_K, COLUMNS, COUNT, DOFS, SCRATCH, evaluated
from .modes import Modes, all_modes
from .numbering import Numbering
from .piece import Piece

Places = dict[tuple[str, int], int]


@dataclass(frozen=True)
class Model:
    """See the module's equation."""

    numbering: Numbering
    mass: sparse.csr_matrix
    damping: sparse.csr_matrix
    """Of dashpots."""
    stiffness: sparse.csr_matrix
    """K: of linear pieces; at rest the tangent of all."""
    initial: sparse.csr_matrix
    """Stiffness of all pieces without load."""
    pieces: tuple[Piece, ...]
    """Those that are not linear."""
    laws: tuple[Law, ...]
    """An instance each; those that flow come last."""
    instances: Places
    """Instance of the law of an element, by its name and the law's number in it."""
    recorded: Places
    """Place in ``strain`` and ``stress`` of a deformation of the sections of an element, section by section."""
    arrays: dict[str, np.ndarray]
    """Tables of the elements: parameters of a block."""
    states: dict[str, np.ndarray]
    """States of the elements, committed and on trial."""

    @property
    def dofs(self) -> int:
        return len(self.numbering.free)

    @cached_property
    def width(self) -> int:
        """Half-bandwidth."""
        return half_bandwidth(abs(self.mass) + abs(self.damping) + abs(self.pattern))

    @cached_property
    def pattern(self) -> sparse.csr_matrix:
        """Where the stiffness may have entries."""
        places = [over_free(piece, self.numbering)[0] for piece in self.pieces]
        i = np.concatenate([np.zeros(0, int), *(np.repeat(used, len(used)) for used in places)])
        j = np.concatenate([np.zeros(0, int), *(np.tile(used, len(used)) for used in places)])
        return abs(self.stiffness) + sparse.csr_matrix((np.ones(len(i)), (i, j)), shape=self.stiffness.shape)

    @cached_property
    def modes(self) -> Modes | None:
        """All modes at rest; None if one without mass is not held."""
        return all_modes(self.mass, self.stiffness)

    def forces(
        self, q: np.ndarray, v: np.ndarray | None = None, elapsed: float = 0.0, factor: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Σ Aᵀf of the pieces that are not linear, beyond their stiffness at rest once that is known, their tangents,
        and their states on trial; called from Python.  ``factor`` is the slope of v over q."""
        _, forces, states = self._evaluated(q, np.zeros(len(q)) if v is None else v, elapsed, factor)
        return forces, states["tangents"], states

    def failed(self, q: np.ndarray) -> str:
        """Name of an element that has no solution at displacements; nothing if all have one."""
        e, *_ = self._evaluated(q, np.zeros(len(q)), 0.0)
        return self.pieces[e - 1].element if e else ""

    def _evaluated(
        self, q: np.ndarray, speed: np.ndarray, elapsed: float, factor: float = 0.0
    ) -> tuple[int, np.ndarray, dict[str, np.ndarray]]:
        states = {key: value.copy() for key, value in self.states.items()}
        forces, a = np.zeros(len(q)), self.arrays
        failed = evaluated(
            a["table"], a["dofs"], a["kinematics"], a["rest"], a["rest_f"], a["initial"],
            a["numbers"], a["material"], a["materials"],
            states["memory"], states["flowing"], states["trial"], states["strain"], states["stress"],
            states["inner"], states["inner_trial"], states["tangents"], states["scratch"],
            q, speed, elapsed, factor, forces,
        )  # fmt: skip
        return int(failed), forces, states

    def named(self) -> dict[tuple[str, int], str]:
        """What each law is for people, by its element and its number in it, such as "hinge at 'A'"."""
        found: dict[str, list[str]] = {}
        for piece in self.pieces:
            found.setdefault(piece.element, []).extend(piece.ends)
        return {(element, k): end for element, ends in found.items() for k, end in enumerate(ends)}

    def tangent(self, tangents: np.ndarray) -> sparse.csr_matrix:
        """K with the other pieces at given tangents."""
        return self.stiffness + self.resisting(tangents)

    def leaning(self, tangents: np.ndarray, q: np.ndarray) -> np.ndarray:
        """What symmetric tangents leave out of ∂f/∂d where chords lean, laid out like them: L ψ ∂N/∂d of N L ψ."""
        found, arrays = np.zeros_like(tangents), self.arrays
        for row, piece in zip(arrays["table"].astype(int), self.pieces, strict=True):
            if not piece.leans:
                continue
            c, m, at_k, at_a, at_dof = row[COUNT], row[DOFS], row[AT_K], row[AT_A], row[AT_DOF]
            a = arrays["kinematics"][at_a : at_a + c * m].reshape(c, m)
            d = arrays["rest"][row[AT_D] : row[AT_D] + c] + a @ q[arrays["dofs"][at_dof : at_dof + m].astype(int)]
            own = found[at_k : at_k + c * c].reshape(c, c)
            for i in piece.leans:
                own[i] += piece.length * d[i] * tangents[at_k : at_k + c]
        return found

    def resisting(self, tangents: np.ndarray) -> sparse.csr_matrix:
        """Σ Aᵀ k A of the pieces that are not linear, at given tangents."""
        table, dofs, kinematics = (self.arrays[key] for key in ("table", "dofs", "kinematics"))
        rows_, columns, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        for row in table.astype(int):
            c, m, at_k, at_a, at_dof = row[COUNT], row[DOFS], row[AT_K], row[AT_A], row[AT_DOF]
            k = tangents[at_k : at_k + c * c].reshape(c, c)
            if np.any(k):
                a, used = kinematics[at_a : at_a + c * m].reshape(c, m), dofs[at_dof : at_dof + m].astype(int)
                rows_.append(np.repeat(used, m))
                columns.append(np.tile(used, m))
                values.append(np.ravel(a.T @ k @ a))
        i, j, v = np.concatenate(rows_), np.concatenate(columns), np.concatenate(values)
        return sparse.csr_matrix((v, (i, j)), shape=(self.dofs, self.dofs))


def along(piece: Piece, numbering: Numbering) -> sparse.csr_matrix:
    """A of a piece over the free degrees of freedom, (c, n)."""
    used, own = over_free(piece, numbering)
    rows_ = np.repeat(np.arange(len(own)), len(used))
    return sparse.csr_matrix((own.ravel(), (rows_, np.tile(used, len(own)))), shape=(len(own), len(numbering.free)))


def over_free(piece: Piece, numbering: Numbering) -> tuple[np.ndarray, np.ndarray]:
    """Free degrees of freedom that a piece hangs on, in order, and its A over these, (c, m)."""
    t = numbering.transformation
    ranges = [np.arange(t.indptr[dof], t.indptr[dof + 1]) for dof in piece.dofs]
    entries = np.concatenate(ranges)
    used, place = np.unique(t.indices[entries], return_inverse=True)
    turned = np.zeros((len(piece.dofs), len(used)))
    turned[np.repeat(np.arange(len(ranges)), [len(one) for one in ranges]), place] = t.data[entries]
    own = piece.kinematics @ turned
    felt = np.any(own, axis=0)
    return used[felt], own[:, felt]


def model_of(
    numbering: Numbering, pieces: Sequence[Piece], masses: Sequence[tuple[Sequence[int], np.ndarray]]
) -> Model:
    """Number for a small bandwidth, and assemble."""
    n = len(numbering.free)
    rows_, columns = [], []
    for piece in pieces:
        used, _ = over_free(piece, numbering)
        rows_.append(np.repeat(used, len(used)))
        columns.append(np.tile(used, len(used)))
    total = _full_mass(numbering, masses)
    condensed = (numbering.transformation.T @ total @ numbering.transformation).tocoo()
    rows_.append(condensed.row)
    columns.append(condensed.col)
    i, j = np.concatenate(rows_), np.concatenate(columns)
    graph = sparse.csr_matrix((np.ones(len(i)), (i, j)), shape=(n, n))
    numbering = numbering.reordered(np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True)))
    t = numbering.transformation
    others = tuple(piece for piece in pieces if piece.type is not None)
    arrays, states, laws, instances, recorded = _tables(others, numbering)
    return Model(
        numbering=numbering,
        mass=(t.T @ total @ t).tocsr(),
        damping=_sum(numbering, [(piece, piece.damping) for piece in pieces if piece.damping is not None]),
        stiffness=_sum(numbering, [(piece, piece.stiffness) for piece in pieces if piece.type is None]),
        initial=_sum(numbering, [(piece, piece.stiffness) for piece in pieces]),
        pieces=others,
        laws=laws,
        instances=instances,
        recorded=recorded,
        arrays=arrays,
        states=states,
    )


def committed(states: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """States in which what was on trial is the state."""
    kept = len(states["memory"])
    trial = {"memory": states["trial"][:kept].copy(), "flowing": states["trial"][kept:].copy()}
    return {**states, **trial, "inner": states["inner_trial"].copy()}


def at_rest(model: Model, q: np.ndarray) -> Model:
    """The model brought to a displacement q, and counted from there."""
    shift = [own @ q[used] for used, own in (over_free(piece, model.numbering) for piece in model.pieces)]
    moved = replace(model, arrays={**model.arrays, "rest": np.concatenate([np.zeros(0), *shift])})
    _, tangents, states = moved.forces(np.zeros(model.dofs))
    return replace(
        moved,
        stiffness=model.tangent(tangents),
        arrays={**moved.arrays, "initial": tangents.copy(), "rest_f": _own_forces(moved)},
        states=committed(states),
    )


def _own_forces(model: Model) -> np.ndarray:
    """f of every piece at rest, one after another: each alone, with unit vectors as its A."""
    table = model.arrays["table"].copy()
    sizes = table[:, COUNT].astype(int)
    table[:, DOFS] = table[:, COUNT]
    table[:, AT_DOF] = table[:, AT_D]
    table[:, AT_A] = np.concatenate([[0], np.cumsum(sizes**2)])[:-1]
    units = np.concatenate([np.zeros(0), *(np.ravel(np.eye(size)) for size in sizes)])
    n = int(sizes.sum())
    alone = replace(model, arrays={**model.arrays, "table": table, "dofs": np.arange(float(n)), "kinematics": units})
    return alone.forces(np.zeros(n))[0]


def _full_mass(numbering: Numbering, masses: Sequence[tuple[Sequence[int], np.ndarray]]) -> sparse.csr_matrix:
    """Mass over all displacements of all nodes."""
    rows_, columns, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
    for dofs, matrix in masses:
        at = np.asarray(dofs)
        rows_.append(np.repeat(at, len(at)))
        columns.append(np.tile(at, len(at)))
        values.append(np.ravel(matrix))
    i, j, v = np.concatenate(rows_), np.concatenate(columns), np.concatenate(values)
    return sparse.csr_matrix((v, (i, j)), shape=(numbering.all, numbering.all))


def _sum(numbering: Numbering, given: Sequence[tuple[Piece, Any]]) -> sparse.csr_matrix:
    """Σ AᵀkA over the free degrees of freedom."""
    n = len(numbering.free)
    rows_, columns, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
    for piece, matrix in given:
        used, small = over_free(piece, numbering)
        rows_.append(np.repeat(used, len(used)))
        columns.append(np.tile(used, len(used)))
        values.append(np.ravel(small.T @ matrix @ small))
    i, j, v = np.concatenate(rows_), np.concatenate(columns), np.concatenate(values)
    return sparse.csr_matrix((v, (i, j)), shape=(n, n))


def _tables(
    pieces: Sequence[Piece], numbering: Numbering
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], tuple[Law, ...], Places, Places]:
    """Arrays of ``evaluate.py``."""
    # laws of one piece stay together, as it knows its first: a piece flows if one of its laws does
    order = sorted(pieces, key=lambda piece: any(law.flowing for law in piece.laws))
    numbered, sofar = {}, Counter[str]()
    for piece in pieces:  # laws of an element are counted over its pieces
        numbered[id(piece)] = sofar[piece.element]
        sofar[piece.element] += len(piece.laws)
    owned = [(piece.element, numbered[id(piece)] + k, law) for piece in order for k, law in enumerate(piece.laws)]
    kept = sum(len(piece.laws) for piece in order if not any(law.flowing for law in piece.laws))
    first, count = {}, 0
    for piece in order:
        first[id(piece)] = count
        count += len(piece.laws)
    laws = tuple(law for _, _, law in owned)
    distinct = list({id(law): law for law in laws}.values())
    materials: dict[Any, int] = {}
    index = {id(law): materials.setdefault(law, len(materials)) for law in distinct}
    material = np.array([index[id(law)] for law in laws], dtype=int)
    codes, parameters, at_first = rows(list(materials))
    # no wider than needed: rows of one entry are adjacent, and may be evaluated together
    start = at_first[:, : max([1, *(law.states for law in materials)])][material]
    table = np.zeros((len(pieces), COLUMNS))
    dofs: list[float] = []
    kinematics: list[np.ndarray] = []
    numbers: list[float] = []
    recorded: Places = {}
    shared: dict[tuple[float, ...], int] = {}
    at_a = at_d = at_i = at_k = 0
    at_r = len(laws)
    for e, piece in enumerate(pieces):
        used, a = over_free(piece, numbering)
        c, m = len(piece.kinematics), len(used)
        if piece.shared not in shared:
            shared[piece.shared] = len(numbers)
            numbers += piece.shared
        places = [len(dofs), at_a, at_d, len(numbers), at_i, at_k, first[id(piece)], shared[piece.shared], at_r]
        table[e] = [piece.type, c, m, *places]
        dofs += used.tolist()
        kinematics.append(np.ravel(a))
        numbers += piece.numbers
        for k in range(piece.recorded * piece.sections):
            recorded[piece.element, k] = at_r + k
        at_a, at_d, at_i, at_k = at_a + c * m, at_d + c, at_i + piece.inner, at_k + c * c
        at_r += piece.recorded * piece.sections
    inner = np.concatenate([np.zeros(0), *(piece.start or np.zeros(piece.inner) for piece in pieces)])
    arrays = {
        "table": table,
        "dofs": np.array(dofs, dtype=float),
        "kinematics": np.concatenate(kinematics) if kinematics else np.zeros(0),
        "rest": np.zeros(at_d),
        "rest_f": np.zeros(at_d),
        "initial": np.zeros(at_k),
        "numbers": np.array(numbers, dtype=float),
        "material": material.astype(float),
        "materials": np.column_stack([codes, parameters]),
    }
    states = {
        "memory": start[:kept],
        "flowing": start[kept:],
        "trial": start.copy(),
        "strain": np.zeros(at_r),
        "stress": np.zeros(at_r),
        "inner": inner,
        "inner_trial": inner.copy(),
        "tangents": np.concatenate([np.ravel(piece.stiffness) for piece in pieces]) if pieces else np.zeros(0),
        "scratch": np.zeros(SCRATCH),
    }
    return arrays, states, laws, {(name, k): i for i, (name, k, _) in enumerate(owned)}, recorded
