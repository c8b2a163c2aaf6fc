"""What a rehearsal or a run leaves behind, in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..contracts.axes import Axes
from ..stability.loci import Loci
from ..summaries import Summarised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_AXIS = Axes.numbered(1)
Outcome = Literal["completed", "stopped", "tripped", "failed", "recording"]
"""How a test ended; "stopped" is an operator's controlled stop, "recording" has not ended."""
Judgement = Literal["ACCEPTED", "NOT ACCEPTED"]


@dataclass(frozen=True)
class Signal:
    """A recorded channel: its unit (``"1"`` where there is none) and its values at the run's times."""

    unit: str
    values: np.ndarray


@dataclass(frozen=True)
class Integrity:
    """What is known of the rows in a file that was not sealed: one that is being recorded, or was cut off."""

    rows: int
    """In the file."""
    verified: int
    """The first of them, which match the checksums that were written with them."""
    has_checksums: bool = True

    @property
    def left_out(self) -> int:
        """Rows that do not match, and are not in the run."""
        return self.rows - self.verified if self.has_checksums else 0

    @property
    def text(self) -> str:
        """One line for people."""
        if not self.has_checksums:
            return f"not sealed: without checksums, none of its {self.rows} rows verified"
        found = f"rows 0 to {self.verified - 1} verified" if self.verified else "no rows verified"
        rest = f"; the {self.left_out} rows after them do not match their checksums and are left out"
        return f"not sealed: {found}{rest if self.left_out else ''}"


@dataclass(frozen=True)
class Event:
    """Something that happened at a time [s]: a trip, a warning, a change of mode."""

    time: float
    channel: str
    text: str


@dataclass(frozen=True)
class DelayEquation:
    """The loop in continuous time, a delay differential equation: what the loop that runs tends to."""

    text: str
    """One sentence for people."""
    verdict: str
    """``"stable"`` and ``"unstable"`` are proven; ``"not certified"`` is neither."""
    root: complex
    """Its rightmost characteristic root [1/s]; NaN if none was found."""
    delay_margin: float | None = None
    """Further delay [s] at which it loses stability; None if there is none, or it is unstable."""


@dataclass(frozen=True)
class InMotion:
    """A test tried in motion: what became of it, and its margins there; None where unlimited or not searched."""

    text: str
    exponent: float | None = None
    """Rate at which small deviations grow [1/s]; None where they are not followed."""
    delay_margin: float | None = None
    """Additional delay [s]."""
    gain_margin_db: float | None = None
    gain_reduction_db: float | None = None


@dataclass(frozen=True)
class Stability:
    """Verdict of the linearised loop: the code that ran, perturbed."""

    spectral_radius: float
    stable: bool
    text: str
    """One sentence for people."""
    frequency_hz: np.ndarray
    damping: np.ndarray
    """Damping ratio of each pole."""
    magnitude: np.ndarray
    """|eigenvalue| of the map over one tick."""
    delay_margin: float | None = None
    """Further delay [s] that the loop tolerates at rest; None if unlimited or not known, as for all that follow."""
    critical_delay: float | None = None
    """Pure delay in place of the rig [s] at which the loop without coupling loses stability."""
    phase_margin_deg: float | None = None
    gain_margin_db: float | None = None
    continuous: DelayEquation | None = None
    find_open_loop: Callable[[], Loci] | None = field(default=None, repr=False, compare=False)
    """Computes ``open_loop``, which takes some time and is only in run files and plots."""
    holds: str = ""
    """Where poles and margins hold: in any motion, or at rest."""
    in_motion: InMotion | None = None
    """None where the loop is proven linear, or was not checked."""

    @cached_property
    def open_loop(self) -> Loci | None:
        """The frequency response of the loop, cut at the command; None if it is not known."""
        return None if self.find_open_loop is None else self.find_open_loop()


@dataclass(frozen=True)
class Property:
    """A property of the specimen as a record felt it, next to the same of the rehearsal, which is that of the model."""

    name: str
    """``"stiffness"``, ``"damping"``, ``"mass"``, ``"equivalent damping"``, ``"energy per cycle"``, or
    ``"not linear"``: the share of the force that no linear specimen explains."""
    axes: tuple[str, ...]
    """The axis, or that of the force and that of the motion."""
    unit: str
    met: float
    spread: float
    """Half-width of the 95 % interval; NaN where it is not known."""
    model: float
    model_spread: float
    difference: float
    """Met − model as a share of the dynamic stiffness of the model, |K − ω²M + iωC|, for what has a part in it."""
    differs: bool
    """The difference is larger than chance explains, and large enough to matter."""


@dataclass(frozen=True)
class SpecimenMet:
    """How far the specimen that a run met differs from the model."""

    properties: tuple[Property, ...]
    reason: str = ""
    """Why nothing, or nothing of the model, is known; else empty."""

    @property
    def differs(self) -> tuple[Property, ...]:
        """What differs, the largest difference first."""
        return tuple(sorted((one for one in self.properties if one.differs), key=lambda one: -abs(one.difference)))


@dataclass(frozen=True)
class Stalls:
    """The ticks of a test that were not finished in time for one cause."""

    cause: str
    """``"own work"``, ``"scheduler"``, ``"computer"`` or ``"rig"``."""
    count: int
    longest: float
    """The longest time for which one of them held the test [s]."""
    lost: float
    """All of it [s]."""


@dataclass(frozen=True)
class Computer:
    """The judgement on the computer of a run: whether it let the loop keep time."""

    fit: bool | None
    """None where nothing is required of it."""
    text: str
    """One sentence without its subject."""
    details: tuple[str, ...] = ()
    """What held the loop up, what was beyond its limit, and what to do."""
    stalls: tuple[Stalls, ...] = ()
    """Of all causes, also those that are the test's."""


@dataclass(frozen=True)
class Accepted:
    """The judgement on a run after it has ended, against the [acceptance] of its definition.

    It is that on the test, and with a rig that is not simulated that on the computer as well.
    """

    word: Judgement
    reasons: tuple[str, ...]
    """What of the test was not as it should be, each with its figure and its limit; of an accepted test what was looked
    at.
    """
    test: Judgement | Literal[""] = ""
    """The judgement on the test alone; empty in older records, in which it was not apart."""
    computer: Computer | None = None
    """None of a slow test, which waits for its rig at every tick, and in older records."""

    @property
    def because(self) -> tuple[str, ...]:
        """Why the run is accepted or not: for its test, or for its computer alone."""
        if self.computer is not None and self.word != self.test:
            return (f"the computer {self.computer.text}",)
        return self.reasons

    @property
    def text(self) -> str:
        """Both judgements in one line; empty where they are not apart."""
        if self.computer is None:
            return ""
        return f"Test: {self.test}. Computer: {self.computer.text}"


@dataclass(frozen=True)
class Scored:
    """A criterion's value, NaN where it has no meaning, in its unit."""

    value: float
    unit: str


@dataclass(frozen=True, repr=False)
class Run(Summarised):
    """A whole test: definition, channels, events and how it ended.

    Interface signals are vectors; with one axis their channels are ``target``, ``command.asked``, ``command`` (the
    applied one), ``measured.displacement``, ``measured.force``, ``gap`` and, if the emulated system is known,
    ``reference``; with several they end in the axes' names, ``.x``, ``.rz``, or in their numbers, ``.1``, ``.2``, …
    ``run["target"]`` is a channel, or all axes of a signal, in SI units; ``run.signals["target"].unit`` its unit.
    """

    title: str
    kind: Literal["rehearsal", "run", "rig"]
    """"rig" is a simulated rig's own record."""
    definition: Mapping[str, Any]
    """The normalised definition: SI numbers, every default written out."""
    definition_text: str
    """The same as TOML with units, as the user wrote it where it came from a file."""
    step: float
    time: np.ndarray
    signals: Mapping[str, Signal]
    events: tuple[Event, ...]
    outcome: Outcome
    reason: str
    """Why it ended as it did; empty when completed."""
    seed: int
    started: str
    """ISO 8601, UTC."""
    interface: Axes = ONE_AXIS
    stability: Stability | None = None
    verdict: Literal["GO", "MARGINAL", "NO-GO", ""] = ""
    """Of ``halfreal check``; empty if the test was not judged."""
    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    limits_used: Mapping[str, float] = field(default_factory=dict)
    """Largest value of each limited signal as a share of its trip limit."""
    references: tuple[str, ...] = ()
    """Keys into ``halfreal.citations``."""
    versions: Mapping[str, str] = field(default_factory=dict)
    host: Mapping[str, str] = field(default_factory=dict)
    rig: Mapping[str, str] = field(default_factory=dict)
    """Which rig it was: ``nature`` ("simulated", "real" or "unknown"), ``name`` with its version, as it said itself,
    and ``address``; empty in records from before rigs were asked."""
    code: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the user's files that were run in it, by their names."""
    about: Mapping[str, str] = field(default_factory=dict)
    """What people said of the test, as far as they did: ``operator``, ``specimen``, ``calibration``, ``notes``."""

    specimen_met: SpecimenMet | None = None
    """None where it was not looked at, as in rehearsals, whose specimen is the model."""
    accepted: Accepted | None = None
    """None where it was not judged, as in rehearsals and records that were cut off."""
    scores: Mapping[str, Scored] = field(default_factory=dict)
    """The criteria that the definition names (section [criteria]); none if it names none, or the test did not end."""

    integrity: Integrity | None = None
    """Of a run read from a file without a seal; None where the whole file matched its checksum, or there is none."""

    @property
    def rests_on_a_model(self) -> bool:
        """Whether what was computed of its specimen and its loop is of a model of a rig that may have been another."""
        return self.kind == "run" and self.rig.get("nature") != "simulated"

    def __getitem__(self, name: str) -> np.ndarray:
        """A channel's values in SI units, or those of a signal of several axes as (samples, axes)."""
        from .overview import values_of

        return values_of(self, name)

    def summary(self) -> str:
        """What it is and how it ended, in one line."""
        from .overview import summary

        return summary(self)

    def plot(self, *channels: str) -> Figure:
        """Plot channels over time, those of one unit together.

        Parameters
        ----------
        channels
            Names of channels; default: motion and force of the interface.

        Returns
        -------
        Figure
            A matplotlib figure, which a notebook shows.
        """
        from .overview import overview

        return overview(self, channels)

    def _repr_html_(self) -> str:
        from .overview import html

        return html(self)

    def vector(self, name: str) -> np.ndarray | None:
        """All axes of a signal.

        Parameters
        ----------
        name
            The signal, such as ``"target"``.

        Returns
        -------
        array or None
            (samples, axes), in SI units; None if it was not recorded.
        """
        if not self.has(name):
            return None
        return np.column_stack([self.signals[key].values for key in self.along(name).channels(name)])

    def has(self, name: str) -> bool:
        """Whether all axes of a signal were recorded."""
        return all(key in self.signals for key in self.along(name).channels(name))

    def along_axis(self, name: str, column: int) -> np.ndarray | None:
        """One column of ``vector``, counted from 0, without reading the others."""
        return self.signals[self.along(name).channels(name)[column]].values if self.has(name) else None

    def to_dataframe(self) -> Any:
        """All channels as a pandas data frame over the time [s], with ``attrs["units"]``."""
        from .tables import to_dataframe

        return to_dataframe(self)

    def to_xarray(self) -> Any:
        """All channels as an xarray dataset along ``time``, each with its unit in ``attrs["units"]``."""
        from .tables import to_xarray

        return to_xarray(self)

    def along(self, name: str) -> Axes:
        """What a vector signal has a channel for each of: axes, those that are commanded, or actuators."""
        lists = (self.interface, self.interface.commanded, self.interface.actuators)
        return next((one for one in lists if all(key in self.signals for key in one.channels(name))), self.interface)

    def column(self, name: str, axis: int) -> int | None:
        """Where in a vector signal an axis stands, both counted from 0; None if it has none."""
        names, of = self.interface.names, self.along(name)
        if of == self.interface.actuators and self.interface.moved_by is not None:
            return None
        return axis if len(of) == len(names) else of.names.index(names[axis]) if names[axis] in of.names else None

    def units(self, name: str) -> tuple[str, ...]:
        """The unit of a vector signal on each axis; none where it was not recorded."""
        found = [self.signals.get(key) for key in self.along(name).channels(name)]
        return tuple("" if signal is None else signal.unit for signal in found)
