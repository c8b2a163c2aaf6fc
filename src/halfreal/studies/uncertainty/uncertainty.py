"""How sure the verdict "stable" is when numbers of the definition are uncertain.

All uncertain numbers are drawn together by Latin hypercube sampling (M. D. McKay, R. J. Beckman, W. J. Conover, "A
comparison of three methods for selecting values of input variables in the analysis of output from a computer code",
Technometrics 21 (1979) 239–245, doi 10.2307/1268522), and the loop of every sample is linearised as it will run.  With
k of n samples unstable the probability of instability is k/n; its 95 % interval is that of C. J. Clopper and E. S.
Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934)
404–413, doi 10.1093/biomet/26.4.404, with quantiles B of the beta distribution

    B(2.5 %; k, n − k + 1)  to  B(97.5 %; k + 1, n − k)

which is on the safe side here, as a Latin hypercube scatters less than independent samples.  A search then continues
from the worst samples to the worst case within the ranges.  While the numbers are few, it starts at all corners of the
ranges too.  Where they are many, slopes at a point say which corner to go to, and the slopes there whether to continue:
that takes n + 1 loops for each corner where all of them would be 2ⁿ.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...definition.faults import DefinitionError
from ...definition.uncertainty import Parameter, parameters
from ...errors import HalfrealError
from ...figures import BAD, GOOD, QUIET, TARGET, new_figure, styled
from ...runs.alike import alike
from ...runs.rehearse import Progress
from ...summaries import Summarised
from ...two_processes import results
from .variation import Variation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIDENCE = 0.95
JOBS = 64
"""Into how many the samples are divided, for two processes to share."""
STARTS = 3
"""Local searches for the worst case."""
MOST_CORNERS = 6
"""Uncertain numbers up to which every corner of their ranges is tried."""
EVALUATIONS = 40
"""Loops that a local search may linearise for each uncertain number."""
STEP = 0.1
"""Part of a range over which slopes are taken, and size of the first simplex of a local search."""
WALKS = 4
"""Corners that slopes lead to from a start."""
LAST = 10
"""Loops for each uncertain number of the local search that follows, where they are many."""
REFUSED = 1e30
"""Represents the decay rate of a point that is not a valid definition: the search turns away from it."""


@dataclass(frozen=True, repr=False)
class UncertaintyStudy(Summarised):
    """What the samples and the search for the worst case found."""

    parameters: tuple[Parameter, ...]
    samples: np.ndarray
    """Values [SI], one row for each sample and one column for each uncertain number."""
    growth: np.ndarray
    """Growth rate of each sample's loop [1/s], unstable from 0 up; NaN for a sample that was refused."""
    refused: tuple[tuple[int, str], ...]
    """Samples that are not valid definitions, and why."""
    worst: Definition
    """The worst case found, as a definition of its own."""
    worst_values: dict[str, float]
    worst_growth: float
    evaluations: int
    """Loops linearised in all."""

    @property
    def judged(self) -> int:
        """Samples that are valid definitions."""
        return len(self.growth) - len(self.refused)

    @property
    def unstable(self) -> int:
        return int(np.sum(self.growth >= 0.0))

    @property
    def probability(self) -> float:
        """Part of the valid samples that are unstable."""
        return self.unstable / self.judged

    @property
    def confidence(self) -> tuple[float, float]:
        """Clopper and Pearson's 95 % interval of the probability of instability."""
        from scipy.stats import beta

        k, n, tail = self.unstable, self.judged, (1.0 - CONFIDENCE) / 2.0
        low = 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))
        high = 1.0 if k == n else float(beta.ppf(1.0 - tail, k + 1, n - k))
        return low, high

    @cached_property
    def influence(self) -> dict[str, float]:
        """Spearman's rank correlation of each uncertain number with the growth rate, the strongest first."""
        from scipy.stats import rankdata

        valid = ~np.isnan(self.growth)
        rates = _centred(rankdata(self.growth[valid]))
        found = {}
        for column, parameter in enumerate(self.parameters):
            ranks = _centred(rankdata(self.samples[valid, column]))
            size = np.linalg.norm(ranks) * np.linalg.norm(rates)
            found[parameter.place] = float(ranks @ rates / size) if size else 0.0
        return dict(sorted(found.items(), key=lambda item: -abs(item[1])))

    def summary(self) -> str:
        low, high = self.confidence
        place, correlation = next(iter(self.influence.items()))
        worst = ", ".join(
            f"{parameter.place} = {units.text(self.worst_values[parameter.place], parameter.unit)}"
            for parameter in self.parameters
        )
        state = "grows" if self.worst_growth >= 0.0 else "decays"
        text = (
            f"{self.unstable} of {self.judged} samples are unstable: probability {_percent(self.probability)} "
            f"(95 % confidence {_percent(low)} to {_percent(high)}); the worst case found {state} as "
            f"exp({self.worst_growth:.3g} t/s) at {worst}; {place} matters most (rank correlation {correlation:+.2f})"
        )
        if self.refused:
            text += f"; {len(self.refused)} sample(s) were no valid definitions, the first because {self.refused[0][1]}"
        return text

    @styled
    def plot(self) -> Figure:
        """Distribution of the growth rate, and the number that matters most."""
        figure = new_figure(9.0, 3.6)
        spread, scatter = figure.subplots(1, 2)
        _draw_distribution(spread, self)
        _draw_influence(scatter, self)
        return figure


def study_uncertainty(
    definition: Definition,
    samples: int = 1000,
    *,
    seed: int | None = None,
    on_progress: Progress | None = None,
) -> UncertaintyStudy:
    """Sample the uncertain parameters of a definition and search for the worst case.

    Parameters
    ----------
    definition
        The test.
    samples
        Number of samples.
    seed
        Random seed; default: that of the definition.
    on_progress
        Callback with (done, total), called while it works.

    Returns
    -------
    UncertaintyStudy
        Probability of instability, worst case, influence; ``plot()``.
    """
    uncertain = parameters(definition)
    if not uncertain:
        raise HalfrealError(
            "nothing in this definition is uncertain; give a section [uncertainty], such as "
            '"rig.actuator.delay" = { low = "8 ms", high = "11 ms" }'
        )
    from scipy.stats import qmc

    drawn = qmc.LatinHypercube(len(uncertain), seed=definition.timing.seed if seed is None else seed).random(samples)
    values = np.column_stack([p.quantile(drawn[:, column]) for column, p in enumerate(uncertain)])
    variation = Variation(definition, [p.place for p in uncertain])
    low, high = _ranges(uncertain)
    points = np.vstack([values, low + _corners(uncertain) * (high - low)])
    with alike():
        variation.expect(low, high)
        together = max(4, -(-samples // JOBS))

        def sampled(first: int) -> list[float | str]:
            """Growth rates of some points, or why one is refused; those before are done, or in other hands."""
            if on_progress is not None:
                on_progress(min(first, samples), samples)
            return [_growth_or_fault(variation, one) for one in points[first : first + together]]

        parts = results([partial(sampled, first) for first in range(0, len(points), together)])
        found = [one for part in parts for one in part]
        refused = [(row, one) for row, one in enumerate(found[:samples]) if isinstance(one, str)]
        rates = np.array([np.nan if isinstance(one, str) else one for one in found])
        growth = rates[:samples]
        if on_progress is not None:
            on_progress(samples, samples)
        if len(refused) == samples:
            why = refused[0][1]
            raise HalfrealError(f"none of {samples} samples is a valid definition: {why}; narrow the uncertainty")
        worst, rate, searched = _worst_case(variation, uncertain, points, rates)
    return UncertaintyStudy(
        parameters=uncertain,
        samples=values,
        growth=growth,
        refused=tuple(refused),
        worst=variation.at(worst),
        worst_values=dict(zip(variation.places, map(float, worst), strict=True)),
        worst_growth=rate,
        evaluations=len(points) + searched,
    )


def _growth_or_fault(variation: Variation, values: np.ndarray) -> float | str:
    try:
        return variation.growth(values)
    except DefinitionError as error:
        return str(error)


def _corners(uncertain: tuple[Parameter, ...]) -> np.ndarray:
    """All corners of the unit cube of the numbers, a row each; none where they are many."""
    count = len(uncertain)
    corners = list(itertools.product((0.0, 1.0), repeat=count)) if count <= MOST_CORNERS else []
    return np.array(corners).reshape(len(corners), count)


def _worst_case(
    variation: Variation, uncertain: tuple[Parameter, ...], values: np.ndarray, growth: np.ndarray
) -> tuple[np.ndarray, float, int]:
    """The point of largest growth rate within the ranges, that rate, and how many more loops it took to find it.

    ``values`` are those of the samples and then of ``_corners``, with the growth rate of each, NaN if it was refused.
    """
    from scipy.optimize import minimize

    low, high = _ranges(uncertain)
    count = 0

    def decay(part: np.ndarray) -> float:
        nonlocal count
        count += 1
        try:
            return float(np.clip(-variation.growth(low + part * (high - low)), -REFUSED, REFUSED))
        except DefinitionError:
            return REFUSED

    corners = _corners(uncertain)
    samples = len(values) - len(corners)
    worst = np.argsort(-growth[:samples])[: 2 * STARTS]
    found = [((values[row] - low) / (high - low), -growth[row]) for row in worst if np.isfinite(growth[row])]
    at_corners = np.where(np.isnan(growth), REFUSED, np.clip(-growth, -REFUSED, REFUSED))[samples:]
    found += zip(corners, at_corners, strict=True)
    found.sort(key=lambda item: item[1])
    starts, most = found[:STARTS], EVALUATIONS
    if len(uncertain) > MOST_CORNERS:
        found += [_to_a_corner(decay, point, rate) for point, rate in starts]
        starts, most = [min(found, key=lambda item: item[1])], LAST

    def descended(point: np.ndarray) -> tuple[np.ndarray, float, int]:
        best = minimize(
            decay,
            point,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * len(uncertain),
            options={
                "initial_simplex": _simplex(point),
                "maxfev": most * len(uncertain),
                "xatol": 1e-4,
                "fatol": 1e-6,
            },
        )
        return best.x, float(best.fun), int(best.nfev)

    before = count
    ends = results([partial(descended, point) for point, _ in starts])
    count = before + sum(evaluations for *_, evaluations in ends)
    found += [(end, rate) for end, rate, _ in ends]
    point, rate = min(found, key=lambda item: item[1])
    return low + point * (high - low), -rate, count


def _ranges(uncertain: tuple[Parameter, ...]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p.low for p in uncertain]), np.array([p.high for p in uncertain])


def _to_a_corner(decay: Callable[[np.ndarray], float], point: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
    """The corner of the unit cube that slopes lead to from ``point``, and on from there while the loop decays less."""
    for _ in range(WALKS):
        simplex = _simplex(point)[1:]
        slopes = np.array([decay(one) - rate for one in simplex]) / (simplex - point).sum(axis=1)
        corner = np.where(slopes < 0.0, 1.0, 0.0)
        reached = rate if np.array_equal(corner, point) else decay(corner)
        if reached >= rate:
            break
        point, rate = corner, reached
    return point, rate


def _simplex(point: np.ndarray) -> np.ndarray:
    """A simplex within the unit cube that starts at ``point`` and leads away from the nearer wall on every axis."""
    inward = np.where(point < 0.5, STEP, -STEP)
    return np.vstack([point, point + np.diag(inward)])


# --- figures ----------------------------------------------------------------------------------------------------------


def _draw_distribution(axes: Any, study: UncertaintyStudy) -> None:
    rates = np.sort(study.growth[np.isfinite(study.growth)])
    edges = np.histogram_bin_edges(rates, bins=min(60, max(10, int(2 * len(rates) ** (1 / 3)))))
    if rates[0] < 0.0 < rates[-1]:  # no bar may hold both stable and unstable samples
        width = edges[1] - edges[0]
        edges = np.arange(np.floor(rates[0] / width), np.ceil(rates[-1] / width) + 1) * width
    counts, _ = np.histogram(rates, edges)
    colours = [GOOD if edge < 0.0 else BAD for edge in edges[:-1]]
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colours, alpha=0.55, linewidth=0)
    axes.axvline(0.0, color="black", linewidth=0.9)
    axes.set(title="growth rate of the loop", xlabel="growth rate [1/s]   (below 0: stable)", ylabel="samples")
    beside = axes.twinx()
    beside.step(rates, np.arange(1, len(rates) + 1) / len(rates), where="post", color=TARGET)
    beside.set(ylim=(0.0, 1.02), ylabel="part of the samples below")
    beside.yaxis.label.set_color(TARGET)
    beside.grid(False)
    low, high = study.confidence
    axes.annotate(
        f"unstable: {_percent(study.probability)}\n95 %: {_percent(low)} … {_percent(high)}",
        (0.03, 0.96),
        xycoords="axes fraction",
        va="top",
        color=BAD if study.unstable else GOOD,
    )


def _draw_influence(axes: Any, study: UncertaintyStudy) -> None:
    place, correlation = next(iter(study.influence.items()))
    column = [parameter.place for parameter in study.parameters].index(place)
    parameter = study.parameters[column]
    scale, unit = units.of_axis(np.array([parameter.low, parameter.high]), parameter.unit)
    stable = study.growth < 0.0
    for part, colour, label in ((stable, GOOD, "stable"), (study.growth >= 0.0, BAD, "unstable")):
        if np.any(part):
            axes.plot(
                study.samples[part, column] * scale,
                study.growth[part],
                linestyle="none",
                marker="o",
                markersize=2.2,
                markeredgewidth=0,
                alpha=0.6,
                color=colour,
                label=label,
            )
    axes.plot(
        study.worst_values[place] * scale,
        study.worst_growth,
        marker="X",
        markersize=8,
        color="black",
        markeredgecolor="white",
        linestyle="none",
        label="worst case found",
    )
    axes.axhline(0.0, color="black", linewidth=0.9)
    axes.set(
        title=f"what matters most (rank correlation {correlation:+.2f})",
        xlabel=f"{place} [{unit}]",
        ylabel="growth rate [1/s]",
    )
    axes.margins(x=0.04)
    axes.legend(loc="best", markerscale=1.3)
    others = [f"{name} {value:+.2f}" for name, value in list(study.influence.items())[1:4]]
    if others:
        axes.annotate(
            "then " + ", ".join(others),
            (0.0, -0.19),
            xycoords="axes fraction",
            va="top",
            color=QUIET,
            fontsize=7.5,
        )


def _centred(ranks: np.ndarray) -> np.ndarray:
    return np.asarray(ranks - ranks.mean())


def _percent(part: float) -> str:
    return f"{100.0 * part:.3g} %"
