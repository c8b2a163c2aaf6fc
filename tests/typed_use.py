"""What type checkers see of halfreal: read by mypy in ``test_public_names.py``, never run."""

from typing import reveal_type

import numpy as np

import halfreal
from halfreal.rigs import ShakingTable

test = halfreal.load("test.toml")
reveal_type(test)
reveal_type(halfreal.rehearse(test))
reveal_type(halfreal.load_run("test.h5"))
reveal_type(halfreal.tune(test).best)
reveal_type(ShakingTable)
reveal_type(halfreal.models.Structure)
# the class states the kind: these are no errors
specimen = halfreal.rigs.Specimen(mass=np.eye(1), stiffness=1e3 * np.eye(1))
halfreal.rigs.SimulatedRig(actuator=halfreal.rigs.Delay(delay=2e-3), specimen=specimen)
halfreal.rigs.ShakingTable(specimen=specimen)
halfreal.couplings.ForwardPrediction(prediction=np.array([2e-3]))
halfreal.models.LinearLaw(stiffness=1e6)
halfreal.links.Udp()
halfreal.rehears(test)
halfreal.load(3)
