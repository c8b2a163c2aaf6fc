"""Interface displacement and force from what is measured on the transfer system: its own dynamics are taken off.

Hybrid testing with adaptive feed-forward filters and harmonic basis functions, Eqs. 23–29 of that paper (see A. Bartl,
J. Mayet, M. K. Mahdiabadi, D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14).  Between actuators and specimen
stands a plate, a bracket, a table; what the actuators' load cells read moves it too:

    M q¨ + D q˙ + K q = B f_A − Gᵀ f                                          (23)
    q = C_Sd⁺ y_Sd,   q˙ = C_Sa⁺ ∫y_Sa,   q¨ = C_Sa⁺ y_Sa                     (24)
    x = G q                                                                   (25)
    f = (Gᵀ)⁺ (B f_A − M q¨ − D q˙ − K q)                                     (26)
    f = (Gᵀ)⁺ B f_A                            kinematics only                (27)

f is the specimen's resisting force, as it is fed back; the paper's λ is −f.

============ ==============================================================================
q            states of the transfer system: of a rigid one, the motion of the virtual point
M, D, K      its inertia, damping and stiffness; of a flexible one, reduced (Eqs. 28–30)
C_Sd, C_Sa   displacement and acceleration sensors' readings for unit states
B            what unit forces at the load cells do to the states
G            interface coordinates for unit states
============ ==============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.block import Block, channels
from ..kernels.linear import multiply_add, set_to, stored
from .interface_geometry import AXES, GeometryError, InterfaceGeometry, determined, motion_from_sensors


def interface_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    set_to(0.0, y)
    multiply_add(p.gains, u, y)
    return 0


@dataclass(frozen=True)
class TransferSystem:
    """Matrices of the transfer system; see the module's table."""

    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    displacement_sensors: np.ndarray
    """C_Sd, (sensors, states)."""
    acceleration_sensors: np.ndarray
    """C_Sa, (sensors, states)."""
    actuators: np.ndarray
    """B, (states, actuators)."""
    interface: np.ndarray
    """G, (coordinates, states)."""

    def __post_init__(self) -> None:
        n = len(self.mass)
        for key, columns in (
            ("mass", self.mass),
            ("damping", self.damping),
            ("stiffness", self.stiffness),
            ("displacement_sensors", self.displacement_sensors),
            ("acceleration_sensors", self.acceleration_sensors),
            ("actuators", self.actuators.T),
            ("interface", self.interface),
        ):
            if columns.ndim != 2 or columns.shape[1] != n:
                raise GeometryError(f"{key} does not fit the {n} states of the transfer system: {columns.shape}")
        states = [f"state {i + 1}" for i in range(n)]
        coordinates = [f"coordinate {i + 1}" for i in range(len(self.interface))]
        determined(self.displacement_sensors, states, "displacement sensors")
        determined(self.acceleration_sensors, states, "acceleration sensors")
        determined((self._released @ self.actuators).T, coordinates, "actuators")

    @classmethod
    def rigid(
        cls,
        geometry: InterfaceGeometry,
        mass: float,
        inertia: np.ndarray,
        centre: np.ndarray,
        interface: np.ndarray | None = None,
    ) -> TransferSystem:
        """A rigid body: its mass [kg], inertia about its centre of mass, (3, 3) [kg m²], and where that centre lies.

        ``interface`` is G, the virtual point's motion itself if left out.
        """
        n = len(geometry.axes)
        return cls(
            mass=rigid_body_mass(mass, inertia, centre)[np.ix_(*2 * [[AXES.index(axis) for axis in geometry.axes]])],
            damping=np.zeros((n, n)),
            stiffness=np.zeros((n, n)),
            displacement_sensors=geometry.sensors("displacement"),
            acceleration_sensors=geometry.sensors("acceleration"),
            actuators=geometry.forces(),
            interface=np.eye(n) if interface is None else interface,
        )

    @property
    def _released(self) -> np.ndarray:
        """(Gᵀ)⁺, (coordinates, states)."""
        return np.asarray(np.linalg.pinv(self.interface.T))

    def gains(self, *, kinematics_only: bool = False) -> np.ndarray:
        """(x, f) for unit readings of accelerations, their integrals, displacements and load cells, in this order."""
        from_accelerations = motion_from_sensors(self.acceleration_sensors, [""] * len(self.mass))
        from_displacements = motion_from_sensors(self.displacement_sensors, [""] * len(self.mass))
        own = 0.0 if kinematics_only else 1.0
        force = [
            -own * self.mass @ from_accelerations,
            -own * self.damping @ from_accelerations,
            -own * self.stiffness @ from_displacements,
            self.actuators,
        ]
        none = np.zeros((len(self.interface), len(self.acceleration_sensors)))
        unmoved = np.zeros((len(self.interface), self.actuators.shape[1]))
        displacement = [none, none, self.interface @ from_displacements, unmoved]
        return np.vstack([np.hstack(displacement), self._released @ np.hstack(force)])

    def block(
        self,
        accelerations: tuple[str, ...],
        velocities: tuple[str, ...],
        displacements: tuple[str, ...],
        forces: tuple[str, ...],
        *,
        kinematics_only: bool = False,
    ) -> Block:
        """The block "interface": reads the sensors' channels, writes ``interface.displacement``, ``interface.force``.

        ``velocities`` are the integrals of ``accelerations``; ``displacements`` are measured, or integrated too.
        """
        counts = [len(self.acceleration_sensors)] * 2 + [len(self.displacement_sensors), self.actuators.shape[1]]
        given = [accelerations, velocities, displacements, forces]
        if [len(names) for names in given] != counts:
            raise GeometryError(
                f"{[len(names) for names in given]} channels of acceleration, velocity, displacement and force where "
                f"the transfer system has {counts}; name one for each sensor and load cell"
            )
        n = len(self.interface)
        return Block(
            name="interface",
            step=interface_step,
            inputs=tuple(name for names in given for name in names),
            outputs=(*channels("interface.displacement", "m", n), *channels("interface.force", "N", n)),
            parameters={"gains": stored(self.gains(kinematics_only=kinematics_only))},
            references=("bartl2016",),
        )


def rigid_body_mass(mass: float, inertia: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Mass matrix of a rigid body for the motion (x, y, z, rx, ry, rz) of a point, (6, 6).

    ``inertia`` is about the centre of mass, which lies at ``centre`` from the point.
    """
    x, y, z = centre
    arm = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])  # arm @ a = centre × a
    return np.block([[mass * np.eye(3), -mass * arm], [mass * arm, inertia - mass * arm @ arm]])
