"""What a check has found: criteria make findings, parts add their own, and the verdict follows from all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["no-go", "marginal", "warning", "note"]
"""What would harm the test; what is stable but below what the definition accepts; what to look at; what to know."""
Verdict = Literal["GO", "MARGINAL", "NO-GO"]
WARNING = "warning: "
BELOW = "below acceptance: "


@dataclass(frozen=True)
class Finding:
    """One sentence about a test, and the numbers behind it."""

    severity: Severity
    text: str
    value: float | None = None
    """What was found, in ``unit``; None where it is no number, or where there is none."""
    limit: float | None = None
    """What it is held against."""
    unit: str = "1"
    remedies: tuple[str, ...] = ()
    """What would fix it, tried out on the code that runs where it can be."""
    name: str = ""
    """Of the constraint, if it binds the test."""
    room: float | None = None
    """Share of what the constraint allows that is left, 0 to 1; None if it binds nothing."""

    @property
    def reason(self) -> str:
        """The sentence as users read it: warnings, and what is below acceptance, say that they are."""
        return {"warning": WARNING, "marginal": BELOW}.get(self.severity, "") + self.text


def note(text: str) -> Finding:
    return Finding("note", text)


def warning(text: str) -> Finding:
    return Finding("warning", text)


def told(lines: Iterable[str]) -> list[Finding]:
    """Findings of sentences of which warnings say that they are."""
    return [warning(line.removeprefix(WARNING)) if line.startswith(WARNING) else note(line) for line in lines]


def verdict(findings: Iterable[Finding]) -> Verdict:
    """GO, unless one finding is a no-go, or else marginal: the only place where a verdict is made."""
    found = {finding.severity for finding in findings}
    return "NO-GO" if "no-go" in found else "MARGINAL" if "marginal" in found else "GO"


def reasons(findings: Iterable[Finding]) -> tuple[str, ...]:
    """What was found, for people."""
    return tuple(finding.reason for finding in findings)


def remedies(findings: Iterable[Finding]) -> tuple[str, ...]:
    """What would help, each once."""
    return tuple(dict.fromkeys(remedy for finding in findings for remedy in finding.remedies))


def binding_finding(findings: Sequence[Finding]) -> Finding | None:
    """The constraint with the least margin left; what makes the verdict comes first, then what comes first."""
    rank = {"no-go": 0, "marginal": 1}
    bound = [(rank.get(one.severity, 2), one.room, i) for i, one in enumerate(findings) if one.room is not None]
    return findings[min(bound)[2]] if bound else None


def binding(findings: Sequence[Finding]) -> str:
    """The same for people."""
    found = binding_finding(findings)
    if found is None or found.room is None:
        return "none"
    return f"{found.name}, {100 * max(found.room, 0.0):.0f} % of margin left"
