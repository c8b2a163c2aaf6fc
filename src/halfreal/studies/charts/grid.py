"""The zero line of a costly function of two numbers, found where it is and nowhere else.

The function is evaluated on a coarse lattice; cells whose corners differ in sign are quartered, and so are their
neighbours if a new corner turns out on the other side, down to the finest level.  On every finest edge with a change of
sign the zero is found by Brent's method, and the zeros are joined across cells to polylines (marching squares).
Elsewhere the function is interpolated linearly between the nodes and zeros there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ...runs.rehearse import Progress

COARSE = 24
"""Cells along each axis to begin with."""
LEVELS = 2
"""How often a cell is quartered."""
TOLERANCE = 1e-3
"""Accuracy of a zero along an edge, as a part of the edge."""

Node = tuple[int, int]
Edge = tuple[Node, Node]


@dataclass(frozen=True)
class ZeroLine:
    """Values on a fine grid (y, x), polylines of the zero line in lattice units 0 … 1, and evaluations made."""

    values: np.ndarray
    lines: list[np.ndarray]
    evaluations: int


def zero_line(
    function: Callable[[float, float], float],
    points: tuple[int, int],
    *,
    coarse: int = COARSE,
    levels: int = LEVELS,
    on_progress: Progress | None = None,
) -> ZeroLine:
    """Find the zero line of ``function`` on the unit square; NaN where it is not defined."""
    return _Search(function, coarse, levels, on_progress).run(points)


class _Search:
    def __init__(
        self, function: Callable[[float, float], float], coarse: int, levels: int, on_progress: Progress | None
    ) -> None:
        self.function, self.on_progress = function, on_progress
        self.finest = coarse * 2**levels
        """Finest cells along each axis: nodes are counted in these."""
        self.known: dict[Node, float] = {}
        self.evaluations = 0
        self.expected = (coarse + 1) ** 2
        size = 2**levels
        self.cells = {(i, j, size) for i in range(0, self.finest, size) for j in range(0, self.finest, size)}

    def run(self, points: tuple[int, int]) -> ZeroLine:
        for i, j, size in sorted(self.cells):
            for node in _corners(i, j, size):
                self.value(node)
        self.refine()
        segments = [segment for cell in sorted(self.cells) for segment in self.segments(*cell)]
        zeros: dict[Edge, np.ndarray] = {}
        self.expected = self.evaluations + 4 * len(segments)
        for edge in itertools.chain.from_iterable(segments):
            if edge not in zeros:
                zeros[edge] = self.zero(edge)
        lines = [np.array([zeros[edge] for edge in line]) for line in _joined(segments)]
        if self.on_progress is not None:
            self.on_progress(self.evaluations, self.evaluations)
        return ZeroLine(self.interpolated(points, zeros.values()), lines, self.evaluations)

    def evaluate(self, x: float, y: float) -> float:
        self.evaluations += 1
        if self.on_progress is not None:
            self.on_progress(min(self.evaluations, self.expected - 1), self.expected)
        return self.function(x, y)

    def value(self, node: Node) -> float:
        if node not in self.known:
            self.known[node] = self.evaluate(node[0] / self.finest, node[1] / self.finest)
        return self.known[node]

    def refine(self) -> None:
        while True:
            split = [cell for cell in self.cells if cell[2] > 1 and self.divided(*cell)]
            if not split:
                return
            self.expected = self.evaluations + 5 * len(split)
            for i, j, size in sorted(split):
                half = size // 2
                self.cells.remove((i, j, size))
                for k, m in ((i, j), (i + half, j), (i, j + half), (i + half, j + half)):
                    self.cells.add((k, m, half))
                    for node in _corners(k, m, half):
                        self.value(node)

    def divided(self, i: int, j: int, size: int) -> bool:
        """Whether the nodes known on a cell's rim lie on both sides."""
        along = range(size + 1)
        rim = [(i + k, j) for k in along] + [(i + k, j + size) for k in along]
        rim += [(i, j + k) for k in along] + [(i + size, j + k) for k in along]
        values = [self.known[node] for node in rim if node in self.known]
        return any(value >= 0.0 for value in values) and any(value < 0.0 for value in values)

    def segments(self, i: int, j: int, size: int) -> list[tuple[Edge, Edge]]:
        """Pieces of the zero line in a finest cell, each from one of its edges to another."""
        ring = _corners(i, j, size)
        values = [self.known[node] for node in ring]
        if size > 1 or any(np.isnan(values)):
            return []
        edges = [tuple(sorted((ring[k], ring[(k + 1) % 4]))) for k in range(4)]
        crossed = [k for k in range(4) if (values[k] >= 0.0) != (values[(k + 1) % 4] >= 0.0)]
        if len(crossed) == 4:  # a saddle: its centre shows which corners belong together
            centre = self.evaluate((i + 0.5) / self.finest, (j + 0.5) / self.finest)
            together = (centre >= 0.0) == (values[0] >= 0.0)
            pairs = [(0, 1), (2, 3)] if together else [(3, 0), (1, 2)]
        else:
            pairs = [(crossed[0], crossed[1])] if crossed else []
        return [(edges[first], edges[second]) for first, second in pairs]  # type: ignore[misc]

    def zero(self, edge: Edge) -> np.ndarray:
        from scipy.optimize import brentq

        start, end = (np.array(node) / self.finest for node in edge)
        ends = (self.known[edge[0]], self.known[edge[1]])

        def along(part: float) -> float:
            if part in (0.0, 1.0):
                return ends[int(part)]
            return self.evaluate(*(start + part * (end - start)))

        return np.asarray(start + brentq(along, 0.0, 1.0, xtol=TOLERANCE) * (end - start))

    def interpolated(self, points: tuple[int, int], zeros: Iterable[np.ndarray]) -> np.ndarray:
        """Values on a grid of nx × ny points over the square, (ny, nx), linear between all that is known."""
        # scipy's interpolator solves a system for every triangle, which takes minutes where BLAS has several threads
        from matplotlib.tri import LinearTriInterpolator, Triangulation

        nodes = np.array(list(self.known)) / self.finest
        values = np.array(list(self.known.values()))
        valid = ~np.isnan(values)
        grid = np.meshgrid(*(np.linspace(0.0, 1.0, count) for count in points))
        if not np.any(valid):
            return np.full(grid[0].shape, np.nan)
        found = np.array([*nodes, *zeros])
        heights = np.concatenate([np.where(valid, values, 0.0), np.zeros(len(found) - len(nodes))])
        defined = np.concatenate([valid, np.ones(len(found) - len(nodes), dtype=bool)])
        triangles = Triangulation(found[:, 0], found[:, 1])
        triangles.set_mask(~np.all(defined[triangles.triangles], axis=1))
        return np.asarray(LinearTriInterpolator(triangles, heights)(*grid).filled(np.nan))


def _corners(i: int, j: int, size: int) -> tuple[Node, Node, Node, Node]:
    """Corners in a ring."""
    return (i, j), (i + size, j), (i + size, j + size), (i, j + size)


def _joined(segments: list[tuple[Edge, Edge]]) -> list[list[Edge]]:
    """Segments that share an edge, joined to lines; a closed line ends where it begins."""
    beside: dict[Edge, list[Edge]] = {}
    for first, second in segments:
        beside.setdefault(first, []).append(second)
        beside.setdefault(second, []).append(first)
    lines = []
    ends = [edge for edge, others in beside.items() if len(others) == 1]
    for start in [*ends, *beside]:
        line = [start]
        while beside[line[-1]]:
            following = beside[line[-1]].pop()
            beside[following].remove(line[-1])
            line.append(following)
        if len(line) > 1:
            lines.append(line)
    return lines
