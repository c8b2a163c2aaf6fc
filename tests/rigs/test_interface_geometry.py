"""From sensors and actuators to the interface: rigid motions, Eqs. 26 and 27, and geometries that cannot work."""

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.schemes.exact import Exact
from halfreal.models.structures.beam_elements import node_dofs, uniform_beam
from halfreal.models.structures.craig_bampton import reduced
from halfreal.models.structures.joints import spring
from halfreal.models.structures.substructure import couple
from halfreal.rigs.interface_geometry import AXES, GeometryError, InterfaceGeometry, geometry, motion_from_sensors
from halfreal.rigs.peak_filter import PeakFilter
from halfreal.rigs.transfer_system import TransferSystem, rigid_body_mass
from models.beam_rig import rig

RNG = np.random.default_rng(11)


def placed(position, direction):
    return {"position": position, "direction": direction}


def rotation(vector: np.ndarray) -> np.ndarray:
    """Rodrigues' formula."""
    angle = np.linalg.norm(vector)
    x, y, z = vector / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


@pytest.mark.parametrize("count", [6, 9])
def test_random_small_rigid_motions_are_recovered_from_random_sensors(count):
    """The readings are those of finite rotations, so that only small ones agree: to second order."""
    positions, directions = RNG.normal(size=(2, count, 3))
    inverse = motion_from_sensors(geometry(positions, directions, AXES), AXES)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    for size in (1e-3, 1e-5):
        shift, turn = size * RNG.normal(size=(2, 3))
        moved = positions @ rotation(turn).T + shift - positions
        readings = np.sum(moved * unit, axis=1)
        np.testing.assert_allclose(inverse @ readings, [*shift, *turn], atol=200 * size**2)


def test_actuators_do_the_work_that_the_virtual_point_feels():
    positions, directions = RNG.normal(size=(2, 7, 3))
    axes = ("x", "z", "ry")
    c = geometry(positions, directions, axes)
    forces, motion = RNG.normal(size=7), RNG.normal(size=3)
    assert forces @ (c @ motion) == pytest.approx((c.T @ forces) @ motion, rel=1e-12)
    # a force along z at x = 2 m turns backwards about y, the right-handed way
    np.testing.assert_allclose(geometry([2.0, 0, 0], [0, 0, 1], axes), [[0, 1, -2]])


def test_two_actuators_on_a_plate_give_the_papers_matrices():
    """Eqs. 31 and 33, with d/2 = 40 mm, z up and α about y: actuator 1 at x = +40 mm, its force positive along −z."""
    right, left = [0.04, 0, 0], [-0.04, 0, 0]
    found = InterfaceGeometry(
        axes=["z", "ry"],
        acceleration_sensors=[placed(right, [0, 0, 1]), placed(left, [0, 0, 1])],
        actuators=[placed(right, [0, 0, -1]), placed(left, [0, 0, 1])],
    )
    np.testing.assert_allclose(found.sensors("acceleration"), [[1, -0.04], [1, 0.04]])
    np.testing.assert_allclose(found.sensors("displacement"), [[1, -0.04], [1, 0.04]])
    np.testing.assert_allclose(found.forces(), [[-1, 1], [0.04, 0.04]])
    np.testing.assert_allclose(rig.transfer_system().mass, np.diag([0.1884, 0.1884 * (0.1**2 + 0.006**2) / 12]))


def test_mass_of_a_rigid_body_is_that_of_its_particles():
    masses, places = RNG.uniform(0.1, 1, 30), RNG.normal(size=(30, 3))
    matrix = np.zeros((6, 6))
    for m, place in zip(masses, places, strict=True):
        c = geometry(np.tile(place, (3, 1)), np.eye(3), AXES)
        matrix += m * c.T @ c
    centre = masses @ places / masses.sum()
    away = places - centre
    inertia = np.sum([m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, away, strict=True)], axis=0)
    np.testing.assert_allclose(rigid_body_mass(masses.sum(), inertia, centre), matrix, atol=1e-12)


# --- the transfer system in simulation --------------------------------------------------------------------------------


def measured(system, force: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q˙, q¨ of a rig under sampled forces, one row for each step, by the trapezoidal rule."""
    n = system.dofs
    q, v = np.zeros(n), np.zeros(n)
    a = np.linalg.solve(system.mass, system.inputs @ force[0])
    effective = np.linalg.inv(system.mass + dt / 2 * system.damping + dt**2 / 4 * system.stiffness)
    rows = []
    for f in force:
        predicted, speed = q + dt * v + dt**2 / 4 * a, v + dt / 2 * a
        a = effective @ (system.inputs @ f - system.damping @ speed - system.stiffness @ predicted)
        q, v = predicted + dt**2 / 4 * a, speed + dt / 2 * a
        rows.append((q, v, a))
    return tuple(np.array(part) for part in zip(*rows, strict=True))


def test_compensation_recovers_the_specimens_force_on_a_rig_with_inertia():
    """Eq. 26 at every sample of a rig driven by noise, up to rounding; kinematics alone are off by the plate's M q¨."""
    system, transfer = rig.rig(), rig.transfer_system()
    q, v, a = measured(system, RNG.normal(size=(300, 2)), 2e-4)
    outputs = q @ system.displacement_outputs.T + v @ system.velocity_outputs.T + a @ system.acceleration_outputs.T
    acceleration, cells, displacement, force = np.hsplit(outputs, 4)
    speed = v @ system.displacement_outputs[4:6].T
    readings = np.hstack([acceleration, speed, displacement, cells])
    found = readings @ transfer.gains().T
    np.testing.assert_allclose(found[:, :2], displacement, atol=1e-12 * np.abs(displacement).max())
    np.testing.assert_allclose(found[:, 2:], force, atol=1e-8 * np.abs(force).max())
    plain = readings @ transfer.gains(kinematics_only=True).T
    ends = np.linalg.inv(rig.ENDS)
    inertia = acceleration @ ends.T @ transfer.mass @ ends
    np.testing.assert_allclose(plain[:, 2:] - force, inertia, atol=1e-8 * np.abs(inertia).max())
    assert np.abs(inertia).max() > 0.5 * np.abs(force).max()


def harmonic(system, omega: float) -> np.ndarray:
    """Outputs for unit inputs, (outputs, inputs), complex."""
    q = np.linalg.solve(system.stiffness + 1j * omega * system.damping - omega**2 * system.mass, system.inputs)
    outputs = system.displacement_outputs + 1j * omega * system.velocity_outputs
    return (outputs - omega**2 * system.acceleration_outputs) @ q


@pytest.mark.parametrize("frequency", [60.0, 95.0, 320.0, 800.0])
def test_virtual_beam_with_the_force_found_on_the_rig_is_the_assembled_structure(frequency):
    """Where interfaces move alike, H_Pz, H_Bz and H_Bα of the hybrid test are those of both beams joined."""
    omega = 2 * np.pi * frequency
    acceleration, cells, displacement, _ = np.vsplit(harmonic(rig.rig(), omega), 4)
    readings = np.vstack([acceleration, acceleration / (1j * omega), acceleration / (1j * omega) ** 2, cells])
    found = rig.transfer_system().gains() @ readings
    np.testing.assert_allclose(found[:2], displacement, rtol=1e-9)
    resisting = found[2:] @ np.linalg.inv(found[:2])  # dynamic stiffness of the specimen at the two ends
    answers = harmonic(rig.virtual(modes=None).system("force"), omega)
    to_force, to_feedback = answers[:, 0], answers[:, 2:]
    target = np.linalg.solve(np.eye(2) - to_feedback[:2] @ resisting, to_force[:2])
    hybrid = (to_force + to_feedback @ resisting @ target)[2:]
    whole = rig.assembled().receptance(frequency, ["beam.11.w", *rig.PLATE], ["beam.11.w"])[0, :, 0]
    np.testing.assert_allclose(hybrid, whole, rtol=1e-4)  # the rig's specimen is reduced to 20 modes


def test_flexible_transfer_system_is_compensated_through_its_reduced_model():
    """Eqs. 28–30: a plate that bends, on soft springs; the three nodes where the specimen sits move as rigid ones."""
    plate = couple(uniform_beam("p", 0.1, 8, 151.2, 1.884), spring(2e4, 3.0, "p.3.w"), spring(2e4, 3.0, "p.7.w"))
    seat = [dof for node in (4, 5, 6) for dof in node_dofs("p", node)]
    basis = np.array([row for x in (-0.0125, 0.0, 0.0125) for row in ([1.0, x], [0.0, 1.0])])
    small, reduction = reduced(plate, "p", seat, 1, basis)
    sensed = plate.selection([f"p.{i}.w" for i in (1, 4, 9)]) @ reduction.transformation
    driven = reduction.transformation.T @ plate.selection(["p.1.w", "p.9.w"]).T
    interface = small.selection(["p.boundary.1", "p.boundary.2"])
    transfer = TransferSystem(small.mass, small.damping, small.stiffness, sensed, sensed, driven, interface)
    # forces of the specimen and of the actuators, and the motion they make: harmonic, as complex amplitudes
    cells, force = RNG.normal(size=(2, 2)) + 1j * RNG.normal(size=(2, 2))
    omega = 2 * np.pi * 150.0
    dynamic = small.stiffness + 1j * omega * small.damping - omega**2 * small.mass
    q = np.linalg.solve(dynamic, driven @ cells - interface.T @ force)
    y = sensed @ q
    found = transfer.gains() @ np.concatenate([-(omega**2) * y, 1j * omega * y, y, cells])
    np.testing.assert_allclose(found, [*q[:2], *force], rtol=1e-8)
    with pytest.raises(GeometryError, match="2 displacement sensors for 3 motions"):
        TransferSystem(small.mass, small.damping, small.stiffness, sensed[:2], sensed, driven, interface)
    with pytest.raises(GeometryError, match="1 actuators for 2 motions"):
        TransferSystem(small.mass, small.damping, small.stiffness, sensed, sensed, driven[:, :1], interface)


def drive_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = 2.0 * np.sin(p.omega * t)
    y[1] = np.cos(p.omega * t)
    return 0


def test_interface_is_found_in_the_loop_from_accelerometers_and_load_cells():
    """Rig, peak-filter integration and Eq. 26 as blocks: exact once the rig has settled."""
    dt, frequency = 2e-4, 60.0
    ends = ("1", "2")
    velocity, displacement = (tuple(Channel(f"{name}.{i}", "m") for i in ends) for name in ("velocity", "place"))
    drive = Block(
        "drive",
        drive_step,
        (),
        tuple(Channel(f"coil.{i}", "N") for i in ends),
        parameters={"omega": 2 * np.pi * frequency},
    )
    integrator = PeakFilter(frequencies=[frequency], time_constant=0.05).integrator_block(
        "integrator", dt, ("rig.acceleration.1", "rig.acceleration.2"), velocity, displacement
    )
    interface = rig.transfer_system().block(
        ("rig.acceleration.1", "rig.acceleration.2"),
        ("velocity.1", "velocity.2"),
        ("place.1", "place.2"),
        ("rig.load_cell.1", "rig.load_cell.2"),
    )
    method = Exact().method(rig.rig(), dt)
    moved = method.block("rig", ("coil.1", "coil.2"), rig.each("rig", rig.SENSED + rig.TRUE))
    loop = Loop([drive, moved, integrator, interface], dt=dt)
    loop.run(10_000)
    record = [f"{name}.{i}" for name in ("interface.displacement", "rig.displacement") for i in ends]
    record += [f"{name}.{i}" for name in ("interface.force", "rig.force") for i in ends]
    log = loop.run(100, record=record).log[:, 1:]
    # the rig is integrated exactly for forces that are linear between samples: a force bends by (ωΔt)²/12 = 5e-4
    # in between, so that its motion is not quite one sine
    np.testing.assert_allclose(log[:, 0:2], log[:, 2:4], atol=1e-3 * np.abs(log[:, 2:4]).max())
    np.testing.assert_allclose(log[:, 4:6], log[:, 6:8], atol=1e-9 * np.abs(log[:, 6:8]).max())


# --- refusals ---------------------------------------------------------------------------------------------------------

UP = [0, 0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"actuators": [placed([0, 0, 0], UP)]},
            r"1 actuators for 2 motions \(z, ry\); use at least 2, or remove 1",
        ),
        (
            {"acceleration_sensors": [placed([0.04, 0, 0], UP), placed([0.04, 0.1, 0], UP)]},
            "acceleration sensors leave a combination of z, ry undetermined",
        ),
        (
            {"acceleration_sensors": [placed([0.04, 0, 0], [0, 1, 0]), placed([-0.04, 0, 0], [0, 1, 0])]},
            "undetermined .* add one, or remove a motion",
        ),
        (
            {"displacement_sensors": [placed([0, 0, 0], UP), placed([0, 0.2, 0], UP)]},
            "2 displacement sensors leave ry undetermined",
        ),
        ({"axes": ["z", "z"]}, "name each axis of the interface once"),
        ({"acceleration_sensors": [placed([0.04, 0], UP)]}, "give three, along x, y and z"),
        ({"acceleration_sensors": [placed([0.04, 0, 0], [0, 0, 0])]}, r"the direction is \[0, 0, 0\]"),
    ],
)
def test_geometries_that_cannot_work_are_told_what_to_change(change, message):
    good = {
        "axes": ["z", "ry"],
        "acceleration_sensors": [placed([0.04, 0, 0], UP), placed([-0.04, 0, 0], UP)],
        "actuators": [placed([0.04, 0, 0], UP), placed([-0.04, 0, 0], UP)],
    }
    InterfaceGeometry(**good)
    with pytest.raises(ValueError, match=message):
        InterfaceGeometry(**{**good, **change})


def test_wrong_number_of_channels_is_refused():
    with pytest.raises(GeometryError, match=r"where the transfer system has \[2, 2, 2, 2\]"):
        rig.transfer_system().block(("a",), ("v",), ("d",), ("f",))
