"""A linear model x˙ = A x + B u, y = C x + D u, or x⁺ = A x + B u if it is sampled.

The loops of this package are negative feedback, u = −y: a virtual substructure answers a force with a displacement, the
specimen resists a displacement with a force, and L = specimen · actuator · coupling · virtual substructure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class StateSpace:
    """A, B, C, D and the sampling step ``dt`` [s], None if the model is continuous."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    dt: float | None = None

    @property
    def states(self) -> int:
        return len(self.a)

    @property
    def channels(self) -> int:
        """Number of inputs, which is that of outputs in a loop."""
        return int(np.shape(self.b)[1])

    def response(self, omega: np.ndarray) -> np.ndarray:
        """Frequency response at ω [rad/s], (len(ω), outputs, inputs)."""
        omega = np.atleast_1d(omega)
        point = 1j * omega if self.dt is None else np.exp(1j * omega * self.dt)
        resolvent = point[:, None, None] * np.eye(self.states) - self.a
        return np.asarray(self.c @ np.linalg.solve(resolvent, self.b.astype(complex)) + self.d)

    def closed(self) -> np.ndarray:
        """State matrix of the loop closed by u = −y (no delay besides the model's own)."""
        inner = np.linalg.solve(np.eye(self.channels) + self.d, self.c)
        return np.asarray(self.a - self.b @ inner)

    def poles(self) -> np.ndarray:
        return np.asarray(np.linalg.eigvals(self.a))

    def continuous(self) -> StateSpace:
        """The continuous model with the same response at warped frequencies, ω_c = tan(ω dt/2) · 2/dt.

        The bilinear map takes the unit circle to the imaginary axis exactly, so that what is asked there (crossings,
        encirclements) may be asked of a continuous model.  A model that has a pole at z = −1 has no such map.
        """
        if self.dt is None:
            return self
        eye = np.eye(self.states)
        inverse = np.linalg.inv(self.a + eye)
        scale = 2.0 / self.dt
        return StateSpace(
            a=scale * inverse @ (self.a - eye),
            b=np.sqrt(2.0 * scale) * inverse @ self.b,
            c=np.sqrt(2.0 * scale) * self.c @ inverse,
            d=self.d - self.c @ inverse @ self.b,
        )

    def warped(self, omega: np.ndarray) -> np.ndarray:
        """From frequencies of ``continuous()`` back to the model's own [rad/s]."""
        return np.asarray(omega) if self.dt is None else 2.0 / self.dt * np.arctan(np.asarray(omega) * self.dt / 2.0)
