"""Interface of a set of criteria: numbers by which a whole test is judged, each with its unit.

Contract for implementers
-------------------------
1. ``units`` names every criterion, in the order in which they are shown, with the unit of its number (``"1"``
   where it has none).  It is known before anything has run.
2. ``score(run, reference)`` gives ``{name: value}`` in these units, once the test has completed.  ``run`` is the record
   of the test itself (``halfreal.runs.run.Run``), from 0 s to its end, without soft start and stop.
   ``reference`` is the emulated system at the same times, also a ``Run``: its signals are ``target``, with the names of
   the axes, and the responses of the virtual substructure, ``virtual.NAME``; None where the definition has no
   [reference].  A value that has no meaning is NaN.
3. It may raise: the error is reported, and the record is kept.
"""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..settings import Settings, fault

if TYPE_CHECKING:
    from ..runs.run import Run


class Criteria(Settings):
    """Numbers by which a test is judged."""

    kind: str
    minimise: str | None = None
    """Criterion that ``halfreal tune`` minimises, instead of the error of the motion."""

    @property
    @abstractmethod
    def units(self) -> Mapping[str, str]:
        """Every criterion with its unit; none if they cannot be known, as of a stored test whose file does not exist
        any more."""
        raise NotImplementedError

    @abstractmethod
    def score(self, run: Run, reference: Run | None) -> Mapping[str, float]:
        """The criteria of a run that has completed."""
        raise NotImplementedError

    def check_name(self, name: str, *at: str) -> None:
        """Raise a fault unless there is such a criterion."""
        there = list(self.units)
        if there and name not in there:
            near = difflib.get_close_matches(name, there, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(there)}"
            raise fault(f"'{name}' is not a criterion of kind '{self.kind}'; {hint}", *at)

    def check(self) -> None:
        """Raise a fault where its own settings do not go together."""
        if self.minimise is not None:
            self.check_name(self.minimise, "minimise")
