"""What a session shows its page, as plain values: the definition before the test, its status ten times a second."""

from __future__ import annotations

import math
import shutil
import time
from typing import Any

import numpy as np

from .. import units
from ..contracts.inside import Inside
from ..contracts.quantities import UNLIMITED
from ..definition.load import to_toml
from ..kernels.control import ROWS_READ
from ..kernels.modes import FINISHED, TRIPPED
from ..live.console import Operator
from ..live.session import Session
from ..live.view import Motion, status
from ..presentation.definitions import definition_sections, with_units
from ..runs.build import watch
from ..runs.events import cause_text
from ..runs.run import Accepted, Run, Stability

MOST_NODES = 500
"""Of a structure whose deformed shape is shown."""
DISK_EVERY = 1.0
"""Seconds between two looks at the disk and at the speed of recording."""


def finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def definition_told(title: str, definition: dict[str, Any], text: str, unattended: str) -> dict[str, Any]:
    """A test before it begins; ``definition`` is the normalised one."""
    sections = [
        [name, [list(entry) for entry in entries]] for name, entries in definition_sections(with_units(definition))
    ]
    return {"kind": "test", "title": title, "sections": sections, "text": text, "unattended": unattended}


def session_told(session: Session) -> dict[str, Any]:
    test = session.definition
    told = definition_told(test.title, test.model_dump(mode="json"), to_toml(test), test.real_time.unattended)
    return told | {"output": session.output.name, "releases": test.excitation.waits, "slow": test.slow is not None}


def judgement_told(run: Run) -> dict[str, Any]:
    """Verdict, reasons and margins of a check, as its rehearsal has them."""
    return {
        "kind": "check",
        "verdict": run.verdict,
        "reasons": list(run.reasons),
        "remedies": list(run.remedies),
        "margins": [] if run.stability is None else [list(one) for one in margins(run.stability)],
    }


def accepted_told(accepted: Accepted | None) -> dict[str, Any]:
    """The judgement on a run after its end: its word, and why; nothing where it was not judged."""
    if accepted is None:
        return {}
    computer = accepted.computer
    why = accepted.reasons if (accepted.test or accepted.word) != "ACCEPTED" else ()
    lines = [*filter(None, [accepted.text]), *why, *(() if computer is None else computer.details)]
    return {"word": accepted.word, "judged": lines}


def margins(found: Stability) -> list[tuple[str, str]]:
    inside, at = found.in_motion, "" if found.in_motion is None else " at rest"
    known = [
        (f"delay margin{at}", None if found.delay_margin is None else units.text(found.delay_margin, "s")),
        (f"phase margin{at}", None if found.phase_margin_deg is None else f"{found.phase_margin_deg:.3g}°"),
        (f"gain margin{at}", None if found.gain_margin_db is None else f"{found.gain_margin_db:.3g} dB"),
        (f"spectral radius{at}", f"{found.spectral_radius:.6f}"),
    ]
    if inside is not None:
        known += [
            ("in motion", inside.text),
            ("delay margin in motion", None if inside.delay_margin is None else units.text(inside.delay_margin, "s")),
            ("gain margin in motion", None if inside.gain_margin_db is None else f"{inside.gain_margin_db:.3g} dB"),
        ]
    return [(name, text) for name, text in known if text is not None]


def rows_told(session: Session) -> dict[str, Any]:
    """What the rows of an armed test are; the ring goes along."""
    _, layout = session.watched()
    loop = session.loop
    assert loop is not None
    names = layout["columns"]
    return {
        "kind": "rows",
        "step": session.definition.timing.step,
        "channels": [[channel.name, channel.unit] for channel in loop.channels],
        "watched": list(layout["watched"]),
        "watched_columns": [1 + names.index(name) for name in layout["watched"]],
        "texts": {
            name: {str(float(value)): text for value, text in table.items()} for name, table in layout["texts"].items()
        },
    }


def structure_told(inside: Inside) -> dict[str, Any]:
    """Where the nodes of a structure are at rest, on paper [m], and which of them are joined; once for each test."""
    from ..presentation.sketch import seen  # which draws with matplotlib

    sketch, place = inside.sketch, {name: i for i, name in enumerate(inside.sketch.nodes)}
    return {
        "kind": "structure",
        "nodes": np.round(seen(np.array(list(sketch.nodes.values()))), 6).tolist(),
        "members": [[place[node] for node in member.nodes] for member in sketch.members],
        "looks": [member.look for member in sketch.members],
        "supports": [place[name] for name, held in sketch.fixed.items() if held],
        "interface": [place[node] for node, _ in sketch.interface],
    }


def inside_shown(session: Session) -> Inside | None:
    """The inside of the test's virtual structure, if it has one that is small enough to be drawn again and again."""
    excitation = session.definition.excitation.virtual
    inside = session.definition.virtual.inside("none" if excitation is None else excitation.acts_as)
    return None if inside is None or len(inside.sketch.nodes) > MOST_NODES else inside


class StatusTeller:
    """The status of a session, again and again."""

    inside: Inside | None = None
    """Of a structure whose deformed shape is reported too."""

    def __init__(self, session: Session, operator: Operator) -> None:
        self._session, self._operator = session, operator
        self._progress: tuple[int, int] | None = None
        self._looked: tuple[float, int] = (-math.inf, 0)
        self._disk: dict[str, float] = {}

    def progress(self, done: int, total: int) -> None:
        self._progress = done, total

    def now(self) -> dict[str, Any]:
        """All that changes, as the page shows it."""
        session = self._session
        told: dict[str, Any] = {
            "kind": "status",
            "state": session.state,
            "asked": self._operator.asked,
            "progress": self._progress if session.checked is None else None,
            "notes": [[event.time, event.text] for event in session.remarks],
        }
        if session.loop is not None:
            told |= self._running()
        return finite(told)  # type: ignore[no-any-return]

    def _running(self) -> dict[str, Any]:
        session = self._session
        seen, loop = status(session), session.loop
        assert loop is not None
        value = {
            name: float(loop.vector[loop.index[name]]) for name in ("link.late", "link.lost") if name in loop.index
        }
        return {
            "time": seen.time,
            "left": seen.left,
            "rate": seen.rate,
            "mean_execution": seen.mean_execution,
            "max_execution": seen.max_execution,
            "p99_lateness": seen.p99_lateness,
            "max_lateness": seen.max_lateness,
            "overruns": seen.overruns,
            "stalls": seen.stalls,
            "age": seen.age,
            "late": value.get("link.late"),
            "lost": value.get("link.lost"),
            "released": seen.releases,
            "waiting_rows": seen.waiting_rows,
            "limits": limits(session),
            "cause": self._cause(),
            "motion": None if seen.motion is None else motion_told(seen.motion),
            "shape": self._shape(),
            **self._recorded(),
        }

    def _cause(self) -> str:
        loop = self._session.loop
        assert loop is not None
        guard = loop.state("guard")
        if float(guard["mode"]) not in (TRIPPED, FINISHED):
            return ""
        return self._session.with_origin(cause_text(self._session.definition, loop, float(guard["cause"])))

    def _shape(self) -> list[list[float]] | None:
        """Where the nodes have moved to from rest, on paper [m]."""
        inside, loop = self.inside, self._session.loop
        if inside is None or loop is None or "q" not in (loop.state("virtual").dtype.names or ()):
            return None
        from ..presentation.sketch import seen

        moved = np.reshape(inside.to_nodes @ loop.state("virtual")["q"], (-1, len(inside.directions)))
        return seen(moved[:, : inside.sketch.dimensions]).astype(np.float32).astype(float).tolist()  # type: ignore[no-any-return]

    def _recorded(self) -> dict[str, float]:
        """Bytes recorded a second, and bytes left on the disk."""
        now, (then, before) = time.monotonic(), self._looked
        if now - then >= DISK_EVERY:
            try:
                ring, _ = self._session.watched()
                rows = int(ring.words[ROWS_READ])
                rate = 0.0 if then < 0.0 else 8.0 * (1 + ring.channels) * (rows - before) / (now - then)
                free = float(shutil.disk_usage(self._session.output.absolute().parent).free)
                self._disk = {"record_rate": rate, "disk_left": free}
                self._looked = now, rows
            except OSError:
                self._disk = {}
        return self._disk


def motion_told(way: Motion) -> dict[str, Any]:
    """How a slow test is getting on; its end as it went so far."""
    left = (way.ticks - way.tick) * way.clock / way.tick if way.tick > 0 else None
    goal = ", ".join(units.text(x, unit) for x, unit in zip(way.goal, way.units, strict=True))
    return {"tick": way.tick, "ticks": way.ticks, "phase": way.phase, "speed": way.speed, "left": left, "goal": goal}


def limits(session: Session) -> list[dict[str, Any]]:
    """Each limited quantity on the axis that came closest: now, at most so far, and warning, as shares of its trip."""
    loop = session.loop
    assert loop is not None
    watched = watch(session.definition, loop)
    peaks, found = loop.state("guard")["peaks"].copy(), []
    for one, start in zip(watched, watched.starts.values(), strict=True):
        part = peaks[start : start + len(one)]
        if not (one.trip < UNLIMITED).any() or (one.quantity.timed and part.max() == 0.0):
            continue
        closest = int(np.argmax(part / one.trip))
        trip, warn, name = float(one.trip[closest]), float(one.warn[closest]), one.channels[closest]
        channel = name.replace("energy error", "energy.error")
        now = abs(float(loop.vector[loop.index[channel]])) / trip if channel in loop.index else None
        share = warn / trip if warn < UNLIMITED else None
        text = units.text(trip, one.units[closest])
        found.append({"name": name, "now": now, "peak": float(part[closest]) / trip, "warn": share, "trip": text})
    return sorted(found, key=lambda bar: -float(str(bar["peak"])))
