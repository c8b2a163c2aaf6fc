"""Frames with fewer degrees of freedom in their linear parts, against the whole ones."""

import numpy as np
import pytest

from halfreal.models.frame.builder import regular_frame
from models.frame.frames import PLASTIC, SECTIONS, run, shaking


def built(reduction=None, inertia=0.0, storeys=4, **settings):
    """Four storeys that yield in the first only."""
    frame = regular_frame(
        storeys, 2, height=3.5, width=6.0, column=SECTIONS["column"], girder=SECTIONS["girder"], mass=1e4,
        inertia=inertia,
    )  # fmt: skip
    frame.material("plastic", **PLASTIC)
    for line in "ABC":
        frame.parts["elements"][f"column {line}1"]["hinges"] = ["plastic", "plastic"]
    given = {"rayleigh": {"mass": 0.3}, "scheme": {"kind": "newmark", "tolerance": 1e-12}, **settings}
    return frame.build([("A1", "x")], reduction=reduction, **given)


RECORD = ("target", "virtual.drift2", "virtual.drift4")


def test_what_has_no_mass_goes_without_a_loss():
    whole, reduced = built(), built({"kind": "static"})
    assert reduced.system("none").dofs < whole.system("none").dofs
    ground = shaking(800)
    wanted, found = run(whole, ground, record=RECORD), run(reduced, ground, record=RECORD)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())
    assert reduced.reduced.band == reduced.reduced.searched
    assert np.abs(reduced.reduced.errors).max() < 1e-8
    assert "and beyond" in reduced.caveat and whole.caveat is None


def test_modes_of_the_interior_bring_a_frame_nearer_to_the_whole():
    whole, ground = built(inertia=300.0), shaking(800)
    wanted = run(whole, ground, record=RECORD)
    away, bands = [], []
    for modes in (0, 2, 6):
        reduced = built({"kind": "craig-bampton", "modes": modes}, inertia=300.0)
        found = run(reduced, ground, record=RECORD)
        away.append(np.abs(found - wanted).max() / np.abs(wanted).max())
        bands.append(reduced.reduced.band)
    assert away[0] > 1.5 * away[1] > 15.0 * away[2] and away[2] < 1e-3
    assert bands[0] < bands[1] < bands[2]


def test_all_modes_of_the_interior_are_the_whole_frame():
    whole, reduced = built(inertia=300.0), built({"kind": "craig-bampton", "up_to": "1 MHz"}, inertia=300.0)
    ours, wanted = (one.system("none").natural_frequencies() for one in (reduced, whole))
    np.testing.assert_allclose(ours, wanted, rtol=1e-8)
    wanted = run(whole, shaking(400), record=RECORD)
    found = run(reduced, shaking(400), record=RECORD)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())


def test_what_a_reduction_leaves_is_what_it_says():
    """Natural frequencies and the interface's flexibility, from dense matrices of both frames."""
    whole, reduced = built(inertia=300.0), built({"kind": "craig-bampton", "modes": 2}, inertia=300.0)
    told = reduced.reduced
    full, small = whole.system("none"), reduced.system("none")
    exact, near = (one.natural_frequencies()[: len(told.errors)] for one in (full, small))
    np.testing.assert_allclose(told.errors, near / exact - 1.0, atol=1e-9)
    assert np.all(told.errors > -1e-9)  # a reduced frame is never softer

    def flexibility(system, hertz):
        omega, b = 2.0 * np.pi * hertz, system.displacement_outputs[:1]
        return (b @ np.linalg.solve(system.stiffness * (1.0 + 0.04j) - omega**2 * system.mass, b.T))[0, 0]

    def apart(hertz):
        return abs(flexibility(small, hertz) / flexibility(full, hertz) - 1.0)

    assert told.static_error < 1e-9
    assert max(apart(f) for f in np.linspace(0.1, 0.98 * told.band, 40)) < 0.01
    assert apart(told.band + told.searched / 80.0) > 0.01


def test_reductions_that_cannot_be_made_are_named():
    for reduction, words in (
        ({"kind": "craig-bampton"}, "needs either modes or up_to"),
        ({"kind": "craig-bampton", "modes": 2, "up_to": 10.0}, "needs either modes or up_to"),
        ({"kind": "static", "modes": 2}, "has no modes"),
        ({"kind": "craig-bampton", "modes": 999}, "modes = 999"),
    ):
        with pytest.raises(ValueError, match=words):
            built(reduction)
    with pytest.raises(ValueError, match="omit the reduction"):
        built({"kind": "static"}, inertia=300.0)
