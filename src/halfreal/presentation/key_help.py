"""What a key of a definition means: ``halfreal info rig.actuator.delay``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..definition.definition import Definition
from ..definition.described import inner_parts, settings_of
from ..definition.kinds import CONTRACTS, kind_of, kinds
from ..errors import HalfrealError
from ..settings import Settings
from .reference import summary

MOST_FOUND = 20
"""Keys that a search lists."""
DEEPEST = 4
"""Tables within tables that it enters."""


@dataclass(frozen=True)
class Found:
    """A part that a key leads to, and the kinds that were chosen on the way there."""

    part: type[Settings]
    kinds: tuple[str, ...] = ()


def explain(key: str) -> str:
    """The settings that a key may mean, by the kinds that have it; an error gives the nearest keys.

    A word or name that is no key lists the keys and kinds with it in their name or description.
    """
    places, steps = [Found(Definition)], [step for step in key.strip().strip("[]").split(".") if step]
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        holding = [one for one in places if step in one.part.model_fields]
        if not holding:
            known = sorted({name for one in places for name in one.part.model_fields})
            if len(steps) == 1 and (lines := search(step)):
                return "\n".join(lines)
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


def search(word: str) -> list[str]:
    """Keys and kinds with a word in their name or description, names first; empty if there are none."""
    sought = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
    named, described = dict[str, str](), dict[str, str]()
    for family in CONTRACTS:
        for kind, part in kinds(family).items():
            text = summary(part)
            if sought.search(f"{kind} {text}"):
                named.setdefault(f"halfreal kinds {family} '{kind}'", text)
    for key, part in every_part():
        kind = kind_of(part)
        if kind and "." in key and sought.search(f"{kind} {summary(part)}"):
            named.setdefault(f'{key}, kind "{kind}"', summary(part))
    for key, meaning in every_key():
        if sought.search(key.rpartition(".")[2].replace("_", " ")):
            named.setdefault(key, meaning)
        elif sought.search(meaning):
            described.setdefault(key, meaning)
    found = list((named | described).items())
    if not found:
        return []
    more = [f"… and {len(found) - MOST_FOUND} more"] if len(found) > MOST_FOUND else []
    width = max(len(key) for key, _ in found[:MOST_FOUND])
    head = f"'{word}' is not a key; keys and kinds with it in name or description:"
    return [head, *(f"  {key:<{width}}  {meaning}" for key, meaning in found[:MOST_FOUND]), *more]


def every_key() -> Iterator[tuple[str, str]]:
    """Keys of definitions with their meanings, those of outer tables first."""
    for place, part in every_part():
        for setting in settings_of(part):
            yield f"{place}.{setting.name}" if place else setting.name, setting.meaning


def every_part() -> Iterator[tuple[str, type[Settings]]]:
    """The parts that a definition may have, with their places, outer ones first."""
    level: list[tuple[str, type[Settings], tuple[type[Settings], ...]]] = [("", Definition, ())]
    while level:
        inner = []
        for place, part, above in level:
            yield place, part
            for setting in settings_of(part):
                key = f"{place}.{setting.name}" if place else setting.name
                parts = [one for one in inner_parts(part, setting.name) if one not in above]
                inner += [(key, one, (*above, part)) for one in parts if len(above) < DEEPEST]
        level = inner


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
        way = " / ".join(one.kinds)
        meanings.setdefault((setting.form, setting.default, setting.meaning), []).append(way)
    lines = [key]
    for (form, default, meaning), chosen in meanings.items():
        lines += [f"  {meaning}"] if meaning else []
        lines += [f"  value:   {form}", f"  default: {default or 'none'}"]
        named = [kind for kind in dict.fromkeys(chosen) if kind]
        lines += [f"  kinds:   {', '.join(named)}"] if named else []
        lines.append("")
    return lines[:-1]
