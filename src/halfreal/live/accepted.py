"""The judgement on a run after it has ended: did it come to its end, did the rig follow, was time kept?

It is next to the verdict of the check, which was given before: a test that was a GO may still have been run badly.
What rests on a model of the specimen, such as the fidelity, is no part of it.

Time is kept by two: the test, whose work must be done within a step, and the computer, which must let it.  Each is
judged by the stalls that it has caused.  With a simulated rig the computer's are no fault of the test: nothing real was
held up.  With a real rig a run is accepted only if both are as they should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import units
from ..definition.acceptance import Acceptance
from ..runs.judged_samples import compared, judged, since
from ..runs.measures import measures, worst
from ..runs.run import Accepted, Computer, Run, Stalls
from ..runs.scored import against_acceptance
from .time_kept import CAUSE_TEXT, EXPLAINED, TimeKept

ROUNDING = 1e-12
"""Periods are summed in nanoseconds."""
OF_TEST = "own work"
OF_RIG = "rig"
"""Stalls of a simulated rig, which runs on this computer or one like it, are the computer's."""
DOCTOR = "'halfreal doctor TEST.toml' examines the computer and lists what to change"
SIMPLIFY = "the work of a tick takes too long, or waits in a call: simplify it, or lengthen timing.step"


@dataclass(frozen=True)
class Finding:
    """One of the things that were looked at."""

    text: str
    well: bool


def accepted(
    run: Run,
    acceptance: Acceptance,
    kept: TimeKept | None,
    late: tuple[float, float],
    identified: Sequence[tuple[str, bool]] = (),
) -> Accepted:
    """Judge a run.

    ``kept`` is how its loop kept time, None of a slow test, which waits for the rig at every tick; ``late`` the number
    of ticks without a new measurement, and that of all, for where they are not on record; ``identified`` what the rig
    was found to be while it ran, and whether that had been checked.
    """
    findings = [_outcome(run), *_synchronisation(run, acceptance.most("synchronisation"))]
    computer, simulated = None, not run.rests_on_a_model
    if kept is not None:
        computers = [one for one in kept.stalls if one.cause != OF_TEST and (simulated or one.cause != OF_RIG)]
        tests = [one for one in kept.stalls if one not in computers]
        by = "the test's own work" if simulated else "the test's own work or its rig"
        findings += _time_findings(tests, kept, acceptance, f"held up by {by}")
        computer = _computer(computers, kept, acceptance)
        number, of = _in_test(run, "link.late") or late
        findings.append(_share(number, of, "stale", "without a new measurement", acceptance.most("stale")))
    findings += [Finding(text, well) for text, well in identified]
    if run.outcome == "completed":
        findings += [Finding(text, well) for _, text, well in against_acceptance(acceptance, run)]
    bad = tuple(one.text for one in findings if not one.well)
    unfit = computer is not None and computer.fit is False and not simulated
    return Accepted(
        "NOT ACCEPTED" if bad or unfit else "ACCEPTED",
        bad or tuple(one.text for one in findings),
        "NOT ACCEPTED" if bad else "ACCEPTED",
        computer,
    )


def _outcome(run: Run) -> Finding:
    why = f" ({run.reason})" if run.reason else ""
    return Finding(
        "the test completed" if run.outcome == "completed" else f"the test was not completed: {run.outcome}{why}",
        run.outcome == "completed",
    )


def _synchronisation(run: Run, most: float) -> list[Finding]:
    if most == np.inf:
        return []
    needed = ("target", compared(run).followed)
    missing = [name for name in needed if run.vector(name) is None]
    if missing:
        may = f"{_percent(most)} (acceptance.synchronisation)"
        text = f"the synchronisation error is not known (limit {may}): also record {' and '.join(missing)}"
        return [Finding(text, False)]
    found = worst(measures(run, since(run)), "synchronisation")
    target, followed = (np.asarray(run.vector(name)) for name in needed)
    if found is None or (not np.any(target) and np.all(np.isfinite(followed))):  # such as an excitation never released
        return [Finding("no motion was commanded", True)]
    axis = "" if len(run.interface) == 1 else f" on axis {found.axis}"
    well = bool(found.nrmse <= most)
    beside = _beside(well, most, "synchronisation", _percent(most))
    return [Finding(f"synchronisation error {_percent(found.nrmse)}{axis}{beside}", well)]


def _time_findings(stalls: Sequence[Stalls], kept: TimeKept, acceptance: Acceptance, what: str) -> list[Finding]:
    """Share of the ticks, longest stall and time lost; the latter two if there were any."""
    number = sum(one.count for one in stalls)
    found = [_share(number, kept.ticks, "overruns", what, acceptance.most("overruns"))]
    if number:
        longest, lost = max(one.longest for one in stalls), sum(one.lost for one in stalls)
        share, test = lost / max(kept.ticks * kept.period, kept.period), acceptance.most("time_lost")
        most = acceptance.most_stall(kept.period, kept.trip)
        for text, name, value, limit, shown in (
            (f"longest stall {_time(longest)}", "longest_stall", longest, most, _time(most)),
            (f"time lost {_time(lost)}, {_percent(share)} of the test", "time_lost", share, test, _percent(test)),
        ):
            well = bool(value <= limit + ROUNDING)
            found.append(Finding(f"{text}{_beside(well, limit, name, shown)}", well))
        if any(one.cause == OF_TEST for one in stalls) and not all(one.well for one in found):
            found.append(Finding(SIMPLIFY, False))
    return found


def _computer(stalls: Sequence[Stalls], kept: TimeKept, acceptance: Acceptance) -> Computer:
    """Whether the computer let the loop keep time."""
    rate = units.text(1.0 / kept.period, "Hz")
    findings = _time_findings(stalls, kept, acceptance, "held up by the computer")
    limited = [acceptance.most(name) for name in ("overruns", "time_lost")]
    limited.append(acceptance.most_stall(kept.period, np.inf))
    fit = None if min(limited) == np.inf else all(one.well for one in findings)
    word = "not judged: [acceptance] has no limits of time"
    if fit is not None:
        word = f"fit for {rate}" if fit else f"not fit for {rate}"
    if not stalls:
        return Computer(fit, f"kept time in all {kept.ticks:.0f} ticks; {word}", stalls=kept.stalls)
    number, longest = sum(one.count for one in stalls), _time(max(one.longest for one in stalls))
    times = f"once, for {longest}" if number == 1 else f"{number} times, up to {longest}"
    details = [_one_cause(one) for one in stalls]
    details += [*(one.text for one in findings if not one.well), *([] if fit else [DOCTOR])]
    return Computer(fit, f"held the loop up {times}; {word}", tuple(details), kept.stalls)


def _one_cause(stalls: Stalls) -> str:
    by = CAUSE_TEXT[stalls.cause]
    if stalls.cause in EXPLAINED:
        by += f" ({EXPLAINED[stalls.cause]})"
    return f"{stalls.count} by {by}, up to {_time(stalls.longest)}, {_time(stalls.lost)} in all"


def _in_test(run: Run, channel: str) -> tuple[float, float] | None:
    """How often something happened in the ticks of the test, and their number; None if it is not on record."""
    kept = np.flatnonzero(judged(run))
    signal = run.signals.get(channel)
    if signal is None or not kept.size:
        return None
    before = signal.values[kept[0] - 1] if kept[0] > 0 else 0.0
    ticks = round((run.time[kept[-1]] - run.time[kept[0]]) / run.step) + 1
    return float(signal.values[kept[-1]] - before), float(ticks)


def _share(number: float, ticks: float, name: str, what: str, most: float) -> Finding:
    share = number / max(ticks, 1.0)
    well = share <= most
    text = f"{number:.0f} of {ticks:.0f} ticks {what}: {_percent(share)}"
    return Finding(f"{text}{_beside(well, most, name, _percent(most))}", well)


def _beside(well: bool, most: float, name: str, shown: str) -> str:
    """The limit of a value, as shown; nothing where there is none."""
    if most == np.inf:
        return ""
    allowed = f"{shown} (acceptance.{name})"
    return f", at most {allowed}" if well else f", more than the allowed {allowed}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _time(seconds: float) -> str:
    return units.text(seconds, "s", 3)
