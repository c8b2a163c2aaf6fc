"""A specimen and a coupling of our own."""

import math


def friction_specimen(p, s, t, u, y):
    """Spring and Coulomb friction, smoothed over the velocity v0: f = k x + F tanh(x˙/v0)."""
    y[0] = p.k * u[0] + p.friction * math.tanh(u[1] / p.v0)
    return 0


def lead_coupling(p, s, t, u, y):
    """z + ρ z˙, the rate taken from the last two targets."""
    y[0] = u[0] + p.ahead * (u[0] - s.last) / p.dt
    s.last = u[0]
    return 0
