"""The scripts of the two-actuator beam example as modules."""

from examples.scripts import GALLERY, loaded

EXAMPLE = GALLERY / "two_actuator_beam"
figures = loaded("two_actuator_beam", "rig", "study", "figures")
study = figures.study
