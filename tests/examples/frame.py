"""The scripts of the pseudo-dynamic frame example as modules."""

from examples.scripts import GALLERY, loaded

EXAMPLE = GALLERY / "pseudo_dynamic_frame"
figures = loaded("pseudo_dynamic_frame", "study", "figures")
study = figures.study
