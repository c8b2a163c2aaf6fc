"""Frames by Newton's method as it stands in textbooks: dense matrices, every tangent renewed in every iteration.

It shares the elements with the code that runs, and nothing of its iteration.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from halfreal.models.frame.frame import Frame
from halfreal.models.frame.model import committed

MOST = 200


def shaken(frame: Frame, ground: np.ndarray, dt: float, within: float = 1e-13) -> np.ndarray:
    """Displacements at the interface, a row for each step, until the last correction is below a part of the largest
    displacement; one that makes things worse is halved."""
    by = frame.scheme.coefficients()
    loaded = frame.loaded("ground")
    model = loaded.model
    mass, damping = model.mass.toarray(), loaded.damping.matrix()
    n, late = model.dofs, 1.0 - by.alpha_f
    heavy = model.mass.diagonal() > 0.0
    per_v = by.gamma / (by.beta * dt)
    v_by_q = np.where(heavy | (np.abs(damping).sum(axis=1) > 0.0), per_v, 1.0 / dt)
    a_by_q = np.where(heavy, 1.0 / (by.beta * dt**2), 0.0)
    q, v, a, beyond = np.zeros(n), np.zeros(n), loaded.at_start()[0] * ground[0], np.zeros(n)
    found = [q]
    for before, load in pairwise(ground):
        force = loaded.on_inputs[0] * (late * load + by.alpha_f * before)

        def residual(x, q=q, v=v, a=a, beyond=beyond, force=force, model=model):
            new = q + dt * v + 0.5 * dt**2 * a + x, v + dt * a + v_by_q * x, a + a_by_q * x
            forces, tangents, states = model.forces(new[0], new[1], dt, per_v)
            left = force - mass @ ((1.0 - by.alpha_m) * new[2] + by.alpha_m * a)
            left -= damping @ (late * new[1] + by.alpha_f * v)
            left -= model.stiffness @ (late * new[0] + by.alpha_f * q) + late * forces + by.alpha_f * beyond
            return left, tangents - model.arrays["initial"], states, new, forces

        x = np.zeros(n)
        left, softer, states, new, forces = residual(x)
        for _ in range(MOST):
            tangent = model.tangent(softer).toarray()
            step = np.linalg.solve((1.0 - by.alpha_m) * mass * a_by_q + late * (damping * v_by_q + tangent), left)
            for _ in range(6):
                tried = residual(x + step)
                if np.linalg.norm(tried[0]) <= np.linalg.norm(left):
                    break
                step = 0.5 * step
            x, (left, softer, states, new, forces) = x + step, tried
            if np.abs(step).max() <= within * np.abs(new[0]).max():
                break
        else:
            raise AssertionError("Newton's method does not converge")
        q, v, a, beyond = new[0], new[1], np.where(heavy, new[2], 0.0), forces
        model = replace(model, states=committed(states))
        found.append(q)
    return np.array(found) @ loaded.displacement_outputs[:1].T
