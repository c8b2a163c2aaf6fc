"""Laws that flow in time inside frames, against an adaptive integrator; and where the energy of a frame goes."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from halfreal.models.frame.builder import FrameBuilder, shear_building
from models.frame.frames import PLASTIC, E, run

MASSES, STIFFNESS, DAMPING = np.array([1e3, 8e2]), 2e6, 0.8
MAXWELL = {"kind": "maxwell damper", "stiffness": 8e5, "force": 2e4, "speed": 1.0}
MR = {
    "kind": "mr damper", "alpha": 9e4, "c0": 2e3, "c1": 2e5, "k0": 3e3, "k1": 5e2, "beta": 3e4, "gamma": 3e4,
    "amplitude": 60.0,
}  # fmt: skip
END = 1.0


def ground(t):
    return 5.0 * np.sin(2.0 * np.pi * 3.0 * t) * np.sin(np.pi * t / END) ** 2


def building(scheme):
    linear = {"kind": "linear", "stiffness": STIFFNESS}
    frame = shear_building([*MASSES], [linear, linear])
    frame.material("maxwell", **MAXWELL)
    frame.material("mr", **MR)
    frame.spring("below", "F1", direction="x", material="maxwell")
    frame.spring("above", "F1", "F2", direction="x", material="mr")
    frame.record("force", element="above", quantity="force")
    return frame.build([("F2", "x")], rayleigh={"mass": DAMPING}, scheme=scheme)


def truth():
    """The equations of both dampers as their papers have them, integrated with an adaptive method."""
    k = STIFFNESS * np.array([[2.0, -1.0], [-1.0, 1.0]])

    def rates(t, state):
        q, v, (maxwell, y, z) = state[:2], state[2:4], state[4:]
        x, speed = q[1] - q[0], v[1] - v[0]
        inner = (MR["alpha"] * z + MR["c0"] * speed + MR["k0"] * (x - y)) / (MR["c0"] + MR["c1"])
        slip = speed - inner
        hysteresis = MR["amplitude"] * slip - MR["gamma"] * abs(slip) * z * abs(z) - MR["beta"] * slip * z * z
        force = MR["c1"] * inner + MR["k1"] * x
        pulled = -k @ q - DAMPING * MASSES * v - MASSES * ground(t) + force * np.array([1.0, -1.0])
        pulled[0] -= maxwell
        flow = MAXWELL["stiffness"] * (v[0] - maxwell / MAXWELL["force"])
        return [*v, *pulled / MASSES, flow, inner, hysteresis]

    end = solve_ivp(rates, (0.0, END), np.zeros(7), method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    return np.array([end[1], end[0]])


@pytest.mark.parametrize("scheme", ["newmark", {"kind": "hht", "alpha": -0.1}, "kr-alpha", "mkr-alpha"], ids=str)
def test_dampers_that_flow_move_a_frame_as_their_equations_say(scheme):
    wanted, errors = truth(), []
    for count in (1000, 2000):
        found = run(
            building(scheme), ground(np.linspace(0.0, END, count + 1)), END / count, ("target", "virtual.drift1")
        )
        errors.append(np.abs(found[-1] - wanted).max() / np.abs(wanted).max())
    assert errors[1] < 3e-3
    assert np.log2(errors[0] / errors[1]) > (0.9 if str(scheme).endswith("kr-alpha") else 1.7)


def test_energy_that_goes_into_a_frame_is_kinetic_elastic_damped_or_hysteretic():
    """A portal with hinges in its columns: Newmark's mean acceleration, all energies from recorded channels."""
    height, span, area, inertia, mass, turning = 3.5, 6.0, 1.2e-2, 2.5e-4, 2e4, 600.0
    rayleigh = {"mass": 0.4, "stiffness": 1e-3}
    frame = FrameBuilder()
    frame.section("bar", modulus=E, area=area, second_moment=inertia)
    frame.material("plastic", **PLASTIC)
    for name, x in (("A", 0.0), ("B", span)):
        frame.node(f"{name}0", (x, 0.0), fixed="all")
        frame.node(f"{name}1", (x, height), mass=mass, inertia=turning)
        frame.beam(f"column {name}", f"{name}0", f"{name}1", section="bar", hinges=["plastic", "plastic"])
    frame.beam("girder", "A1", "B1", section="bar")
    names = []
    for quantity in ("displacement", "velocity"):
        for node in ("A1", "B1"):
            for direction in ("x", "y", "rz"):
                names.append(f"{quantity} {node} {direction}")
                frame.record(names[-1], node=node, direction=direction, quantity=quantity)
    for quantity in ("deformation", "force"):
        for column in "AB":
            for law in (1, 2):
                names.append(f"{quantity} {column} {law}")
                frame.record(names[-1], element=f"column {column}", quantity=quantity, law=law)
    built = frame.build([("A1", "x")], rayleigh=rayleigh, scheme={"kind": "newmark", "tolerance": 1e-12})
    dt, t = 5e-4, 5e-4 * np.arange(3001)
    shaken = 8.0 * np.sin(2.0 * np.pi * 1.8 * t) * np.minimum(1.0, t / 0.4)
    log = run(built, shaken, dt, tuple(f"virtual.{name}" for name in names))
    q, v, turn, moment = log[:, :6], log[:, 6:12], log[:, 12:16], log[:, 16:]

    def elastic(length, along, i, j, hinges):
        """½ of forces times elastic deformations of a bar between displacements i and j."""
        relative = j[:, :2] - i[:, :2]
        stretch = relative @ along
        chord = relative @ np.array([-along[1], along[0]]) / length
        a, b = i[:, 2] - chord - hinges[:, 0], j[:, 2] - chord - hinges[:, 1]
        return 0.5 * E * (area * stretch**2 + inertia * (4.0 * a**2 + 4.0 * a * b + 4.0 * b**2)) / length

    rest, up = np.zeros((len(t), 3)), np.array([0.0, 1.0])
    strain = elastic(height, up, rest, q[:, :3], turn[:, :2]) + elastic(height, up, rest, q[:, 3:], turn[:, 2:])
    strain += elastic(span, np.array([1.0, 0.0]), q[:, :3], q[:, 3:], np.zeros((len(t), 2)))
    masses = np.array([mass, mass, turning] * 2)
    kinetic = 0.5 * v**2 @ masses

    def gathered(force, moved):
        return np.concatenate(
            [[0.0], np.cumsum(0.5 * np.sum((force[1:] + force[:-1]) * np.diff(moved, axis=0), axis=1))]
        )

    hinges = gathered(moment, turn)
    work = gathered(-np.outer(shaken, masses * np.array([1.0, 0.0, 0.0] * 2)), q)
    system = built.system("none")
    numbers = built.loaded("none").model.numbering
    order = [numbers.free.index(numbers.index(node, one)) for node in ("A1", "B1") for one in ("x", "y", "rz")]
    damping = system.damping[np.ix_(order, order)]
    damped = gathered(v @ damping, q)
    left = work - kinetic - strain - damped - hinges
    kept = 0.5 * (moment**2).sum(axis=1) / PLASTIC["stiffness"]  # what springs in the hinges hold back, at most
    assert (hinges - kept)[-1] > 0.2 * work[-1]  # it yielded
    assert damped[-1] > 0.02 * work[-1]
    assert np.abs(left).max() < 2e-4 * work.max()
