"""A virtual substructure and a rig as users write them."""


def virtual(p, s, t, u, y):
    """A spring and a damper, c d˙ + k d = −f, by Euler's implicit rule."""
    s.d = (p.c * s.d - p.dt * u[2]) / (p.c + p.dt * p.k)
    y[0] = s.d
    return 0


def rig(p, s, t, u, y):
    """A spring that follows at once."""
    y[0] = u[0]
    y[1] = p.k * u[0]
    return 0


UNITS = {"peak": "mm"}


def score(run, reference):
    return {"peak": 1e3 * abs(run.signals["target"].values).max()}
