"""Identify the shaker by an experiment on the rig with the wing on it, and compensate with what was found.

The response of the displacement to the command alone would need a model of the wing.  With the force that the load cell
measures it does not: D_a/D_c = G_c + G_f F_m/D_c.

python identify.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import halfreal
from halfreal import experiment
from halfreal.identification import ParameterFit, fit_parameters
from halfreal.models import Shaker, SteppedSine

sys.path.insert(0, str(Path(__file__).parent))
from study import HERE

FREQUENCIES = np.arange(1.0, 21.0)
KNOWN = {"mass": 2.7, "motor_constant": 20.1}
"""The maker's."""
BOUNDS = {"damping": (0.0, 20.0), "stiffness": (0.0, 500.0), "inductance": (0.005, 0.1), "resistance": (0.2, 5.0)}


def identified(name: str = "stepped_bare", amplitude: float = 0.5e-3) -> ParameterFit:
    """Damping, stiffness, inductance and resistance from a stepped sine of this amplitude [m]."""
    definition = halfreal.load(HERE / f"{name}.toml")
    definition = definition.model_copy(update={"record": type(definition.record)()})
    programme = SteppedSine(displacement=amplitude, frequencies=FREQUENCIES, dwell=8.0, ramp=0.5)
    measured = experiment(definition, programme, 8.0 * FREQUENCIES.size)
    moved, pushed = measured.response("displacement"), measured.response("force")
    omega, step = 2 * np.pi * FREQUENCIES, definition.timing.step

    def model(found: dict[str, float]) -> np.ndarray:
        command, force = definition.rig.follower(step, Shaker(**KNOWN, **found)).responses(omega)
        return np.asarray(command - force * pushed.response)

    return fit_parameters(model, moved.response, BOUNDS)


def main() -> None:
    for name in ("stepped_bare", "stepped_sampled"):
        print(f"{name}: {identified(name).summary()}")


if __name__ == "__main__":
    main()
