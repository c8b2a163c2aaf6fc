"""Filters of measurements where they have nothing to act on."""

import pytest

import halfreal
from examples.wallace2005 import GALLERY

BAR = GALLERY.parent / "force_controlled_bar" / "index_one.toml"
KALMAN = {"coefficients": [1.0, 0.01], "command_noise": 1e-4, "measurement_noise": 1e-5}


@pytest.mark.parametrize("part", [{"filter": KALMAN}, {"force_prediction": {"prediction": 1e-3}}])
def test_they_are_refused_where_the_virtual_part_asks_for_forces(part):
    sections = halfreal.load(BAR).model_dump()
    coupling = {"kind": "adaptive model based", "coefficients": [1.0, 0.01], **part}
    with pytest.raises(ValueError, match="couples displacements, but a virtual substructure"):
        halfreal.Definition(**{**sections, "coupling": coupling})
