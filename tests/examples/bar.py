"""The scripts of the force-controlled bar example as modules."""

from examples.scripts import GALLERY, loaded

EXAMPLE = GALLERY / "force_controlled_bar"
figures = loaded("force_controlled_bar", "algorithm_one", "linear", "study", "figures")
study, linear, algorithm_one = figures.study, figures.linear, figures.algorithm_one
