"""The mark that ``halfreal tune`` leaves in the definition it writes, as a comment.

A check does not advise a search whose result is the definition itself.  The mark is a fingerprint of all that the
search depends on, so that it holds for as long as none of that is changed, and never has to be maintained.
"""

from __future__ import annotations

import hashlib
import json

from ...definition.definition import Definition
from ...definition.user_code import user_code

MARK = "# chosen by halfreal tune; outdated as soon as the test is changed: "
WITHOUT = {"title", "description", "link", "real_time", "record"}
"""Sections that a search does not depend on."""


def mark_of(definition: Definition) -> str:
    """The comment for a definition as it is read from its file."""
    whole = [definition.model_dump_json(exclude=WITHOUT), sorted(user_code(definition).items())]
    return MARK + hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]


def marked(text: str, definition: Definition) -> str:
    """The text of a definition with its mark, in place of an earlier one."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(MARK)]
    ending = "\r\n" if lines and lines[-1].endswith("\r\n") else "\n"
    return "".join(lines).rstrip() + ending * 2 + mark_of(definition) + ending


def is_tuned(text: str, definition: Definition) -> bool:
    """Whether the text of a definition has its mark."""
    return mark_of(definition) in (line.strip() for line in text.splitlines())
