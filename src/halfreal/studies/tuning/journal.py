"""What a search has found out so far, on disk: one that was interrupted continues from there.

A search always asks the same questions in the same order, so that it needs no other memory than the answers.  They are
kept by the coupling's settings, one line of JSON each, below a line that says of which test they are: its definition,
the user's files and this version.  A journal of another test is begun again.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ... import __version__
from ...contracts.coupling import Coupling
from ...definition.definition import Definition
from ...definition.user_code import user_code


def fingerprint(definition: Definition, samples: int) -> str:
    """What the answers of a search depend on in addition to the coupling."""
    whole = [__version__, samples, definition.model_dump_json(), sorted(user_code(definition).items())]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


class Journal:
    """Answers by question and coupling; without a ``path`` in memory alone."""

    def __init__(self, path: Path | None, of: str) -> None:
        self.path, self._lock = path, threading.Lock()
        self._known: dict[str, Any] = {}
        self.asked = 0
        """Questions that were answered out of the journal."""
        if path is None:
            return
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        if lines and lines[0] == of:
            for line in lines[1:]:
                try:
                    key, answer = json.loads(line)
                except ValueError:  # the last line of one that was killed
                    break
                self._known[key] = answer
        with path.open("w", encoding="utf-8") as file:
            file.write("\n".join([of, *(json.dumps([key, answer]) for key, answer in self._known.items())]) + "\n")

    def recalled(self, question: str, coupling: Coupling, find: Callable[[], Any]) -> Any:
        """The answer to a question about a coupling, found if it is not known."""
        settings = json.dumps(coupling.model_dump(mode="json"), sort_keys=True)
        key = hashlib.sha256(f"{question} {settings}".encode()).hexdigest()
        with self._lock:
            if key in self._known:
                self.asked += 1
                return self._known[key]
        answer = find()
        with self._lock:
            self._known[key] = answer
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, answer]) + "\n")
        return answer

    def close(self) -> None:
        """The search has come to its end: nothing is to be continued."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
