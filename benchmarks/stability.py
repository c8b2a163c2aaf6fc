"""Delay margins of the spring–mass–damper loop: exact, on a frequency grid, and with a Padé delay in python-control.

The loop is L(s) = k_s/(m s² + c s + k); the exact critical delay is known in closed form (Wallace et al. 2005, Eqs. 11,
12), and each way's error is against it.  DDE-BIFTOOL is run under Octave if both are installed; if not, its row is left
out.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import Row, duration

import halfreal
from halfreal.contracts.state_space import StateSpace
from halfreal.stability.dde import DelaySystem, abscissa
from halfreal.stability.margins import delay_margin
from halfreal.studies.charts.chart import chart

M, C, K, KS = 2.2, 15.0, 2250.0, 2250.0
PADE = 8
GRID = 200_000
UNCOMPENSATED = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "uncompensated.toml"


def exact() -> float:
    """|L| = 1 and its phase, solved by hand for k_s = k."""
    omega_n, zeta = np.sqrt(K / M), C / (2 * np.sqrt(M * K))
    w = np.sqrt(2 - 4 * zeta**2)  # (w² − 1)² + 4ζ²w² = 1
    return float(np.arctan2(2 * zeta * w, w**2 - 1) / (w * omega_n))


def by_eigenvalues() -> float:
    loop = StateSpace(
        np.array([[0.0, 1.0], [-K / M, -C / M]]), np.array([[0.0], [1 / M]]), np.array([[KS, 0.0]]), np.zeros((1, 1))
    )
    return delay_margin(loop).critical_delay


def on_a_grid() -> float:
    """What a script does: |L| on a logarithmic grid, crossings by linear interpolation."""
    omega = np.geomspace(0.1, 1e4, GRID)
    s = 1j * omega
    loop = KS / (M * s**2 + C * s + K)
    size, phase = np.abs(loop), np.unwrap(np.angle(loop))
    at = np.flatnonzero((size[:-1] - 1) * (size[1:] - 1) < 0)
    share = (size[at] - 1) / (size[at] - size[at + 1])
    w = omega[at] + share * (omega[at + 1] - omega[at])
    lag = np.pi + phase[at] + share * (phase[at + 1] - phase[at])
    return float(np.min(np.mod(lag, 2 * np.pi) / w))


def with_pade() -> float:
    """Bisection on the closed loop's poles, the delay as a Padé approximation."""
    import control

    plant = control.tf([KS], [M, C, K])

    def stable(delay: float) -> bool:
        closed = control.feedback(plant * control.tf(*control.pade(delay, PADE)))
        return bool(np.all(closed.poles().real < 0))

    low, high = 1e-4, 5e-2
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def timed(function: Callable[[], object], turns: int) -> float:
    best = np.inf
    for _ in range(turns):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return float(best)


def rows() -> list[Row]:
    """Delay margins three ways, a point of the delay equation's spectrum, and the chart."""
    ways = {
        "exact delay margin, by eigenvalues": (by_eigenvalues, 50),
        f"the same on a grid of {GRID:,} frequencies": (on_a_grid, 10),
        f"the same by python-control, Padé delay of order {PADE}": (with_pade, 3),
    }
    seconds = {name: timed(function, turns) for name, (function, turns) in ways.items()}
    ours = next(iter(seconds.values()))
    found = []
    for name, (function, _) in ways.items():
        error = abs(function() - exact()) / exact()
        ratio = "" if seconds[name] == ours else f"{seconds[name] / ours:,.0f} × slower, "
        found.append(Row(name, duration(seconds[name]), f"{ratio}relative error {error:.1g}"))
    point = timed(lambda: abscissa(DelaySystem.second_order([[M]], [[C]], [[K]], [(9.4e-3, [[KS]], None, None)])), 200)
    found.append(Row("stability of one point of the delay equation", duration(point), "rightmost characteristic root"))
    found += biftool(point)
    test = halfreal.load(UNCOMPENSATED)
    drawn = timed(
        lambda: chart(
            test, ("rig.actuator.delay", 1e-3, 0.45), ("rig.specimen.stiffness", 1.0, K), (400, 400), continuous=True
        ),
        3,
    )
    met = "met" if drawn < 1.0 else "missed"
    return [*found, Row("stability chart, 400 × 400, all branches", duration(drawn), f"target below 1 s: {met}")]


def biftool(ours: float) -> list[Row]:
    """One point by DDE-BIFTOOL under Octave, where both are there."""
    script = """
    s = which('df_mthod'); if isempty(s), exit(3); end
    f = @(x,p) [x(2,1); -(2250*x(1,1) + 15*x(2,1) + 2250*x(1,2))/2.2];
    funcs = set_funcs('sys_rhs', f, 'sys_tau', @() 1, 'x_vectorized', false);
    st = struct('kind','stst','parameter',9.4e-3,'x',[0;0]); m = df_mthod('stst');
    p_stabil(funcs, st, m.stability); tic; for i=1:5, p_stabil(funcs, st, m.stability); end; printf('%.6f', toc/5);
    """
    if shutil.which("octave") is None:
        return []
    done = subprocess.run(["octave", "--quiet", "--eval", script], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return []
    seconds = float(done.stdout)
    return [Row("the same by DDE-BIFTOOL under Octave", duration(seconds), f"{seconds / ours:,.0f} × slower")]
