"""The lumped example varied: learning curves (the paper's Figs. 11 and 12) over many random draws, ten tones in time.

Every curve is a run of the definition's own loop.  The identification comes first, with the excitation silent; the
excitation sets in when it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import halfreal
from halfreal import build
from halfreal.contracts import Purpose
from halfreal.couplings import Harmonic, HarmonicLms, HarmonicRls
from halfreal.definition import Excitations
from halfreal.kernels import Block, Loop
from halfreal.models import Sine
from halfreal.runs import plant
from halfreal.safety import Limits

HERE = Path(__file__).parent
SECONDS, WINDOW = 60.0, 0.25
STEP = 1e-3
LEVEL = 1e-4
"""Of the gap [m], below which it counts as closed: 7 % of what it is without coupling."""
GAINS, FACTORS = (1.0, 10.0, 30.0, 100.0), (0.9, 0.99, 0.999, 0.9999)
"""The paper varies both over four values that it does not print."""
SEEDS = range(5, 21)
"""Draws by which gains are compared: not those on which the rule that chooses memories was settled."""
DRAWN = {"frequencies": [8.0], "random_interval": 2.0, "amplitude": 1.0}
"""Random drives of the identification, as in the paper: uniform within ±1 N, changed every 2 s."""
AS_PRINTED = {"regularisation": 0.0, "discount_overestimates": False}
"""Alg. 4 without the guards that are added here."""
CHOSEN = "chosen"


class Later(Sine):
    """A sine that sets in later."""

    begins: float = 0.0

    def block(self, name: str, shift: float = 0.0) -> Block:
        return super().block(name, shift - self.begins)


# --- learning curves --------------------------------------------------------------------------------------------------


def definition(coupling: Harmonic, step: float = STEP) -> halfreal.Definition:
    """The lumped example with this coupling and without limits, excited once the identification is over."""
    sine = Later(force=1.0, frequency=8.0, phase=np.pi / 2, begins=coupling.identification_time)
    known = halfreal.load(HERE / "lms.toml").with_values({"timing.step": step})
    return known.model_copy(update={"coupling": coupling, "excitation": Excitations(virtual=sine), "limits": Limits()})


def endless(coupling: Harmonic, step: float = STEP) -> Loop:
    return build(definition(coupling, step), Purpose(endless=True))


def learning_curve(coupling: Harmonic, seconds: float = SECONDS, step: float = STEP) -> tuple[np.ndarray, np.ndarray]:
    """Time since the end of the identification [s], and envelope of the gap [m] in windows of 0.25 s."""
    start = coupling.identification_time
    log = endless(coupling, step).run(round((start + seconds) / step), record=("target", "measured.displacement")).log
    gap = (log[:, 2] - log[:, 1])[round(start / step) :]
    length = round(WINDOW / step)
    windows = np.abs(gap[: len(gap) // length * length]).reshape(-1, length).max(axis=1)
    return WINDOW * np.arange(1, len(windows) + 1), windows


def strategies(identification: float, seed: int = 1) -> dict[str, dict[str, Harmonic]]:
    """Couplings by strategy and label; the last of each leaves its memories to be chosen."""
    common: dict[str, Any] = {**DRAWN, "identification_time": identification, "seed": seed}
    rls = {**common, "identification_forgetting": 0.99}
    return {
        "LMS": {
            **{f"μ = {mu:g}": HarmonicLms(**common, gain=mu, identification_gain=0.01) for mu in GAINS},
            CHOSEN: HarmonicLms(**common),
        },
        **{
            f"RLS, {mode}": {
                **{f"μ = {mu:g}": HarmonicRls(**rls, mode=mode, forgetting=mu) for mu in FACTORS},
                CHOSEN: HarmonicRls(**common, mode=mode),
            }
            for mode in ("sequential", "simultaneous")
        },
    }


def simultaneous(identification: float, seed: int, mu: float | None, **guards: Any) -> HarmonicRls:
    """RLS that identifies and adapts at once, with μ and μ_id = 0.99, or with chosen memories."""
    factors = {} if mu is None else {"forgetting": mu, "identification_forgetting": 0.99}
    return HarmonicRls(**DRAWN, **factors, **guards, identification_time=identification, seed=seed)


# --- many draws -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draws:
    """Envelopes of the gap [m] of all draws, (draws, windows)."""

    envelopes: np.ndarray

    @property
    def settled(self) -> np.ndarray:
        """Times [s] until the gap stays below the level, one for each draw; infinite if it does not."""
        time = WINDOW * np.arange(1, self.envelopes.shape[1] + 1)
        return np.array([settled(time, one) for one in np.nan_to_num(self.envelopes, nan=np.inf)])

    @property
    def never(self) -> int:
        return int(np.isinf(self.settled).sum())

    @property
    def unstable(self) -> int:
        """Draws whose gap is larger than 1 m at the end, or nothing finite."""
        return int(np.sum(~(self.envelopes[:, -1] < 1.0)))

    def at(self, seconds: float) -> np.ndarray:
        """The envelopes at a time [m]."""
        return np.asarray(self.envelopes[:, round(seconds / WINDOW) - 1])

    def __str__(self) -> str:
        """Median and worst; how many never settle, and without half of them no median."""
        count = len(self.envelopes)
        if self.unstable == count:
            return "unstable"
        if self.never == count:
            return "never"
        if not self.never:
            return f"{np.median(self.settled):.0f} s, worst {self.settled.max():.0f} s"
        median = float(np.median(self.settled))
        told = "" if np.isinf(median) else f"{median:.0f} s, "
        return f"{told}never in {self.never} of {count}"


def settled(time: np.ndarray, envelope: np.ndarray, level: float = LEVEL) -> float:
    """When the gap falls below a level [m] for good; infinite if it does not."""
    above = np.flatnonzero(~(envelope < level))
    return np.inf if above.size and above[-1] == len(time) - 1 else float(time[above[-1]]) if above.size else 0.0


def draws(make: Callable[[int], Harmonic], step: float = STEP) -> Draws:
    """Learning curves of all seeds; what has diverged so far that the loop stopped goes on as infinite."""
    found = np.full((len(SEEDS), round(SECONDS / WINDOW)), np.inf)
    for row, seed in zip(found, SEEDS, strict=True):
        envelope = learning_curve(make(seed), step=step)[1]
        row[: len(envelope)] = envelope
    return Draws(found)


@cache
def of_strategy(strategy: str, label: str, identification: float) -> Draws:
    return draws(lambda seed: strategies(identification, seed)[strategy][label])


@cache
def of_guards(identification: float, mu: float | None, as_printed: bool, step: float = STEP) -> Draws:
    guards = AS_PRINTED if as_printed else {}
    return draws(lambda seed: simultaneous(identification, seed, mu, **guards), step)


def estimates(coupling: Callable[[int], Harmonic]) -> np.ndarray:
    """H as identified over the true one, complex, one for each draw."""
    found = []
    for seed in SEEDS:
        one = coupling(seed)
        true = complex(plant(definition(one)).response(np.array([2 * np.pi * 8.0]))[0, 0, 0])
        loop = endless(one)
        loop.run(round(one.identification_time / STEP) + 1)
        real, imaginary = loop.state("coupling")["transfer"][0]
        found.append(complex(real, imaginary) / true)
    return np.array(found)


# --- where the adaption starts, and what the excitation leaves --------------------------------------------------------


@cache
def started(law: str, first_drive: str, excitation_gap: str = "twin") -> np.ndarray:
    """Envelope of the gap [m] with H of the model, by law ("LMS", "RLS") and first drive ("none", "model")."""
    if law == "LMS":
        coupling: Harmonic = HarmonicLms(transfer="model", first_drive=first_drive)
    else:
        coupling = HarmonicRls(transfer="model", first_drive=first_drive, excitation_gap=excitation_gap)
    return learning_curve(coupling)[1]


@cache
def specimen_excited() -> np.ndarray:
    """Envelope of the gap [m] of ``specimen_excited.toml`` from the end of its identification on."""
    test = halfreal.load(HERE / "specimen_excited.toml")
    log = build(test).run(test.timing.ticks, record=("target", "measured.displacement")).log
    gap = np.abs(log[:, 2] - log[:, 1])[round(test.coupling.identification_time / STEP) :]
    length = round(WINDOW / STEP)
    return gap[: len(gap) // length * length].reshape(-1, length).max(axis=1)


# --- ten tones in time ------------------------------------------------------------------------------------------------

TEN = 5.0 * np.arange(1, 11)
LAST = 40.0
"""Seconds at the end over which the tones are read."""


@dataclass(frozen=True)
class Tones:
    """A run with ten tones: time [s], envelope of the gap [m], and y_v/f at the tones."""

    time: np.ndarray
    gap: np.ndarray
    response: np.ndarray


@cache
def ten_tones(law: str = "RLS") -> Tones:
    """``ten_tones.toml`` with RLS, normalised LMS ("LMS"), or μ_c = 1 1/s for all tones ("LMS, μ_c = 1 1/s")."""
    test = halfreal.load(HERE / "ten_tones.toml")
    others = {
        "LMS": HarmonicLms(transfer="model"),
        "LMS, μ_c = 1 1/s": HarmonicLms(transfer="model", frequencies=TEN, gain=STEP),
    }
    loop = build(test.model_copy(update={"coupling": others.get(law, test.coupling), "limits": Limits()}))
    log = loop.run(test.timing.ticks, record=("excitation.virtual", "target", "measured.displacement")).log
    length = round(1.0 / STEP)
    gap = np.abs(log[:, 3] - log[:, 2])[: len(log) // length * length].reshape(-1, length).max(axis=1)
    last = log[log[:, 0] > log[-1, 0] - LAST]
    phase = 2 * np.pi * np.outer(last[:, 0], TEN)
    waves = np.hstack([np.cos(phase), -np.sin(phase)])
    found = np.linalg.lstsq(waves, last[:, 1:3], rcond=None)[0]
    amplitudes = found[: len(TEN)] + 1j * found[len(TEN) :]
    return Tones(1.0 + np.arange(len(gap)), gap, amplitudes[:, 1] / amplitudes[:, 0])
