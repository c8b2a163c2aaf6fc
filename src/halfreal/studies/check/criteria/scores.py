"""Criteria of the test's own (section [criteria]): whether its rehearsal has them, and whether they are accepted."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, note, warning
from ....runs.scored import against_acceptance, without_scores
from ..examined import Examined


def scores(examined: Examined) -> Iterable[Finding]:
    definition = examined.definition
    if definition.criteria is None or not examined.sound:
        return
    run = examined.rehearsal
    if run.outcome != "completed":
        return
    limited = definition.acceptance.criteria
    for name, text, well in against_acceptance(definition.acceptance, run):
        if well:
            yield note(text)
            continue
        one = run.scores.get(name)
        value, unit = (None, "1") if one is None else (one.value, one.unit)
        least, most = limited[name].bounds(unit) if one is not None else (0.0, 0.0)
        limit = None if value is None else most if value > most else least
        yield Finding("marginal", text, value, limit, unit, name=f"accepted criterion {name}", room=0.0)
    others = {name: one for name, one in run.scores.items() if name not in limited}
    if others:
        shown = [f"{name} {one.value:.4g} {one.unit}".removesuffix(" 1") for name, one in others.items()]
        yield note(f"criteria of kind '{definition.criteria.kind}' in the rehearsal: {', '.join(shown)}")
    if (why := without_scores(run)) and not limited:
        yield warning(why)
