"""The scripts of the rod on the shaking table as modules."""

from examples.scripts import GALLERY, loaded

EXAMPLE = GALLERY / "shaking_table_rod"
figures = loaded("shaking_table_rod", "study", "oscillator", "figures")
study, oscillator = figures.study, figures.oscillator
limits = loaded("shaking_table_rod", "study", "limits")
