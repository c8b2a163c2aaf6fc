"""Who may look at the page and who may operate the test.

A printed address holds a token that opens the page once.  The browser is then known by a cookie.  One browser at a time
operates; the others watch.  The operator hands over to another one, who has requested it; no one takes over.

What would affect the rig is requested twice: the first time gives a ticket, valid for some seconds, for the second
time.  Only hashes of tokens and cookies are kept.  The state is kept outside of this process too, so that a page that
is served again after a crash knows its browsers.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["operate", "watch"]
TICKET_LASTS = 10.0
"""Seconds between the first and the second time."""
MOST_VIEWS = 64
"""Browsers that are known, and invitations that are open."""


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True)
class View:
    """A browser that has come in."""

    key: str
    name: str


class Guests:
    """Tokens, browsers and the one that operates.

    Parameters
    ----------
    state
        As an earlier ``Guests`` has kept it.
    keep
        Called with the state after each change.
    clock
        Seconds.
    """

    def __init__(
        self, state: dict[str, Any], keep: Callable[[dict[str, Any]], None], clock: Callable[[], float]
    ) -> None:
        self._tokens: dict[str, Role] = dict(state.get("tokens", {}))
        self._views: dict[str, str] = dict(state.get("views", {}))
        self._operator: str = state.get("operator", "")
        self._asking: str = ""
        self._tickets: dict[str, tuple[str, str, float]] = {}
        self._keep, self._clock = keep, clock

    def _save(self) -> None:
        self._keep({"tokens": self._tokens, "views": self._views, "operator": self._operator})

    def invite(self, role: Role = "watch") -> str:
        """A new token; the oldest invitation that no one has used lapses if there are too many."""
        while len(self._tokens) >= MOST_VIEWS:
            del self._tokens[next(iter(self._tokens))]
        token = secrets.token_urlsafe(24)
        self._tokens[hashed(token)] = role
        self._save()
        return token

    def enter(self, token: str) -> str | None:
        """The cookie for whoever has a token, which is void from now on; None for a wrong one."""
        role = self._tokens.pop(hashed(token), None)
        if role is None:
            return None
        while len(self._views) >= MOST_VIEWS:
            del self._views[next(key for key in self._views if key != self._operator)]
        cookie = secrets.token_urlsafe(32)
        key = hashed(cookie)
        self._views[key] = f"view {1 + max((int(name.split()[1]) for name in self._views.values()), default=0)}"
        if role == "operate" and not self._operator:
            self._operator = key
        self._save()
        return cookie

    def view(self, cookie: str | None) -> View | None:
        key = hashed(cookie or "")
        return View(key, self._views[key]) if key in self._views else None

    def role(self, view: View) -> Role:
        return "operate" if view.key == self._operator else "watch"

    # --- handing over -----------------------------------------------------------------------------------------------

    @property
    def asking(self) -> str:
        """The name of the view that asks to operate; empty if none does."""
        return self._views.get(self._asking, "")

    def ask(self, view: View) -> None:
        self._asking = view.key

    def hand_over(self, view: View, to: str) -> bool:
        """Let the view that asks, and has the name ``to``, operate from now on; false if that cannot be."""
        if self.role(view) != "operate" or not to or self.asking != to:
            return False
        self._operator, self._asking = self._asking, ""
        self._tickets.clear()
        self._save()
        return True

    # --- twice ------------------------------------------------------------------------------------------------------

    def ticket(self, view: View, word: str) -> str:
        """For the second time that a view says a word."""
        now = self._clock()
        self._tickets = {key: one for key, one in self._tickets.items() if one[2] > now and one[0] != view.key}
        ticket = secrets.token_urlsafe(16)
        self._tickets[hashed(ticket)] = (view.key, word, now + TICKET_LASTS)
        return ticket

    def redeem(self, view: View, word: str, ticket: str) -> bool:
        """Whether a ticket is of this view, for this word, and not too old; it is void from now on."""
        found = self._tickets.pop(hashed(ticket), None)
        return found is not None and found[:2] == (view.key, word) and found[2] > self._clock()


# --- the state in memory that another process holds ------------------------------------------------------------------


def write_state(fd: int, state: dict[str, Any]) -> None:
    data = json.dumps(state).encode()
    os.pwrite(fd, data + b" " * max(os.fstat(fd).st_size - len(data), 0), 0)


def read_state(fd: int) -> dict[str, Any]:
    data = os.pread(fd, os.fstat(fd).st_size, 0).strip()
    state = json.loads(data) if data else {}
    return state if isinstance(state, dict) else {}
