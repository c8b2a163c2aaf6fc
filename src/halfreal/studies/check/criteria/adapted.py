"""Whether an adaptive loop has its margins with the coefficients that it reaches in the rehearsal, too, each held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .... import units
from ....contracts.finding import Finding, note
from ....runs.adapted import Adapted
from ..examined import Examined
from .acceptance import of_delay, of_gain, of_phase

AT_FIRST = "poles and margins hold at the coefficients of t = 0"


def adapted(examined: Examined) -> Iterable[Finding]:
    found = examined.adapted
    if not found:
        return
    if not any(one.moved for one in found):
        yield note(f"{AT_FIRST}; those reached in the rehearsal do not move the poles")
        return
    wrong = list(findings_on(examined, found)) if examined.stable else []
    if wrong and examined.learns:  # on its way there the loop is judged by what was tried
        wrong = list(findings_on(examined, found[-1:]))
    yield from wrong or [note(f"{AT_FIRST}; {smallest(found)}")]


def findings_on(examined: Examined, found: Sequence[Adapted]) -> Iterable[Finding]:
    """What is wrong with coefficients that are held: the loop is unstable, or its margins are too small."""
    unstable = [one for one in found if not one.linearisation.stable]
    if not unstable:
        yield from below_acceptance(examined, found)
        return
    worst = max(unstable, key=lambda one: one.linearisation.spectral_radius)
    radius = worst.linearisation.spectral_radius
    text = f"{AT_FIRST}; with those reached at t = {worst.time:.3g} s, held, it is {worst.linearisation.summary()}"
    yield Finding("no-go", text, radius, 1.0, name="stability with adapted coefficients", room=0.0)


def below_acceptance(examined: Examined, found: Iterable[Adapted]) -> Iterable[Finding]:
    """Margins below what is accepted, of each kind at the time at which it is smallest."""
    worst: dict[str, tuple[float, Finding]] = {}
    for one in found:
        if one.margin is None:
            continue
        stability = replace(examined.stability, linearisation=one.linearisation, margin=one.margin)
        definition = examined.definition
        for finding in (
            *of_gain(definition, one.margin),
            *of_phase(definition, stability, one.margin),
            *of_delay(definition, stability, one.margin),
        ):
            value = finding.value or 0.0
            if finding.name not in worst or value < worst[finding.name][0]:
                text = f"at the coefficients reached at t = {one.time:.3g} s: {finding.text}; {AT_FIRST}"
                worst[finding.name] = value, replace(finding, text=text, name=f"{finding.name}, adapted")
    return [finding for _, finding in worst.values()]


def smallest(found: Iterable[Adapted]) -> str:
    """The smallest margins at the times of the rehearsal, for people."""
    times = ", ".join(f"{one.time:.3g}" for one in found)
    known = [(one.time, one.margin) for one in found if one.margin is not None]
    if not known:
        radius = max(one.linearisation.spectral_radius for one in found)
        return f"at those reached at t = {times} s the largest spectral radius is {radius:.6f}"
    late, delay = min(known, key=lambda one: one[1].critical_delay)
    when, gain = min(known, key=lambda one: one[1].gain_margin_db)
    told = "any additional delay"
    if delay.critical_delay < float("inf"):
        told = f"{units.text(delay.critical_delay, 's', 3)} of additional delay (t = {late:.3g} s)"
    return (
        f"at those reached at t = {times} s the loop tolerates {told}, gain margin {gain.gain_margin_db:.3g} dB "
        f"(t = {when:.3g} s)"
    )
