"""One step of a shaking table: controllers, valves, limits and the moving parts (equations: ``shaking_table.py``).

The state is x = (v…, v˙…, f…, u…, u˙…), and z = (x, drives…, stops…, e) gives the next one and the outputs at once.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.compile import kernel
from ..kernels.linear import multiply_add, set_to


@kernel
def strokes(pose, positions, directions, lengths, out):  # type: ignore[no-untyped-def]
    """Strokes for a pose; |reach| − ℓ is formed from |reach|² − ℓ², so that small ones keep their digits."""
    rx, ry, rz = pose[3], pose[4], pose[5]
    square = rx * rx + ry * ry + rz * rz
    first, second = 1.0 - square / 6.0, 0.5 - square / 24.0
    if square > 1e-6:
        angle = math.sqrt(square)
        first, second = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
    for i in range(out.size):
        px, py, pz = positions[i, 0], positions[i, 1], positions[i, 2]
        cx, cy, cz = ry * pz - rz * py, rz * px - rx * pz, rx * py - ry * px
        x = pose[0] + first * cx + second * (ry * cz - rz * cy)
        y = pose[1] + first * cy + second * (rz * cx - rx * cz)
        z = pose[2] + first * cz + second * (rx * cy - ry * cx)
        along = x * directions[i, 0] + y * directions[i, 1] + z * directions[i, 2]
        more = x * x + y * y + z * z + 2.0 * lengths[i] * along
        out[i] = more / (math.sqrt(more + lengths[i] * lengths[i]) + lengths[i])


@kernel
def small_product(a, x, y):  # type: ignore[no-untyped-def]
    """y = A x of a stored matrix, in plain loops: it compiles faster where a product is too small to matter."""
    for i in range(y.size):
        total = 0.0
        for j in range(x.size):
            total += a[j, i] * x[j]
        y[i] = total


@kernel
def piece(x, first, y):  # type: ignore[no-untyped-def]
    """y = x from ``first`` on."""
    for i in range(y.size):
        y[i] = x[first + i]


@kernel
def control(p, s):  # type: ignore[no-untyped-def]
    """Drives of the valves and forces of the end stops, into z; how many of them are at or beyond a limit."""
    saturated, drives = 0.0, s.x.size
    stops = drives + s.wanted.size
    for i in range(s.wanted.size):
        error = s.wanted[i] - s.reached[i]
        asked = (s.wanted[i] - s.before[i]) / p.h * s.started
        s.before[i] = s.wanted[i]
        drive = p.proportional * error + p.integral * s.sum[i] + p.derivative * (asked - s.speed[i])
        if abs(drive) > p.speed[i]:
            drive = math.copysign(p.speed[i], drive)
            saturated += 1.0
        else:  # no winding up while the valve is fully open
            s.sum[i] += p.h * error
        over, stop = abs(s.reached[i]) - p.stroke[i], 0.0
        if over > 0.0:
            stop = -math.copysign(p.stop[i] * over, s.reached[i])
            saturated += 1.0
        s.z[drives + i], s.z[stops + i] = drive, stop
    s.started = 1.0
    return saturated


@kernel
def relieve(p, s):  # type: ignore[no-untyped-def]
    """Keep forces within their limits, and outputs in step with them; how many were beyond."""
    saturated, forces, outputs = 0.0, 2 * p.force.size, s.x.size
    for i in range(p.force.size):
        force = s.next[forces + i]
        if abs(force) > p.force[i]:
            s.next[forces + i] = math.copysign(p.force[i], force)
            saturated += 1.0
            for k in range(p.by_force.shape[1]):
                s.next[outputs + k] += p.by_force[i, k] * (s.next[forces + i] - force)
    return saturated


@kernel
def fight(redundant, x, total):  # type: ignore[no-untyped-def]
    """Internal force of actuators against each other, whose integrals are kept from winding up so."""
    m, square = total.size, 0.0
    for k in range(redundant.shape[0]):
        strained, wound = 0.0, 0.0
        for i in range(m):
            strained += redundant[k, i] * x[2 * m + i]
            wound += redundant[k, i] * total[i]
        for i in range(m):
            total[i] -= wound * redundant[k, i]
        square += strained * strained
    return math.sqrt(square)


def shaking_table_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, m, size = p.axes.size, p.force.size, s.x.size
    first = 3 * m  # of the pose in the state; its rate stands as far behind as there are coordinates
    set_to(0.0, s.pose)
    for i in range(n):
        s.pose[np.int64(p.axes[i])] = u[i]
    if p.finite == 1.0:
        strokes(s.pose, p.positions, p.directions, p.lengths, s.wanted)
    else:
        small_product(p.modal, s.pose, s.wanted)
    piece(s.x, first, s.pose)
    piece(s.x, first + (size - first) // 2, s.rate)
    strokes(s.pose, p.positions, p.directions, p.lengths, s.reached)
    small_product(p.modal, s.rate, s.speed)
    for i in range(size):
        s.z[i] = s.x[i]
    saturated = control(p, s)
    s.z[size + 2 * m] = u[n]
    set_to(0.0, s.next)
    multiply_add(p.transition, s.z, s.next)  # state and outputs in one product
    saturated += relieve(p, s)
    piece(s.next, 0, s.x)
    piece(s.x, first, s.pose)
    strokes(s.pose, p.positions, p.directions, p.lengths, s.reached)
    if p.finite == 0.0:  # strokes are read as those of a small motion
        small_product(p.inverse, s.reached, s.pose)
    for i in range(n):
        y[i] = s.pose[np.int64(p.axes[i])]
        y[n + i] = s.next[size + i]
    for i in range(m):
        y[2 * n + i] = s.x[2 * m + i]
        y[2 * n + m + i] = s.reached[i]
    own = 2 * n + 2 * m + 2  # responses of the specimen
    y[own - 2] = fight(p.redundant, s.x, s.sum)
    y[own - 1] = saturated
    for i in range(y.size - own):
        y[own + i] = s.next[size + n + i]
    return 0
