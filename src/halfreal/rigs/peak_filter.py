"""From acceleration to velocity and displacement at known frequencies, by peak filters, without drift.

Integrating a measured acceleration twice lets its slightest offset grow without bound.  In a test with a harmonic
excitation all that counts lies at known frequencies ω_i; hybrid testing with adaptive feed-forward filters therefore
passes only these, through a peak filter (section 5.1.4 of that paper; see A. Bartl, J. Mayet, M. K. Mahdiabadi,
D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14).  Here the filter's own states are integrated, each at its
frequency:

    e = (a − Σ Re z_i)/(1 + n g/2)                                            what the resonators do not yet explain
    z̄_i = z_i + g e/2                                                         at this tick
    filtered a = Re Σ z̄_i,    v = Re Σ z̄_i/(jω_i),    x = Re Σ z̄_i/(jω_i)²
    z_i ← e^{jω_iΔt} (z̄_i + g e/2)                                            for the next
    g = 2 tanh(Δt/τ)

Resonators that share one error: a resonator-based observer (G. Péceli, "A common structure for recursive discrete
transforms", IEEE Trans. Circuits Syst. 33 (1986) 1035–1036), here with the trapezoidal rule in the feedback.  With
L_i = (g/2)(z² − 1)/(z² − 2z cos ω_iΔt + 1) the filter is H = ΣL_i/(1 + ΣL_i), for one frequency the usual peak filter,
and x = −Σ L_i/ω_i² · a/(1 + ΣL_i).  It follows, for any n and τ, that

- at every ω_i gain and phase are exact: H = 1, and x and v are the integrals of a;
- a constant offset of a gives x = 0, and a bounded v;
- it is stable: the L_i are lossless, so that Re(1 + ΣL_i) ≥ 1 on and outside the unit circle.

======== ====================================================================================
a, v, x  acceleration, velocity and displacement of one channel
z_i      rotating amplitude at ω_i: Re z_i is that part of the acceleration
n        number of frequencies
τ        time constant: after a change, amplitudes settle with e^{−t/τ} (``time_constant``)
======== ====================================================================================

Resonators at two frequencies hinder each other if |ω_i − ω_j| τ < 2, and one its own mirror image if ω_i τ < 1: such
are refused.  Well apart, all settle with τ; nine harmonics of ω_0 within 1.1 τ if ω_0 τ = 10, and 4.8 τ if ω_0 τ = 2.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import ValidationInfo, field_validator

from .. import units
from ..kernels.block import Block, Channel
from ..settings import Number, Settings, Vector, fault


def peak_filter_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = u.size
    frequencies = p.cosine.size
    orders = p.real_weights.shape[0]
    for c in range(n):
        explained = 0.0
        for i in range(frequencies):
            explained += s.real[i, c]
        half = p.half_gain * (u[c] - explained) / (1.0 + frequencies * p.half_gain)
        for r in range(orders):
            y[r * n + c] = 0.0
        for i in range(frequencies):
            real = s.real[i, c] + half
            imaginary = s.imaginary[i, c]
            for r in range(orders):
                y[r * n + c] += p.real_weights[r, i] * real + p.imaginary_weights[r, i] * imaginary
            real += half
            s.real[i, c] = p.cosine[i] * real - p.sine[i] * imaginary
            s.imaginary[i, c] = p.sine[i] * real + p.cosine[i] * imaginary
    return 0


class PeakFilter(Settings):
    """Pass a signal at some frequencies only, and integrate it there."""

    frequencies: Annotated[np.ndarray, Vector("Hz", above=0)]
    time_constant: Annotated[float, Number("s", above=0)]

    @field_validator("time_constant")
    @classmethod
    def _separable(cls, time_constant: float, info: ValidationInfo) -> float:
        frequencies = info.data.get("frequencies")
        if frequencies is None:
            return time_constant
        least = 1.0 / (math.pi * time_constant)
        told = f"a time constant of {units.text(time_constant, 's')}"
        for low, high in pairwise(sorted(frequencies)):
            if high - low < least:
                gap = f"{low:g} Hz and {high:g} Hz"
                if high == low:
                    raise fault(f"{low:g} Hz is named twice; name each frequency once", "frequencies")
                raise fault(
                    f"{gap} cannot be separated with {told}: they must be {units.text(least, 'Hz')} apart; lengthen "
                    f"it to {units.text(1.0 / (math.pi * (high - low)), 's')} or more, or remove one"
                )
        lowest = float(min(frequencies))
        if 2.0 * lowest < least:
            raise fault(
                f"{lowest:g} Hz is too low for {told}; lengthen it to {units.text(0.5 / (math.pi * lowest), 's')} or "
                "more"
            )
        return time_constant

    def check_step(self, dt: float) -> None:
        """Raise a fault if a frequency cannot be seen at this step."""
        highest = float(max(self.frequencies))
        if highest * dt >= 0.5:
            raise fault(
                f"{highest:g} Hz is not below half the sampling rate, {units.text(0.5 / dt, 'Hz')}; remove it or "
                "shorten the step",
                "frequencies",
            )

    def filter_block(self, name: str, dt: float, inputs: tuple[str, ...], outputs: tuple[Channel, ...]) -> Block:
        """A block that passes each input at the frequencies only."""
        ones = np.ones((1, len(self.frequencies)))
        return self._block(name, dt, inputs, outputs, ones, 0.0 * ones)

    def integrator_block(
        self,
        name: str,
        dt: float,
        accelerations: tuple[str, ...],
        velocities: tuple[Channel, ...],
        displacements: tuple[Channel, ...],
    ) -> Block:
        """A block that integrates each acceleration once and twice at the frequencies."""
        omega = 2.0 * np.pi * self.frequencies
        real = np.array([0.0 * omega, -1.0 / omega**2])
        imaginary = np.array([1.0 / omega, 0.0 * omega])
        return self._block(name, dt, accelerations, (*velocities, *displacements), real, imaginary)

    def _block(
        self,
        name: str,
        dt: float,
        inputs: tuple[str, ...],
        outputs: tuple[Channel, ...],
        real: np.ndarray,
        imaginary: np.ndarray,
    ) -> Block:
        self.check_step(dt)
        if len(outputs) != len(real) * len(inputs):
            raise ValueError(f"{len(outputs)} outputs for {len(inputs)} inputs; give {len(real)} for each")
        angle = 2.0 * np.pi * self.frequencies * dt
        rest = np.zeros((len(angle), len(inputs)))
        return Block(
            name=name,
            step=peak_filter_step,
            inputs=inputs,
            outputs=outputs,
            parameters={
                "half_gain": math.tanh(dt / self.time_constant),
                "cosine": np.cos(angle),
                "sine": np.sin(angle),
                "real_weights": real,
                "imaginary_weights": imaginary,
            },
            state={"real": rest, "imaginary": rest},
            references=("bartl2016", "peceli1986"),
        )
