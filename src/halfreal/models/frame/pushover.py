"""Pushover of a frame under displacement control, on the elements that the loop runs.

    K q + Σ Aᵀ f(q) = λ p,    cᵀq = d

p is the pattern of the force, d the displacement of the watched node, which is raised step by step; λ follows.
Newton's method for both (J.-L. Batoz, G. Dhatt, Int. J. Numer. Methods Eng. 14 (1979) 1262–1267):

    K_t a = λ p − K q − Σ Aᵀ f,    K_t b = p,    dλ = (d − cᵀq − cᵀa)/cᵀb,    dq = a + dλ b

so that the curve is followed beyond its peak.  A step without solution is halved; laws are committed after each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse.linalg

from ...contracts.inside import Inside, Sketch
from ...contracts.pushed import Push, Pushed
from .loaded import Loaded
from .model import Model
from .names import unknown
from .statics import StaticsError

ITERATIONS = 40
HALVINGS = 8
TOLERANCE = 1e-11
MODES = 12
"""Among which the strongest in the direction of the push is looked for."""
TARGET = 0.02
"""Part of the height that is pushed to."""


def pushover(loaded: Loaded, inside: Inside, by: Push) -> Pushed:
    """Push a frame at rest under its loads."""
    sketch, model = inside.sketch, loaded.model
    direction = _direction(inside, by)
    node = _node(sketch, by)
    shares = _shares(inside, by.pattern, direction)
    heights = [float(at[-1]) for at in sketch.nodes.values()]
    target = TARGET * (max(heights) - min(heights)) if by.target is None else by.target
    if target == 0.0 or not np.isfinite(target):
        raise StaticsError(f"target displacement {target:g} m; give one other than zero (--to)")
    everywhere = np.zeros(len(sketch.nodes) * len(inside.directions))
    for name, share in shares.items():
        everywhere[inside.column(name, direction)] = share
    p = np.asarray(inside.to_nodes.T @ everywhere)
    c = np.asarray(inside.to_nodes[inside.column(node, direction)].toarray()[0])
    if not np.any(p) or not np.any(c):
        what = f"node '{node}' is held by" if np.any(p) else "the force acts on"
        raise StaticsError(f"nothing can be pushed in {direction}: {what} supports; give another node or direction")
    q, factor, d = np.zeros(model.dofs), 0.0, 0.0
    rows, note = [(d, factor, q, *inside.rest)], ""
    for step in range(1, by.steps + 1):
        aim, part, halved = target * step / by.steps, 1.0, 0
        while not note and abs(aim - d) > 1e-12 * abs(target):
            toward = d + part * (aim - d)
            found = _balanced(model, p, c, q, factor, toward)
            if found is not None:
                (q, factor, model), d, part = found, toward, 1.0
                continue
            part, halved = 0.5 * part, halved + 1
            if halved > HALVINGS:
                note = (
                    f"no equilibrium was found beyond {1e3 * d:.4g} mm: a hinge fractures there, "
                    "or the structure collapses"
                )
        if note:
            break
        rows.append((d, factor, q, model.states["strain"][inside.spots], model.states["stress"][inside.spots]))
    displacement, force, motion, strain, stress = (np.array(column) for column in zip(*rows, strict=True))
    motion = np.asarray(motion @ inside.to_nodes.T)
    return Pushed(inside, node, direction, shares, displacement, force, motion, strain, stress, note)


def _balanced(
    model: Model, p: np.ndarray, c: np.ndarray, q: np.ndarray, factor: float, d: float
) -> tuple[np.ndarray, float, Model] | None:
    """Displacements, factor and the model with its laws committed where the watched one has moved by d."""
    q = q.copy()
    for _ in range(ITERATIONS):
        forces, tangents, states = model.forces(q)
        left = factor * p - model.stiffness @ q - forces
        size = max(float(np.abs(factor * p).max()), float(np.abs(model.stiffness @ q).max()), 1e-300)
        if np.abs(left).max() <= TOLERANCE * size and abs(d - c @ q) <= TOLERANCE * abs(d):
            return q, factor, _committed(model, states)
        tangent = model.tangent(tangents - model.arrays["initial"]).tocsc()
        try:
            a, b = scipy.sparse.linalg.splu(tangent).solve(np.column_stack([left, p])).T
        except RuntimeError:  # singular: on its way over a peak
            return None
        if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))) or c @ b == 0.0:
            return None
        more = float((d - c @ q - c @ a) / (c @ b))
        q, factor = q + a + more * b, factor + more
    return None


def _committed(model: Model, states: dict[str, np.ndarray]) -> Model:
    kept = len(states["memory"])
    return replace(
        model,
        states={
            **states,
            "memory": states["trial"][:kept].copy(),
            "flowing": states["trial"][kept:].copy(),
            "inner": states["inner_trial"].copy(),
        },
    )


def _direction(inside: Inside, by: Push) -> str:
    if by.direction is None:
        return next((one for _, one in inside.sketch.interface if one in inside.sideways), inside.sideways[0])
    if by.direction not in inside.sideways:
        raise StaticsError(f"'{by.direction}' is not a horizontal direction; use {' or '.join(inside.sideways)}")
    return by.direction


def _node(sketch: Sketch, by: Push) -> str:
    if by.node is None:
        return max((name for name, mass in sketch.mass.items() if mass > 0.0), key=lambda one: sketch.nodes[one][-1])
    if by.node not in sketch.nodes:
        raise StaticsError(unknown("node", by.node, sketch.nodes))
    return by.node


def _shares(inside: Inside, pattern: str | Mapping[str, float], direction: str) -> dict[str, float]:
    """Part of the whole force on each node."""
    sketch = inside.sketch
    if isinstance(pattern, str):
        ground = min(float(at[-1]) for at in sketch.nodes.values())
        mass = {name: sketch.mass[name] for name in sketch.nodes}
        if pattern == "triangle":
            found = {name: value * (float(sketch.nodes[name][-1]) - ground) for name, value in mass.items()}
        elif pattern == "mode":
            shape = _strongest(inside, direction)
            found = {name: value * shape[inside.column(name, direction)] for name, value in mass.items()}
        elif pattern == "uniform":
            found = mass
        else:
            raise StaticsError(f"the pattern '{pattern}' is not mode, uniform or triangle; or give forces of nodes")
    else:
        for name in pattern:
            if name not in sketch.nodes:
                raise StaticsError(unknown("node", name, sketch.nodes))
        found = dict(pattern)
    held = {name for name, fixed in sketch.fixed.items() if direction in fixed}
    found = {name: value for name, value in found.items() if value != 0.0 and name not in held}
    whole = sum(found.values())
    if not found or abs(whole) < 1e-9 * sum(map(abs, found.values())):
        raise StaticsError("the forces of the pattern cancel each other, or none acts where something can move")
    return {name: value / whole for name, value in found.items()}


def _strongest(inside: Inside, direction: str) -> np.ndarray:
    """Shape of the mode with the largest effective mass in a direction, over the displacements of all nodes."""
    _, shapes = inside.modes(MODES)
    names, straight = list(inside.sketch.nodes), inside.directions[: inside.sketch.dimensions]
    mass = np.array([inside.sketch.mass[name] for name in names])
    columns = {one: [inside.column(name, one) for name in names] for one in straight}
    taking_part = [
        (mass @ shape[columns[direction]]) ** 2 / sum(mass @ shape[at] ** 2 for at in columns.values())
        for shape in shapes
    ]
    return np.asarray(shapes[int(np.argmax(taking_part))])
