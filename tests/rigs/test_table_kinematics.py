"""A rigid table on actuators with ball joints."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from halfreal.rigs.interface_geometry import GeometryError
from halfreal.rigs.table_kinematics import TableKinematics, left_jacobian, rotation
from halfreal.rigs.table_parts import MAVIS, kinematics

TILTED = np.array([20e-3, -15e-3, 10e-3, 0.03, -0.05, 0.04])


def table(keep=slice(None)):
    chosen = MAVIS[keep]
    return TableKinematics(
        np.array([one.position for one in chosen]),
        np.array([one.direction for one in chosen]),
        np.array([one.length for one in chosen]),
    )


def test_rotation_is_that_of_scipy():
    for theta in (TILTED[3:], np.array([1.2, -0.7, 2.0]), np.zeros(3)):
        np.testing.assert_allclose(rotation(theta), Rotation.from_rotvec(theta).as_matrix(), atol=1e-14)


def test_left_jacobian_gives_the_angular_velocity():
    theta, rate, h = np.array([0.4, -0.3, 0.2]), np.array([0.1, 0.5, -0.2]), 1e-6
    change = Rotation.from_rotvec(theta + h * rate) * Rotation.from_rotvec(theta - h * rate).inv()
    np.testing.assert_allclose(left_jacobian(theta) @ rate, change.as_rotvec() / (2 * h), rtol=1e-8)
    np.testing.assert_allclose(left_jacobian(1e-4 * theta), np.eye(3) + 0.5e-4 * _cross(theta), atol=1e-9)


def _cross(a):
    return np.cross(np.eye(3), a)


def test_pose_is_found_again_from_its_strokes():
    found = table().pose(table().extensions(TILTED))
    np.testing.assert_allclose(found, TILTED, atol=1e-13)


def test_newton_converges_quadratically():
    """The error of each step is about the square of that of the step before."""
    kinematics, pose, errors = table(), np.zeros(6), []
    wanted = kinematics.extensions(TILTED)
    for _ in range(4):
        pose = pose + np.linalg.lstsq(kinematics.jacobian(pose), wanted - kinematics.extensions(pose), rcond=None)[0]
        errors.append(np.abs(pose - TILTED).max())
    assert errors[0] < 5e-3
    assert errors[1] < 2 * errors[0] ** 2
    assert errors[2] < 2 * errors[1] ** 2


def test_jacobian_is_the_derivative_of_the_strokes():
    kinematics, h = table(), 1e-6
    columns = [
        (kinematics.extensions(TILTED + h * e) - kinematics.extensions(TILTED - h * e)) / (2 * h) for e in np.eye(6)
    ]
    np.testing.assert_allclose(kinematics.jacobian(TILTED), np.array(columns).T, atol=1e-9)
    np.testing.assert_allclose(kinematics.jacobian(np.zeros(6)), kinematics.modal, atol=1e-15)


def test_pure_motion_in_x_moves_the_two_x_actuators_alike_and_no_other():
    """Section 4 of the paper: quasi identical signals for the two, zero for all others."""
    assert table().modal[:, 0].tolist() == [0, 0, 0, 0, 1, 1, 0]
    strokes = table().extensions(np.array([10e-3, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(strokes[[4, 5]], 10e-3, rtol=1e-9)
    assert np.abs(strokes[[0, 1, 2, 3, 6]]).max() == pytest.approx((10e-3) ** 2 / 2, rel=1e-3)  # actuators of 1 m


def test_strokes_of_50_mm_turn_the_table_by_four_and_a_half_degrees():
    """As the paper tells, about each axis."""
    kinematics = table()
    for axis in (3, 4, 5):
        pose = np.zeros(6)
        pose[axis] = np.radians(4.5)
        assert np.abs(kinematics.extensions(pose)).max() == pytest.approx(50e-3, rel=0.02)


def test_the_four_vertical_actuators_can_fight_by_a_twist():
    (pattern,) = table().redundant
    np.testing.assert_allclose(np.abs(pattern), [0.5, 0.5, 0.5, 0.5, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(table().modal.T @ pattern, 0.0, atol=1e-12)
    strained = table().misfit(1e-4 * pattern)
    np.testing.assert_allclose(strained, 1e-4 * pattern, atol=1e-9)
    np.testing.assert_allclose(table().misfit(table().extensions(TILTED)), 0.0, atol=1e-12)


def test_six_actuators_have_nothing_to_fight_with():
    assert table(slice(1, None)).redundant.shape == (0, 6)


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ([0, 1, 2, 3, 4, 5], r"the 6 actuators cannot move the table in y; add 1, pushing along y$"),
        (
            [0, 1, 2, 3, 4, 6],
            r"in 1 motion\(s\) made of x and rz; add 1, pushing along x; or along x or y at a distance",
        ),
        ([0, 1, 2, 3], r"the 4 actuators cannot move the table in x, y and rz; add 3, pushing along x; along y; or"),
    ],
)
def test_actuators_that_cannot_move_an_axis_are_refused(kept, told):
    with pytest.raises(GeometryError, match=told):
        kinematics(tuple(MAVIS[i] for i in kept))


def test_strokes_that_no_pose_has_are_refused():
    with pytest.raises(GeometryError, match="no pose of the table found"):
        table().pose(np.array([9.0, -9.0, 9.0, 9.0, -30.0, 30.0, 5.0]))
