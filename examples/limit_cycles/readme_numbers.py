"""What README.md tells."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gallery import Numbers, table
from study import DELAY, HERE, NAMES, described, rehearsed, said

import halfreal
from halfreal.studies import PeriodicMotion


@cache
def test_of(name: str) -> halfreal.Definition:
    return halfreal.load(HERE / f"{name}.toml")


@cache
def cycles(name: str) -> tuple[PeriodicMotion, ...]:
    return tuple(halfreal.limit_cycles(test_of(name)))


def mm(metres: float) -> str:
    return f"{1e3 * metres:#.3g} mm"


def row(name: str, number: int) -> list[str]:
    cycle, several = cycles(name)[number], len(cycles(name)) > 1
    known = described(name, test_of(name).rig.actuator.delay)
    below, above = (said(rehearsed(test_of(name), cycle, factor)[-1]) for factor in (0.97, 1.03))
    return [
        f"`{name}`" + (("", ", smaller", ", larger")[several + number] if several else ""),
        "–" if known is None else f"{mm(known[0])}, {known[1]:.4g} Hz",
        f"{mm(cycle.amplitude)}, {cycle.frequency_hz:.4g} Hz, {'stable' if cycle.stable else 'unstable'}",
        f"from 0.97 times {below}, from 1.03 times {above}",
    ]


def cycles_table() -> list[str]:
    head = ["cycle", "describing function", "here", "after 300 periods of free motion"]
    return table(head, (row(name, number) for name in NAMES for number in range(len(cycles(name)))))


def times_expected(name: str) -> str:
    """How many times the motion expected the smallest cycle is."""
    return f"{cycles(name)[0].amplitude / halfreal.forced_response(test_of(name)).amplitude:.2f} times"


def values() -> dict[str, str]:
    earlier = test_of("saturating_late").with_values({DELAY: 8e-3})
    (saturating,) = cycles("saturating_late")
    found = {
        "saturating cycle": f"{mm(saturating.amplitude)} at {saturating.frequency_hz:.2f} Hz",
        "yielding cycle": mm(cycles("hardening_yielding")[1].amplitude),
        "at 8 ms": mm(halfreal.limit_cycles(earlier)[0].amplitude),
    }
    for name in ("hardening", "hardening_yielding", "friction_late"):
        found[name] = mm(cycles(name)[0].amplitude)
    for name in ("hardening", "friction_late"):
        found[f"{name} times"] = times_expected(name)
    return found


def of_diagrams(images: Path) -> dict[str, str]:
    """Special points of the bifurcation diagrams, which it draws."""
    found = {}
    for name in ("saturating_late", "hardening", "hardening_yielding"):
        diagram = halfreal.continuation(test_of(name), DELAY, 3e-3, 15e-3, largest=30e-3)
        found[f"{name} Hopf"] = f"{1e3 * diagram.hopf[0].number:.4g} ms"
        for special in (special for branch in diagram.branches for special in branch.specials):
            found[f"{name} {special.kind}"] = f"{1e3 * special.number:.3g} ms and {mm(special.amplitude)}"
        if name != "hardening":
            diagram.plot().savefig(images / f"{name}.png")
    spare = 1e3 * (float(found["hardening Hopf"].split()[0]) * 1e-3 - test_of("hardening").rig.actuator.delay)
    return {**found, "hardening spare": f"{spare:.1f} ms"}


def make(images: Path, quick: bool) -> Numbers:
    return Numbers((), {"cycles": cycles_table()}, values() if quick else {**values(), **of_diagrams(images)})
