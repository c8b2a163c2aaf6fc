"""A specimen of our own: a spring that rubs."""

import math


def rubbing_spring(p, s, t, u, y):
    """Spring and Coulomb friction, smoothed over the velocity v0: f = k x + F tanh(x˙/v0)."""
    y[0] = p.k * u[0] + p.friction * math.tanh(u[1] / p.v0)
    return 0
