"""Virtual and physical substructure of a hardware-in-the-loop test, and their loop."""

import numpy as np
import pytest

from halfreal.models.structures.base_excited import BaseExcited
from halfreal.models.structures.beam_elements import node_dofs, uniform_beam
from halfreal.models.structures.modal import Modes
from halfreal.models.structures.structure import Structure
from halfreal.models.structures.substructure import Substructure, couple
from halfreal.stability.margins import delay_margin
from halfreal.stability.substructures import high_frequency_gain, physical_part, substructured_loop, virtual_part
from stability.delay_cases import MASS, rod_modes, rod_open_loop

OMEGA = 2 * np.pi * np.array([1.0, 3.9, 12.0, 30.0])


def rod(modes):
    omega, mass = rod_modes(modes)
    return Modes(
        kind="modes", frequency=omega / (2 * np.pi), damping=[0.01], mass=mass, interface=np.ones((1, modes))
    ).system("none")


def point_mass(mass=MASS):
    return BaseExcited(np.array([[mass]]), np.zeros((1, 1)), np.zeros((1, 1)), (0,))


def test_rod_and_mass_are_the_loop_of_the_papers_test_case():
    loop = substructured_loop(rod(2), point_mass())
    np.testing.assert_allclose(loop.response(OMEGA)[:, 0, 0], rod_open_loop(OMEGA), rtol=1e-12)
    margin = delay_margin(loop)
    np.testing.assert_allclose(margin.frequency_hz, [3.6236, 4.5718, 11.1804, 14.7845], atol=6e-5)
    assert margin.critical_delay * 1e3 == pytest.approx(34.25, abs=0.005)


def test_acceleration_output_is_the_displacement_differentiated_twice():
    """Eqs. 8 and 10, for two axes of a beam by its matrices."""
    system = cantilever()[1].system("none")
    displacement, acceleration = (virtual_part(system, 2, output).response(OMEGA) for output in _OUTPUTS)
    np.testing.assert_allclose(acceleration, -(OMEGA[:, None, None] ** 2) * displacement, rtol=1e-9)
    receptance = cantilever()[0].receptance(OMEGA / (2 * np.pi), node_dofs("beam", 5), node_dofs("beam", 5))
    np.testing.assert_allclose(displacement, receptance, rtol=1e-8)


_OUTPUTS = ("displacement", "acceleration")


def cantilever():
    """A beam held at one end, with deflection and slope of the other as its interface."""
    free = uniform_beam("beam", 3.0, 4, 2e5, 30.0).held(*node_dofs("beam", 1))
    part = Substructure(free.dofs, free.mass, 1e-4 * free.stiffness, free.stiffness)
    ends = tuple(i + 1 for i in part.index(node_dofs("beam", 5)))
    return part, Structure(mass=part.mass, damping=part.damping, stiffness=part.stiffness, interface=ends)


def mast():
    beam = uniform_beam("mast", 1.0, 3, 4e3, 6.0)
    return Substructure(beam.dofs, beam.mass, 2e-4 * beam.stiffness, beam.stiffness)


def test_closed_loop_of_two_axes_is_the_assembled_structure():
    """Poles of the loop without delay: those of beam and mast coupled at their ends."""
    beam, virtual = cantilever()
    specimen = BaseExcited.of(mast(), node_dofs("mast", 1))
    loop = substructured_loop(virtual.system("none"), specimen)
    found = np.linalg.eigvals(loop.closed())
    whole = couple(beam, mast().renamed(dict(zip(node_dofs("mast", 1), node_dofs("beam", 5), strict=True))))
    n = len(whole.dofs)
    inverse = np.linalg.inv(whole.mass)
    expected = np.linalg.eigvals(
        np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ whole.stiffness, -inverse @ whole.damping]])
    )
    slow = [np.sort_complex(values[(np.abs(values) < 3000) & (values.imag > 0)]) for values in (found, expected)]
    assert len(slow[1]) >= 4
    np.testing.assert_allclose(*slow, rtol=1e-7)


def test_gain_at_high_frequency_counts_modes():
    """One mode after another makes the rod lighter: 12.5 kg Σ 1/m_r."""
    gains = [high_frequency_gain(rod(modes), point_mass().fast_mass) for modes in (1, 2, 3, 4)]
    np.testing.assert_allclose(gains, np.cumsum(MASS / rod_modes(4)[1]), rtol=1e-12)
    assert gains[2] == pytest.approx(0.729, abs=5e-4)
    assert gains[3] == pytest.approx(1.012, abs=5e-4)
    assert delay_margin(substructured_loop(rod(4), point_mass())).high_frequency_gain == pytest.approx(gains[3])


def test_gain_at_high_frequency_of_two_axes_is_that_of_the_loop():
    specimen = BaseExcited.of(mast(), node_dofs("mast", 1))
    undamped = BaseExcited(specimen.mass, 0 * specimen.damping, specimen.stiffness, specimen.interface)
    system = cantilever()[1].system("none")
    direct = substructured_loop(system, undamped).d
    expected = np.abs(np.linalg.eigvals(direct)).max()
    assert high_frequency_gain(system, undamped.fast_mass) == pytest.approx(expected, rel=1e-8)


def test_rigid_part_has_no_states():
    assert physical_part(point_mass()).states == 0
