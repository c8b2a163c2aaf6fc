"""An identification experiment: a programme in place of the virtual substructure, through the loop of the test.

The definition's own rig, step, limits, sensors, record and link stay; its virtual substructure gives way to one whose
target is the programme, and its coupling to none.  The guard watches every command, so that a programme that is too
large for the rig trips as any test does.  ``programme`` makes that definition: ``halfreal.rehearse`` runs it on the
simulated rig, ``halfreal.run`` on the real one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..contracts.excitation import Excitation
from ..couplings.direct import Direct
from ..couplings.start_up import Measured
from ..definition.acceptance import OFF
from ..definition.definition import Definition
from ..definition.sections import Excitations
from ..errors import HalfrealError
from ..models.structures.state_space import StateSpaceModel
from ..runs.rehearse import rehearse
from ..runs.run import Run
from .frf import Estimate, estimate, stepped_sine


def programme(definition: Definition, excitation: Excitation, duration: float, axis: int = 1) -> Definition:
    """The definition of an experiment: ``excitation``, a displacement, is what the rig is commanded on one axis."""
    n = definition.virtual.axes
    if excitation.quantity != "displacement":
        raise HalfrealError(
            f"the programme is given as {excitation.quantity}; give its displacement, which the rig is commanded"
        )
    if not 1 <= axis <= n:
        raise HalfrealError(f"axis {axis} where the interface has {n}; count from 1")
    direct = np.zeros((n, 1 + n))
    direct[axis - 1, 0] = 1.0
    follower = StateSpaceModel(
        kind="state space", interface=n, A=-np.eye(1), B=np.zeros((1, 1 + n)), C=np.zeros((n, 1)), D=direct
    )
    changed = definition.unchecked_copy(
        {
            "title": f"{definition.title}: identification",
            "virtual": follower,
            "excitation": Excitations.model_validate({"virtual": excitation}),
            "coupling": Direct(),
            "start_up": Measured(),
            "reference": None,
            "uncertainty": {},
            # how it follows is what is to be found out
            "acceptance": definition.acceptance.unchecked_copy({"synchronisation": OFF, "fidelity": OFF}),
            "timing": definition.timing.unchecked_copy({"duration": duration}),
        }
    )
    return Definition.model_validate(changed.model_dump())


@dataclass(frozen=True)
class Measurement:
    """Command, displacement and force of an axis during an experiment, and what was commanded."""

    time: np.ndarray
    command: np.ndarray
    displacement: np.ndarray
    force: np.ndarray
    step: float
    excitation: Excitation

    def response(
        self,
        of: Literal["displacement", "force"] = "displacement",
        *,
        window: float = 4.0,
        settle: float = 0.5,
        method: Literal["H1", "H2", "Hv"] = "H1",
    ) -> Estimate:
        """The response to the command: at the frequencies that a sine stays at, else averaged over windows [s].

        ``settle`` is the part of each dwell that is left out.
        """
        signal, unit = (self.displacement, "m/m") if of == "displacement" else (self.force, "N/m")
        dwells = self.excitation.dwells
        if dwells is not None and dwells.sinusoidal:
            dwell = dwells.dwell or float(self.time[-1] + self.step)
            hz = np.array(dwells.frequencies)
            return stepped_sine(self.time, self.command, signal, hz, dwell, settle=settle * dwell, unit=unit)
        return estimate(self.command, signal, self.step, window=window, method=method, unit=unit)


def measured(run: Run, excitation: Excitation, axis: int = 1) -> Measurement:
    """What an experiment's run holds; refused if it did not come to its end."""
    if run.outcome != "completed":
        raise HalfrealError(
            f"the experiment {run.outcome}: {run.reason}; choose a smaller programme, or a wider limit if rig and "
            "specimen permit it"
        )
    columns = {name: run.vector(name) for name in ("command", "measured.displacement", "measured.force")}
    missing = [name for name, values in columns.items() if values is None]
    if missing:
        raise HalfrealError(f"{', '.join(missing)} is not in the record; record it (record.channels)")
    during = (run.time > -0.5 * run.step) & (run.time < excitation_end(run))
    command, displacement, force = (values[during, axis - 1] for values in columns.values() if values is not None)
    return Measurement(run.time[during], command, displacement, force, float(np.diff(run.time[:2])[0]), excitation)


def excitation_end(run: Run) -> float:
    """End of the test proper [s]: what follows is the way home."""
    return float(run.definition["timing"]["duration"]) - 0.5 * run.step


def experiment(definition: Definition, excitation: Excitation, duration: float, axis: int = 1) -> Measurement:
    """Run an experiment on the definition's simulated rig.

    Parameters
    ----------
    definition
        The test.
    excitation
        The command of the rig, any kind of excitation.
    duration
        Length of the experiment [s].
    axis
        Number of the axis that is moved, from 1.

    Returns
    -------
    Measurement
        Time, command, displacement and force.
    """
    return measured(rehearse(programme(definition, excitation, duration, axis)), excitation, axis)
