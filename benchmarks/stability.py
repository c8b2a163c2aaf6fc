"""Delay margins of the spring–mass–damper loop: exact, on a frequency grid, and with a Padé delay in python-control.

The loop is L(s) = k_s/(m s² + c s + k); the exact critical delay is known in closed form (Wallace et al. 2005, Eqs. 11,
12), and each way's error is against it.

Of delay equations the rightmost characteristic root is timed, certified by a count that none lies right of it.  Where
Octave is installed and DDE-BIFTOOL on its path (OCTAVE_PATH), its ``p_stabil`` is run on the same systems, in turn with
ours; it corrects its roots and checks their residuals.  If not, these rows are left out.
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
from halfreal.stability.dde import DelaySystem, roots
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
    found += rightmost()
    test = halfreal.load(UNCOMPENSATED)
    drawn = timed(
        lambda: chart(
            test, ("rig.actuator.delay", 1e-3, 0.45), ("rig.specimen.stiffness", 1.0, K), (400, 400), continuous=True
        ),
        3,
    )
    met = "met" if drawn < 1.0 else "missed"
    return [*found, Row("stability chart, 400 × 400, all branches", duration(drawn), f"target below 1 s: {met}")]


def systems() -> dict[str, DelaySystem]:
    """Systems of two, four and eight states with one, two and four delays."""
    rng = np.random.default_rng(1)
    found = {"2 states, 1 delay": DelaySystem([[1, 0], [0, M]], [[[0, 1], [-K, -C]], [[0, 0], [-KS, 0]]], [9.4e-3])}
    for states, delays in ((2, 4), (4, 2), (8, 1), (8, 4)):
        A = rng.standard_normal((delays + 1, states, states)) / np.sqrt(states)
        A[0] -= 2 * np.eye(states)
        found[f"{states} states, {delays} delay{'s' if delays > 1 else ''}"] = DelaySystem(
            np.eye(states), A, np.linspace(0.3, 1.0, delays)
        )
    return found


def structure(modes: int) -> DelaySystem:
    """Modes of 1 to 200 Hz in physical coordinates, two springs fed back late."""
    rng = np.random.default_rng(0)
    omega, q = 2 * np.pi * rng.uniform(1, 200, modes), np.linalg.qr(rng.standard_normal((modes, modes)))[0]
    p = rng.standard_normal((modes, 2)) / np.sqrt(modes)
    stiffness, damping = q @ np.diag(omega**2) @ q.T, q @ np.diag(0.02 * omega) @ q.T
    return DelaySystem.second_order(np.eye(modes), damping, stiffness, [(3e-3, 300 * p @ p.T, None, None)])


def certified(system: DelaySystem) -> None:
    """From the matrices on: a system keeps what was computed of it."""
    found = roots(DelaySystem(system.E, system.A, system.delays), most=1)
    assert found.complete_right_of < found.roots[0].real, "the rightmost root is not certified"


def rightmost() -> list[Row]:
    """The rightmost root, certified; by DDE-BIFTOOL too, where it is there, in turn: the best of 25 turns each."""
    found, octave = [], Biftool.start()
    for name, system in systems().items():
        certified(system)
        if octave:
            octave.define(system)
        turns = []
        for _ in range(25):
            certified(system)  # warm again
            start = time.perf_counter()
            for _ in range(5):
                certified(system)
            turns.append(((time.perf_counter() - start) / 5, octave.seconds() if octave else np.nan))
        ours, theirs = np.min(turns, axis=0)
        found.append(Row(f"rightmost root of a delay equation, certified, {name}", duration(ours), ""))
        if octave:
            found.append(
                Row("the same by DDE-BIFTOOL under Octave", duration(theirs), f"{theirs / ours:,.0f} × slower")
            )
    if octave:
        octave.process.kill()
    large = structure(128)
    certified(large)
    seconds = timed(lambda: certified(large), 5)
    met = "met" if seconds < 1.0 else "missed"
    name = "rightmost root of a structure of 256 states, certified"
    return [*found, Row(name, duration(seconds), f"target below 1 s: {met}")]


class Biftool:
    """DDE-BIFTOOL in an Octave that is kept running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @classmethod
    def start(cls) -> Biftool | None:
        """None if it is not there."""
        if shutil.which("octave") is None:
            return None
        command = ["octave", "--quiet", "--no-gui"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        here = cls(subprocess.Popen(command, text=True, **pipes))  # type: ignore[call-overload]
        return here if here.ask("printf('%d\\n', isempty(which('p_stabil')));") == "0" else None

    def ask(self, script: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(script + " fflush(stdout);\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def define(self, system: DelaySystem) -> None:
        A = np.linalg.solve(system.E, system.A)
        count, n = len(A), A.shape[1]
        numbers = " ".join(repr(float(v)) for v in A.transpose(0, 2, 1).ravel())
        delays = " ".join(repr(float(v)) for v in system.delays)
        self.ask(
            f"A = reshape([{numbers}], {n}, {n}, {count}); f = @(x,p) reshape(A, {n}, []) * x(:); "
            f"u = set_funcs('sys_rhs', f, 'sys_tau', @() 1:{count - 1}, 'x_vectorized', false); "
            f"u.sys_deri = @(x,p,nx,np,v) A(:,:,nx(1)+1); "
            f"st = struct('kind', 'stst', 'parameter', [{delays}], 'x', zeros({n}, 1)); m = df_mthod('stst'); "
            f"p_stabil(u, st, m.stability); disp('ready');"
        )

    def seconds(self) -> float:
        once = "p_stabil(u, st, m.stability);"
        return float(self.ask(f"{once} tic; for i=1:5, {once} end; printf('%.7f\\n', toc/5);"))
