"""The lumped example: a virtual oscillator, its twin, and a rig of an actuator with a specimen.

Tab. 1 of the paper on hybrid testing with adaptive feed-forward filters.  Z = k + s d + s²m;

    Z_v y_v = f − λ,    (Z_e + Z_a) y_e = u,    λ = Z_e y_e,    g = y_e − y_v = H_gu u + H_gext f

Everything is integrated by Newmark's method (¼, ½), which is the bilinear map of the continuous system.  A command of
tick k is the drive at tick k + 1, so that the gap of a tick comes from the command of the tick before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from halfreal.couplings.harmonic import coupling as harmonic
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.rls import HarmonicRls
from halfreal.kernels.block import Block, Channel, channels, names
from halfreal.kernels.loop import Loop
from halfreal.kernels.random import normal
from halfreal.models.excitations import silence
from halfreal.models.structures.structure import Structure

DT = 1e-3
VIRTUAL, SPECIMEN, ACTUATOR = (0.1, 0.05, 1000.0), (0.01, 0.05, 1000.0), (0.1, 1.0, 100.0)
"""Mass [kg], damping [N s/m], stiffness [N/m]."""


# two axes, made up: virtual substructure, specimen and actuators as M, C, K
TWO = tuple(
    np.array(part, dtype=float)
    for part in (
        [[[0.2, 0], [0, 0.1]], [[1.2, -0.4], [-0.4, 0.9]], [[3000, -1000], [-1000, 2000]]],
        [[[0.05, 0], [0, 0.03]], [[0.5, -0.1], [-0.1, 0.4]], [[900, -300], [-300, 700]]],
        [[[0.1, 0.02], [0.02, 0.1]], [[4, 0.5], [0.5, 4]], [[300, 50], [50, 300]]],
    )
)


def impedance(part: tuple[float, float, float], s: complex | np.ndarray) -> np.ndarray:
    mass, damping, stiffness = part
    return np.asarray(stiffness + s * damping + s**2 * mass)


def transfer(s: complex | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """H_gu and H_gext at a complex frequency."""
    virtual, specimen, actuator = (impedance(part, s) for part in (VIRTUAL, SPECIMEN, ACTUATOR))
    return (virtual + specimen) / (virtual * (specimen + actuator)), -1 / virtual


def bilinear(hz: float | np.ndarray, dt: float = DT) -> np.ndarray:
    """The complex frequency at which the continuous system is what Newmark's method makes of it at ``hz``."""
    return np.asarray(2j / dt * np.tan(np.pi * np.asarray(hz) * dt))


def seen(hz: float | np.ndarray, dt: float = DT) -> np.ndarray:
    """H_gu of the sampled loop, from a tick's command to its gap, (n_ω, 1, 1)."""
    hz = np.atleast_1d(hz)
    return (transfer(bilinear(hz, dt))[0] * np.exp(-2j * np.pi * hz * dt))[:, None, None]


def seen_by_two(hz: np.ndarray, dt: float = DT) -> np.ndarray:
    """The same of the example with two axes, (n_ω, 2, 2)."""
    found = []
    for frequency in hz:
        s = bilinear(frequency, dt)
        virtual, specimen, actuator = (part[2] + s * part[1] + s**2 * part[0] for part in TWO)
        through = (np.eye(2) + np.linalg.solve(virtual, specimen)) @ np.linalg.inv(specimen + actuator)
        found.append(through * np.exp(-2j * np.pi * frequency * dt))
    return np.array(found)


def excitation_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = y[1] = 0.0
    if t > p.start + 0.5 * p.dt:
        for i in range(p.omega.size):
            y[0] += np.cos(p.omega[i] * (t - p.start - p.dt))
    return 0


def excitation(hz: float | np.ndarray, start: float = 0.0, dt: float = DT) -> Block:
    """Σ cos(ω(t − start)) of 1 N each, from one step after ``start`` on, so that all is at rest in the step before."""
    return Block(
        "excitation",
        excitation_step,
        (),
        (Channel("excitation.virtual", "N"), Channel("excitation.virtual.rate", "N/s")),
        {"omega": 2 * np.pi * np.atleast_1d(np.asarray(hz, dtype=float)), "start": start, "dt": dt},
    )


def rig_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.x.size
    for i in range(n):
        s.x[i] += p.dt * s.v[i] + 0.25 * p.dt**2 * s.a[i]
        s.v[i] += 0.5 * p.dt * s.a[i]
        s.force[i] = u[i]
    for i in range(n):
        for j in range(n):
            s.force[i] -= p.stiffness[i, j] * s.x[j] + p.damping[i, j] * s.v[j]
    for i in range(n):
        s.a[i] = 0.0
        for j in range(n):
            s.a[i] += p.inverse[i, j] * s.force[j]
        s.x[i] += 0.25 * p.dt**2 * s.a[i]
        s.v[i] += 0.5 * p.dt * s.a[i]
    for i in range(n):
        y[i], y[n + i] = s.x[i], 0.0
        for j in range(n):
            y[n + i] += p.specimen[0, i, j] * s.a[j] + p.specimen[1, i, j] * s.v[j] + p.specimen[2, i, j] * s.x[j]
    return 0


def rig(command: tuple[str, ...], specimen: np.ndarray, actuator: np.ndarray, dt: float = DT) -> Block:
    """(Z_e + Z_a) y_e = u; writes y_e and λ.  Both parts are M, C, K, (3, n, n)."""
    n = len(command)
    mass, damping, stiffness = specimen + actuator
    zeros = np.zeros(n)
    return Block(
        "rig",
        rig_step,
        command,
        (*channels("measured.displacement", "m", n), *channels("measured.force", "N", n)),
        {
            "dt": dt,
            "damping": damping,
            "stiffness": stiffness,
            "inverse": np.linalg.inv(mass + 0.5 * dt * damping + 0.25 * dt**2 * stiffness),
            "specimen": specimen,
        },
        {"x": zeros, "v": zeros, "a": zeros, "force": zeros},
        frozen=("force",),
    )


def noisy_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        s.noise[i] = p.colour * s.noise[i] + p.noise * normal(p.seed, float(i), s.count)
        y[i] = u[i] + s.noise[i]
    s.count += 1.0
    return 0


def noisy(measured: tuple[str, ...], noise: float, colour: float = 0.0, seed: float = 1.0) -> Block:
    """Displacements with noise: white, or n⁺ = colour n + white."""
    outputs = channels("noisy", "m", len(measured))
    state = {"noise": np.zeros(len(measured)), "count": 0.0}
    parameters = {"noise": noise, "colour": colour, "seed": seed}
    return Block("noisy", noisy_step, measured, outputs, parameters, state, frozen=tuple(state))


def comb_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = 0.5 * (u[i] + s.before[i, 0])
        for k in range(s.before.shape[1] - 1):
            s.before[i, k] = s.before[i, k + 1]
        s.before[i, -1] = u[i]
    return 0


def comb(command: tuple[str, ...], deaf: float, dt: float = DT) -> Block:
    """Amplifiers that do not pass the frequency ``deaf``, half of whose period is a number of ticks."""
    before = np.zeros((len(command), round(0.5 / deaf / dt)))
    return Block("comb", comb_step, command, channels("passed", "N", len(command)), {}, {"before": before})


def matrices(part: tuple[float, float, float]) -> np.ndarray:
    """M, C, K of a part of the lumped example, (3, 1, 1)."""
    return np.array(part)[:, None, None]


def loop(
    coupling: Any,
    source: Block,
    dt: float = DT,
    virtual: np.ndarray | None = None,
    specimen: np.ndarray | None = None,
    actuator: np.ndarray | None = None,
    noise: float = 0.0,
    colour: float = 0.0,
    seed: float = 1.0,
    deaf: float | None = None,
) -> Loop:
    """A hybrid test of three components, each M, C, K, (3, n, n); those of the lumped example if left out.

    ``noise`` is that of the displacements that the coupling sees [m]; the rig does not hear the
    frequency ``deaf``.
    """
    virtual = matrices(VIRTUAL) if virtual is None else virtual
    n = virtual.shape[1]
    target, displacement, force, twin, command = (
        names(channels(name, "", n))
        for name in ("target", "measured.displacement", "measured.force", "twin", "command.asked")
    )
    structure = Structure(
        mass=virtual[0],
        damping=virtual[1],
        stiffness=virtual[2],
        interface=tuple(range(1, n + 1)),
        force_dof=1,
        scheme="newmark",
    )
    block = structure.block(dt, "force", force)
    phase = coupling.phase_block(dt, ("excitation.virtual", "excitation.virtual.rate"))
    return Loop(
        [
            source,
            silence("nothing"),
            block,
            harmonic.twin(block, force, "nothing"),
            *([noisy(displacement, noise, colour, seed)] if noise else []),
            *([phase] if phase else []),
            coupling.block(
                dt,
                "N",
                target,
                names(channels("noisy", "", n)) if noise else displacement,
                twin,
                ("excitation.phase",) if phase else (),
            ),
        ],
        outer=[
            *([comb(command, deaf, dt)] if deaf else []),
            rig(
                names(channels("passed", "", n)) if deaf else command,
                matrices(SPECIMEN) if specimen is None else specimen,
                matrices(ACTUATOR) if actuator is None else actuator,
                dt,
            ),
        ],
        dt=dt,
    )


def loop_of_two(coupling: Any, source: Block, noise: float = 0.0, deaf: float | None = None) -> Loop:
    return loop(coupling, source, DT, *TWO, noise=noise, deaf=deaf)


GAP = ("target", "measured.displacement")


def envelope(gap: np.ndarray, times: tuple[float, ...], dt: float = DT, window: float = 0.25) -> np.ndarray:
    """max |g| over the window that ends at each of the times."""
    ends = [round(time / dt) for time in times]
    return np.array([np.abs(gap[end - round(window / dt) : end]).max() for end in ends])


def learning_curve(coupling: Any, seconds: float, start: float = 0.0, hz: float = 8.0) -> np.ndarray:
    """Gap at every tick from ``start`` on, where the excitation sets in; the first entry is the step before it."""
    test = loop(coupling, excitation(hz, start))
    log = test.run(round((start + seconds) / DT) + 2, record=GAP).log
    return np.asarray((log[:, 2] - log[:, 1])[round(start / DT) + 1 :])


def drive_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = p.real * np.cos(p.omega * t) - p.imaginary * np.sin(p.omega * t)
    return 0


class Driven:
    """A drive ψ e^{jωt} that is known from the start, in place of a coupling."""

    def __init__(self, hz: float, psi: complex) -> None:
        self.parameters = {"omega": 2 * np.pi * hz, "real": psi.real, "imaginary": psi.imag}

    def phase_block(self, dt: float, excitation: tuple[str, str]) -> None:
        return None

    def block(self, dt: float, unit: str, *inputs: tuple[str, ...]) -> Block:
        return Block("coupling", drive_step, (), channels("command.asked", unit, 1), self.parameters)


def both_laws() -> dict[str, Loop]:
    """Loops of both laws while they identify and adapt; for counting allocations."""
    hz = np.array([8.0, 16.0])
    common: dict[str, Any] = {"frequencies": hz, "amplitude": 1.0, "identification_time": 0.5, "random_interval": 0.1}
    couplings = {
        "lms": HarmonicLms(**common, memory=5.0, identification_memory=1.0),
        "rls": HarmonicRls(**common),
    }
    return {name: loop_of_two(coupling, excitation(hz)) for name, coupling in couplings.items()}
