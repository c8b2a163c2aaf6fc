"""The procedure before a test, step by step, each on record: ``halfreal pretest``.

    channels → noise → polarity → identification → verification → check → run

A step is taken when all before it have passed, or were skipped by someone who gave the reason.  What was done is kept
next to the definition, with the SHA-256 of its text: where that has changed, the procedure begins again.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .. import __version__, units
from ..contracts.quantities import UNLIMITED
from ..definition.definition import Definition
from ..errors import HalfrealError
from ..identification.played_rig import measured_by_model
from ..identification.rig_record import rig_record
from ..links.controller_end import ControllerEnd
from ..links.driver import wired
from ..runs.build import watch
from ..runs.run import Run
from ..studies.identifying.identify import Identified
from .calibration import Calibration
from .driver_trial import Found, Verdict
from .session import PATIENCE

Step = Literal["channels", "noise", "polarity", "identification", "verification", "check", "run"]
STEPS: tuple[Step, ...] = get_args(Step)
SECONDS, OFFERS = 2.0, 200
"""Of an idle rig: seconds that its driver is read for, or answers that are requested of it over a link."""
OLD = 365
"""Days after which a calibration is too old."""
LOUD = 0.05
"""Part of its trip limit that the noise of a channel may be, as three times its r.m.s. value."""
LOUDER = 2.0
"""Times the noise of the model's sensor that a channel may have."""
PUSHED = 6.0
"""Times the noise that a channel must change by when it is loaded by hand."""
FAR = 0.1
"""Relative difference of a parameter from the model that is too far, where its interval does not hold the model."""
LEFT = 0.2
"""Part of what was measured that a model may leave."""
LOW_LEVEL = 0.01
"""Part of the command's trip limit that the low-level identification uses, as r.m.s. value."""


class PretestError(HalfrealError):
    """A step that cannot be taken."""


@dataclass
class Taken:
    """A step that was taken, or skipped."""

    step: str
    outcome: Literal["passed", "failed", "skipped"]
    at: str
    findings: list[str] = field(default_factory=list)
    reason: str = ""
    operator: str = ""
    files: list[str] = field(default_factory=list)


class Procedure:
    """What was done of a definition's procedure, kept in a file next to it."""

    def __init__(self, path: Path, text: str, title: str) -> None:
        self.file = path.with_suffix(".pretest.json")
        self._known: dict[str, Any] = {
            "title": title,
            "definition": path.name,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "halfreal": __version__,
        }
        self.taken: list[Taken] = []
        self.begun_anew = ""
        self._load()

    def _load(self) -> None:
        try:
            kept = json.loads(self.file.read_text(encoding="utf-8"))
            steps = [Taken(**one) for one in kept["steps"]]
            same = kept["sha256"] == self._known["sha256"]
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise PretestError(f"'{self.file}' cannot be read ({error}); move it away to start again") from error
        if same:
            self.taken = steps
        else:
            self.begun_anew = "the definition has changed: the procedure starts again"

    def state(self, step: Step) -> Taken | None:
        """How a step was taken last; None if it was not."""
        return next((one for one in reversed(self.taken) if one.step == step), None)

    def next(self) -> Step | None:
        """The first step that is neither passed nor skipped."""
        for step in STEPS:
            state = self.state(step)
            if state is None or state.outcome == "failed":
                return step
        return None

    def keep(
        self, step: Step, found: Sequence[Found], *, operator: str = "", files: Sequence[str] = (), failed: str = ""
    ) -> Taken:
        """Put a step that was taken on record; it has passed if nothing was bad."""
        bad = bool(failed) or any(one.verdict == "BAD" for one in found)
        lines = [f"{one.verdict}: {one.what}: {one.found}" for one in found]
        return self._put(Taken(step, "failed" if bad else "passed", _now(), lines, failed, operator, list(files)))

    def skip(self, step: Step, reason: str, operator: str = "") -> Taken:
        if not reason.strip():
            raise PretestError(f"'{step}' cannot be skipped without a reason; write --skip '{step}=the reason'")
        return self._put(Taken(step, "skipped", _now(), [], reason.strip(), operator))

    def _put(self, taken: Taken) -> Taken:
        self.taken.append(taken)
        text = json.dumps({**self._known, "steps": [asdict(one) for one in self.taken]}, indent=2, ensure_ascii=False)
        self.file.write_text(text + "\n", encoding="utf-8")
        return taken


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


# --- an idle rig ------------------------------------------------------------------------------------------------------


class Idle:
    """The measured channels of a rig that is not armed: of its driver on this computer, or over its link."""

    def __init__(self, definition: Definition) -> None:
        if definition.link is None:
            raise PretestError("the definition has no [link] to a rig; add one")
        self.definition = definition
        interface = definition.interface
        self.names = (
            *interface.channels("measured.displacement"),
            *interface.channels("measured.force"),
            *(channel.name for channel in definition.auxiliary_channels),
        )
        self.units = (
            *interface.units("m"),
            *interface.units("N"),
            *(channel.unit for channel in definition.auxiliary_channels),
        )
        self._calibration = Calibration(definition) if definition.link.needs_driver else None
        self._end = None if self._calibration is not None else ControllerEnd.connect(definition.link)

    def rows(self) -> np.ndarray:
        """Values one after another; the rig does not move."""
        if self._calibration is not None:
            return self._calibration.rows(self.names, SECONDS)
        test, end = self.definition, self._end
        assert end is not None and test.link is not None
        offers = (
            end.hello(test.virtual.axes, test.period, test.link.lease, PATIENCE, len(test.auxiliary))
            for _ in range(OFFERS)
        )
        return np.array([np.concatenate([one.displacement, one.force, one.auxiliary]) for one in offers])

    def close(self) -> None:
        for one in (self._calibration, self._end):
            if isinstance(one, Calibration):
                one.host.close()
            elif one is not None:
                one.close()


def channels(definition: Definition, rows: np.ndarray, idle: Idle, today: datetime.date) -> list[Found]:
    """Whether every channel gives numbers, and how old its calibration is."""
    found = []
    for name, unit, column in zip(idle.names, idle.units, rows.T, strict=True):
        lost = int(np.sum(~np.isfinite(column)))
        text = f"{lost} of {column.size} values are not finite" if lost else f"reads {units.text(column.mean(), unit)}"
        found.append(Found(name, text, "BAD" if lost else "good"))
    for name, one in definition.channels.inputs.items():
        if one.healthy is not None:
            continue
        if not one.calibrated:
            found.append(Found(f"calibration of {name}", "no date is given (calibrated)", "note"))
            continue
        age = (today - datetime.date.fromisoformat(one.calibrated)).days
        text = f"{one.calibrated}, {age} days ago; certificate {one.certificate or 'not given'}"
        found.append(Found(f"calibration of {name}", text, "BAD" if age < 0 or age > OLD else "good"))
    return found


def noise(definition: Definition, rows: np.ndarray, idle: Idle) -> list[Found]:
    """Noise of an idle rig against its limits, the sensors of the model and the resolution of its converters."""
    limits = {one.name: one.trip for one in watch(definition).entries}
    limits |= {name: units.given(one.trip, unit) for name, one, unit in _limited(definition) if one.trip is not None}
    bits = {f"measured.{one.measures}" for one in definition.channels.inputs.values() if one.healthy is not None}
    sensors, axes = definition.rig.known_sensors, definition.interface
    modelled = dict(zip(idle.names, [] if sensors is None else sensors.scatter(axes, 1.0), strict=False))
    steps = _resolutions(definition)
    found = []
    for name, unit, column in zip(idle.names, idle.units, rows.T, strict=True):
        if name in bits:
            continue
        size, limit = float(column.std()), limits.get(name, UNLIMITED)
        text = f"{units.text(size, unit)} r.m.s."
        if name in steps:
            text += f", {size / steps[name]:.3g} times its resolution"
        verdict: Verdict = "good"
        if limit < UNLIMITED:
            text += f", {100 * 3 * size / limit:.2g} % of its trip limit as three times that"
            verdict = "BAD" if 3.0 * size > LOUD * limit else "good"
        else:
            text += ", and it has no trip limit"
            verdict = "note"
        if size > LOUDER * (model := float(modelled.get(name, 0.0))) > 0.0:
            text += (
                f"; {size / model:.3g} times the {units.text(model, unit)} of the model, up to {LOUDER:g} are allowed: "
                "reduce it, or state it in rig.sensors, so that check and rehearsal have it"
            )
            verdict = "BAD"
        if size == 0.0:
            text, verdict = "it does not vary at all: a digital sensor at rest, or not connected", "note"
        found.append(Found(f"noise of {name}", text, verdict))
    return found


def _resolutions(definition: Definition) -> dict[str, float]:
    """Smallest steps of measured channels, where the channel table gives them."""
    if not definition.channels.inputs:
        return {}
    table = wired(definition)
    rows = zip(table.measured, table.inputs.values(), table.units, strict=True)
    return {name: abs(one.factor(unit)) * one.step for name, one, unit in rows if one.step > 0.0}


def _limited(definition: Definition) -> list[tuple[str, Any, str]]:
    known = {channel.name: channel.unit for channel in definition.auxiliary_channels}
    return [(name, one, known[name]) for name, one in definition.limits.channels.items() if name in known]


def polarity(definition: Definition, idle: Idle, ask: Callable[[str], bool]) -> list[Found]:
    """Every sensor loaded by hand in its positive direction; ``ask`` is false where that cannot be done."""
    bits = {f"measured.{one.measures}" for one in definition.channels.inputs.values() if one.healthy is not None}
    before = idle.rows()
    found = []
    for i, (name, unit) in enumerate(zip(idle.names, idle.units, strict=True)):
        if name in bits:
            continue
        if not ask(f"Load {name} by hand in its POSITIVE direction and hold it"):
            found.append(
                Found(
                    f"polarity of {name}", "could not be loaded by hand; to be verified by the identification", "note"
                )
            )
            continue
        change = float(idle.rows()[:, i].mean() - before[:, i].mean())
        size = float(before[:, i].std())
        text = f"changed by {units.text(change, unit)}"
        if abs(change) <= PUSHED * size:
            found.append(
                Found(f"polarity of {name}", f"{text}: not detectable, the noise is {units.text(size, unit)}", "BAD")
            )
        else:
            wrong = "; its polarity is reversed" if change < 0.0 else ""
            found.append(Found(f"polarity of {name}", text + wrong, "BAD" if change < 0.0 else "good"))
    return found


def low_level(definition: Definition) -> float:
    """Amplitude [m, r.m.s.] of the low-level identification where none is given."""
    trips = watch(definition)["command.asked"].trip
    if not np.all(trips < UNLIMITED):
        raise PretestError("there is no limits.command.trip to derive a low level from; give --amplitude, or a limit")
    return LOW_LEVEL * float(trips.min())


def moved_as_told(run: Any, names: Sequence[str]) -> list[Found]:
    """Whether command and displacement go the same way in a record."""
    found = []
    for name in names:
        command, measured = (run.signals[f"{signal}{name}"].values for signal in ("command", "measured.displacement"))
        going = np.abs(command - command.mean()) > 0.0
        if not going.any():
            continue
        share = float(np.corrcoef(command[going], measured[going])[0, 1])
        wrong = share < 0.0
        text = f"correlation of displacement with command {share:+.3f}"
        found.append(
            Found(
                f"direction{name}",
                text + ("; it moves in the WRONG DIRECTION" if wrong else ""),
                "BAD" if wrong else "good",
            )
        )
    return found


def predicted(definition: Definition, runs: Sequence[tuple[str, Run]]) -> list[Found]:
    """How much of what was measured the definition's model, as it is, does not give under the same commands."""
    lines = []
    axes = definition.interface
    for name, run in runs:
        record = rig_record(run, definition, name)
        model = measured_by_model(definition, record)
        measured = np.hstack([record.displacement, record.force])[: len(model)]
        kept = record.kept[: len(model)]
        channels_ = (*axes.channels("measured.displacement"), *axes.channels("measured.force"))
        for i, channel in enumerate(channels_):
            there = measured[kept, i]
            size = float(there.std())
            if size == 0.0:
                continue
            left = float(np.std(there - model[kept, i])) / size
            verdict: Verdict = "good" if left <= FAR else "note" if left <= LEFT else "BAD"
            lines.append(Found(f"{channel}, {Path(name).name}", f"the model leaves {100 * left:.2g} % of it", verdict))
    return lines


def verified(found: Identified) -> list[Found]:
    """How far the parameters that were identified are from those of the definition's model."""
    if found.fit is None:
        return [Found("model", "the rig has no parameters to identify", "note")]
    lines = []
    for one in found.fit.parameters:
        sought = one.sought
        if not one.determined:
            lines.append(Found(sought.name, f"not determined by the record: {one.why_not}", "note"))
            continue
        far = abs(one.value - sought.given)
        share = far / abs(sought.given) if sought.given else float("inf")
        inside = one.low <= sought.given <= one.high or far <= sought.smallest
        text = f"{sought.text(one.value)} ({sought.text(one.low)} to {sought.text(one.high)})"
        text += f", the model has {sought.text(sought.given)}"
        text += f": {100 * share:.2g} % away" if sought.given else f": {sought.text(far)} away"
        matters = sought.given != 0.0 or sought.is_delay  # a damping that the model leaves out may be small
        verdict: Verdict = "good" if inside or share <= FAR else "BAD" if matters else "note"
        lines.append(Found(sought.name, text, verdict))
    return lines
