"""The scripts of the force-controlled bar example as modules."""

from examples.scripts import GALLERY, loaded

EXAMPLE = GALLERY / "force_controlled_bar"
figures = loaded("force_controlled_bar", "linear", "study", "figures")
study, linear = figures.study, figures.linear
