"""Transfer functions H from the drives to the gap, one n × n matrix for each harmonic, and the forms they come in."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import ValidationInfo, field_validator

from ...settings import Matrix, Settings, Vector, fault


def packed(transfer: np.ndarray) -> np.ndarray:
    """P, (n, N), whose row o holds Re H_1[o,:], Im H_1[o,:], Re H_2[o,:], …; from H, (n_ω, n, n)."""
    parts = np.stack([transfer.real, transfer.imag], axis=1)  # harmonic, part, output, input
    return np.ascontiguousarray(parts.transpose(2, 0, 1, 3).reshape(transfer.shape[1], -1))


def unpacked(rows: np.ndarray) -> np.ndarray:
    """H, (n_ω, n, n), from P, (n, N)."""
    n = len(rows)
    parts = np.asarray(rows).reshape(n, -1, 2, n)
    return np.ascontiguousarray((parts[:, :, 0] + 1j * parts[:, :, 1]).transpose(1, 0, 2))


def sampled(transfer: np.ndarray, hz: np.ndarray, dt: float) -> np.ndarray:
    """H as the loop sees it, (n_ω, n, n), nearly, from that of a continuous model of a rig that holds its command.

    A held command is late by half a step and weaker by sinc(f Δt); its images at multiples of the sampling rate are
    left out.  ``halfreal.couplings.harmonic.lti.loop_response`` finds H exactly, from the loop that runs.
    """
    hz = np.asarray(hz, dtype=float)[:, None, None]
    return np.asarray(transfer * np.sinc(hz * dt) * np.exp(-1j * np.pi * hz * dt))


class Transfer(Settings):
    """H at one harmonic: from the drive of each axis (columns) to the gap of each axis (rows)."""

    real: Annotated[np.ndarray, Matrix("m/N")]
    imaginary: Annotated[np.ndarray, Matrix("m/N")]

    @field_validator("real", "imaginary")
    @classmethod
    def _square(cls, matrix: np.ndarray, info: ValidationInfo) -> np.ndarray:
        real = info.data.get("real", matrix)
        if matrix.shape[0] != matrix.shape[1] or matrix.shape != real.shape:
            raise fault(
                f"a {matrix.shape[0]} × {matrix.shape[1]} matrix where a transfer function has one row and one column "
                "for each interface axis, real and imaginary parts alike; as many actuators as axes are needed"
            )
        return matrix

    @property
    def matrix(self) -> np.ndarray:
        return np.asarray(self.real + 1j * self.imaginary)


class Amplitudes(Settings):
    """ψ at one harmonic: the drive of each axis is Re(ψ e^{jωt}), t being the time of the test."""

    real: Annotated[np.ndarray, Vector("N")]
    imaginary: Annotated[np.ndarray, Vector("N")]

    @field_validator("imaginary")
    @classmethod
    def _alike(cls, vector: np.ndarray, info: ValidationInfo) -> np.ndarray:
        if len(vector) != len(info.data.get("real", vector)):
            raise fault("real and imaginary parts of a drive have different numbers of axes; give one for each axis")
        return vector
