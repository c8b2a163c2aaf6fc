"""The judgement on a run after it has ended: did it come to its end, did the rig follow, was time kept?

It is next to the verdict of the check, which was given before: a test that was a GO may still have been run badly.
What rests on a model of the specimen, such as the fidelity, is no part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..definition.acceptance import Acceptance
from ..runs.judged_samples import compared, judged, since
from ..runs.measures import measures, worst
from ..runs.run import Accepted, Run
from ..runs.scored import against_acceptance


@dataclass(frozen=True)
class Finding:
    """One of the things that were looked at."""

    text: str
    well: bool


def accepted(
    run: Run,
    acceptance: Acceptance,
    counted: Mapping[str, float],
    ticks: float,
    identified: Sequence[tuple[str, bool]] = (),
) -> Accepted:
    """Judge a run.  ``counted`` are the counters of its loop by the end, and ``ticks`` how many it had: for those that
    are not on record.  ``identified``: what the rig was found to be while it ran, and whether that had been checked."""
    findings = [_outcome(run), *_synchronisation(run, acceptance.most("synchronisation"))]
    if run.definition.get("slow") is None:  # which waits for the rig at every tick
        for channel, name, what in (
            ("pace.overruns", "overruns", "not finished before the next was due"),
            ("link.late", "stale", "without a new measurement"),
        ):
            found = _in_test(run, channel)
            number, of = (counted[channel], ticks) if found is None else found
            findings.append(_share(number, of, name, what, acceptance.most(name)))
    findings += [Finding(text, well) for text, well in identified]
    if run.outcome == "completed":
        findings += [Finding(text, well) for _, text, well in against_acceptance(acceptance, run)]
    bad = tuple(one.text for one in findings if not one.well)
    return Accepted("NOT ACCEPTED", bad) if bad else Accepted("ACCEPTED", tuple(one.text for one in findings))


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
    beside = _beside(well, most, "synchronisation")
    return [Finding(f"synchronisation error {_percent(found.nrmse)}{axis}, {beside}", well)]


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
    beside = "" if most == np.inf else f", {_beside(well, most, name)}"
    return Finding(f"{number:.0f} of {ticks:.0f} ticks {what}: {_percent(share)}{beside}", well)


def _beside(well: bool, most: float, name: str) -> str:
    allowed = f"{_percent(most)} (acceptance.{name})"
    return f"at most {allowed}" if well else f"more than the allowed {allowed}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
