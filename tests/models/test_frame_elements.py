"""Beams in space."""

import numpy as np
import pytest

from halfreal.models.structures.base_excited import BaseExcited
from halfreal.models.structures.frame_elements import Section, frame_beam, frame_dofs, rigid_mass
from halfreal.models.structures.substructure import couple
from halfreal.rigs.transfer_system import rigid_body_mass

SECTION = Section(stretching=4e6, torsion=3e3, bending_2=2e4, bending_3=9e4, mass=8.0, inertia=0.05)
LENGTH = 3.0
UP = np.array([0.0, 0.0, 1.0])


def beam(end=(LENGTH, 0.0, 0.0), second=(0.0, 1.0, 0.0), elements=12):
    return frame_beam("b", np.zeros(3), np.array(end), elements, SECTION, np.array(second))


def cantilever(**how):
    return beam(**how).held(*frame_dofs("b", 1))


def closed_form():
    """Lowest natural frequencies [Hz] of a cantilever: bending in both planes, torsion, stretching."""
    bending = [1.8751041**2 / LENGTH**2 * np.sqrt(one / SECTION.mass) for one in (2e4, 9e4)]
    rods = [np.pi / (2 * LENGTH) * np.sqrt(one) for one in (3e3 / 0.05, 4e6 / 8.0)]
    return np.array([*bending, *rods]) / (2 * np.pi)


def test_cantilever_has_the_natural_frequencies_of_four_closed_forms():
    found = cantilever().natural_frequencies_hz()
    for hz, tolerance in zip(closed_form(), (1e-5, 1e-5, 1e-3, 1e-3), strict=True):
        assert np.abs(found / hz - 1).min() < tolerance


def test_a_tip_load_bends_twists_and_stretches_as_it_must():
    part = cantilever()
    flexibility = np.linalg.inv(part.stiffness)
    tip = part.index(frame_dofs("b", 13))
    found = flexibility[np.ix_(tip, tip)]
    for place, expected in ((0, LENGTH / 4e6), (1, LENGTH**3 / 3 / 9e4), (2, LENGTH**3 / 3 / 2e4), (3, LENGTH / 3e3)):
        assert found[place, place] == pytest.approx(expected, rel=1e-8)
    # a force along z turns the tip about −y, one along y about +z
    assert found[4, 2] == pytest.approx(-(LENGTH**2) / 2 / 2e4, rel=1e-8)
    assert found[5, 1] == pytest.approx(LENGTH**2 / 2 / 9e4, rel=1e-8)


def test_natural_frequencies_do_not_depend_on_how_it_lies():
    skew = np.array([1.0, -2.0, 0.5])
    turned = cantilever(end=LENGTH * skew / np.linalg.norm(skew), second=(0.3, 1.0, 2.0))
    np.testing.assert_allclose(turned.natural_frequencies_hz(), cantilever().natural_frequencies_hz(), rtol=1e-7)


def test_moved_slowly_it_is_a_rigid_body():
    """A beam that lies askew, with a body at its end: mass matrix about its first node."""
    end = np.array([1.0, -2.0, 0.5])
    length = np.linalg.norm(end)
    part = couple(beam(end=end, second=UP), rigid_mass("b", 13, 5.0, np.array([0.1, 0.2, 0.3])))
    moved = BaseExcited.of(part, frame_dofs("b", 1))
    along = end / length
    # thin rod: transverse inertia about its middle, ρJ_p about its axis; an element leaves out its own rotary inertia
    across = np.eye(3) - np.outer(along, along)
    own = SECTION.mass * length**3 / 12 * across + SECTION.inertia * length * np.outer(along, along)
    expected = rigid_body_mass(SECTION.mass * length, own, end / 2)
    expected = expected + rigid_body_mass(5.0, np.diag([0.1, 0.2, 0.3]), end)
    np.testing.assert_allclose(moved.rigid_mass, expected, atol=1e-6 * np.abs(expected).max())


def test_a_direction_along_the_beam_is_refused():
    with pytest.raises(ValueError, match="given along the beam"):
        beam(second=(2.0, 0.0, 0.0))
