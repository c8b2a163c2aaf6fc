"""The answer before a test: GO, MARGINAL or NO-GO, from the loop that will run.

It is linearised at rest, its margins are computed, it is rehearsed against its limits, and if it is nonlinear it is
linearised along the rehearsal too, and its limit cycles are looked for.  Criteria (``criteria/``) and the parts of the
test make findings of that, and the verdict follows from them.  What would make a test pass is tried out on the same
code before it is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...contracts import finding
from ...contracts.finding import Finding, Verdict
from ...definition.definition import Definition
from ...runs.loop_stability import LoopStability
from ...runs.peaks import Peaks
from ...runs.rehearse import Progress
from ...runs.run import Run
from ...stability.linearise import Linearisation
from ...summaries import Summarised, html_table
from ..uncertainty.uncertainty import UncertaintyStudy
from .criteria import CRITERIA
from .examined import Examined

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .free_motion import FreeMotion
    from .influence import Influence
    from .motion import Motion
    from .nonlinear import Nonlinear


@dataclass(frozen=True, repr=False)
class Check(Summarised):
    """Result of a check: the verdict, its reasons, what would make the test pass, and the analyses behind them."""

    findings: tuple[Finding, ...]
    stability: LoopStability
    rehearsal: Run
    """With verdict, reasons and remedies."""
    nonlinear: Nonlinear | None = None
    uncertainty: UncertaintyStudy | None = None
    free_motion: FreeMotion | None = None
    motion: Motion | None = None
    """Trials in motion, of a loop that is not proven linear."""
    influences: tuple[Influence, ...] = ()
    """Numbers of the definition that the binding margin depends on most; of a GO only where requested."""
    peaks: Peaks | None = None
    """Shares of limits and ranges with other noise."""

    @property
    def verdict(self) -> Verdict:
        """GO, MARGINAL or NO-GO."""
        return finding.verdict(self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Sentences that justify the verdict, each with value and limit."""
        return finding.reasons(self.findings)

    @property
    def remedies(self) -> tuple[str, ...]:
        """Changes with which the test would pass, evaluated on the code that runs."""
        return finding.remedies(self.findings)

    @property
    def binding(self) -> str:
        """The constraint with the smallest margin left, relative to what it allows."""
        return finding.binding(self.findings)

    @property
    def linearisation(self) -> Linearisation:
        return self.stability.linearisation

    @property
    def stable(self) -> bool:
        """Whether the loop is not known to be unstable at rest."""
        return self.linearisation.stable or self.stability.poles_unknown

    def summary(self) -> str:
        return f"{self.verdict}: {self.reasons[0]}"

    def plot(self) -> Figure:
        """The rehearsal, and how much of each limit it uses."""
        from .plot import draw

        return draw(self)

    def _repr_html_(self) -> str:
        rows = [("verdict", self.verdict), *(("reason", one) for one in self.reasons)]
        rows += [
            ("binding constraint", self.binding),
            *(("depends on", str(one)) for one in self.influences),
            *(("remedy", one) for one in self.remedies),
        ]
        return html_table([(name, text) for name, text in rows if text])


def check(
    definition: Definition,
    *,
    text: str | None = None,
    on_progress: Progress | None = None,
    remedies: bool = True,
    influences: bool = False,
) -> Check:
    """Check a test: stability, margins, rehearsal, uncertainty.

    Parameters
    ----------
    definition
        The test.
    text
        The definition as its file has it, for the record, and with the mark of a search for its coupling.
    on_progress
        Callback with (done, total), called while it works.
    remedies
        Whether to search for what would make the test pass, and what the binding margin depends on.
    influences
        Whether to compute what the binding margin depends on of a GO, too.

    Returns
    -------
    Check
        Verdict, reasons, remedies and the rehearsal.
    """
    examined = Examined(definition, text, on_progress, remedies)
    findings = tuple(one for criterion in CRITERIA for one in criterion(examined))
    run = judged(examined, findings)
    explained: tuple[Influence, ...] = ()
    if influences or (remedies and finding.verdict(findings) != "GO"):
        from .influence import influences as find_influences

        explained = find_influences(examined, findings)
    return Check(
        findings,
        examined.stability,
        run,
        examined.nonlinear,
        examined.uncertainty,
        examined.cycles,
        examined.motion,
        explained,
        examined.peaks,
    )


def judged(examined: Examined, findings: tuple[Finding, ...]) -> Run:
    """The rehearsal with the verdict on its test."""
    run = examined.rehearsal
    motion, unit = examined.motion, examined.definition.target_unit
    stability = run.stability
    if stability is not None:
        stability = replace(
            stability,
            continuous=examined.continuous,
            in_motion=None if motion is None else motion.for_the_record(unit),
        )
    return replace(
        run,
        stability=stability,
        verdict=finding.verdict(findings),
        reasons=finding.reasons(findings),
        remedies=finding.remedies(findings),
    )
