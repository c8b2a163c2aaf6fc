"""The nine criteria of the benchmark problem for real-time hybrid simulation.

C. E. Silva, D. Gomez, A. Maghareh, S. J. Dyke, B. F. Spencer, "Benchmark control problem for real-time hybrid
simulation", Mech. Syst. Signal Process. 135 (2020) 106381, in the order of its code and of its Table 3 (the text
numbers J₅ to J₇ differently).  With ‖a, b‖ = 100 std(a − b)/std(b) and |a, b| = 100 max|a − b|/max|b|, in percent:

==== ============================================ ====================================
J₁   lag of x behind y₁ in ms                     argmax_τ corr(x(t + τ), y₁(t))
J₂   ‖x, y₁‖                                      tracking, root mean square
J₃   |x, y₁|                                      tracking, peak
J₄   ‖x, r₁‖                                      floor 1, root mean square
J₅   |x, r₁|                                      floor 1, peak
J₆   ‖y₂, r₂‖                                     floor 2, root mean square
J₇   ‖y₃, r₃‖                                     floor 3, root mean square
J₈   |y₂, r₂|                                     floor 2, peak
J₉   |y₃, r₃|                                     floor 3, peak
==== ============================================ ====================================

x is the measured displacement with its noise, y the floors of the numerical part (y₁ is the target), r those of the
reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..contracts.criteria import Criteria
from ..errors import HalfrealError

if TYPE_CHECKING:
    from ..runs.run import Run

LAGS = 50
"""Lags tried for J₁: 0 … 49 samples."""
NAMES = tuple(f"J{i}" for i in range(1, 10))
UNITS = {"J1": "ms", **dict.fromkeys(NAMES[1:], "%")}
FLOORS = ("target", "virtual.floor 2", "virtual.floor 3")
"""Channels of the frame's floors, of the test and of the reference."""
MEASURED = "measured.displacement"


class VrthsCriteria(Criteria):
    """The nine criteria of the vRTHS benchmark: J1 in ms, J2 to J9 in %, of a frame whose upper floors are named."""

    kind: Literal["vrths"] = "vrths"

    @property
    def units(self) -> Mapping[str, str]:
        return UNITS

    def score(self, run: Run, reference: Run | None) -> Mapping[str, float]:
        return score(run, reference)


def score(run: Run, reference: Run | None) -> dict[str, float]:
    """J₁ … J₉ of a run and the emulated system."""
    if reference is None:
        raise HalfrealError("criteria 'vrths' compare with the emulated system; give a section [reference]")
    for record, names in ((run, (MEASURED, *FLOORS)), (reference, FLOORS)):
        missing = [name for name in names if name not in record.signals]
        if missing:
            raise HalfrealError(
                f"criteria 'vrths' need the signal '{missing[0]}'; they are for one axis and a virtual substructure "
                'with the responses "floor 2" and "floor 3" (virtual.responses), all on record (record.channels)'
            )
    floors, due = (np.array([one.signals[name].values for name in FLOORS]).T for one in (run, reference))
    found = criteria(run.signals[MEASURED].values, floors, due, float(run.time[1] - run.time[0]))
    return dict(zip(NAMES, found.tolist(), strict=True))


def criteria(measured: np.ndarray, floors: np.ndarray, reference: np.ndarray, dt: float) -> np.ndarray:
    """J₁ [ms] and J₂ … J₉ [%] from x (n,), y (n, 3) and r (n, 3)."""
    if floors.shape != reference.shape or floors.shape != (len(measured), 3):
        raise ValueError(
            f"floors {floors.shape} and reference {reference.shape} where both must be ({len(measured)}, 3): one row "
            "for each sample of the measured displacement"
        )
    target, r1 = floors[:, 0], reference[:, 0]
    return np.array(
        [
            1e3 * dt * lag(measured, target),
            spread(measured, target),
            peak(measured, target),
            spread(measured, r1),
            peak(measured, r1),
            spread(floors[:, 1], reference[:, 1]),
            spread(floors[:, 2], reference[:, 2]),
            peak(floors[:, 1], reference[:, 1]),
            peak(floors[:, 2], reference[:, 2]),
        ]
    )


def lag(measured: np.ndarray, target: np.ndarray) -> int:
    """Samples by which ``measured`` follows best behind ``target``."""
    from scipy.fft import next_fast_len

    n = len(target)
    if n <= LAGS + 1:
        raise ValueError(f"{n} samples are too few for lags of up to {LAGS} samples; give a longer record")
    x, y = measured - measured.mean(), target - target.mean()
    left = n - np.arange(LAGS)
    # sums over x[k:] and y[:n − k] without adding up the whole record for every lag
    sums = [np.sum(a) - np.concatenate([[0.0], np.cumsum(a[: LAGS - 1])]) for a in (x, x**2, y[::-1], y[::-1] ** 2)]
    length = next_fast_len(n + LAGS, real=True)
    product = np.fft.irfft(np.fft.rfft(x, length) * np.fft.rfft(y, length).conj(), length)[:LAGS]
    spread_x, spread_y = sums[1] - sums[0] ** 2 / left, sums[3] - sums[2] ** 2 / left
    return int(np.argmax((product - sums[0] * sums[2] / left) / np.sqrt(spread_x * spread_y)))


def spread(value: np.ndarray, of: np.ndarray) -> float:
    """Standard deviation of the difference, in percent of that of ``of``."""
    return float(100.0 * np.std(value - of) / np.std(of))


def peak(value: np.ndarray, of: np.ndarray) -> float:
    """Largest difference, in percent of the largest value of ``of``."""
    return float(100.0 * np.max(np.abs(value - of)) / np.max(np.abs(of)))
