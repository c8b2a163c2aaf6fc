"""Modal parameters of the assembled structure from the record of a hybrid test, and how well they are determined.

Responses to the virtual excitation (``identification/assembled_frf.py``), poles they have in common by least-squares
complex frequency (``complex_frequency.py``), and, next to each mode, what speaks for or against it:

- the 95 % intervals of its frequency and damping, of least squares with the noise that it leaves, which all responses
  may share (``refined_poles.py``); what is reported are these refined poles; a pole of noise is often lost on the way;
- whether it is in the models of all high orders, and in those that leave out one response after another, if there are
  three or more: a pole of noise is missing from some (``stabilisation.py``);
- the coherence within its half-power bandwidth, where several periods were recorded;
- after a pulse, the pole that least-squares complex exponentials (``complex_exponential.py``) find in the free decay;
- the pole of the linearised loop next to it, as the record gives it: that is what the test had, with the delay that
  its compensation left, and the estimator should find no other;
- whether a pole that the loop has not is made of others: what is quadratic in the motion, such as finite rotations, has
  in a decay of poles s_i and s_j the poles s_i + s_j and s_i + s̄_j; what is cubic, 3 s_i among others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from ..identification.assembled_frf import AssembledFRF, Band, band_of, frf_of_run
from ..identification.complex_exponential import lsce
from ..identification.complex_frequency import candidates, chosen, lscf, with_shapes
from ..identification.poles import ModalError, Poles
from ..identification.refined_poles import RefinedPoles, refined
from ..identification.stabilisation import Stabilisation
from ..runs.run import Run

LEAST_OUTPUTS = 3
"""Of which one after another is left out."""
NEXT = 0.03
"""Part of its frequency within which a pole found otherwise is reported next to a mode."""

MADE_OF = 0.01
"""Part of its size within which a pole is one made of others."""
DECAY_ORDERS = (None, 24, 40)
"""Of the recurrence of a free decay: the usual one, and higher ones, which bear more noise."""


@dataclass(frozen=True)
class Mode:
    """One mode, and what is known of it from elsewhere: (Hz, damping ratio), or None."""

    frequency_hz: float
    damping: float
    frequency_interval_hz: float
    """Half of the 95 % interval; NaN if the responses do not give it."""
    damping_interval: float
    orders: float
    """Share of the ten highest orders that have it."""
    others: float
    """Share of the models without one of the responses that have it."""
    coherence: float | None
    from_decay: tuple[float, float] | None
    of_loop: tuple[float, float] | None
    made_of: tuple[int, ...] = ()
    """Numbers, from 1, of the modes whose sum, difference or multiple it is, if the loop has no such pole."""

    @property
    def stays(self) -> bool:
        """In all models: those of the highest orders, those that leave a response out, and that of least squares."""
        return self.orders >= 1.0 and self.others >= 1.0 and math.isfinite(self.frequency_interval_hz)

    @property
    def doubtful(self) -> bool:
        return not self.stays or bool(self.made_of)


@dataclass(frozen=True)
class ModalAnalysis:
    """Responses, poles with shapes, and the modes as they are reported."""

    title: str
    responses: AssembledFRF
    lowest_hz: float
    highest_hz: float
    poles: Poles
    stabilisation: Stabilisation
    modes: tuple[Mode, ...]
    notes: tuple[str, ...]


def modal_analysis(
    run: Run,
    outputs: Sequence[str] | None = None,
    *,
    lowest_hz: float | None = None,
    highest_hz: float | None = None,
    order: int | None = None,
) -> ModalAnalysis:
    """Identify the modes of the assembled structure from a run.

    Parameters
    ----------
    run
        A run with a random or pulse excitation.
    outputs
        Channels to use; default: all responses.
    lowest_hz
        Lower end of the band.
    highest_hz
        Upper end of the band.
    order
        Highest model order of the stabilisation diagram.

    Returns
    -------
    ModalAnalysis
        Frequencies, damping ratios and shapes with intervals.
    """
    found = frf_of_run(run, outputs)
    band = band_of(found, lowest_hz, highest_hz, order)
    low, high = band["lowest_hz"], band["highest_hz"]
    fitted = found.displacements()
    orders = candidates(fitted.frequency_hz, fitted.values, **band)
    first = chosen(orders, fitted.frequency_hz, fitted.values, lowest_hz=low, highest_hz=high)
    better = _refined(found, first, low, high)
    poles = found.as_measured(with_shapes(better.poles, fitted.frequency_hz, fitted.values, low, high))
    diagram = Stabilisation.of(orders)
    decay, notes = _from_decay(found, len(poles.poles), high)
    of_orders = [diagram.share(complex(pole)) for pole in first.poles]
    of_others = left_out(fitted, first, band) if len(found.outputs) >= LEAST_OUTPUTS else of_orders
    loop = None
    if run.stability is not None:
        loop = np.column_stack([run.stability.frequency_hz, run.stability.damping])
    modes = tuple(
        Mode(
            float(frequency),
            float(ratio),
            float(better.frequency_hz[i]),
            float(better.damping[i]),
            of_orders[i],
            of_others[i],
            _coherence(found, float(frequency), float(ratio)),
            _next(decay, float(frequency), float(ratio)),
            _next(loop, float(frequency), float(ratio)),
        )
        for i, (frequency, ratio) in enumerate(zip(poles.frequency_hz, poles.damping, strict=True))
    )
    modes = told_apart(modes, poles.poles)
    return ModalAnalysis(run.title, found, low, high, poles, diagram, modes, (*found.notes, *notes))


def told_apart(modes: tuple[Mode, ...], poles: np.ndarray) -> tuple[Mode, ...]:
    """The modes, with what those are made of that the loop has not, of others that stay."""
    known = any(one.of_loop is not None for one in modes)
    own = [i for i, one in enumerate(modes) if one.stays and (one.of_loop is not None or not known)]
    made: list[tuple[tuple[int, ...], complex]] = [((i,), 3 * poles[i]) for i in own]
    for i, j in combinations_with_replacement(own, 2):
        made.append(((i, j), poles[i] + poles[j]))
        if i != j:
            made.append(((i, j), poles[j] + poles[i].conjugate()))
    found = []
    for k, one in enumerate(modes):
        near = [
            (abs(pole - poles[k]), of)
            for of, pole in made
            if k not in of and abs(pole - poles[k]) <= MADE_OF * abs(poles[k])
        ]
        if one.of_loop is None and near:
            one = replace(one, made_of=tuple(sorted({1 + i for i in min(near)[1]})))
        found.append(one)
    return tuple(found)


def _refined(found: AssembledFRF, first: Poles, low: float, high: float) -> RefinedPoles:
    """The poles as least squares have them, those that it loses as they were; in order of frequency as before."""
    spectra = found.spectra()
    if spectra is None:
        unknown = np.full(len(first.poles), np.nan)
        return RefinedPoles(first.poles, unknown, unknown)
    return refined(spectra.between(low, high), first.poles)


def left_out(found: AssembledFRF, poles: Poles, band: Band) -> list[float]:
    """The share of models without one response after another that have each of the poles."""
    n = len(found.outputs)
    sets = []
    for i in range(n):
        with suppress(ModalError):  # nothing stays: none of the modes is found
            sets.append(lscf(found.frequency_hz, np.delete(found.values, i, axis=0), **band).poles)
    diagram = Stabilisation((), tuple(sets))
    return [sum(one is not None for one in diagram.same(complex(pole))) / n for pole in poles.poles]


def _from_decay(found: AssembledFRF, count: int, highest_hz: float) -> tuple[np.ndarray | None, list[str]]:
    """Poles of the free decay after a pulse: as many as it supports, up to ``count``; and what is to be said."""
    if found.decays is None:
        return None, []
    for modes in range(count, 0, -1):
        for order in DECAY_ORDERS:
            if order is not None and order < 2 * modes:
                continue
            with suppress(ModalError):  # fewer modes, or a higher order, may do
                poles = lsce(found.decays, found.step, modes, order=order, highest_hz=highest_hz)
                rows = np.column_stack([poles.frequency_hz, poles.damping])
                fewer = f"the free decay supports {modes} of {count} modes; the others are too weak in it"
                return rows, [fewer] * (modes < count)
    seconds = found.decays.shape[1] * found.step
    return None, [
        f"the free decay of {seconds:.3g} s supports none of {count} modes: it is too short, or a channel too noisy; "
        "record longer, excite harder, or choose channels that move well (--channels)"
    ]


def _coherence(found: AssembledFRF, frequency_hz: float, damping: float) -> float | None:
    """Mean of the outputs within the half-power bandwidth, at least on the line next to the mode."""
    if np.all(np.isnan(found.coherence)):
        return None
    away = np.abs(found.frequency_hz - frequency_hz)
    return float(np.nanmean(found.coherence[:, away <= max(abs(damping) * frequency_hz, away.min())]))


def _next(poles: np.ndarray | None, frequency_hz: float, damping: float) -> tuple[float, float] | None:
    """The row (Hz, ratio) nearest to a mode in frequency and damping, if its frequency is near."""
    if poles is None or not len(poles):
        return None
    far = np.hypot(poles[:, 0] / frequency_hz - 1.0, poles[:, 1] - damping)
    row = poles[int(np.argmin(far))]
    return (float(row[0]), float(row[1])) if abs(row[0] / frequency_hz - 1.0) <= NEXT else None
