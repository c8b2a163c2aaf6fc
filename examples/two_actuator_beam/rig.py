"""Two cantilevers joined at B, one virtual and one on a rig of two voice coils: all parts, as plain data.

After the experiment of the paper on hybrid testing with adaptive feed-forward filters and harmonic basis functions (its
section 5; see A. Bartl, J. Mayet, M. K. Mahdiabadi, D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14).

    ▒▒════════P══════∿══════B══════════∿══════▒▒        x →, deflection w up, slope φ = w'
      virtual       foam    │plate     foam  specimen
                        ┌───┴───┐
                      stinger stinger                    load cell and accelerometer at the plate's end of each stinger
                      coil 1  coil 2

Section, material, plate, stingers and their distance are those of the paper's Tab. 2 and section 5.1.  Tab. 2 also
prints l = 400 mm, l_f = 30 mm and l_d = 250 mm, d_P = 200 mm, d_i = 100 mm and h_z2 = 2 mm; what these measure its
drawing shows (Fig. 15), which is not at hand, nor are the calibrated joints and the moving parts of the coils.  Here B
is l − d_i = 300 mm from each clamp, positions of P and foam were chosen, and then foam, mass at B and one clamp set so
that the assembled structure has the natural frequencies told for deflections: 95, 211, 319 and 520 Hz.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.signal

from halfreal.contracts import Elements, System
from halfreal.kernels import Block, Channel, channels, names, normal, stored
from halfreal.models import (
    Beam,
    Substructure,
    couple,
    discretise,
    exact_method,
    exact_step,
    node_dofs,
    point_mass,
    rectangle,
    reduced,
    spring,
    uniform_beam,
)
from halfreal.rigs import InterfaceGeometry, PeakFilter, TransferSystem

# Tab. 2 and section 5.1
MODULUS, DENSITY = 210e9, 7850.0  # N/m², kg/m³
WIDTH, HEIGHT = 40e-3, 4e-3  # of both beams, m
PLATE_LENGTH, PLATE_WIDTH, PLATE_HEIGHT = 100e-3, 40e-3, 6e-3  # m
ARM = 40e-3  # half the distance of the actuators, m
STINGER_LENGTH, STINGER_DIAMETER = 100e-3, 1e-3  # m

# chosen, see above
FREE_LENGTH, ELEMENTS = 300e-3, 30  # of each beam, from its clamp to B, m
P_NODE, FOAM_NODE = 11, 21  # of the virtual beam: 100 mm and 200 mm from its clamp
SPECIMEN_FOAM_NODE = 16  # of the specimen, which counts from B: 150 mm from its clamp
CLAMP = 10e3  # of the virtual beam, N m/rad
JOINT, JOINT_SLOPE = 1e8, 10e3  # between plate and specimen at B, N/m and N m/rad
COIL_MASS, COIL_STIFFNESS, COIL_DAMPING = 20e-3, 3.5e3, 4.0  # moving parts and their guidance: kg, N/m, N s/m
STINGER_DAMPING = 2.0  # N s/m
MATERIAL_DAMPING = 7.5e-6  # C = this times K, s: 0.5 % at 211 Hz
FOAM_DAMPING, SPECIMEN_FOAM_DAMPING = 7.0, 20.0  # N s/m
MODES = 20  # fixed-interface modes kept of each beam

# calibrated
FOAM, SPECIMEN_FOAM = 91.63e3, 247.06e3  # N/m
MASS_AT_B = 89.60e-3  # screw, nut, washers, kg
SPECIMEN_CLAMP = 11.842e3  # N m/rad

PLATE = ("plate.w", "plate.phi")
COILS = ("coil.1", "coil.2")
ENDS = np.array([[1.0, -ARM], [1.0, ARM]])
"""Deflection at the actuators for unit deflection and slope of the plate (Eq. 31)."""


def virtual(modes: int | None = MODES) -> Beam:
    """The virtual beam; its interface is the deflection at the two actuators (Eq. 31)."""
    end = ELEMENTS + 1
    return Beam(
        kind="beam",
        modulus=MODULUS,
        density=DENSITY,
        segments=[{"length": FREE_LENGTH, "elements": ELEMENTS, "width": WIDTH, "height": HEIGHT}],
        supports=[{"node": 1, "kind": "pinned"}],
        joints=[
            {"node": 1, "rotational_stiffness": CLAMP},
            {"node": FOAM_NODE, "stiffness": FOAM, "damping": FOAM_DAMPING},
            {"node": end, "mass": MASS_AT_B},
        ],
        interface=[{"node": end, "arm": -ARM}, {"node": end, "arm": ARM}],
        force={"node": P_NODE},
        rayleigh={"stiffness": MATERIAL_DAMPING},
        modes=modes,
        responses={
            "P": {"node": P_NODE, "quantity": "displacement"},
            "B": {"node": end, "quantity": "displacement"},
            "slope at B": {"node": end, "direction": "slope", "quantity": "displacement"},
        },
    )


def specimen() -> Substructure:
    """The beam on the rig from B to its clamp, with the joint that holds it to the plate."""
    bending, heavy = rectangle(WIDTH, HEIGHT, MODULUS, DENSITY)
    first, last = node_dofs("specimen", 1), node_dofs("specimen", ELEMENTS + 1)
    part = couple(
        uniform_beam("specimen", FREE_LENGTH, ELEMENTS, bending, heavy),
        spring(JOINT, 0.0, PLATE[0], first[0]),
        spring(JOINT_SLOPE, 0.0, PLATE[1], first[1]),
        spring(SPECIMEN_FOAM, SPECIMEN_FOAM_DAMPING, node_dofs("specimen", SPECIMEN_FOAM_NODE)[0]),
        spring(SPECIMEN_CLAMP, 0.0, last[1]),
    ).held(last[0])
    return Substructure(part.dofs, part.mass, part.damping + MATERIAL_DAMPING * part.stiffness, part.stiffness)


def assembled() -> Substructure:
    """The structure that the hybrid test emulates: both beams, B being the plate's place."""
    end = node_dofs("beam", ELEMENTS + 1)
    return couple(virtual().substructure().renamed(dict(zip(end, PLATE, strict=True))), specimen())


# --- the rig ----------------------------------------------------------------------------------------------------------


def geometry() -> InterfaceGeometry:
    """Sensors and actuators on the plate: y is the deflection; coil 1 counts pull as positive, as in Eq. 33."""
    left, right, up, down = [-ARM, 0.0, 0.0], [ARM, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]
    return InterfaceGeometry(
        axes=["y", "rz"],
        acceleration_sensors=[{"position": left, "direction": up}, {"position": right, "direction": up}],
        actuators=[{"position": left, "direction": down}, {"position": right, "direction": up}],
    )


def transfer_system() -> TransferSystem:
    """The plate as a rigid body (Eq. 33), its interface being the deflection at the two actuators."""
    mass = DENSITY * PLATE_LENGTH * PLATE_WIDTH * PLATE_HEIGHT
    sides = np.array([PLATE_LENGTH, PLATE_HEIGHT, PLATE_WIDTH])  # along x, y, z
    inertia = np.diag(mass / 12.0 * (np.sum(sides**2) - sides**2))
    return TransferSystem.rigid(geometry(), mass, inertia, np.zeros(3), interface=ENDS)


def reduced_specimen() -> Substructure:
    """The specimen in plate motion and modes."""
    return reduced(specimen(), "specimen", PLATE, MODES)[0]


def rig_parts() -> Substructure:
    """Specimen, plate, stingers and coils."""
    none = np.zeros((2, 2))
    plate = Substructure(PLATE, transfer_system().mass, none, none)
    coils = [
        part for coil in COILS for part in (point_mass(COIL_MASS, coil), spring(COIL_STIFFNESS, COIL_DAMPING, coil))
    ]
    return couple(plate, reduced_specimen(), *coils, *(stinger(i) for i in range(2)))


def stinger(i: int) -> Substructure:
    """A stinger between coil i and its end of the plate: a spring; its bending is neglected."""
    axial = MODULUS * np.pi / 4.0 * STINGER_DIAMETER**2 / STINGER_LENGTH
    along = spring(axial, STINGER_DAMPING, COILS[i], "end")
    deflection = np.vstack([[1.0, 0.0, 0.0], [0.0, *ENDS[i]]])  # of coil and end, for coil, plate w, plate φ
    return along.transformed(deflection, (COILS[i], *PLATE))


def rig() -> System:
    """The rig: inputs are the coils' forces, outputs accelerations at the ends, load cells, and the true interface.

    The true interface, to judge the measured one by: deflections at the ends, and the specimen's resisting forces.
    """
    whole = rig_parts()
    n, plate, coils = len(whole.dofs), whole.selection(PLATE), whole.selection(COILS)
    ends = ENDS @ plate
    small = reduced_specimen()
    own = np.linalg.inv(ENDS.T) @ small.selection(PLATE)  # from forces at w, φ to forces at the ends
    part = whole.selection(small.dofs)
    signs = np.array([[-1.0], [1.0]])  # coil 1 counts pull as positive
    cells = [np.zeros((2, n)) for _ in range(2)]
    for i in range(2):
        along = stinger(i)
        seen = whole.selection(along.dofs)
        cells[0][i] = along.stiffness[0] @ seen  # what the coil pushes with is what the plate feels
        cells[1][i] = along.damping[0] @ seen
    none = np.zeros((2, n))
    return System(
        mass=whole.mass,
        damping=whole.damping,
        stiffness=whole.stiffness,
        inputs=coils.T,
        displacement_outputs=np.vstack([none, signs * cells[0], ends, own @ small.stiffness @ part]),
        velocity_outputs=np.vstack([none, signs * cells[1], none, own @ small.damping @ part]),
        acceleration_outputs=np.vstack([ends, none, none, own @ small.mass @ part]),
        elements=Elements.none(n),
        displacement=np.zeros(n),
        velocity=np.zeros(n),
    )


# --- as a part of definitions -----------------------------------------------------------------------------------------

SENSED = (("acceleration", "m/s^2", 2), ("load_cell", "N", 2))
TRUE = (("displacement", "m", 2), ("force", "N", 2))
BANDWIDTH, ORDER = 2e3, 4  # of the amplifiers' Butterworth low-pass, Hz
Signals = tuple[tuple[str, str, int], ...]
"""Names, units and numbers of channels."""


def each(prefix: str, signals: Signals) -> tuple[Channel, ...]:
    """Channels of some signals, each numbered from 1."""
    return tuple(Channel(f"{prefix}.{name}.{i + 1}", unit) for name, unit, count in signals for i in range(count))


def noisy_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(u.size):
        y[i] = u[i] + p.noise[i] * normal(p.seed, float(i), s.count)
    s.count += 1.0
    return 0


def two_coils(
    dt: float, substeps: int, commands: tuple[str, ...], initial: np.ndarray, parameters: dict[str, Any]
) -> tuple[list[Block], list[Block]]:
    """The rig of a definition; left alone it comes to rest at zero, so that it begins there, whatever ``initial``.

    On its own step: coils that hold the command's force over a tick, beam, plate, and the sensors' amplifiers.  Once a
    tick: sensors with their noise, integration by peak filters at the excitation's ``frequencies`` [Hz], the force of
    the specimen (Eq. 26, or with ``compensation`` = 0 kinematics only, Eq. 27), and a peak filter on it too.
    """
    inner = [held_forces(dt / substeps, commands, rig(), SENSED)]
    return with_sensors(dt, substeps, inner, SENSED, transfer_system(), parameters)


def with_sensors(
    dt: float,
    substeps: int,
    inner: list[Block],
    sensed: Signals,
    system: TransferSystem,
    parameters: dict[str, Any],
) -> tuple[list[Block], list[Block]]:
    """A rig of coils with amplifiers, sensors, integration, and the interface that its transfer system gives."""
    peaks = PeakFilter(frequencies=np.atleast_1d(parameters["frequencies"]), time_constant=parameters["time_constant"])
    read, sensor = each("amplified", sensed), each("sensor", sensed)
    seen, count = names(sensor), sensed[0][2]
    noise = [parameters["acceleration_noise"]] * count + [parameters["force_noise"]] * 2
    sensors = Block(
        name="sensors",
        step=noisy_step,
        inputs=names(read),
        outputs=sensor,
        parameters={"seed": parameters["seed"], "noise": np.array(noise)},
        state={"count": 0.0},
        frozen=("count",),
    )
    moved = channels("sensor.velocity", "m/s", count), channels("sensor.displacement", "m", count)
    integrator = peaks.integrator_block("integrator", dt, seen[:count], *moved)
    interface = system.block(
        seen[:count], names(moved[0]), names(moved[1]), seen[count:], kinematics_only=not parameters["compensation"]
    )
    place = channels("measured.displacement", "m", 2)
    interface = replace(interface, outputs=(*place, *interface.outputs[2:]))
    force = peaks.filter_block("force", dt, names(interface.outputs[2:]), channels("measured.force", "N", 2))
    return [*inner, amplifiers(dt / substeps, sensed, read)], [sensors, integrator, interface, force]


def held_forces(dt: float, commands: tuple[str, ...], system: System, sensed: Signals) -> Block:
    """Coils, beam and plate, exactly, for forces that are held over a step and act in the step after their tick."""
    a, b, c, d = system.first_order()
    transition, held, _ = discretise(a, b, dt, "zero")
    return Block(
        name="rig",
        step=exact_step,
        inputs=commands,
        outputs=each("rig", sensed + TRUE),
        parameters={
            "transition": stored(transition),
            "earlier": stored(0.0 * held),
            "later": stored(held),
            "outputs": stored(c),
            "direct": stored(d),
        },
        state={"x": np.zeros(len(a)), "u": np.zeros(2), "started": 1.0, "before": np.zeros(len(a))},
        frozen=("started", "before", "u"),
        references=("vanloan1978",),
    )


def amplifiers(dt: float, sensed: Signals, read: tuple[Channel, ...]) -> Block:
    """The same low-pass for every sensor: what all share cancels out of the specimen's force for its displacement."""
    one = scipy.signal.tf2ss(*scipy.signal.butter(ORDER, 1.0, analog=True))
    a, b, c, d = (np.kron(np.eye(len(read)), part) for part in one)
    a, b = 2 * np.pi * BANDWIDTH * a, 2 * np.pi * BANDWIDTH * b
    method = exact_method((a, b, c, d), np.zeros(len(a)), dt, "first")
    return Block(
        name="amplifiers",
        step=method.step,
        inputs=names(each("rig", sensed)),
        outputs=read,
        parameters=method.parameters,
        state=method.state,
        frozen=method.frozen,
    )


if __name__ == "__main__":
    told = (95.0, 211.0, 319.0, 520.0)
    print("natural frequencies [Hz]: assembled, and told for deflections")
    for i, frequency in enumerate(assembled().natural_frequencies_hz()[:8]):
        print(f"  {i + 1}  {frequency:8.2f}  {told[i] if i < len(told) else '':>6}")
