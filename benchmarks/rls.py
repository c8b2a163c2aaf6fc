"""One tick of the QR-RLS coupling, identification and adaption at once, against ``numpy.linalg.qr`` doing the same.

Two interface axes and nine harmonics make 36 unknowns: three rows of data are taken into two triangular factors at
every tick, and both are solved.  NumPy factorises each old factor with the new rows below it anew, which is what the
published algorithm prescribes.  Both must command the same drive.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.linalg
from report import Row, duration

from halfreal.couplings.harmonic.rls import HarmonicRls
from halfreal.couplings.harmonic.transfer import packed
from halfreal.kernels.block import Block, channels, names
from halfreal.kernels.loop import Loop

AXES, HARMONICS, STEP = 2, 9, 2e-4
SIZE = 2 * AXES * HARMONICS
OMEGA = 2 * np.pi * 62.5 * np.arange(1, HARMONICS + 1)
MEMORY, LEARNING, PRIOR = 0.2, 2.0, 0.25
TICKS, NUMPY_TICKS, TURNS = 20_000, 500, 9
SAME = 1e-10
"""Largest difference of the drives, relative to the largest."""


def signals_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    row = int(s.tick) % p.rows.shape[0]
    for i in range(y.size):
        y[i] = p.rows[row, i]
    s.tick += 1.0
    return 0


def signals(rows: np.ndarray) -> Block:
    """Targets, measured displacements and the twin's, read from a table."""
    outputs = tuple(one for name in ("target", "measured", "twin") for one in channels(name, "m", AXES))
    return Block("signals", signals_step, (), outputs, parameters={"rows": rows}, state={"tick": 0.0})


def coupling(transfer: np.ndarray) -> Block:
    settings = HarmonicRls(
        base_frequency=62.5, harmonics=HARMONICS, memory=MEMORY, identification_memory=LEARNING, prior=PRIOR,
        regularisation=0.0, identification_prior=1.0,
    ).with_model(transfer)  # fmt: skip
    wires = [names(channels(name, "m", AXES)) for name in ("target", "measured", "twin")]
    return settings.block(STEP, "N", *wires)


class ByNumpy:
    """The same update with ``numpy.linalg.qr``; names as in ``halfreal.couplings.harmonic.rls``."""

    def __init__(self, transfer: np.ndarray) -> None:
        self.transfer = packed(transfer)
        self.then = self._sizes()
        weight = np.sqrt(PRIOR / STEP / (2 * AXES) * np.repeat(self.then, 2 * AXES))
        self.adaption = np.hstack([np.diag(weight), np.zeros((SIZE, 1))])
        self.known = np.hstack([np.eye(SIZE), self.transfer.T])
        self.theta = np.zeros(SIZE)
        self.forget, self.forget_known = np.exp(-0.5 * STEP / MEMORY), np.exp(-0.5 * STEP / LEARNING)

    def _sizes(self) -> np.ndarray:
        return (self.transfer.reshape(AXES, HARMONICS, -1) ** 2).sum(axis=(0, 2))

    @staticmethod
    def _turned(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
        """[Re z, −Im z] of z = x e^{jφ}, harmonic by harmonic, of one row or of several."""
        parts = x.reshape(*x.shape[:-1], HARMONICS, 2, AXES)
        z = (parts[..., 0, :] + 1j * parts[..., 1, :]) * np.exp(1j * angle)[:, None]
        return np.stack([z.real, -z.imag], axis=-2).reshape(x.shape)

    def tick(self, number: int, u: np.ndarray) -> np.ndarray:
        """The drive, from targets, measured displacements and the twin's."""
        angle = OMEGA * number * STEP
        before = self._turned(self.theta, angle)
        answer = u[AXES : 2 * AXES] - u[:AXES] + u[2 * AXES :]
        share = min(1.0, np.sqrt((self.then / self._sizes()).min()))
        rows = np.column_stack([self._turned(self.transfer, angle), u[2 * AXES :]])
        self.adaption = np.linalg.qr(np.vstack([self.forget * self.adaption, share * rows]), mode="r")[:SIZE]
        self.theta = scipy.linalg.solve_triangular(self.adaption[:, :SIZE], self.adaption[:, SIZE], check_finite=False)
        if np.any(before):
            row = np.concatenate([before, answer])
            self.known = np.linalg.qr(np.vstack([self.forget_known * self.known, row]), mode="r")[:SIZE]
            self.transfer = scipy.linalg.solve_triangular(
                self.known[:, :SIZE], self.known[:, SIZE:], check_finite=False
            ).T
        return self._turned(self.theta, angle).reshape(HARMONICS, 2, AXES)[:, 0].sum(axis=0)


def run(block: ByNumpy, rows: np.ndarray) -> np.ndarray:
    return np.array([block.tick(number, row) for number, row in enumerate(rows)])


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def rows() -> list[Row]:
    random = np.random.default_rng(1)
    transfer = random.normal(size=(HARMONICS, AXES, AXES)) + 1j * random.normal(size=(HARMONICS, AXES, AXES))
    table = random.normal(size=(512, 3 * AXES))
    source, update = signals(table), coupling(transfer)
    loop, alone = Loop([source, update], dt=STEP), Loop([source], dt=STEP)
    drive = [channel.name for channel in update.outputs[:AXES]]
    ours = loop.run(NUMPY_TICKS, record=drive).log[:, 1:]
    theirs = run(ByNumpy(transfer), table[:NUMPY_TICKS])
    difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not difference <= SAME:
        raise RuntimeError(f"the drives differ by {difference:.2g} of the largest, beyond {SAME:g}")
    turns = [
        (
            timed(lambda: loop.run(TICKS)),
            timed(lambda: alone.run(TICKS)),
            timed(lambda: run(ByNumpy(transfer), table[:NUMPY_TICKS])),
        )
        for _ in range(TURNS)
    ]
    both, source_alone, numpy = np.min(turns, axis=0)
    compiled, interpreted = (both - source_alone) / TICKS, numpy / NUMPY_TICKS
    return [
        Row(
            f"QR-RLS coupling, {SIZE} unknowns, one tick",
            duration(compiled),
            f"{100 * compiled / STEP:.1f} % of a step of 0.2 ms",
        ),
        Row("the same with numpy.linalg.qr", duration(interpreted), f"{interpreted / compiled:,.0f} × slower"),
    ]


if __name__ == "__main__":
    from report import show

    show(rows())
