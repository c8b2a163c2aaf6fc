"""The scripts of the two-actuator beam example as modules."""

from examples.scripts import GALLERY, loaded

EXAMPLE = GALLERY / "two_actuator_beam"
figures = loaded("two_actuator_beam", "rig", "study", "modes", "flexible_plate", "figures")
study, modes = figures.study, figures.modes
flexible_plate = loaded("two_actuator_beam", "rig", "flexible_plate")
