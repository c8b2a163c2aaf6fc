"""Bode and Nyquist plots of the open loop, cut at the command and in the sense of negative feedback.

Of a definition it is that of the code that runs (``stability/open_loop.py``) with its exact margins; of a measured
frequency response, alone or in place of a part of the definition (``mixed.py``), the lines with margins interpolated
between them.  A loop of several axes is drawn by the eigenvalues of L, which decide on stability, and by its elements,
which do not: what they would promise is reported with the exact margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.state_space import StateSpace
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...runs.loop_stability import linearised, open_loop_of, without_margins
from ...runs.opaque_models import check_known
from ...runs.validity import where_of
from ...runs.worst_frequency import at_worst
from ...stability.condensed import Condensed
from ...stability.elementwise import ElementMargins, element_margins
from ...stability.frf import FRF, data_margins
from ...stability.loci import Loci
from ...stability.loci_figures import Elements, bode_figure, nyquist_figure
from ...stability.loop_loci import loci_of, loci_of_data
from ...stability.margins import DelayMargin, delay_margin
from ...stability.nyquist import encirclements
from ...summaries import Summarised
from .mixed import Measured, in_units, mixed_loop

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class OpenLoop(Summarised):
    """L of a loop: eigenvalues and elements, of the model, as measured, or both."""

    title: str
    names: tuple[str, ...]
    """Of the axes, or actuators, that are commanded."""
    model: Loci | None
    measured: Loci | None
    elements: Elements | None
    """Of a loop of several channels: the measured ones if there are such."""
    element_text: str = ""
    """What the elements would promise, next to the exact margin."""
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Margins of the model and of what was measured, one line each."""
        told = self.model is None or self.model.text in self.element_text
        lines = [] if self.model is None or told else [f"{'model: ' if self.measured else ''}{self.model.text}"]
        lines += [] if self.measured is None else [f"measured: {self.measured.text}"]
        return "\n".join([*lines, *([self.element_text] if self.element_text else []), *self.notes])

    def _drawn(self) -> tuple[Loci | None, Loci | None, Elements | None, str]:
        return self.model, self.measured, self.elements, f"{self.title}\n{self.summary()}"


class Bode(OpenLoop):
    """An open loop to be drawn as magnitude and phase."""

    def plot(self) -> Figure:
        return bode_figure(*self._drawn())


class Nyquist(OpenLoop):
    """An open loop to be drawn in the plane."""

    def plot(self) -> Figure:
        return nyquist_figure(*self._drawn())


def bode(test: Definition | None, frf: FRF | None = None, frf_of: Measured = "rig") -> Bode:
    """Compute magnitude and phase of the open loop.

    Parameters
    ----------
    test
        The test, or None for a measured open loop.
    frf
        A measured frequency response.
    frf_of
        What was measured: 'loop', 'rig', 'specimen' or 'actuator'; it replaces its model.

    Returns
    -------
    Bode
        ``plot()`` and ``summary()`` with the margins.
    """
    return Bode(**_open_loop(test, frf, frf_of))


def nyquist(test: Definition | None, frf: FRF | None = None, frf_of: Measured = "rig") -> Nyquist:
    """Compute the Nyquist plot of the open loop.

    Parameters
    ----------
    test
        The test, or None for a measured open loop.
    frf
        A measured frequency response.
    frf_of
        What was measured: 'loop', 'rig', 'specimen' or 'actuator'; it replaces its model.

    Returns
    -------
    Nyquist
        ``plot()`` and ``summary()`` with the margins.
    """
    return Nyquist(**_open_loop(test, frf, frf_of))


def _open_loop(test: Definition | None, frf: FRF | None, frf_of: Measured) -> dict[str, Any]:
    if test is None and frf is None:
        raise HalfrealError("give a definition, a measured response, or both")
    if test is None:
        assert frf is not None
        lines = in_units(frf, "loop")
        names = tuple(str(i + 1) for i in range(lines.response.shape[2]))
        return {
            "title": "Measured open loop",
            "names": names,
            "model": None,
            "measured": _measured(lines, 0),
            "elements": _elements(lines.frequency_hz, lines.response, names),
            "element_text": _lines_element_by_element(lines),
        }
    why = without_margins(test)
    if why is not None:
        raise HalfrealError(f"this test has no open loop to draw: {why}; 'halfreal poles' shows its poles")
    check_known(test)
    test, tuned = at_worst(test, lambda one: linearised(one).spectral_radius)
    names, loop = tuple(test.interface.actuators.names), open_loop_of(test)
    margin = delay_margin(loop)
    model, notes = loci_of(loop, margin), [tuned] if tuned else []
    notes += [note for note in (where_of(test, "margins are those"),) if note]
    found: dict[str, Any] = {"title": test.title, "names": names, "model": model}
    if frf is None:
        omega = 2 * np.pi * model.frequency_hz
        response = loop.response(omega)
        text = _element_by_element(loop, margin, model.frequency_hz, response)
        elements = _elements(model.frequency_hz, response, names)
        return {**found, "measured": None, "elements": elements, "element_text": text, "notes": tuple(notes)}
    lines, note = mixed_loop(test, frf, frf_of)
    unstable = int((np.abs(loop.poles()) > 1.0 + 1e-9).sum())
    return {
        **found,
        "measured": _measured(lines, unstable),
        "elements": _elements(lines.frequency_hz, lines.response, names),
        "element_text": _lines_element_by_element(lines),
        "notes": tuple([*notes, *([note] if note else [])]),
    }


def _elements(hz: np.ndarray, response: np.ndarray, names: tuple[str, ...]) -> Elements | None:
    return Elements(hz, response, names) if len(names) > 1 else None


def _element_by_element(loop: StateSpace | Condensed, margin: DelayMargin, hz: np.ndarray, values: np.ndarray) -> str:
    if loop.channels == 1:
        return ""
    pairs = range(loop.channels)
    rows = [[_borne_alone(loop, hz, values[:, i, j], i, j) for j in pairs] for i in pairs]
    return ElementMargins(np.array(rows), margin.critical_delay, margin.summary()).summary()


def _borne_alone(loop: StateSpace | Condensed, hz: np.ndarray, values: np.ndarray, i: int, j: int) -> float:
    """The delay [s] at which an element, given at lines, first comes to −1; each crossing of 1 is found exactly."""
    size = np.abs(values)
    delays = []
    for k in np.flatnonzero((size[1:] >= 1.0) != (size[:-1] >= 1.0)).tolist():
        from scipy.optimize import brentq  # takes long to import, and few tests come here

        at = brentq(lambda w: abs(loop.response(w)[0, i, j]) - 1.0, *(2 * np.pi * hz[k : k + 2]))
        delays.append(float(np.mod(np.angle(loop.response(at)[0, i, j]) + np.pi, 2 * np.pi) / at))
    return min(delays, default=np.inf)


def _lines_element_by_element(lines: FRF) -> str:
    if lines.response.shape[1] == 1:
        return ""
    try:
        return element_margins(lines).summary()
    except HalfrealError:  # its reason is told with the margins
        return ""


def _measured(lines: FRF, unstable: int) -> Loci:
    """What measured lines show: whether the loop is stable, by encirclements, and its margins."""
    counted, margins = None, None
    try:
        counted = encirclements(lines, unstable)
        text = counted.summary()
    except HalfrealError as error:
        text = f"its stability is not known: {error}"
    try:
        margins = data_margins(lines)
        text += "" if counted is not None and not counted.stable else f"; {margins.summary()}"
    except HalfrealError as error:
        text += f"; margins are not known: {error}"
    return loci_of_data(lines, margins, text, stable=counted is None or counted.stable)
