"""What a key of a definition means: ``halfreal info rig.actuator.delay``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ..definition.definition import Definition
from ..definition.described import inner_parts, settings_of
from ..definition.kinds import kind_of
from ..errors import HalfrealError
from ..settings import Settings


@dataclass(frozen=True)
class Found:
    """A part that a key leads to, and the kinds that were chosen on the way there."""

    part: type[Settings]
    kinds: tuple[str, ...] = ()


def explain(key: str) -> str:
    """The settings that a key may mean, by the kinds that have it; an error gives the nearest keys."""
    places, steps = [Found(Definition)], [step for step in key.strip().strip("[]").split(".") if step]
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        holding = [one for one in places if step in one.part.model_fields]
        if not holding:
            known = sorted({name for one in places for name in one.part.model_fields})
            raise HalfrealError(_unknown(key, step, steps[:number], known))
        if last:
            return "\n".join(_lines(key, step, holding))
        places = [
            Found(part, (*one.kinds, *filter(None, [kind_of(part)])))
            for one in holding
            for part in inner_parts(one.part, step)
        ]
        if not places:
            raise HalfrealError(f"'{'.'.join(steps[: number + 1])}' is a value and has no keys; remove '{step}'")
    raise HalfrealError("name a key, e.g. halfreal info rig.actuator.delay")


def _unknown(key: str, step: str, before: list[str], known: list[str]) -> str:
    near = difflib.get_close_matches(step, known, n=3, cutoff=0.6)
    where = f"in [{'.'.join(before)}]" if before else "at the top level of a definition"
    hint = f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(known)}"
    return f"'{key}' is neither a file nor a key: no '{step}' {where}; {hint}"


def _lines(key: str, step: str, holding: list[Found]) -> list[str]:
    """One paragraph for each different meaning, with the kinds that have it."""
    meanings: dict[tuple[str, str, str], list[str]] = {}
    for one in holding:
        setting = next((row for row in settings_of(one.part) if row.name == step), None)
        if setting is None:  # the kind itself
            meanings.setdefault(("text", "", "The kind of this part."), [])
            continue
        chosen = " / ".join(one.kinds)
        meanings.setdefault((setting.form, setting.default, setting.meaning), []).append(chosen)
    lines = [key]
    for (form, default, meaning), kinds in meanings.items():
        lines += [f"  {meaning}"] if meaning else []
        lines += [f"  value:   {form}", f"  default: {default or 'none'}"]
        named = [kind for kind in dict.fromkeys(kinds) if kind]
        lines += [f"  kinds:   {', '.join(named)}"] if named else []
        lines.append("")
    return lines[:-1]
