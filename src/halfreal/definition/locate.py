"""Lines of a TOML text at which its keys stand.

``tomllib`` gives values without places.  This scanner walks over a text that ``tomllib`` has accepted and notes the
line of every key and of every entry of an array; it checks nothing and keeps no values.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Place = tuple[str | int, ...]
"""Keys, and 0-based positions in arrays, that lead to a value."""

_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")


def line_of(text: str, place: Place) -> int:
    """The 1-based line at which ``place`` stands, or the nearest thing around it that is there; 1 for the whole."""
    return nearest(lines_of(text), place)


def nearest(lines: dict[Place, int], place: Place) -> int:
    """The line of ``place``, or of the nearest thing around it that has one."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def lines_of(text: str) -> dict[Place, int]:
    """The 1-based line of every key and array entry in a valid TOML text.

    A table is at its header, or where it is first named if it has none.
    """
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.line_ends = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[Place, int] = {}
        self.tables: dict[Place, int] = {}
        """How many elements the arrays of tables have so far."""

    def run(self) -> dict[Place, int]:
        table: Place = ()
        self.skip(_SKIP)
        while self.position < len(self.text):
            if self.text.startswith("[", self.position):
                table = self.header()
            else:
                self.key_and_value(table)
            self.skip(_SKIP)
        return self.lines

    def header(self) -> Place:
        line = self.line()
        several = self.text.startswith("[[", self.position)
        self.position += 2 if several else 1
        keys = self.key()
        self.position += 2 if several else 1
        place = self.inside(keys[:-1], line)
        if several:
            place += (keys[-1],)
            self.lines.setdefault(place, line)
            self.tables[place] = self.tables.get(place, 0) + 1
            place += (self.tables[place] - 1,)
        else:
            place = self.inside(keys[-1:], line, place)
        self.lines[place] = line
        return place

    def inside(self, keys: list[str], line: int, place: Place = ()) -> Place:
        """Follow ``keys`` through tables and into the last element of arrays of tables."""
        for key in keys:
            place += (key,)
            self.lines.setdefault(place, line)
            if place in self.tables:
                place += (self.tables[place] - 1,)
        return place

    def key_and_value(self, table: Place) -> None:
        line = self.line()
        keys = self.key()
        place = table
        for key in keys:
            place += (key,)
            self.lines.setdefault(place, line)
        self.position += 1  # the equals sign
        self.skip(_SPACE)
        self.value(place)

    def key(self) -> list[str]:
        keys: list[str] = []
        while True:
            self.skip(_SPACE)
            if self.text[self.position] in "\"'":
                keys.append(tomllib.loads(f"key = {self.take(_STRING)}")["key"])
            else:
                keys.append(self.take(_BARE_KEY))
            self.skip(_SPACE)
            if not self.text.startswith(".", self.position):
                return keys
            self.position += 1

    def value(self, place: Place) -> None:
        first = self.text[self.position]
        if first in "\"'":
            self.take(_STRING)
        elif first == "[":
            self.entries("]", place)
        elif first == "{":
            self.entries("}", place)
        else:
            self.take(_SCALAR)

    def entries(self, end: str, place: Place) -> None:
        """The entries of an array or of an inline table."""
        self.position += 1
        count = 0
        while True:
            self.skip(_SKIP)
            if self.text.startswith(end, self.position):
                self.position += 1
                return
            if self.text.startswith(",", self.position):
                self.position += 1
            elif end == "}":
                self.key_and_value(place)
            else:
                entry = (*place, count)
                self.lines[entry] = self.line()
                self.value(entry)
                count += 1

    def line(self) -> int:
        return bisect_right(self.line_ends, self.position - 1) + 1

    def skip(self, pattern: re.Pattern[str]) -> None:
        self.take(pattern)

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise ValueError(f"line {self.line()} is not TOML; locate only in a text that tomllib has read")
        self.position = match.end()
        return match.group()
