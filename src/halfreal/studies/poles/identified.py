"""Poles identified from a recorded test, to be overlaid on those computed.

After a pulse, or without any excitation, they are those of the free motion (``complex_exponential.py``): from the end
of the pulse, and of what is still on its way, until the test ends, the guard steps in or an actuator comes to its end.
After a random excitation they are the modes of ``studies/modal_analysis.py`` that nothing speaks against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import HalfrealError
from ...identification.assembled_frf import known_delay, response_channels
from ...identification.complex_exponential import lsce_supported
from ...identification.poles import ModalError
from ...runs.judged_samples import cut_short, in_test
from ...runs.run import Run
from ..modal_analysis import modal_analysis

if TYPE_CHECKING:
    from ...definition.definition import Definition

DECAYS = ("pulse", "none")
"""Kinds of the virtual excitation, or none, after which the motion is free."""


@dataclass(frozen=True)
class IdentifiedPoles:
    """Poles s [1/s] of the upper half plane from one run, at its value of the swept number."""

    title: str
    value: float
    """SI; NaN where nothing is swept."""
    poles: np.ndarray
    why_none: str = ""
    """Why nothing was found."""

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.poles) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        return np.asarray(-self.poles.real / np.abs(self.poles))


def identified(run: Run, value: float, test: Definition, most: int, highest_hz: float) -> IdentifiedPoles:
    """Up to ``most`` poles below a frequency from a run of a variant of the test."""
    excitation = (run.definition.get("excitation") or {}).get("virtual") or {}
    kind = excitation.get("kind", "none")
    if kind not in (*DECAYS, "random"):
        raise HalfrealError(
            f"'{run.title}' has a virtual excitation of kind '{kind}'; poles are identified after a pulse, without "
            "excitation, or from a random one: omit this run, or record such a test"
        )
    try:
        if kind == "random":
            modes = [one for one in modal_analysis(run, highest_hz=highest_hz).modes if not one.doubtful]
            hz, ratio = np.array([(one.frequency_hz, one.damping) for one in modes]).reshape(-1, 2).T
            poles = 2 * np.pi * hz * (-ratio + 1j * np.sqrt(1.0 - ratio**2))
        else:
            since = known_delay(run) + (float(excitation["duration"]) if kind == "pulse" else 0.0)
            poles = lsce_supported(_free_motion(run, since, test), _step(run), most, highest_hz=highest_hz).poles
    except ModalError as error:
        return IdentifiedPoles(run.title, value, np.zeros(0, dtype=complex), str(error))
    return IdentifiedPoles(run.title, value, poles)


def _step(run: Run) -> float:
    return float(np.median(np.diff(run.time))) if len(run.time) > 1 else run.step


def _free_motion(run: Run, since: float, test: Definition) -> np.ndarray:
    """Responses, (channels, samples), while nothing drives them and nothing limits them."""
    end = cut_short(run)
    kept = in_test(run, since + 1.5 * run.step) & (run.time < (np.inf if end is None else end))
    channels = test.rig.end_channels
    if channels and all(name in run.signals for name in channels):
        log = np.column_stack([run.signals[name].values for name in channels])
        reached = np.array([bool(test.rig.end_reached(row[None])) for row in log[kept]])
        kept[np.flatnonzero(kept)[np.logical_or.accumulate(reached)]] = False
    names = response_channels(run)
    if not names:
        raise ModalError(f"'{run.title}' has no recorded response; record measured.displacement, or select responses")
    found = np.array([run.signals[name].values[kept] for name in names])
    moving = found.std(axis=1) > 0.0 if found.shape[1] else np.zeros(len(names), dtype=bool)
    if not moving.any():
        raise ModalError(f"there is no free motion in '{run.title}' after {since:.4g} s; excite it, or record longer")
    return np.asarray(found[moving])
