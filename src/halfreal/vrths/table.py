"""A scorecard of the benchmark problem as tables: CSV with every run, text for the terminal."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .criteria import NAMES
from .problem import FORCE_LIMIT, Score
from .published import WORST, other_results

HEADINGS = (
    "case", "motion", "coupling", "plant", "source", "J1 [ms]", *(f"{name} [%]" for name in NAMES[1:]), "floor [%]",
    "force [N]",
)  # fmt: skip


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

    @property
    def over(self) -> bool:
        """Whether the actuator's force was exceeded."""
        return self.force is not None and self.force > FORCE_LIMIT


def lines(scores: Sequence[Score]) -> list[Line]:
    """Each nominal run with what others found for it, and the worst of its perturbed plants with the same."""
    perturbed: dict[tuple[int, str, str], list[Score]] = {}
    for one in scores:
        if one.plant:
            perturbed.setdefault((one.case, one.motion, one.coupling), []).append(one)
    found: list[Line] = []
    for nominal in (one for one in scores if one.plant == 0):
        key = (nominal.case, nominal.motion, nominal.coupling)
        criteria = nominal.criteria if nominal.stable else None
        found.append(Line(*key, "here", criteria, nominal.floor, nominal.largest_force))
        found += [Line(*key, source, np.array(values)) for source, values in other_results(*key).items()]
        others = perturbed.get(key, [])
        if others:
            unstable = sum(not one.stable for one in others)
            stable = [one.criteria for one in others if one.stable]
            worst = np.max(stable, axis=0) if stable else None
            force = max(one.largest_force for one in others)
            found.append(Line(*key, f"worst of {len(others)}, {unstable} unstable", worst, None, force))
            known = WORST.get(nominal.coupling, {}).get(nominal.case) if nominal.motion == "El Centro" else None
            if known is not None:
                found.append(Line(*key, "problem's code, worst of 20", np.array(known)))
    return found


def write_csv(scores: Sequence[Score], path: Path) -> None:
    """Every run, and what others found for the nominal ones."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADINGS)
        for one in scores:
            found = [f"{value:.3f}" for value in one.criteria] if one.stable else ["unstable"] + [""] * 8
            key = (one.case, one.motion, one.coupling)
            writer.writerow([*key, one.plant, "here", *found, f"{one.floor:.3f}", f"{one.largest_force:.0f}"])
            for source, values in other_results(*key).items() if one.plant == 0 else ():
                writer.writerow([*key, 0, source, *values, "", ""])


def table(scores: Sequence[Score]) -> str:
    """All lines, for a terminal."""
    width = max([len(one.coupling) for one in scores] + [31])
    head = f"{'case':>4} {'coupling':<{width}} " + " ".join(f"{name:>6}" for name in NAMES) + "  floor   force"
    told, before = list[str](), ""
    for line in lines(scores):
        if line.motion != before:
            told += ["", line.motion, head]
            before = line.motion
        own = line.source == "here"
        name = f"{line.case:>4} {line.coupling:<{width}}" if own else f"{'':>4} {'  ' + line.source:<{width}}"
        numbers = f"{'unstable':<62}" if line.criteria is None else " ".join(f"{v:6.2f}" for v in line.criteria)
        floor = f"{line.floor:6.2f}" if line.floor is not None else " " * 6
        force = f" {line.force:6.0f}{'!' if line.over else ''}" if line.force is not None else ""
        told.append(f"{name} {numbers} {floor} {force}".rstrip())
    if any(line.over for line in lines(scores)):
        told += ["", f"! beyond the actuator's {FORCE_LIMIT:g} N"]
    return "\n".join(told[1:])


def summary(scores: Sequence[Score]) -> list[tuple[str, int, int, int, np.ndarray | None, np.ndarray | None]]:
    """Of each coupling: nominal runs, those unstable, perturbed ones unstable, least and largest criteria."""
    rows = []
    for name in dict.fromkeys(one.coupling for one in scores):
        of = [one for one in scores if one.coupling == name]
        nominal = [one for one in of if one.plant == 0]
        stable = np.array([one.criteria for one in nominal if one.stable])
        least, most = (stable.min(0), stable.max(0)) if len(stable) else (None, None)
        unstable = sum(not one.stable for one in nominal)
        rows.append((name, len(nominal), unstable, sum(not one.stable for one in of if one.plant), least, most))
    return rows
