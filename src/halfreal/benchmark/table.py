"""A scorecard of a benchmark problem as tables: CSV with every run, text for the terminal."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .problem import Problem, Score


@dataclass(frozen=True)
class Line:
    """A line of a table: a nominal run, the worst of its perturbed plants, or what others found for it."""

    case: int
    motion: str
    coupling: str
    source: str
    """"here" for the nominal run."""
    criteria: np.ndarray | None
    """None if it was unstable."""
    floor: float | None = None
    force: float | None = None
    over: bool = False
    """Whether an actuator's force was exceeded."""


def headings(problem: Problem) -> tuple[str, ...]:
    """Of the table with every run."""
    values = (f"{name} [{unit}]" for name, unit in zip(problem.names, problem.units, strict=True))
    return ("case", "motion", "coupling", "plant", "source", *values, "floor [%]", "force [N]")


def lines(problem: Problem, scores: Sequence[Score]) -> list[Line]:
    """Each nominal run with what others found for it, and the worst of its perturbed plants with the same."""
    perturbed: dict[tuple[int, str, str], list[Score]] = {}
    for one in scores:
        if one.plant:
            perturbed.setdefault((one.case, one.motion, one.coupling), []).append(one)
    found: list[Line] = []
    for nominal in (one for one in scores if one.plant == 0):
        key = (nominal.case, nominal.motion, nominal.coupling)
        if nominal.bound:
            force = nominal.largest_force if np.isfinite(nominal.largest_force) else None
            over = nominal.largest_force > problem.force_limit
            found.append(Line(*key, nominal.coupling, nominal.criteria, None, force, over))
            continue
        criteria = nominal.criteria if nominal.stable else None
        floor = nominal.floor if np.isfinite(nominal.floor) else None
        over = nominal.largest_force > problem.force_limit
        found.append(Line(*key, "here", criteria, floor, nominal.largest_force, over))
        found += [Line(*key, source, np.array(values)) for source, values in problem.published(*key).items()]
        others = perturbed.get(key, [])
        if others:
            unstable = sum(not one.stable for one in others)
            stable = [one.criteria for one in others if one.stable]
            worst = np.max(stable, axis=0) if stable else None
            force = max(one.largest_force for one in others)
            told = f"worst of {len(others)}, {unstable} unstable"
            found.append(Line(*key, told, worst, None, force, force > problem.force_limit))
            known = problem.worst(*key)
            if known is not None:
                found.append(Line(*key, "problem's code, worst of 20", np.array(known)))
    return found


def write_csv(problem: Problem, scores: Sequence[Score], path: Path) -> None:
    """Every run, and what others found for the nominal ones."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(headings(problem))
        for one in scores:
            values = [number(value, 3) for value in one.criteria]
            found = values if one.stable else ["unstable"] + [""] * (len(values) - 1)
            key = (one.case, one.motion, one.coupling)
            last = (number(one.floor, 3), number(one.largest_force, 0))
            writer.writerow([*key, one.plant, "bound" if one.bound else "here", *found, *last])
            for source, known in problem.published(*key).items() if one.plant == 0 else ():
                writer.writerow([*key, 0, source, *(number(value, None) for value in known), "", ""])


def number(value: float, digits: int | None) -> str:
    """A number, empty where it is none."""
    if not np.isfinite(value):
        return ""
    return str(value) if digits is None else f"{value:.{digits}f}"


def table(problem: Problem, scores: Sequence[Score]) -> str:
    """All lines, for a terminal."""
    width = max([len(one.coupling) for one in scores] + [31])
    names = [problem.names[i] for i in problem.told]
    wide = [max(6, len(name)) for name in names]
    head = f"{'case':>4} {'coupling':<{width}} " + " ".join(f"{name:>{w}}" for name, w in zip(names, wide, strict=True))
    told, before, found = list[str](), "", lines(problem, scores)
    floors = any(line.floor is not None for line in found)
    head += (" floor [%]" if floors else "") + "  force [N]"
    for line in found:
        if line.motion != before:
            told += ["", line.motion, head]
            before = line.motion
        own = line.source == "here"
        name = f"{line.case:>4} {line.coupling:<{width}}" if own else f"{'':>4} {'  ' + line.source:<{width}}"
        numbers = f"{'unstable':<{sum(wide) + len(wide) - 1}}"
        if line.criteria is not None:
            values = [number(line.criteria[i], 2) for i in problem.told]
            numbers = " ".join(f"{value:>{w}}" for value, w in zip(values, wide, strict=True))
        floor = "" if not floors else " " * 10 if line.floor is None else f"{line.floor:10.2f}"
        force = f"  {line.force:9.0f}{'!' if line.over else ''}" if line.force is not None else ""
        told.append(f"{name} {numbers}{floor}{force}".rstrip())
    if any(line.over for line in found):
        told += ["", f"! beyond an actuator's {problem.force_limit:g} N"]
    return "\n".join(told[1:])


def summary(scores: Sequence[Score]) -> list[tuple[str, int, int, int, np.ndarray | None, np.ndarray | None]]:
    """Of each coupling: nominal runs, those unstable, perturbed ones unstable, least and largest criteria."""
    rows = []
    for name in dict.fromkeys(one.coupling for one in scores if not one.bound):
        of = [one for one in scores if one.coupling == name]
        nominal = [one for one in of if one.plant == 0]
        stable = np.array([one.criteria for one in nominal if one.stable])
        least, most = (stable.min(0), stable.max(0)) if len(stable) else (None, None)
        unstable = sum(not one.stable for one in nominal)
        rows.append((name, len(nominal), unstable, sum(not one.stable for one in of if one.plant), least, most))
    return rows
