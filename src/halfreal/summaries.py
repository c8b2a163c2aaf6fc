"""How results look in a notebook and at a prompt: one line, not every number that they hold."""

from __future__ import annotations

from html import escape


class Summarised:
    """A result that has a ``summary()``.

    Dataclasses that inherit from it are declared with ``repr=False``: theirs would list every field.
    """

    def summary(self) -> str:
        """What was found, in a sentence or a few lines."""
        raise TypeError(f"{type(self).__name__} has no summary()")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        first, *more = (escape(line) for line in self.summary().splitlines() or [""])
        return f"<p><strong>{escape(type(self).__name__)}</strong>: {'<br>'.join([first, *more])}</p>"


def html_table(rows: list[tuple[str, str]]) -> str:
    """Two columns, escaped."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table>{cells}</table>"
